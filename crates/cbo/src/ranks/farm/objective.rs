//! An objective whose points are evaluated by all ranks.

use super::{Lanes, Schedule, dismiss, hand_out, serve};
use crate::answers::Answers;
use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::ranks::Communicator;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Pieces that a rank gets of the points of a step, if the objective is cheap: some ranks may be slower.
const PIECES: usize = 4;

/// An objective whose points are evaluated by all ranks, at the first of them; the others [help]. Any method can minimise it, and the
/// result does not depend on the number of ranks.
///
/// Dropping it dismisses the other ranks.
pub struct Shared<'a, T> {
    communicator: Arc<dyn Communicator>,
    schedule: Schedule,
    lanes: Points<'a, T>,
}

/// Evaluates points of an objective, several at once if that is worth it.
struct Points<'a, T> {
    objective: &'a (dyn Objective<T> + 'a),
    count: usize,
    precision: PhantomData<fn(T)>,
}

impl<'a, T: Scalar> Points<'a, T> {
    /// A [costly](Grouping::Single) objective is asked on several `threads`.
    fn new(objective: &'a dyn Objective<T>, threads: usize) -> Self {
        let count = if objective.grouping() == Grouping::Single { threads.max(1) } else { 1 };
        Self { objective, count, precision: PhantomData }
    }

    fn evaluate(&self, job: &[u8]) -> Result<Vec<u8>, StateError> {
        let (mut from, dim, constraints) = (Reader::plain(job), self.objective.dim(), self.objective.constraints());
        let at = StepContext { step: from.whole()?, epoch: from.whole()?, data_batch: from.whole()? };
        let (first, count) = (from.count()?, from.count()?);
        let rows: Vec<T> = from.many(count * dim)?;
        let (mut energies, mut values) = (vec![T::default(); count], vec![T::default(); count * constraints]);
        let rows = Rows::new(&rows, dim);
        let outcome = self.objective.energies_and_constraints(at, rows, &mut energies, &mut values);
        let mut to = Writer::plain();
        to.count(first);
        match outcome {
            Ok(()) => {
                to.count(count);
                to.numbers(&energies);
                to.numbers(&values);
            }
            Err(error) => {
                to.count(usize::MAX);
                to.count(error.row.map_or(usize::MAX, |row| first + row));
                to.append(crate::ranks::team::words(&error).as_bytes());
            }
        }
        Ok(to.into_bytes())
    }
}

impl<T: Scalar> Lanes for Points<'_, T> {
    fn count(&self) -> usize {
        self.count
    }

    fn work(&self, _lane: usize, job: &[u8], say: &mut dyn FnMut(Vec<u8>)) {
        // All ranks run the same program, which wrote the job.
        if let Ok(answer) = self.evaluate(job) {
            say(answer);
        }
    }
}

impl<'a, T: Scalar> Shared<'a, T> {
    /// The objective, of which a [costly](Grouping::Single) one is asked on several `threads` of each rank.
    pub fn new(
        communicator: Arc<dyn Communicator>,
        objective: &'a dyn Objective<T>,
        threads: usize,
        schedule: Schedule,
    ) -> Self {
        Self { communicator, schedule, lanes: Points::new(objective, threads) }
    }
}

impl<T> Drop for Shared<'_, T> {
    fn drop(&mut self) {
        dismiss(&*self.communicator);
    }
}

/// Evaluates points for the first rank, until that has no more; `threads` as there.
pub fn help<T: Scalar>(communicator: &dyn Communicator, objective: &dyn Objective<T>, threads: usize) {
    serve(communicator, &Points::new(objective, threads));
}

impl<T: Scalar> Objective<T> for Shared<'_, T> {
    fn dim(&self) -> usize {
        self.lanes.objective.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.lanes.objective.energies(at, rows, out)
    }

    fn constraints(&self) -> usize {
        self.lanes.objective.constraints()
    }

    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        self.lanes.objective.energies_and_constraints(at, rows, energies, constraints)
    }

    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        let (dim, constraints) = (rows.dim(), self.constraints());
        let piece = match self.lanes.objective.grouping() {
            Grouping::Blocks => rows.len().div_ceil(PIECES * self.communicator.size()).max(1),
            _ => 1,
        };
        let job = |(number, points): (usize, &[T])| {
            let mut to = Writer::plain();
            [at.step, at.epoch, at.data_batch].into_iter().for_each(|n| to.whole(n));
            to.count(number * piece);
            to.count(points.len() / dim);
            to.numbers(points);
            to.into_bytes()
        };
        let jobs: Vec<Vec<u8>> = rows.as_slice().chunks(piece * dim).enumerate().map(job).collect();
        let mut error: Option<EvalError> = None;
        let mut hear = |bytes: &[u8]| -> Result<(), StateError> {
            let mut from = Reader::plain(bytes);
            let (first, count) = (from.count()?, from.count()?);
            if count == usize::MAX {
                let row = Some(from.count()?).filter(|row| *row != usize::MAX);
                let found = EvalError { message: from.text(), row, source: None };
                // Whoever comes first, that of the first row is told.
                if error.as_ref().is_none_or(|error| found.row < error.row) {
                    error = Some(found);
                }
                return Ok(());
            }
            let (energies, values): (Vec<T>, Vec<T>) = (from.many(count)?, from.many(count * constraints)?);
            for (i, energy) in energies.into_iter().enumerate() {
                answers.constrain(first + i, &values[i * constraints..(i + 1) * constraints]);
                answers.give(first + i, energy);
            }
            Ok(())
        };
        let mut failed = false;
        hand_out(&*self.communicator, &self.lanes, self.schedule, jobs, &|| answers.are_enough(), &mut |bytes| {
            failed |= hear(&bytes).is_err();
            ControlFlow::Continue(())
        });
        match error {
            Some(error) => Err(error),
            None if failed => Err(EvalError::new("a rank answered something else")),
            None => Ok(()),
        }
    }

    fn has_gradients(&self) -> bool {
        self.lanes.objective.has_gradients()
    }

    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.lanes.objective.gradients(at, rows, out)
    }

    fn grouping(&self) -> Grouping {
        Grouping::Together
    }

    fn is_stochastic(&self) -> bool {
        self.lanes.objective.is_stochastic()
    }
}
