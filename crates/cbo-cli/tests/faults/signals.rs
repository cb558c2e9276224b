//! SIGINT, SIGTERM and SIGHUP end a run cleanly; a second SIGINT ends it at once. No process is left behind.

use crate::common::folders::{
    Finished, Process, begin, beginning, checkpoint, command_of, finished, is_alive, line, minimize_program, python,
    python_worker, resume, resuming, start, wait_until,
};
use crate::common::path;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Whether this process was started with SIGHUP ignored, as `nohup` does: its children then ignore it too, and should.
fn ignores_hangups() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).map(str::trim);
    mask.and_then(|mask| u64::from_str_radix(mask, 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

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
    for (name, code) in [("INT", 130), ("TERM", 143), ("HUP", 129)] {
        if name == "HUP" && ignores_hangups() {
            continue;
        }
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

#[test]
fn the_code_after_two_signals_is_always_that_of_the_signal() {
    let place = tempfile::tempdir().expect("a folder");
    let hanging = place.path().join("hanging");
    fs::write(place.path().join("slow.sh"), format!("touch {}; sleep 1000", path(&hanging))).expect("a file");
    let command = format!("sh {} {{x}}", path(&place.path().join("slow.sh")));
    // Workers that are ended leave the run in a race with the signal that ended them.
    let words = "--workers 8 --dim 2 --bounds -5,5 --particles 30 --steps 4 --quiet";
    for _ in 0..8 {
        let _ = fs::remove_file(&hanging);
        let said = place.path().join("words");
        let mut life = command_of(&minimize_program(&command, words));
        let child = Process::start(life.stdout(Stdio::null()).stderr(File::create(&said).expect("a file")));
        wait_until("the program hangs", || hanging.exists());
        interrupt_twice(child, &said);
    }
}

#[test]
fn nohup_keeps_a_run_alive() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let arguments = line("minimize rastrigin --dim 3 --particles 200 --steps 1e12 --checkpoint-every 0");
    let ignoring = ["-c".to_string(), "trap '' HUP; exec \"$@\"".into(), "sh".into(), env!("CARGO_BIN_EXE_cbo").into()];
    let mut life = Command::new("sh");
    life.args(ignoring).args(beginning(&arguments, &folder)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Process::start(&mut life);
    let step = || checkpoint(&folder).map_or(0, |c| c.summary.step);
    wait_until("a few steps", || step() >= 3);
    child.signal("HUP");
    let then = step();
    wait_until("a few steps more", || step() >= then + 20);
    child.signal("TERM");
    assert_eq!(child.end().status.code(), Some(143));
}

#[test]
fn a_rotation_that_takes_long_is_told_and_ended() {
    let place = tempfile::tempdir().expect("a folder");
    let said = place.path().join("words");
    for words in ["minimize sphere --dim 4000 --rotate 1", "success sphere --dim 4000 --rotate 1"] {
        let mut life = command_of(&line(words));
        let child = Process::start(life.stdout(Stdio::piped()).stderr(File::create(&said).expect("a file")));
        let told =
            || fs::read_to_string(&said).is_ok_and(|text| text.contains("making the rotation of sphere in 4000"));
        wait_until("a word on what takes so long", told);
        child.signal("TERM");
        let output = child.end();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(143), 0));
        assert!(fs::read_to_string(&said).expect("words").contains("before the run began"));
    }
}

/// Locks a store, says so, and unlocks it when its stdin is closed.
const LOCKING: &str = "import sqlite3, sys\n\
                       store = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
                       store.execute('BEGIN EXCLUSIVE')\n\
                       open(sys.argv[2], 'w').close()\n\
                       sys.stdin.read()\n";

#[test]
fn a_locked_store_is_told_of_and_ends_at_the_first_signal() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", "return sphere(x)") else { return };
    let python = python().expect("found above");
    if !Command::new(python).args(["-c", "import sqlite3"]).output().is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: Python has no sqlite3");
    }
    let words = "--protocol jsonl --dim 2 --bounds -5,5 --particles 10 --seed 18 --checkpoint-every 0 --steps";
    let of_steps = |steps: &str| minimize_program(&worker, &format!("{words} {steps}"));
    let (folder, undisturbed) = (place.path().join("run"), place.path().join("whole"));
    let expected = finished(&begin(&of_steps("9"), &undisturbed), &undisturbed);
    finished(&begin(&of_steps("4"), &folder), &folder);

    let (locked, said) = (place.path().join("locked"), place.path().join("words"));
    let mut locking = Command::new(python);
    locking.args(["-c", LOCKING, path(&folder.join("evaluations.sqlite")), path(&locked)]);
    let other = Process::start(locking.stdin(Stdio::piped()));
    wait_until("the store is locked", || locked.exists());
    let mut life = command_of(&line(&format!("resume {} --steps 9", path(&folder))));
    let child = Process::start(life.stdout(Stdio::null()).stderr(File::create(&said).expect("a file")));
    let told = || fs::read_to_string(&said).is_ok_and(|text| text.contains("waiting for another program"));
    wait_until("a word on what is waited for", told);
    child.signal("TERM");
    assert_eq!(child.end().status.code(), Some(143), "{}", fs::read_to_string(&said).expect("words"));
    drop(other);
    assert_eq!(finished(&resume(&folder, ""), &folder), expected);
}
