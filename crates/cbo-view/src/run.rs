//! One item as JSON for the pages: in short for the overview, and with everything for its own page.

use crate::find::{Item, Kind};
use crate::history::History;
use crate::state::State;
use crate::{evaluations, outputs, read};
use cbo_runs::external::WorkerState;
use cbo_runs::folder::{CHECKPOINT, CONFIG, EVALUATIONS, LOG, STEPS, SWARM, WORKERS};
use cbo_runs::track::Track;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;

/// Bytes of a swarm's track at most.
pub const SWARM_BYTES: usize = 1 << 26;

/// What the overview says of an item.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Short {
    /// Its name in addresses.
    pub id: String,
    /// Its path, from the folder that was given.
    pub name: String,
    /// `run`, `training`, `comparison` or `experiment`.
    pub kind: &'static str,
    /// What is minimised.
    pub objective: String,
    /// How.
    pub method: String,
    /// Number of coordinates.
    pub dim: Option<usize>,
    /// `running`, `finished`, `interrupted` or `failed`.
    pub state: &'static str,
    /// The best value; of training, the least loss.
    pub best: Option<f64>,
    /// Steps taken.
    pub steps: Option<u64>,
    /// Evaluations spent.
    pub evaluations: Option<u64>,
    /// Those without a value.
    pub failed: Option<u64>,
    /// Seconds of computing.
    pub seconds: Option<f64>,
    /// When something was last written, in milliseconds since 1970.
    pub active: u64,
    /// Evaluations and best values, a few of them.
    pub curve: Vec<(f64, f64)>,
}

/// Lengths and times of all files that the pages of an item depend on: another stamp is another content.
pub fn stamp(item: &Item) -> Vec<(u64, u64)> {
    let names: Vec<String> = match item.kind {
        Kind::Run => {
            let log = "evaluations.sqlite-wal";
            let names = [CHECKPOINT, CONFIG, LOG, STEPS, SWARM, WORKERS, EVALUATIONS, log, "curve.csv", "result.json"];
            names.map(String::from).into()
        }
        Kind::Comparison => ["compare.json", "curves.csv"].map(String::from).into(),
        Kind::Experiment(name) => ["json", "csv", "png"].map(|ending| format!("{name}.{ending}")).into(),
    };
    let mut stamps: Vec<_> = names.iter().map(|name| read::stamp(&item.path.join(name))).collect();
    if item.kind == Kind::Run {
        stamps.push((cbo_runs::folder::worker(&item.path).map_or(0, |process| u64::from(process) + 1), 0));
    }
    stamps
}

/// When something was last written, in milliseconds since 1970.
fn active(stamps: &[(u64, u64)]) -> u64 {
    stamps.iter().map(|(_, time)| *time).max().unwrap_or(0)
}

/// An item in short.
pub fn short(item: &Item) -> Short {
    match item.kind {
        Kind::Run => short_of_run(item, &State::of(&item.path), &History::of(&item.path)),
        Kind::Comparison | Kind::Experiment(_) => outputs::short(item),
    }
}

fn short_of_run(item: &Item, state: &State, history: &History) -> Short {
    let summary = state.summary.as_ref();
    let is_training = summary.is_some_and(|s| s.kind == "mnist") || state.settings.contains_key("network");
    let last = |name: &str| history.columns.get(name).and_then(|column| column.last()).copied();
    // A track is newer than the checkpoint while a run is at work.
    let newer = last("step").filter(|step| summary.is_none_or(|s| *step > s.step as f64));
    let newest = |name: &str, kept: Option<f64>| newer.and_then(|_| last(name)).or(kept);
    let count = |value: Option<f64>| value.map(|value| value as u64);
    let objective = summary.map(|s| s.objective.as_str());
    let objective = objective.or(state.setting("command")).or(state.setting("formula")).or(state.setting("objective"));
    let stored = evaluations::count(&item.path);
    let (curve, least) = if is_training { outputs::losses(&item.path) } else { (history.small(), None) };
    let best = newest("best", summary.and_then(|s| s.best)).into_iter().chain(least).reduce(f64::min);
    // The end of a run may take some more, after its last step.
    let at_end = || read::json(&item.path.join("result.json"))?["evaluations"].as_u64();
    let at_end = if state.word() == "finished" { at_end() } else { None };
    Short {
        id: item.id.clone(),
        name: item.name.clone(),
        kind: if is_training { "training" } else { "run" },
        objective: objective.or(state.setting("network")).unwrap_or("?").into(),
        method: state.setting("method").unwrap_or(if is_training { "cbo" } else { "auto" }).into(),
        dim: summary.map(|s| s.dim).or(state.setting("dim").and_then(|dim| dim.parse().ok())),
        state: state.word(),
        best: best.filter(|best| best.is_finite()),
        steps: count(newest("step", summary.map(|s| s.step as f64))),
        evaluations: count(newest("evaluations", summary.map(|s| s.evaluations as f64))).max(stored).max(at_end),
        failed: count(newest("failed", summary.map(|s| s.failed_evaluations as f64))),
        seconds: newest("seconds", summary.map(|s| s.seconds)),
        active: active(&stamp(item)),
        curve,
    }
}

/// Everything about an item; its history can be left out.
pub fn whole(item: &Item, with_history: bool) -> Value {
    match item.kind {
        Kind::Run => whole_run(item, with_history),
        Kind::Comparison => json!({ "short": short(item), "comparison": outputs::comparison(&item.path) }),
        Kind::Experiment(name) => json!({ "short": short(item), "experiment": outputs::experiment(&item.path, name) }),
    }
}

fn whole_run(item: &Item, with_history: bool) -> Value {
    let folder = &item.path;
    let (state, history) = (State::of(folder), History::of(folder));
    let summary = state.summary.clone().unwrap_or_default();
    let short = short_of_run(item, &state, &history);
    let is_training = short.kind == "training";
    let settings: Vec<Value> = state
        .settings
        .iter()
        .map(|(key, value)| json!({ "key": key, "value": value, "changed": summary.changed.contains(key) }))
        .collect();
    let command = if is_training { "mnist train" } else { "minimize" };
    let quoted = |path: &Path| quoted(&path.display().to_string());
    let result = read::json(&folder.join("result.json")).filter(|_| short.state == "finished");
    let told = |key: &str| result.as_ref().and_then(|result| result.get(key)).cloned().unwrap_or(Value::Null);
    let workers = read::json(&folder.join(WORKERS)).and_then(|w| serde_json::from_value::<Vec<WorkerState>>(w).ok());
    let frames = Track::count(&folder.join(SWARM)).filter(|frames| *frames > 0);
    json!({
        "x": summary.x.iter().take(256).collect::<Vec<_>>(),
        "violation": summary.violation,
        "stop": summary.stop,
        "version": summary.cbo,
        "process": state.process,
        "failure": state.failure(),
        "message": told("message"),
        "minimum": told("minimum"),
        "distance": told("distance"),
        "phases": told("phases"),
        "settings": settings,
        "knows_changes": !summary.changed.is_empty(),
        "repeat": format!("cbo {command} --config {}", quoted(&folder.join(CONFIG))),
        "resume": (["interrupted", "failed"].contains(&short.state)).then(|| format!("cbo resume {}", quoted(folder))),
        "path": folder.display().to_string(),
        "log": state.log,
        "faults": state.faults,
        "history": with_history.then_some(history),
        "workers": workers.filter(|_| short.state == "running"),
        "evaluations": evaluations::in_short(folder, short.state == "running"),
        "swarm": frames.map(|frames| json!({ "frames": frames })),
        "training": is_training.then(|| outputs::training(folder)),
        "short": short,
    })
}

/// A word of a command line.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.into() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The track of the swarm: whole, or its head and the records after a step if they are still as far apart.
pub fn swarm(item: &Item, after: Option<(u64, u64)>) -> Option<Vec<u8>> {
    let mut track = Track::read(&item.path.join(SWARM), SWARM_BYTES)?;
    let two: Vec<u64> = track.steps().take(2).collect();
    if let (Some((step, spacing)), [first, second]) = (after, &two[..])
        && second.checked_sub(*first) == Some(spacing)
    {
        track.retain(|s| s > step);
    }
    Some(track.to_bytes())
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(super::quoted("/a/b-c.toml"), "/a/b-c.toml");
        assert_eq!(super::quoted("it's $HOME"), "'it'\\''s $HOME'");
    }
}
