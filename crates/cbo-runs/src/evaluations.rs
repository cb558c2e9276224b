//! An external program as the engine's objective: points that the store knows are not evaluated again, the others go to the
//! workers, and every answer to the store.

use crate::external::{Attempt, ExternalError, Job, Outcome, Settings, Workers};
use crate::store::{Known, Store, StoreError};
use cbo::{EvalError, Grouping, Objective, Rows, Scalar, StepContext};
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

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

/// How long to wait, thirty times, for a signal that a worker has had already.
const MOMENT: Duration = Duration::from_millis(10);

/// The workers were ended together with this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workers were ended from outside")]
pub struct CutOff;

/// Hears of every finished evaluation.
pub type Listener = Box<dyn Fn(Progress) + Send + Sync>;

/// A program and what is known of its values.
pub struct Evaluations {
    dim: usize,
    retries: u32,
    workers: Mutex<Workers>,
    store: Option<Store>,
    listener: Option<Listener>,
    ending: Option<fn() -> bool>,
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
        Ok(Self { dim, retries, workers, store, listener: None, ending: None, last_failure: Mutex::new(None) })
    }

    /// Tells `listener` of every finished evaluation.
    pub fn with_listener(self, listener: Listener) -> Self {
        Self { listener: Some(listener), ..self }
    }

    /// Asks `ending` whether this process is about to end. Workers that die then die with it, as when the machine shuts down: that is
    /// no failure of their points, but the end of the step, an error with the source [`CutOff`].
    pub fn with_ending(self, ending: fn() -> bool) -> Self {
        Self { ending: Some(ending), ..self }
    }

    fn is_cut_off(&self, outcome: &Outcome) -> bool {
        let (Outcome::Died(how), Some(ending)) = (outcome, self.ending) else { return false };
        // The signal that ended the worker may reach us a moment later.
        ENDING.contains(&how.as_str())
            && (0..30).any(|_| {
                let ending = ending();
                if !ending {
                    std::thread::sleep(MOMENT);
                }
                ending
            })
    }

    /// Waits until all that was found so far is on the disk.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.store.as_ref().map_or(Ok(()), Store::flush)
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
        for (index, x) in points.iter().enumerate() {
            let known = self.store.as_ref().and_then(|store| store.known(x));
            match known {
                Some(Known { attempt, outcome }) if self.is_final(attempt, &outcome) => {
                    energies[index] = outcome.value();
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
            (None, Ok(())) => Ok(()),
        }
    }
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> EvalError {
    EvalError { message: error.to_string(), row: None, source: Some(Box::new(error)) }
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
