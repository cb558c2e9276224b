//! The workers: a thread each, with a process of its own.

use std::io;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::board::Board;
use super::guard::Guard;
use super::poll::{Bell, bell};
use super::process::Licence;
use super::queue::{Queue, Report, Task};
use super::{Attempt, ExternalError, Job, Limits, Outcome, Program, Protocol, Settings, oneshot, persistent};

pub use super::process::kill_all;

/// How often to ask whether an evaluation is over.
const LOOK: Duration = Duration::from_millis(20);

/// Workers that evaluate points with an external program. Dropping them ends their processes.
#[derive(Debug)]
pub struct Workers {
    settings: Settings,
    licence: Licence,
    board: Arc<Board>,
    /// None while they evaluate, and after an evaluation that was stopped.
    crew: Option<Crew>,
}

impl Workers {
    /// Checks the settings and starts the threads. Processes are started when there is something to evaluate.
    pub fn start(settings: &Settings) -> Result<Self, ExternalError> {
        settings.check()?;
        let licence = Licence::new();
        let board = Arc::new(Board::new(settings.workers));
        let crew = Some(Crew::start(settings, licence, &board)?);
        Ok(Self { settings: settings.clone(), licence, board, crew })
    }

    /// What each of them is doing.
    pub fn board(&self) -> Arc<Board> {
        Arc::clone(&self.board)
    }

    /// Evaluates all jobs, several at once, and returns when each has had its last attempt: one that came to an answer,
    /// or the last of the retries. Each gets at least one attempt, even if the job says that many have been made.
    ///
    /// `finished` is told of each attempt as it ends, on this thread. If it breaks off, workers that are busy are ended,
    /// and the evaluation returns [`ExternalError::Stopped`]; another one may follow.
    ///
    /// A coordinate that is not finite is not shown to the program: it counts as an answer without a value.
    pub fn evaluate(
        &mut self,
        jobs: &[Job],
        finished: &mut dyn FnMut(Attempt) -> ControlFlow<()>,
    ) -> Result<(), ExternalError> {
        self.evaluate_until(jobs, Limits::default(), &|| false, finished)
    }

    /// The same until limits are reached, or `is_over` says so (it is asked several times per second): then no further attempt begins, and
    /// the evaluation returns when those that have begun are finished.
    pub fn evaluate_until(
        &mut self,
        jobs: &[Job],
        limits: Limits,
        is_over: &dyn Fn() -> bool,
        finished: &mut dyn FnMut(Attempt) -> ControlFlow<()>,
    ) -> Result<(), ExternalError> {
        // Whatever leaves this function early ends the crew, so that no late answer can reach another evaluation.
        let crew = match self.crew.take() {
            Some(crew) => crew,
            None => Crew::start(&self.settings, self.licence, &self.board)?,
        };
        if is_over() {
            self.crew = Some(crew);
            return Ok(());
        }
        let (good, bad): (Vec<&Job>, Vec<&Job>) = jobs.iter().partition(|job| job.x.iter().all(|v| v.is_finite()));
        let mut left = good.len();
        crew.queue.open(limits);
        crew.queue.add(good.into_iter().map(Task::new));
        for job in bad {
            let outcome = Outcome::NoValue("a coordinate of the point is not finite".into());
            if finished(Task::new(job).finished(outcome, 0.0, String::new())).is_break() {
                return Err(ExternalError::Stopped);
            }
        }
        while left > crew.queue.left_out() {
            if is_over() {
                crew.queue.close();
            }
            let attempts = match crew.reports.recv_timeout(LOOK) {
                Ok(Report::Finished(attempts)) => attempts,
                Err(RecvTimeoutError::Timeout) => continue,
                Ok(Report::Gone) | Err(RecvTimeoutError::Disconnected) => return Err(ExternalError::Stopped),
            };
            for (task, attempt) in attempts {
                let again = attempt.outcome.may_be_retried() && task.attempt <= self.settings.retries;
                if finished(attempt).is_break() {
                    return Err(ExternalError::Stopped);
                }
                match again {
                    true => crew.queue.add([Task { attempt: task.attempt + 1, ..task }]),
                    false => left -= 1,
                }
            }
        }
        self.crew = Some(crew);
        Ok(())
    }

    /// Ends all workers and everything that they started. Those that speak jsonl find their stdin closed, and have
    /// a second to end by themselves.
    pub fn stop(self) {}
}

/// The threads of the workers. Dropping them ends them.
#[derive(Debug)]
struct Crew {
    queue: Arc<Queue>,
    reports: Receiver<Report>,
    threads: Vec<JoinHandle<()>>,
}

impl Crew {
    fn start(settings: &Settings, licence: Licence, board: &Arc<Board>) -> Result<Self, ExternalError> {
        let refused = |number: usize| {
            let workers = settings.workers;
            move |error: io::Error| ExternalError::Threads { worker: number + 1, workers, error }
        };
        let (mut bells, mut buttons) = (Vec::new(), Vec::new());
        for number in 0..settings.workers {
            let (bell, button) = bell().map_err(refused(number))?;
            bells.push(bell);
            buttons.push(button);
        }
        let (sender, reports) = channel();
        let guard = Arc::new(Guard::start());
        let mut crew = Self { queue: Arc::new(Queue::new(buttons)), reports, threads: Vec::new() };
        for (number, bell) in bells.into_iter().enumerate() {
            let worker = Worker {
                number,
                program: settings.program.clone(),
                timeout: settings.timeout,
                queue: Arc::clone(&crew.queue),
                bell,
                reports: sender.clone(),
                licence,
                guard: Arc::clone(&guard),
                board: Arc::clone(board),
            };
            let thread = thread::Builder::new().name(format!("cbo-worker-{number}"));
            crew.threads.push(thread.spawn(move || worker.work()).map_err(refused(number))?);
        }
        Ok(crew)
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.queue.stop();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// What the thread of a worker needs.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) number: usize,
    pub(super) program: Program,
    pub(super) timeout: Option<Duration>,
    pub(super) queue: Arc<Queue>,
    pub(super) bell: Bell,
    pub(super) reports: Sender<Report>,
    pub(super) licence: Licence,
    pub(super) guard: Arc<Guard>,
    pub(super) board: Arc<Board>,
}

impl Worker {
    fn work(self) {
        match self.program.protocol() {
            Protocol::Args | Protocol::Json => oneshot::work(&self),
            Protocol::Jsonl => persistent::work(&self),
        }
    }

    /// Tells the calling thread of attempts.
    pub(super) fn report(&self, attempts: Vec<(Task, Attempt)>) {
        for (_, attempt) in &attempts {
            self.queue.close_after(&attempt.outcome);
            self.board.finished(self.number, attempt.outcome.value().is_nan());
        }
        // Nobody listens when the evaluation was stopped; then it is time to end anyway.
        let _ = self.reports.send(Report::Finished(attempts));
    }

    /// Tells the board how many points it has, and the first of them.
    pub(super) fn holds(&self, points: usize, first: Option<&Task>) {
        self.board.holds(self.number, points, first.map(|task| (task.x.as_slice(), task.attempt)));
    }

    /// Waits a little after this many failed starts in a row, longer with each, at most 100 milliseconds.
    pub(super) fn back_off(&self, failures: u32) {
        if failures > 0 {
            let pause = Duration::from_millis(5 << (failures - 1).min(5));
            self.bell.listen(Some(pause.min(Duration::from_millis(100))));
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // However the thread ends, the calling thread must not wait for it.
        let _ = self.reports.send(Report::Gone);
    }
}
