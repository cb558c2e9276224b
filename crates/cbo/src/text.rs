//! The texts of settings: the same words on the command line, in TOML files and in Python.

use crate::bounds::BoundHandling;
use crate::config::Update;
use crate::initial::{Coordinates, InitialLaw};
use crate::schedule::{Alpha, Clock, Geometric, Reduction, Sigma};
use crate::step::{Diffusion, Scheme};
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

fn refuse<T>(sentence: impl Into<String>) -> Result<T, TextError> {
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
    )*};
}

words! {
    Diffusion: "anisotropic" => Anisotropic, "isotropic" => Isotropic;
    Scheme: "euler-maruyama" => EulerMaruyama, "drift-first" => DriftFirst;
    Update: "full" => Full, "partial" => Partial;
    BoundHandling: "reflect" => Reflect, "clip" => Clip, "none" => None;
    Clock: "step" => Step, "epoch" => Epoch;
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

/// `NUMBER`, `inf`, `ess:ETA`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
///
/// ```
/// use cbo::Alpha;
/// assert_eq!("ess:0.3".parse(), Ok(Alpha::EffectiveSampleSize(0.3)));
/// assert_eq!("inf".parse(), Ok(Alpha::Constant(f64::INFINITY)));
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

/// `NUMBER`, `geometric:START,FACTOR[,CAP][,step|epoch]` or `log:START[,step|epoch]`.
impl FromStr for Sigma {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        match text.split_once(':') {
            Some(("geometric", rest)) => Ok(Self::Geometric(geometric(rest)?)),
            Some(("log", rest)) => logarithmic(rest).map(|(start, clock)| Self::Logarithmic { start, clock }),
            Some((kind, _)) => refuse(format!("`{kind}` is not a schedule of sigma; use geometric: or log:")),
            None => Ok(Self::Constant(number(text)?)),
        }
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

/// One number for all coordinates, or one for each, separated by `;`.
impl FromStr for Coordinates {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let numbers = text.split(';').map(number).collect::<Result<Vec<_>, _>>()?;
        Ok(if let [one] = numbers[..] { Self::All(one) } else { Self::Each(numbers) })
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn reductions_and_laws() {
        assert_eq!("on".parse(), Ok(Reduction::default()));
        assert_eq!("0.5,0.9".parse(), Ok(Reduction { strength: 0.5, least: 0.9 }));
        assert!("off".parse::<Reduction>().is_err());
        let law = InitialLaw::Normal { mean: vec![2.0, 0.0].into(), variance: 1.0.into() };
        assert_eq!("normal:2;0,1".parse(), Ok(law));
        assert!("normal:1".parse::<InitialLaw>().is_err());
    }
}
