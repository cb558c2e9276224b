//! `cbo minimize`: one run, its result, its files and its pictures. And `cbo resume`, which continues one.

mod changed;
pub mod command;
pub mod formula;
pub mod history;
mod limits;
pub mod outputs;
mod owner;
mod record;
mod resume;
pub mod sample;
pub mod target;
pub mod task;
mod watch;

use crate::config_file::Origins;
use crate::device::{DeviceSpec, Ready};
use crate::error::{CliError, print, told};
use crate::film::Film;
use crate::numbers::{json, plain};
use crate::options::RunOptions;
use crate::progress::Progress;
use crate::ranks::{self, Spread};
use crate::result::Summary;
use crate::resume::refused;
use crate::values::{self, Precision, Switch};
use crate::{certify, interrupt, settings, text, waits};
use cbo::ranks::farm::Schedule;
use cbo::{History, Method, Objective, SolveError, StateError};
use cbo_lab::certificate::Certificate;
use cbo_problems::{Formula, Problem};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::evaluations::{Broken, CutOff, Evaluations};
use cbo_runs::external::{ExternalError, Notice};
use cbo_runs::folder::{CONFIG, Folder, POINTS};
use cbo_runs::keeper::Keeper;
use cbo_runs::store::{Store, StoreError};
use cbo_runs::track::Narrow;
use clap::Args;
use command::{CommandOptions, CommandSpec};
use formula::FormulaOptions;
use outputs::Seen;
pub use resume::resume;
pub use resume::state_refused;
use sample::{SampleOptions, SampleResult};
use std::path::{Path, PathBuf};
use std::time::Duration;
use target::Target;
use task::{Subject, Task};
use watch::{Checkpoints, Watch};

/// Steps that a history keeps at most.
const HISTORY: usize = 4096;

/// Dimensions up to which a history keeps the consensus point.
const POINTS_UP_TO: usize = 64;

/// Frames that an animation has at most.
const FRAMES: usize = 120;

/// Seconds between two checkpoints, unless others are asked for.
const CHECKPOINT_EVERY: f64 = 30.0;

const EXAMPLES: &str = "\
Examples:
  cbo minimize rastrigin --dim 20
  cbo minimize rosenbrock --dim 10 --max-evaluations 5000 --explain
  cbo minimize rastrigin --dim 10 --particles 2000 --alpha ess:0.005 --rotate 1 --shift random
  cbo minimize ackley --dim 2 --init 'normal:2;0,1' --plot ackley.svg --animate frames
  cbo minimize g06                                          # a function that has constraints
  cbo minimize sphere --dim 5 --constraint 'sum>=1'         # any function under a constraint
  cbo minimize eggholder --particles 1000 --steps 500 --json
  cbo minimize rastrigin --dim 4 --sigma 0.32 --dt 0.01 --time 4 --particles 20000 --certify
  cbo minimize --formula 'sum(x^2 + 2.5*(1 - cos(2*pi*x)))' --dim 20 --bounds -5,5
  cbo minimize --command './simulate {x}' --dim 5 --bounds -1,1 --workers 4 --timeout 600 --out run
  cbo minimize rastrigin --dim 16 --particles 320000 --device cuda   # on an NVIDIA GPU
  cbo minimize --config run.toml --seed 7 --out result      # a file, one setting of it replaced
  cbo resume result                                         # continues a run that was cut off

A file for --config has the same keys as the flags:
  objective = \"rastrigin\"
  dim = 20
  alpha = \"ess:0.1\"
  max-evaluations = 1_000_000";

/// Minimises a benchmark function, a formula or a program, by a swarm of particles.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct MinimizeArgs {
    /// What is minimised, and how.
    #[command(flatten)]
    pub run: RunOptions,
    /// A formula instead of a function.
    #[command(flatten)]
    pub formula: FormulaOptions,
    /// A program instead of a function.
    #[command(flatten)]
    pub program: CommandOptions,
    /// Draws from a law.
    #[command(flatten)]
    pub sample: SampleOptions,
    /// Where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number: methods cbo, memory and hopping on functions and formulas, with the same bits;
    /// without N the first one, or one for each of several ranks [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Computation")]
    pub device: Option<DeviceSpec>,
    /// How a run on several ranks is spread: `static`, each has its particles (of a program: its points) from the beginning, or `dynamic`, points are handed
    /// out as ranks become free [default: dynamic for a program, else static]
    #[arg(long, value_name = "SCHEDULE", help_heading = "Computation")]
    pub schedule: Option<Schedule>,
    /// Keeps the run in this folder: config.toml (which repeats it), result.json, history.csv, energy.svg and .png, a log, and
    /// checkpoints from which `cbo resume FOLDER` continues
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Seconds between two checkpoints in the folder of --out [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = values::number, help_heading = "Output")]
    pub checkpoint_every: Option<f64>,
    /// Replaces the run that the folder of --out holds: it is moved to the folder replaced-1 in it
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Output")]
    pub force: Option<bool>,
    /// Draws energy and spread over time, in 1-D and 2-D also the swarm in its landscape (.svg or .png)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Draws the moving swarm as numbered PNG frames in this folder; 1-D and 2-D only
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub animate: Option<PathBuf>,
    /// Writes step, time, evaluations, energies, alpha, sigma, spread (and the consensus point) as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub history: Option<PathBuf>,
    /// Records what the paper's lemma and propositions say about the run, and whether it holds: certificate.csv, .svg and
    /// .png, in the folder of --out or else in the current one
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Output")]
    pub certify: Option<bool>,
    /// Says what the method auto saw and why it did what it did
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Output")]
    pub explain: Option<bool>,
    /// Whether points that failed before are tried again; `cbo resume` has a flag for it.
    #[arg(skip)]
    pub retry_failed: bool,
}

impl MinimizeArgs {
    /// Settles what follows from other settings: the method, and points for all workers. Returns what the user should be told.
    fn settle(&mut self, origins: &Origins) -> Result<Option<String>, CliError> {
        sample::settle(self, origins)?;
        let certify = self.certify.unwrap_or(false).then_some("certify");
        let device = matches!(self.device, Some(DeviceSpec::Cuda(_))).then_some("device");
        let note = self.run.settle_method(certify.or(device), origins)?;
        let batch = self.run.batch.and_then(|Switch(batch)| batch).unwrap_or(1);
        // Programs on several ranks have workers on all of them.
        let ranks = ranks::several().filter(|_| self.program.command.is_some()).map(|ranks| ranks.size());
        let workers = ranks.map_or(self.program.workers, |ranks| Some(ranks * self.program.workers.unwrap_or(1)));
        if let (Some(Method::Auto(_)), Some(workers)) = (self.run.method, workers)
            && workers > batch
        {
            self.run.batch = Some(Switch(Some(workers)));
        }
        Ok(note)
    }

    /// Where the files of the certificate go, if there is to be one.
    fn certificate_folder(&self) -> Option<&Path> {
        self.certify.unwrap_or(false).then(|| self.out.as_deref().unwrap_or(Path::new("")))
    }
}

/// Runs the command.
pub fn run(args: &MinimizeArgs, origins: &Origins) -> Result<(), CliError> {
    interrupt::listen();
    let args = &mut args.clone();
    waits::be_quiet(args.run.quiet());
    let note = args.settle(origins)?;
    let args = &*args;
    let task = Task::new(args, origins)?;
    outputs::check(args, &task, origins)?;
    let every = interval(args.checkpoint_every).map_err(|e| origins.blame("checkpoint-every", &e))?;
    let device = args.device.unwrap_or_default().open(&task, args.schedule, origins)?;
    if ranks::several().is_some() {
        ranks::kind_of(&task, args.schedule)?; // before anything is written
    }
    let certificate = match (&task.subject, args.certificate_folder()) {
        (Subject::Function(_, problem), Some(_)) => Some(certify::begin(problem, task.config(), origins)?),
        _ => None,
    };
    if !args.run.quiet() {
        note.iter().for_each(|note| eprintln_quietly(&format!("note: {note}")));
        task.warning().iter().for_each(|warning| eprintln_quietly(&format!("warning: {warning}")));
    }
    let folder = match &args.out {
        Some(path) => Some(Folder::create(path, args.force.unwrap_or(false)).map_err(refused)?),
        None => None,
    };
    if let Some(folder) = &folder {
        folder.log(&format!("begun by cbo {}", env!("CARGO_PKG_VERSION")));
        write_settings(folder, &task, args)?;
    }
    go(args, &task, &device, folder.map(|folder| Keeper::new(folder, every)), None, certificate)
}

/// The time between two checkpoints.
pub fn interval(seconds: Option<f64>) -> Result<Duration, String> {
    let seconds = seconds.unwrap_or(CHECKPOINT_EVERY);
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| format!("checkpoint-every = {}: give seconds, 0 for every step", plain(seconds)))
}

/// Writes what repeats the run.
fn write_settings(folder: &Folder, task: &Task, args: &MinimizeArgs) -> Result<(), CliError> {
    if let Some(points) = task.points() {
        folder.write(POINTS, points.as_bytes()).map_err(refused)?;
    }
    let mut entries = task.entries();
    entries
        .extend(args.device.filter(|device| *device != DeviceSpec::Cpu).map(|device| ("device", device.to_string())));
    entries.extend(args.sample.draws.map(|count| ("draws", count.to_string())));
    entries.extend(args.certificate_folder().map(|_| ("certify", "true".to_string())));
    folder.write(CONFIG, settings::to_toml("minimize", &entries).as_bytes()).map_err(refused)
}

/// A line on stderr, if somebody is listening; of several ranks the first alone speaks.
pub fn eprintln_quietly(line: &str) {
    use std::io::Write;
    if !ranks::is_first() {
        return;
    }
    let _ = writeln!(std::io::stderr(), "{}", text::one_line(line));
}

fn go(
    args: &MinimizeArgs,
    task: &Task,
    device: &Ready,
    keeper: Option<Keeper>,
    from: Option<&Checkpoint>,
    certificate: Option<Certificate>,
) -> Result<(), CliError> {
    match task.precision {
        Precision::F32 => go_in::<f32>(args, task, device, keeper, from, certificate),
        Precision::F64 => go_in::<f64>(args, task, device, keeper, from, certificate),
    }
}

fn go_in<T: Narrow>(
    args: &MinimizeArgs,
    task: &Task,
    device: &Ready,
    keeper: Option<Keeper>,
    from: Option<&Checkpoint>,
    certificate: Option<Certificate>,
) -> Result<(), CliError>
where
    Problem: Objective<T>,
    Formula: Objective<T>,
{
    let (options, config, dim) = (&args.run, task.config(), task.dim());
    // The first checkpoint, before anything is evaluated, says what the run is; it has no state yet.
    let (begun, from) = (from, from.filter(|from| !from.state.is_empty()));
    let progress = Progress::new(&task.plan, !options.json() && !options.quiet());
    let open = |folder: &Folder, spec: &CommandSpec| owner::open(task, spec, folder, begun, args.force == Some(true));
    let mut target = target(task, keeper.as_ref().map(Keeper::folder), &open, progress.as_ref(), args.schedule)?;
    target.retry_failed(args.retry_failed);
    if let (Some(keeper), Some(_)) = (&keeper, begun) {
        // Not before: a run that is refused, perhaps because of its store, keeps the limits that it had.
        write_settings(keeper.folder(), task, args)?;
    }
    let drawn = args.plot.is_some() || args.out.is_some();
    let history = (drawn || args.history.is_some()).then(|| {
        let history = History::new(HISTORY);
        if dim <= POINTS_UP_TO { history.with_points() } else { history }
    });
    let film = match target.function().map(Problem::dim) {
        Some(1 | 2) if args.animate.is_some() => Some(Film::new(FRAMES)),
        Some(1 | 2) if drawn => Some(Film::new(2)),
        _ => None,
    };
    let mut checkpoints = keeper.map(|keeper| Checkpoints::new(keeper, task, &target, begun, args));
    if let (Some(checkpoints), None) = (&mut checkpoints, begun) {
        checkpoints.begin();
    }
    // Up to date until this function ends.
    let _notice = checkpoints
        .as_ref()
        .zip(target.evaluations().and_then(Evaluations::board))
        .map(|(checkpoints, board)| Notice::put_up(checkpoints.folder().path(), board));
    let own = target.objective::<T>();
    // The last film and the certificate show all particles of the end.
    let whole = film.is_some() || certificate.is_some();
    let kept = (checkpoints.as_ref().map(Checkpoints::folder), from);
    let mut spread = Spread::lead(task, args.schedule, whole, kept, device, &own)?;
    if let Some(checkpoints) = &mut checkpoints {
        checkpoints.scribe = spread.scribe();
    }
    let (device, objective) = (spread.device().unwrap_or(device), spread.objective().unwrap_or(&own));
    let plan = ranks::with_own_threads(&task.plan);
    let mut watch = Watch { target: &target, progress, history, film, certificate, checkpoints, salvaged: None };
    let report = match from {
        Some(from) => {
            watch.take_up(from, HISTORY);
            device.resume::<T>(&plan, &objective, &mut watch, spread.state(from)).map_err(|e| match e {
                StateError::Solve(error) => refusal(&error, &target, args.out.as_deref()),
                other => state_refused(&other),
            })
        }
        None => device.solve::<T>(&plan, &objective, &mut watch).map_err(|e| refusal(&e, &target, args.out.as_deref())),
    };
    drop(spread);
    drop(watch.progress.take());
    // A store that was taken away may have gone with its folder.
    let report = report.map_err(|error| match (error, watch.checkpoints.as_ref().and_then(Checkpoints::gone)) {
        (CliError::Failed(_), Some(gone)) => CliError::failed(&gone),
        (error, _) => error,
    });
    let report = report.inspect_err(|error| {
        if let Some(report) = &watch.salvaged {
            let interrupted = matches!(error, CliError::Interrupted);
            let summary = Summary::new(&target, config, task.precision, report, interrupted);
            let _ = print(&if options.json() { json(&summary) } else { summary.lines() });
        }
        if let (Some(checkpoints), CliError::Interrupted) = (&watch.checkpoints, error) {
            checkpoints.log("ended within a step");
        }
        if let (Some(checkpoints), CliError::Usage(message) | CliError::Failed(message)) = (&watch.checkpoints, error) {
            checkpoints.log(&format!("failed: {message}"));
        }
    })?;
    if let (Some(checkpoints), Some(from)) = (&mut watch.checkpoints, from) {
        checkpoints.conclude(from, report.stop());
    }
    let mut certified = None;
    let mut summary = Summary::new(&target, config, task.precision, &report, interrupt::requested());
    let drawn = match sample::draws(config.method) && summary.stop != "interrupt" {
        true => {
            Some(sample::draw(args, task, &target, &report).map_err(|e| refusal(&e, &target, args.out.as_deref()))?)
        }
        false => None,
    };
    if let Some(drawn) = &drawn {
        summary.add(SampleResult::new(drawn), drawn);
    }
    if let (Some(certificate), Some(folder), Some(problem)) =
        (&mut watch.certificate, args.certificate_folder(), target.function())
    {
        certificate.finish(&report);
        summary.certificate = certify::sum_up(certificate, folder);
        certified = Some((&*certificate, problem, folder));
    }
    let explanation = args.explain.unwrap_or(false).then(|| report.explanation().to_vec());
    summary.explanation = explanation;
    // Before the files: whatever goes wrong with them, the result is told.
    let printed = print(&if options.json() { json(&summary) } else { summary.lines() });
    if let (Some(warning), false) = (summary.sample.as_ref().and_then(SampleResult::warning), options.quiet()) {
        eprintln_quietly(&format!("warning: {warning}"));
    }
    summary.explanation = None;
    // A folder that is no longer ours is not written to; all other files are.
    let folder = watch.checkpoints.as_ref().map(Checkpoints::folder);
    let ours = folder.filter(|folder| folder.check().is_ok());
    let certified = certified.filter(|_| folder.is_none() || ours.is_some());
    let certified =
        certified.map_or(Ok(()), |(certificate, problem, place)| certify::write(certificate, problem, place, ours));
    let records = watch.history.as_ref().map_or(&[][..], History::records);
    let seen = Seen { records, film: watch.film };
    let written = outputs::write_samples(args, drawn.as_ref(), ours);
    let written = certified.and(written).and(outputs::write(args, task, &target, &summary, &report, seen, ours));
    if let Some(gone) = folder.and_then(|folder| folder.check().err()) {
        return Err(CliError::failed(&gone));
    }
    let fault = watch.checkpoints.and_then(|checkpoints| checkpoints.fault);
    outputs::settle(written, fault, args.out.as_deref())?;
    if summary.stop == "interrupt" { Err(CliError::Interrupted) } else { printed }
}

/// What is minimised, ready to be evaluated.
fn target(
    task: &Task,
    folder: Option<&Folder>,
    open: &dyn Fn(&Folder, &CommandSpec) -> Result<Store, CliError>,
    progress: Option<&Progress>,
    schedule: Option<Schedule>,
) -> Result<Target, CliError> {
    match &task.subject {
        Subject::Function(_, problem) => Ok(Target::of_function(problem, &task.constraints)),
        Subject::Formula(formula) => Ok(Target::of_formula(formula, &task.constraints)),
        Subject::Command(spec) => {
            let store = folder.map(|folder| open(folder, spec)).transpose()?;
            let started = match ranks::several() {
                Some(ranks) => {
                    let schedule = schedule.unwrap_or_default();
                    Evaluations::start_on(ranks.clone(), schedule, spec.dim, &spec.settings, store)
                }
                None => Evaluations::start(spec.dim, &spec.settings, store),
            };
            let mut evaluations = started.map_err(|e| CliError::usage(&e))?;
            evaluations = evaluations.with_ending(interrupt::requested);
            if let Some(show) = progress.map(Progress::within_a_step) {
                evaluations = evaluations.with_listener(Box::new(move |at| show(at.done, at.all)));
            }
            interrupt::tell(folder.is_some());
            Ok(Target::of_program(spec, evaluations, &task.constraints))
        }
    }
}

/// What to do about a program that fails: only a run with a folder can be resumed.
fn mended(folder: Option<&Path>) -> String {
    match folder {
        Some(folder) => format!("; fix the program, then resume with: cbo resume {} --retry-failed", folder.display()),
        None => "; fix the program, then run it again (with --out FOLDER, a run can be resumed)".into(),
    }
}

/// A run that could not continue: a wrong setting is the user's, all else is a failure.
fn refusal(error: &SolveError, target: &Target, folder: Option<&Path>) -> CliError {
    let mended = mended(folder);
    match (error, target.evaluations()) {
        (SolveError::NoFiniteEnergy { .. }, Some(_)) if interrupt::requested() => {
            eprintln_quietly("error: ended by a signal before a value was found");
            CliError::Interrupted
        }
        (SolveError::NoFiniteEnergy { .. }, Some(evaluations)) => {
            let last = evaluations
                .last_failure()
                .map_or_else(String::new, |last| format!(" (the last failure: {last}){mended}"));
            CliError::Failed(format!("{error}{last}"))
        }
        (SolveError::Evaluation { source, .. }, Some(_)) => match &source.source {
            Some(source) if source.is::<CutOff>() => CliError::Interrupted,
            // A second signal ends the workers, and the first a store that another program has locked.
            Some(source) if interrupt::requested() && is_ending(source.as_ref()) => {
                eprintln_quietly(&format!("error: {}", told(source.as_ref())));
                CliError::Interrupted
            }
            Some(source) if source.is::<Broken>() => CliError::Failed(format!("{source}{mended}")),
            Some(source) => CliError::failed(source.as_ref()),
            None => CliError::Failed(source.message.clone()),
        },
        _ => failure(error),
    }
}

/// Whether this is how evaluations end after a signal.
fn is_ending(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(error.downcast_ref(), Some(ExternalError::Stopped))
        || matches!(error.downcast_ref(), Some(StoreError::Locked(_)))
}

/// A run that could not continue, whatever it minimised.
pub fn failure(error: &SolveError) -> CliError {
    match error {
        SolveError::Config(error) => CliError::setting(&error.field.replace('_', "-"), &error.value, &error.remedy),
        SolveError::Memory { .. } | SolveError::Threads { .. } => CliError::usage(error),
        SolveError::NoFiniteEnergy { .. } => CliError::Failed(format!("{error} (--init, --bounds)")),
        _ => CliError::failed(error),
    }
}
