//! Stores of other runs, and stores, locks and folders that are taken away during a run.

use crate::common::folders::{
    Finished, Process, assert_success, begin, beginning, checkpoint, command_of, contents, evaluations, finished, line,
    minimize_program, names, python, resume, start, wait_until,
};
use crate::common::{assert_usage, path, stderr};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WORDS: &str = "--method cbo --dim 2 --bounds -5,5 --particles 6 --checkpoint-every 0";

/// A program that is minimised, in seconds of sleep.
fn program(place: &Path, sleep: &str) -> String {
    let script = place.join(format!("sleep{sleep}.sh"));
    let text = format!("sleep {sleep}\nawk 'BEGIN {{ printf \"%.17g\\n\", ARGV[1]^2 + ARGV[2]^2 }}' \"$@\"\n");
    fs::write(&script, text).expect("a file");
    format!("sh {} {{x}}", path(&script))
}

/// A run of a few steps.
fn run(place: &Path, name: &str, words: &str) -> PathBuf {
    let folder = place.join(name);
    assert_success(&begin(&minimize_program(&program(place, "0"), &format!("{WORDS} {words}")), &folder));
    folder
}

/// A run that takes long, with a few steps done.
fn long(place: &Path, name: &str) -> (Process, PathBuf) {
    let folder = place.join(name);
    let arguments = minimize_program(&program(place, "0.01"), &format!("{WORDS} --steps 100000 --seed 3"));
    let process = start(&beginning(&arguments, &folder));
    wait_until("a few steps", || checkpoint(&folder).is_some_and(|c| c.summary.step >= 3));
    (process, folder)
}

/// All files but the lock, which holds the last process that asked for it.
fn files(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    contents(folder).into_iter().filter(|(path, _)| !path.ends_with("lock")).collect()
}

fn store(folder: &Path) -> PathBuf {
    folder.join("evaluations.sqlite")
}

#[test]
fn a_store_of_another_run_is_refused_and_nothing_is_changed() {
    let place = tempfile::tempdir().expect("a folder");
    let (a, b) = (run(place.path(), "a", "--steps 4 --seed 1"), run(place.path(), "b", "--steps 4 --seed 2"));
    let own = fs::read(store(&a)).expect("a store");
    fs::copy(store(&b), store(&a)).expect("a store");
    let before = files(&a);
    for words in ["--steps +2", "--steps +2 --force"] {
        let output = resume(&a, words);
        assert_usage(
            &output,
            &[path(&store(&a)), "another run", "sleep0.sh {x}", "dim = 2", path(&b), "move this one away"],
        );
        assert_eq!(stderr(&output).lines().count(), 1);
        assert!(files(&a) == before, "a refused run must stay as it was");
    }
    fs::write(store(&a), own).expect("its own store");
    assert_eq!(finished(&resume(&a, "--steps +2"), &a).number("steps"), 6);
}

#[test]
fn a_run_without_a_checkpoint_takes_no_values_of_another_program() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = run(place.path(), "run", "--steps 4 --seed 1");
    ["checkpoint.cbo", "checkpoint.previous.cbo"]
        .iter()
        .for_each(|n| fs::remove_file(folder.join(n)).expect("removed"));
    fs::write(place.path().join("sleep0.sh"), "echo 7\n").expect("another program");
    let before = files(&folder);
    assert_usage(&resume(&folder, ""), &[path(&store(&folder)), "another program", "files of the program", "--force"]);
    assert!(files(&folder) == before, "a refused run must stay as it was");
    finished(&resume(&folder, "--force"), &folder);
    // It is now the run's own program.
    finished(&resume(&folder, "--steps +2"), &folder);
}

/// Makes a store what version 1 of the format was.
const MAKE_OLD: &str = "import sqlite3, sys\n\
                        store = sqlite3.connect(sys.argv[1])\n\
                        store.executescript('DROP TABLE belongs; PRAGMA user_version = 1')\n";

#[test]
fn a_run_of_before_is_resumed_and_its_store_is_then_its_own() {
    let Some(python) = python() else { return eprintln!("skipped: python3 is not installed") };
    let place = tempfile::tempdir().expect("a folder");
    let (a, b) = (run(place.path(), "a", "--steps 4 --seed 1"), run(place.path(), "b", "--steps 4 --seed 2"));
    for folder in [&a, &b] {
        let made = Command::new(python).args(["-c", MAKE_OLD, path(&store(folder))]).output().expect("Python");
        if !made.status.success() {
            return eprintln!("skipped: Python has no sqlite3");
        }
        for name in ["checkpoint.cbo", "checkpoint.previous.cbo"] {
            let bytes = fs::read(folder.join(name)).expect("a file");
            let mut old = cbo_runs::checkpoint::Checkpoint::from_bytes(&bytes).expect("a checkpoint");
            old.summary.run.clear();
            fs::write(folder.join(name), old.to_bytes()).expect("a file");
        }
    }
    let rows = evaluations(&a).len();
    for folder in [&a, &b] {
        finished(&resume(folder, "--steps +2"), folder);
    }
    assert!(evaluations(&a).len() > rows, "what was there stays");
    fs::copy(store(&b), store(&a)).expect("a store");
    assert_usage(&resume(&a, "--steps +2"), &["another run", path(&b)]);
}

#[test]
fn a_store_that_is_missing_is_told_of() {
    let place = tempfile::tempdir().expect("a folder");
    let (a, b) = (run(place.path(), "a", "--steps 4 --seed 1"), run(place.path(), "b", "--steps 8 --seed 1"));
    let expected = finished(&resume(&b, ""), &b);
    fs::remove_file(store(&a)).expect("removed");
    let output =
        command_of(&line(&format!("resume {} --steps 8 --json", path(&a)))).output().expect("the program starts");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("warning: ") && said.contains(path(&store(&a))) && said.contains("is missing"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(Finished::read(&a), expected);
    let log = fs::read_to_string(a.join("log.txt")).expect("a log");
    assert!(log.contains("is missing"), "{log}");
    assert_success(&resume(&a, ""));
}

#[test]
fn a_store_that_is_taken_away_ends_the_run() {
    let place = tempfile::tempdir().expect("a folder");
    let other = run(place.path(), "other", "--steps 1");
    type Harm = fn(&Path, &Path);
    let harms: [(&str, Harm, &str); 2] = [
        ("deleted", |store, _| fs::remove_file(store).expect("removed"), "was deleted or moved away during the run"),
        (
            "replaced",
            |store, other| fs::rename(other, store).expect("moved"),
            "was replaced by another file during the run",
        ),
    ];
    for (name, harm, says) in harms {
        let (process, folder) = long(place.path(), name);
        harm(&store(&folder), &store(&other));
        let output = process.end();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(path(&store(&folder))) && said.contains(says), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let step = checkpoint(&folder).expect("a checkpoint").summary.step;
        if name == "replaced" {
            assert_usage(&resume(&folder, &format!("--steps {}", step + 2)), &["another run", path(&other)]);
            fs::remove_file(store(&folder)).expect("removed");
        }
        // What is known remains.
        assert_eq!(finished(&resume(&folder, &format!("--steps {}", step + 2)), &folder).number("steps"), step + 2);
    }
}

#[test]
fn a_folder_that_is_taken_away_ends_the_run_and_another_is_not_written_to() {
    let function = "minimize rastrigin --method cbo --dim 3 --particles 100 --steps 1000000000 --checkpoint-every 0";
    for is_program in [false, true] {
        let place = tempfile::tempdir().expect("a folder");
        let (process, folder) = if is_program {
            long(place.path(), "run")
        } else {
            let folder = place.path().join("run");
            let process = start(&beginning(&line(function), &folder));
            wait_until("a few steps", || checkpoint(&folder).is_some_and(|c| c.summary.step >= 3));
            (process, folder)
        };
        let moved = place.path().join("moved");
        process.signal("STOP");
        fs::rename(&folder, &moved).expect("moved");
        fs::create_dir(&folder).expect("another folder");
        process.signal("CONT");
        let output = process.end();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.starts_with("error: ") && said.contains(path(&folder)) && said.lines().count() == 1, "{said}");
        assert!(said.contains("was replaced by another folder during the run"), "{said}");
        assert_eq!(names(&folder), [""; 0], "the other folder is not ours");
        let step = checkpoint(&moved).expect("a checkpoint").summary.step;
        assert_success(&resume(&moved, &format!("--steps {}", step + 2)));
    }
}

#[test]
fn removing_the_lock_lets_nobody_in() {
    let place = tempfile::tempdir().expect("a folder");
    let (mut holder, folder) = long(place.path(), "run");
    for _ in 0..5 {
        let _ = fs::remove_file(folder.join("lock"));
        assert_usage(&resume(&folder, ""), &["is in use"]);
    }
    wait_until("the lock is written anew", || {
        fs::read_to_string(folder.join("lock")).is_ok_and(|text| text.trim() == holder.id().to_string())
    });
    assert!(!holder.has_ended(), "the holder is still running");
    assert_eq!(stderr(&holder.kill()), "");
    let log = fs::read_to_string(folder.join("log.txt")).expect("a log");
    assert!(log.contains("the file lock was removed"), "{log}");
    let step = checkpoint(&folder).expect("a checkpoint").summary.step;
    assert_success(&resume(&folder, &format!("--steps {}", step + 2)));
}
