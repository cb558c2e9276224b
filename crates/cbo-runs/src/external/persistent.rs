//! A process that stays and evaluates point after point: the protocol jsonl.
//!
//! When something goes wrong, the oldest point that the process has is to blame: workers usually answer in order. The
//! others have not been started and go back to the queue, at no cost. The process is ended and replaced.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::answer::{Answer, beginning, read_answer, write_request};
use super::lines::{Found, Lines};
use super::pace::Pace;
use super::process::{Process, StartError, describe};
use super::queue::Task;
use super::tail::Tail;
use super::workers::Worker;
use super::{Attempt, Outcome};

/// How long a process may take to end by itself after it was told to, or after it closed a pipe.
const GRACE: Duration = Duration::from_secs(1);

/// The most that is read of what is left in the pipe when a process has ended.
const MOST_READS: usize = 1024;

/// Evaluates points until it is told to end.
pub(super) fn work(worker: &Worker) {
    let mut work = Persistent { worker, live: None, pace: Pace::default(), failures: 0, done: Vec::new() };
    while work.turn().is_some() {}
    if let Some(mut live) = work.live.take().filter(|live| live.held.is_empty()) {
        live.process.stdin = None;
        live.process.ends_within(GRACE);
    }
}

struct Persistent<'a> {
    worker: &'a Worker,
    live: Option<Live>,
    pace: Pace,
    /// Starts in a row that failed.
    failures: u32,
    /// Attempts of this turn.
    done: Vec<(Task, Attempt)>,
}

/// A running process and its state.
struct Live {
    process: Process,
    /// What is still to be written to it.
    input: Vec<u8>,
    lines: Lines,
    stderr: Tail,
    /// The points that it has, with their ids, oldest first.
    held: VecDeque<(u64, Task)>,
    /// The points that it was given are numbered from 1.
    last_id: u64,
    /// When it answered last, or was given a point while it had none.
    busy_since: Instant,
    /// When the oldest point became the oldest.
    oldest_since: Instant,
    /// Whether an answer that was given twice has been noted.
    noted: bool,
}

/// What follows from a look at a process.
enum Next {
    /// To continue.
    GoOn,
    /// To end, because that was asked for.
    Stop,
    /// To replace it, because of this.
    Replace(Fault),
}

/// Why a process must be replaced.
enum Fault {
    Ended,
    ClosedStdin,
    ClosedStdout,
    Timeout,
    Garbage(String),
}

impl Persistent<'_> {
    /// Gives points to the process, waits for it, reads its answers. None: it is time to end.
    fn turn(&mut self) -> Option<()> {
        let held = self.live.as_ref().map_or(0, |live| live.held.len());
        let room = self.pace.room(held);
        if room > 0 {
            let tasks = self.worker.queue.take(self.worker.number, room, held)?;
            if !tasks.is_empty() {
                self.hand_over(tasks)?;
            } else if self.live.is_none() {
                self.worker.bell.listen(None);
            }
        }
        let Some(mut live) = self.live.take() else { return Some(()) };
        self.worker.holds(live.held.len(), live.held.front().map(|(_, task)| task));
        match self.attend(&mut live) {
            Next::Replace(fault) => self.bury(live, fault)?,
            next => {
                self.live = Some(live);
                if matches!(next, Next::Stop) {
                    return None;
                }
            }
        }
        if self.live.as_ref().is_none_or(|live| live.held.is_empty()) {
            self.worker.holds(0, None);
        }
        if !self.done.is_empty() {
            self.worker.report(std::mem::take(&mut self.done));
        }
        Some(())
    }

    /// Writes the requests for these points, to a new process if there is none.
    fn hand_over(&mut self, tasks: Vec<Task>) -> Option<()> {
        // One that has ended while it had nothing to do is replaced at no cost.
        self.live.take_if(|live| live.held.is_empty() && !live.process.is_alive());
        let live = match &mut self.live {
            Some(live) => live,
            none => {
                let start = Instant::now();
                match Process::start(
                    &self.worker.program,
                    &[],
                    self.worker.number,
                    true,
                    self.worker.licence,
                    &self.worker.guard,
                ) {
                    Ok(process) => none.insert(Live::new(process, start)),
                    Err(StartError::Ended) => return None,
                    Err(StartError::Refused(why)) => {
                        self.not_started(tasks, why, start.elapsed());
                        return Some(());
                    }
                }
            }
        };
        self.failures = 0;
        if live.held.is_empty() {
            let now = Instant::now();
            (live.busy_since, live.oldest_since) = (now, now);
        }
        for task in tasks {
            live.last_id += 1;
            write_request(&mut live.input, live.last_id, &task.x);
            live.held.push_back((live.last_id, task));
        }
        Some(())
    }

    fn not_started(&mut self, tasks: Vec<Task>, why: String, time: Duration) {
        let mut tasks = tasks.into_iter();
        if let Some(task) = tasks.next() {
            let attempt = task.finished(Outcome::NotStarted(why), time.as_secs_f64(), String::new());
            self.worker.report(vec![(task, attempt)]);
        }
        self.worker.queue.give_back(tasks);
        self.failures += 1;
        self.worker.back_off(self.failures);
    }

    /// Waits until there is something to do, and does it.
    fn attend(&mut self, live: &mut Live) -> Next {
        let mut reads = live.process.write(&mut live.input);
        let left = self.worker.timeout.map(|t| t.saturating_sub(live.oldest_since.elapsed()));
        let left = left.filter(|_| !live.held.is_empty());
        let ready = live.process.wait(&self.worker.bell, reads && !live.input.is_empty(), left);
        if ready.bell {
            self.worker.bell.silence();
            if self.worker.queue.is_stopping() {
                return Next::Stop;
            }
        }
        if ready.stdin {
            reads = !live.input.is_empty() && live.process.write(&mut live.input);
        }
        if ready.exited || !reads {
            return Next::Replace(self.hear_out(live));
        }
        if ready.stdout
            && let Err(fault) = self.read(live)
        {
            return match fault {
                Fault::ClosedStdout if live.process.ends_within(GRACE) => Next::Replace(Fault::Ended),
                fault => Next::Replace(fault),
            };
        }
        if ready.stderr {
            live.read_stderr();
        }
        match self.worker.timeout {
            Some(t) if !live.held.is_empty() && live.oldest_since.elapsed() >= t => Next::Replace(Fault::Timeout),
            _ => Next::GoOn,
        }
    }

    /// Reads what a process has said before it ended or closed its stdin, since that still counts.
    fn hear_out(&mut self, live: &mut Live) -> Fault {
        let fault = if live.process.ends_within(GRACE) { Fault::Ended } else { Fault::ClosedStdin };
        live.process.kill();
        for _ in 0..MOST_READS {
            match self.read(live) {
                Ok(Found::Bytes(_)) => (),
                Ok(_) | Err(Fault::ClosedStdout) => break,
                Err(fault) => return fault,
            }
        }
        fault
    }

    /// Reads once.
    fn read(&mut self, live: &mut Live) -> Result<Found, Fault> {
        let Some(stdout) = &mut live.process.stdout else { return Err(Fault::ClosedStdout) };
        let found = live.lines.fill(stdout);
        // After stdout, so that what was written before an answer is there.
        live.read_stderr();
        self.read_answers(live)?;
        if found == Found::End {
            // A last line may lack its end. One that breaks off is not a separate fault.
            live.lines.fill(&mut &b"\n"[..]);
            let _ = self.read_answers(live);
            return Err(Fault::ClosedStdout);
        }
        Ok(found)
    }

    /// Reads the whole lines that are there.
    fn read_answers(&mut self, live: &mut Live) -> Result<(), Fault> {
        let now = Instant::now();
        let before = self.done.len();
        let mut result = Ok(());
        while let Some(line) = live.lines.next() {
            if line.trim_ascii().is_empty() {
                continue;
            }
            let answer = read_answer(line).map_err(|e| Fault::Garbage(format!("{e}: {}", beginning(line))));
            match answer.and_then(|answer| live.settle(answer, now)) {
                Ok(Some((task, outcome))) => {
                    let attempt = task.finished(outcome, 0.0, String::new());
                    self.done.push((task, attempt));
                }
                Ok(None) => (),
                Err(fault) => {
                    result = Err(fault);
                    break;
                }
            }
        }
        let answered = &mut self.done[before..];
        if let [(_, first), ..] = answered {
            first.stderr = live.stderr.take();
            let time = now - live.busy_since;
            self.pace.answered(answered.len(), time);
            let each = time.as_secs_f64() / answered.len() as f64;
            answered.iter_mut().for_each(|(_, attempt)| attempt.seconds = each);
            live.busy_since = now;
        }
        if live.lines.is_too_long() {
            return result.and(Err(Fault::Garbage(format!("a line without end: {}", beginning(live.lines.rest())))));
        }
        result
    }

    /// Ends a process that does not work. None: it is time to end.
    fn bury(&mut self, mut live: Live, fault: Fault) -> Option<()> {
        if !self.worker.licence.is_valid() {
            return None;
        }
        let outcome = match fault {
            Fault::Timeout => Outcome::Timeout,
            Fault::Garbage(text) => Outcome::Garbage(text),
            Fault::Ended => Outcome::Died(describe(live.process.end())),
            Fault::ClosedStdin => Outcome::Died("it closed its stdin".into()),
            Fault::ClosedStdout => Outcome::Died("it closed its stdout".into()),
        };
        live.process.end();
        live.read_stderr();
        self.pace = Pace::default();
        let mut held = live.held.into_iter().map(|(_, task)| task);
        if let Some(task) = held.next() {
            let seconds = live.busy_since.elapsed().as_secs_f64();
            let attempt = task.finished(outcome, seconds, live.stderr.take());
            self.done.push((task, attempt));
        }
        self.worker.queue.give_back(held);
        Some(())
    }
}

impl Live {
    fn new(process: Process, now: Instant) -> Self {
        Self {
            process,
            input: Vec::new(),
            lines: Lines::default(),
            stderr: Tail::default(),
            held: VecDeque::new(),
            last_id: 0,
            busy_since: now,
            oldest_since: now,
            noted: false,
        }
    }

    fn read_stderr(&mut self) {
        if let Some(stderr) = &mut self.process.stderr
            && !self.stderr.fill(stderr)
        {
            self.process.stderr = None;
        }
    }

    /// Finds the point that an answer belongs to. None: it has been answered before.
    fn settle(&mut self, answer: Answer, now: Instant) -> Result<Option<(Task, Outcome)>, Fault> {
        let Answer { id, outcome } = answer;
        match self.held.iter().position(|(held, _)| *held == id) {
            Some(place) => {
                if place == 0 {
                    self.oldest_since = now;
                }
                Ok(self.held.remove(place).map(|(_, task)| (task, outcome)))
            }
            None if (1..=self.last_id).contains(&id) => {
                if !self.noted {
                    self.stderr
                        .push(format!("[cbo: the point {id} was answered twice; first answers count]\n").as_bytes());
                    self.noted = true;
                }
                Ok(None)
            }
            None => Err(Fault::Garbage(format!("an answer to the point {id}, which was not asked for"))),
        }
    }
}
