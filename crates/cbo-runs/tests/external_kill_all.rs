//! Ending all workers at once: those of all tests in the process, so that the test starts a process of its own.
#![cfg(unix)]

use std::fs;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Duration;

use cbo_runs::external::{ExternalError, Job, Outcome, Program, Protocol, Settings, Workers, kill_all};

#[test]
fn all_workers_end_at_once() {
    let test = "external_kill_all::all_workers_of_a_process_end_at_once";
    let program = std::env::current_exe().expect("this program");
    let child = Command::new(program).args(["--exact", test, "--ignored"]).output().expect("this program again");
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
#[ignore = "started by the test above, in a process of its own"]
fn all_workers_of_a_process_end_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let command = |protocol, script: &str| {
        let words = ["bash", "-c", script, "name", folder.path().to_str().expect("text")];
        let text = shlex::try_join(words).expect("no zero bytes");
        Settings { workers: 3, retries: 5, ..Settings::new(Program::parse(&text, protocol).expect("a command")) }
    };
    let jobs: Vec<Job> = (0..20).map(|index| Job { index, x: vec![0.0], attempt: 1 }).collect();
    let hang = "sleep 1000 & : > \"$1/$$\"; wait";
    for protocol in [Protocol::Json, Protocol::Jsonl] {
        let mut workers = Workers::start(&command(protocol, hang)).expect("workers");
        let count = fs::read_dir(folder.path()).expect("the folder").count();
        let begun = || fs::read_dir(folder.path()).expect("the folder").count() >= count + 3;
        std::thread::scope(|scope| {
            let evaluation = scope.spawn(|| workers.evaluate(&jobs, &mut |_| ControlFlow::Continue(())));
            while !begun() {
                std::thread::sleep(Duration::from_millis(5));
            }
            kill_all();
            let result = evaluation.join().expect("no panic");
            assert!(matches!(result, Err(ExternalError::Stopped)), "{protocol}: {result:?}");
        });
        // They are ended for good.
        let result = workers.evaluate(&jobs, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(result, Err(ExternalError::Stopped)), "{protocol}: {result:?}");
        drop(workers);
        // Others are not affected.
        let mut others = Workers::start(&command(Protocol::Json, "echo 1")).expect("workers");
        let mut values = 0;
        let told = &mut |attempt: cbo_runs::external::Attempt| {
            values += usize::from(attempt.outcome == Outcome::Value(1.0));
            ControlFlow::Continue(())
        };
        others.evaluate(&jobs, told).expect("an evaluation");
        assert_eq!(values, 20);
    }
}
