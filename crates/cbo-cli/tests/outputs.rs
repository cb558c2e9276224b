//! Outputs go where their paths lead, never in the place of something else, and a result that was computed is always told.

use crate::common::{assert_usage, command, path, stderr, stdout};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Output;

/// Runs the program in a folder, with the words of one line.
fn run_in(folder: &Path, line: &str) -> Output {
    let words: Vec<&str> = line.split_whitespace().collect();
    command(&words).current_dir(folder).output().expect("the program starts")
}

const SHORT: &str = "minimize sphere --dim 2 --method cbo --particles 20 --steps 3 --quiet";

/// So many steps that a run, once begun, would not end.
const ENDLESS: &str = "minimize sphere --dim 2 --method cbo --particles 20 --steps 1e15 --quiet";

#[test]
fn links_lead_to_the_file_that_is_written() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    fs::create_dir(at("data")).expect("a folder");
    fs::write(at("data/old.csv"), "old").expect("a file");
    for (link, target) in [("old", "data/old.csv"), ("new", "data/new.csv"), ("again", "old")] {
        symlink(target, at(link)).expect("a link");
    }
    for (link, file) in [("old", "data/old.csv"), ("new", "data/new.csv"), ("again", "data/old.csv")] {
        fs::write(at("data/old.csv"), "old").expect("a file");
        let output = run_in(place.path(), &format!("{SHORT} --history {link}"));
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
        assert!(at(link).is_symlink(), "{link}");
        assert!(fs::read_to_string(at(file)).expect("a file").starts_with("step,time,"), "{link}");
    }
    assert_eq!(cbo_runs::files::names(&at("data")).expect("names"), ["new.csv", "old.csv"]);
}

#[test]
fn devices_and_pipes_are_written_to() {
    let place = tempfile::tempdir().expect("a folder");
    let whole = place.path().join("all.txt");
    let words: Vec<&str> = SHORT.split_whitespace().chain(["--history", "/dev/stdout"]).collect();
    let before = fs::read_link("/dev/stdout").ok();
    let status = command(&words).stdout(File::create(&whole).expect("a file")).status().expect("the program starts");
    assert_eq!((status.code(), fs::read_link("/dev/stdout").ok()), (Some(0), before));
    let text = fs::read_to_string(&whole).expect("a file");
    assert!(text.contains("best value") && text.contains("\nstep,time,"), "{text}");
    // A pipe has the same.
    let output = run_in(place.path(), &format!("{SHORT} --history /dev/stdout"));
    assert!(stdout(&output).contains("best value") && stdout(&output).contains("\nstep,time,"));
    assert_usage(
        &run_in(place.path(), &format!("{SHORT} --json --history /dev/stdout")),
        &["history = /dev/stdout", "one JSON object", "choose a file"],
    );
    let output = run_in(place.path(), &format!("{SHORT} --json --history /dev/null"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_written_is_refused_before_the_run() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    fs::create_dir_all(at("frames/frame-0000.png")).expect("a folder");
    symlink("b", at("a")).and_then(|()| symlink("a", at("b"))).expect("links");
    symlink("nowhere/file", at("astray")).expect("a link");
    let _socket = std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket");
    let long = format!("--history {}", "x".repeat(300));
    for (flags, parts) in [
        ("--plot new.png/", ["plot = new.png/", "names a folder", "choose"]),
        ("--history new.csv/.", ["history = new.csv/.", "names a folder", "choose"]),
        ("--history ..", ["history = ..", "names a folder", "choose"]),
        ("--history frames", ["history = frames", "is not a file", "choose"]),
        ("--history socket", ["history = socket", "is not a file", "choose"]),
        ("--history a", ["history = a", "cannot write it", "choose"]),
        ("--history astray", ["history = astray", "cannot write it", "choose"]),
        ("--animate frames", ["frames/frame-0000.png", "is not a file", "choose"]),
        (&long, ["history = xxx", "cannot write it", "choose"]),
    ] {
        assert_usage(&run_in(place.path(), &format!("{ENDLESS} {flags}")), &parts);
    }
    assert_eq!(cbo_runs::files::names(place.path()).expect("names"), ["a", "astray", "b", "frames", "socket"]);
}

#[test]
fn no_output_is_an_input_or_another_output() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    fs::write(at("c.toml"), "objective = 'sphere'\ndim = 2\nsteps = 3\n").expect("a file");
    fs::write(at("q.csv"), "1,2\n3,4\n").expect("a file");
    fs::write(at("b.csv"), "-1,1\n-1,1\n").expect("a file");
    fs::write(at("sim.sh"), "echo 1\n").expect("a file");
    symlink("q.csv", at("link.csv")).expect("a link");
    fs::hard_link(at("c.toml"), at("hard.csv")).expect("a link");
    fs::create_dir(at("frames")).expect("a folder");
    let run = "minimize sphere --dim 2 --method cbo --particles 2 --steps 3 --seed 1 --out run";
    assert_eq!(run_in(place.path(), run).status.code(), Some(0));
    let before = contents(place.path());
    let function = "minimize sphere --dim 2 --method cbo --steps 3";
    let program = "minimize --dim 2 --bounds -1,1 --method cbo --steps 3 --command";
    fs::set_permissions(at("sim.sh"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    for (line, parts) in [
        ("minimize --config c.toml --history c.toml", ["history = c.toml", "the file of --config"]),
        ("minimize --config c.toml --history ./frames/../c.toml", ["c.toml", "the file of --config"]),
        ("minimize --config c.toml --history hard.csv", ["hard.csv", "the file of --config"]),
        (&format!("{function} --init file:q.csv --history q.csv"), ["history = q.csv", "the file of --init"]),
        (&format!("{function} --init file:q.csv --history link.csv"), ["link.csv", "the file of --init"]),
        (&format!("{function} --init file:link.csv --history q.csv"), ["q.csv", "the file of --init"]),
        (&format!("{function} --bounds b.csv --history b.csv"), ["history = b.csv", "the file of --bounds"]),
        (
            &format!("{program} ./sim.sh --protocol json --history sim.sh"),
            ["history = sim.sh", "a file of the program"],
        ),
        (&format!("{function} --plot p.png --history p.png"), ["history = p.png", "the file of --plot"]),
        (&format!("{function} --plot p.png --history {}", path(&at("p.png"))), ["p.png", "the file of --plot"]),
        (&format!("{function} --force --out run --history run/config.toml"), ["run/config.toml", "folder of --out"]),
        (&format!("{function} --force --out run --plot run/energy.png"), ["run/energy.png", "folder of --out"]),
        (
            &format!("{function} --animate frames --plot frames/frame-0001.png"),
            ["frame-0001.png", "folder of --animate"],
        ),
        (&format!("{function} --animate frames --out frames"), ["animate = frames", "folder of --out"]),
        ("runs compare run --out run/energy.svg", ["out = run/energy.svg", "a run folder"]),
    ] {
        assert_usage(&run_in(place.path(), line), &[&parts[..], &["choose another"]].concat());
        assert_eq!(contents(place.path()), before, "{line}");
    }
}

/// The files in a folder and what they hold.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    crate::common::folders::contents(folder)
}

#[test]
fn a_result_is_told_whatever_happens_to_its_files() {
    let place = tempfile::tempdir().expect("a folder");
    for line in [
        format!("{SHORT} --history /dev/full"),
        format!("{SHORT} --json --history /dev/full"),
        format!("{SHORT} --certify --history /dev/full --sigma 0.3"),
    ] {
        let output = run_in(place.path(), &line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        assert!(stdout(&output).contains("value") && stdout(&output).contains("evaluations"), "{}", stdout(&output));
        assert!(stderr(&output).starts_with("error: cannot write /dev/full"), "{}", stderr(&output));
    }
    // What comes after the fault is written all the same.
    let output = run_in(place.path(), &format!("{SHORT} --history /dev/full --plot p.svg --out run"));
    assert_eq!(output.status.code(), Some(1));
    assert!(place.path().join("p.svg").is_file() && place.path().join("run/result.json").is_file());
    // A folder that is gone when the run is done.
    let script = "rm -rf gone; echo 1";
    fs::write(place.path().join("sim.sh"), script).expect("a file");
    fs::create_dir(place.path().join("gone")).expect("a folder");
    let line = "minimize --dim 2 --bounds -1,1 --particles 3 --steps 2 --history gone/h.csv --quiet --command";
    let words: Vec<&str> = line.split_whitespace().chain(["sh sim.sh {x}"]).collect();
    let output = command(&words).current_dir(place.path()).output().expect("the program starts");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("best value") && stderr(&output).contains("cannot write gone/h.csv"));
}

#[test]
fn a_run_folder_is_not_used_through_links() {
    let place = tempfile::tempdir().expect("a folder");
    let at = |name: &str| place.path().join(name);
    fs::write(at("mine"), "mine").expect("a file");
    fs::create_dir(at("new")).expect("a folder");
    symlink(at("mine"), at("new/lock")).expect("a link");
    assert_usage(&run_in(place.path(), &format!("{ENDLESS} --out new")), &["new/lock", "symbolic link"]);
    assert_eq!(run_in(place.path(), &format!("{SHORT} --out run")).status.code(), Some(0));
    for name in ["lock", "log.txt", "config.toml", "checkpoint.cbo"] {
        fs::rename(at("run").join(name), at("kept")).expect("moved");
        symlink(at("mine"), at("run").join(name)).expect("a link");
        let file = format!("run/{name}");
        assert_usage(&run_in(place.path(), "resume run --steps +3"), &[&file, "symbolic link"]);
        assert_usage(&run_in(place.path(), "runs show run"), &[&file, "symbolic link"]);
        fs::rename(at("kept"), at("run").join(name)).expect("moved");
    }
    assert_eq!(fs::read_to_string(at("mine")).expect("a file"), "mine");
    // Files that are written anew do not go through links either.
    fs::remove_file(at("run/history.csv")).and_then(|()| symlink(at("mine"), at("run/history.csv"))).expect("a link");
    let output = run_in(place.path(), "resume run --steps +3 --quiet");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stdout(&output).contains("best value") && stderr(&output).contains("symbolic link"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(at("mine")).expect("a file"), "mine");
}
