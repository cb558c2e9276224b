//! The method auto, the default: how it is chosen, what it prints and keeps, and that its runs can be resumed.

use crate::common::folders::Finished;
use crate::common::{assert_usage, cbo, object, path, read_png, result, stderr, stdout, words};
use std::fs;

#[test]
fn it_is_the_default_unless_a_setting_of_the_dynamics_is_given() {
    let value = object(&words("minimize rosenbrock --dim 2 --max-evaluations 400 --json"));
    assert_eq!((&value["method"], &value["evaluations"]), (&"auto".into(), &400.into()));
    assert_eq!((&value["stop"], &value["consensus_value"]), (&"evaluations".into(), &"nan".into()));
    assert!(value.get("particles").is_none() && value["phases"].is_array() && value.get("explanation").is_none());
    assert!(value["message"].as_str().expect("a sentence").ends_with('.'));
    let explicit = words("minimize rosenbrock --dim 2 --max-evaluations 400 --json --method auto");
    assert_eq!(result(&explicit), result(&words("minimize rosenbrock --dim 2 --max-evaluations 400 --json")));
    // `off` sets nothing.
    let off = words(
        "minimize rosenbrock --dim 2 --max-evaluations 400 --json --kick off --steps off --batch off --freeze off",
    );
    assert_eq!(result(&off), result(&explicit));
    for flag in [
        "--particles 40",
        "--lambda 1",
        "--sigma 3",
        "--alpha inf",
        "--dt 0.1",
        "--diffusion anisotropic",
        "--scheme euler-maruyama",
        "--kick 1e-3",
        "--freeze minimiser",
        "--epoch-steps 3",
        "--reduction on",
        "--steps 5",
        "--time 0.5",
        "--diameter 1",
    ] {
        let name = flag.split(' ').next().expect("a flag");
        let line = format!("minimize sphere --dim 2 {flag} --max-evaluations 1000");
        let output = words(&format!("{line} --json"));
        let note = format!("note: {name} is a setting of method cbo, which is used; --method auto needs none\n");
        assert_eq!((output.status.code(), stderr(&output).starts_with(&note)), (Some(0), true), "{}", stderr(&output));
        assert!(stdout(&output).contains("\"method\":\"cbo\""));
        assert_eq!(stderr(&words(&format!("{line} --quiet"))), "");
    }
    let note = stderr(&words("success sphere --dim 2 --runs 2 --steps 5"));
    assert!(note.starts_with("note: --steps is a setting of method cbo"), "{note}");
}

#[test]
fn settings_of_the_dynamics_are_refused_with_it() {
    assert_usage(&words("minimize sphere --dim 2 --method auto --sigma 1"), &["sigma = 1", "method cbo"]);
    assert_usage(
        &words("minimize sphere --dim 2 --method auto --steps 9"),
        &["steps = 9", "max_evaluations", "method cbo"],
    );
    assert_usage(&words("minimize sphere --dim 2 --max-evaluations 0"), &["max-evaluations = 0", "at least 1"]);
    assert_usage(&words("minimize sphere --dim 2 --batch 0"), &["batch = 0", "at least 1"]);
    assert_usage(
        &words("minimize sphere --dim 2 --local --method memory"),
        &["local = true", "only method auto", "memory"],
    );
    assert_usage(&words("minimize sphere --dim 2 --local --sigma 1"), &["local = true", "only method auto", "cbo"]);
    assert_usage(&words("minimize sphere --dim 2 --method auto:global=true"), &["not a setting of auto"]);
    assert_usage(&words("minimize sphere --dim 2 --certify --method auto"), &["certify"]);
}

#[test]
fn a_file_chooses_as_flags_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    let run = |text: &str, more: &[&str]| {
        fs::write(&file, text).expect("written");
        cbo(&[&["minimize", "--config", path(&file), "--json"], more].concat())
    };
    let plain = "objective = 'sphere'\ndim = 2\nmax-evaluations = 900\nlocal = true\n";
    assert_eq!(object(&run(plain, &[]))["method"], "auto:local=true");
    assert_eq!(object(&run(plain, &["--local=false"]))["method"], "auto");
    let output = run("objective = 'sphere'\ndim = 2\nmax-evaluations = 900\nsigma = 1\n", &[]);
    assert!(stderr(&output).contains("sigma in ") && stderr(&output).contains("run.toml is a setting of method cbo"));
}

#[test]
fn any_budget_is_kept() {
    for budget in [1, 2, 7, 40] {
        let value = object(&words(&format!("minimize rastrigin --dim 5 --max-evaluations {budget} --json")));
        assert_eq!(value["evaluations"], budget);
    }
}

#[test]
fn people_are_told_why_it_ended_and_what_it_saw() {
    let output = words("minimize rosenbrock --dim 2 --max-evaluations 300 --explain");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let text = stdout(&output);
    for part in ["rosenbrock in 2 dimensions\n", "rounds. The 300 evaluations allowed are spent.", "distance", "\n\n"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let table = text.split("\n\n").next().expect("a table");
    assert!(!table.contains("particles") && !table.contains("consensus    "), "{table}");
    let value = object(&words("minimize rosenbrock --dim 2 --max-evaluations 300 --explain --json"));
    assert!(value["explanation"].is_array());
    let swarm = stdout(&words("minimize sphere --dim 2 --method cbo --steps 3 --explain"));
    assert!(swarm.contains("only the method auto decides"), "{swarm}");
}

#[test]
fn threads_precision_and_rounds() {
    let line = "minimize rosenbrock --dim 4 --max-evaluations 800 --batch 16 --json";
    let one = result(&words(&format!("{line} --threads 1")));
    for threads in [2, 5] {
        assert_eq!(result(&words(&format!("{line} --threads {threads}"))), one);
    }
    assert_eq!(object(&words(&format!("{line} --precision f32")))["precision"], "f32");
}

#[test]
fn a_run_folder_repeats_the_run_and_resumes_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = |name: &str, budget: u32| {
        let out = folder.path().join(name);
        object(&words(&format!(
            "minimize rosenbrock --dim 3 --seed 5 --max-evaluations {budget} --json --out {}",
            path(&out)
        )));
        out
    };
    let whole = begin("whole", 700);
    for file in ["config.toml", "result.json", "history.csv", "energy.svg", "energy.png"] {
        assert!(whole.join(file).metadata().expect(file).len() > 100, "{file}");
    }
    let config = fs::read_to_string(whole.join("config.toml")).expect("settings");
    assert!(
        config.contains("method = \"auto\"") && !config.contains("sigma") && !config.contains("particles"),
        "{config}"
    );
    let again = result(&cbo(&["minimize", "--config", path(&whole.join("config.toml")), "--json"]));
    let written: serde_json::Value =
        serde_json::from_slice(&fs::read(whole.join("result.json")).expect("read")).expect("JSON");
    assert_eq!((&again["value"], &again["x"]), (&written["value"], &written["x"]));
    // Resumed at its end it is the same; with more evaluations it goes on; the checkpoint holds what it was told.
    let before = Finished::read(&whole);
    object(&cbo(&["resume", path(&whole), "--json"]));
    assert_eq!(Finished::read(&whole), before);
    let short = begin("short", 300);
    let longer = object(&cbo(&["resume", path(&short), "--max-evaluations", "+400", "--json"]));
    assert_eq!(longer["evaluations"], 700);
    assert_usage(&cbo(&["resume", path(&short), "--steps", "+10"]), &["steps", "max_evaluations"]);
    assert!(stdout(&cbo(&["runs", "show", path(&short)])).contains("method auto"));
}

#[test]
fn pictures_have_evaluations_on_their_axis() {
    let folder = tempfile::tempdir().expect("a folder");
    let (svg, frames) = (folder.path().join("run.svg"), folder.path().join("frames"));
    let line = format!("minimize rosenbrock --dim 2 --max-evaluations 60 --json --plot {}", path(&svg));
    object(&words(&format!("{line} --animate {}", path(&frames))));
    let text = fs::read_to_string(&svg).expect("a picture");
    for part in ["evaluations", "energy above the minimum", "size of steps", "minimiser"] {
        assert!(text.contains(part), "{part}");
    }
    let (width, height, _) = read_png(&frames.join("frame-0003.png"));
    assert_eq!(width, height);
}

#[cfg(unix)]
#[test]
fn rounds_have_points_for_all_workers() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = |name: &str, more: &[&str]| {
        let out = folder.path().join(name);
        let program = "awk 'BEGIN { print (ARGV[1] - 1)^2 + ARGV[2]^2 }' {x}";
        let line = ["minimize", "--command", program, "--dim", "2", "--bounds", "-3,3", "--max-evaluations", "60"];
        object(&cbo(&[&line[..], &["--json", "--quiet", "--out", path(&out)], more].concat()));
        fs::read_to_string(out.join("config.toml")).expect("settings")
    };
    assert!(run("one", &[]).contains("batch = \"off\""));
    assert!(run("four", &["--workers", "4"]).contains("batch = 4\n"));
    assert!(run("eight", &["--workers", "4", "--batch", "8"]).contains("batch = 8\n"));
    let out = folder.path().join("four");
    let more = object(&cbo(&["resume", path(&out), "--workers", "6", "--max-evaluations", "+30", "--json", "--quiet"]));
    assert_eq!(more["evaluations"], 90);
}

#[cfg(unix)]
#[test]
fn as_many_workers_as_you_like_give_the_same_run() {
    let program = "awk 'BEGIN { print (ARGV[1] - 1)^2 + (ARGV[2] - ARGV[1]^2)^2 }' {x}";
    let line = ["minimize", "--command", program, "--dim", "2", "--bounds", "-3,3", "--max-evaluations", "60"];
    let run = |workers: &str| {
        result(&cbo(&[&line[..], &["--batch", "5", "--json", "--quiet", "--workers", workers]].concat()))
    };
    let one = run("1");
    assert_eq!((run("2"), run("5")), (one.clone(), one));
}
