//! The points that wait for a worker.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::poll::Button;
use super::{Attempt, Job, Limits, Outcome};

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

    /// What came of the attempt.
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
    /// One per worker.
    buttons: Vec<Button>,
}

#[derive(Debug)]
struct State {
    tasks: VecDeque<Task>,
    /// Which workers sleep until their bell rings.
    asleep: Vec<bool>,
    stopping: bool,
    limits: Limits,
    /// Whether no further attempt is to begin, and the points that were left without one because of that.
    closed: bool,
    left_out: usize,
}

impl Queue {
    pub(super) fn new(buttons: Vec<Button>) -> Self {
        let state = State {
            tasks: VecDeque::new(),
            asleep: vec![false; buttons.len()],
            stopping: false,
            limits: Limits::default(),
            closed: false,
            left_out: 0,
        };
        Self { state: Mutex::new(state), buttons }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens it for points, until these limits are reached.
    pub(super) fn open(&self, limits: Limits) {
        let mut state = self.state();
        (state.limits, state.closed, state.left_out) = (limits, false, 0);
    }

    /// Leaves out all points that wait, and those that come.
    pub(super) fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.leave_out_if_closed();
    }

    /// Closes it if an attempt with this outcome reaches the limits. Called by the worker, so that it takes no further point.
    pub(super) fn close_after(&self, outcome: &Outcome) {
        if self.state().limits.are_reached_by(outcome) {
            self.close();
        }
    }

    /// How many points were left out.
    pub(super) fn left_out(&self) -> usize {
        self.state().left_out
    }

    /// Adds points at the end.
    pub(super) fn add(&self, tasks: impl IntoIterator<Item = Task>) {
        let mut state = self.state();
        state.tasks.extend(tasks);
        state.leave_out_if_closed();
        self.wake(&mut state);
    }

    /// Puts back points that a worker has not started.
    pub(super) fn give_back(&self, tasks: impl DoubleEndedIterator<Item = Task>) {
        let mut state = self.state();
        tasks.rev().for_each(|task| state.tasks.push_front(task));
        state.leave_out_if_closed();
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

    /// Takes points for a worker that has room for more and holds some: no more than its share of those that nobody else
    /// has. One that gets none, and holds none, must then listen to its bell. None: it is time to end.
    pub(super) fn take(&self, worker: usize, room: usize, held: usize) -> Option<Vec<Task>> {
        let mut state = self.state();
        if state.stopping {
            return None;
        }
        let share = (state.tasks.len() + held).div_ceil(self.buttons.len()).saturating_sub(held);
        let tasks: Vec<Task> = state.tasks.drain(..room.min(share)).collect();
        state.asleep[worker] = held == 0 && tasks.is_empty();
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

impl State {
    fn leave_out_if_closed(&mut self) {
        if self.closed {
            self.left_out += self.tasks.len();
            self.tasks.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::poll::bell;
    use super::*;

    fn numbers(tasks: Option<Vec<Task>>) -> Vec<usize> {
        tasks.expect("not stopping").iter().map(|task| task.job).collect()
    }

    #[test]
    fn points_are_shared() {
        let (bells, buttons): (Vec<_>, Vec<_>) = (0..3).map(|_| bell().expect("a pipe")).unzip();
        let queue = Queue::new(buttons);
        let task = |job| Task { job, x: Vec::new(), attempt: 1 };
        assert!(numbers(queue.take(1, 64, 0)).is_empty());
        queue.add((0..12).map(task));
        bells[1].listen(None); // it was asleep
        assert_eq!(numbers(queue.take(0, 2, 0)), [0, 1], "no more than there is room for");
        assert_eq!(numbers(queue.take(0, 62, 2)), [2, 3], "no more than a third of 12");
        assert_eq!(numbers(queue.take(1, 64, 0)), [4, 5, 6]);
        assert!(numbers(queue.take(1, 61, 3)).is_empty());
        queue.give_back([3, 4].into_iter().map(task));
        assert_eq!(numbers(queue.take(2, 64, 0)), [3, 4, 7]);
        for last in 8..12 {
            assert_eq!(numbers(queue.take(2, 1, 0)), [last]);
        }
        queue.open(Limits { target: Some(1.0), ..Limits::default() });
        queue.add((0..5).map(task));
        assert_eq!(numbers(queue.take(0, 1, 0)), [0]);
        queue.close_after(&Outcome::of(1.5));
        assert_eq!(numbers(queue.take(0, 1, 0)), [1], "not yet reached");
        queue.close_after(&Outcome::of(1.0));
        queue.give_back([1].into_iter().map(task));
        assert!(numbers(queue.take(0, 1, 0)).is_empty() && queue.left_out() == 4);
        queue.stop();
        bells.iter().for_each(|bell| bell.listen(None));
        assert!(queue.is_stopping() && queue.take(0, 1, 0).is_none());
    }
}
