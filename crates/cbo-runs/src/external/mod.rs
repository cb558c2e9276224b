//! Programs as objectives: any program that takes a point and gives a number, in any language.
//!
//! A [`Program`] is a command line and one of three protocols ([`Protocol`]). [`Workers`] evaluate points with it, several
//! at once, and survive what programs do: they hang, crash, print nonsense, leave children behind. Each [`Attempt`] is
//! reported as it ends.
//!
//! ```no_run
//! use cbo_runs::external::{Job, Program, Protocol, Settings, Workers};
//! use std::ops::ControlFlow;
//!
//! let program = Program::parse("./simulate {x}", Protocol::Args)?;
//! let mut workers = Workers::start(&Settings { workers: 4, retries: 1, ..Settings::new(program) })?;
//! let jobs: Vec<Job> = (0..100).map(|i| Job { index: i, x: vec![i as f64, 1.0], attempt: 1 }).collect();
//! let mut values = vec![f64::NAN; jobs.len()];
//! workers.evaluate(&jobs, &mut |attempt| {
//!     values[attempt.job] = attempt.outcome.value();
//!     ControlFlow::Continue(())
//! })?;
//! # Ok::<(), cbo_runs::external::ExternalError>(())
//! ```
//!
//! Data flows one way: jobs -> queue -> a thread for each worker -> its process -> attempts -> the calling thread.

mod answer;
mod attempt;
mod board;
mod error;
mod limits;
mod program;

#[cfg(unix)]
mod guard;
#[cfg(unix)]
mod lines;
#[cfg(unix)]
mod oneshot;
#[cfg(unix)]
mod pace;
#[cfg(unix)]
mod persistent;
#[cfg(unix)]
mod poll;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod queue;
#[cfg(unix)]
mod tail;
#[cfg(unix)]
mod workers;

#[cfg(not(unix))]
#[path = "elsewhere.rs"]
mod workers;

use std::time::Duration;

pub use answer::{Answer, AnswerError, read_answer, read_value};
pub use attempt::{Attempt, Outcome};
pub use board::{Board, Notice, State as WorkerState};
pub use error::ExternalError;
pub use limits::Limits;
pub use program::{Program, Protocol};
pub use workers::{Workers, kill_all};

/// The most workers that may be asked for.
pub const MOST_WORKERS: usize = 1024;

/// How points are evaluated.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What evaluates them.
    pub program: Program,
    /// How many points at once, from 1 to [`MOST_WORKERS`]; 1 by default.
    pub workers: usize,
    /// The most time that an evaluation may take; without limit by default.
    pub timeout: Option<Duration>,
    /// How often an evaluation that failed is tried again; 0 by default.
    pub retries: u32,
}

impl Settings {
    /// One worker, no time limit, no retries.
    pub fn new(program: Program) -> Self {
        Self { program, workers: 1, timeout: None, retries: 0 }
    }

    /// Whether the settings make sense and the program is there.
    pub fn check(&self) -> Result<(), ExternalError> {
        if !(1..=MOST_WORKERS).contains(&self.workers) {
            return Err(ExternalError::setting("workers", self.workers, format!("use from 1 to {MOST_WORKERS}")));
        }
        if self.timeout.is_some_and(|t| t.is_zero()) {
            return Err(ExternalError::setting("timeout", 0, "an evaluation needs more than 0 seconds"));
        }
        self.program.check()
    }
}

/// A point to evaluate.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What its attempts carry as [`Attempt::job`].
    pub index: usize,
    /// The point.
    pub x: Vec<f64>,
    /// The first attempt to make: 1, or a later one if some have been made before.
    pub attempt: u32,
}
