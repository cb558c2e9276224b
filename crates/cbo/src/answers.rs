//! The energies of a round of evaluations as they come in, and when no further evaluation is to begin.

use crate::objective::{EvalError, Objective, Rows, StepContext};
use crate::report::StopReason;
use crate::simd::Scalar;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Collects the energies of points that are evaluated one by one, in any order and on any thread. A run that has a limit of
/// time or a target needs no more of them when that is reached: it then ends within a step.
///
/// [`Objective::energies_one_by_one`](crate::Objective::energies_one_by_one) gets one, and [`AskTell::answers`](crate::AskTell::answers)
/// makes one.
#[derive(Debug)]
pub struct Answers<T> {
    known: Mutex<Known<T>>,
    deadline: Option<Instant>,
    target: Option<f64>,
    /// Whether an energy has reached the target.
    reached: AtomicBool,
    /// Whether the run has an energy at all: a run without any goes on beyond its time until it has one.
    begun: AtomicBool,
}

/// The energies of a round, as far as they are known.
#[derive(Clone, Debug)]
pub(crate) struct Known<T> {
    /// NaN where it is not known.
    energies: Vec<T>,
    is_known: Vec<bool>,
    left: usize,
    /// The rows of the round that are asked for, if not all.
    asked: Option<Vec<usize>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { energies: Vec::new(), is_known: Vec::new(), left: 0, asked: None }
    }
}

/// Why no further evaluation is to begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Limits {
    /// When the time of the run is over.
    pub deadline: Option<Instant>,
    /// The value that ends the run.
    pub target: Option<f64>,
    /// Whether the run has evaluated anything before this round.
    pub begun: bool,
    /// Whether an earlier round of the step has reached the target.
    pub reached: bool,
}

impl<T: Scalar> Known<T> {
    /// Nothing of a round of this many points, in the memory that this one has.
    pub fn nothing_of(mut self, count: usize) -> Self {
        self.energies.clear();
        self.energies.resize(count, T::from_f64(f64::NAN));
        self.is_known.clear();
        self.is_known.resize(count, false);
        (self.left, self.asked) = (count, None);
        self
    }

    /// These energies of a round of `count` points, if there are such rows.
    pub fn some_of(count: usize, energies: &[(usize, T)]) -> Option<Self> {
        let mut known = Self::default().nothing_of(count);
        for (row, energy) in energies {
            known.is_known.get(*row)?;
            known.note(*row, *energy);
        }
        Some(known)
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.left == 0
    }

    /// The energies; NaN where they are not known.
    pub fn energies(&self) -> &[T] {
        &self.energies
    }

    /// What is known: rows and their energies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.energies.iter().zip(&self.is_known).enumerate().filter_map(|(i, (e, known))| known.then_some((i, *e)))
    }

    /// How many are known.
    pub fn count(&self) -> usize {
        self.energies.len() - self.left
    }

    /// Notes the energy of a row; the first counts.
    pub fn note(&mut self, row: usize, energy: T) {
        if !std::mem::replace(&mut self.is_known[row], true) {
            self.energies[row] = energy;
            self.left -= 1;
        }
    }
}

impl<T: Scalar> Answers<T> {
    /// A place for the energies that are not `known`.
    pub(crate) fn new(known: Known<T>, limits: Limits) -> Self {
        let Limits { deadline, target, begun, reached } = limits;
        let reached = reached || known.iter().any(|(_, energy)| reaches(target, energy));
        let begun = AtomicBool::new(begun || known.count() > 0);
        Self { known: Mutex::new(known), deadline, target, reached: AtomicBool::new(reached), begun }
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        // A thread that panics holding it has changed nothing or all.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the energy of a row; NaN and infinity mean what they mean to an [`Objective`](crate::Objective). Of two energies of one row
    /// the first counts.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn give(&self, row: usize, energy: T) {
        if reaches(self.target, energy) {
            self.reached.store(true, Ordering::Release);
        }
        let mut known = self.known();
        let row = known.asked.as_ref().map_or(row, |asked| asked[row]);
        known.note(row, energy);
        self.begun.store(true, Ordering::Release);
    }

    /// Whether no further evaluation is to begin: the time of the run is over, or its target is reached. What has begun may be finished.
    pub fn are_enough(&self) -> bool {
        self.reason().is_some()
    }

    /// When the time of the run is over, if it has a limit.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The value at which the run ends, if it has one.
    pub fn target(&self) -> Option<f64> {
        self.target
    }

    /// Why no further evaluation is to begin.
    pub(crate) fn reason(&self) -> Option<StopReason> {
        let over = || self.begun.load(Ordering::Acquire) && self.deadline.is_some_and(|end| Instant::now() >= end);
        if self.reached.load(Ordering::Acquire) {
            return Some(StopReason::Target);
        }
        over().then_some(StopReason::Seconds)
    }

    /// Asks for the energy of one row of the round, unless it is known or no longer needed.
    pub(crate) fn ask_single(
        &self,
        objective: &(impl Objective<T> + ?Sized),
        at: StepContext,
        row: usize,
        point: &[T],
    ) -> Result<(), EvalError> {
        if self.known().is_known[row] || self.are_enough() {
            return Ok(());
        }
        let mut energy = [T::from_f64(f64::NAN)];
        objective.energies(at, Rows::new(point, point.len()), &mut energy).map_err(|e| e.after(row))?;
        self.give(row, energy[0]);
        Ok(())
    }

    /// Asks for the energies of all rows of the round that are not known, in one call.
    pub(crate) fn ask_together(
        &self,
        objective: &(impl Objective<T> + ?Sized),
        at: StepContext,
        rows: Rows<'_, T>,
    ) -> Result<(), EvalError> {
        if self.are_enough() {
            return Ok(());
        }
        let Some((missing, points)) = self.missing(rows) else { return objective.energies_one_by_one(at, rows, self) };
        self.known().asked = Some(missing.clone());
        let outcome = objective.energies_one_by_one(at, Rows::new(&points, rows.dim()), self);
        outcome.map_err(|e| EvalError { row: e.row.and_then(|row| missing.get(row).copied()), ..e })
    }

    /// The rows that are not known, copied together, if some are known.
    fn missing(&self, rows: Rows<'_, T>) -> Option<(Vec<usize>, Vec<T>)> {
        let known = self.known();
        if known.count() == 0 {
            return None;
        }
        let missing: Vec<usize> = (0..rows.len()).filter(|row| !known.is_known[*row]).collect();
        let points = missing.iter().flat_map(|row| rows.row(*row)).copied().collect();
        Some((missing, points))
    }

    /// What is known.
    pub(crate) fn into_known(self) -> Known<T> {
        let known = self.known.into_inner().unwrap_or_else(PoisonError::into_inner);
        Known { asked: None, ..known }
    }
}

/// Whether a value ends the run.
pub(crate) fn reaches<T: Scalar>(target: Option<f64>, energy: T) -> bool {
    let value = energy.to_f64();
    target.is_some_and(|target| value <= target && value > f64::NEG_INFINITY)
}
