//! What a flag may say: the texts of schedules, laws, boxes and switches, read and written.

use cbo::{
    Alpha, BoundHandling, Clock, Coordinates, Diffusion, Geometric, InitialLaw, Reduction, Scheme, Sigma, Update,
};
use std::path::PathBuf;

/// A setting that can be turned off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Switch<T>(pub Option<T>);

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
    /// A pair a line of this file.
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
    let whole = |v: f64| (v >= 0.0 && v.fract() == 0.0 && v <= 9_007_199_254_740_992.0).then_some(v as u64);
    text.parse()
        .ok()
        .or_else(|| text.parse().ok().and_then(whole))
        .ok_or_else(|| format!("`{text}` is not a whole number that is zero or positive"))
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

/// One number for all coordinates, or one for each, separated by `;` (or, where nothing else is, by `,`).
fn coordinates(text: &str, separators: &[char]) -> Result<Coordinates, String> {
    let numbers = text.split(separators).map(number).collect::<Result<Vec<_>, _>>()?;
    Ok(if let [one] = numbers[..] { Coordinates::All(one) } else { Coordinates::Each(numbers) })
}

/// Two sets of coordinates, `A,B`, each one number or several separated by `;`.
fn pair(text: &str) -> Result<(Coordinates, Coordinates), String> {
    let (first, second) = text.split_once(',').ok_or_else(|| format!("`{text}` is not a pair of numbers `A,B`"))?;
    Ok((coordinates(first, &[';'])?, coordinates(second, &[';'])?))
}

fn clock(text: &str) -> Option<Clock> {
    match text.trim() {
        "step" => Some(Clock::Step),
        "epoch" => Some(Clock::Epoch),
        _ => None,
    }
}

/// The numbers of a schedule, and its clock if one is named at the end.
fn schedule(text: &str) -> Result<(Vec<f64>, Clock), String> {
    let (numbers, named) = match text.rsplit_once(',') {
        Some((front, back)) if clock(back).is_some() => (front, clock(back)),
        _ => (text, None),
    };
    Ok((numbers.split(',').map(number).collect::<Result<_, _>>()?, named.unwrap_or(Clock::Step)))
}

fn geometric(text: &str) -> Result<Geometric, String> {
    let (numbers, clock) = schedule(text)?;
    let open = |factor: f64| if factor >= 1.0 { f64::INFINITY } else { 0.0 };
    match numbers[..] {
        [start, factor] => Ok(Geometric { start, factor, cap: open(factor), clock }),
        [start, factor, cap] => Ok(Geometric { start, factor, cap, clock }),
        _ => Err("a geometric schedule is geometric:START,FACTOR[,CAP][,step|epoch]".into()),
    }
}

fn logarithmic(text: &str) -> Result<(f64, Clock), String> {
    match schedule(text)? {
        (numbers, clock) if numbers.len() == 1 => Ok((numbers[0], clock)),
        _ => Err("a logarithmic schedule is log:START[,step|epoch]".into()),
    }
}

/// alpha: `NUMBER`, `inf`, `ess:ETA`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
pub fn alpha(text: &str) -> Result<Alpha, String> {
    match text.split_once(':') {
        Some(("ess", eta)) => Ok(Alpha::EffectiveSampleSize(number(eta)?)),
        Some(("geometric", rest)) => Ok(Alpha::Geometric(geometric(rest)?)),
        Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Alpha::Logarithmic { start, clock }),
        Some((kind, _)) => Err(format!("`{kind}` is not a schedule of alpha; use ess:, geometric: or log:")),
        None => Ok(Alpha::Constant(number(text)?)),
    }
}

/// sigma: `NUMBER`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
pub fn sigma(text: &str) -> Result<Sigma, String> {
    match text.split_once(':') {
        Some(("geometric", rest)) => Ok(Sigma::Geometric(geometric(rest)?)),
        Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Sigma::Logarithmic { start, clock }),
        Some((kind, _)) => Err(format!("`{kind}` is not a schedule of sigma; use geometric: or log:")),
        None => Ok(Sigma::Constant(number(text)?)),
    }
}

/// The initial law: `normal:MEAN,VARIANCE`, `uniform:LOW,HIGH` or `file:PATH`.
pub fn init(text: &str) -> Result<InitSpec, String> {
    match text.split_once(':') {
        Some(("normal", rest)) => {
            pair(rest).map(|(mean, variance)| InitSpec::Law(InitialLaw::Normal { mean, variance }))
        }
        Some(("uniform", rest)) => pair(rest).map(|(low, high)| InitSpec::Law(InitialLaw::Uniform { low, high })),
        Some(("file", path)) if !path.is_empty() => Ok(InitSpec::File(path.into())),
        _ => Err("an initial law is normal:MEAN,VARIANCE, uniform:LOW,HIGH or file:PATH".into()),
    }
}

/// The box: `LOW,HIGH`, the path of a file with a pair a line, or `off`.
pub fn bounds(text: &str) -> Result<BoundsSpec, String> {
    if is_off(text) {
        return Ok(BoundsSpec::Off);
    }
    Ok(pair(text).map_or_else(|_| BoundsSpec::File(text.into()), |(low, high)| BoundsSpec::Box(low, high)))
}

/// A shift: one number, one for each coordinate, or `random`.
pub fn shift(text: &str) -> Result<ShiftSpec, String> {
    if text.trim() == "random" {
        return Ok(ShiftSpec::Random);
    }
    coordinates(text, &[',', ';']).map(ShiftSpec::By).map_err(|e| e + ", nor `random`")
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
    match text.trim() {
        "on" => Ok(Switch(Some(Reduction::default()))),
        text if is_off(text) => Ok(Switch(None)),
        text => match text.split_once(',') {
            Some((strength, least)) => {
                Ok(Switch(Some(Reduction { strength: number(strength)?, least: number(least)? })))
            }
            None => Err("a reduction is on, off or STRENGTH,LEAST".into()),
        },
    }
}

/// One of a few words.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let wanted = text.trim().replace('_', "-");
    words
        .iter()
        .find(|(name, _)| *name == wanted)
        .map(|(_, value)| *value)
        .ok_or_else(|| format!("it is one of {}", words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")))
}

fn word_of<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> String {
    words.iter().find(|(_, v)| *v == value).map_or_else(String::new, |(name, _)| (*name).to_string())
}

const DIFFUSIONS: &[(&str, Diffusion)] =
    &[("anisotropic", Diffusion::Anisotropic), ("isotropic", Diffusion::Isotropic)];
const SCHEMES: &[(&str, Scheme)] = &[("euler-maruyama", Scheme::EulerMaruyama), ("drift-first", Scheme::DriftFirst)];
const UPDATES: &[(&str, Update)] = &[("full", Update::Full), ("partial", Update::Partial)];
const HANDLINGS: &[(&str, BoundHandling)] =
    &[("reflect", BoundHandling::Reflect), ("clip", BoundHandling::Clip), ("none", BoundHandling::None)];

/// A kind of noise.
pub fn diffusion(text: &str) -> Result<Diffusion, String> {
    word(text, DIFFUSIONS)
}

/// A time discretisation.
pub fn scheme(text: &str) -> Result<Scheme, String> {
    word(text, SCHEMES)
}

/// Which particles move.
pub fn update(text: &str) -> Result<Update, String> {
    word(text, UPDATES)
}

/// What happens at the bounds.
pub fn bound_handling(text: &str) -> Result<BoundHandling, String> {
    word(text, HANDLINGS)
}

/// Texts of values: what the parsers above read back as the same value.
pub mod text {
    use super::*;

    /// A number, so that reading gives the same bits, and a TOML number where there is one.
    pub fn number(value: f64) -> String {
        if value.is_nan() { "nan".into() } else { format!("{value:?}") }
    }

    /// A value or `off`.
    pub fn optional<T: Copy>(value: Option<T>, text: impl Fn(T) -> String) -> String {
        value.map_or_else(|| "off".into(), text)
    }

    /// Numbers separated by `;`, or one if all are the same.
    pub fn numbers(values: &[f64]) -> String {
        match values {
            [first, rest @ ..] if rest.iter().all(|v| v.to_bits() == first.to_bits()) => number(*first),
            _ => values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(";"),
        }
    }

    /// Coordinates.
    pub fn coordinates(value: &Coordinates) -> String {
        match value {
            Coordinates::All(one) => number(*one),
            Coordinates::Each(values) => numbers(values),
        }
    }

    fn with_clock(text: String, clock: Clock) -> String {
        match clock {
            Clock::Step => text,
            Clock::Epoch => text + ",epoch",
        }
    }

    fn geometric(g: &Geometric) -> String {
        let numbers = [g.start, g.factor, g.cap].map(number).join(",");
        with_clock(format!("geometric:{numbers}"), g.clock)
    }

    /// alpha.
    pub fn alpha(value: &Alpha) -> String {
        match value {
            Alpha::Constant(value) => number(*value),
            Alpha::Geometric(g) => geometric(g),
            Alpha::Logarithmic { start, clock } => with_clock(format!("log:{}", number(*start)), *clock),
            Alpha::EffectiveSampleSize(eta) => format!("ess:{}", number(*eta)),
        }
    }

    /// sigma.
    pub fn sigma(value: &Sigma) -> String {
        match value {
            Sigma::Constant(value) => number(*value),
            Sigma::Geometric(g) => geometric(g),
            Sigma::Logarithmic { start, clock } => with_clock(format!("log:{}", number(*start)), *clock),
        }
    }

    /// An initial law; points are in the file `points`.
    pub fn init(law: &InitialLaw, points: &str) -> String {
        match law {
            InitialLaw::Normal { mean, variance } => {
                format!("normal:{},{}", coordinates(mean), coordinates(variance))
            }
            InitialLaw::Uniform { low, high } => format!("uniform:{},{}", coordinates(low), coordinates(high)),
            InitialLaw::Points(_) => format!("file:{points}"),
        }
    }

    /// A box.
    pub fn bounds(bounds: &[(f64, f64)]) -> String {
        let side = |pick: fn(&(f64, f64)) -> f64| numbers(&bounds.iter().map(pick).collect::<Vec<_>>());
        format!("{},{}", side(|b| b.0), side(|b| b.1))
    }

    /// A reduction.
    pub fn reduction(value: Reduction) -> String {
        format!("{},{}", number(value.strength), number(value.least))
    }

    /// A kind of noise.
    pub fn diffusion(value: Diffusion) -> String {
        word_of(value, DIFFUSIONS)
    }

    /// A time discretisation.
    pub fn scheme(value: Scheme) -> String {
        word_of(value, SCHEMES)
    }

    /// Which particles move.
    pub fn update(value: Update) -> String {
        word_of(value, UPDATES)
    }

    /// What happens at the bounds.
    pub fn bound_handling(value: BoundHandling) -> String {
        word_of(value, HANDLINGS)
    }
}
