//! A run that is given more after its end is the run that had more from the start.

use crate::common::folders::{begin, finished, line, resume};
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
