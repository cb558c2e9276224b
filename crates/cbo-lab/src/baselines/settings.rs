//! The settings of baselines: their texts, their ranges, their defaults.

use super::{Baseline, Kind};
use cbo::EvalError;
use cbo::numbers::plain;

/// A number that a user may choose.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Its value when the user chooses none.
    pub default: Usual,
    /// The least value allowed.
    pub least: f64,
    /// The largest value allowed.
    pub most: f64,
    /// Whether it is a whole number.
    pub whole: bool,
}

/// A default.
#[derive(Clone, Copy, Debug)]
pub enum Usual {
    /// The same in all dimensions.
    Number(f64),
    /// This function of the dimension, and the same in words.
    OfDim(fn(usize) -> usize, &'static str),
}

impl Usual {
    /// Its value in `dim` dimensions.
    pub fn of(self, dim: usize) -> f64 {
        match self {
            Self::Number(value) => value,
            Self::OfDim(of, _) => of(dim) as f64,
        }
    }

    /// In words.
    pub fn words(self) -> String {
        match self {
            Self::Number(value) => plain(value),
            Self::OfDim(_, words) => words.to_string(),
        }
    }
}

impl Setting {
    /// A count, such as a number of particles.
    pub(super) const fn count(name: &'static str, meaning: &'static str, default: Usual, least: f64) -> Self {
        Self { name, meaning, default, least, most: 1e6, whole: true }
    }

    /// A real number in a range.
    pub(super) const fn number(name: &'static str, meaning: &'static str, default: f64, least: f64, most: f64) -> Self {
        Self { name, meaning, default: Usual::Number(default), least, most, whole: false }
    }

    fn allows(&self, value: f64) -> bool {
        (self.least..=self.most).contains(&value) && (!self.whole || value.fract() == 0.0)
    }
}

/// What is wrong with a baseline or with what it is asked to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BaselineError {
    /// No baseline has this name.
    #[error("`{name}` is not one of {}", Baseline::names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// What was given.
        name: String,
    },
    /// It has no such setting.
    #[error("`{setting}` is not a setting of {}; it has {}", kind.name, names(kind))]
    UnknownSetting {
        /// The baseline.
        kind: &'static Kind,
        /// What was given.
        setting: String,
    },
    /// A setting that has no usable value.
    #[error(
        "{} = {value}: {} of {} is a {}number from {} to {}",
        setting.name, setting.name, kind.name, if setting.whole { "whole " } else { "" }, plain(setting.least), plain(setting.most)
    )]
    BadSetting {
        /// The baseline.
        kind: &'static Kind,
        /// The setting.
        setting: &'static Setting,
        /// What was given.
        value: String,
    },
    /// A wrong [`Task`](super::Task).
    #[error("{field} = {value}: {remedy}")]
    Task {
        /// Its field.
        field: &'static str,
        /// What was given.
        value: String,
        /// What would be right.
        remedy: String,
    },
    /// The objective gave up.
    #[error("the objective failed")]
    Evaluation(#[source] EvalError),
}

fn names(kind: &Kind) -> String {
    match kind.settings {
        [] => "none".into(),
        settings => settings.iter().map(|setting| setting.name).collect::<Vec<_>>().join(", "),
    }
}

/// Reads `NAME=NUMBER`, separated by commas.
pub(super) fn read(kind: &'static Kind, text: &str) -> Result<Vec<Option<f64>>, BaselineError> {
    let mut given = vec![None; kind.settings.len()];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (name, value) = part.split_once('=').map_or((part, ""), |(name, value)| (name.trim(), value.trim()));
        let Some(place) = kind.settings.iter().position(|setting| setting.name == name) else {
            return Err(BaselineError::UnknownSetting { kind, setting: name.to_string() });
        };
        let setting = &kind.settings[place];
        let number = value.parse().ok().filter(|number| setting.allows(*number));
        let Some(number) = number else {
            return Err(BaselineError::BadSetting { kind, setting, value: value.to_string() });
        };
        given[place] = Some(number);
    }
    Ok(given)
}

/// Writes the settings that were given.
pub(super) fn written(kind: &Kind, given: &[Option<f64>]) -> String {
    let all = kind.settings.iter().zip(given);
    all.filter_map(|(setting, value)| Some(format!("{}={}", setting.name, plain((*value)?))))
        .collect::<Vec<_>>()
        .join(",")
}

/// The values of all settings of a baseline in a number of dimensions.
pub struct Values<'a> {
    kind: &'a Kind,
    values: Vec<f64>,
}

impl<'a> Values<'a> {
    pub(super) fn new(kind: &'a Kind, given: &[Option<f64>], dim: usize) -> Self {
        let all = kind.settings.iter().zip(given);
        Self { kind, values: all.map(|(setting, value)| value.unwrap_or(setting.default.of(dim))).collect() }
    }

    /// The value of a setting.
    pub(super) fn number(&self, name: &str) -> f64 {
        let place = self.kind.settings.iter().position(|setting| setting.name == name);
        self.values[place.unwrap_or_else(|| panic!("{} has no setting {name}", self.kind.name))]
    }

    /// The value of a setting that is a count.
    pub(super) fn count(&self, name: &str) -> usize {
        self.number(name) as usize
    }
}
