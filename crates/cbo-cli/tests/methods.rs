//! The methods polarised and sampling on the command line: what they print, keep and refuse.

use crate::common::{assert_usage, cbo, object, path, stderr, stdout, words};
use serde_json::Value;
use std::fs;

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("numbers").iter().map(|x| x.as_f64().expect("a number")).collect()
}

#[test]
fn the_minimisers_of_a_polarised_swarm_are_told() {
    let value = object(&words("minimize himmelblau --method polarised --json"));
    assert_eq!((&value["method"], &value["stop"]), (&"polarised".into(), &"diameter".into()));
    let found = value["minimisers"].as_array().expect("minimisers");
    assert_eq!(found.len(), 4);
    let mut particles = 0;
    for minimiser in found {
        let count = minimiser["particles"].as_u64().expect("a number");
        assert_eq!(minimiser["fraction"].as_f64().expect("a fraction"), count as f64 / 400.0);
        assert!(minimiser["value"].as_f64().expect("a value") < 1e-6 && numbers(&minimiser["x"]).len() == 2);
        particles += count;
    }
    assert!(particles > 390, "{particles} particles belong to minimisers");
    let text = stdout(&words("minimize himmelblau --method polarised"));
    let lines: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("minimisers")).collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines.iter().all(|line| line.contains(" at (") && line.ends_with(" %)")), "{text}");
    assert!(object(&words("minimize himmelblau --method cbo --steps 3 --json")).get("minimisers").is_none());
}

#[test]
fn an_infinite_kernel_is_cbo() {
    let run = |method: &str| {
        let line = format!("minimize rastrigin --dim 3 --steps 20 --alpha 5 --json --method {method}");
        let value = object(&words(&line));
        (value["x"].clone(), value["value"].clone(), value["consensus"].clone(), value["evaluations"].clone())
    };
    assert_eq!(run("cbo"), run("polarised:kappa=inf"));
    assert_ne!(run("cbo"), run("polarised:kappa=0.5,kernel=laplace"));
}

/// Whether estimates are within five of their errors.
fn within(found: &Value, errors: &Value, expected: &[f64]) {
    for ((x, error), expected) in numbers(found).iter().zip(numbers(errors)).zip(expected) {
        assert!((x - expected).abs() < 5.0 * error, "{x} for {expected}, error {error}");
    }
}

#[test]
fn a_sample_is_summed_up_and_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let (csv, npy) = (folder.path().join("draws.csv"), folder.path().join("draws.npy"));
    let run =
        |more: &[&str]| cbo(&[&["minimize", "sphere", "--dim", "2", "--shift", "1;-2", "--sample"], more].concat());
    let value = object(&run(&["--json", "--samples", path(&csv)]));
    assert_eq!((&value["method"], &value["steps"]), (&"sampling:law=true".into(), &100.into()));
    assert_eq!(value["evaluations"], 101 * 400 + 1 + 4000);
    let sample = &value["sample"];
    assert_eq!(sample["draws"], 4000);
    assert!(sample["effective_sample_size"].as_f64().expect("a size") > 3000.0);
    within(&sample["mean"], &sample["mean_errors"], &[1.0, -2.0]);
    let rows = |key: &str, row: usize| sample[key][row].clone();
    within(&rows("covariance", 0), &rows("covariance_errors", 0), &[0.5, 0.0]);
    within(&rows("covariance", 1), &rows("covariance_errors", 1), &[0.0, 0.5]);
    let log = sample["log_normaliser"].as_f64().expect("a number") - std::f64::consts::PI.ln();
    assert!(log.abs() < 5.0 * sample["log_normaliser_error"].as_f64().expect("an error"));
    let text = fs::read_to_string(&csv).expect("the draws");
    assert_eq!((text.lines().count(), text.lines().next()), (4001, Some("x1,x2")));
    let text = stdout(&run(&["--draws", "500", "--samples", path(&npy)]));
    for part in ["sampled      sphere", "draws        500, worth ", "mean ", "log integral "] {
        assert!(text.contains(part), "{text}");
    }
    assert!(!text.contains("best value"), "{text}");
    // What was drawn is where another run can start.
    let again = cbo(&["minimize", "sphere", "--dim", "2", "--init", &format!("file:{}", path(&npy)), "--steps", "1"]);
    assert!(stdout(&again).contains("500 particles"), "{}", stderr(&again));
}

#[test]
fn a_sample_in_a_folder_is_the_same_after_a_pause() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let (whole, cut) = (at("whole"), at("cut"));
    let begin = ["minimize", "ackley", "--dim", "3", "--sample", "--draws", "600", "--json", "--out"];
    object(&cbo(&[&begin[..], &[path(&whole)]].concat()));
    object(&cbo(&[&begin[..], &[path(&cut), "--steps", "30"]].concat()));
    let read = |place: &std::path::Path, name: &str| fs::read_to_string(place.join(name)).expect("a file");
    assert_ne!(read(&cut, "samples.csv"), read(&whole, "samples.csv"));
    let config = read(&cut, "config.toml");
    assert!(config.contains("method = \"sampling:law=true\"") && config.contains("draws = 600"), "{config}");
    object(&cbo(&["resume", path(&cut), "--steps", "100", "--json"]));
    assert_eq!(read(&cut, "samples.csv"), read(&whole, "samples.csv"));
    assert!(read(&cut, "config.toml").contains("draws = 600"));
    let sample = |place: &std::path::Path| {
        serde_json::from_str::<Value>(&read(place, "result.json")).expect("JSON")["sample"].clone()
    };
    assert_eq!(sample(&cut), sample(&whole));
}

#[cfg(unix)]
#[test]
fn programs_have_laws_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    // A normal law of variance 1/2 around 1, restricted to positive numbers.
    let program = "awk 'BEGIN { x = ARGV[1]; print (x - 1) * (x - 1) }' {x}";
    let line = ["minimize", "--command", program, "--dim", "1", "--bounds", "0,4", "--sample", "--particles", "20"];
    let more = ["--steps", "5", "--draws", "60", "--json", "--quiet", "--out", path(&out)];
    let value = object(&cbo(&[&line[..], &more].concat()));
    assert_eq!(value["sample"]["draws"], 60);
    let evaluations = value["evaluations"].as_u64().expect("a number");
    assert!((121..=181).contains(&evaluations), "{evaluations}");
    let mean = numbers(&value["sample"]["mean"])[0];
    assert!((0.5..2.0).contains(&mean), "{mean}");
}

#[test]
fn a_sample_that_is_worth_little_is_told_of() {
    let output = words("minimize himmelblau --sample --json");
    assert_eq!(output.status.code(), Some(0));
    assert!(stderr(&output).starts_with("warning: 4 000 draws are worth "), "{}", stderr(&output));
    let quiet = words("minimize himmelblau --sample --json --quiet");
    assert_eq!(stderr(&quiet), "");
    let few = words("minimize sphere --dim 5 --method sampling --particles 5 --steps 2 --json");
    assert!(stderr(&few).contains("particles = 5: they never leave the plane"), "{}", stderr(&few));
}

#[test]
fn what_belongs_to_a_sample_is_refused_without_one() {
    let refused = |line: &str, parts: &[&str]| assert_usage(&words(line), parts);
    refused("minimize sphere --dim 2 --draws 9", &["draws", "only --sample draws"]);
    refused("minimize sphere --dim 2 --samples a.csv --method sampling", &["samples", "only --sample draws"]);
    refused("minimize sphere --dim 2 --sample --samples a.txt", &["samples = a.txt", ".csv or .npy"]);
    refused("minimize sphere --dim 2 --sample --draws 1", &["draws = 1", "at least 2"]);
    refused("minimize sphere --dim 2 --sample --method cbo", &["sample = true", "not cbo"]);
    refused("minimize sphere --dim 2 --sample --batch 10", &["batch = 10", "energies of all particles"]);
    refused("minimize sphere --dim 9 --sample --particles 9", &["particles = 9", "more than 9 particles"]);
    refused("minimize sphere --dim 2001 --method sampling", &["dim = 2001", "limit is 2000"]);
    refused("minimize sphere --dim 2 --method sampling --sigma 1", &["sigma = 1", "not a setting of method sampling"]);
    refused("minimize sphere --dim 2 --method sampling --alpha inf", &["alpha = inf", "finite alpha"]);
    refused("minimize sphere --dim 2 --method polarised --alpha inf", &["alpha = inf", "finite alpha"]);
    refused("minimize sphere --dim 2 --method polarised:kappa=0", &["kappa = 0", "positive"]);
    refused("minimize sphere --dim 2 --method polarised:width=1", &["not a setting of polarised", "kappa, kernel"]);
    refused("minimize sphere --dim 2 --method polarised:kernel=box", &["gaussian, laplace, inverse-quadratic"]);
}
