//! What each worker is doing, for whoever watches a run: kept in memory, and in a file of the run folder a few times per second.

use crate::files::Handle;
use crate::folder::WORKERS;
use crate::timestamp::timestamp;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

/// How often the file is written, if something has changed.
const EVERY: Duration = Duration::from_millis(400);

/// Points with more coordinates are not shown.
const SHOWN: usize = 64;

/// What one worker is doing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// Points that it has; none if it waits for some.
    pub points: usize,
    /// Since when it has the first of them, or none: ISO time, UTC.
    pub since: String,
    /// The first of them; left out if it has many coordinates.
    pub x: Vec<f64>,
    /// Which attempt it is.
    pub attempt: u32,
    /// Attempts that it has finished.
    pub finished: u64,
    /// Those without an answer.
    pub failed: u64,
}

/// What all of them are doing.
#[derive(Debug, Default)]
pub struct Board(Mutex<Vec<State>>);

impl Board {
    pub(super) fn new(workers: usize) -> Self {
        let idle = State { since: timestamp(SystemTime::now()), ..State::default() };
        Self(Mutex::new(vec![idle; workers]))
    }

    fn states(&self) -> MutexGuard<'_, Vec<State>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A worker has so many points, this the first of them.
    pub(super) fn holds(&self, worker: usize, points: usize, first: Option<(&[f64], u32)>) {
        let (x, attempt) = first.unwrap_or((&[], 0));
        let x = if x.len() <= SHOWN { x } else { &[] };
        if let Some(state) = self.states().get_mut(worker) {
            if (state.points == 0) != (points == 0) || state.x != x || state.attempt != attempt {
                state.since = timestamp(SystemTime::now());
                state.x = x.to_vec();
            }
            (state.points, state.attempt) = (points, attempt);
        }
    }

    /// A worker has finished an attempt.
    pub(super) fn finished(&self, worker: usize, has_failed: bool) {
        if let Some(state) = self.states().get_mut(worker) {
            state.finished += 1;
            state.failed += u64::from(has_failed);
        }
    }

    /// What each is doing now.
    pub fn now(&self) -> Vec<State> {
        self.states().clone()
    }
}

/// Keeps the file of a board up to date for as long as it lives. A file that cannot be written stops nothing.
#[derive(Debug)]
pub struct Notice {
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Notice {
    /// Begins, in this run folder. Nothing happens if no thread can be started.
    pub fn put_up(folder: &Path, board: Arc<Board>) -> Self {
        let (end, ended) = channel::<()>();
        let write = move |handle: &Handle, before: &mut Option<Vec<State>>| {
            let now = board.now();
            if before.as_ref() != Some(&now) {
                let _ = handle.write_loosely(WORKERS, &serde_json::to_vec(&now).unwrap_or_default());
                *before = Some(now);
            }
        };
        // The folder that is here now, wherever it may be moved.
        let handle = Handle::new(folder).ok();
        let thread = handle.and_then(|handle| {
            let work = move || {
                let mut before = None;
                loop {
                    write(&handle, &mut before);
                    if ended.recv_timeout(EVERY) != Err(RecvTimeoutError::Timeout) {
                        return write(&handle, &mut before);
                    }
                }
            };
            thread::Builder::new().name("cbo-workers-file".into()).spawn(work).ok()
        });
        Self { end: Some(end), thread }
    }
}

impl Drop for Notice {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
