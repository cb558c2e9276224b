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

    /// Puts back points that a worker has not started.
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
        queue.stop();
        bells.iter().for_each(|bell| bell.listen(None));
        assert!(queue.is_stopping() && queue.take(0, 1, 0).is_none());
    }
}
