//! When an evaluation ends early.

use super::Outcome;
use std::time::Instant;

/// When no further attempt is to begin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// After this moment.
    pub deadline: Option<Instant>,
    /// After an answer with a value that is not above this.
    pub target: Option<f64>,
}

impl Limits {
    /// Whether an attempt with this outcome is the last to begin.
    pub(crate) fn are_reached_by(&self, outcome: &Outcome) -> bool {
        let reached = self.target.is_some_and(|target| outcome.value() <= target && outcome.value().is_finite());
        reached || self.deadline.is_some_and(|end| Instant::now() >= end)
    }
}
