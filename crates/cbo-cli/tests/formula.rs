//! `cbo minimize --formula`: from flags and from files, resumed, on every instruction set, and with mistakes marked.

use crate::common::{assert_usage, cbo, command, object, path, result, stderr, words};
use std::fs;

const RIPPLES: &str = "sum(x^2 + 2.5*(1 - cos(2*pi*x)))";

fn minimize(more: &[&str]) -> std::process::Output {
    cbo(&[&["minimize", "--formula", RIPPLES, "--dim", "3", "--bounds", "-5,5", "--json"], more].concat())
}

#[test]
fn a_formula_is_minimised_by_every_kind_of_method() {
    for method in ["auto", "cbo", "memory", "hopping"] {
        let found = object(&minimize(&["--method", method, "--max-evaluations", "20000", "--seed", "1"]));
        assert_eq!(found["objective"], RIPPLES);
        assert!(found["value"].as_f64().expect("a value") < 0.1, "{method}: {found}");
        // Nobody knows the minimum.
        assert!(found.get("minimum").is_none_or(serde_json::Value::is_null), "{found}");
    }
}

#[test]
fn constants_come_from_the_text_or_from_outside() {
    let base = ["minimize", "--dim", "2", "--bounds", "-3,3", "--max-evaluations", "500", "--json", "--formula"];
    let written = object(&cbo(&[&base[..], &["a = 2; b = 3; a*sum(x^2) + b"]].concat()));
    let formula = "a*sum(x^2) + b";
    for given in [&["--constant", "a=2", "--constant", "b=3"][..], &["--constant", "a=2;b=3"]] {
        let found = object(&cbo(&[&base[..], &[formula], given].concat()));
        assert_eq!((&found["value"], &found["x"]), (&written["value"], &written["x"]));
    }
}

#[test]
fn the_bits_are_the_same_in_both_precisions_on_every_set_and_thread_count() {
    for precision in ["f64", "f32"] {
        let line = [
            "minimize",
            "--formula",
            RIPPLES,
            "--dim",
            "7",
            "--bounds",
            "-5,5",
            "--json",
            "--method",
            "cbo",
            "--steps",
            "50",
        ];
        let run = |set: &str, threads: &str| {
            let more = ["--precision", precision, "--threads", threads];
            let output =
                command(&[&line[..], &more].concat()).env("CBO_SIMD", set).output().expect("the program starts");
            let mut found = result(&output);
            found.as_object_mut().expect("an object").remove("instruction_set");
            found
        };
        let expected = run("portable", "1");
        for set in cbo::simd::available() {
            assert_eq!(run(set.name(), "2"), expected, "{precision} {set:?}");
        }
    }
}

#[test]
fn a_run_is_kept_repeated_and_resumed_and_another_formula_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let whole = ["--method", "cbo", "--particles", "50", "--seed", "3", "--constant", "a=1"];
    let first = minimize(&[&whole[..], &["--steps", "20", "--out", path(&out)]].concat());
    assert_eq!(first.status.code(), Some(0), "{}", stderr(&first));
    let config = fs::read_to_string(out.join("config.toml")).expect("the settings");
    assert!(config.contains("formula = ") && config.contains("constant = "), "{config}");
    let resumed = cbo(&["resume", path(&out), "--steps", "40", "--json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
    let (resumed, straight) = (object(&resumed), object(&minimize(&[&whole[..], &["--steps", "40"]].concat())));
    assert_eq!((&resumed["value"], &resumed["x"]), (&straight["value"], &straight["x"]));
    fs::write(out.join("config.toml"), config.replace("2.5", "3.5")).expect("a file is written");
    assert_usage(&cbo(&["resume", path(&out), "--steps", "60"]), &["no longer the same run", "formula was"]);
}

#[test]
fn a_mistake_is_marked() {
    let output = cbo(&["minimize", "--formula", "sum(x^2) + con(x[1])", "--dim", "2", "--bounds", "-1,1"]);
    let expected = "error: formula, column 12: unknown function `con`; did you mean `cos`?\n  sum(x^2) + con(x[1])\n             ^\n";
    assert_eq!((output.status.code(), stderr(&output)), (Some(2), expected.into()));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    fs::write(&file, "dim = 2\nbounds = [-1, 1]\nformula = \"\"\"a = 2;\nsum(y)\"\"\"\n").expect("a file is written");
    let output = cbo(&["minimize", "--config", path(&file)]);
    let expected = format!("error: {} line 3: formula, column 12: unknown name `y`", file.display());
    let message = stderr(&output);
    assert!(output.status.code() == Some(2) && message.starts_with(&expected), "{message}");
    assert!(message.ends_with("\n  a = 2; sum(y)\n             ^\n"), "{message}");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    for (line, parts) in [
        ("minimize sphere --formula sum(x) --dim 2 --bounds -1,1", &["a function, sphere, is also given"][..]),
        ("minimize --command ./a --formula sum(x) --dim 2 --bounds -1,1", &["a formula is also given"]),
        ("minimize --formula sum(x) --bounds -1,1", &["dim is missing", "--dim 5"]),
        ("minimize --formula sum(x) --dim 2", &["bounds is missing", "--bounds -5,5"]),
        (
            "minimize --formula sum(x) --dim 2 --bounds -1,1 --shift 1",
            &["shift: only benchmark functions", "with a formula"],
        ),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --rotate 1", &["rotate: only benchmark functions"]),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --workers 2", &["workers: this belongs to a program"]),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --animate frames", &["animate = frames", "not a formula"]),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --certify", &["certify = true", "a formula does not have"]),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --constant a", &["--constant", "NAME=VALUE"]),
        ("minimize --formula sum(x) --dim 2 --bounds -1,1 --constant pi=3", &["`pi` already has a meaning"]),
        ("minimize sphere --dim 2 --constant a=1", &["constant: this belongs to a formula", "--formula"]),
        ("success --formula sum(x) --dim 2", &["only `cbo minimize` takes a formula", "its minimum is not known"]),
        ("minimize --expression sum(x) --dim 2", &["--formula FORMULA"]),
    ] {
        assert_usage(&words(line), parts);
    }
}
