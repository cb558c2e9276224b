//! The energies of a round of evaluations as they come in, and when no further evaluation is to begin.

use crate::constraint::{defined, violation};
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
pub struct Known<T> {
    /// NaN where it is not known.
    energies: Vec<T>,
    /// The constraints of each point, one after the other; NaN where they are not known.
    constraints: Vec<T>,
    is_known: Vec<bool>,
    left: usize,
    /// The rows of the round that are asked for, if not all.
    asked: Option<Vec<usize>>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { energies: Vec::new(), constraints: Vec::new(), is_known: Vec::new(), left: 0, asked: None }
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
    /// Nothing of a round of this many points with so many constraints each, in the memory that this one has.
    pub fn nothing_of(mut self, count: usize, constraints: usize) -> Self {
        let nothing = T::from_f64(f64::NAN);
        self.energies.clear();
        self.energies.resize(count, nothing);
        self.constraints.clear();
        self.constraints.resize(count * constraints, nothing);
        self.is_known.clear();
        self.is_known.resize(count, false);
        (self.left, self.asked) = (count, None);
        self
    }

    /// These answers to a round of `count` points, if there are such rows: of each the row, its energy and its constraints.
    pub fn some_of(count: usize, constraints: usize, answers: &[(usize, T, Vec<T>)]) -> Option<Self> {
        let mut known = Self::default().nothing_of(count, constraints);
        for (row, energy, values) in answers {
            known.is_known.get(*row)?;
            known.constrain(*row, values);
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

    /// Where the energies and constraints of all points are written, by whoever knows all of them.
    pub fn slots(&mut self) -> (&mut [T], &mut [T]) {
        self.is_known.fill(true);
        self.left = 0;
        (&mut self.energies, &mut self.constraints)
    }

    /// The constraints of all points; NaN where they are not known.
    pub fn constraints(&self) -> &[T] {
        &self.constraints
    }

    /// The constraints of a row.
    pub fn constraints_of(&self, row: usize) -> &[T] {
        let count = self.constraints.len() / self.energies.len().max(1);
        &self.constraints[row * count..(row + 1) * count]
    }

    /// What is known: rows and their energies, in order.
    pub fn iter(&self) -> impl Iterator<Item = (usize, T)> + '_ {
        self.energies.iter().zip(&self.is_known).enumerate().filter_map(|(i, (e, known))| known.then_some((i, *e)))
    }

    /// How many are known.
    pub fn count(&self) -> usize {
        self.energies.len() - self.left
    }

    /// Notes the energy of a row; the first counts. Without its constraints it is no energy.
    pub fn note(&mut self, row: usize, energy: T) {
        if !std::mem::replace(&mut self.is_known[row], true) {
            self.energies[row] = defined(energy, self.constraints_of(row));
            self.left -= 1;
        }
    }

    /// Notes the constraints of a row, unless its energy is known already.
    pub fn constrain(&mut self, row: usize, constraints: &[T]) {
        let count = self.constraints_of(row).len();
        assert_eq!(constraints.len(), count, "constraints of a point");
        if !self.is_known[row] {
            self.constraints[row * count..(row + 1) * count].copy_from_slice(constraints);
        }
    }

    /// The row of the round that is meant by a row asked for.
    fn place(&self, row: usize) -> usize {
        self.asked.as_ref().map_or(row, |asked| asked[row])
    }
}

impl<T: Scalar> Answers<T> {
    /// A place for the energies that are not `known`.
    pub(crate) fn new(known: Known<T>, limits: Limits) -> Self {
        let Limits { deadline, target, begun, reached } = limits;
        let reached = reached || known.iter().any(|(row, energy)| reaches(target, energy, known.constraints_of(row)));
        let begun = AtomicBool::new(begun || known.count() > 0);
        Self { known: Mutex::new(known), deadline, target, reached: AtomicBool::new(reached), begun }
    }

    fn known(&self) -> MutexGuard<'_, Known<T>> {
        // A thread that panics holding it has changed nothing or all.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the energy of a row; NaN and infinity mean what they mean to an [`Objective`](crate::Objective). Of two energies of one row
    /// the first counts. If there are constraints, those of the row must have been [given](Self::constrain) before, or the evaluation has
    /// failed.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn give(&self, row: usize, energy: T) {
        let mut known = self.known();
        let place = known.place(row);
        if reaches(self.target, energy, known.constraints_of(place)) {
            self.reached.store(true, Ordering::Release);
        }
        known.note(place, energy);
        self.begun.store(true, Ordering::Release);
    }

    /// Gives the constraints of a row, before its energy or without it.
    ///
    /// # Panics
    /// If there is no such row, or if it has another number of constraints.
    pub fn constrain(&self, row: usize, constraints: &[T]) {
        let mut known = self.known();
        let place = known.place(row);
        known.constrain(place, constraints);
    }

    /// Gives the energies and constraints of all rows, as the objective evaluates them in one call.
    pub(crate) fn give_all(
        &self,
        objective: &(impl Objective<T> + ?Sized),
        at: StepContext,
        rows: Rows<'_, T>,
    ) -> Result<(), EvalError> {
        let (nothing, count) = (T::from_f64(f64::NAN), objective.constraints());
        let (mut energies, mut constraints) = (vec![nothing; rows.len()], vec![nothing; rows.len() * count]);
        objective.energies_and_constraints(at, rows, &mut energies, &mut constraints)?;
        for (row, energy) in energies.into_iter().enumerate() {
            self.constrain(row, &constraints[row * count..(row + 1) * count]);
            self.give(row, energy);
        }
        Ok(())
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
        let mut constraints = vec![energy[0]; objective.constraints()];
        let rows = Rows::new(point, point.len());
        objective.energies_and_constraints(at, rows, &mut energy, &mut constraints).map_err(|e| e.after(row))?;
        self.constrain(row, &constraints);
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

/// Whether a value ends the run, and its point counts.
pub(crate) fn reaches<T: Scalar>(target: Option<f64>, energy: T, constraints: &[T]) -> bool {
    let value = energy.to_f64();
    target.is_some_and(|target| value <= target && value > f64::NEG_INFINITY && violation(constraints) == 0.0)
}
