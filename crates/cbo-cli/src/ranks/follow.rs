//! What all ranks but the first do: nothing that anybody sees.

use super::{Assignment, Kind, MEASURE, TRAIN, facts, several, with_own_threads};
use crate::error::{CliError, told};
use crate::minimize::target::Target;
use crate::minimize::task::{Subject, Task};
use crate::{Command, interrupt, scaling};
use cbo::ranks::{Communicator, Particles, agree_on, farm, resume_on, solve_on, tell_all};
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
    // A signal is for the first rank to act on: this one goes on until it is told to end.
    interrupt::listen();
    let told = tell_all(&**ranks, Vec::new());
    if let Some(seconds) = told.strip_prefix(MEASURE).and_then(|bytes| bytes.try_into().ok()) {
        // The first rank has the numbers.
        let _ = scaling::measure::measure(Some(ranks), f64::from_le_bytes(seconds));
        return 0;
    }
    if told == TRAIN {
        return help_training(ranks, arguments);
    }
    let Some(assignment) = Assignment::from_bytes(&told) else { return 0 };
    let ready = assignment.task().and_then(|task| Ready::new(ranks, &assignment, task));
    let said = ready.as_ref().map(|_| Vec::new()).map_err(words);
    if agree_on(ranks, said).is_ok()
        && let Ok(ready) = ready
    {
        ready.work(ranks, &assignment);
    }
    0
}

/// Evaluates networks for the first rank, whose command line this rank has too.
fn help_training(ranks: &Arc<dyn Communicator>, arguments: &[OsString]) -> u8 {
    let task = crate::parse(arguments).and_then(|(cli, _)| match cli.command {
        Command::Mnist(args) => args.helper(),
        _ => Err(CliError::Usage("this is no training".into())),
    });
    let training = task.as_ref().map_err(words).and_then(|task| task.training().map_err(|e| words(&e)));
    let said = training.as_ref().map(|_| Vec::new()).map_err(Clone::clone);
    if agree_on(ranks, said).is_ok()
        && let Ok(training) = training
    {
        let threads = with_own_threads(training.plan()).config().threads;
        farm::help(&**ranks, training.objective(), threads);
    }
    0
}

/// A rank that is ready to begin.
enum Ready {
    Target(Box<Task>, Target),
    Helpers(Helpers),
}

impl Ready {
    fn new(ranks: &Arc<dyn Communicator>, assignment: &Assignment, task: Task) -> Result<Self, CliError> {
        match (&task.subject, assignment.kind) {
            (Subject::Command(spec), _) => {
                let helpers = Helpers::start(ranks.rank(), &spec.settings).map_err(|e| CliError::usage(&e))?;
                Ok(Self::Helpers(helpers))
            }
            (Subject::Function(_, problem), _) => {
                let target = Target::of_function(problem, &task.constraints);
                Ok(Self::Target(Box::new(task), target))
            }
            (Subject::Formula(formula), _) => {
                let target = Target::of_formula(formula, &task.constraints);
                Ok(Self::Target(Box::new(task), target))
            }
        }
    }

    fn work(&self, ranks: &Arc<dyn Communicator>, assignment: &Assignment) {
        match self {
            Self::Helpers(helpers) => helpers.serve(&**ranks),
            Self::Target(task, target) if Assignment::is_single(task) => {
                take_part::<f32>(ranks, assignment, task, target);
            }
            Self::Target(task, target) => take_part::<f64>(ranks, assignment, task, target),
        }
    }
}

fn take_part<T: Scalar>(ranks: &Arc<dyn Communicator>, assignment: &Assignment, task: &Task, target: &Target)
where
    Problem: Objective<T>,
    Formula: Objective<T>,
{
    let objective = target.objective::<T>();
    if assignment.kind == Kind::Points {
        return farm::help(&**ranks, &objective, task.config().threads);
    }
    let plan = with_own_threads(&task.plan);
    let particles = Particles::new(ranks.clone()).whole(assignment.whole);
    // How it ends, the first rank knows and tells: an error is one on all ranks.
    let _: Result<_, StateError> = match &assignment.state[..] {
        [] => solve_on(&particles, &plan, &objective, &mut ()).map_err(SolveError::into),
        state => resume_on(&particles, &plan, &objective, &mut (), state),
    };
}

fn words(error: &CliError) -> String {
    match error {
        CliError::Usage(message) | CliError::Failed(message) | CliError::Pointed { message, .. } => message.clone(),
        CliError::Clap(error) => told(error),
        CliError::ClosedOutput | CliError::Interrupted => "it was interrupted".into(),
    }
}
