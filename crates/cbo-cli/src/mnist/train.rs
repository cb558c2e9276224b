//! `cbo mnist train`: a network trained by a swarm of particles, no gradient anywhere.

use super::args::TrainArgs;
use super::data::{self, Data};
use super::report::{self, Report};
use super::settings::{self, IMAGES};
use super::watch::{Checkpoints, Watch, saved};
use super::{MnistArgs, MnistCommand};
use crate::error::{CliError, print, told};
use crate::interrupt;
use crate::minimize::{eprintln_quietly, failure};
use crate::ranks::{self, Assignment, Keeping, Kind};
use crate::resume::{ResumeArgs, Resumed, refused as unusable};
use crate::settings::to_toml;
use crate::values::Budget;
use cbo::ranks::farm::Schedule;
use cbo::{SolveError, StateError};
use cbo_lab::training::{Helped, Settings, Trained, Trainer, Training, TrainingError};
use cbo_problems::nn::{BatchSizeError, Network, Shape};
use cbo_runs::checkpoint::{Checkpoint, Summary};
use cbo_runs::folder::{CONFIG, Folder, FolderError};
use std::ffi::OsString;
use std::time::Duration;

pub use super::settings::described;

/// Who computes on several ranks, and what they keep.
type Led = (Box<dyn Trainer>, Keeping);

/// What a run needs to begin or to continue.
pub struct Task {
    args: TrainArgs,
    settings: Settings,
    data: Data,
    /// Time between two checkpoints.
    every: Duration,
}

impl Task {
    /// What the flags ask for.
    pub fn new(mut args: TrainArgs) -> Result<Self, CliError> {
        args.dataset = args.dataset.chosen(args.fashion);
        let network = network(&args)?;
        let every = Duration::try_from_secs_f64(args.checkpoint_every).map_err(|_| {
            CliError::setting("checkpoint-every", args.checkpoint_every, "must be a number of seconds, 0 or more")
        })?;
        let data = data::load(args.data.as_deref(), args.dataset)?;
        let settings = settings::from_args(&args, network, &data)?;
        Ok(Self { args, settings, data, every })
    }

    /// The training itself, with the threads of this rank; it fits into memory.
    pub fn training(&self) -> Result<Training<'_>, CliError> {
        let mut settings = self.settings.clone();
        settings.config.threads = ranks::own_threads(settings.config.threads);
        let training = Training::new(&settings, &self.data.images).map_err(refused)?;
        let spread = match ranks::several() {
            Some(ranks) if self.kind(&training)? == Kind::Particles => ranks.size(),
            _ => 1,
        };
        training.fits(spread).map(|()| training).map_err(refused)
    }

    /// How it is spread over several ranks, or why it cannot be.
    pub fn kind(&self, training: &Training<'_>) -> Result<Kind, CliError> {
        ranks::kind_of_training(training.plan(), self.args.schedule)
    }

    /// What must be the same on all ranks, apart from the settings.
    pub fn facts(&self) -> Vec<(String, String)> {
        vec![("set of images".into(), self.data.checksum())]
    }

    /// Lets the other ranks begin with this training, from a checkpoint if there is one, and says who computes, with what they keep of it. To
    /// be called when nothing else can go wrong.
    fn lead(
        &self,
        training: &Training<'_>,
        (folder, from): (Option<&Folder>, Option<&Checkpoint>),
    ) -> Result<Option<Led>, CliError> {
        let Some(ranks) = ranks::several() else { return Ok(None) };
        let kind = self.kind(training)?;
        // A run that takes no more steps is judged at its end.
        let whole = from.is_some_and(|from| from.summary.step >= training.steps());
        let mut entries = settings::entries(&self.args, &self.settings, &self.data);
        let schedule = if kind == Kind::Particles { Schedule::Static } else { Schedule::Dynamic };
        entries.push(("schedule", schedule.to_string()));
        let config = training.plan().config();
        let bytes = (size_of::<f32>() * config.particles.saturating_mul(training.plan().dim())) as u64;
        let keeping = ranks::lead(Assignment::training(entries, kind, whole), self.facts(), (folder, from), bytes)?;
        let trainer: Box<dyn Trainer> = match kind {
            Kind::Particles => Box::new(keeping.particles(ranks, whole)),
            _ => Box::new(Helped { communicator: ranks.clone(), threads: config.threads }),
        };
        Ok(Some((trainer, keeping)))
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

    /// Who computes.
    fn trainer(&self, training: &Training<'_>) -> Result<Box<dyn Trainer>, CliError> {
        self.args.device.unwrap_or_default().trainer(training)
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
        let written = folder.map_or(Ok(()), |folder| report.write(folder));
        let place = folder.filter(|_| written.is_ok()).map(Folder::path);
        print(&if self.args.json { report.json() } else { report.text(place) })?;
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
    let trainer = task.trainer(&training)?;
    let folder = match &args.out {
        Some(path) => Some(Folder::create(path, args.force).map_err(unusable)?),
        None => None,
    };
    if let Some(folder) = &folder {
        folder.write(CONFIG, task.config().as_bytes()).map_err(unusable)?;
    }
    begin(&task, training, &*trainer, folder)
}

/// Trains from the beginning, with checkpoints if there is a folder.
fn begin(task: &Task, training: Training<'_>, own: &dyn Trainer, folder: Option<Folder>) -> Result<(), CliError> {
    let led = task.lead(&training, (folder.as_ref(), None))?;
    let (trainer, scribe) = led.map_or((None, None), |(trainer, keeping)| (Some(trainer), keeping.scribe));
    let trainer = trainer.as_deref().unwrap_or(own);
    let checkpoints = folder.map(|folder| {
        folder.log(&format!("begun by cbo {}", env!("CARGO_PKG_VERSION")));
        Checkpoints::new(folder, task.every, task.summary(), None).written_by(scribe)
    });
    let mut watch = task.watch(checkpoints);
    let outcome = training.run_on(trainer, |at| watch.step(&at));
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
    let trainer = task.trainer(&training)?;
    if from.is_none() {
        folder.set_checkpoints_aside().map_err(unusable)?;
        // With the length that it had: more of it, if this is killed before its first step is done, must not count twice.
        let mut summary = task.summary();
        let Length { unit, count } = length(&written_args(&folder)?)?;
        summary.settings.insert(unit.into(), count.to_string());
        folder.save(&Checkpoint { summary, ..Checkpoint::default() }).map_err(unusable)?;
    }
    rewrite(given, &task, &folder)?;
    begin(&task, training, &*trainer, Some(folder))
}

/// Keeps what was given to `cbo resume` for the next time.
fn rewrite(given: &ResumeArgs, task: &Task, folder: &Folder) -> Result<(), CliError> {
    let lengths = given.epochs.is_some() || given.steps.is_some();
    if !lengths && given.threads.is_none() && given.device.is_none() && given.checkpoint_every.is_none() {
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
    let done = from.summary.step;
    if training.steps() < done {
        let (flag, given, least) = match task.settings.iterations {
            Some(iterations) => ("steps", iterations, done),
            None => ("epochs", task.settings.epochs, done.div_ceil(training.epoch_steps())),
        };
        return Err(CliError::setting(flag, given, format!("the run is past that; give at least {least}")));
    }
    let mut saved = saved(&from).ok_or_else(|| damaged("it has no section for the curve"))?;
    training.continues(&saved).map_err(refused)?;
    let trainer = task.trainer(&training)?;
    rewrite(given, &task, &folder)?;
    let (trainer, scribe) = match task.lead(&training, (Some(&folder), Some(&from)))? {
        Some((trainer, keeping)) => {
            saved.state = keeping.state;
            (trainer, keeping.scribe)
        }
        None => (trainer, None),
    };
    folder.log(&format!("resumed at step {done} by cbo {}", env!("CARGO_PKG_VERSION")));
    let checkpoints = Checkpoints::new(folder, task.every, summary, Some(from)).written_by(scribe);
    let mut watch = task.watch(Some(checkpoints));
    let outcome = training.resume_on(&*trainer, &saved, |at| watch.step(&at));
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
    let mut args = written_args(folder)?;
    let Length { unit, count } = length(&args)?;
    let (flag, wanted, other) = match unit {
        ITERATIONS => ("steps", given.steps, ("epochs", given.epochs.is_some())),
        _ => ("epochs", given.epochs, ("steps", given.steps.is_some())),
    };
    let others = [
        other,
        ("max-evaluations", given.max_evaluations.is_some()),
        ("time", given.time.is_some()),
        ("max-seconds", given.max_seconds.is_some()),
        ("workers", given.workers.is_some()),
        ("timeout", given.timeout.is_some()),
        ("retries", given.retries.is_some()),
        ("retry-failed", given.retry_failed),
    ];
    if let Some((wrong, _)) = others.iter().find(|(_, is_given)| *is_given) {
        let kind = if *wrong == "epochs" { "runs of so many iterations" } else { "training runs" };
        let remedy = format!("--{wrong} is not for {kind}, and {} holds one", folder.path().display());
        return Err(CliError::Usage(format!("{remedy}; use --{flag}")));
    }
    args.threads = given.threads.unwrap_or(args.threads);
    args.device = given.device.or(args.device);
    args.schedule = given.schedule;
    args.checkpoint_every = given.checkpoint_every.unwrap_or(args.checkpoint_every);
    let count = match wanted {
        None => count,
        Some(Budget::Limit(limit)) => limit,
        Some(Budget::More(more)) => {
            // The length in the file may be of a resume that was killed before it got anywhere: it must not count twice.
            let before = from.and_then(|from| from.summary.settings.get(unit)?.parse::<u64>().ok());
            let after = before.unwrap_or(count).checked_add(more);
            after.ok_or_else(|| CliError::setting(flag, format!("+{more}"), "is too many"))?
        }
    };
    *(if unit == ITERATIONS { &mut args.iterations } else { &mut args.epochs }) = Some(count);
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

/// How long a run is, and in what that is counted: the name of the setting.
struct Length {
    unit: &'static str,
    count: u64,
}

const ITERATIONS: &str = "iterations";

/// The length that is asked for.
fn length(args: &TrainArgs) -> Result<Length, CliError> {
    let epochs = |count: u64| Length { unit: "epochs", count };
    let iterations = |count: u64| Length { unit: ITERATIONS, count };
    if let Some(count) = args.iterations {
        return Ok(iterations(count));
    }
    if let Some(count) = args.epochs {
        return Ok(epochs(count));
    }
    let usual = settings::usual(args, network(args)?)?;
    Ok(usual.iterations.map_or_else(|| epochs(usual.epochs), iterations))
}

fn network(args: &TrainArgs) -> Result<Network, CliError> {
    Network::parse(&args.network, Shape::DIGIT).map_err(|e| CliError::usage(&e))
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
        error @ TrainingError::Judging(_) => CliError::failed(&error),
        other => CliError::usage(&other),
    }
}
