//! `cbo compare` and `--judge`: the same numbers for all methods, whatever the threads; tables, files and pictures of them.

use crate::common::{assert_usage, object, path, read_png, stderr, stdout, words};
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const FILES: [&str; 8] =
    ["compare.json", "compare.png", "compare.svg", "curves.csv", "runs.csv", "table.csv", "targets.csv", "tests.csv"];

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().expect("text")).collect();
    names.sort();
    names
}

/// The rows of a CSV file by the names of its columns; no cell here holds a comma that is not quoted.
fn rows(file: &Path) -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(file).expect("a file");
    let cells = |line: &str| {
        let mut cells = vec![String::new()];
        let mut quoted = false;
        for letter in line.chars() {
            match letter {
                '"' => quoted = !quoted,
                ',' if !quoted => cells.push(String::new()),
                letter => cells.last_mut().expect("a cell").push(letter),
            }
        }
        cells
    };
    let mut lines = text.lines().map(cells);
    let head = lines.next().expect("a head");
    lines
        .map(|line| {
            assert_eq!(line.len(), head.len(), "{line:?}");
            head.iter().cloned().zip(line).collect()
        })
        .collect()
}

#[test]
fn methods_stand_side_by_side() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("results");
    let line = "compare rastrigin sphere --dim 3 --shift random --rotate random --runs 8 --max-evaluations 3000 --seed 4 \
                --methods auto,cbo,memory:drift=0.5,beta=100,pso,particles=20,random --json --quiet";
    let output = words(&format!("{line} --out {}", path(&folder)));
    let value = object(&output);
    let methods = ["auto", "cbo", "memory:drift=0.5,beta=100.0", "pso:particles=20", "random"];
    assert_eq!(value["methods"], serde_json::json!(methods));
    assert_eq!((&value["runs"], &value["seed"], &value["judge"]), (&8.into(), &4.into(), &"best".into()));
    let problems = value["problems"].as_array().expect("problems");
    assert_eq!(problems.len(), 2);
    for problem in problems {
        assert_eq!(
            (&problem["dim"], &problem["max_evaluations"], &problem["runs"]),
            (&3.into(), &3000.into(), &8.into())
        );
        let rows = problem["rows"].as_array().expect("rows");
        let mut shown: Vec<&str> = rows.iter().map(|row| row["method"].as_str().expect("a name")).collect();
        let successes: Vec<u64> = rows.iter().map(|row| row["successes"].as_u64().expect("a count")).collect();
        assert!(successes.is_sorted_by(|a, b| a >= b), "the best first: {successes:?}");
        shown.sort_unstable();
        assert_eq!(shown, methods);
        assert_eq!(problem["tests"].as_array().expect("tests").len(), 10);
        assert_eq!(problem["targets"].as_array().expect("targets").len(), 41);
    }
    // The same runs as those of `cbo success`.
    let success = "success rastrigin --dim 3 --shift random --rotate random --runs 8 --max-evaluations 3000 --seed 4 --method cbo \
                   --json --quiet --verbose";
    let alone = object(&words(success));
    let row = problems[0]["rows"].as_array().expect("rows").iter().find(|row| row["method"] == "cbo").expect("cbo");
    assert_eq!((&row["successes"], &row["median_value"]), (&alone["successes"], &alone["median_value"]));
    // The files have the same numbers.
    assert_eq!(names(&folder), FILES);
    assert_eq!(fs::read_to_string(folder.join("compare.json")).expect("a file"), stdout(&output));
    let runs = rows(&folder.join("runs.csv"));
    assert_eq!(runs.len(), 2 * 5 * 8);
    let outcomes = alone["outcomes"].as_array().expect("outcomes");
    let of_cbo = runs.iter().filter(|run| run["function"] == "rastrigin" && run["method"] == "cbo");
    for (run, outcome) in of_cbo.zip(outcomes) {
        let number = |key: &str| run[key].parse::<f64>().expect("a number");
        assert_eq!(Some(number("value")), outcome["value"].as_f64());
        assert_eq!(Some(number("distance")), outcome["distance"].as_f64());
        assert_eq!(Some(number("seed") as u64), outcome["seed"].as_u64());
        let at: Option<u64> = run["success_at"].parse().ok();
        assert_eq!(run["success"] == "true", at.is_some());
        assert!(at.is_none_or(|at| at <= 3000));
    }
    assert!(runs.iter().any(|run| run["method"] == "memory:drift=0.5,beta=100.0"));
    assert_eq!(rows(&folder.join("targets.csv")).len(), 2 * 5 * 8 * 41);
    assert_eq!(rows(&folder.join("tests.csv")).len(), 2 * 10);
    assert_eq!(rows(&folder.join("table.csv")).len(), 2 * 5);
    let curves = rows(&folder.join("curves.csv"));
    assert!(curves.iter().all(|point| {
        let [low, reached, high] =
            ["low", "targets_reached", "high"].map(|key| point[key].parse::<f64>().expect("a number"));
        low <= reached && reached <= high && high <= 1.0
    }));
    // A comparison may be repeated in its folder, and gives the same.
    let before: Vec<Vec<u8>> = FILES.iter().map(|name| fs::read(folder.join(name)).expect("a file")).collect();
    for threads in [1, 3] {
        let again = words(&format!("{line} --threads {threads} --out {}", path(&folder)));
        assert_eq!(stdout(&again), stdout(&output));
        let after: Vec<Vec<u8>> = FILES.iter().map(|name| fs::read(folder.join(name)).expect("a file")).collect();
        assert!(before == after, "with {threads} threads");
    }
    picture(
        &folder,
        &["auto", "cbo", "memory:drift=0.5,beta=100.0", "pso:particles=20", "random", "rastrigin", "sphere"],
    );
}

/// The picture shows everyone.
fn picture(folder: &Path, words: &[&str]) {
    let svg = fs::read_to_string(folder.join("compare.svg")).expect("a picture");
    for word in words.iter().chain(&["evaluations", "targets reached"]) {
        assert!(svg.contains(word), "{word}");
    }
    let (width, height, colours) = read_png(&folder.join("compare.png"));
    assert!(width > 1500 && height > 700, "{width} x {height}");
    for colour in [[0x00, 0x72, 0xB2], [0xD5, 0x5E, 0x00], [0x00, 0x9E, 0x73]] {
        assert!(colours.contains(&colour), "{colour:?}");
    }
    assert!(fs::metadata(folder.join("compare.png")).expect("a file").len() < 150_000);
}

#[test]
fn a_table_for_people_and_nothing_else() {
    let place = tempfile::tempdir().expect("a folder");
    let line = "compare sphere --dim 2 --methods cbo,pso,random --particles 20 --runs 6 --max-evaluations 600";
    let output = crate::common::command(&line.split_whitespace().collect::<Vec<_>>())
        .current_dir(place.path())
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    for part in [
        "sphere in 2 dimensions: 6 runs of 600 evaluations",
        "method",
        "pso",
        "Wilcoxon's signed rank test",
        "Holm's correction",
        "95 % Wilson interval, seeds 0 to 5",
        "nearer than 0.25 to a minimiser",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(stderr(&output), "note: pso and random run without particles, which they do not have\n");
    assert!(names(place.path()).is_empty(), "nothing is written");
    // Without notes.
    assert_eq!(stderr(&words(&format!("{line} --quiet"))), "");
}

#[test]
fn settings_are_for_the_methods_that_have_them() {
    let line =
        "--methods auto,cbo,memory,de --sigma 0.7 --particles 30 --stagnation 5 --runs 3 --max-evaluations 900 --json";
    let output = words(&format!("compare ackley --dim 2 {line}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(
        value["without"],
        serde_json::json!({"particles": ["auto", "de"], "sigma": ["auto", "de"], "stagnation": ["de"]})
    );
    let said = stderr(&output);
    assert!(said.contains("note: auto and de run without sigma, which they do not have"), "{said}");
    assert!(said.contains("note: de runs without stagnation, which it does not have"), "{said}");
    // They make a difference to those who have them, and none to the others.
    let median = |line: &str, method: &str| {
        let value = object(&words(line));
        let rows = value["problems"][0]["rows"].as_array().expect("rows").clone();
        rows.iter().find(|row| row["method"] == method).expect("a row")["median_value"].clone()
    };
    let plain = "compare ackley --dim 2 --methods auto,cbo,de --runs 3 --max-evaluations 900 --json --quiet";
    let with = format!("{plain} --sigma 0.7");
    assert_ne!(median(plain, "cbo"), median(&with, "cbo"));
    assert_eq!(median(plain, "auto"), median(&with, "auto"));
    assert_eq!(median(plain, "de"), median(&with, "de"));
}

#[test]
fn the_judge_may_look_at_the_consensus_point() {
    let line = "compare rastrigin --dim 2 --methods auto,cbo,pso --alpha 1 --particles 20 --runs 5 --max-evaluations 300 --json";
    let best = words(&format!("{line} --quiet"));
    let output = words(&format!("{line} --judge consensus"));
    assert!(stderr(&output).contains("note: auto and pso are judged by the best point"), "{}", stderr(&output));
    let best: serde_json::Value = object(&best);
    let consensus: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(consensus["judge"], "consensus");
    let median = |value: &serde_json::Value, method: &str| {
        let rows = value["problems"][0]["rows"].as_array().expect("rows").clone();
        rows.iter().find(|row| row["method"] == method).expect("a row")["median_value"].as_f64().expect("a number")
    };
    assert!(median(&consensus, "cbo") > median(&best, "cbo"));
    assert_eq!(median(&consensus, "pso"), median(&best, "pso"));
    assert_eq!(median(&consensus, "auto"), median(&best, "auto"));
    // The same for success.
    let line =
        "success rastrigin --dim 2 --method cbo --alpha 1 --particles 20 --runs 5 --max-evaluations 300 --json --quiet";
    let (best, consensus) = (object(&words(line)), object(&words(&format!("{line} --judge consensus"))));
    assert!(consensus["median_value"].as_f64() > best["median_value"].as_f64());
    assert_eq!((&best["judge"], &consensus["judge"]), (&"best".into(), &"consensus".into()));
    assert!(consensus["criterion"].as_str().expect("words").contains("the consensus point"));
    let one = object(&words(
        "minimize rastrigin --dim 2 --method cbo --alpha 1 --particles 20 --max-evaluations 300 --json --quiet",
    ));
    let runs = object(&words(&format!("{line} --judge consensus --verbose")));
    assert_eq!(runs["outcomes"][0]["value"], one["consensus_value"]);
    let auto = words("success sphere --dim 2 --runs 2 --max-evaluations 50 --judge consensus");
    assert!(stderr(&auto).contains("note: method auto evaluates no consensus point"), "{}", stderr(&auto));
    assert!(stdout(&auto).contains("the best point is nearer"));
    let swarm = words("success sphere --dim 2 --runs 2 --method cbo --steps 5 --judge consensus --quiet");
    assert!(stdout(&swarm).contains("the consensus point is nearer"));
}

#[test]
fn baselines_spend_any_budget_and_functions_keep_what_is_theirs() {
    let value =
        object(&words("compare sphere --dim 2 --methods random,nelder-mead --runs 2 --max-evaluations 1 --json"));
    assert_eq!(value["problems"][0]["max_evaluations"], 1);
    // --dim is for those that can have it, --amplitude for rastrigin.
    let line =
        "compare rastrigin himmelblau --dim 4 --amplitude 3 --methods random,pso --runs 2 --max-evaluations 50 --json";
    let value = object(&words(line));
    let dims: Vec<u64> = value["problems"].as_array().expect("two").iter().filter_map(|p| p["dim"].as_u64()).collect();
    assert_eq!(dims, [4, 2]);
    assert_eq!(value["problems"][0]["objective"], "rastrigin (amplitude 3)");
    // In single precision the values differ, a little.
    let single = object(&words(&format!("{line} --precision f32")));
    let median =
        |value: &serde_json::Value| value["problems"][1]["rows"][0]["median_value"].as_f64().expect("a number");
    let near = (median(&single) / median(&value) - 1.0).abs();
    assert!(single["precision"] == "f32" && near > 0.0 && near < 0.01, "{near}");
    // Without a limit there is one for each coordinate.
    let value = object(&words("compare sphere --dim 1 --methods random --runs 1 --json"));
    assert_eq!(value["problems"][0]["max_evaluations"], 10_000);
}

#[test]
fn runs_that_cannot_go_on_are_told() {
    let output = words(
        "compare eggholder --bounds 1e6,2e6 --methods cbo,random --runs 2 --max-evaluations 1000 --particles 10 --quiet",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("4 runs could not continue; the first: cbo, seed 0: "), "{}", stdout(&output));
    assert!(stdout(&output).contains("inf"));
}

#[test]
fn a_file_may_say_everything() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("compare.toml");
    fs::write(
        &file,
        "objective = 'sphere'\ndim = 2\nmethods = 'random,de'\nruns = 2\nmax-evaluations = 60\nout = 'r'\n",
    )
    .expect("a file");
    let value = object(&words(&format!("compare --config {} --runs 3 --json", path(&file))));
    assert_eq!((&value["methods"], &value["runs"]), (&serde_json::json!(["random", "de"]), &3.into()));
    assert_eq!(names(&place.path().join("r")), FILES, "relative to the file");
    fs::write(&file, "objective = 'sphere'\ndim = 2\n\nmethods = 'random,dee'\n").expect("a file");
    assert_usage(
        &words(&format!("compare --config {}", path(&file))),
        &["compare.toml line 4", "`dee` is not a method"],
    );
    fs::write(&file, "objective = 'sphere'\ndim = 2\nlocal = true\n").expect("a file");
    assert_usage(&words(&format!("compare --config {}", path(&file))), &["compare.toml line 3", "auto:local=true"]);
}

#[test]
fn a_folder_of_something_else_is_left_alone() {
    let place = tempfile::tempdir().expect("a folder");
    fs::write(place.path().join("thesis.tex"), "precious").expect("a file");
    let line =
        format!("compare sphere --dim 2 --methods random --runs 1 --max-evaluations 5 --out {}", path(place.path()));
    assert_usage(&words(&line), &["thesis.tex", "is not a comparison"]);
    assert_eq!(names(place.path()), ["thesis.tex"]);
    // An input that would be overwritten is refused, and stays.
    let folder = place.path().join("own");
    fs::create_dir(&folder).expect("a folder");
    let points = folder.join("runs.csv");
    fs::write(&points, "1,2\n3,4\n").expect("a file");
    let line = "compare sphere --dim 2 --methods random --runs 1 --max-evaluations 5";
    let output = words(&format!("{line} --init file:{} --out {}", path(&points), path(&folder)));
    assert_usage(&output, &["runs.csv", "the file of --init", "overwritten"]);
    assert_eq!(fs::read_to_string(&points).expect("a file"), "1,2\n3,4\n");
    // A wrong setting leaves no folder behind.
    let new = place.path().join("new");
    assert_usage(&words(&format!("{line} --tolerance 0 --out {}", path(&new))), &["tolerance = 0"]);
    assert!(!new.exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_the_runs_that_are_complete() {
    use crate::common::folders::{Process, command_of, line};
    use std::process::Stdio;
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("results");
    let mut arguments = line(
        "compare sphere --dim 2 --methods random,de --runs 10000 --max-evaluations 20000 --threads 2 --json --out",
    );
    arguments.push(path(&folder).to_string());
    let child = Process::start(command_of(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    child.signal("INT");
    let output = child.end();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    if output.stdout.is_empty() {
        // A machine that is busy with other things had no time for a run.
        assert!(stderr(&output).contains("ended by a signal before a run was complete"), "{}", stderr(&output));
        return;
    }
    let value: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let complete = value["problems"][0]["runs"].as_u64().expect("a count");
    assert!((1..10_000).contains(&complete), "{complete}");
    assert_eq!(rows(&folder.join("runs.csv")).len() as u64, 2 * complete);
    assert_eq!(names(&folder), FILES);
}

#[test]
fn bad_input_is_named_with_its_remedy() {
    let place = tempfile::tempdir().expect("a folder");
    let baselines = "random, annealing, genetic, programming, ants, pso, de, nelder-mead";
    let cases: &[(&str, &[&str])] = &[
        ("sphere --dim 2 --methods psoo", &["--methods", "`psoo` is not a method", "auto, cbo", baselines]),
        ("sphere --dim 2 --methods beta=1", &["`beta=1` is a setting, but no method stands before it"]),
        ("sphere --dim 2 --methods cbo,cbo", &["cbo is given twice"]),
        ("sphere --dim 2 --methods ,", &["no method is given"]),
        ("sphere --dim 2 --methods pso:swarm=3", &["`swarm` is not a setting of pso", "particles, chi, c"]),
        ("sphere --dim 2 --methods pso,particles=0", &["particles = 0", "whole number from 1"]),
        ("sphere --dim 2 --methods memory:gamma=3", &["`gamma` is not a setting of memory"]),
        ("sphere --dim 2 --method cbo", &["method = cbo", "use --methods cbo"]),
        ("sphere --dim 2 --local", &["local", "auto:local=true"]),
        ("sphere --dim 2 --max-seconds 3", &["max-seconds = 3", "max-evaluations"]),
        ("sphere --dim 2 --max-evaluations 0 --methods pso", &["max-evaluations = 0", "at least 1"]),
        ("sphere --dim 2 --max-evaluations 50 --methods cbo", &["max-evaluations = 50", "first step", "(method cbo)"]),
        ("sphere --dim 2 --runs 0", &["runs = 0", "between 1 and 10000"]),
        ("sphere --dim 2 --runs 10001", &["runs = 10001", "between 1 and 10000"]),
        ("sphere --dim 2 --tolerance -1", &["tolerance = -1", "positive finite"]),
        ("sphere --dim 2 --judge median", &["--judge", "median", "best, consensus"]),
        ("sphere --dim 2 --sigma 2 --methods auto", &["sigma = 2", "method auto needs none"]),
        ("sphere --dim 2 --sigma 3 --methods pso", &["sigma", "the baselines do not have it"]),
        ("sphere --dim 2 --sigma -3 --methods auto,cbo", &["sigma = -3", "positive finite"]),
        ("sphere --dim 2 --stagnation 3 --methods pso", &["stagnation", "the baselines do not have it"]),
        ("sphere --dim 2 --bounds 0,inf --methods pso --init uniform:0,1", &["bounds = 0,inf", "finite box"]),
        ("sphere spheer --dim 2", &["unknown function", "`spheer`", "did you mean `sphere`?"]),
        ("sphere ackley sphere --dim 2", &["function sphere is given twice"]),
        ("sphere ackley", &["dim is missing"]),
        ("sphere ackley --dim 2 --amplitude 3", &["sphere", "amplitude"]),
        ("himmelblau --dim 3", &["dim = 3", "2 dimensions"]),
        ("--dim 3", &["no function given"]),
        ("sphere --dim 2 --threads 100000", &["threads = 100000"]),
    ];
    for (line, parts) in cases {
        println!("{line}");
        let arguments: Vec<&str> = std::iter::once("compare").chain(line.split_whitespace()).collect();
        let output = crate::common::command(&arguments).current_dir(place.path()).output().expect("the program starts");
        assert_usage(&output, parts);
        assert!(names(place.path()).is_empty(), "{line} wrote something");
    }
}
