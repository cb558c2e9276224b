//! What persistent workers do wrong, and what comes of it.

use std::fs;
use std::time::Duration;

use cbo_runs::external::{Attempt, Outcome, Protocol, Settings, Workers};

use super::support::{
    bash_worker, evaluate, evaluate_with, is_there, jobs, number_in, of, quoted, runs, settings, soon, values,
};

/// Twenty points with two workers. The worker runs `fault` the first time it gets the point 5; otherwise it answers.
/// Every point must get its value. Returns the attempts of the point 5, and the others.
fn with_a_fault(fault: &str) -> (Vec<Attempt>, Vec<Attempt>) {
    let worker = bash_worker(&format!("if [[ $x == 5.0 ]] && once; then {fault}\n fi; answer \"$x\""));
    // Long enough for a busy machine; only what hangs waits for it.
    let settings =
        Settings { workers: 2, retries: 1, timeout: Some(Duration::from_secs(4)), ..worker.settings.clone() };
    let attempts = evaluate_with(&settings, &jobs(20));
    let expected: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(values(&attempts, 20), expected, "{fault}: {attempts:?}");
    attempts.into_iter().partition(|a| a.job == 5)
}

/// The attempts of the point 5, where no other point may need a second one.
fn first_attempt_fails(fault: &str) -> Vec<Attempt> {
    let (fifth, others) = with_a_fault(fault);
    assert!(others.len() == 19 && others.iter().all(|a| a.attempt == 1), "{fault}: {others:?}");
    fifth
}

fn outcomes(attempts: &[Attempt]) -> Vec<(u32, Outcome)> {
    attempts.iter().map(|a| (a.attempt, a.outcome.clone())).collect()
}

/// The first attempt has this outcome, the second the value.
#[track_caller]
fn fails_with(fault: &str, outcome: Outcome) {
    let attempts = first_attempt_fails(fault);
    assert_eq!(outcomes(&attempts), [(1, outcome), (2, Outcome::Value(5.0))], "{fault}");
}

#[test]
fn a_worker_is_killed() {
    fails_with("kill -9 $$", Outcome::Died("signal 9".into()));
    fails_with("printf '{\"id\":%s,\"val' \"$id\"; kill -9 $$", Outcome::Died("signal 9".into()));
}

#[test]
fn a_worker_is_killed_by_someone_else() {
    let worker =
        bash_worker("if [[ $x == 5.0 ]] && once; then echo $$ > \"$folder/pid\"; sleep 1000; fi; answer \"$x\"");
    let settings = Settings { retries: 1, ..worker.settings.clone() };
    let file = worker.folder.path().join("pid");
    let killer = std::thread::spawn(move || {
        let pid = number_in(&file).to_string();
        assert!(std::process::Command::new("kill").args(["-9", &pid]).status().expect("kill starts").success());
    });
    let attempts = evaluate_with(&settings, &jobs(10));
    killer.join().expect("the killer");
    assert_eq!(of(&attempts, 5), [(1, Outcome::Died("signal 9".into())), (2, Outcome::Value(5.0))]);
    assert_eq!(attempts.len(), 11);
}

#[test]
fn a_worker_ends_without_an_answer() {
    fails_with("exit 3", Outcome::Died("exit code 3".into()));
    fails_with("exit 0", Outcome::Died("exit code 0 without an answer".into()));
}

#[test]
fn a_worker_hangs() {
    let attempts = first_attempt_fails("echo thinking >&2; sleep 1000");
    assert_eq!(outcomes(&attempts), [(1, Outcome::Timeout), (2, Outcome::Value(5.0))]);
    assert_eq!(attempts[0].stderr, "thinking\n");
    assert!((4.0..20.0).contains(&attempts[0].seconds), "{attempts:?}");
}

#[test]
fn a_worker_does_not_read() {
    // More than fits in a pipe, so that the request cannot even be written.
    let worker = bash_worker("answer 1");
    let mut all = jobs(2);
    all[1].x = vec![0.1; 100_000];
    let command = format!("bash -c 'read -r -n 1; sleep 1000' {}", quoted(worker.folder.path()));
    let settings = Settings { timeout: Some(Duration::from_millis(300)), ..settings(&command, Protocol::Jsonl) };
    let attempts = evaluate_with(&settings, &all);
    assert!(attempts.len() == 2 && attempts.iter().all(|a| a.outcome == Outcome::Timeout), "{attempts:?}");
    assert_eq!(evaluate_with(&worker.settings, &all).len(), 2);
}

#[test]
fn a_worker_prints_garbage() {
    fails_with("echo hello", Outcome::Garbage("not a JSON object: hello".into()));
    fails_with("echo '{\"value\":1}'", Outcome::Garbage("no \"id\": {\"value\":1}".into()));
    fails_with("id=9999; answer 1", Outcome::Garbage("an answer to the point 9999, which was not asked for".into()));
    let endless = &outcomes(&first_attempt_fails("head -c 3000000 /dev/zero | tr '\\0' x"))[0].1;
    assert!(matches!(endless, Outcome::Garbage(text) if text.starts_with("a line without end: xxx")), "{endless:?}");
    let zeros = &outcomes(&first_attempt_fails("head -c 1000 /dev/zero; echo"))[0].1;
    assert!(matches!(zeros, Outcome::Garbage(text) if text.len() < 250), "{zeros:?}");
}

#[test]
fn a_worker_closes_its_pipes() {
    fails_with("exec <&-; sleep 1000", Outcome::Died("it closed its stdin".into()));
    fails_with("exec >&-; sleep 1000", Outcome::Died("it closed its stdout".into()));
    // It may have been handed another point with this one, which then needs a second attempt.
    let (closed, others) = with_a_fault("exec <&-; answer 5; sleep 1000");
    assert_eq!(outcomes(&closed), [(1, Outcome::Value(5.0))], "what it said before counts");
    assert!(others.iter().filter(|a| a.attempt == 2).count() <= 1, "{others:?}");
    let closed = first_attempt_fails("exec 2>&-");
    assert_eq!(outcomes(&closed), [(1, Outcome::Value(5.0))], "nobody needs stderr");
}

#[test]
fn a_worker_says_that_there_is_no_value() {
    for (says, words) in [
        ("answer NaN", "the value is NaN"),
        ("answer null", "the value is null"),
        ("answer -Infinity", "the value is -inf"),
        ("printf '{\"id\":%s,\"error\":\"no mesh\"}\\n' \"$id\"", "no mesh"),
    ] {
        let worker = bash_worker(&format!("if [[ $x == 5.0 ]]; then {says}; else answer \"$x\"; fi"));
        let attempts = evaluate_with(&Settings { retries: 3, ..worker.settings }, &jobs(8));
        assert_eq!(of(&attempts, 5), [(1, Outcome::NoValue(words.into()))]);
        assert_eq!(attempts.len(), 8);
    }
    let worker = bash_worker("answer 1e400");
    let attempts = evaluate_with(&worker.settings, &jobs(1));
    assert_eq!((attempts[0].outcome.status(), attempts[0].outcome.value()), ("infeasible", f64::INFINITY));
}

#[test]
fn a_worker_answers_twice() {
    let worker = bash_worker("answer \"$x\"; answer 77; echo");
    let attempts = evaluate_with(&worker.settings, &jobs(50));
    assert_eq!(attempts.len(), 50);
    assert_eq!(values(&attempts, 50), (0..50).map(f64::from).collect::<Vec<_>>());
    let notes: Vec<&Attempt> = attempts.iter().filter(|a| a.stderr.contains("was answered twice")).collect();
    assert_eq!(notes.len(), 1, "{notes:?}");
}

#[test]
fn a_worker_answers_out_of_order() {
    if !is_there("python3") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("worker.py");
    let text = "import json, os, sys\n\
        while data := os.read(0, 1 << 16):\n    \
            while not data.endswith(b'\\n'):\n        data += os.read(0, 1 << 16)\n    \
            requests = [json.loads(line) for line in data.splitlines()]\n    \
            if len(requests) > 1:\n        os.write(2, b'reversed\\n')\n    \
            answers = [json.dumps({'value': r['x'][0], 'id': r['id']}) + '\\n' for r in requests[::-1]]\n    \
            os.write(1, ''.join(answers).encode())\n";
    fs::write(&file, text).expect("a file is written");
    let settings = Settings { workers: 2, ..settings(&format!("python3 {}", quoted(&file)), Protocol::Jsonl) };
    let attempts = evaluate_with(&settings, &jobs(5000));
    assert_eq!(attempts.len(), 5000);
    assert_eq!(values(&attempts, 5000), (0..5000).map(f64::from).collect::<Vec<_>>());
    assert!(attempts.iter().any(|a| a.stderr.contains("reversed")), "there was never more than one point in flight");
}

#[test]
fn points_behind_one_that_kills_the_worker_cost_nothing() {
    let worker =
        bash_worker("[[ $x == ?50.0 ]] && ! [[ -e $folder/$x ]] && : > \"$folder/$x\" && exit 1; answer \"$x\"");
    let settings = Settings { workers: 2, retries: 1, ..worker.settings };
    let attempts = evaluate_with(&settings, &jobs(1000));
    assert_eq!(values(&attempts, 1000), (0..1000).map(f64::from).collect::<Vec<_>>());
    let failed: Vec<usize> = attempts.iter().filter(|a| a.outcome.may_be_retried()).map(|a| a.job).collect();
    assert!(failed.len() == 9 && failed.iter().all(|job| job % 100 == 50), "{failed:?}");
}

#[test]
fn a_worker_floods_stderr() {
    let attempts =
        first_attempt_fails("head -c 100000000 /dev/zero | tr '\\0' y >&2; echo end >&2; answer 5; continue");
    assert_eq!(outcomes(&attempts), [(1, Outcome::Value(5.0))]);
    let stderr = &attempts[0].stderr;
    assert!(stderr.len() == 2000 && stderr.starts_with("yyy") && stderr.ends_with("yend\n"), "{stderr}");
}

#[test]
fn a_worker_ends_while_it_has_nothing_to_do() {
    let worker =
        bash_worker("answer $$; [[ -e $folder/go ]] || { echo $$ > \"$folder/pid\"; : > \"$folder/go\"; exit 4; }");
    let mut workers = Workers::start(&worker.settings).expect("a worker");
    let first = evaluate(&mut workers, &jobs(1));
    let pid = number_in(&worker.folder.path().join("pid"));
    soon("the worker has ended", || !runs(pid));
    let second = evaluate(&mut workers, &jobs(1));
    assert!(second.len() == 1 && second[0].outcome.status() == "ok", "{second:?}");
    assert_ne!(first[0].outcome, second[0].outcome, "another process");
}

#[test]
fn a_program_vanishes() {
    let folder = tempfile::tempdir().expect("a folder");
    let link = folder.path().join("program");
    let pid = folder.path().join("pid");
    for protocol in [Protocol::Json, Protocol::Jsonl] {
        std::os::unix::fs::symlink("/bin/sh", &link).expect("a link");
        // Persistent ones end after their answer, so that they must be started again.
        let answer = if protocol == Protocol::Jsonl { "read line; echo '{\"id\":1,\"value\":1}'" } else { "echo 1" };
        let script = format!("echo $$ > {}; {answer}", quoted(&pid));
        let command = format!("{} -c {}", quoted(&link), shlex::try_quote(&script).expect("no zero bytes"));
        let mut workers = Workers::start(&Settings { retries: 1, ..settings(&command, protocol) }).expect("a worker");
        assert_eq!(evaluate(&mut workers, &jobs(1))[0].outcome, Outcome::Value(1.0), "{protocol}");
        let process = number_in(&pid);
        soon("the process has ended", || !runs(process));
        fs::remove_file(&link).expect("it was there");
        let attempts = evaluate(&mut workers, &jobs(5));
        assert_eq!(attempts.len(), 10, "{protocol}: {attempts:?}");
        for attempt in attempts {
            let Outcome::NotStarted(why) = &attempt.outcome else { panic!("{protocol}: {attempt:?}") };
            assert!(why.contains("/program: ") && why.contains("No such file"), "{why}");
        }
    }
}
