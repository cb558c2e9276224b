//! Which settings of a run are not the defaults, for those who read about it.

use super::MinimizeArgs;
use super::task::{Subject, Task};
use crate::config_file::Origins;
use crate::options::{ProblemOptions, RunOptions};
use std::collections::BTreeMap;

/// The keys of the settings that differ from what the run would have if only its objective, its dimension, its method and, where nobody else
/// knows, where to search were given. Nothing if these alone do not make a run.
pub fn keys(args: &MinimizeArgs, task: &Task) -> Vec<String> {
    let problem = &args.run.problem;
    let knows_where = matches!(task.subject, Subject::Function(..));
    let run = RunOptions {
        problem: ProblemOptions { objective: problem.objective.clone(), dim: problem.dim, ..ProblemOptions::default() },
        method: args.run.method,
        bounds: args.run.bounds.clone().filter(|_| !knows_where),
        init: args.run.init.clone().filter(|_| !knows_where),
        ..RunOptions::default()
    };
    let mut plain = MinimizeArgs { run, formula: args.formula.clone(), ..MinimizeArgs::default() };
    plain.program.command.clone_from(&args.program.command);
    plain.program.command_folder.clone_from(&args.program.command_folder);
    let Ok(plain) = Task::new(&plain, &Origins::default()) else { return Vec::new() };
    let defaults: BTreeMap<&str, String> = plain.entries().into_iter().collect();
    let differs = |(key, value): &(&str, String)| defaults.get(key) != Some(value);
    task.entries().into_iter().filter(differs).map(|(key, _)| key.into()).collect()
}
