//! `cbo mnist train`: a network trained by a swarm of particles, no gradient anywhere.

use super::data::{self, Data, DatasetName};
use super::report::{self, Report};
use super::settings::{self, IMAGES};
use super::watch::{Checkpoints, Watch, saved};
use super::{MnistArgs, MnistCommand};
use crate::error::{CliError, print, told};
use crate::interrupt;
use crate::minimize::{eprintln_quietly, failure};
use crate::resume::{ResumeArgs, Resumed, refused as unusable};
use crate::settings::to_toml;
use crate::values::{self, Budget, InitSpec, Switch};
use cbo::{Alpha, Diffusion, Reduction, Scheme, Sigma, SolveError, StateError, Update};
use cbo_lab::training::{Preset, Settings, Trained, Training, TrainingError};
use cbo_problems::nn::{BatchSizeError, Network, Shape};
use cbo_runs::checkpoint::{Checkpoint, Summary};
use cbo_runs::folder::{CONFIG, Folder, FolderError};
use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

pub use super::settings::described;

const EXAMPLES: &str = "\
Examples:
  cbo mnist train                                       # LeNet-1 on the images at hand, a few seconds on the built-in ones
  cbo mnist fetch && cbo mnist train --network lenet1 --epochs 30 --out lenet1
  cbo mnist train --network shallow --epochs 40 --out shallow
  cbo mnist train --preset best --out best              # more particles, fewer epochs
  cbo mnist train --network 'conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn' --json
  cbo mnist train --config lenet1/config.toml --seed 1 --out again   # the settings of a run, one of them replaced

A network is a list of layers: dense OUTPUTS, conv MAPSxKERNEL [shared], relu, pool SIZE, bn.
Ctrl-C ends the training and reports the network as it is; cbo resume continues a run that has a folder.";

const SIGMA: &str = "Diffusion: a number, geometric:START,FACTOR[,CAP][,step|epoch] or log:START[,step|epoch] [default: \
                     log:0.6324555320336759,epoch]";

const ALPHA: &str = "Weight parameter: a number, inf, ess:ETA, geometric:START,FACTOR[,CAP][,step|epoch] or \
                     log:START[,step|epoch] [default: geometric:50,2,epoch, with preset best ess:0.3]";

/// Arguments of `cbo mnist train`. What is not given comes from the preset.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct TrainArgs {
    /// A TOML file with the same keys as the flags; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The network: shallow (7850 parameters), lenet1 (2112) or a list of layers
    #[arg(long, value_name = "NETWORK", default_value = "lenet1")]
    pub network: String,
    /// The settings that hold unless a flag says otherwise
    #[arg(long, value_name = "PRESET", value_enum, default_value_t)]
    pub preset: PresetName,
    /// Passes through the training images [default: 30, with preset best 12]
    #[arg(long, value_name = "EPOCHS", value_parser = values::count)]
    pub epochs: Option<u64>,

    /// A folder with the four IDX files, plain or gzip; `fetched` or `built-in` for one of these alone [default: what cbo
    /// mnist fetch got, else the built-in subset]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub data: Option<PathBuf>,
    /// Which of the fetched data sets to use
    #[arg(long, value_name = "NAME", value_enum, default_value_t, help_heading = "Data")]
    pub dataset: DatasetName,
    /// Images in a data batch, a divisor of their number [default: 60, with preset
    /// best 300, or the largest divisor below]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Data")]
    pub batch_data: Option<usize>,
    /// Takes the images in a new random order each epoch [default: in the order of the file]
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Data")]
    pub shuffle: Option<bool>,

    /// Number of particles N [default: 100, with preset best 400]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Dynamics")]
    pub particles: Option<usize>,
    /// Particles evaluated in a step, a divisor of N; `off` for all [default: 10]
    #[arg(long, value_name = "N", value_parser = values::size_or_off, help_heading = "Dynamics")]
    pub batch_particles: Option<Switch<usize>>,
    /// Which particles move in a step: full (all) or partial (those evaluated) [default: full]
    #[arg(long, value_name = "WHICH", value_parser = values::update, help_heading = "Dynamics")]
    pub update: Option<Update>,
    /// Drift towards the consensus point [default: 1]
    #[arg(long, value_name = "LAMBDA", value_parser = values::number, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub lambda: Option<f64>,
    /// Diffusion over time
    #[arg(long, value_name = "SIGMA", value_parser = values::sigma, allow_hyphen_values = true, help = SIGMA, help_heading = "Dynamics")]
    pub sigma: Option<Sigma>,
    /// Weight parameter over time
    #[arg(long, value_name = "ALPHA", value_parser = values::alpha, allow_hyphen_values = true, help = ALPHA, help_heading = "Dynamics")]
    pub alpha: Option<Alpha>,
    /// Time step [default: 0.1]
    #[arg(long, value_name = "DT", value_parser = values::number, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub dt: Option<f64>,
    /// Kind of noise: anisotropic or isotropic [default: anisotropic]
    #[arg(long, value_name = "KIND", value_parser = values::diffusion, help_heading = "Dynamics")]
    pub diffusion: Option<Diffusion>,
    /// Time discretisation: euler-maruyama or drift-first [default: euler-maruyama]
    #[arg(long, value_name = "SCHEME", value_parser = values::scheme, help_heading = "Dynamics")]
    pub scheme: Option<Scheme>,
    /// Where particles start: normal:MEAN,VARIANCE or uniform:LOW,HIGH [default: normal:0,1]
    #[arg(long, value_name = "LAW", value_parser = values::init, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub init: Option<InitSpec>,
    /// Kicks the swarm by plain noise when the consensus point moved less than this; `off` for never [default: 1e-5,
    /// with preset best 5e-3]
    #[arg(long, value_name = "TOLERANCE|off", value_parser = values::number_or_off, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub kick: Option<Switch<f64>>,
    /// Shrinks the swarm with its variance, once an epoch: on, off or STRENGTH,LEAST [default: off]
    #[arg(long, value_name = "HOW", value_parser = values::reduction, help_heading = "Dynamics")]
    pub reduction: Option<Switch<Reduction>>,

    /// Seed of everything random
    #[arg(long, value_name = "SEED", value_parser = values::count, default_value_t = 0, help_heading = "Computation")]
    pub seed: u64,
    /// Threads; 0 for one per core. Results do not depend on it
    #[arg(long, value_name = "COUNT", value_parser = values::size, default_value_t = 0, help_heading = "Computation")]
    pub threads: usize,

    /// Writes the model, the curve, the result and pictures to this folder, and during the run what cbo resume needs
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Seconds between two checkpoints; 0 for every step
    #[arg(long, value_name = "SECONDS", value_parser = values::number, allow_hyphen_values = true, default_value_t = 30.0,
          help_heading = "Output")]
    pub checkpoint_every: f64,
    /// Replaces the run in the folder of --out, which is set aside
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// One JSON object on stdout, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress bar, no notes
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// Settings with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PresetName {
    /// The paper's.
    #[default]
    Paper,
    /// The fewest epochs to a good LeNet-1.
    Best,
}

impl PresetName {
    /// As the flag has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Best => "best",
        }
    }

    /// The settings for a network.
    pub fn settings(self, network: Network) -> Settings {
        let preset = match self {
            Self::Paper => Preset::Paper,
            Self::Best => Preset::Best,
        };
        preset.settings(network)
    }
}

/// What a run needs to begin or to continue.
struct Task {
    args: TrainArgs,
    settings: Settings,
    data: Data,
    /// Time between two checkpoints.
    every: Duration,
}

impl Task {
    fn new(args: TrainArgs) -> Result<Self, CliError> {
        let network = Network::parse(&args.network, Shape::DIGIT).map_err(|e| CliError::usage(&e))?;
        let every = Duration::try_from_secs_f64(args.checkpoint_every).map_err(|_| {
            CliError::setting("checkpoint-every", args.checkpoint_every, "must be a number of seconds, 0 or more")
        })?;
        let data = data::load(args.data.as_deref(), args.dataset)?;
        let settings = settings::from_args(&args, network, &data)?;
        Ok(Self { args, settings, data, every })
    }

    fn training(&self) -> Result<Training<'_>, CliError> {
        Training::new(&self.settings, &self.data.images).map_err(refused)
    }

    /// The file that repeats the run.
    fn config(&self) -> String {
        to_toml("mnist train", &settings::entries(&self.args, &self.settings, &self.data))
    }

    /// What all checkpoints of the run have in common.
    fn summary(&self) -> Summary {
        let settings = settings::entries(&self.args, &self.settings, &self.data);
        let network = report::network_name(&self.settings.network);
        Summary {
            kind: "mnist".into(),
            cbo: env!("CARGO_PKG_VERSION").into(),
            objective: format!("{network} on {}", report::data_text(self.args.dataset, &self.data)),
            dim: self.settings.network.parameters(),
            settings: settings.into_iter().map(|(key, value)| (key.to_string(), value)).collect(),
            files: [(IMAGES.to_string(), self.data.checksum())].into(),
            ..Summary::default()
        }
    }

    fn watch(&self, checkpoints: Option<Checkpoints>) -> Watch {
        if let (Some(note), false) = (self.data.source.note(), self.args.quiet) {
            eprintln_quietly(&format!("note: {note}"));
        }
        Watch::new(!self.args.json && !self.args.quiet, self.args.quiet, checkpoints)
    }

    /// Writes everything and reports. A fault in one part does not keep the others from being written.
    fn finish(&self, watch: Watch, outcome: Result<Trained, TrainingError>) -> Result<(), CliError> {
        let mut checkpoints = watch.end();
        let trained = outcome.map_err(refused).inspect_err(|error| {
            if let (Some(checkpoints), CliError::Usage(why) | CliError::Failed(why)) = (&checkpoints, error) {
                checkpoints.folder().log(&format!("failed: {why}"));
            }
        })?;
        let report = Report::new(&self.args, &self.settings, &self.data, &trained);
        let kept = checkpoints.as_mut().map_or(Ok(()), Checkpoints::finish);
        // A folder that is no longer ours is not written to.
        let folder = checkpoints.as_ref().map(Checkpoints::folder).filter(|folder| folder.check().is_ok());
        let folder = folder.map(Folder::path);
        let written = folder.map_or(Ok(()), |folder| report.write(folder));
        print(&if self.args.json { report.json() } else { report.text(folder.filter(|_| written.is_ok())) })?;
        kept.map_err(|error| match error {
            FolderError::Gone { .. } | FolderError::Unlocked(_) => CliError::failed(&error),
            error => CliError::Failed(format!("the last checkpoint is missing: {}", told(&error))),
        })?;
        written?;
        if trained.interrupted { Err(CliError::Interrupted) } else { Ok(()) }
    }
}

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<(), CliError> {
    interrupt::listen();
    let task = Task::new(args.clone())?;
    let training = task.training()?;
    let folder = match &args.out {
        Some(path) => Some(Folder::create(path, args.force).map_err(unusable)?),
        None => None,
    };
    if let Some(folder) = &folder {
        folder.write(CONFIG, task.config().as_bytes()).map_err(unusable)?;
    }
    begin(&task, training, folder)
}

/// Trains from the beginning, with checkpoints if there is a folder.
fn begin(task: &Task, training: Training<'_>, folder: Option<Folder>) -> Result<(), CliError> {
    let checkpoints = folder.map(|folder| {
        folder.log(&format!("begun by cbo {}", env!("CARGO_PKG_VERSION")));
        Checkpoints::new(folder, task.every, task.summary(), None)
    });
    let mut watch = task.watch(checkpoints);
    let outcome = training.run(|at| watch.step(&at));
    task.finish(watch, outcome)
}

/// Whether the folder holds a training run, as its settings say: there may be no checkpoint yet.
pub fn is_training(folder: &Folder) -> bool {
    let text = std::fs::read_to_string(folder.file(CONFIG)).unwrap_or_default();
    text.lines().any(|line| line.trim_start().starts_with("network"))
}

/// Begins a training run again that was cut off before its first step was done. `from` is what says so, if there is anything.
pub fn begin_again(given: &ResumeArgs, folder: Folder, from: Option<Checkpoint>) -> Result<(), CliError> {
    interrupt::listen();
    let task = Task::new(resumed_args(given, &folder, from.as_ref())?)?;
    let training = task.training()?;
    if from.is_none() {
        folder.set_checkpoints_aside().map_err(unusable)?;
        // With the epochs that it had: more of them, if this is killed before its first step is done, must not count twice.
        let mut summary = task.summary();
        summary.settings.insert("epochs".into(), epochs(&written_args(&folder)?).to_string());
        folder.save(&Checkpoint { summary, ..Checkpoint::default() }).map_err(unusable)?;
    }
    rewrite(given, &task, &folder)?;
    begin(&task, training, Some(folder))
}

/// Keeps what was given to `cbo resume` for the next time.
fn rewrite(given: &ResumeArgs, task: &Task, folder: &Folder) -> Result<(), CliError> {
    if given.epochs.is_none() && given.threads.is_none() && given.checkpoint_every.is_none() {
        return Ok(());
    }
    folder.write(CONFIG, task.config().as_bytes()).map_err(unusable)
}

/// Resumes a training run.
pub fn resume(given: &ResumeArgs, Resumed { folder, from }: Resumed) -> Result<(), CliError> {
    interrupt::listen();
    let task = Task::new(resumed_args(given, &folder, Some(&from))?)?;
    let training = task.training()?;
    let summary = task.summary();
    if !given.force {
        settings::check_same(&folder.file(CONFIG), &from.summary, &summary)?;
    }
    let (done, epoch) = (from.summary.step, training.epoch_steps());
    if task.settings.epochs.saturating_mul(epoch) < done {
        let remedy = format!("the run is past that; give at least {}", done.div_ceil(epoch));
        return Err(CliError::setting("epochs", task.settings.epochs, remedy));
    }
    let saved = saved(&from).ok_or_else(|| damaged("it has no section for the curve"))?;
    rewrite(given, &task, &folder)?;
    folder.log(&format!("resumed at step {done} by cbo {}", env!("CARGO_PKG_VERSION")));
    let mut watch = task.watch(Some(Checkpoints::new(folder, task.every, summary, Some(from))));
    let outcome = training.resume(&saved, |at| watch.step(&at));
    task.finish(watch, outcome)
}

/// A checkpoint whose bytes are whole, but which no training run wrote.
fn damaged(why: &str) -> CliError {
    CliError::Usage(format!(
        "the checkpoint cannot be used: {why}; begin again with the settings of the run: cbo mnist train --config {CONFIG} --out \
         NEW_FOLDER"
    ))
}

/// The arguments of the run in a folder, with what was given to `cbo resume` over them.
fn resumed_args(given: &ResumeArgs, folder: &Folder, from: Option<&Checkpoint>) -> Result<TrainArgs, CliError> {
    let others = [
        ("steps", given.steps.is_some()),
        ("max-evaluations", given.max_evaluations.is_some()),
        ("time", given.time.is_some()),
        ("max-seconds", given.max_seconds.is_some()),
        ("workers", given.workers.is_some()),
        ("timeout", given.timeout.is_some()),
        ("retries", given.retries.is_some()),
        ("retry-failed", given.retry_failed),
    ];
    if let Some((flag, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let remedy = format!("--{flag} is not for training runs, and {} holds one", folder.path().display());
        return Err(CliError::Usage(format!("{remedy}; use --epochs")));
    }
    let mut args = written_args(folder)?;
    args.threads = given.threads.unwrap_or(args.threads);
    args.checkpoint_every = given.checkpoint_every.unwrap_or(args.checkpoint_every);
    args.epochs = match (given.epochs, args.epochs) {
        (None, before) => before,
        (Some(Budget::Limit(epochs)), _) => Some(epochs),
        (Some(Budget::More(more)), _) => {
            // Those in the file may be of a resume that was killed before it got anywhere: they must not count twice.
            let before = from.and_then(|from| from.summary.settings.get("epochs")?.parse::<u64>().ok());
            let after = before.unwrap_or_else(|| epochs(&args)).checked_add(more);
            Some(after.ok_or_else(|| CliError::setting("epochs", format!("+{more}"), "is too many"))?)
        }
    };
    (args.json, args.quiet) = (given.json, given.quiet);
    Ok(args)
}

/// The arguments in the settings of a folder.
fn written_args(folder: &Folder) -> Result<TrainArgs, CliError> {
    let mut file = OsString::from("--config=");
    file.push(folder.file(CONFIG));
    let arguments = ["cbo", "mnist", "train"].map(OsString::from).into_iter().chain([file]);
    let (cli, _) = crate::parse(&arguments.collect::<Vec<_>>())?;
    let crate::Command::Mnist(MnistArgs { command: MnistCommand::Train(args) }) = cli.command else {
        return Err(damaged("it is not that of a training run"));
    };
    Ok(*args)
}

/// The epochs that are asked for.
fn epochs(args: &TrainArgs) -> u64 {
    args.epochs.unwrap_or_else(|| args.preset.settings(Network::shallow()).epochs)
}

/// A run that could not be made, in the words of the flags.
fn refused(error: TrainingError) -> CliError {
    match error {
        TrainingError::Solve(SolveError::Config(error)) if error.field == "batch" => {
            CliError::setting("batch-particles", error.value, error.remedy)
        }
        TrainingError::BatchSize(BatchSizeError { size, images, nearest }) => CliError::setting(
            "batch-data",
            size,
            format!("must divide the number of training images, {images}; {nearest} does"),
        ),
        TrainingError::Solve(error) => failure(&error),
        TrainingError::State(error @ StateError::Differs { .. }) => {
            CliError::Usage(format!("{error}; put it back in {CONFIG}, it cannot change in the middle of a run"))
        }
        TrainingError::OtherEpochs => CliError::Usage(format!(
            "batch-data, particles and batch-particles cannot change in the middle of a run, because an epoch would then \
             have another number of steps; put them back in {CONFIG}"
        )),
        error @ (TrainingError::State(_) | TrainingError::Saved(_)) => damaged(&told(&error)),
        other => CliError::usage(&other),
    }
}
