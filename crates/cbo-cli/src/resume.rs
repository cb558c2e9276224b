//! `cbo resume`: continues a run where it was cut off, or beyond its end with a larger budget.

use crate::device::DeviceSpec;
use crate::error::{CliError, told};
use crate::values::{self, Budget, Switch};
use crate::{minimize, mnist, ranks};
use cbo::ranks::farm::Schedule;
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::folder::{Folder, FolderError};
use cbo_runs::parts::joined;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo resume runs/wing                          # after a crash, a reboot or Ctrl-C
  cbo resume runs/wing --steps +500             # 500 steps more than it was allowed
  cbo resume runs/wing --max-evaluations 100000 # a new limit
  cbo resume lenet1 --epochs 50                 # a training run

The result is that of an undisturbed run, bit for bit, with any number of threads.";

/// Arguments of `cbo resume`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct ResumeArgs {
    /// The run folder, given as --out before
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// A new limit of steps (of training: iterations), or how many more (+N)
    #[arg(long, value_name = "STEPS|+MORE", value_parser = values::count_budget, help_heading = "When to stop")]
    pub steps: Option<Budget<u64>>,
    /// A new limit of evaluations, or how many more (+N)
    #[arg(long, alias = "evaluations", value_name = "COUNT|+MORE", value_parser = values::count_budget, help_heading = "When to stop")]
    pub max_evaluations: Option<Budget<u64>>,
    /// A new end time of the dynamics, or how much more (+T)
    #[arg(long, value_name = "T|+MORE", value_parser = values::number_budget, conflicts_with = "steps", help_heading = "When to stop")]
    pub time: Option<Budget<f64>>,
    /// A new limit of seconds, including those before, or how many more (+S)
    #[arg(long, alias = "seconds", value_name = "SECONDS|+MORE", value_parser = values::number_budget, help_heading = "When to stop")]
    pub max_seconds: Option<Budget<f64>>,
    /// A new number of epochs of a training run, or how many more (+N)
    #[arg(long, value_name = "EPOCHS|+MORE", value_parser = values::count_budget, help_heading = "When to stop")]
    pub epochs: Option<Budget<u64>>,
    /// Points evaluated at once from now on, if a program is minimised [default: as before]
    #[arg(long, value_name = "COUNT", value_parser = values::size, help_heading = "Program")]
    pub workers: Option<usize>,
    /// Seconds that an evaluation may take from now on; `off` for no limit [default: as before]
    #[arg(long, value_name = "SECONDS|off", value_parser = values::number_or_off, help_heading = "Program")]
    pub timeout: Option<Switch<f64>>,
    /// How often a failed evaluation is tried again from now on [default: as before]
    #[arg(long, value_name = "COUNT", value_parser = values::count, help_heading = "Program")]
    pub retries: Option<u64>,
    /// Tries points that failed before again: for a program that has been fixed
    #[arg(long, help_heading = "Program")]
    pub retry_failed: bool,
    /// Threads from now on; 0 for one per core [default: as before]
    #[arg(long, value_name = "COUNT", value_parser = values::size, help_heading = "Computation")]
    pub threads: Option<usize>,
    /// How a run on several ranks is spread from now on: `static` or `dynamic`, as in `cbo minimize`
    #[arg(long, value_name = "SCHEDULE", help_heading = "Computation")]
    pub schedule: Option<Schedule>,
    /// Where to compute from now on: `cpu` or `cuda[:N]` [default: as before]
    #[arg(long, value_name = "DEVICE", help_heading = "Computation")]
    pub device: Option<DeviceSpec>,
    /// Seconds between two checkpoints [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = values::number, help_heading = "Computation")]
    pub checkpoint_every: Option<f64>,
    /// Resumes even if settings or the objective have changed since, or begins again if no checkpoint can be read
    #[arg(long)]
    pub force: bool,
    /// One JSON object on stdout, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress bar, no warnings
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// A run that is resumed: its folder, now ours alone, and where it was.
#[derive(Debug)]
pub struct Resumed {
    /// The folder.
    pub folder: Folder,
    /// The checkpoint.
    pub from: Checkpoint,
}

/// Runs the command.
pub fn run(args: &ResumeArgs) -> Result<(), CliError> {
    let folder = Folder::open(&args.folder).map_err(refused)?;
    let from = match folder.load() {
        Ok((from, fault)) => {
            if let Some(fault) = fault {
                let note = format!("{fault}; resuming from the one before it, step {}", from.summary.step);
                folder.log(&note);
                (!args.quiet).then(|| minimize::eprintln_quietly(&format!("warning: {note}")));
            }
            Some(from)
        }
        // Cut off in its first step, or begun again on purpose: a store may know what was evaluated.
        Err(FolderError::NoCheckpoint { why, .. }) if why.is_empty() || args.force => None,
        Err(error) => return Err(refused(error)),
    };
    // Several ranks read their own parts of it.
    let from = match from {
        Some(from) if ranks::several().is_none() => {
            Some(joined(from, folder.path()).map_err(|e| minimize::state_refused(&e))?)
        }
        from => from,
    };
    match from {
        Some(from) if from.summary.kind == "mnist" && from.state.is_empty() => {
            mnist::train::begin_again(args, folder, Some(from))
        }
        Some(from) if from.summary.kind == "mnist" => mnist::train::resume(args, Resumed { folder, from }),
        None if mnist::train::is_training(&folder) => mnist::train::begin_again(args, folder, None),
        from => minimize::resume(args, folder, from),
    }
}

/// A folder that cannot be used is for the user to fix.
pub fn refused(error: FolderError) -> CliError {
    let remedy = match &error {
        FolderError::Missing(_) | FolderError::NotARun(_) => "; give the folder of --out".into(),
        FolderError::Occupied(folder) => {
            let folder = folder.display();
            format!(": resume it (cbo resume {folder}), choose another folder, or replace the run with --force")
        }
        FolderError::NoCheckpoint { folder, .. } => format!("; begin again: cbo resume {} --force", folder.display()),
        _ => String::new(),
    };
    CliError::Usage(told(&error) + &remedy)
}
