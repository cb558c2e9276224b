//! Workers that fail: the run continues, counts what failed, and is the same however they fail.

use crate::common::folders::{Finished, beginning, command_of, evaluations, finished, minimize_program, python_worker};
use crate::common::stderr;
use cbo_runs::store::Row;
use std::fs;
use std::path::Path;
use std::process::Output;

/// A worker with the fault MODE wherever the first coordinate is above FROM.
const WORKER: &str = r#"
mode = os.environ["MODE"]
if x[0] > float(os.environ["FROM"]):
    note(os.environ["BAD"], repr(x))
    print("trouble at", x, file=sys.stderr, flush=True)
    if mode == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if mode == "hangs":
        time.sleep(1000)
    if mode == "garbage":
        write(1, "Segmentation fault")
    if mode == "nan":
        return float("nan")
    if mode == "null":
        return None
    if mode == "exits":
        os._exit(0)
    if mode == "closes-stdin":
        os.close(0)
        time.sleep(1000)
    if mode == "at-first" and open(os.environ["BAD"]).read().count(repr(x)) == 1:
        os._exit(3)
if mode == "twice":
    write(1, json.dumps({"id": request["id"], "value": sphere(x)}))
if mode == "flood":
    for _ in range(20):
        os.write(2, b"flood\n" * 10000)
return sphere(x)
"#;

const SETTINGS: &str = "--protocol jsonl --dim 2 --bounds -5,5 --particles 12 --steps 6 --sigma 0.7 --seed 1";

struct Run<'a> {
    place: &'a Path,
    worker: &'a str,
}

impl Run<'_> {
    /// Minimises with a faulty worker.
    fn output(&self, mode: &str, from: f64, more: &str) -> Output {
        let arguments = minimize_program(self.worker, &format!("{SETTINGS} {more}"));
        let mut run = command_of(&beginning(&arguments, &self.place.join(mode)));
        run.env("MODE", mode).env("FROM", from.to_string()).env("BAD", self.bad(mode));
        run.output().expect("the program starts")
    }

    /// Minimises with a worker that is faulty at some points, and says at how many.
    fn finished(&self, mode: &str, more: &str) -> (Finished, u64) {
        let mut run = finished(&self.output(mode, 3.0, more), &self.place.join(mode));
        run.config = String::new(); // workers and limits differ
        let bad = fs::read_to_string(self.bad(mode)).unwrap_or_default().lines().count();
        (run, bad as u64)
    }

    fn bad(&self, mode: &str) -> std::path::PathBuf {
        self.place.join(format!("bad-{mode}"))
    }
}

#[test]
fn failed_evaluations_are_counted_and_all_faults_are_alike() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", WORKER) else { return };
    let run = Run { place: place.path(), worker: &worker };
    let (expected, bad) = run.finished("nan", "");
    assert!(bad >= 3, "the fault must occur: {bad}");
    for (mode, more) in [
        ("null", "--workers 3"),
        ("killed", "--workers 2"),
        ("garbage", "--workers 2"),
        ("exits", "--workers 1"),
        ("closes-stdin", "--workers 2"),
        ("hangs", "--workers 6 --timeout 1.5"),
    ] {
        let (found, bad) = run.finished(mode, more);
        assert_eq!(found.number("failed_evaluations"), bad, "{mode}");
        assert_eq!(found, expected, "{mode}");
        let rows = evaluations(&place.path().join(mode));
        let failed: Vec<_> = rows.iter().filter(|row| row.outcome.value().is_nan()).collect();
        assert_eq!(failed.len() as u64, bad, "{mode}");
        // A worker that survives may have answered several points at once: what it wrote is kept with the first.
        let one_each = mode != "null";
        let told = |row: &&Row| row.stderr.contains("trouble at") || !one_each;
        assert!(failed.iter().all(told), "{mode}: stderr is kept: {failed:?}");
    }
}

#[test]
fn what_is_no_fault_changes_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", WORKER) else { return };
    let run = Run { place: place.path(), worker: &worker };
    let (expected, _) = run.finished("none", "");
    assert_eq!(expected.number("failed_evaluations"), 0);
    for (mode, more) in [("twice", "--workers 2"), ("flood", "--workers 2"), ("at-first", "--workers 2 --retries 1")] {
        assert_eq!(run.finished(mode, more).0, expected, "{mode}");
    }
    let rows = evaluations(&place.path().join("at-first"));
    let tried_again = rows.iter().filter(|row| row.attempt == 2).count();
    assert!(tried_again >= 3 && rows.iter().filter(|row| row.outcome.status() == "died").count() == tried_again);
}

#[test]
fn a_program_that_always_fails_ends_the_run_with_the_reason() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", WORKER) else { return };
    let run = Run { place: place.path(), worker: &worker };
    for (mode, more, reason) in [
        ("killed", "--workers 2", "died: signal 9; its stderr ends: trouble at ["),
        ("garbage", "--workers 2", "Segmentation fault"),
        ("exits", "--workers 2", "exit code 0 without an answer"),
        ("hangs", "--workers 12 --timeout 0.5", "timeout"),
        ("nan", "--workers 2", "no-value"),
    ] {
        let output = run.output(mode, -100.0, more);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{mode}: {message}");
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{mode}: {message}");
        assert!(message.contains(reason), "{mode}: {message}");
        assert!(!place.path().join(mode).join("result.json").exists(), "{mode}");
    }
}
