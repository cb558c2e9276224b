//! What a flag may say: the texts of schedules, laws, boxes and switches, read and written.

use cbo::{Alpha, BoundHandling, Coordinates, Diffusion, InitialLaw, Method, Reduction, Scheme, Sigma, Update};
use cbo_lab::success::Judge;
use cbo_problems::{Constraint, ConstraintError};
use std::path::PathBuf;
use std::str::FromStr;

/// A setting that can be turned off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch<T>(pub Option<T>);

/// A limit of a run that is resumed: a new one, or more than before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget<T> {
    /// This, from the beginning of the run.
    Limit(T),
    /// This much more.
    More(T),
}

impl<T> Budget<T> {
    /// The new limit of a run that had the limit `before`, if any, and has reached `done`.
    pub fn after(self, before: Option<T>, done: T, add: fn(T, T) -> T) -> T {
        match self {
            Self::Limit(limit) => limit,
            Self::More(more) => add(before.unwrap_or(done), more),
        }
    }
}

/// Where the particles start, as the user says it.
#[derive(Clone, Debug, PartialEq)]
pub enum InitSpec {
    /// By a law that needs no file.
    Law(InitialLaw),
    /// At the points of this file.
    File(PathBuf),
}

/// The box of the particles, as the user says it.
#[derive(Clone, Debug, PartialEq)]
pub enum BoundsSpec {
    /// None, not even for a confined function.
    Off,
    /// Lower and upper ends.
    Box(Coordinates, Coordinates),
    /// One pair per line of this file.
    File(PathBuf),
}

/// Where the minimiser moves, as the user says it.
#[derive(Clone, Debug, PartialEq)]
pub enum ShiftSpec {
    /// By this much.
    By(Coordinates),
    /// To a random place that belongs to the seed of the run.
    Random,
}

/// How the function is turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RotateSpec {
    /// By the matrix that belongs to this seed.
    Seed(u64),
    /// By the matrix that belongs to the seed of the run.
    Random,
}

/// A consensus point that does not move.
#[derive(Clone, Debug, PartialEq)]
pub enum FreezeSpec {
    /// The consensus point is free.
    Off,
    /// It stays at the function's first minimiser.
    Minimiser,
    /// It stays here.
    At(Vec<f64>),
}

/// Precision of positions and energies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    #[default]
    F64,
}

impl Precision {
    /// Bytes of a number.
    pub fn bytes(self) -> u128 {
        match self {
            Self::F32 => 4,
            Self::F64 => 8,
        }
    }

    /// As the flag has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// A number: decimal, scientific, `inf` or `nan` (what is sensible where is checked later).
pub fn number(text: &str) -> Result<f64, String> {
    text.trim().parse().map_err(|_| format!("`{}` is not a number", text.trim()))
}

/// A whole number, also written `1e6`.
pub fn count(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let refused = || format!("`{text}` is not a whole number that is zero or positive");
    let digits = whole(text).ok_or_else(refused)?;
    digits.parse().map_err(|_| format!("`{text}` is too large; the limit is {} (2^64 - 1)", u64::MAX))
}

/// The digits of a whole number, exactly, also one written `1e6` or `2.5e3`; of one that is certainly too large, some of them.
fn whole(text: &str) -> Option<String> {
    /// No number of so many digits is allowed.
    const ENOUGH: usize = 40;
    let text = text.strip_prefix('+').unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (units, decimals) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let plain = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit());
    if mantissa.is_empty() || mantissa == "." || !plain(units) || !plain(decimals) {
        return None;
    }
    let all = format!("{units}{decimals}");
    let digits = all.trim_end_matches('0');
    if digits.is_empty() {
        return exponent.parse::<i64>().is_ok().then(|| "0".into());
    }
    // Zeros behind the digits.
    let zeros = exponent.parse::<i64>().ok()?.checked_add((all.len() - digits.len()) as i64 - decimals.len() as i64)?;
    let zeros = usize::try_from(zeros).ok()?.min(ENOUGH);
    Some(digits.trim_start_matches('0').to_string() + &"0".repeat(zeros))
}

/// A new limit, or `+` and how much more, as `read` reads numbers.
fn budget<T>(text: &str, read: fn(&str) -> Result<T, String>) -> Result<Budget<T>, String> {
    match text.trim().strip_prefix('+') {
        Some(more) => read(more).map(Budget::More),
        None => read(text).map(Budget::Limit),
    }
}

/// A new limit of whole numbers, or how many more.
pub fn count_budget(text: &str) -> Result<Budget<u64>, String> {
    budget(text, count)
}

/// A new limit, or how much more.
pub fn number_budget(text: &str) -> Result<Budget<f64>, String> {
    budget(text, number)
}

/// Like [`count`], for sizes in memory.
pub fn size(text: &str) -> Result<usize, String> {
    usize::try_from(count(text)?).map_err(|_| format!("`{text}` is too large"))
}

/// `off` and `none`, or what `parse` reads.
fn or_off<T>(text: &str, parse: fn(&str) -> Result<T, String>) -> Result<Switch<T>, String> {
    if is_off(text) { Ok(Switch(None)) } else { parse(text).map(|v| Switch(Some(v))).map_err(|e| e + ", nor `off`") }
}

fn is_off(text: &str) -> bool {
    matches!(text.trim(), "off" | "none")
}

/// A number or `off`.
pub fn number_or_off(text: &str) -> Result<Switch<f64>, String> {
    or_off(text, number)
}

/// A whole number or `off`.
pub fn count_or_off(text: &str) -> Result<Switch<u64>, String> {
    or_off(text, count)
}

/// A size or `off`.
pub fn size_or_off(text: &str) -> Result<Switch<usize>, String> {
    or_off(text, size)
}

/// A setting of the engine, which reads its own texts.
fn engine<T>(text: &str) -> Result<T, String>
where
    T: FromStr,
    String: From<T::Err>,
{
    text.parse().map_err(String::from)
}

/// alpha: `NUMBER`, `inf`, `ess:ETA`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
pub fn alpha(text: &str) -> Result<Alpha, String> {
    engine(text)
}

/// sigma: `NUMBER`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
pub fn sigma(text: &str) -> Result<Sigma, String> {
    engine(text)
}

/// The initial law: `normal:MEAN,VARIANCE`, `uniform:LOW,HIGH` or `file:PATH`.
pub fn init(text: &str) -> Result<InitSpec, String> {
    match text.split_once(':') {
        Some(("normal" | "uniform", _)) => engine(text).map(InitSpec::Law),
        Some(("file", path)) if !path.is_empty() => Ok(InitSpec::File(path.into())),
        _ => Err("an initial law is normal:MEAN,VARIANCE, uniform:LOW,HIGH or file:PATH".into()),
    }
}

/// The box: `LOW,HIGH`, the path of a file with one pair per line, or `off`.
pub fn bounds(text: &str) -> Result<BoundsSpec, String> {
    if is_off(text) {
        return Ok(BoundsSpec::Off);
    }
    if text.trim().parse::<f64>().is_ok() {
        return Err("one number is not a box; give LOW,HIGH or a file with one pair per line".into());
    }
    Ok(Coordinates::pair(text).map_or_else(|_| BoundsSpec::File(text.into()), |(low, high)| BoundsSpec::Box(low, high)))
}

/// A shift: one number, one for each coordinate, or `random`.
pub fn shift(text: &str) -> Result<ShiftSpec, String> {
    if text.trim() == "random" {
        return Ok(ShiftSpec::Random);
    }
    engine(&text.replace(',', ";")).map(ShiftSpec::By).map_err(|e| e + ", nor `random`")
}

/// Constraints that a function or program is put under, one or several.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConstraintsSpec(pub Vec<Constraint>);

/// Constraints: `ball:R`, `hole:R`, `ring:R,S`, `sphere:R`, `sum<=C`, `sum>=C`, `sum=C`, several of them with `;` between, or `off`.
pub fn constraints(text: &str) -> Result<ConstraintsSpec, String> {
    if text.trim() == "off" {
        return Ok(ConstraintsSpec::default());
    }
    text.split(';')
        .map(|one| one.parse().map_err(|e: ConstraintError| e.to_string()))
        .collect::<Result<_, _>>()
        .map(ConstraintsSpec)
}

/// A rotation: the seed of its matrix, or `random`.
pub fn rotate(text: &str) -> Result<RotateSpec, String> {
    if text.trim() == "random" {
        return Ok(RotateSpec::Random);
    }
    count(text).map(RotateSpec::Seed).map_err(|e| e + ", nor `random`")
}

/// A frozen consensus point: `minimiser`, its coordinates, or `off`.
pub fn freeze(text: &str) -> Result<FreezeSpec, String> {
    match text.trim() {
        "minimiser" | "minimizer" => Ok(FreezeSpec::Minimiser),
        text if is_off(text) => Ok(FreezeSpec::Off),
        text => text
            .split([',', ';'])
            .map(number)
            .collect::<Result<_, _>>()
            .map(FreezeSpec::At)
            .map_err(|e| e + ", nor `minimiser`"),
    }
}

/// Particle reduction: `on`, `off` or `STRENGTH,LEAST`.
pub fn reduction(text: &str) -> Result<Switch<Reduction>, String> {
    if is_off(text) { Ok(Switch(None)) } else { engine(text).map(|r| Switch(Some(r))) }
}

/// The dynamics of the particles.
pub fn method(text: &str) -> Result<Method, String> {
    engine(text)
}

/// The point by which a run is judged.
pub fn judge(text: &str) -> Result<Judge, String> {
    engine(text)
}

/// A kind of noise.
pub fn diffusion(text: &str) -> Result<Diffusion, String> {
    engine(text)
}

/// A time discretisation.
pub fn scheme(text: &str) -> Result<Scheme, String> {
    engine(text)
}

/// Which particles move.
pub fn update(text: &str) -> Result<Update, String> {
    engine(text)
}

/// What happens at the bounds.
pub fn bound_handling(text: &str) -> Result<BoundHandling, String> {
    engine(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text;
    use cbo::{Clock, Geometric};
    use proptest::prelude::*;

    #[test]
    fn alpha_in_all_its_forms() {
        assert_eq!(alpha("1e15"), Ok(Alpha::Constant(1e15)));
        assert_eq!(alpha("inf"), Ok(Alpha::Constant(f64::INFINITY)));
        assert_eq!(alpha("ess:0.1"), Ok(Alpha::EffectiveSampleSize(0.1)));
        let doubled = Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch };
        assert_eq!(alpha("geometric:50,2,epoch"), Ok(Alpha::Geometric(doubled)));
        let capped = Geometric { cap: 1e6, clock: Clock::Step, ..doubled };
        assert_eq!(alpha("geometric:50,2,1e6"), Ok(Alpha::Geometric(capped)));
        assert_eq!(alpha("geometric:50,2,1e6,step"), Ok(Alpha::Geometric(capped)));
        assert_eq!(alpha("log:3,epoch"), Ok(Alpha::Logarithmic { start: 3.0, clock: Clock::Epoch }));
        for wrong in ["", "a", "geometric:1", "geometric:1,2,3,4", "log:1,2", "ess:", "cosine:1"] {
            assert!(alpha(wrong).is_err(), "{wrong}");
        }
        assert!(sigma("ess:0.5").is_err());
        // Without a cap, a falling sigma falls to zero.
        let falling = Geometric { start: 1.0, factor: 0.9, cap: 0.0, clock: Clock::Step };
        assert_eq!(sigma("geometric:1,0.9"), Ok(Sigma::Geometric(falling)));
    }

    #[test]
    fn whole_numbers_are_read_exactly() {
        for (text, value) in [
            ("0", 0),
            ("0.0", 0),
            ("0e9", 0),
            ("+7", 7),
            ("1e6", 1_000_000),
            ("2.5E3", 2500),
            ("100e-2", 1),
            ("007", 7),
            ("50.", 50),
            ("1e16", 10_000_000_000_000_000),
            ("9007199254740993", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(count(text), Ok(value), "{text}");
        }
        for text in ["18446744073709551616", "1e20", "1e300", "1e9999999999"] {
            assert!(
                count(text).is_err_and(|e| e.contains("too large") && e.contains("18446744073709551615")),
                "{text}"
            );
        }
        for text in ["", ".", "-1", "-0.5", "2.5", "1e-1", "e5", "1e", "inf", "nan", "1_000", "1e99999999999999999999"]
        {
            assert!(count(text).is_err_and(|e| e.contains("not a whole number")), "{text}");
        }
    }

    #[test]
    fn laws_and_boxes() {
        let normal = |mean, variance| Ok(InitSpec::Law(InitialLaw::Normal { mean, variance }));
        assert_eq!(init("normal:2,32"), normal(Coordinates::All(2.0), Coordinates::All(32.0)));
        assert_eq!(init("normal:2;0;-1,1"), normal(Coordinates::Each(vec![2.0, 0.0, -1.0]), Coordinates::All(1.0)));
        assert_eq!(init("file:a:b.csv"), Ok(InitSpec::File("a:b.csv".into())));
        for wrong in ["normal:1", "uniform:1,2,3", "file:", "1,2", "cauchy:1,2"] {
            assert!(init(wrong).is_err(), "{wrong}");
        }
        assert_eq!(bounds("-1,1"), Ok(BoundsSpec::Box(Coordinates::All(-1.0), Coordinates::All(1.0))));
        assert_eq!(bounds("off"), Ok(BoundsSpec::Off));
        assert_eq!(bounds("box.csv"), Ok(BoundsSpec::File("box.csv".into())));
        assert_eq!(shift("1,2"), shift("1;2"));
        assert_eq!(freeze("minimizer"), Ok(FreezeSpec::Minimiser));
        assert_eq!(freeze("1,2"), Ok(FreezeSpec::At(vec![1.0, 2.0])));
    }

    #[test]
    fn counts_may_be_scientific_but_are_whole() {
        assert_eq!(count("1e6"), Ok(1_000_000));
        assert_eq!(count("18446744073709551615"), Ok(u64::MAX));
        for wrong in ["-1", "0.5", "1e300", "nan", "inf", "", "ten"] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
        assert_eq!(count_or_off("off"), Ok(Switch(None)));
        assert!(count_or_off("-3").unwrap_err().contains("off"));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(a in any::<f64>(), b in any::<f64>(), c in any::<f64>(), epoch: bool) {
            prop_assume!(![a, b, c].iter().any(|v| v.is_nan()));
            let clock = if epoch { Clock::Epoch } else { Clock::Step };
            let g = Geometric { start: a, factor: b, cap: c, clock };
            for value in [Alpha::Constant(a), Alpha::Geometric(g), Alpha::EffectiveSampleSize(b), Alpha::Logarithmic { start: c, clock }] {
                prop_assert_eq!(alpha(&value.to_string()), Ok(value));
            }
            for value in [Sigma::Constant(a), Sigma::Geometric(g), Sigma::Logarithmic { start: c, clock }] {
                prop_assert_eq!(sigma(&value.to_string()), Ok(value));
            }
            prop_assume!(a != b);
            let law = InitialLaw::Uniform { low: Coordinates::Each(vec![a, b]), high: Coordinates::All(c) };
            prop_assert_eq!(init(&text::init(&law, "")), Ok(InitSpec::Law(law)));
            let walls = (Coordinates::Each(vec![a, b]), Coordinates::Each(vec![b, a]));
            prop_assert_eq!(bounds(&text::bounds(&[(a, b), (b, a)])), Ok(BoundsSpec::Box(walls.0, walls.1)));
            prop_assert_eq!(reduction(&Reduction { strength: a, least: b }.to_string()), Ok(Switch(Some(Reduction { strength: a, least: b }))));
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in ".{0,40}") {
            let _ = (alpha(&text), sigma(&text), init(&text), bounds(&text), shift(&text), freeze(&text));
            let _ = (rotate(&text), reduction(&text), count_or_off(&text), scheme(&text));
        }
    }
}
