//! What a run is to those who report on it and to ask and tell: a run of the loop, or one of the tuning-free solver.

use super::Agreed;
use crate::answers::{Answers, Known};
use crate::config::Plan;
use crate::ensemble::Ensemble;
use crate::ledger::Ledger;
use crate::objective::{EvalError, Rows, StepContext};
use crate::observer::Observer;
use crate::ranks::{Answering, Here};
use crate::report::{RunReport, SolveError, StepReport, StopReason};
use crate::simd::Scalar;
use crate::state::StateError;
use std::cell::RefCell;
use std::fmt::Debug;

/// A run between two steps. The first half is read by reports, the second is done by ask and tell.
pub trait Process<T>: Debug + Send {
    /// What was checked when the run began.
    fn plan(&self) -> &Plan;
    /// What the run has spent and found.
    fn ledger(&self) -> &Ledger<T>;
    /// What was agreed on in the step.
    fn agreed(&self) -> &Agreed;
    /// Step, epoch and data batch of the evaluations of this step.
    fn context(&self) -> StepContext;
    /// The time of the dynamics.
    fn time(&self) -> f64;
    /// Seconds that the run took, pauses aside.
    fn seconds(&self) -> f64;
    /// The positions of the step.
    fn ensemble(&self) -> &Ensemble<T>;
    /// The mean of the squares of the positions.
    fn mean_of_squares(&self) -> f64
    where
        T: Scalar,
    {
        self.ensemble().mean_of_squares()
    }
    /// The root mean square distance of the positions from their mean.
    fn spread(&self) -> f64
    where
        T: Scalar,
    {
        self.ensemble().spread()
    }
    /// Those of the first so many particles.
    fn first_rows(&self, count: usize) -> Vec<T>
    where
        T: Scalar,
    {
        self.ensemble().first_rows(count)
    }
    /// How many these are.
    fn particles(&self) -> usize
    where
        T: Scalar,
    {
        self.ensemble().len()
    }
    /// Lets the first of several ranks decide whether the run ends; the others answer its questions. One alone decides.
    fn confer(
        &self,
        decide: &mut dyn FnMut() -> Option<StopReason>,
        _answer: &mut Answering<'_, T>,
    ) -> Option<StopReason> {
        decide()
    }
    /// What all ranks answer to a question of the first; one alone answers itself.
    fn consult(&self, question: &[u8], answer: &mut Answering<'_, T>) -> Result<Vec<Vec<u8>>, EvalError>
    where
        T: Scalar,
    {
        Ok(vec![answer(question, Here { first: 0, rows: self.ensemble().rows(), pieces: Vec::new() })?])
    }
    /// The energies of the particles evaluated, as the objective gave them.
    fn energies(&self) -> &[T];
    /// Their constraints.
    fn constraints(&self) -> &[T];
    /// How many constraints a point has.
    fn constraint_count(&self) -> usize {
        self.penalties().len()
    }
    /// What a violation of each constraint costs.
    fn penalties(&self) -> &[f64];
    /// Which particles these are, if not all.
    fn evaluated(&self) -> Option<&[u32]>;
    /// The consensus point in the precision of the run, on the set to which the method keeps; the best point so far if there is none.
    fn landed(&self) -> Vec<T>
    where
        T: Scalar,
    {
        let config = self.plan().config();
        let mut point = self.agreed().consensus.clone();
        if !config.method.land(config, &mut point) {
            return self.ledger().best.x.clone();
        }
        point.iter().map(|&x| T::from_f64(x)).collect()
    }
    /// Everything that the coming steps depend on.
    fn save(&self, told: bool, seconds: f64) -> Vec<u8>;
    /// The same without the columns of the particles, where ranks can keep those themselves.
    fn save_apart(&self, _told: bool, _seconds: f64) -> Option<Vec<u8>> {
        None
    }

    /// Makes the pending move, so that the caller can evaluate.
    fn settle(&mut self);
    /// The points that the caller is to evaluate.
    fn points(&self) -> Rows<'_, T>;
    /// How many these are.
    fn point_count(&self) -> usize
    where
        T: Scalar,
    {
        self.points().len()
    }
    /// A place for the energies of [`points`](Self::points), with those that are known.
    fn answers(&mut self) -> Answers<T>;
    /// Leaves the step half evaluated: reports count what is known, and a run that goes on asks for the rest.
    fn pause(&mut self, known: Known<T>);
    /// The same with what was saved of such a step.
    fn pause_at(&mut self, told: bool, known: &[(usize, T, Vec<T>)]) -> Result<(), StateError>
    where
        T: Scalar,
    {
        if known.is_empty() {
            return Ok(());
        }
        let some = Known::some_of(self.points().len(), self.constraint_count(), known);
        let known = some.filter(|_| !told).ok_or(StateError::Damaged)?;
        self.pause(known);
        Ok(())
    }
    /// Whether the step is left half evaluated.
    fn is_midway(&self) -> bool;
    /// Takes the energies of [`points`](Self::points), and their constraints. Tells whether they were the last of the step.
    fn take(&mut self, energies: &[T], constraints: &[T]) -> bool;
    /// The same with energies that the caller has written to the memory of a device.
    fn take_there(&mut self) -> Result<bool, SolveError> {
        let source = EvalError::new("the particles are on no device");
        Err(SolveError::Evaluation { step: self.ledger().step, source })
    }
    /// Agrees on what the energies of the step mean.
    fn agree(&mut self) -> Result<(), SolveError>;
    /// Why the run ends with this step, if it does.
    fn stop(&self) -> Option<StopReason>;
    /// Whether there is no next step, even if somebody asks for it.
    fn is_over(&self) -> bool;
    /// The next step begins.
    fn decide(&mut self);
    /// Whether a run that ends has a result.
    fn check_end(&self) -> Result<(), SolveError>;
    /// The report of the run, without the particles. The consensus point counts as evaluated if its value is given, and how far it violates
    /// its constraints.
    fn summary(&self, consensus: Option<(f64, f64)>, stop: StopReason) -> RunReport<T>;
}

/// Tells the observer of the step, and decides whether it is the last.
pub(crate) fn tell<T: Scalar>(run: &dyn Process<T>, observer: &mut dyn Observer<T>) -> Option<StopReason> {
    // The first rank decides, the others answer: a rank does one of both.
    let observer = RefCell::new(observer);
    let mut decide = || {
        let (report, mut observer) = (StepReport::new(run), observer.borrow_mut());
        let broken = observer.observe(&report).is_break();
        let reason = if broken { Some(StopReason::Observer) } else { run.stop() };
        if let Some(reason) = reason {
            observer.ended(&report, reason);
        }
        reason
    };
    run.confer(&mut decide, &mut |question, here| {
        let answer = observer.borrow_mut().answer(question, here);
        answer.unwrap_or_else(|| Err(EvalError::new("no observer of this rank knows the question")))
    })
}

/// Tells the observer that the run ends within a step, and why.
pub(crate) fn tell_midway<T: Scalar>(
    run: &dyn Process<T>,
    observer: &mut dyn Observer<T>,
    reason: StopReason,
) -> StopReason {
    observer.ended(&StepReport::new(run), reason);
    reason
}
