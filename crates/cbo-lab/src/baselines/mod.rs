//! Baselines: the methods that users know, in plain form, for comparisons. One file each.
//!
//! They search a finite box, start from a cloud of points that is given, keep a budget of evaluations exactly, and are functions of their
//! seed. None of them is tuned: their settings are those that their authors published.
//!
//! ```
//! use cbo_lab::baselines::{Baseline, Task, minimize};
//!
//! let pso: Baseline = "pso:particles=20".parse()?;
//! let sphere = cbo::from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum());
//! let task = Task { bounds: &[(-5.0, 5.0); 3], start: &[1.0, 2.0, 3.0], evaluations: 2000, target: None, seed: 7 };
//! let found = minimize(&pso, &sphere, &task)?;
//! assert!(found.evaluations == 2000 && found.best.expect("a finite value").value < 1e-3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod annealing;
pub mod ants;
pub mod de;
mod draws;
pub mod genetic;
pub mod nelder_mead;
pub mod programming;
pub mod pso;
pub mod random;
mod search;
mod settings;

pub(crate) use draws::Draws;
pub use search::{Found, Improvement};
pub use settings::{BaselineError, Setting, Usual};

use cbo::{EvalError, Objective};
use search::{Over, Search};
use settings::Values;
use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

/// All baselines, by their names.
pub static ALL: [&Kind; 8] = [
    &random::KIND,
    &annealing::KIND,
    &genetic::KIND,
    &programming::KIND,
    &ants::KIND,
    &pso::KIND,
    &de::KIND,
    &nelder_mead::KIND,
];

/// A kind of baseline: its name, what may be set, and the search itself, which ends when the budget does.
#[derive(Debug)]
pub struct Kind {
    /// The name by which users choose it.
    pub name: &'static str,
    /// The name for tables and figures.
    pub title: &'static str,
    /// Author, year and DOI.
    pub source: &'static str,
    /// What may be set.
    pub settings: &'static [Setting],
    search: fn(&mut Search<'_>, &Values<'_>) -> Result<Infallible, Over>,
}

/// A baseline with its settings.
#[derive(Clone, Debug)]
pub struct Baseline {
    kind: &'static Kind,
    /// The settings that were given, by their place among those of the kind.
    given: Vec<Option<f64>>,
}

impl PartialEq for Baseline {
    fn eq(&self, other: &Self) -> bool {
        self.kind.name == other.kind.name && self.given == other.given
    }
}

impl Baseline {
    /// The names of all.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.iter().map(|kind| kind.name)
    }

    /// What kind it is.
    pub fn kind(&self) -> &'static Kind {
        self.kind
    }
}

/// A name, and settings where they are not the default: `pso:particles=20`.
impl FromStr for Baseline {
    type Err = BaselineError;

    fn from_str(text: &str) -> Result<Self, BaselineError> {
        let (name, settings) = text.trim().split_once(':').unwrap_or((text.trim(), ""));
        let wanted = name.trim().replace('_', "-");
        let Some(kind) = ALL.into_iter().find(|kind| kind.name == wanted) else {
            return Err(BaselineError::Unknown { name: name.trim().to_string() });
        };
        Ok(Self { kind, given: settings::read(kind, settings)? })
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = settings::written(self.kind, &self.given);
        f.pad(&format!("{}{}{settings}", self.kind.name, if settings.is_empty() { "" } else { ":" }))
    }
}

/// Where a baseline searches, from where, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The box: low and high of each coordinate, finite.
    pub bounds: &'a [(f64, f64)],
    /// Points to start from, one after the other. A method that starts from fewer takes the first, and one that starts from more draws the
    /// others uniformly in the box.
    pub start: &'a [f64],
    /// The evaluations to spend, at least 1.
    pub evaluations: u64,
    /// A value that is low enough: the search ends with the round of evaluations that finds it.
    pub target: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
}

/// Minimises `objective` by a baseline. NaN and minus infinity are failed evaluations, infinity is an infeasible point: none of them is
/// ever the best.
pub fn minimize(baseline: &Baseline, objective: &dyn Objective<f64>, task: &Task<'_>) -> Result<Found, BaselineError> {
    task.check(objective.dim())?;
    let values = Values::new(baseline.kind, &baseline.given, objective.dim());
    let place = ALL.iter().position(|kind| kind.name == baseline.kind.name).unwrap_or(ALL.len());
    let mut search = Search::new(objective, task, place as u64);
    let Err(Over) = (baseline.kind.search)(&mut search, &values);
    search.end().map_err(BaselineError::Evaluation)
}

impl Task<'_> {
    fn check(&self, dim: usize) -> Result<(), BaselineError> {
        let refuse = |field, value: String, remedy: String| Err(BaselineError::Task { field, value, remedy });
        if self.evaluations == 0 {
            return refuse("evaluations", "0".into(), "must be at least 1".into());
        }
        if self.bounds.len() != dim {
            let remedy = format!("one pair for each of {dim} coordinates");
            return refuse("bounds", format!("{} pairs", self.bounds.len()), remedy);
        }
        if let Some((low, high)) = self.bounds.iter().find(|(low, high)| !(low < high && (high - low).is_finite())) {
            let value = format!("{},{}", cbo::numbers::plain(*low), cbo::numbers::plain(*high));
            return refuse("bounds", value, "baselines search a finite box; low must be below high".into());
        }
        if !self.start.len().is_multiple_of(dim) {
            let remedy = format!("points have {dim} coordinates each");
            return refuse("start", format!("{} numbers", self.start.len()), remedy);
        }
        match self.start.iter().find(|x| !x.is_finite()) {
            Some(x) => refuse("start", cbo::numbers::plain(*x), "must be finite numbers".into()),
            None => Ok(()),
        }
    }
}

/// An objective that cannot go on.
impl From<EvalError> for BaselineError {
    fn from(error: EvalError) -> Self {
        Self::Evaluation(error)
    }
}
