//! Evaluations that are handed out to ranks as they become free.
//!
//! The first rank holds the run; the others wait for jobs. A rank has lanes, each of which does one job at a time, and the first rank has
//! lanes of its own. What a job is, only the lanes know: points for an [objective](Shared), or for a program.

mod objective;

pub use objective::{Shared, help};

use super::Communicator;
use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Which rank does a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Schedule {
    /// Each has its share from the beginning, one after the other.
    Static,
    /// Whoever is free.
    #[default]
    Dynamic,
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(if *self == Self::Static { "static" } else { "dynamic" })
    }
}

impl FromStr for Schedule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "static" => Ok(Self::Static),
            "dynamic" => Ok(Self::Dynamic),
            other => Err(format!("`{other}` is no schedule; use static or dynamic")),
        }
    }
}

/// Who does the jobs of a rank.
pub trait Lanes: Sync {
    /// How many jobs at once; the same on all ranks.
    fn count(&self) -> usize;
    /// Does a job in one of the lanes, and says what comes of it, perhaps several times.
    fn work(&self, lane: usize, job: &[u8], say: &mut dyn FnMut(Vec<u8>));
}

/// How long to wait for messages, at first and at most.
const SHORT: Duration = Duration::from_micros(20);
const LONG: Duration = Duration::from_millis(1);

/// What a lane tells.
enum Event {
    Said(Vec<u8>),
    Free,
    /// It has panicked, and so must its rank: nobody is to wait for its job.
    Lost,
}

impl Event {
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Said(bytes) => [&[1], &bytes[..]].concat(),
            Self::Free | Self::Lost => vec![0],
        }
    }

    fn from_bytes(bytes: Vec<u8>) -> Self {
        if bytes.first() == Some(&1) { Self::Said(bytes[1..].to_vec()) } else { Self::Free }
    }
}

/// Tells that a lane has panicked.
struct Alarm<'a>(&'a Sender<Event>);

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ = self.0.send(Event::Lost);
        }
    }
}

/// The lanes of this rank at work, until jobs end.
fn lane(lanes: &dyn Lanes, number: usize, jobs: &Mutex<Receiver<Vec<u8>>>, events: &Sender<Event>) {
    let _alarm = Alarm(events);
    loop {
        let job = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // Nobody listens only where the rank ends.
        lanes.work(number, &job, &mut |said| drop(events.send(Event::Said(said))));
        let _ = events.send(Event::Free);
    }
}

/// Jobs that wait, for all ranks or for each.
struct Waiting {
    all: VecDeque<Vec<u8>>,
    each: Vec<VecDeque<Vec<u8>>>,
}

impl Waiting {
    fn new(schedule: Schedule, size: usize, jobs: Vec<Vec<u8>>) -> Self {
        let mut waiting = Self { all: VecDeque::new(), each: vec![VecDeque::new(); size] };
        let count = jobs.len().max(1);
        for (number, job) in jobs.into_iter().enumerate() {
            match schedule {
                Schedule::Dynamic => waiting.all.push_back(job),
                Schedule::Static => waiting.each[number * size / count].push_back(job),
            }
        }
        waiting
    }

    fn next(&mut self, rank: usize) -> Option<Vec<u8>> {
        self.each[rank].pop_front().or_else(|| self.all.pop_front())
    }

    fn clear(&mut self) {
        self.all.clear();
        self.each.iter_mut().for_each(VecDeque::clear);
    }
}

/// Does all jobs on all ranks; to be called by the first. `heard` is told what lanes say, and may end it as `is_over` does: then no further
/// job begins, and those that have begun are finished.
pub fn hand_out(
    communicator: &dyn Communicator,
    lanes: &dyn Lanes,
    schedule: Schedule,
    jobs: Vec<Vec<u8>>,
    is_over: &dyn Fn() -> bool,
    heard: &mut dyn FnMut(Vec<u8>) -> ControlFlow<()>,
) {
    let size = communicator.size();
    let mut waiting = Waiting::new(schedule, size, jobs);
    let mut free = vec![lanes.count(); size];
    let mut under_way = 0;
    let (to_own, own_jobs) = channel();
    let (events, own_events) = channel();
    let own_jobs = Mutex::new(own_jobs);
    std::thread::scope(|scope| {
        for number in 0..lanes.count() {
            let (jobs, events) = (&own_jobs, events.clone());
            scope.spawn(move || lane(lanes, number, jobs, &events));
        }
        let mut pause = SHORT;
        loop {
            if is_over() {
                waiting.clear();
            }
            // One for each in turn, so that no rank gets two before another has one; the others before this one, which has most to do.
            let mut handed = true;
            while std::mem::take(&mut handed) {
                for rank in (0..size).rev().filter(|rank| free[*rank] > 0).collect::<Vec<_>>() {
                    let Some(job) = waiting.next(rank) else { continue };
                    if rank == 0 {
                        drop(to_own.send(job))
                    } else {
                        communicator.post(rank, &[&[1], &job[..]].concat())
                    }
                    free[rank] -= 1;
                    under_way += 1;
                    handed = true;
                }
            }
            if under_way == 0 {
                break;
            }
            let own = own_events.try_recv().ok().map(|event| (0, event));
            match own.or_else(|| communicator.poll().map(|(rank, bytes)| (rank, Event::from_bytes(bytes)))) {
                Some((_, Event::Lost)) => break, // the scope passes the panic on
                Some((rank, Event::Free)) => {
                    free[rank] += 1;
                    under_way -= 1;
                    pause = SHORT;
                }
                Some((_, Event::Said(bytes))) => {
                    if heard(bytes).is_break() {
                        waiting.clear();
                    }
                    pause = SHORT;
                }
                None => {
                    std::thread::sleep(pause);
                    pause = (2 * pause).min(LONG);
                }
            }
        }
        drop(to_own);
    });
}

/// Does what the first rank hands out, until that [dismisses](dismiss) the ranks; to be called by all others.
pub fn serve(communicator: &dyn Communicator, lanes: &dyn Lanes) {
    let (to_own, own_jobs) = channel();
    let (events, own_events) = channel();
    let own_jobs = Mutex::new(own_jobs);
    std::thread::scope(|scope| {
        for number in 0..lanes.count() {
            let (jobs, events) = (&own_jobs, events.clone());
            scope.spawn(move || lane(lanes, number, jobs, &events));
        }
        let mut pause = SHORT;
        loop {
            if let Ok(event) = own_events.try_recv() {
                if matches!(event, Event::Lost) {
                    break; // the scope passes the panic on
                }
                communicator.post(0, &event.to_bytes());
                pause = SHORT;
            } else if let Some((_, bytes)) = communicator.poll() {
                if bytes.first() != Some(&1) {
                    break;
                }
                let _ = to_own.send(bytes[1..].to_vec());
                pause = SHORT;
            } else {
                std::thread::sleep(pause);
                pause = (2 * pause).min(LONG);
            }
        }
        drop(to_own);
    });
}

/// Tells all other ranks that there is nothing more to do; to be called by the first.
pub fn dismiss(communicator: &dyn Communicator) {
    (1..communicator.size()).for_each(|rank| communicator.post(rank, &[0]));
}
