//! `cbo minimize --certify` through the program: its files, its numbers, its refusals.

use crate::common::{assert_usage, cbo, command, object, path, read_png, stdout, words};
use serde_json::Value;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const COLUMNS: [&str; 19] = [
    "step",
    "time",
    "alpha",
    "sigma",
    "v",
    "w2_squared",
    "variance",
    "distance",
    "derivative",
    "lemma_bound",
    "lemma_slack",
    "lemma_bound_sharp",
    "laplace_bound",
    "laplace_q",
    "laplace_r",
    "laplace_mass",
    "log_mass",
    "log_mass_bound",
    "log_mass_bound_sharp",
];

/// The rows of a CSV file by column; empty cells are missing.
fn read_csv(file: &Path) -> Vec<HashMap<String, f64>> {
    let text = fs::read_to_string(file).expect("a file");
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().expect("a header").split(',').collect();
    assert_eq!(names, COLUMNS);
    let cell = |(name, text): (&&str, &str)| {
        let value = (!text.is_empty()).then(|| text.parse::<f64>().expect("a number"))?;
        Some(((*name).to_string(), value))
    };
    lines
        .map(|line| {
            assert_eq!(line.split(',').count(), names.len(), "{line}");
            names.iter().zip(line.split(',')).filter_map(cell).collect()
        })
        .collect()
}

/// A short run like the paper's.
const RUN: &str = "minimize rastrigin --dim 2 --method cbo --sigma 0.4 --dt 0.01 --alpha 1e6 --steps 120 --particles 1500 --init normal:0.5,4 --certify";

/// The swarm of this run flies beyond the largest number: the certificate says so instead of judging it.
#[test]
fn a_swarm_that_leaves_the_range_of_numbers_is_not_judged() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let setting = "--dim 2 --sigma 10 --dt 1 --steps 1000 --certify --json --quiet";
    let run = object(&words(&format!("minimize rastrigin {setting} --out {}", path(&out))));
    let certificate = &run["certificate"];
    let count = |key: &str| certificate[key].as_u64().expect("a count");
    assert!(0 < count("lemma_steps") && count("lemma_steps") < count("steps"), "{certificate}");
    assert_eq!(certificate["lemma_held"], true);
    let csv = std::fs::read_to_string(out.join("certificate.csv")).expect("the CSV");
    let cells = |line: Option<&str>| line.expect("a line").split(',').map(String::from).collect::<Vec<_>>();
    let (head, last) = (cells(csv.lines().next()), cells(csv.lines().last()));
    let variance = head.iter().position(|name| name == "variance").expect("the column");
    assert!(!last[variance].parse::<f64>().expect("a number").is_finite(), "{last:?}");
}

#[test]
fn the_files_appear_and_agree_with_the_result() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let result = object(&words(&format!("{RUN} --json --out {}", path(&out))));
    let rows = read_csv(&out.join("certificate.csv"));
    assert_eq!(rows.len(), 121);
    let (first, last) = (&rows[0], &rows[120]);
    let certificate = &result["certificate"];
    let number = |key: &str| certificate[key].as_f64().unwrap_or_else(|| panic!("{key} of {certificate}"));
    assert_eq!(certificate["steps"], 121);
    // The JSON reader of this test may be off by a bit.
    let close =
        |key: &str, value: f64| assert!((number(key) / value - 1.0).abs() < 1e-15, "{key}: {} {value}", number(key));
    close("v_start", first["v"]);
    close("v_end", last["v"]);
    close("v_end_ratio", last["v"] / first["v"]);
    close("least_slack", rows.iter().map(|r| r["lemma_slack"]).fold(f64::INFINITY, f64::min));
    assert!((number("rate") + (last["v"] / first["v"]).ln() / 1.2).abs() < 1e-12);
    assert!((number("rate_mean_field") - 1.84).abs() < 1e-12);
    assert_eq!(certificate["lemma_held"], true);
    assert_eq!(certificate["laplace_held"], true);
    assert_eq!(certificate["laplace_steps"], rows.iter().filter(|r| r.contains_key("laplace_bound")).count());
    assert_eq!((number("r0"), number("nu")), (0.1, 0.5));
    assert_eq!(certificate["basis"], "exact");
    assert_eq!(certificate["remarks"], Value::Array(Vec::new()));
    // The consensus point of the result is that of the last row; the minimiser is the origin.
    let consensus: Vec<f64> =
        result["consensus"].as_array().expect("a point").iter().map(|x| x.as_f64().expect("a number")).collect();
    assert!((last["distance"] / consensus[0].hypot(consensus[1]) - 1.0).abs() < 1e-14);
    // The rows by their own arithmetic, and against the history of the same run.
    let history = fs::read_to_string(out.join("history.csv")).expect("a history");
    for (row, line) in rows.iter().zip(history.lines().skip(1)) {
        assert_eq!(row["w2_squared"], 2.0 * row["v"]);
        assert_eq!(row["lemma_slack"], row["lemma_bound"] - row["derivative"]);
        assert!(row["lemma_slack"] >= 0.0 && row["lemma_bound_sharp"] <= row["lemma_bound"]);
        assert!(row.get("laplace_bound").is_none_or(|bound| *bound >= row["distance"]));
        assert!(row["log_mass_bound"] <= row["log_mass_bound_sharp"]);
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().expect("a number")).collect();
        assert_eq!((row["step"], row["time"]), (cells[0], cells[1]));
        assert!((row["variance"] / cells[8].powi(2) - 1.0).abs() < 1e-14, "spread^2");
    }
    let names = ["certificate.csv", "certificate.svg", "certificate.png"].map(|name| out.join(name));
    let told: Vec<&str> =
        certificate["files"].as_array().expect("files").iter().map(|f| f.as_str().expect("a path")).collect();
    assert_eq!(told, names.iter().map(|file| path(file)).collect::<Vec<_>>());
    let written = fs::read(out.join("result.json")).expect("a result");
    assert_eq!(serde_json::from_slice::<Value>(&written).expect("JSON"), result);
}

#[test]
fn the_picture_shows_curves() {
    let folder = tempfile::tempdir().expect("a folder");
    let output =
        command(&RUN.split_whitespace().collect::<Vec<_>>()).current_dir(folder.path()).output().expect("a run");
    assert_eq!(output.status.code(), Some(0));
    // Without --out the files go to the current folder, and the lines say so.
    let text = stdout(&output);
    assert!(text.contains("written      certificate.csv, certificate.svg, certificate.png"), "{text}");
    assert!(text.contains("Lemma 1      held at all of 121 kept steps"), "{text}");
    let svg = fs::read_to_string(folder.path().join("certificate.svg")).expect("a picture");
    for part in
        ["#0072B2", "#D55E00", "#009E73", "Lemma 1", "Proposition 1", "Proposition 2", "rastrigin", "exp(-1.84 t)"]
    {
        assert!(svg.to_lowercase().contains(&part.to_lowercase()), "{part}");
    }
    let (width, height, colours) = read_png(&folder.path().join("certificate.png"));
    assert!(width > 2000 && height > 1500);
    for colour in [[0x00, 0x72, 0xB2], [0xD5, 0x5E, 0x00], [0x00, 0x9E, 0x73], [0, 0, 0]] {
        assert!(colours.contains(&colour), "{colour:?}");
    }
}

#[test]
fn the_certificate_does_not_depend_on_the_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let csv = |threads: u32| {
        let out = folder.path().join(threads.to_string());
        object(&words(&format!("{RUN} --particles 20000 --steps 20 --threads {threads} --json --out {}", path(&out))));
        fs::read(out.join("certificate.csv")).expect("a file")
    };
    assert!(csv(1) == csv(2), "the same bytes");
}

#[test]
fn nothing_changes_without_the_flag() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |flag: &str| {
        let line = format!("{RUN} --certify={flag} --steps 5 --json");
        let output =
            command(&line.split_whitespace().collect::<Vec<_>>()).current_dir(folder.path()).output().expect("a run");
        crate::common::result(&output)
    };
    let plain = run("false");
    assert!(plain.get("certificate").is_none());
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    let mut certified = run("true");
    assert!(certified.as_object_mut().expect("an object").remove("certificate").is_some());
    assert_eq!(plain, certified);
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 3);
}

#[test]
fn a_config_file_asks_for_it_and_repeats_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    fs::write(
        &file,
        "objective = 'sphere'\ndim = 3\nmethod = 'cbo'\nsteps = 10\nsigma = 0.5\ncertify = true\nout = 'first'\n",
    )
    .expect("written");
    object(&cbo(&["minimize", "--config", path(&file), "--json"]));
    let first = folder.path().join("first");
    let config = first.join("config.toml");
    assert!(fs::read_to_string(&config).expect("a file").contains("certify = true"));
    let second = folder.path().join("second");
    object(&cbo(&["minimize", "--config", path(&config), "--json", "--out", path(&second)]));
    let csv = |folder: &Path| fs::read(folder.join("certificate.csv")).expect("a file");
    assert_eq!(csv(&first), csv(&second));
    // Into the same folder again, which needs --force.
    let again = ["minimize", "--config", path(&config), "--json", "--out", path(&second), "--force"];
    assert_usage(&cbo(&again[..6]), &["already holds a run", "--force"]);
    object(&cbo(&again));
    assert_eq!(csv(&second.join("replaced-1")), csv(&second));
    fs::write(&file, "objective = 'himmelblau'\ncertify = true\n").expect("written");
    assert_usage(&cbo(&["minimize", "--config", path(&file)]), &["run.toml line 2", "certify = true", "himmelblau"]);
    fs::write(&file, "objective = 'sphere'\ndim = 2\ncertify = 3\n").expect("written");
    assert_usage(&cbo(&["minimize", "--config", path(&file)]), &["run.toml line 3", "certify = 3"]);
}

#[test]
fn what_the_theory_has_no_place_for_is_refused_before_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    for (function, why) in [
        ("himmelblau", "more than one minimiser"),
        ("six-hump-camel", "more than one minimiser"),
        ("alpine-1 --dim 3", "more than one minimiser"),
        ("eggholder", "edge of the domain"),
    ] {
        let out = folder.path().join("out");
        let line = format!("minimize {function} --certify --out {}", path(&out));
        assert_usage(
            &words(&line),
            &["certify = true", function.split(' ').next().expect("a name"), why, "such as sphere"],
        );
        assert!(!out.join("result.json").exists() && !out.join("certificate.csv").exists());
    }
    // A place that cannot be written to is found before the run.
    fs::create_dir(folder.path().join("certificate.csv")).expect("a folder");
    let output =
        command(&RUN.split_whitespace().collect::<Vec<_>>()).current_dir(folder.path()).output().expect("a run");
    assert_usage(&output, &["certificate.csv"]);
    assert!(!folder.path().join("certificate.svg").exists());
    assert_usage(&words(&format!("{RUN} --certify=maybe")), &["certify", "maybe"]);
}

#[test]
fn what_does_not_apply_is_an_empty_cell_and_a_remark() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, flags: &str| {
        let out = folder.path().join(name);
        let result = object(&words(&format!("{RUN} --quiet --steps 5 --json --out {} {flags}", path(&out))));
        (result["certificate"].clone(), read_csv(&out.join("certificate.csv")))
    };
    let (certificate, rows) = run("isotropic", "--diffusion isotropic");
    assert!(rows.iter().all(|r| !r.contains_key("log_mass_bound") && !r.contains_key("log_mass_bound_sharp")));
    assert!(certificate["remarks"][0].as_str().expect("words").contains("isotropic"));
    assert_eq!(certificate["mass_held"], Value::Null);
    let (certificate, rows) = run("frozen", "--freeze minimiser");
    assert!(rows.iter().all(|r| !r.contains_key("laplace_bound") && r["distance"] == 0.0));
    assert_eq!(certificate["laplace_held"], Value::Null);
    let (certificate, rows) = run("cooled", "--sigma log:0.5");
    assert_eq!(certificate["rate_mean_field"], Value::Null);
    assert!(rows[5]["sigma"] < rows[0]["sigma"] && rows[5]["lemma_slack"] >= 0.0);
    // A swarm that leaves the range of numbers still has a certificate, and no panic.
    let (_, rows) = run("blown", "--lambda 300 --dt 1 --steps 400");
    assert!(!rows[400]["v"].is_finite());
}

#[test]
fn a_swarm_that_starts_in_the_minimum_has_a_certificate() {
    let folder = tempfile::tempdir().expect("a folder");
    let (points, out) = (folder.path().join("points.csv"), folder.path().join("run"));
    fs::write(&points, "0,0\n0,0\n").expect("written");
    let line = format!("minimize sphere --dim 2 --init file:{} --method cbo --steps 2 --certify --json", path(&points));
    let result = object(&words(&format!("{line} --out {}", path(&out))));
    assert_eq!(
        (&result["certificate"]["lemma_held"], &result["certificate"]["laplace_held"]),
        (&true.into(), &true.into())
    );
    let rows = read_csv(&out.join("certificate.csv"));
    assert!(rows.iter().all(|r| r["v"] == 0.0 && r["laplace_bound"] == 0.0 && r["log_mass"] == 0.0));
    assert!(fs::read_to_string(out.join("certificate.svg")).expect("a picture").contains("sits on the minimiser"));
}

#[test]
fn single_precision_and_an_estimate() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, line: &str| {
        let out = folder.path().join(name);
        object(&words(&format!("minimize {line} --certify --quiet --json --out {}", path(&out))))["certificate"].clone()
    };
    let single = run("single", "rastrigin --dim 3 --shift 0.7 --precision f32");
    let estimate = run("estimate", "ackley --dim 2");
    // Energies of this function are differences of large numbers: what rounding decides does not count against the bound.
    let cancelling = run("cancelling", "schwefel --dim 4");
    assert_eq!((&estimate["basis"], &single["basis"]), (&Value::from("estimate"), &Value::from("exact")));
    for certificate in [single, estimate, cancelling] {
        assert_eq!(
            (&certificate["lemma_held"], &certificate["laplace_held"]),
            (&Value::from(true), &Value::from(true))
        );
    }
}
