//! `cbo minimize`: one run, its result, its files and its pictures.

use crate::certify;
use crate::config_file::Origins;
use crate::error::{CliError, print};
use crate::film::{Film, Snapshot};
use crate::landscape::Landscape;
use crate::numbers::json;
use crate::options::RunOptions;
use crate::plot::{self, Format};
use crate::progress::Progress;
use crate::result::Summary;
use crate::resume::{ResumeArgs, Resumed};
use crate::setup::Setup;
use crate::values::Precision;
use crate::{files, interrupt, settings, text};
use cbo::{History, InitialLaw, Objective, Observer, Record, RunReport, Scalar, SolveError, StepReport, solve};
use cbo_lab::certificate::Certificate;
use cbo_problems::Problem;
use clap::Args;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// Steps that a history keeps at most.
const HISTORY: usize = 4096;

/// Dimensions up to which a history keeps the consensus point.
const POINTS_UP_TO: usize = 64;

/// Frames that an animation has at most.
const FRAMES: usize = 120;

/// The file of given initial points in the folder of a run.
const POINTS_FILE: &str = "points.csv";

const EXAMPLES: &str = "\
Examples:
  cbo minimize rastrigin --dim 20
  cbo minimize rastrigin --dim 10 --particles 2000 --alpha ess:0.005 --rotate 1 --shift random
  cbo minimize ackley --dim 2 --init 'normal:2;0,1' --plot ackley.svg --animate frames
  cbo minimize eggholder --particles 1000 --steps 500 --json
  cbo minimize rastrigin --dim 4 --sigma 0.32 --dt 0.01 --time 4 --particles 20000 --certify
  cbo minimize --config run.toml --seed 7 --out result      # a file, one setting of it replaced

A file for --config has the same keys as the flags:
  objective = \"rastrigin\"
  dim = 20
  alpha = \"ess:0.1\"
  max-evaluations = 1_000_000";

/// Minimises a benchmark function by a swarm of particles.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct MinimizeArgs {
    /// What is minimised, and how.
    #[command(flatten)]
    pub run: RunOptions,
    /// Writes config.toml (which repeats the run), result.json, history.csv and energy.svg and .png to this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Draws energy and spread over time, in 1-D and 2-D also the swarm in its landscape (.svg or .png)
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub plot: Option<PathBuf>,
    /// Draws the moving swarm as numbered PNG frames in this folder; 1-D and 2-D only
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub animate: Option<PathBuf>,
    /// Writes step, time, evaluations, energies, alpha, sigma, spread (and the consensus point) as CSV
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub history: Option<PathBuf>,
    /// Records what the paper's lemma and propositions say of the run, and whether it is so: certificate.csv, .svg and
    /// .png, in the folder of --out or else in the current one
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Output")]
    pub certify: Option<bool>,
}

impl MinimizeArgs {
    /// Where the files of the certificate go, if there is to be one.
    fn certificate_folder(&self) -> Option<&Path> {
        self.certify.unwrap_or(false).then(|| self.out.as_deref().unwrap_or(Path::new("")))
    }
}

/// Runs the command.
pub fn run(args: &MinimizeArgs, origins: &Origins) -> Result<(), CliError> {
    interrupt::listen();
    let setup = Setup::new(&args.run, origins)?;
    let problem = setup.problem.build(setup.config.seed).map_err(|e| CliError::Usage(e.to_string()))?;
    check_outputs(args, origins, problem.dim())?;
    let certificate = match args.certificate_folder() {
        Some(_) => Some(certify::begin(&problem, &setup.config, origins)?),
        None => None,
    };
    if let (Some(warning), false) = (setup.warning(), args.run.quiet()) {
        eprintln_quietly(&format!("warning: {warning}"));
    }
    match setup.precision {
        Precision::F32 => run_in::<f32>(args, &setup, &problem, certificate),
        Precision::F64 => run_in::<f64>(args, &setup, &problem, certificate),
    }
}

/// Goes on with a run.
pub fn resume(_args: &ResumeArgs, _resumed: Resumed) -> Result<(), CliError> {
    unimplemented!()
}

/// A line on stderr, if somebody listens.
pub fn eprintln_quietly(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Everything that can be known to go wrong with the outputs before the run.
fn check_outputs(args: &MinimizeArgs, origins: &Origins, dim: usize) -> Result<(), CliError> {
    if let Some(path) = &args.plot {
        Format::of(path).map_err(|e| origins.blame("plot", &e))?;
        files::check_file(path)?;
    }
    if let Some(path) = &args.history {
        files::check_file(path)?;
    }
    if let Some(folder) = &args.animate {
        if dim > 2 {
            let remedy = format!("only 1-D and 2-D can be animated, not dim = {dim}; use --plot");
            return Err(origins.blame("animate", &format!("animate = {}: {remedy}", folder.display())));
        }
        files::check_folder(folder, "an animation", |names| names.iter().all(|name| is_frame(name)))?;
    }
    if let (Some(folder), None) = (args.certificate_folder(), &args.out) {
        certify::files(folder).iter().try_for_each(|file| files::check_file(file))?;
    }
    let is_run = |names: &[String]| ["config.toml", "result.json"].iter().all(|n| names.iter().any(|name| name == n));
    args.out.as_deref().map_or(Ok(()), |folder| files::check_folder(folder, "the folder of a run", is_run))
}

fn is_frame(name: &str) -> bool {
    let number = name.strip_prefix("frame-").and_then(|n| n.strip_suffix(".png"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn frame_name(index: usize) -> String {
    format!("frame-{index:04}.png")
}

/// Watches a run: for Ctrl-C, for the progress bar, for the files.
struct Watch {
    progress: Option<Progress>,
    history: Option<History>,
    film: Option<Film>,
    certificate: Option<Certificate>,
}

impl<T: Scalar> Observer<T> for Watch {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        if let Some(progress) = &mut self.progress {
            progress.show(step);
        }
        if let Some(history) = &mut self.history {
            let _ = history.observe(step);
        }
        if let Some(film) = &mut self.film {
            film.observe(step);
        }
        if let Some(certificate) = &mut self.certificate {
            let _ = certificate.observe(step);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn run_in<T: Scalar>(
    args: &MinimizeArgs,
    setup: &Setup,
    problem: &Problem,
    certificate: Option<Certificate>,
) -> Result<(), CliError>
where
    Problem: Objective<T>,
{
    let (options, config) = (&args.run, &setup.config);
    let drawn = args.plot.is_some() || args.out.is_some();
    let history = (drawn || args.history.is_some()).then(|| {
        let history = History::new(HISTORY);
        if problem.dim() <= POINTS_UP_TO { history.with_points() } else { history }
    });
    let film = match problem.dim() {
        1 | 2 if args.animate.is_some() => Some(Film::new(FRAMES)),
        1 | 2 if drawn => Some(Film::new(2)),
        _ => None,
    };
    let progress = Progress::new(config, problem.dim(), !options.json() && !options.quiet());
    let mut watch = Watch { progress, history, film, certificate };
    let report = solve(config, problem, &mut watch).map_err(|e| failure(&e))?;
    drop(watch.progress.take());
    let interrupted = interrupt::requested();
    let mut summary = Summary::new(problem, config, setup.precision, &report, interrupted);
    if let (Some(certificate), Some(folder)) = (&mut watch.certificate, args.certificate_folder()) {
        certificate.finish(&report);
        summary.certificate = certify::write(certificate, problem, folder)?;
    }
    let records = watch.history.as_ref().map_or(&[][..], History::records);
    let pictures = Pictures::new(setup, problem, &report, records, watch.film);
    write_files(args, setup, &summary, &pictures)?;
    print(&if options.json() { json(&summary) } else { summary.lines() })?;
    if summary.stop == "interrupt" { Err(CliError::Interrupted) } else { Ok(()) }
}

/// A run that could not go on: a wrong setting is the user's, all else is a failure.
pub fn failure(error: &SolveError) -> CliError {
    match error {
        SolveError::Config(_) | SolveError::Memory { .. } | SolveError::Threads { .. } => {
            CliError::Usage(error.to_string())
        }
        SolveError::NoFiniteEnergy { .. } => CliError::Failed(format!("{error} (--init, --bounds)")),
        _ => CliError::Failed(error.to_string()),
    }
}

/// What the pictures of a run are made of.
struct Pictures<'a> {
    problem: &'a Problem,
    records: &'a [Record],
    landscape: Option<Landscape>,
    snapshots: Vec<Snapshot>,
}

impl<'a> Pictures<'a> {
    fn new<T: Scalar>(
        setup: &Setup,
        problem: &'a Problem,
        report: &RunReport<T>,
        records: &'a [Record],
        film: Option<Film>,
    ) -> Self {
        let consensus: Vec<f64> = report.consensus.x.iter().map(|v| v.to_f64()).collect();
        let snapshots = film
            .map(|film| film.finish(Snapshot::new(report.steps, report.time, &report.ensemble, &consensus)))
            .unwrap_or_default();
        let view = setup.config.bounds.as_deref().filter(|b| b.iter().all(|(l, h)| l.is_finite() && h.is_finite()));
        let landscape = (!snapshots.is_empty()).then(|| Landscape::new(problem, view.unwrap_or(problem.domain())));
        Self { problem, records, landscape, snapshots }
    }

    fn overview(&self, format: Format) -> Result<Vec<u8>, CliError> {
        let swarm = self.landscape.as_ref().zip(self.snapshots.first().zip(self.snapshots.last()));
        plot::run::overview(self.problem, self.records, swarm, format)
    }
}

fn write_files(args: &MinimizeArgs, setup: &Setup, summary: &Summary, pictures: &Pictures<'_>) -> Result<(), CliError> {
    if let Some(path) = &args.history {
        files::write_whole(path, csv(pictures.records).as_bytes())?;
    }
    if let Some(path) = &args.plot {
        let format = Format::of(path).map_err(CliError::Usage)?;
        files::write_whole(path, &pictures.overview(format)?)?;
    }
    if let (Some(folder), Some(landscape)) = (&args.animate, &pictures.landscape) {
        write_frames(folder, pictures, landscape)?;
    }
    let Some(folder) = &args.out else { return Ok(()) };
    if let InitialLaw::Points(points) = &setup.config.init {
        let row = |x: &[f64]| x.iter().map(|v| text::number(*v)).collect::<Vec<_>>().join(",") + "\n";
        let rows: String = points.chunks_exact(setup.problem.dim).map(row).collect();
        files::write_whole(&folder.join(POINTS_FILE), rows.as_bytes())?;
    }
    let certify = if args.certificate_folder().is_some() { "certify = true\n" } else { "" };
    let config = settings::to_toml(setup, POINTS_FILE) + certify;
    files::write_whole(&folder.join("config.toml"), config.as_bytes())?;
    files::write_whole(&folder.join("history.csv"), csv(pictures.records).as_bytes())?;
    files::write_whole(&folder.join("energy.svg"), &pictures.overview(Format::Svg)?)?;
    files::write_whole(&folder.join("energy.png"), &pictures.overview(Format::Png)?)?;
    // Last, so that a folder with a result has everything.
    files::write_whole(&folder.join("result.json"), json(summary).as_bytes())
}

fn write_frames(folder: &Path, pictures: &Pictures<'_>, landscape: &Landscape) -> Result<(), CliError> {
    for (index, snapshot) in pictures.snapshots.iter().enumerate() {
        let past = &pictures.snapshots[..=index];
        let frame = plot::run::frame(pictures.problem, landscape, snapshot, past)?;
        files::write_whole(&folder.join(frame_name(index)), &frame)?;
    }
    // Frames of an earlier, longer animation would otherwise follow on these.
    let failed = |e| CliError::Failed(format!("cannot tidy {}: {e}", folder.display()));
    for name in files::names(folder).map_err(failed)? {
        let ours = (0..pictures.snapshots.len()).any(|index| frame_name(index) == name);
        if is_frame(&name) && !ours {
            std::fs::remove_file(folder.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

/// The history as CSV, a step a line.
fn csv(records: &[Record]) -> String {
    let mut text = String::from("step,time,evaluations,best,least,alpha,sigma,effective_sample_size,spread");
    let coordinates = records.first().map_or(0, |r| r.consensus.len());
    for k in 1..=coordinates {
        text += &format!(",consensus_{k}");
    }
    text.push('\n');
    for r in records {
        text += &format!("{},{},{}", r.step, r.time, r.evaluations);
        let numbers = [r.best, r.least, r.alpha, r.sigma, r.effective_sample_size, r.spread];
        for value in numbers.iter().chain(&r.consensus) {
            text += &format!(",{}", text::number(*value));
        }
        text.push('\n');
    }
    text
}
