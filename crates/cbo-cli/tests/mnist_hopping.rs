//! `cbo mnist train --method hopping` on the built-in digits.

use crate::common::*;
use serde_json::Value;
use std::fs;

/// A short run of a small network.
const SHORT: &str = "mnist train --method hopping --network shallow --particles 30 --images 100 --quiet --json";

/// The result without what may differ between equal runs.
fn untimed(mut value: Value) -> Value {
    let fields = value.as_object_mut().expect("an object");
    fields.retain(|key, _| !key.contains("second"));
    for row in fields["curve"].as_array_mut().expect("a curve") {
        row.as_object_mut().expect("a row").remove("seconds").expect("seconds");
    }
    value
}

fn train(arguments: &str) -> Value {
    untimed(object(&words(&format!("{SHORT} {arguments}"))))
}

#[test]
fn it_has_settings_of_its_own() {
    let result = train("--iterations 4");
    let method = result["method"].as_str().expect("text");
    assert!(method.starts_with("hopping:momentum=0.9,") && method.ends_with("start=point"), "{method}");
    for (key, value) in [("init", "normal:0.0,0.09"), ("kick", "off"), ("preset", "paper")] {
        assert_eq!(result[key], value, "{key}");
    }
    assert_eq!((&result["batch_data"], &result["shuffle"]), (&100.into(), &true.into()));
    // Five times 30 particles, and the centre at the end.
    assert_eq!((&result["iterations"], &result["image_evaluations"]), (&4.into(), &15_100.into()));
    let steps: Vec<u64> =
        result["curve"].as_array().expect("a curve").iter().filter_map(|p| p["step"].as_u64()).collect();
    assert_eq!(steps, [0, 4]);
    // Epochs of ten batches.
    assert_eq!(train("--epochs 1")["iterations"], 10);
    assert_eq!(train("--iterations 4 --threads 1"), train("--iterations 4 --threads 3"));
    assert_ne!(train("--iterations 4 --seed 1")["loss"], result["loss"]);
    let changed = train("--iterations 4 --method hopping:momentum=0,rate=2");
    let method = changed["method"].as_str().expect("text");
    assert!(method.starts_with("hopping:momentum=0.0,rate=2.0,cosine=true"), "{method}");
}

/// Guessing is right one time in ten.
#[test]
fn it_learns_in_seconds() {
    let result = train("--iterations 60 --particles 100");
    assert!(result["test_accuracy"].as_f64().expect("a number") > 0.5, "{}", result["test_accuracy"]);
}

#[test]
fn a_folder_repeats_the_run_and_resumes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let [whole, again, longer] = ["whole", "again", "longer"].map(|name| folder.path().join(name));
    let change = "--method hopping:momentum=0,cosine=false --sigma 0.3";
    let result = train(&format!("--iterations 9 {change} --out {}", path(&whole)));
    let model = |place: &std::path::Path| fs::read(place.join("model.safetensors")).expect("a model");
    let config = whole.join("config.toml");
    let line = format!("mnist train --config {} --quiet --json --out {}", path(&config), path(&again));
    assert_eq!(untimed(object(&words(&line))), result);
    assert_eq!(model(&again), model(&whole));

    // What does not depend on the length of the run goes on as if it had been longer from the beginning.
    let longest = train(&format!("--iterations 13 {change} --out {}", path(&longer)));
    let resumed = object(&words(&format!("resume {} --steps +4 --quiet --json", path(&whole))));
    assert_eq!(untimed(resumed), longest);
    assert_eq!(model(&whole), model(&longer));
    // At its end there is nothing left to do, but the result is the same.
    let ended = object(&words(&format!("resume {} --quiet --json", path(&whole))));
    assert_eq!(untimed(ended), longest);
    let shown = words(&format!("runs show {}", path(&whole)));
    assert!(stdout(&shown).contains("13 iterations"), "{}", stdout(&shown));

    let refused = |arguments: &str, parts: &[&str]| {
        assert_usage(&words(&format!("resume {} {arguments} --quiet", path(&whole))), parts);
    };
    refused("--epochs 3", &["--epochs is not for runs of so many iterations", "use --steps"]);
    refused("--steps 5", &["steps = 5", "the run is past that", "at least 13"]);
    refused("--time 5", &["--time is not for training runs", "use --steps"]);
    let text = fs::read_to_string(&config).expect("settings");
    fs::write(&config, text.replace("momentum=0.0", "momentum=0.5")).expect("written");
    refused("", &["method = hopping:momentum=0.5", "it was hopping:momentum=0.0"]);
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let refused = |arguments: &str, parts: &[&str]| {
        assert_usage(&words(&format!("{SHORT} --iterations 2 {arguments}")), parts);
    };
    refused("--method hopping:speed=1", &["method = hopping:speed=1", "`speed` is not a setting of hopping"]);
    refused("--method pso", &["method = pso", "it is one of"]);
    refused("--method cbo --preset best", &["the preset best is one of hopping", "leave it out"]);
    refused("--method memory", &["method = memory", "energies of other data are worth nothing"]);
    refused("--epochs 2", &["--epochs", "--iterations"]);
    refused("--iterations 0", &["iterations = 0", "at least 1"]);
    refused("--lambda 2", &["lambda = 2", "is not a setting of method hopping"]);
    refused("--batch-particles 10", &["batch-particles = 10", "is not a setting of method hopping"]);
    refused("--images 2000", &["batch-data = 2000", "1000"]);
    refused("--init normal:0,0", &["init", "width"]);
    refused("--fashion --dataset fashion", &["--fashion", "--dataset"]);
    refused("--fashion --data fetched", &["Fashion-MNIST"]);
}
