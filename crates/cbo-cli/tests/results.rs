//! What a run prints and writes, and that it is the same whatever way it was asked for.

use crate::common::{assert_usage, cbo, command, object, path, result, stderr, stdout, words};
use serde_json::Value;
use std::fs;

#[test]
fn the_json_object_has_every_key() {
    let value = object(&words("minimize rastrigin --dim 3 --method cbo --steps 20 --alpha inf --seed 5 --json"));
    for key in "objective dim x value consensus consensus_value evaluations failed_evaluations steps time stop alpha seed seconds \
                infeasible_evaluations minimum distance particles precision threads instruction_set sigma"
        .split_whitespace()
    {
        assert!(value.get(key).is_some(), "{key} is missing");
    }
    assert_eq!(value["x"].as_array().expect("a point").len(), 3);
    assert_eq!(value["consensus"].as_array().expect("a point").len(), 3);
    assert_eq!((&value["dim"], &value["seed"], &value["steps"]), (&Value::from(3), &Value::from(5), &Value::from(20)));
    assert_eq!(value["stop"], "steps");
    assert_eq!(value["alpha"], "inf"); // JSON has no infinity
    let evaluations = value["particles"].as_u64().expect("a number") * 21 + 1;
    assert_eq!(value["evaluations"], evaluations);
}

/// 10 particles at 4 times and the consensus point; with central differences two evaluations for each coordinate more.
#[test]
fn gradients_of_built_in_functions_take_no_evaluations() {
    let settings = "--method memory:gradient=0.1 --steps 3 --particles 10 --json";
    let spent = |what: &str, key: &str| object(&words(&format!("{what} --dim 3 {settings}")))[key].as_f64();
    assert_eq!(spent("minimize rastrigin", "evaluations"), Some(41.0));
    assert_eq!(spent("success rastrigin --runs 3", "median_evaluations"), Some(41.0));
    assert_eq!(spent("minimize --formula sum(x^2) --bounds -2,2", "evaluations"), Some(281.0));
}

#[test]
fn lines_for_people_say_the_same() {
    let output = words("minimize sphere --dim 2 --method cbo --steps 300 --target 1e-3");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    let text = stdout(&output);
    for part in [
        "sphere in 2 dimensions",
        "best value",
        "consensus",
        "nearest minimiser",
        "evaluations",
        "the target value is reached",
        "seconds",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn instruction_sets_do_not_change_a_bit() {
    for line in [
        "minimize rastrigin --dim 20 --max-evaluations 3000",
        "minimize rastrigin --dim 4 --method cbo --diffusion isotropic --precision f32 --steps 200 --quiet",
    ] {
        let arguments: Vec<&str> = line.split(' ').chain(["--json"]).collect();
        let on = |set: &str| {
            let mut value = result(&command(&arguments).env("CBO_SIMD", set).output().expect("the program starts"));
            assert_eq!(value["instruction_set"], set);
            value.as_object_mut().expect("an object").remove("instruction_set");
            value
        };
        let portable = on("portable");
        for set in cbo::simd::available() {
            assert_eq!(on(set.name()), portable, "{line} on {set}");
        }
    }
}

#[test]
fn threads_do_not_change_a_bit() {
    for precision in ["f32", "f64"] {
        // 2 000 particles in 16 dimensions are worth threads; the second is a mini-batch run.
        for run in ["--particles 2000 --steps 40", "--particles 4000 --batch 2000 --steps 40 --update full --kick 1e-3"]
        {
            let line =
                format!("minimize rastrigin --dim 16 --method cbo {run} --precision {precision} --json --threads");
            let one = result(&words(&format!("{line} 1")));
            assert!(one["value"].as_f64().expect("a value") > 0.0);
            for threads in [2, 3, 8] {
                assert_eq!(result(&words(&format!("{line} {threads}"))), one, "{line} {threads}");
            }
        }
    }
}

#[test]
fn a_config_file_equals_flags() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("run.toml");
    fs::write(folder.path().join("start.csv"), "1,2\n-2,1\n0.5,0.25\n3,3\n").expect("written");
    fs::write(folder.path().join("box.csv"), "-4,4\n-5,5\n").expect("written");
    let contents = "objective = 'rastrigin'\ndim = 2\namplitude = 10\nshift = [0.5, -1]\nrotate = 3\ninit = 'file:start.csv'\n\
                    bounds = 'box.csv'\nbound_handling = 'clip'\nsteps = 30\ndt = 0.05\nlambda = 1.5\nsigma = 'geometric:0.9,0.99,0.1'\n\
                    alpha = 'log:20,epoch'\ndiffusion = 'isotropic'\nscheme = 'drift_first'\nbatch = 2\nupdate = 'partial'\nkick = 1e-4\n\
                    epoch-steps = 3\nseed = 9\nprecision = 'f32'\nstrict = true\njson = true\nquiet = true\n";
    fs::write(&file, contents).expect("written");
    let start = format!("file:{}", path(&folder.path().join("start.csv")));
    let walls = folder.path().join("box.csv");
    let flags = format!(
        "minimize rastrigin --dim 2 --amplitude 10 --shift 0.5,-1 --rotate 3 --init {start} --bounds {} --bound-handling clip \
         --steps 30 --dt 0.05 --lambda 1.5 --sigma geometric:0.9,0.99,0.1 --alpha log:20,epoch --diffusion isotropic \
         --scheme drift-first --batch 2 --update partial --kick 1e-4 --epoch-steps 3 --seed 9 --precision f32 --strict --json --quiet",
        path(&walls)
    );
    let from_flags = result(&words(&flags));
    assert_eq!(from_flags["particles"], 4); // as many as points
    assert_eq!(result(&cbo(&["minimize", "--config", path(&file)])), from_flags);
    // The command line wins over the file, also with the function.
    let other = result(&cbo(&["minimize", "--config", path(&file), "--seed", "10"]));
    assert_eq!(other, result(&words(&format!("{flags} --seed 10"))));
    assert_ne!(other, from_flags);
    let sphere = cbo(&["minimize", "ackley", "--config", path(&file), "--amplitude", "1"]);
    assert!(stderr(&sphere).contains("ackley has no parameter"), "{}", stderr(&sphere));
    // A boolean of the file can be taken back.
    let loud = cbo(&["minimize", "--config", path(&file), "--json=false"]);
    assert!(stdout(&loud).starts_with("minimised"), "{}", stdout(&loud));
}

#[test]
fn a_run_folder_is_complete_and_repeats_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let points = folder.path().join("start.csv");
    fs::write(&points, "x,y\n0.1,2\n-2,0.3333333333333333\n0.5,0.25\n3,3\n").expect("written");
    let runs = [
        "rastrigin --dim 4 --steps 30 --rotate 7 --shift 0.25,0.25,0.25,0.25 --alpha ess:0.2 --sigma log:0.8,epoch --seed 18446744073709551615"
            .to_string(),
        "eggholder --time 3 --dt 0.1 --precision f32 --kick 1e-3 --target -1e9 --particles 60 --batch 20 --reduction on".to_string(),
        "michalewicz --dim 3 --steps 20 --shift random --rotate random --seed 4 --freeze minimiser --bounds off --init normal:1;1.5;2,0.1"
            .to_string(),
        format!("himmelblau --steps 20 --init file:{} --strict --max-evaluations 1e6 --stagnation 1000", path(&points)),
    ];
    for (index, run) in runs.iter().enumerate() {
        let out = folder.path().join(format!("run-{index}/deep"));
        let first = words(&format!("minimize {run} --json --quiet --out {}", path(&out)));
        let first = (object(&first), result(&first));
        for file in ["config.toml", "result.json", "history.csv", "energy.svg", "energy.png"] {
            assert!(out.join(file).metadata().expect(file).len() > 100, "{file} of {run}");
        }
        let written: Value = serde_json::from_slice(&fs::read(out.join("result.json")).expect("read")).expect("JSON");
        assert_eq!(written, first.0);
        let config = out.join("config.toml");
        let again = result(&cbo(&["minimize", "--config", path(&config), "--json", "--quiet"]));
        assert_eq!(again, first.1, "{run}");
        // Into the same folder, which must be meant: the run stays the same, and the old one is kept.
        let before = fs::read_to_string(&config).expect("read");
        let line = ["minimize", "--config", path(&config), "--json", "--quiet", "--out", path(&out), "--force"];
        assert_usage(&cbo(&line[..7]), &["already holds a run", "cbo resume", "--force"]);
        assert_eq!(result(&cbo(&line)), first.1, "{run}");
        let old = fs::read_to_string(out.join("replaced-1/config.toml"));
        assert_eq!(old.expect("the old one"), before);
        assert_eq!(fs::read_to_string(&config).expect("read"), before);
        let left: Vec<_> = fs::read_dir(&out).expect("read").map(|e| e.expect("an entry").file_name()).collect();
        assert!(left.iter().all(|n| !n.to_string_lossy().starts_with('.')), "temporary files in {left:?}");
    }
}

#[test]
fn the_history_has_a_line_a_step() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("history.csv");
    let value =
        object(&words(&format!("minimize sphere --dim 2 --method cbo --steps 25 --json --history {}", path(&file))));
    let text = fs::read_to_string(&file).expect("read");
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        rows[0].join(","),
        "step,time,evaluations,best,least,alpha,sigma,effective_sample_size,spread,consensus_1,consensus_2"
    );
    assert_eq!(rows.len(), 27); // names, and steps 0 to 25
    assert!(rows.iter().all(|row| row.len() == 11));
    assert_eq!((rows[1][0], rows[26][0]), ("0", "25"));
    let best: Vec<f64> = rows[1..].iter().map(|row| row[3].parse().expect("a number")).collect();
    assert!(best.windows(2).all(|w| w[1] <= w[0]));
    assert!(best[25] >= value["value"].as_f64().expect("a value"));
}

#[test]
fn infeasible_and_failed_points_are_counted() {
    // A rotation takes parts of the box out of the domain.
    let value = object(&words("minimize eggholder --rotate 1 --method cbo --steps 5 --json --strict"));
    assert!(value["infeasible_evaluations"].as_u64().expect("a count") > 0);
    assert_eq!(value["failed_evaluations"], 0);
    // Within the domain nothing is infeasible.
    let value = object(&words("minimize eggholder --method cbo --steps 5 --json"));
    assert_eq!(value["infeasible_evaluations"], 0);
    // Noise beyond all numbers makes positions that are none.
    let line = "minimize rastrigin --dim 2 --method cbo --sigma 1e200 --dt 1 --steps 10 --json --quiet";
    let value = object(&words(line));
    assert!(value["failed_evaluations"].as_u64().expect("a count") > 0);
    let strict = words(&format!("{line} --strict"));
    let salvaged: Value = serde_json::from_str(&stdout(&strict)).expect("what it had found");
    assert_eq!((strict.status.code(), &salvaged["stop"]), (Some(1), &Value::from("failed")));
    assert!(stderr(&strict).contains("step ") && stderr(&strict).contains("particle "), "{}", stderr(&strict));
}

#[test]
fn instability_is_warned_of() {
    let line = "minimize sphere --dim 3 --method cbo --steps 5 --lambda 1 --dt 0.1 --diffusion isotropic --scheme euler-maruyama";
    let warned = words(&format!("{line} --sigma 3 --json"));
    assert_eq!(warned.status.code(), Some(0));
    let text = stderr(&warned);
    for part in ["warning: ", "sigma = 3: the swarm cannot contract", "isotropic noise", "sigma below 1."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(serde_json::from_str::<Value>(&stdout(&warned)).is_ok());
    assert_eq!(stderr(&words(&format!("{line} --sigma 3 --quiet"))), "");
    assert_eq!(stderr(&words(&format!("{line} --sigma 0.9"))), "", "beyond the mean square alone");
    // One rule for the default and for what is given.
    for sigma in ["", "--sigma 2", "--sigma 3", "--sigma 3.5"] {
        assert_eq!(stderr(&words(&format!("minimize sphere --dim 3 --method cbo --steps 5 {sigma}"))), "", "{sigma}");
    }
    let tiny = stderr(&words("minimize sphere --dim 2 --method cbo --steps 5 --dt 1e-17"));
    assert_eq!(tiny.lines().count(), 1, "{tiny}");
    assert!(tiny.contains("dt = 1e-17: there is no drift") && !tiny.contains("between 0 and 2"), "{tiny}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_run_with_its_result() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let arguments = [
        "minimize",
        "rastrigin",
        "--dim",
        "2",
        "--steps",
        "1e15",
        "--stagnation",
        "off",
        "--diameter",
        "off",
        "--target",
        "off",
        "--json",
        "--out",
        path(&out),
    ];
    let child = command(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    // Signals are caught before the folder is made.
    while !out.exists() {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let sent = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status().expect("a shell");
    assert!(sent.success());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let value: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    assert_eq!(value["stop"], "interrupt");
    assert!(value["value"].is_number());
    assert!(out.join("result.json").exists());
}

#[test]
fn a_closed_stdout_is_no_fault() {
    for line in
        [&["list"][..], &["minimize", "sphere", "--dim", "2", "--max-evaluations", "9"], &["minimize", "--help"]]
    {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(line).stdout(writer).output().expect("the program starts");
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""), "{line:?}");
    }
}

#[test]
fn help_has_examples_and_the_engines_defaults() {
    let defaults = cbo::CboConfig::default();
    for command in ["minimize", "success", "list"] {
        let output = cbo(&[command, "--help"]);
        assert_eq!(output.status.code(), Some(0));
        assert!(stdout(&output).contains("Examples:\n  cbo "), "{command}");
        if command != "list" {
            let flat = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&format!("one per point] [default: {}]", defaults.particles)), "{flat}");
            assert!(flat.contains(&format!("Time step [default: {:?}]", defaults.dt)), "{flat}");
        }
    }
    assert!(stdout(&cbo(&["--version"])).starts_with("cbo 0."));
    assert!(stdout(&cbo(&["--help"])).contains("Examples:"));
    assert_eq!(cbo(&[]).status.code(), Some(2));
}

#[test]
fn bench_reports_the_step_beside_its_floors() {
    let output = cbo(&["bench", "--particles", "64", "--dim", "4", "--threads", "2", "--seconds", "0.02", "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON object");
    let rows = report["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 4, "two kinds of noise, two precisions");
    for row in rows {
        let number = |key: &str| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}"));
        assert!(number("step") > 0.0 && number("normals") > 0.0 && number("memory") > 0.0, "{row}");
        assert!((number("ratio") - number("step") / number("normals").max(number("memory"))).abs() < 1e-9, "{row}");
        assert!(number("run_milliseconds") > 0.0);
    }
}
