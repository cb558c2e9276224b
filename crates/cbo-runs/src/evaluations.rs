//! An external program as the engine's objective: points in the store are not evaluated again, the others go to the
//! workers, and every answer goes to the store.

use crate::external::{Attempt, Board, ExternalError, Job, Limits, Outcome, Settings, Workers};
use crate::ranks::Everywhere;
use crate::store::{Known, Store, StoreError};
use cbo::ranks::Communicator;
use cbo::ranks::farm::Schedule;
use cbo::{Answers, EvalError, Grouping, Objective, Rows, Scalar, StepContext};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Where the evaluation of a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Points of the step that are done.
    pub done: usize,
    /// All points of the step.
    pub all: usize,
}

/// Deaths by the signals that end programs from outside: SIGHUP, SIGINT, SIGKILL, SIGTERM.
const ENDING: [&str; 4] = ["signal 1", "signal 2", "signal 9", "signal 15"];

/// Exit codes of programs that catch such a signal and end by themselves.
const ENDED: [&str; 4] = ["exit code 129", "exit code 130", "exit code 137", "exit code 143"];

/// After a signal did not come, how long not to wait for it again.
const PATIENCE: Duration = Duration::from_secs(5);

/// From this many failures in a step the program counts as broken, if almost no point has a value.
const BROKEN: usize = 5;

/// How long to wait, thirty times, for a signal that a worker has already had.
const MOMENT: Duration = Duration::from_millis(10);

/// The workers were ended together with this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workers were ended from outside")]
pub struct CutOff;

/// Nearly all evaluations of a step failed: the program is broken, and continuing would only waste the budget.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{failed} of {all} evaluations of the step failed, the last one: {last}")]
pub struct Broken {
    /// Evaluations that failed.
    pub failed: usize,
    /// Evaluations of the step.
    pub all: usize,
    /// The last failure, in words.
    pub last: String,
}

/// Is told of every finished evaluation.
pub type Listener = Box<dyn Fn(Progress) + Send + Sync>;

/// A program and what is known about its values.
pub struct Evaluations {
    dim: usize,
    retries: u32,
    workers: Mutex<Labour>,
    store: Option<Store>,
    listener: Option<Listener>,
    ending: Option<fn() -> bool>,
    /// The last time a signal was waited for that did not come.
    waited: Mutex<Option<Instant>>,
    retry_failed: bool,
    last_failure: Mutex<Option<Attempt>>,
}

/// Who evaluates points.
enum Labour {
    Here(Workers),
    Everywhere(Everywhere),
}

impl Labour {
    fn evaluate_until(
        &mut self,
        jobs: &[Job],
        limits: Limits,
        is_over: &dyn Fn() -> bool,
        finished: &mut dyn FnMut(Attempt) -> ControlFlow<()>,
    ) -> Result<(), ExternalError> {
        match self {
            Self::Here(workers) => workers.evaluate_until(jobs, limits, is_over, finished),
            Self::Everywhere(ranks) => ranks.evaluate_until(jobs, limits, is_over, finished),
        }
    }
}

/// A lock whose holder cannot have left a mess: all of its state is replaced at once.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluations {
    /// Starts the workers for points of `dim` coordinates; `store` keeps what they find.
    pub fn start(dim: usize, settings: &Settings, store: Option<Store>) -> Result<Self, ExternalError> {
        Ok(Self::with(dim, settings, store, Labour::Here(Workers::start(settings)?)))
    }

    /// The same on all ranks, of which this is the first; the others are its [`Helpers`](crate::ranks::Helpers).
    pub fn start_on(
        ranks: Arc<dyn Communicator>,
        schedule: Schedule,
        dim: usize,
        settings: &Settings,
        store: Option<Store>,
    ) -> Result<Self, ExternalError> {
        let everywhere = Everywhere::start(ranks, schedule, settings)?;
        Ok(Self::with(dim, settings, store, Labour::Everywhere(everywhere)))
    }

    fn with(dim: usize, settings: &Settings, store: Option<Store>, labour: Labour) -> Self {
        Self {
            dim,
            retries: settings.retries,
            workers: Mutex::new(labour),
            store,
            listener: None,
            ending: None,
            waited: Mutex::new(None),
            retry_failed: false,
            last_failure: Mutex::new(None),
        }
    }

    /// Tells `listener` of every finished evaluation.
    pub fn with_listener(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Asks `ending` whether this process is about to end: then no further evaluation of a step begins. Workers that die then die with it,
    /// as when the machine shuts down: that is not a failure of their points, which are left without an answer (or, where all are needed, an error with the source [`CutOff`]).
    pub fn with_ending(self, ending: fn() -> bool) -> Self {
        Self { ending: Some(ending), ..self }
    }

    fn is_cut_off(&self, outcome: &Outcome) -> bool {
        let (Outcome::Died(how), Some(ending)) = (outcome, self.ending) else { return false };
        let how = how.as_str();
        if !ENDING.contains(&how) && !ENDED.contains(&how) {
            return false;
        }
        let mut waited = locked(&self.waited);
        if ending() || waited.is_some_and(|waited| waited.elapsed() < PATIENCE) {
            return ending();
        }
        // The signal that ended the worker may reach us a moment later.
        let comes = (0..30).any(|_| {
            std::thread::sleep(MOMENT);
            ending()
        });
        *waited = Some(Instant::now());
        comes
    }

    /// Tries points that failed before again, starting from their first attempt: the program may have been fixed. Points for which it
    /// said that there is no value stay without one.
    pub fn retry_failed(&mut self, retry: bool) {
        self.retry_failed = retry;
    }

    /// What each worker is doing, unless they are spread over ranks.
    pub fn board(&self) -> Option<Arc<Board>> {
        match &*locked(&self.workers) {
            Labour::Here(workers) => Some(workers.board()),
            Labour::Everywhere(_) => None,
        }
    }

    /// Waits until all that was found so far is on the disk.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.store.as_ref().map_or(Ok(()), Store::flush)
    }

    /// The run that its store belongs to, if there is one.
    pub fn run(&self) -> Option<&str> {
        self.store.as_ref().and_then(Store::run)
    }

    /// The last attempt that failed, in words.
    pub fn last_failure(&self) -> Option<String> {
        let failure = locked(&self.last_failure);
        let Attempt { outcome, stderr, .. } = failure.as_ref()?;
        let words = |label: &str, text: &str| match text.trim() {
            "" => String::new(),
            text => format!("{label}{}", text.lines().last().unwrap_or_default()),
        };
        Some(format!("{}{}{}", outcome.status(), words(": ", outcome.message()), words("; its stderr ends: ", stderr)))
    }

    /// Whether no further attempt is to be made after this one.
    fn is_final(&self, attempt: u32, outcome: &Outcome) -> bool {
        !outcome.may_be_retried() || attempt > self.retries
    }

    /// Evaluates what is not known of `points`, until it is over; `settle` is told the value of each.
    fn evaluate(
        &self,
        points: &[Vec<f64>],
        until: Until<'_>,
        settle: &mut dyn FnMut(usize, f64),
    ) -> Result<(), EvalError> {
        let mut jobs = Vec::new();
        // Points whose last attempt failed in a way that says more about the program than about the point.
        let mut faults = 0;
        for (index, x) in points.iter().enumerate() {
            let known = self.store.as_ref().and_then(|store| store.known(x));
            match known {
                Some(Known { outcome, .. }) if self.retry_failed && outcome.may_be_retried() => {
                    jobs.push(Job { index, x: x.clone(), attempt: 1 });
                }
                Some(Known { attempt, outcome }) if self.is_final(attempt, &outcome) => {
                    settle(index, outcome.value());
                    if outcome.may_be_retried() {
                        faults += 1;
                        *locked(&self.last_failure) =
                            Some(Attempt { job: index, attempt, outcome, seconds: 0.0, stderr: String::new() });
                    }
                }
                Some(Known { attempt, .. }) => jobs.push(Job { index, x: x.clone(), attempt: attempt + 1 }),
                None => jobs.push(Job { index, x: x.clone(), attempt: 1 }),
            }
        }
        let mut done = points.len() - jobs.len();
        let (mut fault, mut is_cut_off) = (None, false);
        let mut finished = |attempt: Attempt| {
            if self.is_cut_off(&attempt.outcome) {
                is_cut_off = true;
                return ControlFlow::Break(());
            }
            let stored = self.store.as_ref().map_or(Ok(()), |store| store.put(&points[attempt.job], &attempt));
            if let Err(error) = stored {
                fault = Some(failed(error));
                return ControlFlow::Break(());
            }
            if self.is_final(attempt.attempt, &attempt.outcome) {
                settle(attempt.job, attempt.outcome.value());
                faults += usize::from(attempt.outcome.may_be_retried());
                done += 1;
                if let Some(listener) = &self.listener {
                    listener(Progress { done, all: points.len() });
                }
            }
            if attempt.outcome.value().is_nan() {
                *locked(&self.last_failure) = Some(attempt);
            }
            ControlFlow::Continue(())
        };
        let evaluated = locked(&self.workers).evaluate_until(&jobs, until.limits, until.is_over, &mut finished);
        match (fault, evaluated) {
            (Some(fault), _) => Err(fault),
            (None, Err(_)) if is_cut_off => Ok(()),
            (None, Err(error)) => Err(failed(error)),
            // One may have its value from before: where the best particle sits on the consensus point, it stays.
            (None, Ok(())) if done == points.len() && faults >= BROKEN && faults + 1 >= points.len() => {
                let last = self.last_failure().unwrap_or_default();
                Err(failed(Broken { failed: faults, all: points.len(), last }))
            }
            (None, Ok(())) => Ok(()),
        }
    }
}

/// When no further evaluation is to begin.
struct Until<'a> {
    limits: Limits,
    is_over: &'a dyn Fn() -> bool,
}

/// The different points among `rows`, and the rows of each: particles may be at the same place, and one evaluation serves them all.
fn places<T: Scalar>(rows: Rows<'_, T>) -> (Vec<Vec<f64>>, Vec<Vec<usize>>) {
    let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
    let (mut points, mut rows_of): (Vec<Vec<f64>>, Vec<Vec<usize>>) = (Vec::new(), Vec::new());
    for (index, row) in rows.iter().enumerate() {
        let x: Vec<f64> = row.iter().map(|v| v.to_f64()).collect();
        let place = *places.entry(x.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| {
            points.push(x);
            rows_of.push(Vec::new());
            points.len() - 1
        });
        rows_of[place].push(index);
    }
    (points, rows_of)
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> EvalError {
    EvalError { message: "its program cannot be evaluated".into(), row: None, source: Some(Box::new(error)) }
}

impl<T: Scalar> Objective<T> for Evaluations {
    fn dim(&self) -> usize {
        self.dim
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        let (points, rows_of) = places(rows);
        let (until, mut left) = (Until { limits: Limits::default(), is_over: &|| false }, points.len());
        self.evaluate(&points, until, &mut |place, value| {
            rows_of[place].iter().for_each(|row| out[*row] = T::from_f64(value));
            left -= 1;
        })?;
        if left == 0 { Ok(()) } else { Err(failed(CutOff)) }
    }

    fn energies_one_by_one(&self, _at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        let (points, rows_of) = places(rows);
        let limits = Limits { deadline: answers.deadline(), target: answers.target() };
        let is_over = || answers.are_enough() || self.ending.is_some_and(|ending| ending());
        self.evaluate(&points, Until { limits, is_over: &is_over }, &mut |place, value| {
            rows_of[place].iter().for_each(|row| answers.give(*row, T::from_f64(value)));
        })
    }

    fn grouping(&self) -> Grouping {
        Grouping::Together
    }
}
