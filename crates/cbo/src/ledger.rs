//! What a run has spent and found: the numbers from which its end is decided.

use crate::config::Plan;
use crate::constraint::is_better;
use crate::method::Method;
use crate::numbers::{grouped, plain};
use crate::report::{Evaluated, SolveError, StopReason};
use crate::simd::Scalar;

/// The best of some evaluated points: the row, its value, and how far it violates its constraints.
pub(crate) fn best_of<T: Scalar>(
    energies: impl Iterator<Item = (usize, T)>,
    constraints: impl Fn(usize) -> f64,
) -> Option<(usize, f64, f64)> {
    let mut best: Option<(usize, f64, f64)> = None;
    for (row, energy) in energies {
        let value = energy.to_f64();
        if !value.is_finite() {
            continue;
        }
        let violation = constraints(row);
        if best.is_none_or(|best| is_better((violation, value), (best.2, best.1))) {
            best = Some((row, value, violation));
        }
    }
    best
}

/// Counters and the best point.
#[derive(Clone, Debug)]
pub struct Ledger<T> {
    /// The step whose points are evaluated now, from 0.
    pub step: u64,
    pub evaluations: u64,
    pub failed: u64,
    pub infeasible: u64,
    pub best: Evaluated<T>,
    /// How far the true value of the best point may be from its value, which is a mean if `auto` found noise.
    pub doubt: f64,
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
            best: Evaluated { x: vec![T::default(); dim], value: f64::INFINITY, violation: 0.0 },
            doubt: 0.0,
            best_batch: 0,
            improved: 0,
            done_below,
        }
    }

    /// Notes a new best point.
    pub fn improve(&mut self, x: &[T], value: f64, violation: f64, data_batch: u64) {
        self.best.x.copy_from_slice(x);
        (self.best.value, self.best.violation) = (value, violation);
        (self.best_batch, self.improved) = (data_batch, self.step);
    }

    /// Whether a point would be better than the best: by its violation of the constraints, then by its value. Anything finite is better
    /// than nothing.
    pub fn would_improve(&self, value: f64, violation: f64) -> bool {
        let none_yet = self.best.value == f64::INFINITY;
        value < f64::INFINITY && (none_yet || is_better((violation, value), (self.best.violation, self.best.value)))
    }

    /// Counts energies of a step that is left half evaluated.
    pub fn count(&mut self, known: impl Iterator<Item = T>) {
        for energy in known {
            let value = energy.to_f64();
            self.evaluations += 1;
            self.failed += u64::from(value.is_nan() || value == f64::NEG_INFINITY);
            self.infeasible += u64::from(value == f64::INFINITY);
        }
    }

    /// Whether a run that ends here has a result.
    pub fn check_end(&self) -> Result<(), SolveError> {
        let Self { step, evaluations, failed, infeasible, .. } = *self;
        if self.best.value < f64::INFINITY {
            return Ok(());
        }
        Err(SolveError::NoFiniteEnergy { step, evaluated: evaluations, failed, infeasible })
    }

    /// Why the run ends with this step, if it does. `spent` if the coming step has no evaluations left.
    pub fn stop(
        &self,
        plan: &Plan,
        spent: bool,
        seconds: impl Fn() -> f64,
        narrow: impl Fn(f64) -> bool,
    ) -> Option<StopReason> {
        let config = plan.config();
        let reasons = [
            (config.target.is_some_and(|target| self.reaches(target)), StopReason::Target),
            (plan.last_step().is_some_and(|last| self.step >= last), StopReason::Steps),
            (spent, StopReason::Evaluations),
            (config.stagnation.is_some_and(|steps| self.step - self.improved >= steps), StopReason::Stagnation),
            (self.done_below.is_some_and(narrow), StopReason::Diameter),
            (config.max_seconds.is_some_and(|max| seconds() >= max), StopReason::Seconds),
        ];
        reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason))
    }

    /// What is to be said of a run that found no point that meets its constraints.
    pub fn caveat(&self) -> String {
        if self.best.violation == 0.0 {
            return String::new();
        }
        let violation = plain(self.best.violation);
        format!(" No point was found that meets all constraints: the best one violates them by {violation}.")
    }

    /// Whether the best point ends a run with this target.
    pub fn reaches(&self, target: f64) -> bool {
        self.best.violation == 0.0 && self.best.value + self.doubt <= target
    }

    /// Why the run ended, as a sentence.
    pub fn message(&self, plan: &Plan, stop: StopReason) -> String {
        let (config, spent) = (plan.config(), self.evaluations);
        let number = |given: Option<f64>| plain(given.unwrap_or(f64::NAN));
        match stop {
            StopReason::Steps => format!("The {} steps allowed are taken.", grouped(self.step)),
            StopReason::Evaluations => {
                let allowed = config.max_evaluations.unwrap_or(spent);
                if spent == allowed {
                    return match allowed {
                        1 => "The one evaluation allowed is spent.".into(),
                        _ => format!("The {} evaluations allowed are spent.", grouped(allowed)),
                    };
                }
                let (spent, allowed) = (grouped(spent), grouped(allowed));
                format!("{spent} of {allowed} evaluations are spent, which leaves none for another round.")
            }
            StopReason::Seconds => format!("The {} seconds allowed are over.", number(config.max_seconds)),
            StopReason::Target => {
                format!(
                    "The target {} is reached: the best value is {}.",
                    number(config.target),
                    plain(self.best.value)
                )
            }
            StopReason::Diameter => {
                let size = number(self.done_below);
                match config.method {
                    Method::Polarised(polarised) if polarised.kappa.is_finite() => {
                        format!("Every particle is nearer than {size} to its consensus point in every coordinate.")
                    }
                    _ => format!("The swarm is smaller than {size} in every coordinate."),
                }
            }
            StopReason::Stagnation => {
                format!("The best value has not improved for {} steps.", grouped(config.stagnation.unwrap_or(0)))
            }
            StopReason::Observer => format!("The run was stopped from outside at step {}.", grouped(self.step)),
            StopReason::Failed => "The run could not go on.".into(),
            StopReason::Converged => "Nothing more is to be gained: further restarts do not pay.".into(),
        }
    }
}
