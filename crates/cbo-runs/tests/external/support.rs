//! Programs to evaluate with, and ways to look at what came of it.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use cbo_runs::external::{Attempt, Job, Outcome, Program, Protocol, Settings, Workers};

/// The worker examples that users read.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers")
}

/// Whether a program is installed; says so if it is not.
pub fn is_there(program: &str) -> bool {
    let found = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        println!("skipped: there is no {program}");
    }
    found
}

/// Settings for a command line.
pub fn settings(command: &str, protocol: Protocol) -> Settings {
    Settings::new(Program::parse(command, protocol).expect("a command"))
}

/// A word of a command line.
pub fn quoted(path: &Path) -> String {
    shlex::try_quote(path.to_str().expect("text")).expect("no zero bytes").into_owned()
}

/// Points of one coordinate: 0, 1, 2, ...
pub fn jobs(count: usize) -> Vec<Job> {
    (0..count).map(|index| Job { index, x: vec![index as f64], attempt: 1 }).collect()
}

/// All attempts, in the order in which they ended.
pub fn evaluate(workers: &mut Workers, jobs: &[Job]) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    let told = &mut |attempt| {
        attempts.push(attempt);
        ControlFlow::Continue(())
    };
    workers.evaluate(jobs, told).expect("an evaluation");
    attempts
}

/// The same with workers for this one time.
pub fn evaluate_with(settings: &Settings, jobs: &[Job]) -> Vec<Attempt> {
    evaluate(&mut Workers::start(settings).expect("workers"), jobs)
}

/// The last value of each job.
pub fn values(attempts: &[Attempt], count: usize) -> Vec<f64> {
    let mut values = vec![f64::NAN; count];
    attempts.iter().for_each(|a| values[a.job] = a.outcome.value());
    values
}

/// The outcomes of one job, first attempt first.
pub fn of(attempts: &[Attempt], job: usize) -> Vec<(u32, Outcome)> {
    attempts.iter().filter(|a| a.job == job).map(|a| (a.attempt, a.outcome.clone())).collect()
}

/// A folder with a worker in bash, which speaks jsonl.
pub struct BashWorker {
    pub folder: tempfile::TempDir,
    pub settings: Settings,
}

/// A worker that runs `body` for each point. In it, `$id` is the id, `$x` the first coordinate as it is written (`5.0`),
/// `$folder` a folder; `answer VALUE` answers; `once` is true only the first time, over all processes.
pub fn bash_worker(body: &str) -> BashWorker {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("worker.sh");
    let text = format!(
        r#"folder={}
        answer() {{ printf '{{"id":%s,"value":%s}}\n' "$id" "$1"; }}
        once() {{ mkdir "$folder/once" 2>/dev/null; }}
        while IFS= read -r line; do
            id=${{line#*'"id":'}}; id=${{id%%,*}}
            x=${{line#*'['}}; x=${{x%%[],]*}}
            {body}
        done"#,
        quoted(folder.path()),
    );
    fs::write(&file, text).expect("a file is written");
    let settings = settings(&format!("bash {}", quoted(&file)), Protocol::Jsonl);
    BashWorker { folder, settings }
}

/// Waits until a condition holds, for at most 20 seconds.
pub fn soon(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(20), "not so within 20 seconds: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number that a program writes to a file, once it is there as a whole line.
pub fn number_in(file: &Path) -> u32 {
    let read = || fs::read_to_string(file).ok().filter(|text| text.ends_with('\n'));
    soon("a number is written", || read().is_some());
    read().expect("a line").trim().parse().expect("a number")
}

/// Whether a process runs. One that has ended but was not reaped does not run.
pub fn runs(pid: u32) -> bool {
    let ps = Command::new("ps").args(["-o", "stat=", "-p", &pid.to_string()]).output();
    let state = match fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(text) => text.rsplit_once(") ").map(|(_, rest)| rest.to_string()),
        Err(_) if Path::new("/proc/self/stat").exists() => None,
        Err(_) => ps.ok().map(|o| String::from_utf8_lossy(&o.stdout).trim().to_string()).filter(|s| !s.is_empty()),
    };
    state.is_some_and(|s| !s.starts_with('Z'))
}
