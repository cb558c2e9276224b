//! What all ranks but the first do: nothing that anybody sees.

use super::{Assignment, Kind, MEASURE, cores, facts, keeping, several, with_own_threads};
use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::minimize::target::Target;
use crate::minimize::task::{Subject, Task};
use crate::mnist::train;
use crate::{device, interrupt, scaling};
use cbo::ranks::{Communicator, agree_on, farm, tell_all};
use cbo::{Objective, Scalar, SolveError, StateError};
use cbo_problems::{Formula, Problem};
use cbo_runs::ranks::Helpers;
use std::ffi::OsString;
use std::sync::Arc;

/// Does what the first rank says; returns the exit code. That speaks for all: a run that fails ends with an error there.
pub fn follow(arguments: &[OsString]) -> u8 {
    let Some(ranks) = several() else { return 0 };
    if agree_on(ranks, Ok(facts(arguments))).is_err() {
        return 0;
    }
    cores::settle(&**ranks);
    // A signal is for the first rank to act on: this one goes on until it is told to end.
    interrupt::listen();
    let told = tell_all(&**ranks, Vec::new());
    if let Some(seconds) = told.strip_prefix(MEASURE).and_then(|bytes| bytes.try_into().ok()) {
        // The first rank has the numbers.
        let _ = scaling::measure::measure(Some(ranks), f64::from_le_bytes(seconds));
        return 0;
    }
    let Some(assignment) = Assignment::from_bytes(&told) else { return 0 };
    if assignment.trains {
        train(ranks, &assignment);
        return 0;
    }
    let ready = assignment.task().and_then(|task| Ready::new(ranks, &assignment, task));
    let said = ready.as_ref().map(|_| Vec::new()).map_err(words);
    if agree_on(ranks, said).is_ok()
        && let Ok(ready) = ready
    {
        ready.work(ranks, &assignment);
    }
    0
}

/// Takes part in a training.
fn train(ranks: &Arc<dyn Communicator>, assignment: &Assignment) {
    let task = assignment.training_task();
    let training = task.as_ref().map_err(words).and_then(|task| task.training().map_err(|e| words(&e)));
    let said = training.as_ref().map(|_| task.as_ref().map_or(Vec::new(), train::Task::facts)).map_err(Clone::clone);
    let (Ok(()), Ok(training)) = (agree_on(ranks, said), training) else { return };
    if assignment.kind == Kind::Points {
        return training.help(&**ranks);
    }
    let Some(keeping) = keeping::follow(ranks, assignment) else { return };
    let particles = keeping.particles(ranks, assignment.whole);
    let state = Some(&keeping.state[..]).filter(|state| !state.is_empty());
    // How it ends, the first rank knows and tells: an error is one on all ranks.
    let _ = match keeping.scribe {
        Some(scribe) => training.take_part(&particles, state, scribe),
        None => training.take_part(&particles, state, ()),
    };
}

/// A rank that is ready to begin.
enum Ready {
    Target(Box<Task>, Target, device::Ready),
    Helpers(Helpers),
}

impl Ready {
    fn new(ranks: &Arc<dyn Communicator>, assignment: &Assignment, task: Task) -> Result<Self, CliError> {
        let device = assignment.device.open(&task, None, &Origins::default())?;
        match (&task.subject, assignment.kind) {
            (Subject::Command(spec), _) => {
                let helpers = Helpers::start(ranks.rank(), &spec.settings).map_err(|e| CliError::usage(&e))?;
                Ok(Self::Helpers(helpers))
            }
            (Subject::Function(_, problem), _) => {
                let target = Target::of_function(problem, &task.constraints);
                Ok(Self::Target(Box::new(task), target, device))
            }
            (Subject::Formula(formula), _) => {
                let target = Target::of_formula(formula, &task.constraints);
                Ok(Self::Target(Box::new(task), target, device))
            }
        }
    }

    fn work(&self, ranks: &Arc<dyn Communicator>, assignment: &Assignment) {
        match self {
            Self::Helpers(helpers) => helpers.serve(&**ranks),
            Self::Target(task, target, device) if Assignment::is_single(task) => {
                take_part::<f32>(ranks, assignment, task, target, device);
            }
            Self::Target(task, target, device) => take_part::<f64>(ranks, assignment, task, target, device),
        }
    }
}

fn take_part<T: Scalar>(
    ranks: &Arc<dyn Communicator>,
    assignment: &Assignment,
    task: &Task,
    target: &Target,
    device: &device::Ready,
) where
    Problem: Objective<T>,
    Formula: Objective<T>,
{
    let objective = target.objective::<T>();
    if assignment.kind == Kind::Points {
        return farm::help(&**ranks, &objective, task.config().threads);
    }
    let Some(mut keeping) = keeping::follow(ranks, assignment) else { return };
    let device = device.on_ranks(keeping.particles(ranks, assignment.whole));
    let plan = with_own_threads(&task.plan);
    let (state, scribe) = (&keeping.state[..], keeping.scribe.take());
    // How it ends, the first rank knows and tells: an error is one on all ranks.
    let _: Result<_, StateError> = match (state, scribe) {
        ([], Some(mut scribe)) => device.solve::<T>(&plan, &objective, &mut scribe).map_err(SolveError::into),
        ([], None) => device.solve::<T>(&plan, &objective, &mut ()).map_err(SolveError::into),
        (state, Some(mut scribe)) => device.resume::<T>(&plan, &objective, &mut scribe, state),
        (state, None) => device.resume::<T>(&plan, &objective, &mut (), state),
    };
}

fn words(error: &CliError) -> String {
    match error {
        CliError::Usage(message) | CliError::Failed(message) | CliError::Pointed { message, .. } => message.clone(),
        CliError::Clap(error) => told(error),
        CliError::ClosedOutput | CliError::Interrupted => "it was interrupted".into(),
    }
}
