//! Who is compared: a method of the engine, or a baseline.

use crate::baselines::{Baseline, BaselineError};
use cbo::{Method, TextError};
use std::fmt;
use std::str::FromStr;

/// A method of the engine, or a baseline.
#[derive(Clone, Debug, PartialEq)]
pub enum Contestant {
    /// Of the engine.
    Engine(Method),
    /// One of the [`baselines`](crate::baselines).
    Baseline(Baseline),
}

/// A text that is no method, or no list of methods.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContestantError {
    /// No method has this name.
    #[error("`{name}` is not a method; there are {}, and the baselines {}", Method::NAMES.join(", "), baselines())]
    Unknown {
        /// What was given.
        name: String,
    },
    /// A method of the engine with wrong settings.
    #[error("{text}: {source}")]
    Engine {
        /// What was given.
        text: String,
        /// What the engine says.
        source: TextError,
    },
    /// A baseline with wrong settings.
    #[error("{text}: {source}")]
    Baseline {
        /// What was given.
        text: String,
        /// What the baseline says.
        source: BaselineError,
    },
    /// A setting before any method.
    #[error("`{setting}` is a setting, but no method stands before it")]
    NoMethod {
        /// What was given.
        setting: String,
    },
    /// The same method twice.
    #[error("{text} is given twice; leave one out")]
    Twice {
        /// What was given.
        text: String,
    },
    /// No method at all.
    #[error("no method is given; there are {}, and the baselines {}", Method::NAMES.join(", "), baselines())]
    None,
}

fn baselines() -> String {
    Baseline::names().collect::<Vec<_>>().join(", ")
}

impl Contestant {
    /// The names of all: those of the engine, then the baselines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Method::NAMES.iter().copied().chain(Baseline::names())
    }

    /// Its name, without its settings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Engine(method) => method.name(),
            Self::Baseline(baseline) => baseline.kind().name,
        }
    }

    /// Whether it ends with a consensus point by which it can be judged.
    pub fn has_consensus(&self) -> bool {
        matches!(self, Self::Engine(method) if !method.is_auto())
    }

    /// Several of them, separated by commas. What is no method but a setting belongs to the method before it, so that
    /// `memory:drift=0.5,beta=100,pso` are two.
    pub fn list(text: &str) -> Result<Vec<Self>, ContestantError> {
        let mut texts: Vec<String> = Vec::new();
        for piece in text.split(',').map(str::trim).filter(|piece| !piece.is_empty()) {
            let is_setting = piece.split(':').next().is_some_and(|name| name.contains('='));
            match texts.last_mut() {
                Some(method) if is_setting => {
                    let separator = if method.contains(':') { ',' } else { ':' };
                    *method += &format!("{separator}{piece}");
                }
                None if is_setting => return Err(ContestantError::NoMethod { setting: piece.to_string() }),
                _ => texts.push(piece.to_string()),
            }
        }
        let mut found: Vec<Self> = Vec::new();
        for text in texts {
            let contestant: Self = text.parse()?;
            if found.contains(&contestant) {
                return Err(ContestantError::Twice { text });
            }
            found.push(contestant);
        }
        if found.is_empty() { Err(ContestantError::None) } else { Ok(found) }
    }
}

/// A name, and settings where they are not the default: `memory:beta=100`, `pso:particles=20`.
impl FromStr for Contestant {
    type Err = ContestantError;

    fn from_str(text: &str) -> Result<Self, ContestantError> {
        let text = text.trim();
        let name = text.split(':').next().unwrap_or_default().trim().replace('_', "-");
        if Method::NAMES.contains(&name.as_str()) {
            let engine = |source| ContestantError::Engine { text: text.to_string(), source };
            return text.parse().map(Self::Engine).map_err(engine);
        }
        text.parse().map(Self::Baseline).map_err(|source| match source {
            BaselineError::Unknown { name } => ContestantError::Unknown { name },
            source => ContestantError::Baseline { text: text.to_string(), source },
        })
    }
}

impl fmt::Display for Contestant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(method) => method.fmt(f),
            Self::Baseline(baseline) => baseline.fmt(f),
        }
    }
}
