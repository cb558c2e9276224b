//! Training runs that are killed, interrupted, extended, changed and damaged, with the real program and real files.

#![cfg(unix)]

use crate::common::*;
use cbo_runs::checkpoint::Checkpoint;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const EPOCHS: u64 = 2;
/// Steps of an epoch: 20 data batches, 2 batches of particles.
const EPOCH: u64 = 40;

/// A run of a small network on the built-in digits, with a checkpoint at every step.
fn training(out: &Path, more: &[&str]) -> Vec<String> {
    let epochs = EPOCHS.to_string();
    let line = ["mnist", "train", "--network", "pool 4, dense 10, bn", "--particles", "20", "--kick", "0.3"];
    let output = ["--epochs", &epochs, "--checkpoint-every", "0", "--quiet", "--json", "--out", path(out)];
    let all = line.iter().chain(&output).chain(more);
    all.map(|word| (*word).to_string()).collect()
}

fn resuming(out: &Path, more: &[&str]) -> Vec<String> {
    let line = ["resume", path(out), "--quiet", "--json"];
    line.iter().chain(more).map(|word| (*word).to_string()).collect()
}

fn program(arguments: &[String]) -> Command {
    command(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn run(arguments: &[String]) -> std::process::Output {
    program(arguments).output().expect("the program starts")
}

fn start(arguments: &[String]) -> Child {
    program(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the program starts")
}

/// Everything that a run left, except times.
#[derive(Debug, PartialEq)]
struct Left {
    result: Value,
    curve: Vec<String>,
    model: Vec<u8>,
    wrong: Vec<u8>,
}

fn left(folder: &Path) -> Left {
    let read = |name: &str| fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut result: Value = serde_json::from_slice(&read("result.json")).expect("JSON");
    let fields = result.as_object_mut().expect("an object");
    for key in ["seconds", "seconds_per_epoch", "judging_seconds", "image_evaluations_per_second"] {
        fields.remove(key).expect("seconds");
    }
    for row in fields["curve"].as_array_mut().expect("a curve") {
        row.as_object_mut().expect("a row").remove("seconds").expect("seconds");
    }
    let csv = String::from_utf8(read("curve.csv")).expect("text");
    let curve = csv.lines().map(|line| line.rsplit_once(',').expect("columns").0.to_string()).collect();
    Left { result, curve, model: read("model.safetensors"), wrong: read("misclassified.csv") }
}

/// What an undisturbed run of some epochs leaves.
fn undisturbed(epochs: u64) -> &'static Left {
    static RUNS: [OnceLock<Left>; 4] = [const { OnceLock::new() }; 4];
    RUNS[epochs as usize].get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run");
        let output = run(&training(&out, &["--epochs", &epochs.to_string(), "--checkpoint-every", "30"]));
        assert!(output.status.success(), "{}", stderr(&output));
        left(&out)
    })
}

/// A folder with a run that came to its end.
fn finished() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let output = run(&training(&out, &[]));
    assert!(output.status.success(), "{}", stderr(&output));
    (folder, out)
}

fn checkpoint(out: &Path) -> Option<Checkpoint> {
    Checkpoint::from_bytes(&fs::read(out.join("checkpoint.cbo")).ok()?).ok()
}

fn step(out: &Path) -> u64 {
    checkpoint(out).map_or(0, |checkpoint| checkpoint.summary.step)
}

/// Waits until a run is past a step, or has ended.
fn wait_for(out: &Path, past: u64, child: &mut Child) {
    let begun = Instant::now();
    while step(out) <= past && child.try_wait().expect("a child").is_none() {
        assert!(begun.elapsed() < Duration::from_secs(60), "the run does not come past step {past}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to a run; returns how it ended.
fn signal(name: &str, mut child: Child) -> ExitStatus {
    let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
    child.wait().expect("an end")
}

#[test]
fn killed_at_random_moments_it_ends_as_if_undisturbed() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let mut random = 12345u64;
    let mut child = start(&training(&out, &[]));
    let mut killed_at = Vec::new();
    for _ in 0..12 {
        wait_for(&out, step(&out), &mut child);
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((random >> 33) % 30_000));
        let _ = child.kill();
        child.wait().expect("an end");
        killed_at.push(step(&out));
        child = start(&resuming(&out, &[]));
    }
    assert!(child.wait().expect("an end").success(), "killed at {killed_at:?}");
    assert!(killed_at.iter().any(|step| (1..EPOCHS * EPOCH).contains(step)), "killed at {killed_at:?}");
    assert_eq!(&left(&out), undisturbed(EPOCHS), "killed at {killed_at:?}");
}

#[test]
fn interrupted_it_goes_on_with_any_number_of_threads() {
    for (name, code, past) in [("INT", 130, 3), ("TERM", 143, 25)] {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("run");
        let mut child = start(&training(&out, &["--threads", "2"]));
        wait_for(&out, past, &mut child);
        let status = signal(name, child);
        if status.success() {
            continue; // it was faster
        }
        assert_eq!(status.code(), Some(code));
        let stop = checkpoint(&out).expect("a checkpoint").summary.stop;
        assert_eq!(stop.as_deref(), Some("interrupt"));
        let early = left(&out);
        assert_eq!(early.result["interrupted"], true);
        assert!(early.curve.last().expect("a line").contains(&format!(",{},", step(&out))), "{:?}", early.curve);
        object(&run(&resuming(&out, &["--threads", "1"])));
        assert_eq!(&left(&out), undisturbed(EPOCHS));
        let log = fs::read_to_string(out.join("log.txt")).expect("a log");
        assert!(log.contains("(interrupt)") && log.contains("resumed at step"), "{log}");
    }
}

#[test]
fn a_finished_run_gets_more_epochs_and_the_settings_say_so() {
    let (_folder, out) = finished();
    assert_eq!(&left(&out), undisturbed(EPOCHS));
    // Nothing is left to do; what is missing is written again.
    fs::remove_file(out.join("model.safetensors")).expect("removed");
    object(&run(&resuming(&out, &[])));
    assert_eq!(&left(&out), undisturbed(EPOCHS));
    object(&run(&resuming(&out, &["--epochs", "+1", "--threads", "1"])));
    assert_eq!(&left(&out), undisturbed(EPOCHS + 1));
    let config = fs::read_to_string(out.join("config.toml")).expect("settings");
    assert!(config.contains("\nepochs = 3\n") && config.contains("\nthreads = 1\n"), "{config}");
    let summary = checkpoint(&out).expect("a checkpoint").summary;
    assert_eq!((summary.kind.as_str(), summary.step, summary.dim), ("mnist", 3 * EPOCH, 500));
    assert_eq!(summary.stop.as_deref(), Some("steps"));
    assert_usage(&run(&resuming(&out, &["--epochs", "2"])), &["epochs = 2", "at least 3"]);
    assert_usage(&run(&resuming(&out, &["--epochs", "+18446744073709551615"])), &["too many"]);
    assert_usage(&run(&resuming(&out, &["--steps", "+5"])), &["--steps", "--epochs"]);
    assert_usage(&run(&resuming(&out, &["--checkpoint-every", "-1"])), &["checkpoint-every"]);
}

#[test]
fn more_epochs_of_a_resume_that_was_killed_count_once() {
    let (_folder, out) = finished();
    let files = ["checkpoint.cbo", "checkpoint.previous.cbo"].map(|name| out.join(name));
    let before = files.each_ref().map(|file| fs::read(file).expect("a checkpoint"));
    let more = || object(&run(&resuming(&out, &["--epochs", "+1"])));
    more();
    // As if it were killed just after it had written its settings.
    files.iter().zip(&before).for_each(|(file, bytes)| fs::write(file, bytes).expect("written"));
    more();
    assert_eq!(&left(&out), undisturbed(EPOCHS + 1));
    // The same before its first step was done.
    let mut unbegun = Checkpoint::from_bytes(&before[0]).expect("a checkpoint");
    (unbegun.summary.step, unbegun.state, unbegun.more) = (0, Vec::new(), [].into());
    fs::write(&files[0], unbegun.to_bytes()).expect("written");
    more();
    assert_eq!(&left(&out), undisturbed(EPOCHS + 1));
}

/// Replaces lines of the settings of a run.
fn edit(out: &Path, changes: &[(&str, &str)]) {
    let file = out.join("config.toml");
    let text = fs::read_to_string(&file).expect("settings");
    let line = |line: &str| {
        let new = changes.iter().find(|(key, _)| line.starts_with(&format!("{key} =")));
        new.map_or_else(|| line.to_string(), |(key, value)| format!("{key} = {value}")) + "\n"
    };
    fs::write(file, text.lines().map(line).collect::<String>()).expect("written");
}

#[test]
fn changed_settings_are_named_and_need_force() {
    let (_folder, out) = finished();
    let more = |force: &[&str]| run(&resuming(&out, &[&["--epochs", "3"], force].concat()));
    edit(&out, &[("lambda", "0.5"), ("dt", "0.2")]);
    assert_usage(&more(&[]), &["lambda = 0.5 (it was 1.0)", "dt = 0.2 (it was 0.1)", "config.toml", "--force"]);
    assert_eq!(step(&out), EPOCHS * EPOCH);
    // What cannot go together is refused even with force.
    edit(&out, &[("seed", "7")]);
    assert_usage(&more(&["--force"]), &["seed = 0", "seed = 7", "put it back"]);
    edit(&out, &[("seed", "0"), ("batch-data", "25")]);
    assert_usage(&more(&["--force"]), &["batch-data", "middle of a run"]);
    edit(&out, &[("batch-data", "50"), ("epochs", "\"many\"")]);
    assert_usage(&run(&resuming(&out, &[])), &["config.toml line 5", "epochs = many"]);
    edit(&out, &[("epochs", "2")]);
    object(&more(&["--force"]));
    assert_eq!(step(&out), 3 * EPOCH);
    assert_ne!(left(&out).model, undisturbed(3).model);
    // From now on, these are its settings.
    object(&run(&resuming(&out, &[])));
}

#[test]
fn other_images_are_named_and_need_force() {
    let folder = tempfile::tempdir().expect("a folder");
    let (out, data, moved) = (folder.path().join("run"), folder.path().join("data"), folder.path().join("moved"));
    fs::create_dir(&data).expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbo-problems/data");
    for name in
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"]
    {
        fs::copy(source.join(format!("{name}.gz")), data.join(format!("{name}.gz"))).expect("copied");
    }
    // A relative path, found again from another folder.
    let begun = program(&training(&out, &["--data", "data"])).current_dir(folder.path()).output().expect("a run");
    assert!(begun.status.success(), "{}", stderr(&begun));
    object(&run(&resuming(&out, &[])));
    // Images may be elsewhere, as long as they are the same.
    fs::rename(&data, &moved).expect("moved");
    assert_usage(&run(&resuming(&out, &[])), &["data", "four IDX files"]);
    edit(&out, &[("data", &format!("\"{}\"", path(&moved)))]);
    object(&run(&resuming(&out, &["--epochs", "3"])));
    let (same, expected) = (left(&out), undisturbed(3));
    assert_eq!((&same.curve, &same.wrong), (&expected.curve, &expected.wrong));
    // The test images as training images.
    for kind in ["images-idx3", "labels-idx1"] {
        fs::copy(moved.join(format!("t10k-{kind}-ubyte.gz")), moved.join(format!("train-{kind}-ubyte.gz")))
            .expect("copied");
    }
    edit(&out, &[("batch-data", "25")]);
    assert_usage(
        &run(&resuming(&out, &["--epochs", "4"])),
        &["moved holds other images", "SHA-256", "batch-data = 25"],
    );
    object(&run(&resuming(&out, &["--epochs", "4", "--force"])));
}

#[test]
fn a_damaged_checkpoint_is_stepped_over_and_a_wrong_one_refused() {
    let (_folder, out) = finished();
    let (newest, previous) = (out.join("checkpoint.cbo"), out.join("checkpoint.previous.cbo"));
    let mut bytes = fs::read(&newest).expect("a file");
    bytes[200] ^= 4;
    fs::write(&newest, bytes).expect("written");
    let output = cbo(&["resume", path(&out)]);
    assert!(output.status.success());
    assert!(stderr(&output).contains("warning: checkpoint.cbo cannot be used"), "{}", stderr(&output));
    assert_eq!(&left(&out), undisturbed(EPOCHS));

    // Whole, but not what a training run wrote.
    let whole = checkpoint(&out).expect("a checkpoint");
    let change = |to: &dyn Fn(&mut Checkpoint)| {
        let mut wrong = whole.clone();
        to(&mut wrong);
        fs::write(&newest, wrong.to_bytes()).expect("written");
        run(&resuming(&out, &["--epochs", "3"]))
    };
    let begin_again = "cbo mnist train --config";
    assert_usage(&change(&|c| drop(c.more.remove("training"))), &["no section", begin_again]);
    let findings = whole.more["training"].clone();
    for length in (0..findings.len()).step_by(7) {
        let cut = |c: &mut Checkpoint| c.more.get_mut("training").expect("a section").truncate(length);
        assert_usage(&change(&cut), &["cannot be used", begin_again]);
    }
    assert_usage(&change(&|c| c.more.get_mut("training").expect("a section")[0] = 9), &["newer program"]);
    assert_usage(&change(&|c| c.state.truncate(100)), &["state is damaged", begin_again]);
    assert_usage(&change(&|c| c.state[0] = 0), &["not the state of a run", begin_again]);
    let earlier = Checkpoint::from_bytes(&fs::read(&previous).expect("a file")).expect("a checkpoint");
    assert!(earlier.more["training"].len() < findings.len());
    assert_usage(&change(&|c| c.more.clone_from(&earlier.more)), &["middle of a run"]);
    change(&|_| ());
    assert_eq!(&left(&out), undisturbed(3));
}

/// A checkpoint that cannot be written does not end a run, but the last one must be.
#[test]
fn a_run_without_room_for_checkpoints_goes_on_and_says_so() {
    let (_folder, out) = finished();
    let previous = out.join("checkpoint.previous.cbo");
    fs::remove_file(&previous).expect("removed");
    // A folder in place of the file cannot be replaced by it.
    fs::create_dir_all(previous.join("full")).expect("a folder");
    let output = run(&["resume", path(&out), "--json", "--epochs", "3"].map(String::from));
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let said = stderr(&output);
    assert_eq!(said.matches("warning: no checkpoint at step 81").count(), 1, "{said}");
    assert_eq!(said.matches("warning").count(), 1, "{said}");
    assert!(said.contains("error: the last checkpoint is missing"), "{said}");
    assert_eq!(&left(&out), undisturbed(3));
    assert_eq!(step(&out), EPOCHS * EPOCH);
    let log = fs::read_to_string(out.join("log.txt")).expect("a log");
    assert!(log.contains("no checkpoint at step 81") && log.contains("without a checkpoint"), "{log}");
    fs::remove_dir_all(&previous).expect("removed");
    object(&run(&resuming(&out, &[])));
    assert_eq!(&left(&out), undisturbed(3));
}

#[test]
fn nothing_is_begun_with_wrong_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    for (flag, value, said) in [
        ("--checkpoint-every", "-1", "checkpoint-every = -1"),
        ("--batch-data", "1", "at least 2 images"),
        ("--particles", "7", "batch-particles = 10"),
        ("--data", "fetched", "data = fetched"),
        ("--epochs", "0", "epochs = 0"),
    ] {
        assert_usage(&run(&training(&out, &[flag, value])), &[said]);
        assert!(!out.exists(), "{flag}");
    }
}

#[test]
fn without_a_checkpoint_it_begins_again() {
    let (_folder, out) = finished();
    for name in ["checkpoint.cbo", "checkpoint.previous.cbo", "model.safetensors", "result.json"] {
        fs::remove_file(out.join(name)).expect("removed");
    }
    let output = run(&resuming(&out, &[]));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(left(&out), *undisturbed(EPOCHS));
    // Damaged ones are another matter.
    for name in ["checkpoint.cbo", "checkpoint.previous.cbo"] {
        fs::write(out.join(name), b"CBORUN\r\n").expect("written");
    }
    assert_usage(&run(&resuming(&out, &[])), &["checkpoint.cbo", "--force"]);
    let output = run(&resuming(&out, &["--force"]));
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(left(&out), *undisturbed(EPOCHS));
}
