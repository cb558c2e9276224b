//! Nothing is left behind: not the workers, not what they have started.

use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use cbo_runs::external::{Outcome, Protocol, Settings, Workers};

use super::support::{bash_worker, evaluate, evaluate_with, jobs, number_in, quoted, runs, settings, soon};

/// Starts a child that would outlive its parent, and writes down the numbers of both.
const FAMILY: &str = "sleep 1000 & echo $! > \"$folder/child\"; echo $$ > \"$folder/worker\";";

#[track_caller]
fn are_gone(folder: &Path) {
    for name in ["worker", "child"] {
        let pid = number_in(&folder.join(name));
        soon(&format!("{name} {pid} has ended"), || !runs(pid));
    }
}

#[test]
fn after_stop_and_drop() {
    let worker = bash_worker(&format!("{FAMILY} answer 1"));
    let mut workers = Workers::start(&worker.settings).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1)).len(), 1);
    assert!(runs(number_in(&worker.folder.path().join("child"))));
    workers.stop();
    are_gone(worker.folder.path());

    let mut workers = Workers::start(&worker.settings).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1)).len(), 1);
    drop(workers);
    are_gone(worker.folder.path());
}

#[test]
fn workers_may_tidy_up_when_they_are_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = quoted(&folder.path().join("bye"));
    let script = format!("read line; echo '{{\"id\":1,\"value\":1}}'; cat >/dev/null; echo $$ > {file}");
    let command = format!("bash -c {}", shlex::try_quote(&script).expect("no zero bytes"));
    let mut workers = Workers::start(&settings(&command, Protocol::Jsonl)).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1))[0].outcome, Outcome::Value(1.0));
    workers.stop();
    assert!(folder.path().join("bye").exists(), "its stdin was closed and it had time");
}

#[test]
fn after_a_timeout() {
    let worker = bash_worker(&format!("{FAMILY} wait; answer 1"));
    let limited = Settings { timeout: Some(Duration::from_secs(2)), ..worker.settings.clone() };
    let mut workers = Workers::start(&limited).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1))[0].outcome, Outcome::Timeout);
    are_gone(worker.folder.path());
}

#[test]
fn after_a_worker_has_ended() {
    let worker = bash_worker(&format!("{FAMILY} exit 3"));
    let mut workers = Workers::start(&worker.settings).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1))[0].outcome, Outcome::Died("exit code 3".into()));
    are_gone(worker.folder.path());
}

#[test]
fn after_each_evaluation_in_a_process_of_its_own() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = format!("folder={}; {FAMILY} echo 1", quoted(folder.path()));
    let command = format!("bash -c {}", shlex::try_quote(&script).expect("no zero bytes"));
    let mut workers = Workers::start(&settings(&command, Protocol::Json)).expect("a worker");
    assert_eq!(evaluate(&mut workers, &jobs(1))[0].outcome, Outcome::Value(1.0));
    are_gone(folder.path());
}

#[test]
fn after_an_evaluation_was_broken_off() {
    let worker = bash_worker(&format!("[[ $x == 1.0 ]] && {{ {FAMILY} wait; }}; answer 1"));
    let mut workers = Workers::start(&Settings { workers: 2, ..worker.settings.clone() }).expect("workers");
    let file = worker.folder.path().join("worker");
    let result = workers.evaluate(&jobs(2), &mut |_| {
        number_in(&file); // the other one has begun
        ControlFlow::Break(())
    });
    assert!(result.is_err());
    are_gone(worker.folder.path());
}

#[test]
fn ctrl_c_does_not_reach_them() {
    // A signal to the group of this process is what a terminal sends; that the worker has another group is enough.
    let worker = bash_worker("read -r _ _ _ _ group _ < /proc/$$/stat; echo $$ >&2; answer $group");
    if Path::new("/proc/self/stat").exists() {
        let attempts = evaluate_with(&worker.settings, &jobs(1));
        let pid = attempts[0].stderr.lines().next().expect("a line");
        assert_eq!(attempts[0].outcome.value().to_string(), pid);
    }
}

/// Acts as the program that is killed in the next test.
#[test]
#[ignore = "started by the next test"]
fn a_program_with_a_worker() {
    let script = std::env::var("SCRIPT").expect("set by the next test");
    let mut workers = Workers::start(&settings(&script, Protocol::Json)).expect("a worker");
    evaluate(&mut workers, &jobs(1));
}

#[test]
fn after_this_program_was_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    let inner = format!("folder={}; {FAMILY} wait", quoted(folder.path()));
    let script = format!("bash -c {}", shlex::try_quote(&inner).expect("no zero bytes"));
    let mut program = Command::new(std::env::current_exe().expect("this program"))
        .args(["--ignored", "--exact", "external::children::a_program_with_a_worker"])
        .env("SCRIPT", script)
        .stdout(std::process::Stdio::null())
        .spawn()
        .expect("it starts");
    for name in ["worker", "child"] {
        assert!(runs(number_in(&folder.path().join(name))));
    }
    program.kill().expect("it runs");
    program.wait().expect("it has ended");
    are_gone(folder.path());
}
