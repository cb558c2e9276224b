//! Programs as objectives on several ranks: each starts its own workers, and the first hands out the points.

use crate::external::{Attempt, ExternalError, Job, Limits, Outcome, Settings, Workers};
use cbo::ranks::Communicator;
use cbo::ranks::farm::{self, Lanes, Schedule};
use serde::{Deserialize, Serialize};
use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

/// The workers of a rank, each a lane of its own.
struct Crew(Vec<Mutex<Workers>>);

/// A point on its way. Coordinates are bits: JSON has no infinity, and the program must see the very point.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    index: usize,
    attempt: u32,
    x: Vec<u64>,
}

/// What came of an attempt, on its way back.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    job: usize,
    attempt: u32,
    status: String,
    value: u64,
    message: String,
    seconds: f64,
    stderr: String,
}

impl From<Attempt> for Answer {
    fn from(attempt: Attempt) -> Self {
        let Attempt { job, attempt, outcome, seconds, stderr } = attempt;
        let (status, message) = (outcome.status().into(), outcome.message().into());
        Self { job, attempt, status, value: outcome.value().to_bits(), message, seconds, stderr }
    }
}

impl Answer {
    fn attempt(self) -> Option<Attempt> {
        let Self { job, attempt, status, value, message, seconds, stderr } = self;
        let value = Some(f64::from_bits(value)).filter(|value| !value.is_nan());
        Some(Attempt { job, attempt, outcome: Outcome::from_parts(&status, value, &message)?, seconds, stderr })
    }
}

impl Crew {
    fn start(rank: usize, settings: &Settings) -> Result<Self, ExternalError> {
        settings.check()?;
        let one = |lane: usize| {
            let program = settings.program.clone().counting_from(rank * settings.workers + lane);
            Workers::start(&Settings { program, workers: 1, ..settings.clone() }).map(Mutex::new)
        };
        (0..settings.workers).map(one).collect::<Result<_, _>>().map(Self)
    }
}

impl Lanes for Crew {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn work(&self, lane: usize, job: &[u8], say: &mut dyn FnMut(Vec<u8>)) {
        // Numbers and words are always JSON, and this program wrote it.
        let Ok(Order { index, attempt, x }) = serde_json::from_slice(job) else { return };
        let job = Job { index, attempt, x: x.into_iter().map(f64::from_bits).collect() };
        let mut workers = self.0[lane].lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = workers.evaluate(&[job], &mut |attempt| {
            say(serde_json::to_vec(&Ok::<_, String>(Answer::from(attempt))).unwrap_or_default());
            ControlFlow::Continue(())
        });
        if let Err(error) = outcome {
            say(serde_json::to_vec(&Err::<Answer, _>(error.to_string())).unwrap_or_default());
        }
    }
}

/// The workers of all ranks, seen from the first. Dropping it dismisses the others.
pub(crate) struct Everywhere {
    ranks: Arc<dyn Communicator>,
    schedule: Schedule,
    crew: Crew,
}

impl Everywhere {
    pub fn start(ranks: Arc<dyn Communicator>, schedule: Schedule, settings: &Settings) -> Result<Self, ExternalError> {
        Ok(Self { crew: Crew::start(ranks.rank(), settings)?, ranks, schedule })
    }

    /// As [`Workers::evaluate_until`].
    pub fn evaluate_until(
        &mut self,
        jobs: &[Job],
        limits: Limits,
        is_over: &dyn Fn() -> bool,
        finished: &mut dyn FnMut(Attempt) -> ControlFlow<()>,
    ) -> Result<(), ExternalError> {
        let order = |job: &Job| {
            let x = job.x.iter().map(|v| v.to_bits()).collect();
            serde_json::to_vec(&Order { index: job.index, attempt: job.attempt, x }).unwrap_or_default()
        };
        let (mut fault, closed) = (None, Cell::new(false));
        let over = || closed.get() || is_over() || limits.deadline.is_some_and(|end| std::time::Instant::now() >= end);
        let orders = if over() { Vec::new() } else { jobs.iter().map(order).collect() };
        farm::hand_out(&*self.ranks, &self.crew, self.schedule, orders, &over, &mut |said| {
            let answer: Result<Answer, String> =
                serde_json::from_slice(&said).unwrap_or_else(|error| Err(error.to_string()));
            let attempt = match answer.map(Answer::attempt) {
                Ok(Some(attempt)) => attempt,
                Ok(None) => return ControlFlow::Continue(()),
                Err(words) => {
                    fault.get_or_insert(ExternalError::Elsewhere(words));
                    return ControlFlow::Break(());
                }
            };
            closed.set(closed.get() || limits.are_reached_by(&attempt.outcome));
            if finished(attempt).is_break() {
                fault.get_or_insert(ExternalError::Stopped);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        fault.map_or(Ok(()), Err)
    }
}

impl Drop for Everywhere {
    fn drop(&mut self) {
        farm::dismiss(&*self.ranks);
    }
}

/// Workers that evaluate what the first rank hands out; to be made by all others.
pub struct Helpers(Crew);

impl Helpers {
    /// Starts those of this rank.
    pub fn start(rank: usize, settings: &Settings) -> Result<Self, ExternalError> {
        Crew::start(rank, settings).map(Self)
    }

    /// Works until the first rank has no more to do.
    pub fn serve(&self, ranks: &dyn Communicator) {
        farm::serve(ranks, &self.0);
    }
}
