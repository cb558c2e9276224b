//! A disk that is full or read-only: an error that says what to do, nothing half-written, and the undisturbed result once
//! there is room.

use crate::common::folders::{
    Finished, Process, assert_success, begin, beginning, contents, evaluations, finished, line, minimize_program,
    names, python_worker, resuming, wait_until,
};
use crate::common::{path, stderr};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// A small file system in memory. Only processes that are started in it see it, and it is gone with the process that holds
/// it, so that nothing needs to be unmounted.
struct Disk {
    place: tempfile::TempDir,
    holder: Child,
}

impl Disk {
    /// None, with a note, where the system does not allow one.
    fn new(kilobytes: usize) -> Option<Self> {
        let place = tempfile::tempdir().expect("a folder");
        let mount =
            format!("mount -t tmpfs -o size={kilobytes}k tmpfs {} && echo ready && exec cat", path(place.path()));
        let holder = Command::new("unshare")
            .args(["--map-root-user", "--mount", "sh", "-c", &mount])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let ready = holder.ok().and_then(|mut holder| {
            let mut line = String::new();
            let read = BufReader::new(holder.stdout.take()?).read_line(&mut line);
            if read.is_ok() && line == "ready\n" {
                return Some(Self { place, holder });
            }
            let _ = holder.wait();
            None
        });
        if ready.is_none() {
            eprintln!("skipped: this system mounts no file system for a test (unshare --map-root-user --mount)");
        }
        ready
    }

    /// A path on it, for those that are started in it.
    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// The same for this process.
    fn seen(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.id()));
        root.join(self.path(name).strip_prefix("/").expect("an absolute path"))
    }

    /// A command that is started in it.
    fn command(&self, program: &str, arguments: &[String]) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.holder.id().to_string(), "--user", "--mount", "--preserve-credentials"]);
        command.arg(program).args(arguments).stdin(Stdio::null());
        command
    }

    fn cbo(&self, arguments: &[String]) -> Output {
        self.command(env!("CARGO_BIN_EXE_cbo"), arguments).output().expect("the program starts")
    }

    /// Fills it, leaving this many kilobytes.
    fn leave(&self, room: usize) {
        use std::io::Write;
        let mut ballast = File::create(self.seen("ballast")).expect("a file");
        while ballast.write_all(&[1; 4096]).is_ok() {}
        let size = ballast.metadata().expect("a size").len();
        ballast.set_len(size.saturating_sub(1024 * room as u64)).expect("shorter");
    }

    fn make_room(&self) {
        fs::remove_file(self.seen("ballast")).expect("removed");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(self.holder.stdin.take()); // which ends it
        let _ = self.holder.wait();
    }
}

fn assert_nothing_half_written(folder: &Path) {
    let names = names(folder);
    assert!(names.iter().all(|name| !name.ends_with(".tmp")), "{names:?}");
}

/// Asserts a failure for lack of space, with a message that says so.
fn assert_full(output: &Output) {
    let message = stderr(output);
    assert!(matches!(output.status.code(), Some(1 | 2)), "{message}");
    assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
    assert!(message.contains("make room"), "{message}");
}

#[test]
fn a_run_on_a_full_disk_is_finished_when_there_is_room() {
    let Some(disk) = Disk::new(1024) else { return };
    let arguments =
        line("minimize rastrigin --dim 3 --method cbo --particles 30 --steps 40 --seed 6 --checkpoint-every 0");
    let undisturbed = tempfile::tempdir().expect("a folder");
    let expected = finished(&begin(&arguments, undisturbed.path()), undisturbed.path());
    let mut failed = Vec::new();
    for room in [0, 4, 8, 12, 20, 32, 60] {
        let name = format!("run-{room}");
        let (folder, seen) = (disk.path(&name), disk.seen(&name));
        disk.leave(room);
        let output = disk.cbo(&beginning(&arguments, &folder));
        assert_full(&output);
        failed.push(output.status.code());
        assert!(!seen.join("result.json").exists(), "no result in {:?}", names(&seen));
        if seen.exists() {
            assert_nothing_half_written(&seen);
        }
        disk.make_room();
        let is_run = seen.join("config.toml").exists();
        let next = if is_run { resuming(&folder, "--threads 1") } else { beginning(&arguments, &folder) };
        assert_success(&disk.cbo(&next));
        assert_eq!(Finished::read(&seen), expected, "{room}");
        fs::remove_dir_all(&seen).expect("removed");
    }
    assert!(failed.contains(&Some(2)) && failed.contains(&Some(1)), "at the begin and underway: {failed:?}");
}

#[test]
fn a_run_goes_on_while_checkpoints_cannot_be_written() {
    let Some(disk) = Disk::new(16 * 1024) else { return };
    // A checkpoint takes 640 kB, all else much less.
    let arguments =
        line("minimize rastrigin --dim 4 --method cbo --particles 20000 --steps 400 --seed 7 --checkpoint-every 0");
    let undisturbed = tempfile::tempdir().expect("a folder");
    let expected = finished(&begin(&arguments, undisturbed.path()), undisturbed.path());
    let words = undisturbed.path().join("words");
    disk.leave(300);
    let loud: Vec<String> = beginning(&arguments, &disk.path("run")).into_iter().filter(|w| w != "--quiet").collect();
    let mut command = disk.command(env!("CARGO_BIN_EXE_cbo"), &loud);
    let mut run = Process::start(command.stdout(Stdio::null()).stderr(File::create(&words).expect("a file")));
    let said = || fs::read_to_string(&words).unwrap_or_default();
    wait_until("a warning", || said().contains('\n') || run.has_ended());
    run.signal("STOP");
    assert!(said().starts_with("warning: no checkpoint at step 0") && said().contains("make room"), "{}", said());
    disk.make_room();
    run.signal("CONT");
    assert_eq!(run.end().status.code(), Some(0), "{}", said());
    assert_eq!(said().lines().count(), 1, "told once: {}", said());
    let folder = disk.seen("run");
    assert_eq!(Finished::read(&folder), expected);
    let log = fs::read_to_string(folder.join("log.txt")).expect("a log");
    assert!(log.contains("checkpoints can be written again"), "{log}");
    assert_eq!(log.matches("no checkpoint").count(), 1, "a log on a full disk must not grow: {log}");
}

#[test]
fn a_store_on_a_full_disk_loses_nothing() {
    let Some(disk) = Disk::new(4096) else { return };
    let place = tempfile::tempdir().expect("a folder");
    let worker = "sys.stderr.write('x' * 1900)\nsys.stderr.flush()\nreturn sphere(x)";
    let Some(worker) = python_worker(place.path(), "worker.py", worker) else { return };
    let words =
        "--protocol jsonl --workers 2 --dim 2 --bounds -5,5 --particles 10 --steps 12 --seed 8 --command-folder /";
    let arguments = minimize_program(&worker, words);
    let undisturbed = place.path().join("undisturbed");
    let expected = finished(&begin(&arguments, &undisturbed), &undisturbed);
    let (folder, seen, log) = (disk.path("run"), disk.seen("run"), place.path().join("log"));
    disk.leave(200);
    let program = env!("CARGO_BIN_EXE_cbo");
    let output = disk.command(program, &beginning(&arguments, &folder)).env("LOG", &log).output();
    let output = output.expect("the program starts");
    assert_full(&output);
    assert_eq!(output.status.code(), Some(1));
    assert_nothing_half_written(&seen);
    let answered = |log: &Path| fs::read_to_string(log).unwrap_or_default().lines().count();
    let rows = evaluations(&seen).len();
    assert!(rows >= 10 && rows <= answered(&log), "{rows} of {}", answered(&log));
    disk.make_room();
    let log = place.path().join("log-after");
    let output = disk.command(program, &resuming(&folder, "")).env("LOG", &log).output();
    assert_success(&output.expect("the program starts"));
    assert_eq!(Finished::read(&seen), expected);
    let all = evaluations(&seen).len();
    assert_eq!(answered(&log), all - rows, "what was kept is not evaluated again");
}

#[test]
fn a_read_only_folder_is_refused_and_unchanged() {
    let Some(disk) = Disk::new(4096) else { return };
    let arguments = line("minimize rastrigin --dim 3 --method cbo --particles 20 --steps 10 --seed 9");
    assert_success(&disk.cbo(&beginning(&arguments, &disk.path("run"))));
    let before = contents(&disk.seen("run"));
    let remount = [line("-o remount,ro"), vec![path(disk.place.path()).into()]].concat();
    assert!(disk.command("mount", &remount).status().expect("mount").success());
    for attempt in [
        resuming(&disk.path("run"), "--steps +5"),
        beginning(&arguments, &disk.path("run")),
        beginning(&[arguments.clone(), line("--force")].concat(), &disk.path("run")),
        beginning(&arguments, &disk.path("new")),
    ] {
        let output = disk.cbo(&attempt);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{attempt:?}: {message}");
        assert!(message.starts_with("error: ") && message.lines().count() == 1, "{message}");
        assert!(message.contains("Read-only") || message.contains("already holds a run"), "{message}");
    }
    assert!(contents(&disk.seen("run")) == before, "something has changed");
}
