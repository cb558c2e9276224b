//! A program as the engine's objective: what is known is not evaluated again, and failures are counted correctly.

#![cfg(unix)]

use cbo::{CboConfig, Objective, Rows, RunReport, StepContext, StopReason};
use cbo_runs::evaluations::{Broken, CutOff, Evaluations, Progress};
use cbo_runs::external::{Program, Protocol, Settings};
use cbo_runs::store::Store;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// A program that notes every point it is given, then does what `body` says.
fn program(folder: &Path, body: &str) -> Settings {
    let script = folder.join("program.sh");
    fs::write(&script, format!("echo \"$@\" >> {}/log\n{body}\n", folder.display())).expect("a script");
    let text = format!("sh {} {{x}}", script.display());
    Settings::new(Program::parse(&text, Protocol::Args).expect("a command"))
}

fn noted(folder: &Path) -> Vec<String> {
    fs::read_to_string(folder.join("log")).unwrap_or_default().lines().map(String::from).collect()
}

fn energies(evaluations: &Evaluations, rows: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; rows.len()];
    evaluations.energies(StepContext::default(), Rows::new(rows, 1), &mut out).expect("energies");
    out
}

#[test]
fn no_point_is_evaluated_twice() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let settings = program(folder, "echo \"$1\"");
    let store = || Some(Store::open(&folder.join("store")).expect("a store"));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    let evaluations = Evaluations::start(1, &settings, store()).expect("workers");
    let evaluations = evaluations.with_listener(Box::new(move |at: Progress| told.lock().expect("a list").push(at)));
    // 0.0 and -0.0 are different points, and a point that occurs twice is one.
    assert_eq!(energies(&evaluations, &[1.5, 2.0, 1.5, 0.0, -0.0]), [1.5, 2.0, 1.5, 0.0, 0.0]);
    assert_eq!(noted(folder), ["1.5", "2.0", "0.0", "-0.0"]);
    assert_eq!(*seen.lock().expect("a list"), [1, 2, 3, 4].map(|done| Progress { done, all: 4 }));
    assert_eq!(energies(&evaluations, &[2.0, 3.0]), [2.0, 3.0]);
    drop(evaluations);
    let again = Evaluations::start(1, &settings, store()).expect("workers");
    assert_eq!(energies(&again, &[3.0, 4.0, 1.5]), [3.0, 4.0, 1.5]);
    assert_eq!(noted(folder), ["1.5", "2.0", "0.0", "-0.0", "3.0", "4.0"]);
}

#[test]
fn failures_are_tried_again_and_remembered() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let mut settings = program(folder, "echo no mesh >&2; exit 3");
    settings.retries = 2;
    let store = || Some(Store::open(&folder.join("store")).expect("a store"));
    let evaluations = Evaluations::start(1, &settings, store()).expect("workers");
    assert!(energies(&evaluations, &[1.0])[0].is_nan());
    assert_eq!(noted(folder).len(), 3);
    assert_eq!(evaluations.last_failure().expect("a failure"), "died: exit code 3; its stderr ends: no mesh");
    drop(evaluations);
    // Known to fail; with more retries, the earlier attempts count.
    assert!(energies(&Evaluations::start(1, &settings, store()).expect("workers"), &[1.0])[0].is_nan());
    assert_eq!(noted(folder).len(), 3);
    settings.retries = 4;
    assert!(energies(&Evaluations::start(1, &settings, store()).expect("workers"), &[1.0])[0].is_nan());
    assert_eq!(noted(folder).len(), 5);
}

#[test]
fn a_worker_that_dies_with_us_is_no_failure_of_its_point() {
    let place = tempfile::tempdir().expect("a folder");
    let settings = program(place.path(), "kill -TERM $$");
    let path = place.path().join("store");
    let evaluations = Evaluations::start(1, &settings, Some(Store::open(&path).expect("a store"))).expect("workers");
    let evaluations = evaluations.with_ending(|| true);
    let fault = evaluations.energies(StepContext::default(), Rows::new(&[1.0], 1), &mut [0.0]).expect_err("cut off");
    assert!(fault.source.expect("a source").is::<CutOff>());
    drop(evaluations);
    let store = Store::open(&path).expect("a store");
    assert_eq!(store.known(&[1.0]), None);
    // As long as nobody ends us, it is one.
    let evaluations = Evaluations::start(1, &settings, Some(store)).expect("workers").with_ending(|| false);
    assert!(energies(&evaluations, &[1.0])[0].is_nan());
    drop(evaluations);
    assert!(Store::open(&path).expect("a store").known(&[1.0]).is_some());
}

#[test]
fn a_fixed_program_gets_another_chance() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let settings = program(folder, "test -e mended || exit 3; test \"$1\" = 2.0 && echo nan || echo \"$1\"");
    let settings = Settings { program: settings.program.in_folder(folder.into()), ..settings };
    let start = || {
        Evaluations::start(1, &settings, Some(Store::open(&folder.join("store")).expect("a store"))).expect("workers")
    };
    assert!(energies(&start(), &[1.0]).iter().all(|e| e.is_nan()));
    fs::write(folder.join("mended"), "").expect("a file");
    assert!(energies(&start(), &[1.0]).iter().all(|e| e.is_nan()), "what has failed has failed");
    let mut again = start();
    again.retry_failed(true);
    let values = energies(&again, &[1.0, 2.0]);
    assert!(values[0] == 1.0 && values[1].is_nan());
    drop(again);
    let mut again = start();
    again.retry_failed(true);
    energies(&again, &[1.0, 2.0]);
    assert_eq!(noted(folder), ["1.0", "1.0", "2.0"], "answers are not asked for again");
}

#[test]
fn a_broken_program_ends_the_run_before_the_budget_is_spent() {
    let place = tempfile::tempdir().expect("a folder");
    let settings = program(place.path(), "test \"$1\" = 0.0 && echo 7 || exit 3");
    let path = place.path().join("store");
    let start = || Evaluations::start(1, &settings, Some(Store::open(&path).expect("a store"))).expect("workers");
    let broken = |evaluations: &Evaluations, rows: &[f64]| {
        let outcome = evaluations.energies(StepContext::default(), Rows::new(rows, 1), &mut vec![0.0; rows.len()]);
        outcome.err().map(|fault| fault.source.expect("a source").is::<Broken>())
    };
    let evaluations = start();
    assert_eq!(broken(&evaluations, &[1.0, 2.0, 3.0, 4.0]), None, "a few may fail");
    assert_eq!(broken(&evaluations, &[0.0, 5.0, 6.0, 7.0, 8.0, 9.0]), Some(true));
    drop(evaluations);
    assert_eq!(broken(&start(), &[0.0, 5.0, 6.0, 7.0, 8.0, 9.0]), Some(true), "also when it is known already");
}

/// Answers after a while: 1, and from the fourth time on -1. Speaks args and jsonl, and notes every point.
const FOURTH: &str = r#"
answer() { echo "$1" >> LOG; sleep 0.05; if [ "$(wc -l < LOG)" -ge 4 ]; then value=-1; else value=1; fi; }
if [ $# -gt 0 ]; then answer "$1"; echo "$value"; exit; fi
while read -r line; do
    id=${line#*:}; answer "$line"; echo "{\"id\": ${id%%,*}, \"value\": $value}"
done
"#;

#[test]
fn time_and_target_hold_for_each_evaluation() {
    for (protocol, workers) in [(Protocol::Args, 1), (Protocol::Args, 3), (Protocol::Jsonl, 1), (Protocol::Jsonl, 3)] {
        let place = tempfile::tempdir().expect("a folder");
        let (script, log) = (place.path().join("fourth.sh"), place.path().join("log"));
        fs::write(&script, FOURTH.replace("LOG", &log.display().to_string())).expect("a script");
        let text = format!("sh {}{}", script.display(), if protocol == Protocol::Args { " {x}" } else { "" });
        let program = Program::parse(&text, protocol).expect("a command");
        let settings = Settings { workers, ..Settings::new(program) };
        let run = |config: CboConfig| -> (RunReport<f64>, usize) {
            let config = CboConfig { particles: 20, steps: Some(3), ..config };
            let evaluations = Evaluations::start(1, &settings, None).expect("workers");
            let report = cbo::solve(&config, &evaluations, &mut ()).expect("a run");
            (report, noted(place.path()).len())
        };
        // The time is over before the first answer: every worker has one point, and no second.
        let (report, asked) = run(CboConfig { max_seconds: Some(1e-3), ..CboConfig::default() });
        assert_eq!((report.stop(), report.evaluations()), (StopReason::Seconds, asked as u64));
        assert!((1..=workers).contains(&asked), "{asked}");
        fs::remove_file(&log).expect("a log");
        // The fourth answer is the first with the target; others may have begun by then.
        let (report, asked) = run(CboConfig { target: Some(-0.5), ..CboConfig::default() });
        assert_eq!((report.stop(), report.evaluations()), (StopReason::Target, asked as u64));
        assert!(report.best().value == -1.0 && (4..4 + workers).contains(&asked), "{asked}");
    }
}

#[test]
fn what_is_finished_when_somebody_ends_the_run_counts() {
    static SEEN: AtomicUsize = AtomicUsize::new(0);
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let settings = program(folder, "echo 1");
    let config = CboConfig { particles: 20, steps: Some(3), ..CboConfig::default() };
    let evaluations = Evaluations::start(1, &settings, None).expect("workers").with_ending(|| SEEN.load(Relaxed) >= 5);
    let evaluations = evaluations.with_listener(Box::new(|at: Progress| SEEN.store(at.done, Relaxed)));
    let report: RunReport<f64> = cbo::solve(&config, &evaluations, &mut ()).expect("a run");
    // One may have begun before anybody looked.
    assert!(report.stop() == StopReason::Observer && (5..8).contains(&report.evaluations()), "{report:?}");
    assert_eq!((report.evaluations(), report.best().value), (noted(folder).len() as u64, 1.0));
}
