//! A program to minimise: its flags, and the checks before a run.

use super::task::{Subject, Task};
use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::numbers::plain;
use crate::options::RunOptions;
use crate::setup;
use crate::text;
use crate::values::{self, FreezeSpec, InitSpec, Switch};
use cbo::{InitialLaw, Plan};
use cbo_runs::external::{ExternalError, Program, Protocol, Settings};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of a program.
#[derive(Args, Clone, Debug, Default)]
pub struct CommandOptions {
    /// A program to minimise instead of a function, such as "./simulate {x}": it takes a point and gives a number
    #[arg(long, value_name = "COMMAND", help_heading = "Program")]
    pub command: Option<String>,
    /// How to talk to the program: args ({x} in the command becomes the coordinates), json (the point on stdin) or jsonl
    /// (workers that stay, a line for each point) [default: args]
    #[arg(long, value_name = "PROTOCOL", help_heading = "Program")]
    pub protocol: Option<Protocol>,
    /// Points evaluated at once, each by a process of its own [default: 1]
    #[arg(long, value_name = "COUNT", value_parser = values::size, help_heading = "Program")]
    pub workers: Option<usize>,
    /// Seconds that an evaluation may take; then it is ended and counts as failed [default: off]
    #[arg(long, value_name = "SECONDS|off", value_parser = values::number_or_off, help_heading = "Program")]
    pub timeout: Option<Switch<f64>>,
    /// How often a failed evaluation is tried again [default: 0]
    #[arg(long, value_name = "COUNT", value_parser = values::count, help_heading = "Program")]
    pub retries: Option<u64>,
    /// Where the program runs [default: the current folder]
    #[arg(long, value_name = "FOLDER", help_heading = "Program")]
    pub command_folder: Option<PathBuf>,
}

/// A program that passed every check.
#[derive(Clone, Debug)]
pub struct CommandSpec {
    /// How points are evaluated.
    pub settings: Settings,
    /// Where.
    pub folder: PathBuf,
    /// Number of coordinates.
    pub dim: usize,
}

impl CommandSpec {
    fn new(options: &CommandOptions, command: &str, dim: usize, origins: &Origins) -> Result<Self, CliError> {
        let blame = |error: &ExternalError| origins.blame(error.field(), &told(error));
        let folder = options.command_folder.clone().unwrap_or_else(|| PathBuf::from("."));
        let folder = folder.canonicalize().map_err(|e| {
            let message = format!("command-folder = {}: {e}; give a folder that exists", folder.display());
            origins.blame("command-folder", &message)
        })?;
        let program = Program::parse(command, options.protocol.unwrap_or(Protocol::Args)).map_err(|e| blame(&e))?;
        let timeout = match options.timeout {
            Some(Switch(Some(seconds))) => {
                let limit = Duration::try_from_secs_f64(seconds).ok().filter(|limit| !limit.is_zero());
                let message = format!("timeout = {}: give seconds above 0, or off", plain(seconds));
                Some(limit.ok_or_else(|| origins.blame("timeout", &message))?)
            }
            _ => None,
        };
        let retries = options.retries.unwrap_or(0);
        let retries = u32::try_from(retries)
            .ok()
            .filter(|r| *r < u32::MAX)
            .ok_or_else(|| origins.blame("retries", &format!("retries = {retries}: use a smaller number")))?;
        let program = program.in_folder(folder.clone());
        let settings = Settings { program, workers: options.workers.unwrap_or(1), timeout, retries };
        settings.check().map_err(|e| blame(&e))?;
        Ok(Self { settings, folder, dim })
    }

    /// Every setting, keys as the flags have them.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let Settings { program, workers, timeout, retries } = &self.settings;
        vec![
            ("command", program.text().into()),
            ("command-folder", self.folder.display().to_string()),
            ("protocol", program.protocol().name().into()),
            ("workers", workers.to_string()),
            ("timeout", text::optional(timeout.map(|t| t.as_secs_f64()), text::number)),
            ("retries", retries.to_string()),
            ("dim", self.dim.to_string()),
        ]
    }
}

/// The flags that only programs have.
pub fn given(options: &CommandOptions) -> Option<&'static str> {
    let CommandOptions { command: _, protocol, workers, timeout, retries, command_folder } = options;
    let flags = [
        ("protocol", protocol.is_some()),
        ("workers", workers.is_some()),
        ("timeout", timeout.is_some()),
        ("retries", retries.is_some()),
        ("command-folder", command_folder.is_some()),
    ];
    flags.into_iter().find_map(|(name, given)| given.then_some(name))
}

/// The task of a run on a program.
pub fn task(
    options: &RunOptions,
    command_options: &CommandOptions,
    command: &str,
    origins: &Origins,
) -> Result<Task, CliError> {
    let problem = &options.problem;
    if let Some(name) = &problem.objective {
        let message = format!("command = {command}: a function, {name}, is also given; leave one of them out");
        return Err(origins.blame("command", &message));
    }
    refuse_flags_of_functions(options, "a command", origins)?;
    let Some(dim) = problem.dim.filter(|dim| *dim > 0) else {
        return Err(
            origins.blame("dim", "dim is missing: say how many coordinates the program takes, for example --dim 5")
        );
    };
    let spec = CommandSpec::new(command_options, command, dim, origins)?;
    Ok(Task::of_subject(Subject::Command(spec), plan(options, dim, origins)?, options))
}

/// Refuses what needs a benchmark function, whose minimiser is known.
pub fn refuse_flags_of_functions(options: &RunOptions, with: &str, origins: &Origins) -> Result<(), CliError> {
    let problem = &options.problem;
    let of_functions = [
        ("shift", problem.shift.is_some()),
        ("rotate", problem.rotate.is_some()),
        ("amplitude", problem.amplitude.is_some()),
        ("condition", problem.condition.is_some()),
        ("freeze", options.freeze == Some(FreezeSpec::Minimiser)),
    ];
    match of_functions.iter().find(|(_, given)| *given) {
        Some((flag, _)) => {
            let message = format!("{flag}: only benchmark functions have this; leave it out with {with}");
            Err(origins.blame(flag, &message))
        }
        None => Ok(()),
    }
}

/// The settings of a run on something of which nobody knows where to search.
pub fn plan(options: &RunOptions, dim: usize, origins: &Origins) -> Result<Plan, CliError> {
    let (mut config, points) = setup::settings(options, dim, false, origins)?;
    config.bounds = setup::bounds(options, dim).map_err(|e| origins.blame("bounds", &e))?.flatten();
    config.init = match (points, &options.init, &config.bounds) {
        (Some(points), ..) => InitialLaw::Points(points),
        (None, Some(InitSpec::Law(law)), _) => law.clone(),
        (None, _, Some(bounds)) => InitialLaw::uniform(bounds),
        (None, _, None) => {
            let message = "bounds is missing: say where the particles start, for example --bounds -5,5 (or --init)";
            return Err(origins.blame("bounds", message));
        }
    };
    if let Some(FreezeSpec::At(point)) = &options.freeze {
        config.freeze = Some(point.clone());
    }
    config.check(dim).map_err(|e| origins.blame_setting(&e))
}
