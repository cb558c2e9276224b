//! `cbo meanfield`: its numbers, its files, its refusals.

use crate::common::{assert_usage, object, path, read_png, stdout, words};
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::path::Path;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[track_caller]
fn close(value: &Value, expected: f64, relative: f64) {
    let found = number(value);
    assert!((found / expected - 1.0).abs() < relative, "{found}, expected {expected}");
}

/// The colours of a PNG.
fn colours(file: &Path) -> HashSet<[u8; 3]> {
    let (width, height, colours) = read_png(file);
    assert!(width > 500 && height > 400, "{}", file.display());
    colours
}

/// The rows of a CSV file, and its names.
fn table(file: &Path) -> (Vec<String>, Vec<Vec<f64>>) {
    let text = fs::read_to_string(file).expect("a file");
    let mut lines = text.lines();
    let names: Vec<String> = lines.next().expect("names").split(',').map(String::from).collect();
    let row = |line: &str| line.split(',').map(|c| c.parse().expect("a number")).collect::<Vec<f64>>();
    let rows: Vec<Vec<f64>> = lines.map(row).collect();
    assert!(!rows.is_empty() && rows.iter().all(|r| r.len() == names.len()), "{}", file.display());
    (names, rows)
}

#[test]
fn the_object_of_a_quick_run_has_its_keys_and_numbers() {
    let result = object(&words("meanfield --quick --json"));
    let keys = [
        "objective",
        "dim",
        "lambda",
        "sigma",
        "alpha",
        "dt",
        "time",
        "cells",
        "init",
        "frozen",
        "mass_error",
        "least_density",
        "v_start",
        "v_end",
        "v_end_ratio",
        "v_end_ratio_frozen",
        "rate",
        "rate_continuous",
        "consensus",
        "mean",
        "distance",
        "distances",
        "floor_w1",
        "floor_w2",
        "exponent",
        "exponent_standard_error",
        "expected_exponent",
        "repeats",
        "seed",
        "frames",
    ];
    let found: Vec<&String> = result.as_object().expect("an object").keys().collect();
    assert_eq!(found.len(), keys.len(), "{found:?}");
    for key in keys {
        assert!(result.get(key).is_some(), "{key}");
    }
    assert!(number(&result["mass_error"]) < 1e-12);
    assert!(number(&result["least_density"]) >= 0.0);
    assert_eq!(number(&result["expected_exponent"]), -0.5);
    close(&result["rate_continuous"], 1.8976, 1e-12);
    // Regression, to six digits: the law and the particles are the same on every machine up to rounding.
    close(&result["v_start"], 2.915617, 1e-6);
    close(&result["v_end_ratio"], 0.02446431, 1e-6);
    close(&result["rate"], 1.856999, 1e-6);
    close(&result["consensus"][0], 0.02681191, 1e-5);
    close(&result["mean"][0], 0.2978946, 1e-6);
    close(&result["floor_w1"], 0.002798308, 1e-4);
    close(&result["distances"][0]["w1"], 0.03584656, 1e-5);
    close(&result["distances"][1]["w2"], 0.02486585, 1e-5);
    close(&result["exponent"], -0.5350689, 1e-5);
    // And what they should be: the mean of the law moves like 2.048 exp(-t) plus a little, because the consensus point moves.
    let gone = 2.048 * (-2.0f64).exp();
    assert!((gone..1.1 * gone).contains(&number(&result["mean"][0])));
}

/// With the consensus point frozen at the minimiser V is exactly exp(-(2 lambda - sigma^2) t) of its start.
#[test]
fn a_frozen_run_meets_the_theory() {
    let line = "meanfield --quick --freeze minimiser --init normal:2,32 --time 4 --particles 50 --repeats 1 --json";
    let result = object(&words(line));
    close(&result["v_end_ratio_frozen"], (-4.0f64 * 1.8976).exp(), 1e-9);
    close(&result["v_end_ratio"], (-4.0f64 * 1.8976).exp(), 1e-3);
    close(&result["rate"], 1.8976, 1e-3);
    assert!(result["exponent"].is_null() && result["exponent_standard_error"].is_null());
    assert_eq!(result["distances"][0]["particles"], 50);
    assert!(result["distances"][0]["w1_standard_error"].is_null());
}

#[test]
fn the_table_is_short_and_says_what_it_compares() {
    let said = stdout(&words("meanfield --quick --dim 2 --particles 40,80 --repeats 2 --cells 40 --time 0.2"));
    for part in ["rastrigin", "of the marginals", "exponent", "floor", "2 lambda - sigma^2"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(said.lines().count() < 16, "{said}");
}

#[test]
fn the_folder_has_every_file_and_keeps_what_was_there() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("thesis.tex"), "mine").expect("written");
    fs::create_dir(folder.path().join("frames")).expect("a folder");
    fs::write(folder.path().join("frames/frame-0099.png"), "mine").expect("written");
    fs::write(folder.path().join("frames/cat.png"), "mine").expect("written");
    let line = "meanfield --quick --particles 50,500 --repeats 3 --frames 2 --time 1 --json --out";
    let result = object(&words(&format!("{line} {}", path(folder.path()))));
    let file = |name: &str| folder.path().join(name);
    assert_eq!(fs::read_to_string(file("thesis.tex")).expect("kept"), "mine");
    assert_eq!(fs::read_to_string(file("frames/cat.png")).expect("kept"), "mine");
    assert_eq!(fs::read_to_string(file("frames/frame-0099.png")).expect("kept"), "mine");
    assert!(!file("frames/frame-0003.png").exists());
    assert_eq!(result["frames"], 3);
    for name in ["density", "energy", "distance"] {
        let svg = fs::read_to_string(file(&format!("{name}.svg"))).expect("a picture");
        assert!(svg.contains("<svg") && svg.contains("rastrigin") && svg.len() < 8_000_000, "{name}: {}", svg.len());
        assert!(colours(&file(&format!("{name}.png"))).len() > 20, "{name}");
    }
    let frames: Vec<Vec<u8>> =
        (0..=2).map(|i| fs::read(file(&format!("frames/frame-000{i}.png"))).expect("a frame")).collect();
    assert!(frames[0] != frames[1] && frames[1] != frames[2]);
    let shown = colours(&file("frames/frame-0001.png"));
    assert!(shown.contains(&[0x00, 0x72, 0xB2]) && shown.contains(&[0xE6, 0x9F, 0x00]), "law and particles");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(file("result.json")).expect("a result")).expect("JSON");
    assert_eq!(written, result);

    let (names, rows) = table(&file("energy.csv"));
    assert_eq!(names, ["time", "law", "theory", "particles_50", "particles_500"]);
    let (first, last) = (&rows[0], &rows[rows.len() - 1]);
    assert_eq!((first[0], first[1]), (0.0, first[2]));
    close(&result["v_end_ratio"], last[1] / first[1], 1e-12);
    let (names, rows) = table(&file("distance.csv"));
    assert_eq!(names[..4], ["time", "particles", "repeats", "w1"]);
    assert_eq!(rows.len(), 10, "five times, two numbers of particles");
    close(&result["distances"][1]["w1"], rows[9][3], 1e-12);
    let (names, rows) = table(&file("density.csv"));
    assert_eq!(names, ["time", "v", "density"]);
    assert!(rows.iter().all(|r| r[2] >= 0.0));
}

/// A shorter film leaves nothing of an earlier, longer one of its own, and everything of others.
#[test]
fn frames_of_an_earlier_run_go_and_no_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let exists = |index: usize| folder.path().join(format!("frames/frame-{index:04}.png")).exists();
    let film = |frames: usize| {
        let line = "meanfield --quick --particles 20 --repeats 1 --time 0.1 --cells 60 --json";
        object(&words(&format!("{line} --frames {frames} --out {}", path(folder.path()))))
    };
    assert_eq!(film(4)["frames"], 5);
    fs::write(folder.path().join("frames/frame-0007.png"), "mine").expect("written");
    film(2);
    assert_eq!((0..9).filter(|i| exists(*i)).collect::<Vec<_>>(), [0, 1, 2, 7]);
    // A result of another command says nothing about frames of this one.
    fs::write(folder.path().join("result.json"), r#"{"frames": 8, "seed": 0}"#).expect("written");
    film(1);
    assert_eq!((0..9).filter(|i| exists(*i)).collect::<Vec<_>>(), [0, 1, 2, 7]);
    film(0);
    assert_eq!((0..9).filter(|i| exists(*i)).collect::<Vec<_>>(), [2, 7]);
}

#[test]
fn flags_that_were_not_given_are_not_blamed() {
    for (flags, dt) in [("--time 0.001", 1e-4), ("--lambda 100 --time 0.05", 1e-3)] {
        let result = object(&words(&format!("meanfield --quick --particles 20 --repeats 1 --json {flags}")));
        close(&result["dt"], dt, 1e-12);
    }
    let last = "meanfield --quick --particles 1 --time 0.1 --repeats 3 --seed 18446744073709551615";
    assert_eq!(object(&words(&format!("{last} --json")))["distances"][0]["repeats"], 3);
    let grows = stdout(&words("meanfield --quick --particles 5 --repeats 1 --freeze minimiser --sigma 1.5"));
    assert!(grows.contains("V            grew to 1.64"), "{grows}");
}

#[test]
fn the_plane_can_be_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = "meanfield --quick --dim 2 --cells 40 --particles 200 --repeats 1 --frames 1 --time 0.5 --json --out";
    object(&words(&format!("{line} {}", path(folder.path()))));
    assert!(colours(&folder.path().join("density.png")).len() > 20);
    let frame = colours(&folder.path().join("frames/frame-0001.png"));
    assert!(frame.contains(&[0xD5, 0x5E, 0x00]) && frame.len() > 20, "particles on the density");
    let (names, _) = table(&folder.path().join("density.csv"));
    assert_eq!(names, ["time", "v1", "v2", "density"]);
}

#[test]
fn bad_input_is_refused_with_the_range() {
    let cases: &[(&str, &[&str])] = &[
        ("--dim 3", &["dim = 3", "1 or 2", "cbo minimize"]),
        ("--dim 1000000", &["dim = 1000000: the grid has 1 or 2 dimensions"]),
        ("--dim 0", &["dim = 0", "1 or 2"]),
        ("--cells 4", &["cells = 4: must lie between 32 and 100000"]),
        ("--dim 2 --cells 5000", &["cells = 5000", "1000"]),
        ("--time -1", &["time = -1", "positive"]),
        ("--time inf", &["time = inf", "finite"]),
        ("--dt 0", &["dt = 0", "positive"]),
        ("--dt -0.1", &["dt = -0.1", "positive"]),
        ("--dt 5", &["dt = 5", "at most 0.5"]),
        ("--dt 1e-9", &["dt = 1e-9", "1e6 steps"]),
        ("--sigma -1", &["sigma = -1", "zero or a positive"]),
        ("--sigma 6", &["sigma = 6", "at most 1.629", "sigma^2 T"]),
        ("--sigma 2", &["sigma = 2", "at most 1.629", "266 cells"]),
        ("--sigma 1e300", &["sigma = 1e300"]),
        ("--time 1e300", &["time = 1e300: at most 10000"]),
        ("--lambda 1e300", &["lambda = 1e300: at most 50000"]),
        ("--dt 1e300", &["dt = 1e300: must be at most 0.5"]),
        ("--freeze 1e200", &["freeze = 1e200", "1e100"]),
        ("--init normal:1e200,1", &["init = 1e200", "1e100"]),
        ("--init normal:1e50,1", &["init = a law about 1e50", "standard deviations"]),
        ("--init normal:30,1", &["init = a law 27 standard deviations", "at most 21"]),
        ("--lambda 0", &["lambda = 0", "positive"]),
        ("--alpha 0", &["alpha = 0", "positive"]),
        ("--alpha ess:0.1", &["alpha = ess:0.1", "constant"]),
        ("--particles 0", &["particles = 0", "between 1 and"]),
        ("--particles 100,0", &["particles = 0"]),
        ("--repeats 0", &["repeats = 0", "between 1 and"]),
        ("--frames 1e9", &["frames = 1000000000", "between 0 and"]),
        ("--objective rastrign", &["unknown function `rastrign`", "rastrigin"]),
        ("--objective eggholder", &["dim = 1", "eggholder"]),
        ("--objective hartmann-6 --dim 2", &["dim = 2", "hartmann-6"]),
        ("--init file:points.csv", &["init = file:points.csv", "density"]),
        ("--init normal:0,0", &["init", "variance", "positive"]),
        ("--init uniform:1,0", &["init", "low must be below high"]),
        ("--freeze 1,2", &["freeze", "2 numbers"]),
        ("--out /dev/null", &["/dev/null", "cannot write"]),
    ];
    for (flags, parts) in cases {
        assert_usage(&words(&format!("meanfield --quick {flags}")), parts);
    }
    // No finite value where the law is: a failure, not a usage error.
    let output = words("meanfield --quick --objective schwefel --init uniform:600,700");
    assert_eq!(output.status.code(), Some(1), "{}", crate::common::stderr(&output));
}
