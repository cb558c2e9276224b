//! `cbo runs`: what it says about folders, during and after runs, and about those that are not runs.

use crate::common::{assert_usage, cbo, object, path, read_png, stderr, stdout};
use cbo_runs::external::{Attempt, Outcome};
use cbo_runs::folder::Folder;
use cbo_runs::store::Store;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A folder with a finished run of a function.
fn function(place: &Path, name: &str, more: &str) -> PathBuf {
    let folder = place.join(name);
    let line = format!("minimize sphere --dim 3 --particles 20 --quiet --json {more} --out");
    let mut words: Vec<&str> = line.split_whitespace().collect();
    words.push(path(&folder));
    object(&cbo(&words));
    folder
}

fn put(store: &Store, x: &[f64], attempt: u32, outcome: Outcome, stderr: &str) {
    let attempt = Attempt { job: 0, attempt, outcome, seconds: 0.5, stderr: stderr.into() };
    store.put(x, &attempt).expect("put");
}

/// The same with evaluations, as a run of a program would have them.
fn program(place: &Path, name: &str) -> PathBuf {
    let folder = function(place, name, "--steps 5");
    let store = Store::open(&folder.join("evaluations.sqlite")).expect("a store");
    put(&store, &[1.0, -0.0, 0.1], 1, Outcome::Value(-7.25), "");
    put(&store, &[1.0, 2.0, 3.0], 1, Outcome::Died("exit code 3".into()), "mesh, \"coarse\"\nbroken\u{1b}[2J\n");
    put(&store, &[1.0, 2.0, 3.0], 2, Outcome::Timeout, "");
    put(&store, &[9.0, 2.0, 3.0], 1, Outcome::Value(f64::INFINITY), "");
    folder
}

/// The array on stdout of a command that succeeded in silence.
fn array(arguments: &[&str]) -> Vec<Value> {
    let output = cbo(arguments);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    serde_json::from_str::<Vec<Value>>(&stdout(&output)).expect("an array")
}

/// Asserts that every key of the object is in the section of the page.
fn assert_documented(object: &Value, command: &str) {
    let page = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cli.md")).expect("the page");
    let (_, rest) = page.split_once(&format!("\n## cbo {command}\n")).expect("a section");
    let section = rest.split_once("\n## ").map_or(rest, |(section, _)| section);
    for key in object.as_object().expect("an object").keys() {
        assert!(section.contains(&format!("`{key}`")), "{command}: {key}");
    }
}

#[test]
fn list_shows_all_runs_below_a_folder_in_order() {
    let place = tempfile::tempdir().expect("a folder");
    function(place.path(), "b", "--steps 7");
    function(place.path(), "deep/down/a", "--steps 5 --max-seconds 60");
    program(place.path(), "c");
    fs::create_dir_all(place.path().join("site")).expect("a folder");
    fs::write(place.path().join("site/config.toml"), "title = 'not a run'").expect("a file");
    function(place.path(), "1/2/3/4/too-deep", "--steps 5");
    let output = cbo(&["runs", "list", path(place.path())]);
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 4, "{text}");
    assert!(lines[0].starts_with("run ") && lines[0].contains("best value"));
    for (line, parts) in lines[1..].iter().zip([
        ["/b ", "finished", "sphere", "7 steps"],
        ["/c ", "finished", "-7.25", "5 steps"],
        ["/deep/down/a ", "finished", "sphere", "5 steps, 60 s"],
    ]) {
        assert!(parts.iter().all(|part| line.contains(part)), "{parts:?} are not in {line}");
    }
    let runs = array(&["runs", "list", path(place.path()), "--json"]);
    assert_eq!(runs.len(), 3);
    assert_eq!((&runs[0]["steps"], &runs[0]["evaluations"], &runs[0]["dim"]), (&7.into(), &160.into(), &3.into()));
    assert_eq!(runs[2]["limits"]["max-seconds"], "60.0");
    assert_documented(&runs[0], "runs list");
    // Seen from inside, names are short; a run is listed by itself too.
    let here =
        crate::common::command(&["runs", "list"]).current_dir(place.path()).output().expect("the program starts");
    assert!(stdout(&here).contains("\ndeep/down/a "), "{}", stdout(&here));
    assert_eq!(array(&["runs", "list", path(&place.path().join("b")), "--json"]).len(), 1);
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    let place = tempfile::tempdir().expect("a folder");
    function(place.path(), "b", "--steps 2");
    std::os::unix::fs::symlink(place.path(), place.path().join("round")).expect("a link");
    assert_eq!(array(&["runs", "list", path(place.path()), "--json"]).len(), 1);
}

#[test]
fn nothing_to_list_is_said() {
    let place = tempfile::tempdir().expect("a folder");
    let output = cbo(&["runs", "list", path(place.path())]);
    assert!(output.status.success() && stdout(&output).contains("no runs in"), "{}", stdout(&output));
    assert_eq!(array(&["runs", "list", path(place.path()), "--json"]), Vec::<Value>::new());
    assert_usage(&cbo(&["runs", "list", path(&place.path().join("nowhere"))]), &["nowhere", "give a folder"]);
}

#[test]
fn show_tells_what_is_known() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = program(place.path(), "c");
    let text = stdout(&cbo(&["runs", "show", path(&folder)]));
    for part in [
        "sphere in 3 dimensions",
        "particles 20",
        "finished: all steps are done",
        "best value   -7.25",
        "at x         (1, -0, 0.1)",
        "evaluations  120",
        "4 (1 died, 1 infeasible, 1 ok, 1 timeout)",
        "0.5 s on average",
        "failure      died: exit code 3 at (1, 2, 3), attempt 1",
        "  stderr     broken\\u{1b}[2J",
        "checkpoint   step 5",
    ] {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "nothing that moves the cursor");
    let shown = object(&cbo(&["runs", "show", path(&folder), "--json"]));
    assert_eq!(
        (&shown["best"], &shown["state"], &shown["stop"]),
        (&(-7.25).into(), &"finished".into(), &"steps".into())
    );
    assert_eq!(shown["attempts"]["by_status"]["died"], 1);
    assert_eq!(shown["attempts"]["points"], 3);
    assert_eq!(shown["attempts"]["failures"][1]["stderr"], "mesh, \"coarse\"\nbroken\u{1b}[2J\n");
    for part in [&shown, &shown["attempts"], &shown["attempts"]["failures"][0], &shown["attempts"]["slowest"]] {
        assert_documented(part, "runs show");
    }
    let plain = function(place.path(), "b", "--steps 2");
    assert_eq!(object(&cbo(&["runs", "show", path(&plain), "--json"]))["attempts"], Value::Null);
}

#[test]
fn states_are_told_apart() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = function(place.path(), "a", "--steps 5");
    let show = || object(&cbo(&["runs", "show", path(&folder), "--json"]));
    let held = Folder::open(&folder).expect("ours");
    assert_eq!((&show()["state"], &show()["process"]), (&"running".into(), &std::process::id().into()));
    drop(held);
    // A process that another test is starting may hold the file open for a moment.
    let until = Instant::now() + Duration::from_secs(10);
    while show()["state"] == "running" && Instant::now() < until {}
    assert_eq!((&show()["state"], &show()["process"]), (&"finished".into(), &Value::Null));
    // As if it had been killed before its end: the checkpoint before is one of the middle.
    fs::rename(folder.join("checkpoint.previous.cbo"), folder.join("checkpoint.cbo")).expect("renamed");
    assert_eq!(show()["state"], "interrupted");
    let text = stdout(&cbo(&["runs", "show", path(&folder)]));
    assert!(text.contains(&format!("interrupted; resume with: cbo resume {}", folder.display())), "{text}");
    // And before its first checkpoint: the settings are still known.
    fs::remove_file(folder.join("checkpoint.cbo")).expect("removed");
    let shown = show();
    assert_eq!(
        (&shown["state"], &shown["objective"], &shown["dim"]),
        (&"interrupted".into(), &"sphere".into(), &3.into())
    );
    assert_eq!(shown["limits"]["steps"], "5");
}

#[test]
fn a_damaged_checkpoint_or_store_does_not_hide_the_other_runs() {
    let place = tempfile::tempdir().expect("a folder");
    let (a, b) = (function(place.path(), "a", "--steps 5"), program(place.path(), "b"));
    fs::write(a.join("checkpoint.cbo"), "CBORUN\r\nnonsense").expect("written");
    fs::write(b.join("evaluations.sqlite"), "nonsense").expect("written");
    let text = stdout(&cbo(&["runs", "list", path(place.path())]));
    assert_eq!(text.lines().filter(|line| line.starts_with("note: ")).count(), 2, "{text}");
    assert!(text.contains("checkpoint.cbo") && text.contains("is not a store"), "{text}");
    for command in ["show", "export"] {
        assert_usage(&cbo(&["runs", command, path(&b)]), &["evaluations.sqlite", "not a store", "move it away"]);
    }
    assert_eq!(fs::read(b.join("evaluations.sqlite")).expect("still there"), b"nonsense");
}

#[test]
fn compare_draws_runs_and_writes_their_numbers() {
    let place = tempfile::tempdir().expect("a folder");
    let runs = [function(place.path(), "one", "--steps 30"), function(place.path(), "two", "--steps 60 --seed 1")];
    let compare = |file: &str| {
        let file = place.path().join(file);
        let output = cbo(&["runs", "compare", path(&runs[0]), path(&runs[1]), "--out", path(&file)]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert!(stdout(&output).contains("best value") && stdout(&output).contains("written: "));
        file
    };
    let svg = fs::read_to_string(compare("both.svg")).expect("a picture");
    for part in ["#0072B2", "#D55E00", ">one<", ">two<", "evaluations", "best value so far"] {
        assert!(svg.to_lowercase().contains(&part.to_lowercase()), "{part}");
    }
    let (_, _, colours) = read_png(&compare("both.png"));
    assert!(colours.contains(&[0x00, 0x72, 0xB2]) && colours.contains(&[0xD5, 0x5E, 0x00]));
    let csv = fs::read_to_string(compare("both.csv")).expect("numbers");
    assert!(csv.starts_with("run,evaluations,best\none,20,"), "{csv}");
    let both = array(&["runs", "compare", path(&runs[0]), path(&runs[1]), "--json"]);
    assert_documented(&both[0], "runs compare");
    for run in &both {
        let curve = run["curve"].as_array().expect("a curve");
        let best: Vec<f64> = curve.iter().map(|point| point[1].as_f64().expect("a number")).collect();
        assert!(best.is_sorted_by(|a, b| a >= b), "a best value never grows: {best:?}");
        assert_eq!(curve.last().expect("an end")[0], run["evaluations"].as_f64().expect("a number"));
    }
}

#[test]
fn many_or_empty_runs_cannot_be_compared() {
    let place = tempfile::tempdir().expect("a folder");
    let run = function(place.path(), "one", "--steps 3");
    let many = [vec!["runs", "compare"], vec![path(&run); 15]].concat();
    assert_usage(&cbo(&many), &["runs = 15", "up to 14"]);
    assert!(cbo(&many[..16]).status.success());
    assert_usage(&cbo(&["runs", "compare", path(&run), "--out", "both.pdf"]), &["both.pdf", ".svg, .png or .csv"]);
    for name in ["checkpoint.cbo", "checkpoint.previous.cbo", "history.csv"] {
        fs::remove_file(run.join(name)).expect("removed");
    }
    assert_usage(&cbo(&["runs", "compare", path(&run)]), &["one", "no history", "leave it out"]);
}

#[test]
fn export_hands_out_every_attempt() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = program(place.path(), "c");
    let csv = stdout(&cbo(&["runs", "export", path(&folder)]));
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some("x1,x2,x3,value,status,attempt,seconds,finished,message,stderr"));
    assert!(lines.next().expect("a row").starts_with("1.0,-0.0,0.1,-7.25,ok,1,0.5,20"));
    assert!(csv.contains(",exit code 3,\"mesh, \"\"coarse\"\"\nbroken\u{1b}[2J\n\"\n"), "{csv}");
    assert!(csv.contains("1.0,2.0,3.0,,timeout,2,") && csv.contains("9.0,2.0,3.0,inf,infeasible,1,"));
    let file = place.path().join("rows.json");
    let output = cbo(&["runs", "export", path(&folder), "--format", "json", "--out", path(&file)]);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), ""));
    let rows: Vec<Value> = serde_json::from_slice(&fs::read(&file).expect("a file")).expect("an array");
    assert_eq!(rows.len(), 4);
    assert_eq!(
        (&rows[0]["value"], &rows[2]["value"], &rows[3]["value"]),
        (&(-7.25).into(), &Value::Null, &"inf".into())
    );
    assert_eq!((&rows[2]["attempt"], &rows[1]["message"]), (&2.into(), &"exit code 3".into()));
    assert_documented(&rows[0], "runs export");
}

#[test]
fn a_store_without_rows_is_exported_as_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = function(place.path(), "c", "--steps 2");
    fs::write(folder.join("evaluations.sqlite"), "").expect("written");
    let csv = stdout(&cbo(&["runs", "export", path(&folder)]));
    assert_eq!(csv, "x1,x2,x3,value,status,attempt,seconds,finished,message,stderr\n");
    assert_eq!(array(&["runs", "export", path(&folder), "--format", "json"]), Vec::<Value>::new());
}

#[test]
fn what_is_no_run_is_refused_with_a_remedy() {
    let place = tempfile::tempdir().expect("a folder");
    let plain = function(place.path(), "plain", "--steps 2");
    assert_usage(&cbo(&["runs", "export", path(&plain)]), &["plain", "no evaluations", "--command", "history.csv"]);
    let nowhere = place.path().join("nowhere");
    for command in ["show", "compare", "export"] {
        assert_usage(&cbo(&["runs", command, path(place.path())]), &["not a run folder", "cbo runs list"]);
        assert_usage(&cbo(&["runs", command, path(&nowhere)]), &["no folder", "nowhere", "cbo runs list"]);
    }
    let folder = program(place.path(), "c");
    let file = nowhere.join("rows.csv");
    assert_usage(&cbo(&["runs", "export", path(&folder), "--out", path(&file)]), &["cannot write", "rows.csv"]);
    assert_usage(&cbo(&["runs", "compare", path(&folder), "--out", path(&nowhere.join("a.svg"))]), &["cannot write"]);
}
