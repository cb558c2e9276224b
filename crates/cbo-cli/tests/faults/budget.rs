//! A run that is given more after its end is the run that had more from the start.

use crate::common::folders::{Finished, begin, checkpoint, finished, line, resume};
use cbo_runs::checkpoint::{Checkpoint, Summary};
use std::fs;

/// Begins a run with a small budget, extends it, and compares it with a run that had the large one from the start.
#[track_caller]
fn assert_same(words: &str, small: &str, large: &str, extensions: &[&str]) {
    let place = tempfile::tempdir().expect("a folder");
    let (long, short) = (place.path().join("long"), place.path().join("short"));
    let expected = finished(&begin(&line(&format!("{words} {large}")), &long), &long);
    finished(&begin(&line(&format!("{words} {small}")), &short), &short);
    let mut run = None;
    for words in extensions {
        run = Some(finished(&resume(&short, words), &short));
    }
    let run = run.expect("an extension");
    assert_eq!(run.result, expected.result);
    assert_eq!(run.config, expected.config);
    assert!(run.history == expected.history, "another history");
    let picture = |folder: &std::path::Path| fs::read(folder.join("energy.svg")).expect("a picture");
    assert!(picture(&short) == picture(&long), "another picture");
}

#[test]
fn more_steps() {
    let words = "minimize rastrigin --dim 2 --particles 60 --seed 3";
    assert_same(words, "--steps 25", "--steps 60", &["--steps +15 --threads 1", "--steps 60 --threads 3"]);
}

#[test]
fn more_steps_in_single_precision() {
    let words = "minimize ackley --dim 5 --particles 64 --seed 4 --precision f32 --diffusion isotropic --sigma 0.5";
    assert_same(words, "--steps 20", "--steps 50", &["--steps +30 --threads 4"]);
}

#[test]
fn more_evaluations_in_batches_with_kicks() {
    let words = "minimize rastrigin --dim 3 --particles 60 --batch 20 --update partial --kick 0.5 --steps off --seed 5";
    let small = "--max-evaluations 1500";
    // `--evaluations` is what the flag was called before.
    let more = ["--max-evaluations 2000", "--evaluations +1700 --threads 2"];
    assert_same(words, small, "--max-evaluations 3700", &more);
}

#[test]
fn more_time_with_an_adaptive_alpha() {
    let words = "minimize griewank --dim 4 --particles 50 --dt 0.05 --alpha ess:0.2 --seed 6";
    assert_same(words, "--time 1", "--time 2.5", &["--time +0.5 --threads 2", "--time 2.5 --threads 1"]);
}

#[test]
fn more_steps_with_fewer_particles_and_epochs() {
    let words = "minimize rastrigin --dim 3 --particles 400 --reduction 0.6,0.1 --epoch-steps 5 --alpha inf --seed 7";
    assert_same(words, "--steps 20", "--steps 45", &["--steps +1", "--steps +1", "--steps 45 --threads 4"]);
}

#[test]
fn a_run_repeated_from_its_settings_is_the_same() {
    let place = tempfile::tempdir().expect("a folder");
    let (first, second) = (place.path().join("first"), place.path().join("second"));
    let words = "minimize levy --dim 3 --particles 40 --steps 30 --init normal:1,2 --shift random --rotate 3 --seed 8";
    let expected = finished(&begin(&line(words), &first), &first);
    let config = format!("minimize --config {}", crate::common::path(&first.join("config.toml")));
    assert_eq!(finished(&begin(&line(&config), &second), &second), expected);
}

/// Resumes a run as if it were killed just after it had written its settings, and then again.
#[track_caller]
fn assert_counted_once(run: &str, more: &str) -> Finished {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let before = finished(&begin(&line(run), &folder), &folder);
    let checkpoints = ["checkpoint.cbo", "checkpoint.previous.cbo"].map(|name| folder.join(name));
    let bytes = checkpoints.each_ref().map(|file| fs::read(file).expect("a checkpoint"));
    let after = finished(&resume(&folder, more), &folder);
    assert_ne!(after.config, before.config, "the new limit is among the settings");
    checkpoints.iter().zip(&bytes).for_each(|(file, bytes)| fs::write(file, bytes).expect("a file"));
    finished(&resume(&folder, more), &folder)
}

#[test]
fn more_that_was_given_to_a_resume_that_was_killed_counts_once() {
    let run = "minimize rastrigin --method cbo --dim 2 --particles 20 --seed 3";
    assert_eq!(assert_counted_once(&format!("{run} --steps 10"), "--steps +5").number("steps"), 15);
    assert_eq!(assert_counted_once(&format!("{run} --time 1"), "--time +0.5").number("steps"), 15);
    assert_eq!(assert_counted_once(&format!("{run} --time 1"), "--steps +5").number("steps"), 15);
    let budget = format!("{run} --steps off --max-evaluations 211");
    let run = assert_counted_once(&budget, "--max-evaluations +100");
    assert!(run.config.contains("max-evaluations = 311"), "{}", run.config);
    let seconds = "minimize rastrigin --method cbo --dim 2 --particles 20 --seed 3 --steps 10 --max-seconds 1000";
    let run = assert_counted_once(seconds, "--max-seconds +50");
    assert!(run.config.contains("max-seconds = 1050"), "{}", run.config);
}

#[test]
fn more_counts_once_before_the_first_checkpoint_too() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let words = "minimize rastrigin --method cbo --dim 2 --particles 20 --seed 3 --steps 10";
    finished(&begin(&line(words), &folder), &folder);
    for name in ["checkpoint.cbo", "checkpoint.previous.cbo"] {
        fs::remove_file(folder.join(name)).expect("removed");
    }
    assert_eq!(finished(&resume(&folder, "--steps +5"), &folder).number("steps"), 15);
    // As if it were killed before its first step was done: what it wrote first is what the run was, without a state.
    let Summary { kind, cbo, objective, dim, mut settings, .. } = checkpoint(&folder).expect("a checkpoint").summary;
    settings.insert("steps".into(), "10".into());
    let summary = Summary { kind, cbo, objective, dim, settings, ..Summary::default() };
    let unbegun = Checkpoint { summary, ..Checkpoint::default() };
    fs::write(folder.join("checkpoint.cbo"), unbegun.to_bytes()).expect("a file");
    assert_eq!(finished(&resume(&folder, "--steps +5"), &folder).number("steps"), 15);
}
