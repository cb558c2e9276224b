//! What programs do wrong that are started for each evaluation.

use std::time::Duration;

use cbo_runs::external::{Outcome, Protocol, Settings};

use super::support::{evaluate_with, jobs, settings};

/// What becomes of one point when the shell runs this; the point is its first argument.
fn outcome(script: &str) -> Outcome {
    let command = format!("bash -c {} name {{x}}", shlex::try_quote(script).expect("no zero bytes"));
    let settings = Settings { timeout: Some(Duration::from_secs(20)), ..settings(&command, Protocol::Args) };
    let mut attempts = evaluate_with(&settings, &jobs(1));
    assert_eq!(attempts.len(), 1);
    attempts.remove(0).outcome
}

#[test]
fn the_last_line_is_the_value() {
    for (script, value) in [
        ("echo 1.5", 1.5),
        ("printf 2.5", 2.5),
        ("printf 'hello\\n 3.5 \\r\\n\\n  \\n'", 3.5),
        ("echo \"$1\"", 0.0),
        ("echo 1; echo 2 >&2; echo -Inf; echo 1E-3", 1e-3),
        ("head -c 100000000 /dev/zero | tr '\\0' '\\n'; echo 4", 4.0),
        ("head -c 10000000 /dev/zero >&2; echo 5", 5.0),
        ("echo inf", f64::INFINITY),
    ] {
        assert_eq!(outcome(script), Outcome::Value(value), "{script}");
    }
    assert_eq!(outcome("echo nan"), Outcome::NoValue("the value is NaN".into()));
}

#[test]
fn faults_are_told_apart() {
    for (script, expected) in [
        ("echo 1; exit 3", Outcome::Died("exit code 3".into())),
        ("echo 1; kill -9 $$", Outcome::Died("signal 9".into())),
        ("kill -SEGV $$", Outcome::Died("signal 11".into())),
        ("true", Outcome::Died("exit code 0 without an answer".into())),
        ("exec >&-", Outcome::Died("exit code 0 without an answer".into())),
        ("echo 1; echo two", Outcome::Garbage("two".into())),
        ("echo 1,5", Outcome::Garbage("1,5".into())),
    ] {
        assert_eq!(outcome(script), expected, "{script}");
    }
    let endless = outcome(
        "while :; do printf xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done",
    );
    assert!(matches!(&endless, Outcome::Garbage(text) if text.starts_with("xxx") && text.len() < 250), "{endless:?}");
}

#[test]
fn the_time_is_limited() {
    let command = "bash -c 'echo before >&2; sleep 1000; echo $1' name {x}";
    let limited = Settings { timeout: Some(Duration::from_secs(2)), retries: 1, ..settings(command, Protocol::Args) };
    let attempts = evaluate_with(&limited, &jobs(1));
    assert_eq!(attempts.len(), 2);
    for attempt in attempts {
        assert_eq!((attempt.outcome, attempt.stderr.as_str()), (Outcome::Timeout, "before\n"));
        assert!((2.0..20.0).contains(&attempt.seconds), "{}", attempt.seconds);
    }
}

#[test]
fn a_child_that_holds_the_pipes_does_not_hold_up() {
    assert_eq!(outcome("sleep 1000 & echo 1"), Outcome::Value(1.0));
    assert_eq!(outcome("yes & echo 1; sleep 0.1; exit 2"), Outcome::Died("exit code 2".into()));
}

#[test]
fn a_point_that_is_not_read_does_not_matter() {
    let mut all = jobs(4);
    all.iter_mut().for_each(|job| job.x = vec![0.1; 100_000]);
    let attempts = evaluate_with(&settings("bash -c 'exec <&-; echo 1'", Protocol::Json), &all);
    assert!(attempts.len() == 4 && attempts.iter().all(|a| a.outcome == Outcome::Value(1.0)), "{attempts:?}");
    let attempts = evaluate_with(&settings("bash -c 'echo 1'", Protocol::Json), &all);
    assert!(attempts.iter().all(|a| a.outcome == Outcome::Value(1.0)), "{attempts:?}");
    let attempts = evaluate_with(&settings("bash -c 'wc -c'", Protocol::Json), &all);
    assert!(attempts.iter().all(|a| a.outcome == Outcome::Value(400_002.0)), "{attempts:?}");
}

#[test]
fn what_cannot_be_started_is_explained() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let file = folder.path().join(name);
        std::fs::write(&file, text).expect("a file is written");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).expect("a mode is set");
        let attempts = evaluate_with(
            &Settings { retries: 3, ..settings(&super::support::quoted(&file), Protocol::Json) },
            &jobs(1),
        );
        attempts.last().expect("an attempt").outcome.clone()
    };
    let outcome = script("no-interpreter", "#!no/such/shell\necho 1\n");
    let says = "the interpreter that its first line names";
    assert!(matches!(&outcome, Outcome::NotStarted(why) if why.contains(says)), "{outcome:?}");
    let mut all = jobs(1);
    all[0].x = vec![0.1; 1_000_000];
    let attempts = evaluate_with(&settings("true {x}", Protocol::Args), &all);
    let outcome = &attempts[0].outcome;
    assert!(matches!(outcome, Outcome::NotStarted(why) if why.contains("use protocol json")), "{outcome:?}");
}
