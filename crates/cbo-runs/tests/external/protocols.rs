//! The three protocols with the worker examples, and what does not depend on faults.

use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Duration;

use cbo_runs::external::{ExternalError, Job, Outcome, Protocol, Settings, Workers};

use super::support::{bash_worker, evaluate, evaluate_with, examples, is_there, jobs, quoted, settings, soon, values};

/// Points of three coordinates, some of them hard to write.
fn points() -> Vec<Job> {
    let x = |i: usize| vec![i as f64 / 3.0, -1.0 / (i as f64 + 1.0), [1e-300, -0.0, 12345.678, 2.0][i % 4]];
    (0..24).map(|index| Job { index, x: x(index), attempt: 1 }).collect()
}

/// What the examples compute.
fn expected(x: &[f64]) -> f64 {
    x.iter().zip(1..).map(|(x, k)| (x - f64::from(k)) * (x - f64::from(k))).sum()
}

/// The points through a command of the examples, with two workers.
fn check(command: &str, protocol: Protocol) {
    let jobs = points();
    let attempts = evaluate_with(&Settings { workers: 2, ..settings(command, protocol) }, &jobs);
    assert_eq!(attempts.len(), jobs.len(), "{command}: {attempts:?}");
    for attempt in attempts {
        let expected = expected(&jobs[attempt.job].x);
        let error = (attempt.outcome.value() - expected).abs();
        assert!(error <= 1e-12 * (1.0 + expected), "{command}: {attempt:?} is not {expected}");
        assert!(attempt.attempt == 1 && attempt.seconds > 0.0 && attempt.seconds < 20.0, "{attempt:?}");
    }
}

#[test]
fn the_examples_in_python_work() {
    if is_there("python3") {
        let file = |name| quoted(&examples().join(name));
        check(&format!("python3 {} {{x}}", file("oneshot.py")), Protocol::Args);
        check(&format!("python3 {}", file("oneshot.py")), Protocol::Json);
        check(&format!("python3 {}", file("worker.py")), Protocol::Jsonl);
    }
}

#[test]
fn the_examples_in_bash_work() {
    if is_there("bash") {
        let file = |name| quoted(&examples().join(name));
        check(&format!("bash {} {{x}}", file("oneshot.sh")), Protocol::Args);
        check(&format!("bash {}", file("oneshot.sh")), Protocol::Json);
        check(&format!("bash {}", file("worker.sh")), Protocol::Jsonl);
    }
}

#[test]
fn the_examples_in_c_work() {
    if is_there("cc") {
        let folder = tempfile::tempdir().expect("a folder");
        let build = |name: &str| {
            let (to, from) = (folder.path().join(name), examples().join(format!("{name}.c")));
            let flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-o"];
            assert!(Command::new("cc").args(flags).arg(&to).arg(from).status().expect("cc starts").success());
            quoted(&to)
        };
        check(&format!("{} {{x}}", build("oneshot")), Protocol::Args);
        check(&build("worker"), Protocol::Jsonl);
    }
}

#[test]
fn a_failing_point_does_not_end_the_python_worker() {
    if is_there("python3") {
        let folder = tempfile::tempdir().expect("a folder");
        let text = fs::read_to_string(examples().join("worker.py")).expect("the example");
        let broken =
            text.replace("return sum(", "if x[0] == 3:\n        raise ValueError('no \"mesh\"')\n    return sum(");
        assert_ne!(text, broken);
        let file = folder.path().join("worker.py");
        fs::write(&file, broken).expect("a file is written");
        let attempts = evaluate_with(&settings(&format!("python3 {}", quoted(&file)), Protocol::Jsonl), &jobs(6));
        assert_eq!(attempts.len(), 6);
        assert_eq!(attempts[3].outcome, Outcome::NoValue("no \"mesh\"".into()));
        assert_eq!(attempts[4].outcome, Outcome::Value(9.0));
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_workers() {
    let jobs = jobs(300);
    // Processes of different speed, one of which dies now and then.
    let worker = bash_worker("((CBO_WORKER == 1 && RANDOM % 50 == 0)) && exit 1; answer \"$x\"e-3");
    let run = |workers| {
        let settings = Settings { workers, retries: 100, ..worker.settings.clone() };
        values(&evaluate_with(&settings, &jobs), jobs.len())
    };
    let expected: Vec<f64> = (0..300).map(|i| format!("{i}.0e-3").parse().expect("a number")).collect();
    for workers in [1, 2, 5] {
        assert_eq!(run(workers), expected, "{workers} workers");
    }
}

#[test]
fn each_worker_knows_its_number() {
    let worker = bash_worker("sleep 0.01; answer $CBO_WORKER");
    let attempts = evaluate_with(&Settings { workers: 3, ..worker.settings }, &jobs(30));
    let seen: BTreeSet<String> = attempts.iter().map(|a| a.outcome.value().to_string()).collect();
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), ["0", "1", "2"]);
}

#[test]
fn slow_points_are_shared() {
    // After 200 quick points come two, each of which waits for the other: they must not be with one worker.
    let wait = "until [[ -e $folder/200.0 && -e $folder/201.0 ]]; do sleep 0.01; done";
    let worker = bash_worker(&format!("[[ $x == 20?.0 ]] && {{ : > \"$folder/$x\"; {wait}; }}; answer \"$x\""));
    let settings = Settings { workers: 3, timeout: Some(Duration::from_secs(20)), ..worker.settings.clone() };
    let attempts = evaluate_with(&settings, &jobs(202));
    assert_eq!(values(&attempts, 202), (0..202).map(f64::from).collect::<Vec<_>>());
}

#[test]
fn workers_stay_between_evaluations() {
    let worker = bash_worker("answer $$");
    let mut workers = Workers::start(&worker.settings).expect("a worker");
    let first = evaluate(&mut workers, &jobs(3));
    let second = evaluate(&mut workers, &jobs(3));
    assert_eq!(first[0].outcome, second[2].outcome);
    assert!(evaluate(&mut workers, &[]).is_empty());
    workers.stop();
}

#[test]
fn retries_are_counted() {
    let worker = bash_worker("exit 3");
    let settings = Settings { retries: 2, workers: 2, ..worker.settings };
    let begun = |index, attempt| Job { index, x: vec![0.0], attempt };
    let attempts = evaluate_with(&settings, &[begun(0, 1), begun(1, 3), begun(2, 9)]);
    let numbers = |job| attempts.iter().filter(|a| a.job == job).map(|a| a.attempt).collect::<Vec<_>>();
    assert_eq!([numbers(0), numbers(1), numbers(2)], [vec![1, 2, 3], vec![3], vec![9]]);
    assert!(attempts.iter().all(|a| a.outcome == Outcome::Died("exit code 3".into())), "{attempts:?}");
}

#[test]
fn an_evaluation_can_be_broken_off() {
    let worker = bash_worker("[[ $x == 3.0 ]] && once && sleep 1000; answer \"$x\"");
    let mut workers = Workers::start(&Settings { workers: 2, ..worker.settings.clone() }).expect("workers");
    let mut seen = 0;
    let result = workers.evaluate(&jobs(10), &mut |_| {
        seen += 1;
        soon("the point 3 has begun", || seen < 5 || worker.folder.path().join("once").exists());
        if seen == 5 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(result, Err(ExternalError::Stopped)), "{result:?}");
    assert_eq!(seen, 5);
    let expected: Vec<f64> = (0..10).map(f64::from).collect();
    assert_eq!(values(&evaluate(&mut workers, &jobs(10)), 10), expected);
}

#[test]
fn points_that_are_not_finite_are_not_shown() {
    let worker = bash_worker("answer \"$x\"");
    let mut all = jobs(3);
    all[1].x = vec![1.0, f64::NAN];
    let attempts = evaluate_with(&worker.settings, &all);
    assert_eq!(attempts.len(), 3);
    let refused = attempts.iter().find(|a| a.job == 1).expect("an attempt");
    assert_eq!(refused.outcome, Outcome::NoValue("a coordinate of the point is not finite".into()));
}

#[test]
fn settings_are_checked() {
    let good = settings("sh -c 'echo 1'", Protocol::Json);
    let error = |settings: Settings| Workers::start(&settings).expect_err("wrong").to_string();
    assert_eq!(error(Settings { workers: 0, ..good.clone() }), "workers = 0: use from 1 to 1024");
    assert_eq!(error(Settings { workers: 1025, ..good.clone() }), "workers = 1025: use from 1 to 1024");
    let zero = Settings { timeout: Some(Duration::ZERO), ..good };
    assert_eq!(error(zero), "timeout = 0: an evaluation needs more than 0 seconds");
    assert!(error(settings("./no-such-program", Protocol::Json)).contains("there is no file ./no-such-program"));
}
