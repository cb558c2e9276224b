//! `cbo runs list`: a table of the runs below a folder.

use super::seen::{Run, ago, is_run};
use super::table;
use crate::error::{CliError, print};
use crate::numbers::{Number, grouped, json, short};
use crate::progress::duration;
use crate::text::one_line;
use cbo_runs::timestamp::timestamp;
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// How far below a folder to look for runs.
const LEVELS: usize = 4;

const EXAMPLES: &str = "\
Examples:
  cbo runs list
  cbo runs list results --json";

/// Arguments of `cbo runs list`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Where to look, four levels down; links are not followed
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    pub folder: PathBuf,
    /// JSON on stdout: an array of runs
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: String,
    kind: &'a str,
    objective: &'a str,
    dim: Option<usize>,
    state: &'a str,
    best: Option<Number>,
    steps: u64,
    evaluations: u64,
    limits: BTreeMap<&'static str, &'a str>,
    seconds: Number,
    active: Option<String>,
    faults: Vec<String>,
}

/// Runs the command.
pub fn run(args: &ListArgs) -> Result<(), CliError> {
    let folder = &args.folder;
    fs::read_dir(folder)
        .map_err(|e| CliError::setting("folder", folder.display(), format!("{e}; give a folder that exists")))?;
    let mut paths = Vec::new();
    search(folder, LEVELS, &mut paths);
    paths.sort();
    // A run that cannot be read is no reason to hide the others.
    let (mut runs, mut notes) = (Vec::new(), Vec::new());
    for path in paths {
        match Run::see(&path, 0) {
            Ok(run) => runs.push(run),
            Err(CliError::Usage(message)) => notes.push(message),
            Err(error) => return Err(error),
        }
    }
    if args.json {
        return print(&json(&runs.iter().map(entry).collect::<Vec<_>>()));
    }
    if runs.is_empty() && notes.is_empty() {
        let place = one_line(&folder.display().to_string());
        return print(&format!(
            "no runs in {place}, nor up to {LEVELS} levels below; `cbo minimize --out` makes one\n"
        ));
    }
    let faults = |run: &Run| {
        run.faults().into_iter().map(|fault| format!("{}: {fault}", run.path.display())).collect::<Vec<_>>()
    };
    notes.extend(runs.iter().flat_map(faults));
    let notes: String = notes.iter().map(|note| format!("note: {}\n", one_line(note))).collect();
    let heading =
        ["run", "state", "objective", "dim", "best value", "steps", "evaluations", "budget", "time", "last active"];
    let rows: Vec<_> = runs.iter().map(row).collect();
    print(&(table(heading, &rows) + &notes))
}

/// The run folders; what is below a run belongs to it.
fn search(folder: &Path, levels: usize, found: &mut Vec<PathBuf>) {
    if is_run(folder) {
        return found.push(folder.into());
    }
    let Some(levels) = levels.checked_sub(1) else { return };
    // A folder that cannot be read has no runs for us.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        // The kind of the entry itself: a link is not a folder.
        if !hidden && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&shown(folder, &entry), levels, found);
        }
    }
}

/// The path of an entry, without the dot of the current folder.
fn shown(folder: &Path, entry: &fs::DirEntry) -> PathBuf {
    if folder == Path::new(".") { entry.file_name().into() } else { entry.path() }
}

fn entry(run: &Run) -> Entry<'_> {
    Entry {
        path: run.path.display().to_string(),
        kind: run.kind(),
        objective: run.objective(),
        dim: run.dim(),
        state: run.state(),
        best: run.best().map(|(value, _)| Number(value)),
        steps: run.step(),
        evaluations: run.evaluations(),
        limits: run.limits(),
        seconds: Number(run.seconds()),
        active: run.active().map(timestamp),
        faults: run.faults(),
    }
}

fn row(run: &Run) -> [String; 10] {
    [
        run.path.display().to_string(),
        run.state().into(),
        cut(run.objective()),
        run.dim().map_or("?".into(), |dim| grouped(dim as u64)),
        run.best().map_or("-".into(), |(value, _)| short(value)),
        grouped(run.step()),
        grouped(run.evaluations()),
        run.budget(),
        duration(run.seconds()),
        run.active().map_or("-".into(), ago),
    ]
}

/// The beginning of a long text.
fn cut(text: &str) -> String {
    const WIDTH: usize = 32;
    if text.chars().count() <= WIDTH {
        return text.into();
    }
    text.chars().take(WIDTH - 4).collect::<String>().trim_end().to_string() + " ..."
}
