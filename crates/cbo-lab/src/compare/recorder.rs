//! An objective that notes how the best value improves, evaluation by evaluation.

use cbo::{EvalError, Objective, Rows, Scalar, StepContext};
use cbo_problems::Problem;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

/// A value better than all before, and where it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// The evaluation that found it, from 1.
    pub evaluation: u64,
    /// The value.
    pub value: f64,
    /// Distance of the point to the nearest minimiser, in the maximum norm; NaN where none is known.
    pub distance: f64,
}

/// Wraps an objective, which is `problem`. Evaluations are counted in the order of their rows; a run must have one thread.
pub(super) struct Recorder<'a, O> {
    inner: O,
    problem: &'a Problem,
    interrupted: &'a (dyn Fn() -> bool + Sync),
    log: Mutex<(u64, Vec<Improvement>)>,
}

impl<'a, O> Recorder<'a, O> {
    pub fn new(inner: O, problem: &'a Problem, interrupted: &'a (dyn Fn() -> bool + Sync)) -> Self {
        Self { inner, problem, interrupted, log: Mutex::default() }
    }

    /// The evaluations, and the improvements in their order.
    pub fn into_log(self) -> (u64, Vec<Improvement>) {
        self.log.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Scalar, O: Objective<T>> Objective<T> for Recorder<'_, O> {
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        if (self.interrupted)() {
            return Err(EvalError::new("interrupted"));
        }
        self.inner.energies(at, rows, out)?;
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        let mut best = log.1.last().map_or(f64::INFINITY, |last| last.value);
        for (row, energy) in rows.iter().zip(out) {
            log.0 += 1;
            let value = energy.to_f64();
            if value < best && value.is_finite() {
                best = value;
                let x: Vec<f64> = row.iter().map(|v| v.to_f64()).collect();
                let (evaluation, distance) = (log.0, self.problem.distance_to_minimiser(&x));
                log.1.push(Improvement { evaluation, value, distance });
            }
        }
        Ok(())
    }

    fn has_gradients(&self) -> bool {
        self.inner.has_gradients()
    }

    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.inner.gradients(at, rows, out)
    }
}

/// A problem in the precision `T` for those who compute in double precision.
pub(super) struct Rounded<'a, T> {
    problem: &'a Problem,
    precision: PhantomData<fn(T)>,
}

impl<'a, T> Rounded<'a, T> {
    pub fn new(problem: &'a Problem) -> Self {
        Self { problem, precision: PhantomData }
    }
}

impl<T: Scalar> Objective<f64> for Rounded<'_, T>
where
    Problem: Objective<T>,
{
    fn dim(&self) -> usize {
        self.problem.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        let points: Vec<T> = rows.as_slice().iter().map(|x| T::from_f64(*x)).collect();
        let mut energies = vec![T::default(); rows.len()];
        self.problem.energies(at, Rows::new(&points, rows.dim()), &mut energies)?;
        out.iter_mut().zip(&energies).for_each(|(out, energy)| *out = energy.to_f64());
        Ok(())
    }
}
