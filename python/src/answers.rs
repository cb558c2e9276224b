//! Answers that a place outside the engine gives one by one, as Python sees them.

use crate::settings::Number;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Where answers go; nothing happens once they were taken.
pub trait Sink: Send + Sync {
    /// The value of a row; false if there is no such row.
    fn give(&self, row: usize, value: f64) -> bool;

    /// Whether no further evaluation is to begin.
    fn are_enough(&self) -> bool;

    /// Whether they may be enough before all are there.
    fn have_limits(&self) -> bool;

    /// Seconds until the time of the run is over, if it has a limit.
    fn seconds_left(&self) -> Option<f64>;
}

/// The answers of a round, until they are taken.
pub struct Round<T> {
    answers: Mutex<Option<cbo::Answers<T>>>,
    rows: usize,
}

impl<T: Number> Round<T> {
    /// Answers for this many rows.
    pub fn new(answers: cbo::Answers<T>, rows: usize) -> Arc<Self> {
        Arc::new(Self { answers: Mutex::new(Some(answers)), rows })
    }

    /// The answers; whoever still has the round gives nothing any more.
    pub fn take(&self) -> Option<cbo::Answers<T>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn with<R>(&self, read: impl FnOnce(&cbo::Answers<T>) -> R) -> Option<R> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(read)
    }
}

impl<T: Number> Sink for Round<T> {
    fn give(&self, row: usize, value: f64) -> bool {
        let known = row < self.rows;
        if known {
            self.with(|answers| answers.give(row, T::from_f64(value)));
        }
        known
    }

    fn are_enough(&self) -> bool {
        self.with(cbo::Answers::are_enough).unwrap_or(true)
    }

    fn have_limits(&self) -> bool {
        self.with(|answers| answers.deadline().is_some() || answers.target().is_some()).unwrap_or(false)
    }

    fn seconds_left(&self) -> Option<f64> {
        let deadline = self.with(cbo::Answers::deadline).flatten()?;
        Some(deadline.saturating_duration_since(Instant::now()).as_secs_f64())
    }
}

/// The value of one point, which is wanted whatever the limits.
#[derive(Default)]
pub struct Single(Mutex<Option<f64>>);

impl Single {
    /// The value, if it came.
    pub fn value(&self) -> Option<f64> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for Single {
    fn give(&self, row: usize, value: f64) -> bool {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(value);
        row == 0
    }

    fn are_enough(&self) -> bool {
        false
    }

    fn have_limits(&self) -> bool {
        false
    }

    fn seconds_left(&self) -> Option<f64> {
        None
    }
}

/// Takes the values of points that are evaluated elsewhere, in any order.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Answers(pub Arc<dyn Sink>);

#[pymethods]
impl Answers {
    /// Gives the value of a row.
    fn give(&self, row: usize, value: f64) -> PyResult<()> {
        if self.0.give(row, value) {
            return Ok(());
        }
        Err(pyo3::exceptions::PyIndexError::new_err(format!("there is no row {row}")))
    }

    /// Whether no further evaluation is to begin: the time is over, or the target is reached.
    fn are_enough(&self) -> bool {
        self.0.are_enough()
    }

    /// Whether the run has such limits.
    fn have_limits(&self) -> bool {
        self.0.have_limits()
    }

    /// Seconds until the time is over, if the run has such a limit.
    fn seconds_left(&self) -> Option<f64> {
        self.0.seconds_left()
    }
}
