//! Experiments of the method's authors: files, numbers, pictures, refusals.

use crate::common::{assert_usage, cbo, object, path, read_png, stdout};
use std::fs;

#[test]
fn an_experiment_leaves_four_files_and_prints_its_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("experiments");
    let run = |threads: &str| {
        let json = cbo(&["experiment", "canyon", "--quick", "--json", "--threads", threads, "--out", path(&out)]);
        (object(&json), fs::read(out.join("canyon.csv")).expect("CSV"))
    };
    let ((found, csv), (again, same)) = (run("1"), run("3"));
    assert_eq!((&found["distances"], &csv), (&again["distances"], &same), "any number of threads");
    assert_eq!((found["experiment"].as_str(), found["distances"].as_array().map(Vec::len)), (Some("canyon"), Some(10)));
    let (width, height, colours) = read_png(&out.join("canyon.png"));
    assert!(width > 1000 && height > 1000 && colours.len() > 100);
    let text = stdout(&cbo(&["experiment", "canyon", "--quick", "--seed", "5", "--out", path(&out)]));
    assert!(text.contains("gradient descent ends at (") && text.contains("canyon.png"), "{text}");
}

#[test]
fn cells_of_the_phase_diagram_can_be_chosen() {
    let folder = tempfile::tempdir().expect("a folder");
    let phase = |more: &[&str]| {
        let fixed =
            ["experiment", "phase", "--json", "--particles", "10:40:2", "--runs", "7", "--out", path(folder.path())];
        object(&cbo(&[&fixed, more].concat()))
    };
    let found = phase(&["--sigma-squared", "4:28:3", "--threads", "1"]);
    assert_eq!(found["x"]["values"], serde_json::json!([4.0, 16.0, 28.0]));
    assert_eq!((&found["y"]["values"], &found["runs"]), (&serde_json::json!([10.0, 40.0]), &serde_json::json!(7)));
    let successes = |found: &serde_json::Value, row: usize| -> Vec<u64> {
        let all = found["successes"].as_array().expect("a list");
        let columns = all.len() / 2;
        all[row * columns..][..columns].iter().map(|n| n.as_u64().expect("a count")).collect()
    };
    assert!(successes(&found, 1).iter().zip(successes(&found, 0)).all(|(many, few)| *many >= few), "{found}");
    // A cell by itself is the cell of the map, on any number of threads.
    let alone = phase(&["--sigma-squared", "16", "--threads", "3"]);
    assert_eq!([successes(&alone, 0)[0], successes(&alone, 1)[0]], [successes(&found, 0)[1], successes(&found, 1)[1]]);
    let single = phase(&["--sigma-squared", "16", "--precision", "f32"]);
    assert_eq!(single["successes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn wrong_words_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "mine").expect("a file");
    assert_usage(&cbo(&["experiment", "canyons", "--out", path(folder.path())]), &["canyons", "canyon"]);
    assert_usage(&cbo(&["experiment", "canyon", "--out", path(&file)]), &["file"]);
    assert_usage(&cbo(&["experiment", "phase", "--seed", "x", "--out", path(folder.path())]), &["seed", "x"]);
    let wrong = |experiment: &str, flag: &str, value: &str, words: &[&str]| {
        assert_usage(&cbo(&["experiment", experiment, flag, value, "--out", path(folder.path())]), words);
    };
    wrong("canyon", "--runs", "5", &["runs = 5", "only the experiment phase has it"]);
    wrong("phase", "--runs", "0", &["runs = 0", "between 1 and 1 000 000"]);
    wrong("phase", "--particles", "0:8:3", &["particles = 0:8:3", "between 1 and"]);
    wrong("phase", "--sigma-squared", "-1:8:3", &["sigma-squared = -1:8:3", "negative"]);
    wrong("phase", "--sigma-squared", "8:1:3", &["8:1:3", "not smaller"]);
    wrong("phase", "--sigma-squared", "1:8", &["1:8", "FROM:TO:COUNT"]);
    wrong("phase", "--sigma-squared", "1:8:1", &["1:8:1", "one value"]);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}
