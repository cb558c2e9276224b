//! Damaged checkpoints: the previous one is used, or the run is refused; never a wrong result.

use crate::common::folders::{
    Finished, assert_success, begin, beginning, command_of, contents, finished, line, minimize_program, python_worker,
    resume, resuming,
};
use crate::common::{assert_usage, command, path, stderr};
use cbo_runs::checkpoint::Checkpoint;
use std::fs;
use std::path::Path;

const CHECKPOINT: &str = "checkpoint.cbo";
const PREVIOUS: &str = "checkpoint.previous.cbo";
const RUN: &str = "minimize rastrigin --dim 3 --particles 30 --steps 40 --seed 12 --checkpoint-every 0";

fn change(file: &Path, how: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).expect("a file");
    how(&mut bytes);
    fs::write(file, bytes).expect("a file");
}

fn forget_result(folder: &Path) {
    ["result.json", "history.csv"].iter().for_each(|name| fs::remove_file(folder.join(name)).expect("removed"));
}

#[test]
fn the_checkpoint_before_is_taken_with_a_warning() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let expected = finished(&begin(&line(RUN), &folder), &folder);
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 8] = [
        ("empty", |bytes| bytes.clear()),
        ("the first byte", |bytes| bytes.truncate(1)),
        ("the head", |bytes| bytes.truncate(16)),
        ("half", |bytes| bytes.truncate(bytes.len() / 2)),
        ("all but the last byte", |bytes| bytes.truncate(bytes.len() - 1)),
        ("a bit at the begin", |bytes| bytes[3] ^= 1),
        ("a bit in the middle", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 16;
        }),
        ("a byte too many", |bytes| bytes.push(0)),
    ];
    for (what, damage) in damages {
        change(&folder.join(CHECKPOINT), damage);
        let damaged = fs::read(folder.join(CHECKPOINT)).expect("a file");
        forget_result(&folder);
        let output =
            command(&["resume", path(&folder), "--checkpoint-every", "0"]).output().expect("the program starts");
        let warning = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{what}: {warning}");
        assert!(warning.starts_with("warning: checkpoint.cbo cannot be used: "), "{what}: {warning}");
        assert!(
            warning.contains("resuming from the one before it") && warning.lines().count() == 1,
            "{what}: {warning}"
        );
        assert_eq!(Finished::read(&folder), expected, "{what}");
        let kept = fs::read(folder.join("checkpoint.damaged.cbo")).expect("the damaged one is kept");
        assert!(kept == damaged, "{what}");
        // And the folder is whole again.
        assert_success(&resume(&folder, ""));
        assert_eq!(Finished::read(&folder), expected, "{what}");
    }
}

#[test]
fn without_a_checkpoint_that_can_be_read_the_run_is_refused_and_begun_again_with_force() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let expected = finished(&begin(&line(RUN), &folder), &folder);
    change(&folder.join(CHECKPOINT), |bytes| bytes[100] ^= 1);
    change(&folder.join(PREVIOUS), |bytes| bytes.truncate(50));
    let before = contents(&folder);
    let output = resume(&folder, "");
    assert_usage(&output, &[CHECKPOINT, PREVIOUS, "checksum", "begin again", "--force"]);
    assert_eq!(stderr(&output).lines().count(), 1);
    assert!(without_lock(contents(&folder)) == without_lock(before), "a refused run must stay as it was");
    assert_success(&resume(&folder, "--force"));
    assert_eq!(Finished::read(&folder), expected);
}

/// The lock holds the last process that asked for it.
fn without_lock(contents: Vec<(std::path::PathBuf, Vec<u8>)>) -> Vec<(std::path::PathBuf, Vec<u8>)> {
    contents.into_iter().filter(|(path, _)| !path.ends_with("lock")).collect()
}

#[test]
fn a_run_that_is_begun_again_repeats_no_evaluation() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", "return sphere(x)") else { return };
    let words = "--protocol jsonl --workers 2 --dim 2 --bounds -5,5 --particles 10 --steps 8 --seed 13";
    let (folder, log) = (place.path().join("run"), place.path().join("log"));
    let arguments = minimize_program(&worker, words);
    let output = command_of(&beginning(&arguments, &folder)).env("LOG", &log).output().expect("the program starts");
    let expected = finished(&output, &folder);
    let answers = || fs::read_to_string(&log).map_or(0, |text| text.lines().count());
    assert!(answers() >= 80);
    fs::remove_file(&log).expect("removed");
    [CHECKPOINT, PREVIOUS].iter().for_each(|name| change(&folder.join(name), |bytes| bytes.truncate(30)));
    forget_result(&folder);
    assert_usage(&resume(&folder, ""), &["begin again", "--force"]);
    let output = command_of(&resuming(&folder, "--force")).env("LOG", &log).output().expect("the program starts");
    assert_success(&output);
    assert_eq!(Finished::read(&folder), expected);
    assert_eq!(answers(), 0, "points that the store has were evaluated again");
}

#[test]
fn a_checkpoint_of_a_newer_version_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    finished(&begin(&line(RUN), &folder), &folder);
    change(&folder.join(CHECKPOINT), |bytes| bytes[8] = 7);
    let before = fs::read(folder.join(CHECKPOINT)).expect("a file");
    let output = resume(&folder, "");
    assert_usage(&output, &[CHECKPOINT, "version 7", "newer cbo"]);
    assert!(fs::read(folder.join(CHECKPOINT)).expect("a file") == before);
}

#[test]
fn a_run_of_cbo_0_1_is_refused_with_a_sentence() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    finished(&begin(&line(RUN), &folder), &folder);
    change(&folder.join(CHECKPOINT), |bytes| {
        let mut old = Checkpoint::from_bytes(bytes).expect("a checkpoint");
        old.summary.settings.remove("method").expect("a setting that 0.1 did not have");
        old.state[8] = 1;
        *bytes = old.to_bytes();
    });
    let before = fs::read(folder.join(CHECKPOINT)).expect("a file");
    for words in ["--steps +5", "--steps +5 --force"] {
        assert_usage(&resume(&folder, words), &["written by cbo 0.1", "start it again"]);
        assert!(fs::read(folder.join(CHECKPOINT)).expect("a file") == before);
    }
}
