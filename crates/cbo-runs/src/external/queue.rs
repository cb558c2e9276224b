//! The points that wait for a worker.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::poll::Button;
use super::{Attempt, Job, Outcome};

/// A point that waits, or that a worker has.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) job: usize,
    pub(super) x: Vec<f64>,
    pub(super) attempt: u32,
}

impl Task {
    pub(super) fn new(job: &Job) -> Self {
        Self { job: job.index, x: job.x.clone(), attempt: job.attempt.max(1) }
    }

    /// What the attempt came to.
    pub(super) fn finished(&self, outcome: Outcome, seconds: f64, stderr: String) -> Attempt {
        Attempt { job: self.job, attempt: self.attempt, outcome, seconds, stderr }
    }
}

/// What workers tell the calling thread.
#[derive(Debug)]
pub(super) enum Report {
    /// Attempts have ended.
    Finished(Vec<(Task, Attempt)>),
    /// A worker has ended.
    Gone,
}

/// Hands points to workers.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// One a worker.
    buttons: Vec<Button>,
}

#[derive(Debug)]
struct State {
    tasks: VecDeque<Task>,
    /// Which workers sleep until they are rung.
    asleep: Vec<bool>,
    stopping: bool,
}

impl Queue {
    pub(super) fn new(buttons: Vec<Button>) -> Self {
        let asleep = vec![false; buttons.len()];
        Self { state: Mutex::new(State { tasks: VecDeque::new(), asleep, stopping: false }), buttons }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds points at the end.
    pub(super) fn add(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut state = self.state();
        state.tasks.extend(tasks);
        self.wake(&mut state);
    }

    /// Puts points back that a worker has not come to.
    pub(super) fn give_back(&self, tasks: impl DoubleEndedIterator<Item = Task>) {
        let mut state = self.state();
        tasks.rev().for_each(|task| state.tasks.push_front(task));
        self.wake(&mut state);
    }

    /// Wakes as many workers as there are points.
    fn wake(&self, state: &mut State) {
        let waiting = state.tasks.len();
        let sleepers = state.asleep.iter_mut().zip(&self.buttons).filter(|(asleep, _)| **asleep);
        for (asleep, button) in sleepers.take(waiting) {
            *asleep = false;
            button.ring();
        }
    }

    /// Takes points for a worker: not more than it has room for, and no more than its share of what is left. A worker
    /// that gets none, and has none, must then listen to its bell. None: it is time to end.
    pub(super) fn take(&self, worker: usize, room: usize, has_none: bool) -> Option<Vec<Task>> {
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        let share = state.tasks.len().div_ceil(self.buttons.len());
        let tasks: Vec<Task> = state.tasks.drain(..room.min(share)).collect();
        state.asleep[worker] = has_none && tasks.is_empty();
        Some(tasks)
    }

    /// Whether it is time to end.
    pub(super) fn is_stopping(&self) -> bool {
        self.state().stopping
    }

    /// Tells all workers to end.
    pub(super) fn stop(&self) {
        self.state().stopping = true;
        self.buttons.iter().for_each(Button::ring);
    }
}
