//! Settings or programs that changed since: refused with the difference, unless they are intended.

use crate::common::folders::{Finished, assert_success, begin, finished, line, minimize_program, resume};
use crate::common::{assert_usage, path, stderr};
use std::fs;
use std::path::Path;

/// Replaces a line of config.toml.
fn set(folder: &Path, key: &str, value: &str) {
    let file = folder.join("config.toml");
    let text = fs::read_to_string(&file).expect("a file");
    let mut found = 0;
    let replaced = text.lines().map(|line| match line.strip_prefix(key) {
        Some(rest) if rest.starts_with(" = ") => {
            found += 1;
            format!("{key} = {value}\n")
        }
        _ => format!("{line}\n"),
    });
    let replaced: String = replaced.collect();
    assert_eq!(found, 1, "{key} in {text}");
    fs::write(file, replaced).expect("a file");
}

/// A run of ten steps, and what is in its folder.
fn run(place: &Path) -> (std::path::PathBuf, Finished) {
    let folder = place.join("run");
    let arguments = line("minimize rastrigin --dim 3 --particles 30 --steps 10 --seed 14");
    let run = finished(&begin(&arguments, &folder), &folder);
    (folder, run)
}

#[test]
fn a_changed_setting_is_refused_and_named() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, expected) = run(place.path());
    let config = fs::read(folder.join("config.toml")).expect("a file");
    let checkpoint = fs::read(folder.join("checkpoint.cbo")).expect("a file");
    for (key, value, difference) in [
        ("sigma", "0.5", "sigma was 3.0 and is 0.5"),
        ("objective", "'ackley'", "objective was rastrigin and is ackley"),
        ("dim", "4", "dim was 3 and is 4"),
        ("seed", "15", "seed was 14 and is 15"),
        ("particles", "31", "particles was 30 and is 31"),
        ("dt", "0.01", "dt was 0.1 and is 0.01"),
        ("precision", "'f32'", "precision was f64 and is f32"),
    ] {
        set(&folder, key, value);
        let changed = fs::read(folder.join("config.toml")).expect("a file");
        let output = resume(&folder, "--steps +5");
        assert_usage(&output, &["is no longer the same run", difference, "--force"]);
        assert_eq!(stderr(&output).lines().count(), 1);
        assert!(fs::read(folder.join("config.toml")).expect("a file") == changed, "{key}: a file was changed");
        assert!(fs::read(folder.join("checkpoint.cbo")).expect("a file") == checkpoint, "{key}: a file was changed");
        fs::write(folder.join("config.toml"), &config).expect("a file");
    }
    assert_eq!(finished(&resume(&folder, ""), &folder), expected, "changed back, it resumes");
}

#[test]
fn a_change_that_is_meant_is_made() {
    for (key, value) in [("sigma", "0.5"), ("objective", "'ackley'"), ("dt", "0.01")] {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, before) = run(place.path());
        set(&folder, key, value);
        let after = finished(&resume(&folder, "--force --steps 20"), &folder);
        assert_eq!(after.number("steps"), 20, "{key}");
        assert!(after.history.len() > before.history.len() && after.history.starts_with(&before.history), "{key}");
        // It is now the run's own setting.
        finished(&resume(&folder, "--steps +1"), &folder);
        let log = fs::read_to_string(folder.join("log.txt")).expect("a log");
        assert!(log.contains(&format!("resumed with --force: {key} was ")), "{log}");
    }
}

#[test]
fn the_best_value_of_another_objective_is_forgotten() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    // Its minimum is -1.9; that of the other is 0.
    let before = finished(&begin(&line("minimize mccormick --particles 30 --steps 20 --seed 14"), &folder), &folder);
    assert!(before.result["value"].as_f64().expect("a value") < -1.5);
    set(&folder, "objective", "'himmelblau'");
    let after = finished(&resume(&folder, "--force --steps 25"), &folder);
    let value = after.result["value"].as_f64().expect("a value");
    assert!(value >= 0.0, "{value}");
    let log = fs::read_to_string(folder.join("log.txt")).expect("a log");
    assert!(log.contains("objective was mccormick and is himmelblau; the best point so far is forgotten"), "{log}");
}

#[test]
fn a_change_that_does_not_fit_the_state_is_refused_even_so() {
    let wrong = [("dim", "4"), ("seed", "15"), ("precision", "'f32'"), ("particles", "31"), ("init", "'normal:0,1'")];
    for (key, value) in wrong {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, _) = run(place.path());
        set(&folder, key, value);
        let before = fs::read(folder.join("config.toml")).expect("a file");
        let output = resume(&folder, "--force --steps +5");
        assert_usage(&output, &[&format!("{key} was "), "which a run that has begun cannot change", "begin a new run"]);
        assert_eq!(fs::read(folder.join("config.toml")).expect("a file"), before, "{key}");
    }
}

#[test]
fn a_changed_program_is_refused_and_named() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, script) = (place.path().join("run"), place.path().join("oneshot.sh"));
    let sphere = "awk 'BEGIN { print ARGV[1]^2 + ARGV[2]^2 }' \"$@\"\n";
    fs::write(&script, sphere).expect("a file");
    let words = "--dim 2 --bounds -5,5 --particles 5 --steps 4 --seed 16";
    let command = format!("sh {} {{x}}", path(&script));
    let expected = finished(&begin(&minimize_program(&command, words), &folder), &folder);

    fs::write(&script, format!("{sphere}# another version\n")).expect("a file");
    let output = resume(&folder, "--steps +2");
    assert_usage(&output, &["the contents of", path(&script), "have changed", "--force"]);
    fs::write(&script, sphere).expect("a file");
    assert_eq!(finished(&resume(&folder, ""), &folder), expected);

    fs::copy(&script, place.path().join("other.sh")).expect("a file");
    set(&folder, "command", &format!("'sh {} {{x}}'", path(&place.path().join("other.sh"))));
    let output = resume(&folder, "--steps +2");
    assert_usage(&output, &["command was sh ", "other.sh", "--force"]);
    let run = finished(&resume(&folder, "--steps +2 --force"), &folder);
    assert_eq!((run.number("steps"), run.number("failed_evaluations")), (6, 0));
}

#[test]
fn a_file_that_the_program_writes_is_no_part_of_it() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, log) = (place.path().join("run"), place.path().join("log"));
    let script = "echo called >> \"$1\"; shift; awk 'BEGIN { print ARGV[1]^2 }' \"$@\"";
    let command = format!("sh -c '{}' sh {} {{x}}", script.replace('\'', "'\\''"), path(&log));
    let words = "--dim 1 --bounds -5,5 --particles 3 --steps 2 --seed 17";
    assert_success(&begin(&minimize_program(&command, words), &folder));
    for _ in 0..2 {
        assert_success(&resume(&folder, "--steps +1"));
    }
    // Three particles in five steps, and consensus points: the log has changed each time.
    assert!(fs::read_to_string(log).expect("a log").lines().count() >= 10);
}

#[test]
fn a_setting_that_was_not_there_is_a_change() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, _) = run(place.path());
    let file = folder.join("config.toml");
    let config = fs::read_to_string(&file).expect("a file");
    fs::write(&file, format!("{config}shift = 3\n")).expect("a file");
    assert_usage(&resume(&folder, "--steps +5"), &["shift was not given and is 3", "--force"]);
}

#[test]
fn a_limit_below_what_is_done_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, expected) = run(place.path());
    assert_usage(&resume(&folder, "--steps 5"), &["steps = 5", "steps = 5: 10 are done already"]);
    assert_usage(&resume(&folder, "--time 0.5"), &["time = 0.5", "time = 0.5: 1 are done already"]);
    assert_usage(
        &resume(&folder, "--max-evaluations 3"),
        &["max-evaluations = 3", "max-evaluations = 3: 330 are done already"],
    );
    assert_eq!(finished(&resume(&folder, "--steps +0"), &folder), expected);
}

#[test]
fn a_program_that_changed_before_its_first_step_was_done_is_refused() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, script) = (place.path().join("run"), place.path().join("broken.sh"));
    fs::write(&script, "exit 3\n").expect("a file");
    let words = "--dim 1 --bounds -5,5 --particles 6 --steps 2 --seed 18";
    let output = begin(&minimize_program(&format!("sh {} {{x}}", path(&script)), words), &folder);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("6 of 6") && stderr(&output).contains("--retry-failed"), "{}", stderr(&output));
    fs::write(&script, "echo 1\n").expect("a file");
    assert_usage(&resume(&folder, "--retry-failed"), &["the contents of", path(&script), "have changed"]);
    // What failed has failed, unless it is to be tried again.
    assert_eq!(resume(&folder, "--force").status.code(), Some(1));
    let run = finished(&resume(&folder, "--force --retry-failed"), &folder);
    assert_eq!((run.number("steps"), run.number("failed_evaluations")), (2, 0));
    fs::remove_file(&script).expect("removed");
    assert_usage(&resume(&folder, "--steps +1"), &[path(&script), "is not found"]);
}

#[test]
fn a_folder_with_some_other_config_is_no_run() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("site");
    fs::create_dir(&folder).expect("a folder");
    fs::write(folder.join("config.toml"), "title = 'mine'\n").expect("a file");
    fs::write(folder.join(".notes.tmp"), "mine").expect("a file");
    let arguments = [line("minimize sphere --dim 2 --steps 2"), vec!["--force".into()]].concat();
    assert_usage(&begin(&arguments, &folder), &["is not a run folder"]);
    assert_usage(&resume(&folder, ""), &["is not a run folder"]);
    let mut names: Vec<_> =
        fs::read_dir(&folder).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    names.sort();
    assert_eq!(names, [".notes.tmp", "config.toml"]);
}

#[test]
fn limits_and_speed_may_change_freely() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, _) = run(place.path());
    set(&folder, "steps", "12");
    set(&folder, "threads", "3");
    assert_success(&resume(&folder, ""));
    assert_eq!(Finished::read(&folder).number("steps"), 12);
}
