//! What a run has spent and found: the numbers from which its end is decided.

use crate::config::Plan;
use crate::report::{Evaluated, StopReason};
use crate::simd::Scalar;

/// Counters and the best point.
#[derive(Debug)]
pub(crate) struct Ledger<T> {
    /// The step whose points are evaluated now, from 0.
    pub step: u64,
    pub evaluations: u64,
    pub failed: u64,
    pub infeasible: u64,
    pub best: Evaluated<T>,
    /// The data batch on which the best point was evaluated.
    pub best_batch: u64,
    /// The step that found it.
    pub improved: u64,
    /// The diameter at which the swarm is done.
    pub done_below: Option<f64>,
}

impl<T: Scalar> Ledger<T> {
    /// Nothing spent, nothing found.
    pub fn new(dim: usize, done_below: Option<f64>) -> Self {
        Self {
            step: 0,
            evaluations: 0,
            failed: 0,
            infeasible: 0,
            best: Evaluated { x: vec![T::default(); dim], value: f64::INFINITY },
            best_batch: 0,
            improved: 0,
            done_below,
        }
    }

    /// Notes a new best point.
    pub fn improve(&mut self, x: &[T], value: f64, data_batch: u64) {
        self.best.x.copy_from_slice(x);
        (self.best.value, self.best_batch, self.improved) = (value, data_batch, self.step);
    }

    /// Why the run ends with this step, if it does. `next` are the evaluations of the coming step.
    pub fn stop(&self, plan: &Plan, next: u64, seconds: f64, narrow: impl Fn(f64) -> bool) -> Option<StopReason> {
        let config = plan.config();
        // The consensus point at the end takes one evaluation more.
        let next = self.evaluations + next + 1;
        let reasons = [
            (config.target.is_some_and(|target| self.best.value <= target), StopReason::Target),
            (plan.last_step().is_some_and(|last| self.step >= last), StopReason::Steps),
            (config.max_evaluations.is_some_and(|max| next > max), StopReason::Evaluations),
            (config.stagnation.is_some_and(|steps| self.step - self.improved >= steps), StopReason::Stagnation),
            (self.done_below.is_some_and(narrow), StopReason::Diameter),
            (config.max_seconds.is_some_and(|max| seconds >= max), StopReason::Seconds),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }
}
