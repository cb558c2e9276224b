//! The texts of settings: the same words on the command line, in TOML files and in Python. What is written is read as the same.

mod hopping;
mod method;
mod named;

pub(crate) use named::{named, number_of, unusual};

use crate::bounds::BoundHandling;
use crate::config::Update;
use crate::initial::{Coordinates, InitialLaw};
use crate::method::{Diffusion, HoppingStart, HoppingWeights, Scheme};
use crate::pairs::Similarity;
use crate::schedule::{Alpha, Clock, Geometric, Reduction, Sigma};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A text that is not the setting it should be; says what was wrong or what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TextError(String);

impl From<TextError> for String {
    fn from(error: TextError) -> Self {
        error.0
    }
}

pub(crate) fn refuse<T>(sentence: impl Into<String>) -> Result<T, TextError> {
    Err(TextError(sentence.into()))
}

/// A number: decimal, scientific, `inf` or `nan` (what is sensible where is checked later).
fn number(text: &str) -> Result<f64, TextError> {
    let text = text.trim();
    text.parse().or_else(|_| refuse(format!("`{text}` is not a number")))
}

/// One of a few words.
fn word<T: Copy>(text: &str, words: &[(&str, T)]) -> Result<T, TextError> {
    let wanted = text.trim().replace('_', "-");
    let names = || words.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let found = words.iter().find(|(name, _)| *name == wanted);
    found.map(|(_, value)| *value).ok_or_else(|| TextError(format!("it is one of {}", names())))
}

/// Settings that are one of a few words: the list of them, and how they are read.
macro_rules! words {
    ($($type:ident: $($name:literal => $value:ident),*;)*) => {$(
        impl $type {
            /// Its values and their names.
            pub const WORDS: &'static [(&'static str, Self)] = &[$(($name, Self::$value)),*];
        }

        impl FromStr for $type {
            type Err = TextError;
            fn from_str(text: &str) -> Result<Self, TextError> {
                word(text, Self::WORDS)
            }
        }

        impl Display for $type {
            fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$value => $name),*
                })
            }
        }
    )*};
}

words! {
    Diffusion: "anisotropic" => Anisotropic, "isotropic" => Isotropic;
    Scheme: "euler-maruyama" => EulerMaruyama, "drift-first" => DriftFirst;
    Update: "full" => Full, "partial" => Partial;
    BoundHandling: "reflect" => Reflect, "clip" => Clip, "none" => None;
    Clock: "step" => Step, "epoch" => Epoch;
    HoppingWeights: "energies" => Energies, "ranks" => Ranks;
    HoppingStart: "law" => Law, "point" => Point;
    Similarity: "gaussian" => Gaussian, "laplace" => Laplace, "inverse-quadratic" => InverseQuadratic;
}

/// The numbers of a schedule, and its clock if one is named at the end.
fn schedule(text: &str) -> Result<(Vec<f64>, Clock), TextError> {
    let named = text.rsplit_once(',').and_then(|(front, back)| Some((front, back.parse().ok()?)));
    let (numbers, clock) = named.unwrap_or((text, Clock::Step));
    Ok((numbers.split(',').map(number).collect::<Result<_, _>>()?, clock))
}

fn geometric(text: &str) -> Result<Geometric, TextError> {
    let (numbers, clock) = schedule(text)?;
    let open = |factor: f64| if factor >= 1.0 { f64::INFINITY } else { 0.0 };
    match numbers[..] {
        [start, factor] => Ok(Geometric { start, factor, cap: open(factor), clock }),
        [start, factor, cap] => Ok(Geometric { start, factor, cap, clock }),
        _ => refuse("a geometric schedule is geometric:START,FACTOR[,CAP][,step|epoch]"),
    }
}

fn logarithmic(text: &str) -> Result<(f64, Clock), TextError> {
    match schedule(text)? {
        (numbers, clock) if numbers.len() == 1 => Ok((numbers[0], clock)),
        _ => refuse("a logarithmic schedule is log:START[,step|epoch]"),
    }
}

impl Display for Geometric {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "geometric:{:?},{:?},{:?}", self.start, self.factor, self.cap)?;
        write_clock(f, self.clock)
    }
}

fn write_logarithmic(f: &mut Formatter<'_>, start: f64, clock: Clock) -> fmt::Result {
    write!(f, "log:{start:?}")?;
    write_clock(f, clock)
}

/// Steps need not be named.
fn write_clock(f: &mut Formatter<'_>, clock: Clock) -> fmt::Result {
    if clock == Clock::Step { Ok(()) } else { write!(f, ",{clock}") }
}

/// `NUMBER`, `inf`, `ess:ETA`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
///
/// ```
/// use cbo::Alpha;
/// assert_eq!("ess:0.3".parse(), Ok(Alpha::EffectiveSampleSize(0.3)));
/// assert_eq!("inf".parse(), Ok(Alpha::Constant(f64::INFINITY)));
/// assert_eq!(Alpha::EffectiveSampleSize(0.3).to_string(), "ess:0.3");
/// ```
impl FromStr for Alpha {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("ess", eta)) => Ok(Self::EffectiveSampleSize(number(eta)?)),
            Some(("geometric", rest)) => Ok(Self::Geometric(geometric(rest)?)),
            Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Self::Logarithmic { start, clock }),
            Some((kind, _)) => refuse(format!("`{kind}` is not a schedule of alpha; use ess:, geometric: or log:")),
            None => Ok(Self::Constant(number(text)?)),
        }
    }
}

impl Display for Alpha {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value:?}"),
            Self::Geometric(g) => write!(f, "{g}"),
            Self::Logarithmic { start, clock } => write_logarithmic(f, *start, *clock),
            Self::EffectiveSampleSize(fraction) => write!(f, "ess:{fraction:?}"),
        }
    }
}

/// `NUMBER`, `geometric:START,FACTOR[,CAP][,step|epoch]`, `log:START[,step|epoch]` or `falling:START,END`.
impl FromStr for Sigma {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("geometric", rest)) => Ok(Self::Geometric(geometric(rest)?)),
            Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Self::Logarithmic { start, clock }),
            Some(("falling", rest)) => falling(rest),
            Some((kind, _)) => refuse(format!("`{kind}` is not a schedule of sigma; use geometric:, log: or falling:")),
            None => Ok(Self::Constant(number(text)?)),
        }
    }
}

impl Display for Sigma {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value:?}"),
            Self::Geometric(g) => write!(f, "{g}"),
            Self::Logarithmic { start, clock } => write_logarithmic(f, *start, *clock),
            Self::Falling { start, end } => write!(f, "falling:{start:?},{end:?}"),
        }
    }
}

fn falling(text: &str) -> Result<Sigma, TextError> {
    match text.split(',').map(number).collect::<Result<Vec<_>, _>>()?[..] {
        [start, end] => Ok(Sigma::Falling { start, end }),
        _ => refuse("a sigma that falls over the run is falling:START,END"),
    }
}

/// `on` or `STRENGTH,LEAST`. (`off` is the absence of a reduction.)
impl FromStr for Reduction {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match (text.trim(), text.split_once(',')) {
            ("on", _) => Ok(Self::default()),
            (_, Some((strength, least))) => Ok(Self { strength: number(strength)?, least: number(least)? }),
            _ => refuse("a reduction is on, off or STRENGTH,LEAST"),
        }
    }
}

impl Display for Reduction {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?},{:?}", self.strength, self.least)
    }
}

/// One number for all coordinates, or one for each, separated by `;`.
impl FromStr for Coordinates {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let numbers = text.split(';').map(number).collect::<Result<Vec<_>, _>>()?;
        Ok(if let [one] = numbers[..] { Self::All(one) } else { Self::Each(numbers) })
    }
}

/// One number where all are the same.
impl Display for Coordinates {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = match self.values() {
            [first, rest @ ..] if rest.iter().all(|v| v.to_bits() == first.to_bits()) => std::slice::from_ref(first),
            values => values,
        };
        for (k, number) in shown.iter().enumerate() {
            write!(f, "{}{number:?}", if k == 0 { "" } else { ";" })?;
        }
        Ok(())
    }
}

impl Coordinates {
    /// Two sets of coordinates, `A,B`, each one number or several separated by `;`.
    ///
    /// ```
    /// use cbo::Coordinates;
    /// assert_eq!(Coordinates::pair("2;0,1"), Ok((vec![2.0, 0.0].into(), 1.0.into())));
    /// ```
    pub fn pair(text: &str) -> Result<(Self, Self), TextError> {
        let (first, second) =
            text.split_once(',').ok_or_else(|| TextError(format!("`{text}` is not a pair of numbers `A,B`")))?;
        Ok((first.parse()?, second.parse()?))
    }
}

/// `normal:MEAN,VARIANCE` or `uniform:LOW,HIGH`, each one number, or one for each coordinate, separated by `;`.
impl FromStr for InitialLaw {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("normal", rest)) => Coordinates::pair(rest).map(|(mean, variance)| Self::Normal { mean, variance }),
            Some(("uniform", rest)) => Coordinates::pair(rest).map(|(low, high)| Self::Uniform { low, high }),
            _ => refuse("an initial law is normal:MEAN,VARIANCE or uniform:LOW,HIGH"),
        }
    }
}

/// Points are only counted: they have no text.
impl Display for InitialLaw {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Normal { mean, variance } => write!(f, "normal:{mean},{variance}"),
            Self::Uniform { low, high } => write!(f, "uniform:{low},{high}"),
            Self::Points(points) => write!(f, "{} numbers", points.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Method;

    #[test]
    fn schedules_in_all_their_forms() {
        let doubled = Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch };
        assert_eq!("geometric:50,2,epoch".parse(), Ok(Alpha::Geometric(doubled)));
        let falling = Geometric { start: 1.0, factor: 0.9, cap: 0.0, clock: Clock::Step };
        assert_eq!("geometric:1,0.9".parse(), Ok(Sigma::Geometric(falling)));
        assert_eq!("log:3,epoch".parse(), Ok(Sigma::Logarithmic { start: 3.0, clock: Clock::Epoch }));
        for wrong in ["", "a", "geometric:1", "geometric:1,2,3,4", "log:1,2", "ess:", "cosine:1"] {
            assert!(wrong.parse::<Alpha>().is_err() && wrong.parse::<Sigma>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn words_may_have_underscores_and_errors_list_them() {
        assert_eq!(" euler_maruyama ".parse(), Ok(Scheme::EulerMaruyama));
        assert_eq!("clip".parse(), Ok(BoundHandling::Clip));
        let error = "round".parse::<Diffusion>().unwrap_err();
        assert_eq!(error.to_string(), "it is one of anisotropic, isotropic");
    }

    #[test]
    fn what_is_written_is_read_as_the_same() {
        fn both<T: FromStr + Display>(texts: &[&str]) {
            for text in texts {
                let setting: T = text.parse().unwrap_or_else(|_| panic!("{text} is not read"));
                assert_eq!(setting.to_string(), *text);
            }
        }
        both::<Alpha>(&["inf", "1e300", "ess:0.3", "geometric:50.0,2.0,inf,epoch", "geometric:1.0,2.0,8.0", "log:3.0"]);
        both::<Sigma>(&[
            "falling:1.0,1e-9",
            "0.0",
            "0.25",
            "geometric:1.0,0.9,0.0",
            "geometric:1.0,0.9,0.1,epoch",
            "log:3.0,epoch",
        ]);
        both::<Reduction>(&["0.2,0.8"]);
        both::<Coordinates>(&["1.0", "1.0;-2.5;3.0"]);
        both::<InitialLaw>(&["normal:2.0;0.0,1.0", "uniform:-3.0,3.0"]);
        both::<Method>(&[
            "cbo",
            "auto",
            "auto:local=true",
            "adam",
            "adam:beta1=0.5,epsilon=0.001",
            "hypersurface",
            "hypersurface:radius=2.0",
            "hypersurface:surface=torus",
            "hypersurface:surface=torus,major=3.0,minor=0.25",
            "hypersurface:surface=stiefel,columns=2",
            "hypersurface:surface=stiefel,factor=qr",
            "hypersurface:surface=stiefel,columns=2,factor=qr",
            "jumps",
            "jumps:rate=0.5,size=4.0",
            "memory",
            "memory:drift=0.5,beta=100.0,kappa=2.0,theta=0.1",
            "memory:noise=0.0",
            "polarised",
            "polarised:kappa=inf",
            "polarised:kappa=0.25,kernel=inverse-quadratic",
            "sampling",
            "sampling:law=true",
            "mirror",
            "mirror:map=simplex",
            "mirror:map=ball,radius=2.0,centre=-1.0",
            "mirror:map=sparse,threshold=0.1",
            "sphere",
            "sphere:radius=3.0",
        ]);
        both::<Diffusion>(&["anisotropic", "isotropic"]);
        both::<Scheme>(&["euler-maruyama", "drift-first"]);
        both::<Update>(&["full", "partial"]);
        both::<BoundHandling>(&["reflect", "clip", "none"]);
        both::<Clock>(&["step", "epoch"]);
        assert_eq!(Coordinates::Each(vec![2.0; 3]).to_string(), "2.0");
        assert_eq!(format!("{:>8}", Update::Full), "    full");
    }

    #[test]
    fn reductions_and_laws() {
        assert_eq!("on".parse(), Ok(Reduction::default()));
        assert_eq!("0.5,0.9".parse(), Ok(Reduction { strength: 0.5, least: 0.9 }));
        assert!("off".parse::<Reduction>().is_err());
        let law = InitialLaw::Normal { mean: vec![2.0, 0.0].into(), variance: 1.0.into() };
        assert_eq!("normal:2;0,1".parse(), Ok(law));
        assert!("normal:1".parse::<InitialLaw>().is_err());
    }
}
