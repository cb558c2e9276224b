//! `cbo mnist train` and `eval` on the built-in digits: results, files, and what is refused.

use crate::common::*;
use cbo_problems::nn::{Model, Network, Shape};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A short run.
const SHORT: &str = "mnist train --epochs 1 --quiet --json";

/// The result without what may differ between equal runs.
fn untimed(mut value: Value) -> Value {
    let fields = value.as_object_mut().expect("an object");
    for key in ["seconds", "seconds_per_epoch", "judging_seconds", "image_evaluations_per_second"] {
        assert!(fields.remove(key).is_some_and(|v| v.as_f64().is_some_and(|s| s >= 0.0)), "{key}");
    }
    for row in fields["curve"].as_array_mut().expect("a curve") {
        row.as_object_mut().expect("a row").remove("seconds").expect("seconds");
    }
    value
}

fn train(arguments: &str) -> Value {
    untimed(object(&words(&format!("{SHORT} {arguments}"))))
}

/// A short run of a network whose text has spaces.
fn network(text: &str, arguments: &str) -> std::process::Output {
    let line = format!("{SHORT} {arguments}");
    let mut words: Vec<&str> = line.split_whitespace().collect();
    words.extend(["--network", text]);
    cbo(&words)
}

#[test]
fn the_object_has_everything_that_is_promised() {
    let result = object(&words(SHORT));
    for key in ["network", "parameters", "epochs", "loss", "train_accuracy", "test_accuracy", "best_test_accuracy"] {
        assert!(!result[key].is_null(), "{key}");
    }
    for key in ["iterations", "image_evaluations", "seconds", "seconds_per_epoch", "seed", "method", "curve"] {
        assert!(!result[key].is_null(), "{key}");
    }
    assert_eq!(result["network"], "lenet1");
    assert_eq!(result["parameters"], 2112);
    assert_eq!(result["epochs"], 1.0);
    // 201 times 10 particles, and the consensus point at the end, on 50 images each.
    assert_eq!((&result["iterations"], &result["image_evaluations"]), (&200.into(), &100_550.into()));
    assert_eq!(result["method"], "cbo");
    assert_eq!((&result["particles"], &result["batch_particles"]), (&100.into(), &10.into()));
    // 60 does not divide 1000.
    assert_eq!(result["batch_data"], 50);
    assert_eq!(result["data"], "mnist, 1000 + 500 images (built-in subset of MNIST)");
    let curve = result["curve"].as_array().expect("a curve");
    assert_eq!(curve.iter().map(|p| p["epoch"].as_f64().expect("an epoch")).collect::<Vec<_>>(), [0.0, 0.5, 1.0]);
    assert_eq!(curve[2]["test_accuracy"], result["test_accuracy"]);
    assert_eq!(curve[0]["alpha"], 50.0);
    assert_eq!(curve[2]["alpha"], 100.0);
}

#[test]
fn threads_do_not_change_a_bit_and_seeds_do() {
    let one = train("--threads 1");
    assert_eq!(one, train("--threads 2"));
    assert_eq!(one, train("--seed 0"));
    assert_ne!(one["loss"], train("--seed 1")["loss"]);
}

/// Guessing is right one time in ten.
#[test]
fn the_built_in_digits_are_learned_in_seconds() {
    let result = train("--epochs 15 --alpha ess:0.3 --kick 5e-3 --sigma 0.5");
    assert!(result["test_accuracy"].as_f64().expect("a number") > 0.65, "{}", result["test_accuracy"]);
}

#[test]
fn a_note_says_that_the_subset_is_used() {
    let output = words("mnist train --network shallow --epochs 1");
    assert!(output.status.success());
    assert!(stderr(&output).contains("built-in subset of 1000 + 500 digits"), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.starts_with("shallow: 7 850 parameters, trained on mnist, 1000 + 500 images"), "{text}");
    assert!(text.contains("after 1 epoch: loss ") && text.contains("test accuracy "), "{text}");
}

#[test]
fn a_folder_gets_everything_and_the_model_evaluates_to_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("run");
    let result = train(&format!("--epochs 2 --out {}", path(&out)));
    let read = |name: &str| fs::read(out.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
    let text = |name: &str| String::from_utf8(read(name)).expect("text");
    assert_eq!(untimed(serde_json::from_str(&text("result.json")).expect("JSON")), result);

    let curve = text("curve.csv");
    let lines: Vec<&str> = curve.lines().collect();
    assert_eq!(lines[0], "epoch,step,loss,train_accuracy,test_accuracy,alpha,sigma,particles,seconds");
    assert_eq!(lines.len(), 1 + 5);
    assert!(lines[5].starts_with("2,400,"), "{}", lines[5]);
    for name in ["training.png", "confusion.png", "misclassified.png"] {
        let (width, height, _) = read_png(&out.join(name));
        assert!(width > 100 && height > 100, "{name}");
    }
    for name in ["training.svg", "confusion.svg"] {
        assert!(text(name).starts_with("<svg"), "{name}");
    }
    let total: usize = text("confusion.csv")
        .lines()
        .skip(1)
        .flat_map(|line| line.split(',').skip(1))
        .map(|count| count.parse::<usize>().expect("a count"))
        .sum();
    assert_eq!(total, 500);
    let accuracy = result["test_accuracy"].as_f64().expect("a number");
    assert_eq!(text("misclassified.csv").lines().count() - 1, (500.0 * (1.0 - accuracy)).round() as usize);

    let model = out.join("model.safetensors");
    let saved = Model::from_bytes(&read("model.safetensors"), "model").expect("a model");
    assert_eq!((saved.parameters.len(), saved.statistics.len()), (2112, 5));
    assert_eq!(saved.notes["seed"], "0");
    let evaluated = object(&words(&format!("mnist eval {} --json --quiet", path(&model))));
    assert_eq!(evaluated["test_accuracy"], result["test_accuracy"]);
    assert_eq!(evaluated["confusion"], result["confusion"]);
    assert_eq!((&evaluated["network"], &evaluated["images"]), (&"lenet1".into(), &500.into()));
    let shown = words(&format!("mnist eval {} --quiet", path(&model)));
    assert!(stdout(&shown).contains(&format!("test accuracy {:.2} % of 500 images", 100.0 * accuracy)));

    // What repeats the run.
    let again = folder.path().join("again");
    let config =
        format!("mnist train --config {} --quiet --json --out {}", path(&out.join("config.toml")), path(&again));
    assert_eq!(untimed(object(&words(&config))), result);
    assert_eq!(fs::read(again.join("model.safetensors")).expect("a model"), read("model.safetensors"));
    assert_eq!(fs::read(again.join("config.toml")).expect("settings"), read("config.toml"));

    // A run is not overwritten without --force, and then it is set aside; other files are never touched.
    assert_usage(&words(&format!("{SHORT} --out {}", path(&out))), &["already holds a run", "cbo resume", "--force"]);
    let before = read("model.safetensors");
    train(&format!("--force --out {}", path(&out)));
    assert_eq!(read("replaced-1/model.safetensors"), before);
    let thesis = folder.path().join("thesis");
    fs::create_dir(&thesis).expect("a folder");
    fs::write(thesis.join("thesis.tex"), "").expect("a file");
    let refused = words(&format!("{SHORT} --force --out {}", path(&thesis)));
    assert_usage(&refused, &["thesis.tex", "is not a run folder", "choose an empty or a new folder"]);
}

/// A data set of its own folder: the subset's own files, as gzip and unpacked by the reader.
#[test]
fn data_of_a_folder_are_used() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbo-problems/data");
    let from_folder = train(&format!("--network shallow --data {}", path(&data)));
    let built_in = train("--network shallow");
    assert!(from_folder["data"].as_str().expect("text").starts_with("mnist, 1000 + 500 images"));
    assert_eq!(from_folder["curve"], built_in["curve"]);
}

#[test]
fn networks_and_settings_can_be_chosen() {
    let text = "conv 2x5, relu, pool 2, dense 10, bn";
    let chosen = network(text, "--batch-data 100 --shuffle --particles 20 --batch-particles off");
    let result = untimed(object(&chosen));
    assert_eq!(result["network"], text);
    assert_eq!(result["parameters"], 52 + 2890);
    assert_eq!((&result["batch_particles"], &result["shuffle"]), (&20.into(), &true.into()));
    assert_eq!(result["curve"][2]["step"], 10);
    let result = train(
        "--network shallow --lambda 0.5 --sigma 0.3 --alpha inf --dt 0.05 --diffusion isotropic --scheme drift-first \
         --init uniform:-1,1 --kick off --update partial --reduction on",
    );
    for (key, value) in [
        ("sigma", "0.3"),
        ("alpha", "inf"),
        ("diffusion", "isotropic"),
        ("scheme", "drift-first"),
        ("init", "uniform:-1.0,1.0"),
        ("kick", "off"),
        ("update", "partial"),
    ] {
        assert_eq!(result[key], value, "{key}");
    }
    assert_eq!((&result["lambda"], &result["dt"]), (&0.5.into(), &0.05.into()));
}

#[test]
fn what_makes_no_sense_is_refused_in_one_sentence() {
    let refused = |arguments: &str, parts: &[&str]| assert_usage(&words(&format!("{SHORT} {arguments}")), parts);
    refused("--epochs 0", &["epochs = 0", "at least 1"]);
    refused("--batch-data 60", &["batch-data = 60", "1000", "50 does"]);
    refused("--batch-data 0", &["batch-data = 0"]);
    refused("--batch-particles 33", &["batch-particles = 33", "must divide the number of particles, 100"]);
    refused("--particles 0", &["particles = 0"]);
    refused("--dt 0", &["dt = 0"]);
    refused("--threads 100000", &["threads = 100000", "at most 1024"]);
    refused("--sigma -1", &["sigma = -1"]);
    refused("--init file:points.csv", &["init = file:points.csv", "normal:MEAN,VARIANCE"]);
    refused("--network dense", &["network text, layer 1", "`dense 10`"]);
    refused("--network dance", &["dance"]);
    refused("--network relu", &["784 outputs"]);
    assert_usage(&network("dense 9", ""), &["9 outputs", "10 classes"]);
    assert_usage(&network("pool 5, dense 10", ""), &["layer 1 (pool 5)", "1@28x28"]);
    refused("--data no/such/folder", &["no/such/folder", "four IDX files"]);
    refused("--dataset fashion", &["dataset = fashion", "cbo mnist fetch --dataset fashion"]);
    refused("--batch-data 1", &["at least 2 images"]);
}

#[test]
fn bad_data_and_bad_models_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbo-problems/data");
    let names =
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];
    let good = || {
        for name in names {
            fs::copy(source.join(format!("{name}.gz")), folder.path().join(format!("{name}.gz"))).expect("copied");
        }
    };
    let out = folder.path().join("out");
    let refused = |parts: &[&str]| {
        let line = format!("{SHORT} --data {} --out {}", path(folder.path()), path(&out));
        assert_usage(&words(&line), parts);
        assert!(!out.exists(), "nothing is written");
    };
    refused(&["has no file `train-images-idx3-ubyte`"]);
    good();
    let labels = folder.path().join("train-labels-idx1-ubyte.gz");
    fs::copy(folder.path().join("t10k-labels-idx1-ubyte.gz"), &labels).expect("copied");
    refused(&["500 labels", "1000 images"]);
    fs::copy(folder.path().join("train-images-idx3-ubyte.gz"), &labels).expect("copied");
    refused(&["train-labels-idx1-ubyte.gz", "magic number 0x00000803"]);
    let bytes = fs::read(source.join("train-labels-idx1-ubyte.gz")).expect("a file");
    fs::write(&labels, &bytes[..bytes.len() / 2]).expect("written");
    refused(&["train-labels-idx1-ubyte.gz", "cannot be unpacked"]);

    let model = folder.path().join("model.safetensors");
    fs::write(&model, b"not a model").expect("written");
    assert_usage(&words(&format!("mnist eval {}", path(&model))), &["model.safetensors", "safetensors file"]);
    // As many numbers as a digit, but not a digit.
    let network = Network::parse("dense 10", Shape::Maps { maps: 4, height: 14, width: 14 }).expect("a network");
    let other = Model { parameters: vec![0.0; 7850], network, statistics: vec![], notes: Default::default() };
    fs::write(&model, other.to_bytes().expect("a model")).expect("written");
    assert_usage(&words(&format!("mnist eval {} --quiet", path(&model))), &["4@14x14", "1@28x28"]);
    assert_usage(&words("mnist eval no-such-file"), &["no-such-file", "cbo mnist train --out"]);
}
