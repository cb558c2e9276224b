//! Who computes a training: the processor, or a device.

use cbo::ranks::farm::{Schedule, Shared};
use cbo::ranks::{Communicator, Here, Particles, resume_on, solve_on};
use cbo::{EvalError, Observer, Plan, Rows, RunReport, SolveError, StateError, StepReport, StopReason};
use cbo_problems::mnist::Labelled;
use cbo_problems::nn::CrossEntropy;
use cbo_problems::nn::fast::Evaluator;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Who computes a training.
pub trait Trainer: Sync {
    /// [`cbo::solve`] there.
    fn solve(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError>;

    /// [`cbo::resume`] there.
    fn resume(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError>;

    /// Who finds the losses of many parameter vectors on these images of `data`, in training mode; nobody but the processor, if there is
    /// none.
    fn sample(
        &self,
        plan: &Plan,
        evaluator: &Evaluator,
        data: &Labelled,
        images: &[u32],
    ) -> Result<Option<Box<dyn Sample>>, SolveError>;
}

/// Images on which parameter vectors are compared, on a device.
pub trait Sample: Send + Sync {
    /// The loss of each on all of them; or what went wrong.
    fn losses(&self, rows: Rows<'_, f32>) -> Result<Vec<f64>, String>;
}

/// The processor of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor;

impl Trainer for Processor {
    fn solve(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError> {
        cbo::solve(plan, objective, &mut Told(observer))
    }

    fn resume(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError> {
        cbo::resume(plan, objective, &mut Told(observer), state)
    }

    fn sample(&self, _: &Plan, _: &Evaluator, _: &Labelled, _: &[u32]) -> Result<Option<Box<dyn Sample>>, SolveError> {
        Ok(None)
    }
}

/// The processors of several ranks, of which this is the first: it holds the particles, and all evaluate them. The others
/// [help](super::Training::help).
#[derive(Clone, Debug)]
pub struct Helped {
    /// All of them.
    pub communicator: Arc<dyn Communicator>,
    /// Threads of each.
    pub threads: usize,
}

impl Helped {
    /// The objective as all ranks evaluate it.
    fn shared<'a>(&self, objective: &'a CrossEntropy<'a>) -> Shared<'a, f32> {
        Shared::new(self.communicator.clone(), objective, self.threads, Schedule::Dynamic)
    }
}

/// The processors of several ranks, each of which holds, moves and evaluates some of the particles. The others
/// [take part](super::Training::take_part).
impl Trainer for Particles {
    fn solve(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError> {
        solve_on(self, plan, objective, observer)
    }

    fn resume(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError> {
        resume_on(self, plan, objective, observer, state)
    }

    fn sample(&self, _: &Plan, _: &Evaluator, _: &Labelled, _: &[u32]) -> Result<Option<Box<dyn Sample>>, SolveError> {
        Ok(None)
    }
}

impl Trainer for Helped {
    fn solve(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError> {
        cbo::solve(plan, &self.shared(objective), &mut Told(observer))
    }

    fn resume(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError> {
        cbo::resume(plan, &self.shared(objective), &mut Told(observer), state)
    }

    fn sample(&self, _: &Plan, _: &Evaluator, _: &Labelled, _: &[u32]) -> Result<Option<Box<dyn Sample>>, SolveError> {
        Ok(None)
    }
}

/// An observer of any kind.
struct Told<'a>(&'a mut (dyn Observer<f32> + Send));

impl Observer<f32> for Told<'_> {
    fn observe(&mut self, step: &StepReport<'_, f32>) -> ControlFlow<()> {
        self.0.observe(step)
    }

    fn ended(&mut self, step: &StepReport<'_, f32>, reason: StopReason) {
        self.0.ended(step, reason);
    }

    fn failed(&mut self, step: &StepReport<'_, f32>, error: &SolveError) {
        self.0.failed(step, error);
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, f32>) -> Option<Result<Vec<u8>, EvalError>> {
        self.0.answer(question, here)
    }
}
