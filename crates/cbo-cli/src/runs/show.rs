//! `cbo runs show`: one run in short.

use super::seen::{DAMAGED, Run, ago};
use crate::error::{CliError, print};
use crate::numbers::{Number, grouped, json, numbers, point, short};
use crate::text::one_line;
use cbo_runs::folder::CONFIG;
use cbo_runs::store::{Row, Summary};
use cbo_runs::timestamp::timestamp;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

/// Failures that are shown.
const FAILURES: usize = 3;

/// Lines of stderr that are shown of each.
const LINES: usize = 3;

/// The most important settings; the others are in the file.
const SHOWN: [&str; 13] = [
    "method",
    "particles",
    "lambda",
    "sigma",
    "alpha",
    "dt",
    "diffusion",
    "seed",
    "precision",
    "protocol",
    "workers",
    "timeout",
    "retries",
];

const EXAMPLES: &str = "\
Examples:
  cbo runs show results/wing
  cbo runs show results/wing --json";

/// Arguments of `cbo runs show`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ShowArgs {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// One JSON object on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Shown<'a> {
    path: String,
    kind: &'a str,
    objective: &'a str,
    dim: Option<usize>,
    state: &'a str,
    process: Option<u32>,
    stop: Option<&'a str>,
    best: Option<Number>,
    /// How far it violates its constraints, if it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<Number>,
    x: Option<Vec<Number>>,
    steps: u64,
    evaluations: u64,
    failed_evaluations: u64,
    seconds: Number,
    limits: BTreeMap<&'static str, &'a str>,
    settings: &'a BTreeMap<String, String>,
    checkpoint: Option<String>,
    checkpoint_age: Option<Number>,
    active: Option<String>,
    faults: Vec<String>,
    attempts: Option<Attempts<'a>>,
}

/// What a store says.
#[derive(Serialize)]
struct Attempts<'a> {
    total: u64,
    by_status: &'a BTreeMap<&'static str, u64>,
    points: u64,
    seconds: Number,
    mean_seconds: Option<Number>,
    slowest: Option<Slowest>,
    failures: Vec<Failure<'a>>,
}

#[derive(Serialize)]
struct Slowest {
    x: Vec<Number>,
    seconds: Number,
}

#[derive(Serialize)]
struct Failure<'a> {
    x: Vec<Number>,
    status: &'a str,
    message: &'a str,
    attempt: u32,
    seconds: Number,
    finished: &'a str,
    stderr: &'a str,
}

/// Runs the command.
pub fn run(args: &ShowArgs) -> Result<(), CliError> {
    let run = Run::see(&args.run, FAILURES)?;
    if let Some(Err(error)) = &run.store {
        return Err(CliError::usage(error));
    }
    let store = run.store.as_ref().and_then(|store| store.as_ref().ok());
    print(&if args.json { json(&shown(&run, store)) } else { lines(&run, store) })
}

fn shown<'a>(run: &'a Run, store: Option<&'a Summary>) -> Shown<'a> {
    let best = run.best();
    Shown {
        path: run.path.display().to_string(),
        kind: run.kind(),
        objective: run.objective(),
        dim: run.dim(),
        state: run.state(),
        process: run.look.running,
        stop: run.stop(),
        best: best.map(|(value, _)| Number(value)),
        violation: run.violation().map(Number),
        x: best.map(|(_, x)| numbers(x)),
        steps: run.step(),
        evaluations: run.evaluations(),
        failed_evaluations: run.failed_evaluations(),
        seconds: Number(run.seconds()),
        limits: run.limits(),
        settings: &run.settings,
        checkpoint: run.look.written.map(timestamp),
        checkpoint_age: run.look.written.map(|time| Number(age(time))),
        active: run.active().map(timestamp),
        faults: run.faults(),
        attempts: store.map(attempts),
    }
}

fn age(time: SystemTime) -> f64 {
    SystemTime::now().duration_since(time).map_or(0.0, |d| d.as_secs_f64())
}

fn attempts(store: &Summary) -> Attempts<'_> {
    Attempts {
        total: store.counts.total(),
        by_status: &store.counts.by_status,
        points: store.points,
        seconds: Number(store.counts.seconds),
        mean_seconds: store.mean_seconds().map(Number),
        slowest: store.slowest.as_ref().map(|row| Slowest { x: numbers(&row.point), seconds: Number(row.seconds) }),
        failures: store.failures.iter().map(failure).collect(),
    }
}

fn failure(row: &Row) -> Failure<'_> {
    Failure {
        x: numbers(&row.point),
        status: row.outcome.status(),
        message: row.outcome.message(),
        attempt: row.attempt,
        seconds: Number(row.seconds),
        finished: &row.finished,
        stderr: &row.stderr,
    }
}

fn lines(run: &Run, store: Option<&Summary>) -> String {
    let dim = run.dim().map_or(String::new(), |dim| {
        format!(" in {} dimension{}", grouped(dim as u64), if dim == 1 { "" } else { "s" })
    });
    let setting =
        |key: &&str| run.settings.get(*key).filter(|value| *value != "off").map(|value| format!("{key} {value}"));
    let settings = SHOWN.iter().filter_map(setting).collect::<Vec<_>>().join(", ");
    let mut rows = vec![
        ("run", run.path.display().to_string()),
        ("objective", run.objective().to_string() + &dim),
        ("settings", if settings.is_empty() { "?".into() } else { format!("{settings} ({CONFIG} has all)") }),
        ("state", state(run)),
        ("budget", run.budget()),
    ];
    match run.best() {
        Some((value, [])) => rows.push(("best value", short(value))), // a network's point is in its model
        Some((value, x)) => rows.extend([("best value", short(value)), ("at x", point(x))]),
        None => rows.push(("best value", "none yet".into())),
    }
    if let Some(violation) = run.violation() {
        rows.push(("feasible", format!("no: it violates its constraints by {}", short(violation))));
    }
    let failed = run.failed_evaluations();
    let failed = if failed > 0 { format!(" ({} failed)", grouped(failed)) } else { String::new() };
    rows.push(("evaluations", grouped(run.evaluations()) + &failed));
    rows.push(("seconds", short(run.seconds())));
    rows.push((
        "checkpoint",
        match run.look.written {
            Some(time) => format!("step {}, {}", grouped(run.step()), ago(time)),
            None => "none yet".into(),
        },
    ));
    rows.extend(run.faults().into_iter().map(|fault| ("fault", fault)));
    if let Some(store) = store.filter(|store| store.counts.total() > 0) {
        rows.extend(about_attempts(store));
    }
    rows.iter().map(|(name, text)| format!("{name:<12} {}\n", one_line(text))).collect()
}

fn state(run: &Run) -> String {
    let resume = format!("cbo resume {}", run.path.display());
    match (run.state(), run.look.running, run.stop()) {
        (DAMAGED, ..) => format!("{DAMAGED}: it cannot be resumed"),
        (state, Some(0), _) => state.into(),
        (state, Some(process), _) => format!("{state} (process {process})"),
        ("finished", _, Some(stop)) => format!("finished: {}", crate::result::in_words(stop)),
        (state, ..) => format!("{state}; resume with: {resume}"),
    }
}

/// What a store says, in words.
fn about_attempts(store: &Summary) -> Vec<(&'static str, String)> {
    let counts = &store.counts;
    let each = counts.by_status.iter().map(|(status, n)| format!("{} {status}", grouped(*n))).collect::<Vec<_>>();
    let mut rows = vec![("attempts", format!("{} ({})", grouped(counts.total()), each.join(", ")))];
    if let (Some(mean), Some(slowest)) = (store.mean_seconds(), &store.slowest) {
        let (mean, longest) = (short(mean), short(slowest.seconds));
        rows.push(("of each", format!("{mean} s on average, {longest} s at most, at {}", point(&slowest.point))));
    }
    for row in &store.failures {
        let words = row.outcome.message().lines().next().unwrap_or_default();
        let words = if words.is_empty() { String::new() } else { format!(": {words}") };
        let place =
            format!("at {}, attempt {}, {} s, {}", point(&row.point), row.attempt, short(row.seconds), row.finished);
        rows.push(("failure", format!("{}{words} {place}", row.outcome.status())));
        let lines: Vec<&str> = row.stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let last = &lines[lines.len().saturating_sub(LINES)..];
        rows.extend(last.iter().map(|line| ("  stderr", line.to_string())));
    }
    rows
}
