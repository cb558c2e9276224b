//! Methods side by side: runs of several methods on the same problems from the same starts, and the statistics of the comparison.
//!
//! Run r has the same shift, rotation and initial points for all methods. What is measured is the number of evaluations after which a run has
//! a value below a target, for many targets; how many runs find the minimum; and whether the difference between two methods is more than
//! chance.
//!
//! ```
//! use cbo::CboConfig;
//! use cbo_lab::compare::{Comparison, Contestant, Entry, Goal, Targets, trial};
//! use cbo_lab::success::Judge;
//! use cbo_problems::Problem;
//!
//! let problem = Problem::named("rastrigin", 2)?;
//! let init = cbo::InitialLaw::uniform(problem.domain());
//! let config = |seed| CboConfig { seed, init: init.clone(), max_evaluations: Some(4000), ..CboConfig::default() };
//! let targets = Targets::of(&problem, &config(0));
//! let goal = Goal::Distance { tolerance: 0.25 };
//! let mut entries = Vec::new();
//! for method in Contestant::list("cbo, pso, random")? {
//!     let run = |seed| trial::<f64>(&method, &config(seed), &problem, Judge::Best, &|| false);
//!     let trials = (0..10).map(run).collect::<Result<Option<Vec<_>>, _>>()?.expect("not interrupted");
//!     entries.push(Entry::new(&method.to_string(), &trials, &goal, &targets));
//! }
//! let comparison = Comparison::of(&entries, &targets, 4000);
//! assert!(comparison.rows.iter().any(|row| row.name == "pso" && row.rate.successes == 10));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod contestant;
pub mod curves;
pub mod paired;
mod recorder;
mod summary;
mod targets;
mod trial;

pub use contestant::{Contestant, ContestantError};
pub use recorder::Improvement;
pub use summary::{Comparison, Entry, Goal, Measured, Pair, Row};
pub use targets::Targets;
pub use trial::{Judged, Trial, cloud, most_evaluations, trial};
