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
fn wrong_words_are_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "mine").expect("a file");
    assert_usage(&cbo(&["experiment", "canyons", "--out", path(folder.path())]), &["canyons", "canyon"]);
    assert_usage(&cbo(&["experiment", "canyon", "--out", path(&file)]), &["file"]);
    assert_usage(&cbo(&["experiment", "phase", "--seed", "x", "--out", path(folder.path())]), &["seed", "x"]);
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
}
