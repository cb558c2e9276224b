//! The limits that a run had when it was last seen, from which `+N` counts.

use super::MinimizeArgs;
use super::task::{Subject, Task};
use crate::values::{count_or_off, number_or_off};
use cbo_runs::checkpoint::{Checkpoint, Summary};

/// The settings with the limits of the checkpoint. Those in config.toml may be of a resume that was killed before it got anywhere: what it
/// was given must not count twice.
pub fn at(settings: &MinimizeArgs, from: Option<&Checkpoint>) -> MinimizeArgs {
    let mut before = settings.clone();
    let limit = |key: &str| from.and_then(|from| from.summary.settings.get(key)).map_or("", String::as_str);
    let run = &mut before.run;
    run.steps = count_or_off(limit("steps")).ok().or(run.steps);
    run.time = number_or_off(limit("time")).ok().or(run.time);
    run.max_evaluations = count_or_off(limit("max-evaluations")).ok().or(run.max_evaluations);
    run.max_seconds = number_or_off(limit("max-seconds")).ok().or(run.max_seconds);
    before
}

/// A checkpoint of a run that has not begun: it says what the run is, and which limits it has.
pub fn beginning(task: &Task) -> Checkpoint {
    let summary = Summary {
        kind: "minimize".into(),
        cbo: env!("CARGO_PKG_VERSION").into(),
        objective: match &task.subject {
            Subject::Function(_, problem) => problem.description().into(),
            Subject::Formula(formula) => formula.text().into(),
            Subject::Command(spec) => spec.settings.program.text().into(),
        },
        dim: task.dim(),
        settings: task.entries().into_iter().map(|(key, value)| (key.to_string(), value)).collect(),
        files: task.files(),
        ..Summary::default()
    };
    Checkpoint { summary, ..Checkpoint::default() }
}
