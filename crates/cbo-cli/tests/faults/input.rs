//! Bad input about programs and folders: exit code 2 and one sentence; nothing is changed.

use crate::common::folders::{begin, contents, finished, line, minimize_program, names, resume};
use crate::common::{assert_usage, cbo, path, stderr};
use std::fs;

#[test]
fn programs_that_cannot_be() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    fs::write(place.path().join("notes.txt"), "").expect("a file");
    let notes = path(&place.path().join("notes.txt")).to_string();
    let good = "--dim 2 --bounds -1,1";
    for (command, words, parts) in [
        ("no-such-program {x}", good, &["command = \"no-such-program {x}\"", "not in PATH"][..]),
        ("./no-such-program {x}", good, &["there is no file ./no-such-program"]),
        (&format!("{notes} {{x}}"), good, &["may not be executed", "chmod +x"]),
        ("sh -c 'echo 1'", good, &["{x} is missing", "protocol json"]),
        ("sh -c 'echo 1' {x}", "--protocol jsonl --dim 2 --bounds -1,1", &["leave {x} out"]),
        ("sh 'a {x}", good, &["a quote is not closed"]),
        ("", good, &["names no program"]),
        ("echo {x}", "--bounds -1,1", &["dim is missing", "--dim 5"]),
        ("echo {x}", "--dim 0 --bounds -1,1", &["dim"]),
        ("echo {x}", "--dim 2", &["bounds is missing", "--bounds -5,5"]),
        ("echo {x}", "--dim 2 --bounds 1,1", &["bounds = 1,1", "low must be below high"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --workers 0", &["workers = 0", "from 1"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --timeout 0", &["timeout = 0", "above 0"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --timeout -1", &["timeout = -1", "above 0"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --retries -1", &["--retries", "-1"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --protocol xml", &["--protocol", "xml", "args, json or jsonl"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --command-folder nowhere", &["command-folder = nowhere"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --shift 1", &["shift", "only benchmark functions"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --certify", &["certify", "known minimiser"]),
        ("echo {x}", "--dim 2 --bounds -1,1 --checkpoint-every -1", &["checkpoint-every = -1", "seconds"]),
        ("echo {x}", "rastrigin --dim 2 --bounds -1,1", &["a function, rastrigin, is also given"]),
    ] {
        let output = begin(&minimize_program(command, words), &folder);
        assert_usage(&output, parts);
        assert!(!folder.exists(), "`{command}` {words}: a refused run leaves no folder");
    }
    let output = begin(&line("minimize rastrigin --dim 2 --workers 2"), &folder);
    assert_usage(&output, &["workers", "--command"]);
}

#[test]
fn folders_that_are_no_runs() {
    let place = tempfile::tempdir().expect("a folder");
    let missing = place.path().join("missing");
    assert_usage(&resume(&missing, ""), &["there is no folder", path(&missing)]);
    assert!(!missing.exists());
    fs::write(place.path().join("thesis.tex"), "").expect("a file");
    let file = place.path().join("thesis.tex");
    assert_usage(&resume(place.path(), ""), &["is not a run folder"]);
    assert_usage(&resume(&file, ""), &["is not a run folder"]);
    let run = line("minimize sphere --dim 2 --steps 3");
    for force in ["", "--force"] {
        let output = begin(&[run.clone(), line(force)].concat(), place.path());
        assert_usage(&output, &["thesis.tex", "is not a run folder", "choose an empty or a new folder"]);
    }
    assert_usage(&begin(&run, &file), &[path(&file)]);
    assert_eq!(names(place.path()), ["thesis.tex"]);
    assert_usage(&cbo(&["resume"]), &["FOLDER"]);
}

#[test]
fn settings_that_cannot_be_read() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    finished(&begin(&line("minimize rastrigin --dim 3 --particles 20 --steps 5"), &folder), &folder);
    for (words, parts) in [
        ("--epochs 3", &["epochs", "training"][..]),
        ("--steps -3", &["--steps", "-3"]),
        ("--max-evaluations x", &["--max-evaluations", "x"]),
        ("--steps 10 --time 3", &["steps", "time"]),
    ] {
        assert_usage(&resume(&folder, words), parts);
    }
    let config = folder.join("config.toml");
    let good = fs::read_to_string(&config).expect("a file");
    for (text, parts) in [
        ("", &["no function given"][..]),
        ("objective = [", &["config.toml line 1"]),
        ("colour = 'red'", &["config.toml line 1", "colour"]),
    ] {
        fs::write(&config, text).expect("a file");
        let output = resume(&folder, "");
        assert_usage(&output, parts);
        assert_eq!(fs::read_to_string(&config).expect("a file"), text, "left alone");
    }
    fs::write(&config, good).expect("a file");
    finished(&resume(&folder, "--steps +2"), &folder);
}

#[test]
fn a_store_that_is_damaged_or_something_else() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let script = place.path().join("oneshot.sh");
    fs::write(&script, "awk 'BEGIN { print ARGV[1]^2 + ARGV[2]^2 }' \"$@\"\n").expect("a file");
    let words = "--dim 2 --bounds -5,5 --particles 20 --steps 5 --seed 19";
    let arguments = minimize_program(&format!("sh {} {{x}}", path(&script)), words);
    let expected = finished(&begin(&arguments, &folder), &folder);
    let store = folder.join("evaluations.sqlite");
    let good = fs::read(&store).expect("a store");
    let mut flipped = good.clone();
    flipped[4096..4300].fill(0xff);
    for (bad, says) in [
        (b"not a database, but long enough to be looked at closely".repeat(20), "is not a store of evaluations"),
        (good[..good.len() / 2 + 100].to_vec(), "is damaged"),
        (flipped, "is damaged"),
    ] {
        fs::write(&store, &bad).expect("a file");
        let before = contents(&folder);
        let output = resume(&folder, "--steps +2");
        assert_usage(&output, &[path(&store), says, "move it away"]);
        assert_eq!(stderr(&output).lines().count(), 1);
        assert!(fs::read(&store).expect("a file") == bad, "a store that is refused must not be changed");
        let kept = |name: &str| {
            before
                .iter()
                .any(|(path, bytes)| path.ends_with(name) && *bytes == fs::read(folder.join(name)).expect("a file"))
        };
        assert!(["checkpoint.cbo", "checkpoint.previous.cbo", "result.json", "config.toml"].iter().all(|n| kept(n)));
    }
    fs::write(&store, &good).expect("a file");
    assert_eq!(finished(&resume(&folder, ""), &folder), expected);
}
