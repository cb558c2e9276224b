//! An external program as the engine's objective: points in the store are not evaluated again, the others go to the
//! workers, and every answer goes to the store.

use crate::external::{Attempt, ExternalError, Job, Outcome, Settings, Workers};
use crate::store::{Known, Store, StoreError};
use cbo::{EvalError, Grouping, Objective, Rows, Scalar, StepContext};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
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
    workers: Mutex<Workers>,
    store: Option<Store>,
    listener: Option<Listener>,
    ending: Option<fn() -> bool>,
    /// The last time a signal was waited for that did not come.
    waited: Mutex<Option<Instant>>,
    retry_failed: bool,
    last_failure: Mutex<Option<Attempt>>,
}

/// A lock whose holder cannot have left a mess: all of its state is replaced at once.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Evaluations {
    /// Starts the workers for points of `dim` coordinates; `store` keeps what they find.
    pub fn start(dim: usize, settings: &Settings, store: Option<Store>) -> Result<Self, ExternalError> {
        let workers = Mutex::new(Workers::start(settings)?);
        let retries = settings.retries;
        Ok(Self {
            dim,
            retries,
            workers,
            store,
            listener: None,
            ending: None,
            waited: Mutex::new(None),
            retry_failed: false,
            last_failure: Mutex::new(None),
        })
    }

    /// Tells `listener` of every finished evaluation.
    pub fn with_listener(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Asks `ending` whether this process is about to end. Workers that die then die with it, as when the machine shuts down: that is
    /// not a failure of their points but the end of the step, an error with the source [`CutOff`].
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

    fn evaluate(&self, points: &[Vec<f64>], energies: &mut [f64]) -> Result<(), EvalError> {
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
                    energies[index] = outcome.value();
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
        let mut fault: Option<EvalError> = None;
        let evaluated = locked(&self.workers).evaluate(&jobs, &mut |attempt: Attempt| {
            if self.is_cut_off(&attempt.outcome) {
                fault = Some(failed(CutOff));
                return ControlFlow::Break(());
            }
            let stored = self.store.as_ref().map_or(Ok(()), |store| store.put(&points[attempt.job], &attempt));
            if let Err(error) = stored {
                fault = Some(failed(error));
                return ControlFlow::Break(());
            }
            if self.is_final(attempt.attempt, &attempt.outcome) {
                energies[attempt.job] = attempt.outcome.value();
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
        });
        match (fault, evaluated) {
            (Some(fault), _) => Err(fault),
            (None, Err(error)) => Err(failed(error)),
            // One may have its value from before: where the best particle sits on the consensus point, it stays.
            (None, Ok(())) if faults >= BROKEN && faults + 1 >= points.len() => {
                let last = self.last_failure().unwrap_or_default();
                Err(failed(Broken { failed: faults, all: points.len(), last }))
            }
            (None, Ok(())) => Ok(()),
        }
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> EvalError {
    EvalError { message: "its program cannot be evaluated".into(), row: None, source: Some(Box::new(error)) }
}

impl<T: Scalar> Objective<T> for Evaluations {
    fn dim(&self) -> usize {
        self.dim
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        // Particles may be at the same place: one evaluation serves them all.
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut points: Vec<Vec<f64>> = Vec::new();
        let place = rows.iter().map(|row| {
            let x: Vec<f64> = row.iter().map(|v| v.to_f64()).collect();
            *places.entry(x.iter().map(|v| v.to_bits()).collect()).or_insert_with(|| {
                points.push(x);
                points.len() - 1
            })
        });
        let place: Vec<usize> = place.collect();
        let mut energies = vec![f64::NAN; points.len()];
        self.evaluate(&points, &mut energies)?;
        for (out, place) in out.iter_mut().zip(place) {
            *out = T::from_f64(energies[place]);
        }
        Ok(())
    }

    fn grouping(&self) -> Grouping {
        Grouping::Together
    }
}
