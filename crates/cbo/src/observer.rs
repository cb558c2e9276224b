//! Observers: told of each step, may stop the run. And the history, of bounded length.

use crate::objective::EvalError;
#[cfg(doc)]
use crate::objective::Grouping;
use crate::ranks::Here;
use crate::report::{SolveError, StepReport, StopReason};
use crate::simd::Scalar;
use std::ops::ControlFlow;

/// Is told of each step before the particles move.
///
/// Closures are observers, and so are tuples of two; `()` ignores everything.
///
/// ```
/// use cbo::{CboConfig, StepReport, from_fn, solve};
/// use std::ops::ControlFlow;
///
/// let sphere = from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum());
/// let mut stop_early = |step: &StepReport<'_, f64>| {
///     if step.step() == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// };
/// let run = solve(&CboConfig::default(), &sphere, &mut stop_early)?;
/// assert_eq!(run.steps(), 10);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub trait Observer<T: Scalar> {
    /// Called once a step; `Break` ends the run.
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()>;

    /// Called with the step at which the run ends, and why it does: after [`observe`](Self::observe), or without it if the run ends before
    /// the step is evaluated as a whole. Then the report counts the evaluations that were finished, energies that are not known are NaN, and
    /// the state is one from which the step is finished.
    fn ended(&mut self, _step: &StepReport<'_, T>, _reason: StopReason) {}

    /// Called if the run cannot go on, with what it has spent and found. If a [costly](Grouping::Single) objective failed
    /// ([`SolveError::Evaluation`]), evaluations that were finished count, and the state is one from which the step is finished; otherwise
    /// the state is worth nothing.
    fn failed(&mut self, _step: &StepReport<'_, T>, _error: &SolveError) {}

    /// Called on every rank but the first of a run whose [particles](crate::ranks::Particles) are spread, where the observer of the first
    /// [asks](StepReport::consult) about those that are here. It is told of nothing else there. `None` if it does not know the question.
    fn answer(&mut self, _question: &[u8], _here: Here<'_, T>) -> Option<Result<Vec<u8>, EvalError>> {
        None
    }
}

impl<T: Scalar> Observer<T> for () {
    fn observe(&mut self, _step: &StepReport<'_, T>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<T: Scalar, F: FnMut(&StepReport<'_, T>) -> ControlFlow<()>> Observer<T> for F {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        self(step)
    }
}

impl<T: Scalar, A: Observer<T>, B: Observer<T>> Observer<T> for (A, B) {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        // Both are told, even if the first wants to stop.
        let first = self.0.observe(step);
        let second = self.1.observe(step);
        if first.is_break() { first } else { second }
    }

    fn ended(&mut self, step: &StepReport<'_, T>, reason: StopReason) {
        self.0.ended(step, reason);
        self.1.ended(step, reason);
    }

    fn failed(&mut self, step: &StepReport<'_, T>, error: &SolveError) {
        self.0.failed(step, error);
        self.1.failed(step, error);
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, T>) -> Option<Result<Vec<u8>, EvalError>> {
        self.0.answer(question, here.clone()).or_else(|| self.1.answer(question, here))
    }
}

impl<T: Scalar> Observer<T> for &mut dyn Observer<T> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        (**self).observe(step)
    }

    fn ended(&mut self, step: &StepReport<'_, T>, reason: StopReason) {
        (**self).ended(step, reason);
    }

    fn failed(&mut self, step: &StepReport<'_, T>, error: &SolveError) {
        (**self).failed(step, error);
    }
}

/// One kept step.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// Evaluations so far.
    pub evaluations: u64,
    /// The best value so far.
    pub best: f64,
    /// How far the best point violates its constraints; nothing if there are none.
    pub violation: Option<f64>,
    /// The least energy of the step.
    pub least: f64,
    /// alpha.
    pub alpha: f64,
    /// sigma.
    pub sigma: f64,
    /// Effective sample size.
    pub effective_sample_size: f64,
    /// Root mean square distance of the particles from their mean.
    pub spread: f64,
    /// The consensus point, if [`History::with_points`] asked for it.
    pub consensus: Vec<f64>,
}

/// Keeps evenly spaced steps, at most `capacity` of them: when it is full, every second one is dropped and the spacing doubles.
#[derive(Clone, Debug)]
pub struct History {
    records: Vec<Record>,
    capacity: usize,
    spacing: u64,
    points: bool,
    spread: bool,
}

impl History {
    /// A history of at most `capacity` steps (at least 2).
    pub fn new(capacity: usize) -> Self {
        Self { records: Vec::new(), capacity: capacity.max(2), spacing: 1, points: false, spread: true }
    }

    /// A history that continues the records of another, which had the same capacity.
    pub fn from_records(capacity: usize, records: Vec<Record>) -> Self {
        let spacing = match &records[..] {
            [first, second, ..] => second.step.saturating_sub(first.step).max(1),
            _ => 1,
        };
        let points = records.first().is_some_and(|record| !record.consensus.is_empty());
        Self { records, spacing, points, ..Self::new(capacity) }
    }

    /// Keeps the consensus points too.
    pub fn with_points(mut self) -> Self {
        self.points = true;
        self
    }

    /// Looks at no positions, so that those on a device stay there: the spread of every step is NaN.
    pub fn without_spread(mut self) -> Self {
        self.spread = false;
        self
    }

    /// The kept steps, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// The distance between kept steps, a power of two.
    pub fn spacing(&self) -> u64 {
        self.spacing
    }
}

impl<T: Scalar> Observer<T> for History {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        if !step.step().is_multiple_of(self.spacing) {
            return ControlFlow::Continue(());
        }
        if self.records.len() >= self.capacity {
            self.spacing *= 2;
            let spacing = self.spacing;
            self.records.retain(|r| r.step.is_multiple_of(spacing));
            if !step.step().is_multiple_of(spacing) {
                return ControlFlow::Continue(());
            }
        }
        self.records.push(Record {
            step: step.step(),
            time: step.time(),
            evaluations: step.evaluations(),
            best: step.best().value,
            violation: (!step.penalties().is_empty()).then_some(step.best().violation),
            least: step.least(),
            alpha: step.alpha(),
            sigma: step.sigma(),
            effective_sample_size: step.effective_sample_size(),
            spread: if self.spread { step.spread() } else { f64::NAN },
            consensus: if self.points { step.consensus().to_vec() } else { Vec::new() },
        });
        ControlFlow::Continue(())
    }
}
