//! SIGINT and SIGTERM end a run cleanly; a second SIGINT ends it at once. No process is left behind.

use crate::common::folders::{
    Finished, Process, begin, beginning, checkpoint, command_of, finished, is_alive, line, minimize_program,
    python_worker, resume, resuming, start, wait_until,
};
use crate::common::path;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// A worker that leaves a child in the background, notes both processes in the file PIDS, and hangs in the third step if
/// HANG is set.
const WORKER: &str = r#"
if not os.path.exists(os.environ["PIDS"] + os.environ["CBO_WORKER"]):
    child = subprocess.Popen(["sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    note(os.environ["PIDS"] + os.environ["CBO_WORKER"], "%d\n%d" % (os.getpid(), child.pid))
if "HANG" in os.environ and request["id"] > 12:
    note(os.environ["PIDS"] + "-hanging", "")
    time.sleep(1000)
time.sleep(0.01)
return sphere(x)
"#;

const SETTINGS: &str =
    "--protocol jsonl --workers 2 --dim 2 --bounds -5,5 --particles 10 --steps 20 --seed 2 --checkpoint-every 0";

/// Whether all processes that the workers have noted are gone; there must be some.
fn assert_gone(pids: &Path) {
    let mut noted = Vec::new();
    for worker in ["0", "1"] {
        let text = fs::read_to_string(format!("{}{worker}", path(pids))).unwrap_or_default();
        noted.extend(text.lines().map(|pid| pid.parse::<u32>().expect("a process")));
    }
    assert!(noted.len() >= 2, "no worker noted its processes");
    // The system needs a moment to end a process that was killed.
    noted.into_iter().for_each(|pid| wait_until("a process is left behind", || !is_alive(pid)));
}

fn assert_interrupted(folder: &Path) {
    let run = Finished::read(folder);
    assert_eq!(run.result["stop"], "interrupt");
    let kept = checkpoint(folder).expect("a valid checkpoint").summary;
    assert_eq!((kept.stop.as_deref(), kept.step), (Some("interrupt"), run.number("steps")));
}

#[test]
fn a_signal_finishes_the_step_and_ends_all_workers() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", WORKER) else { return };
    let arguments = minimize_program(&worker, SETTINGS);
    let in_place = |name: &str| place.path().join(name);
    let undisturbed = in_place("undisturbed");
    let run = command_of(&beginning(&arguments, &undisturbed)).env("PIDS", in_place("pids")).output();
    let expected = finished(&run.expect("the program starts"), &undisturbed);
    assert_gone(&in_place("pids"));
    for (name, code) in [("INT", 130), ("TERM", 143)] {
        let (folder, pids) = (in_place(name), in_place(&format!("pids-{name}-")));
        let mut life = command_of(&beginning(&arguments, &folder));
        life.env("PIDS", &pids).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = Process::start(&mut life);
        wait_until("a few steps", || checkpoint(&folder).is_some_and(|c| c.summary.step >= 3));
        child.signal(name);
        let output = child.end();
        assert_eq!(output.status.code(), Some(code), "{output:?}");
        assert!(!output.stdout.is_empty(), "the best point so far is told");
        assert_interrupted(&folder);
        assert_gone(&pids);
        let mut life = command_of(&resuming(&folder, "--threads 1"));
        let output = life.env("PIDS", in_place(&format!("pids-{name}-again-"))).output().expect("the program starts");
        assert_eq!(finished(&output, &folder), expected);
    }
}

/// Starts a run that writes its messages to `words`.
fn start_hanging(arguments: &[String], folder: &Path, pids: &Path, words: &Path) -> Process {
    let mut life = command_of(&beginning(arguments, folder));
    life.env("PIDS", pids).env("HANG", "yes").stdout(Stdio::null());
    Process::start(life.stderr(File::create(words).expect("a file")))
}

/// Interrupts a run that hangs, twice.
fn interrupt_twice(child: Process, words: &Path) {
    child.signal("INT");
    let told = || fs::read_to_string(words).is_ok_and(|text| text.contains("ends the program at once"));
    wait_until("a word on what the signal does", told);
    // A signal right after the first is taken for its echo.
    std::thread::sleep(Duration::from_millis(200));
    child.signal("INT");
    assert_eq!(child.end().status.code(), Some(130));
}

#[test]
fn a_second_signal_ends_workers_that_hang() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", WORKER) else { return };
    let arguments = minimize_program(&worker, SETTINGS);
    let in_place = |name: &str| place.path().join(name);
    let (folder, undisturbed, pids) = (in_place("run"), in_place("undisturbed"), in_place("pids-"));
    let child = start_hanging(&arguments, &folder, &pids, &in_place("words"));
    wait_until("the worker hangs", || in_place("pids--hanging").exists());
    interrupt_twice(child, &in_place("words"));
    assert_gone(&pids);
    let kept = checkpoint(&folder).expect("a valid checkpoint").summary;
    assert!(kept.stop.is_none() && !folder.join("result.json").exists());
    for (folder, end) in [(&folder, true), (&undisturbed, false)] {
        let arguments = match end {
            true => resuming(folder, ""),
            false => beginning(&arguments, folder),
        };
        let output = command_of(&arguments).env("PIDS", &pids).output().expect("the program starts");
        finished(&output, folder);
    }
    assert_eq!(Finished::read(&folder), Finished::read(&undisturbed));
}

#[test]
fn a_second_signal_in_the_first_step_ends_processes_and_their_children() {
    let place = tempfile::tempdir().expect("a folder");
    let in_place = |name: &str| place.path().join(name);
    let script = r#"
if [ -n "$HANG" ]; then
    sleep 1000 & echo "$!" > "$PIDS$CBO_WORKER.new"
    echo "$$" >> "$PIDS$CBO_WORKER.new"
    mv "$PIDS$CBO_WORKER.new" "$PIDS$CBO_WORKER"
    wait
fi
awk 'BEGIN { print ARGV[1]^2 + ARGV[2]^2 }' "$@"
"#;
    fs::write(in_place("oneshot.sh"), script).expect("a file");
    let command = format!("sh {} {{x}}", path(&in_place("oneshot.sh")));
    let arguments = minimize_program(&command, "--workers 2 --dim 2 --bounds -5,5 --particles 4 --steps 4 --seed 3");
    let (folder, undisturbed, pids) = (in_place("run"), in_place("undisturbed"), in_place("pids-"));
    let child = start_hanging(&arguments, &folder, &pids, &in_place("words"));
    wait_until("both hang", || ["0", "1"].iter().all(|n| in_place(&format!("pids-{n}")).exists()));
    interrupt_twice(child, &in_place("words"));
    assert_gone(&pids);
    assert!(checkpoint(&folder).is_some_and(|first| first.state.is_empty()) && !folder.join("result.json").exists());
    // Cut off before its first step was done, it is begun again.
    let resumed = finished(&resume(&folder, ""), &folder);
    assert_eq!(resumed, finished(&begin(&arguments, &undisturbed), &undisturbed));
}

#[test]
fn a_function_interrupted_again_and_again() {
    let place = tempfile::tempdir().expect("a folder");
    let (folder, undisturbed) = (place.path().join("run"), place.path().join("undisturbed"));
    let arguments = line("minimize rastrigin --dim 3 --particles 2000 --steps 600 --seed 9");
    let expected = finished(&begin(&arguments, &undisturbed), &undisturbed);
    let every = line("--checkpoint-every 0");
    let mut child = start(&[beginning(&arguments, &folder), every.clone()].concat());
    let mut interrupted = 0;
    for (name, code) in [("INT", 130), ("TERM", 143), ("INT", 130)] {
        let before = checkpoint(&folder).map_or(0, |c| c.summary.step);
        wait_until("a few steps more", || checkpoint(&folder).is_some_and(|c| c.summary.step >= before + 3));
        child.signal(name);
        let output = child.end();
        // A fast machine may be done before the signal.
        if output.status.code() != Some(0) {
            assert_eq!(output.status.code(), Some(code), "{output:?}");
            assert_interrupted(&folder);
            interrupted += 1;
        }
        child = start(&[resuming(&folder, "--threads 1"), every.clone()].concat());
    }
    assert_eq!(finished(&child.end(), &folder), expected);
    assert!(interrupted > 0, "no signal came in time");
}
