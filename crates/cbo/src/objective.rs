//! What is minimised: batch energies, rows in, energies out.

use crate::abreast::Abreast;
use crate::answers::Answers;
use crate::report::SolveError;
use crate::simd::{Scalar, Trace};
use std::marker::PhantomData;

/// Where in the run an evaluation takes place. A stochastic objective chooses its data from this alone, so that a run
/// can be repeated or resumed anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StepContext {
    /// The step, from 0.
    pub step: u64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// The data batch, from 0: one for each full round of particle batches, or for each step where there are none.
    pub data_batch: u64,
}

/// Points, one per row, in one flat buffer.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a, T> {
    values: &'a [T],
    dim: usize,
}

impl<'a, T> Rows<'a, T> {
    /// Rows of length `dim` in `values`.
    ///
    /// # Panics
    /// If `dim` is 0 or does not divide the length of `values`.
    pub fn new(values: &'a [T], dim: usize) -> Self {
        assert!(dim > 0 && values.len().is_multiple_of(dim), "{} numbers are not rows of {dim}", values.len());
        Self { values, dim }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.dim
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Numbers in a row.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Row `index`.
    pub fn row(&self, index: usize) -> &'a [T] {
        &self.values[index * self.dim..(index + 1) * self.dim]
    }

    /// All rows, one after the other.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, T> {
        self.values.chunks_exact(self.dim)
    }

    /// The flat, row-major buffer.
    pub fn as_slice(&self) -> &'a [T] {
        self.values
    }
}

/// How many rows an objective wants in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grouping {
    /// As the engine likes: blocks that stay in cache, several threads at once. For cheap objectives: a step is never left half
    /// evaluated.
    Blocks,
    /// One row per call, calls spread over the threads. For costly objectives: a limit of time and a target hold for each evaluation.
    Single,
    /// All rows of the step in one call, on the calling thread. For objectives that parallelise themselves; see
    /// [`Objective::energies_one_by_one`].
    Together,
}

/// An evaluation that cannot be carried out (a vanished file, an exception): it ends the run.
///
/// A point that merely has no value is not an error: return NaN for it, or infinity where it is infeasible.
#[derive(Debug, thiserror::Error)]
#[error("{}{message}", row.map(|r| format!("row {r}: ")).unwrap_or_default())]
pub struct EvalError {
    /// What went wrong, without what the cause says.
    pub message: String,
    /// The row of the call at which it did, if known.
    pub row: Option<usize>,
    /// The cause, if there is one.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl EvalError {
    /// An error with a message alone.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), row: None, source: None }
    }

    /// An error of the run itself, in the midst of its evaluations.
    pub(crate) fn not_of_the_objective(error: SolveError) -> Self {
        Self { source: Some(Box::new(OfTheRun(error))), ..Self::new("the run cannot go on") }
    }

    /// Whether it is one.
    pub(crate) fn is_of_the_run(&self) -> bool {
        self.source.as_ref().is_some_and(|source| source.is::<OfTheRun>())
    }

    /// What ends a run whose evaluations failed at this step.
    pub(crate) fn at_step(self, step: u64) -> SolveError {
        match self.source.map(|source| source.downcast::<OfTheRun>()) {
            Some(Ok(error)) => error.0,
            Some(Err(source)) => SolveError::Evaluation { step, source: Self { source: Some(source), ..self } },
            None => SolveError::Evaluation { step, source: Self { source: None, ..self } },
        }
    }

    /// The same, of a call whose rows come after this many others.
    pub(crate) fn after(self, rows: usize) -> Self {
        Self { row: self.row.map(|row| row + rows), ..self }
    }
}

/// An error of the run itself, on its way through evaluations.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct OfTheRun(SolveError);

/// An energy that is a formula of the point alone.
#[derive(Clone, Debug)]
pub struct EnergyTrace {
    /// Its operations.
    pub operations: Trace,
    /// Where other operations take their place, if there are any.
    pub vanishing: Option<Vanishing>,
}

/// Another formula for groups of rows that have come close to where the energy is flat.
#[derive(Clone, Debug)]
pub struct Vanishing {
    /// Positive at the first row of a group that has.
    pub when: Trace,
    /// The energy of all its rows then.
    pub then: Trace,
    /// Rows in a group, counted from the first row of a call; none if all rows of a call are one group.
    pub rows: Option<usize>,
}

/// A function to be minimised, evaluated for many points at once.
///
/// The energy of a point may depend on the point and on `at`, never on the other rows of the call: the engine splits the
/// rows as it likes.
pub trait Objective<T: Scalar>: Sync {
    /// Number of coordinates.
    fn dim(&self) -> usize;

    /// Writes the energy of row i to `out[i]`. `+infinity` is an infeasible point, NaN a failed evaluation; both get
    /// weight zero and are counted.
    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError>;

    /// How many constraints a point has to meet; none unless said otherwise.
    fn constraints(&self) -> usize {
        0
    }

    /// Writes the energy of row i to `energies[i]` and its constraints to the [`constraints`](Self::constraints) numbers of
    /// `constraints` that belong to it, one row after the other: each is met where it is zero or less, and violated by as much as it is
    /// more. An evaluation with a constraint that is NaN has failed. To be written if there are any; the engine then calls nothing else,
    /// so that one evaluation of a point may give both. See [`Constrained`](crate::Constrained) for constraints that are functions.
    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        // Whoever says that there are constraints and writes none has failed.
        constraints.fill(T::from_f64(f64::NAN));
        self.energies(at, rows, energies)
    }

    /// The same for objectives that want all rows [together](Grouping::Together) and whose evaluations take long: gives each energy to
    /// `answers` as soon as it is known, the [constraints](Answers::constrain) of its row before it if there are any, and begins no
    /// further evaluation when these [are enough](Answers::are_enough). An
    /// objective that leaves rows without an answer for a reason of its own, for example because somebody pressed Ctrl-C, ends the run as an
    /// observer would. What was given counts, even if this returns an error.
    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        answers.give_all(self, at, rows)
    }

    /// Whether there are [gradients](Self::gradients). Methods with a drift along the gradient take differences of energies where there
    /// are none.
    fn has_gradients(&self) -> bool {
        false
    }

    /// Writes the gradient of the energy of row i to row i of `out`, which is as long as all rows together. A number that is not finite
    /// is no slope.
    fn gradients(&self, _at: StepContext, _rows: Rows<'_, T>, _out: &mut [T]) -> Result<(), EvalError> {
        Err(EvalError::new("this objective has no gradients"))
    }

    /// The energy as a list of operations, if it is a formula of the point alone: what a device compiles.
    fn trace(&self) -> Option<EnergyTrace> {
        None
    }

    /// The energy of points of several runs at once, if it depends on nothing but the point.
    #[doc(hidden)]
    fn abreast(&self) -> Option<&dyn Abreast<T>> {
        None
    }

    /// How many rows to hand over in one call.
    fn grouping(&self) -> Grouping {
        Grouping::Blocks
    }

    /// Whether the energy depends on `at.data_batch`. Energies of different data batches are then never compared.
    fn is_stochastic(&self) -> bool {
        false
    }
}

impl<T: Scalar, O: Objective<T> + ?Sized> Objective<T> for &O {
    fn dim(&self) -> usize {
        (**self).dim()
    }
    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        (**self).energies(at, rows, out)
    }
    fn constraints(&self) -> usize {
        (**self).constraints()
    }
    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        (**self).energies_and_constraints(at, rows, energies, constraints)
    }
    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        (**self).energies_one_by_one(at, rows, answers)
    }
    fn has_gradients(&self) -> bool {
        (**self).has_gradients()
    }
    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        (**self).gradients(at, rows, out)
    }
    fn trace(&self) -> Option<EnergyTrace> {
        (**self).trace()
    }
    fn abreast(&self) -> Option<&dyn Abreast<T>> {
        (**self).abreast()
    }
    fn grouping(&self) -> Grouping {
        (**self).grouping()
    }
    fn is_stochastic(&self) -> bool {
        (**self).is_stochastic()
    }
}

/// A closure over one point as an objective; made by [`from_fn`].
pub struct FromFn<T, F> {
    dim: usize,
    function: F,
    grouping: Grouping,
    precision: PhantomData<fn(T)>,
}

/// The objective `function` in `dim` coordinates.
///
/// ```
/// use cbo::{Objective, Rows, StepContext, from_fn};
///
/// let sphere = from_fn(2, |x: &[f64]| x.iter().map(|v| v * v).sum());
/// let mut energies = [0.0; 2];
/// sphere.energies(StepContext::default(), Rows::new(&[1.0, 0.0, 3.0, 4.0], 2), &mut energies)?;
/// assert_eq!(energies, [1.0, 25.0]);
/// # Ok::<(), cbo::EvalError>(())
/// ```
pub fn from_fn<T: Scalar, F: Fn(&[T]) -> T + Sync>(dim: usize, function: F) -> FromFn<T, F> {
    FromFn { dim, function, grouping: Grouping::Blocks, precision: PhantomData }
}

impl<T, F> FromFn<T, F> {
    /// Says that one evaluation is costly, so that each becomes a task of its own for the threads.
    pub fn costly(mut self) -> Self {
        self.grouping = Grouping::Single;
        self
    }
}

impl<T: Scalar, F: Fn(&[T]) -> T + Sync> Objective<T> for FromFn<T, F> {
    fn dim(&self) -> usize {
        self.dim
    }
    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        for (row, energy) in rows.iter().zip(out) {
            *energy = (self.function)(row);
        }
        Ok(())
    }
    fn grouping(&self) -> Grouping {
        self.grouping
    }
}
