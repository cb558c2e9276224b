//! One process per evaluation: the protocols args and json.

use std::time::Instant;

use super::answer::{beginning, read_value, write_point};
use super::lines::{Found, Lines};
use super::process::{Process, StartError, describe};
use super::queue::Task;
use super::tail::Tail;
use super::workers::Worker;
use super::{Outcome, Protocol};

/// The most that is read of what is left in the pipe when a process has ended.
const MOST_READS: usize = 1024;

/// Evaluates points until it is told to end.
pub(super) fn work(worker: &Worker) {
    let mut failures = 0;
    loop {
        let Some(mut tasks) = worker.queue.take(worker.number, 1, 0) else { return };
        let Some(task) = tasks.pop() else {
            worker.bell.listen(None);
            continue;
        };
        worker.holds(1, Some(&task));
        let start = Instant::now();
        let mut stderr = Tail::default();
        let Some(outcome) = evaluate(worker, &task, start, &mut stderr) else { return };
        failures = if matches!(outcome, Outcome::NotStarted(_)) { failures + 1 } else { 0 };
        let attempt = task.finished(outcome, start.elapsed().as_secs_f64(), stderr.take());
        worker.report(vec![(task, attempt)]);
        worker.holds(0, None);
        worker.back_off(failures);
    }
}

/// What the last line says, so far.
#[derive(Default)]
struct LastLine(Vec<u8>);

impl LastLine {
    fn see(&mut self, line: &[u8]) {
        if !line.trim_ascii().is_empty() {
            self.0.clear();
            self.0.extend_from_slice(line);
        }
    }
}

/// Starts the program, feeds it and reads what it says. None: it is time to end.
fn evaluate(worker: &Worker, task: &Task, start: Instant, stderr: &mut Tail) -> Option<Outcome> {
    let has_input = worker.program.protocol() == Protocol::Json;
    let mut process =
        match Process::start(&worker.program, &task.x, worker.number, has_input, worker.licence, &worker.guard) {
            Ok(process) => process,
            Err(StartError::Ended) => return None,
            Err(StartError::Refused(why)) => return Some(Outcome::NotStarted(why)),
        };
    let mut input = Vec::new();
    if has_input {
        write_point(&mut input, &task.x);
    }
    let mut lines = Lines::default();
    let mut last = LastLine::default();
    loop {
        let left = worker.timeout.map(|t| t.saturating_sub(start.elapsed()));
        let ready = process.wait(&worker.bell, !input.is_empty(), left);
        if ready.bell {
            worker.bell.silence();
            if worker.queue.is_stopping() {
                return None;
            }
        }
        if ready.stdin && !process.write(&mut input) {
            input.clear(); // it may answer without reading all
        }
        if input.is_empty() {
            process.stdin = None;
        }
        if ready.stdout {
            read(&mut process, &mut lines, &mut last, 1);
        }
        if ready.stderr && !process.stderr.as_mut().is_none_or(|s| stderr.fill(s)) {
            process.stderr = None;
        }
        if lines.is_too_long() {
            return Some(Outcome::Garbage(beginning(lines.rest())));
        }
        if ready.exited {
            break;
        }
        if worker.timeout.is_some_and(|t| start.elapsed() >= t) {
            return Some(Outcome::Timeout);
        }
    }
    process.kill();
    read(&mut process, &mut lines, &mut last, MOST_READS);
    process.stderr.as_mut().map(|s| stderr.fill(s));
    last.see(lines.rest());
    let status = process.end();
    if !worker.licence.is_valid() {
        return None;
    }
    Some(match last.0.trim_ascii() {
        _ if !status.is_some_and(|s| s.success()) => Outcome::Died(describe(status)),
        b"" => Outcome::Died(describe(status)),
        text => read_value(text).map_or_else(|| Outcome::Garbage(beginning(text)), Outcome::of),
    })
}

/// Reads stdout, at most this many times or until there is nothing.
fn read(process: &mut Process, lines: &mut Lines, last: &mut LastLine, times: usize) {
    for _ in 0..times {
        let Some(stdout) = &mut process.stdout else { return };
        let found = lines.fill(stdout);
        while let Some(line) = lines.next() {
            last.see(line);
        }
        match found {
            Found::Bytes(_) => (),
            Found::Nothing => return,
            Found::End => process.stdout = None,
        }
        if lines.is_too_long() {
            return;
        }
    }
}
