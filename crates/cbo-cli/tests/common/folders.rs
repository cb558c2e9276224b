//! Runs in folders: begun, watched, disturbed and read back.

use super::{command, path, stderr};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::folder::look;
use cbo_runs::store::{self, Row};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What must be the same in two runs of which one was disturbed.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// The result, apart from seconds and threads.
    pub result: Value,
    /// history.csv.
    pub history: String,
    /// config.toml, apart from threads.
    pub config: String,
}

impl Finished {
    /// What a run left in its folder.
    pub fn read(folder: &Path) -> Self {
        let text = |name| fs::read_to_string(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"));
        let mut result: Value = serde_json::from_str(&text("result.json")).expect("JSON");
        let fields = result.as_object_mut().expect("an object");
        assert!(fields.remove("seconds").is_some() && fields.remove("threads").is_some());
        let config = text("config.toml");
        let config = config.lines().filter(|line| !line.starts_with("threads = ")).collect::<Vec<_>>().join("\n");
        Self { result, history: text("history.csv"), config }
    }

    /// A number in the result.
    pub fn number(&self, field: &str) -> u64 {
        self.result[field].as_u64().unwrap_or_else(|| panic!("no number {field}: {}", self.result))
    }
}

/// The words of a line.
pub fn line(words: &str) -> Vec<String> {
    words.split_whitespace().map(String::from).collect()
}

/// How a program is minimised.
pub fn minimize_program(command: &str, words: &str) -> Vec<String> {
    [line("minimize --command"), vec![command.into()], line(words)].concat()
}

/// The program with arguments that may contain spaces.
pub fn command_of(arguments: &[String]) -> Command {
    command(&arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The arguments that begin a run in `folder`.
pub fn beginning(arguments: &[String], folder: &Path) -> Vec<String> {
    [arguments, &["--quiet".into(), "--out".into(), path(folder).into()]].concat()
}

/// Begins a run in `folder` and waits for its end.
pub fn begin(arguments: &[String], folder: &Path) -> Output {
    command_of(&beginning(arguments, folder)).output().expect("the program starts")
}

/// The arguments that resume the run in `folder`.
pub fn resuming(folder: &Path, words: &str) -> Vec<String> {
    [vec!["resume".into(), path(folder).into(), "--quiet".into()], line(words)].concat()
}

/// Resumes the run in `folder` and waits for its end.
pub fn resume(folder: &Path, words: &str) -> Output {
    command_of(&resuming(folder, words)).output().expect("the program starts")
}

/// Asserts that a command has succeeded in silence (apart from its result).
pub fn assert_success(output: &Output) {
    assert_eq!((output.status.code(), stderr(output).as_str()), (Some(0), ""));
}

/// What a command that has succeeded left in its run folder.
pub fn finished(output: &Output, folder: &Path) -> Finished {
    assert_success(output);
    Finished::read(folder)
}

/// Starts the program without waiting for it; what it says can be read later.
pub fn start(arguments: &[String]) -> Process {
    Process::start(command_of(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()))
}

/// A running program, killed with the test that started it.
pub struct Process(Child);

impl Process {
    /// Starts a command.
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("the program starts"))
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends it a signal: `INT`, `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = Command::new("sh").args(["-c", &format!("kill -{name} {}", self.id())]).status();
        assert!(sent.expect("a shell").success());
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a status").is_some()
    }

    /// Waits for its end.
    pub fn end(mut self) -> Output {
        wait_until("the program ends", || self.has_ended());
        self.output()
    }

    /// Kills it with SIGKILL, unless it has ended.
    pub fn kill(mut self) -> Output {
        self.0.kill().expect("it is ours");
        self.output()
    }

    fn output(&mut self) -> Output {
        let status = self.0.wait().expect("a status");
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        self.0.stdout.take().map(|mut stream| stream.read_to_end(&mut stdout).expect("bytes"));
        self.0.stderr.take().map(|mut stream| stream.read_to_end(&mut stderr).expect("bytes"));
        Output { status, stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits until a condition holds, and gives up after a long time.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a process runs; one that only waits to be reaped does not.
pub fn is_alive(pid: u32) -> bool {
    let ps = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output().expect("ps");
    let state = String::from_utf8_lossy(&ps.stdout).trim().to_string();
    !state.is_empty() && !state.starts_with('Z')
}

/// The newest checkpoint in a folder that can be read. A kill may come after the last one was renamed to be the one before,
/// and before the new one got its name.
pub fn checkpoint(folder: &Path) -> Option<Checkpoint> {
    look(folder).ok()?.checkpoint
}

/// The evaluations that the store of a run has. Read from a copy, so that the run finds what it left.
pub fn evaluations(folder: &Path) -> Vec<Row> {
    let copy = tempfile::tempdir().expect("a folder");
    for name in ["evaluations.sqlite", "evaluations.sqlite-wal"] {
        let _ = fs::copy(folder.join(name), copy.path().join(name));
    }
    let file = copy.path().join("evaluations.sqlite");
    if !file.exists() {
        return Vec::new();
    }
    store::read(&file).and_then(|reading| reading.rows()).expect("a store that can be read")
}

/// The files in a folder and what they hold, in order.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.push((path.clone(), fs::read(&path).expect("a file")));
        }
    }
    found.sort();
    found
}

/// The names in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    cbo_runs::files::names(folder).expect("a folder")
}

/// The interpreter of Python itself, where there is one: not a wrapper around it, which may be slow.
pub fn python() -> Option<&'static str> {
    static PYTHON: OnceLock<Option<String>> = OnceLock::new();
    let find = || {
        let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
        let name = String::from_utf8(asked.stdout).ok()?.trim().to_string();
        (asked.status.success() && !name.is_empty()).then_some(name)
    };
    PYTHON.get_or_init(find).as_deref()
}

/// A worker in Python, written to `folder`, as a command; none, with a note, where there is no Python. `evaluate` is the
/// body of a function of `x` that gives the value; `{"id":..,"x":[..]}` is `request` in it.
pub fn python_worker(folder: &Path, name: &str, evaluate: &str) -> Option<String> {
    let Some(python) = python() else {
        eprintln!("skipped: python3 is not installed");
        return None;
    };
    let body: String = evaluate.lines().map(|line| format!("    {line}\n")).collect();
    let file = folder.join(name);
    fs::write(&file, PYTHON_WORKER.replace("    BODY\n", &body)).expect("a file");
    Some(format!("{python} -S -E {}", path(&file)))
}

/// Reads points, answers, and then notes when it did and at which point in the file that LOG names.
const PYTHON_WORKER: &str = r#"
import json, os, signal, subprocess, sys, time

def write(descriptor, text):
    os.write(descriptor, (text + "\n").encode())

def note(name, text):
    file = os.open(name, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    write(file, text)
    os.close(file)

def sphere(x):
    return sum((v - k) ** 2 for k, v in enumerate(x, start=1))

def evaluate(request, x):
    BODY

for line in sys.stdin:
    request = json.loads(line)
    value = evaluate(request, request["x"])
    write(1, json.dumps({"id": request["id"], "value": value}))
    if "LOG" in os.environ:
        note(os.environ["LOG"], " ".join(map(repr, [time.time()] + request["x"])))
"#;
