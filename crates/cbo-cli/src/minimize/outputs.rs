//! What a run leaves behind: pictures, frames and files.

use super::target::Target;
use super::task::{Subject, Task};
use super::{MinimizeArgs, history, sample};
use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::files::uses::Uses;
use crate::film::{Film, Snapshot};
use crate::landscape::Landscape;
use crate::numbers::json;
use crate::plot::{self, Format};
use crate::result::Summary;
use crate::values::{BoundsSpec, InitSpec};
use crate::{certify, files, mnist};
use cbo::{Record, RunReport, Sample, Scalar};
use cbo_problems::Problem;
use cbo_runs::folder::{self, Folder, FolderError};
use rayon::prelude::*;
use std::path::Path;

/// Everything that can be known to go wrong with the outputs before the run.
pub fn check(args: &MinimizeArgs, task: &Task, origins: &Origins) -> Result<(), CliError> {
    let mut uses = uses(args, task, origins);
    if let Some(path) = &args.plot {
        Format::of(path).map_err(|e| origins.blame("plot", &e))?;
        uses.output("plot", path)?;
    }
    if let Some(path) = &args.history {
        uses.output("history", path)?;
    }
    sample::check(args, task, origins)?;
    if let Some(path) = &args.sample.samples {
        uses.output("samples", path)?;
    }
    let unknown = match task.subject {
        Subject::Function(..) => None,
        Subject::Formula(_) => Some("a formula"),
        Subject::Command(_) => Some("a program"),
    };
    if let Some(folder) = &args.animate {
        let (dim, folder) = (task.dim(), folder.display());
        if dim > 2 || unknown.is_some() {
            let what = unknown.map_or_else(|| format!("not dim = {dim}"), |what| format!("not {what}"));
            let remedy = format!("only 1-D and 2-D functions can be animated, {what}; use --plot");
            return Err(origins.blame("animate", &format!("animate = {folder}: {remedy}")));
        }
        files::check_folder(args.animate.as_deref().unwrap_or(Path::new("")), "an animation", |names| {
            names.iter().all(|name| is_frame(name))
        })?;
        check_frames(args, origins)?;
    }
    match (args.certificate_folder(), &args.out) {
        (Some(_), _) if task.is_constrained() => {
            let remedy = "the paper says nothing about constraints; leave one of them out";
            Err(origins.blame("certify", &format!("certify = true: {remedy}")))
        }
        (Some(_), _) if unknown.is_some() => {
            let what = unknown.unwrap_or_default();
            let remedy = format!("a certificate needs a known minimiser, which {what} does not have; leave it out");
            Err(origins.blame("certify", &format!("certify = true: {remedy}")))
        }
        (Some(folder), None) => certify::files(folder).iter().try_for_each(|file| uses.output("certify", file)),
        _ => Ok(()),
    }
}

/// What the run reads, and the names that are taken.
fn uses<'a>(args: &MinimizeArgs, task: &Task, origins: &'a Origins) -> Uses<'a> {
    let mut uses = Uses::new(origins, args.run.json());
    let of = |field: &str| format!("the file of {}", origins.name(field));
    args.run.config.iter().for_each(|path| uses.input("the file of --config", path));
    if let Some(InitSpec::File(path)) = &args.run.init {
        uses.input(&of("init"), path);
    }
    if let Some(BoundsSpec::File(path)) = &args.run.bounds {
        uses.input(&of("bounds"), path);
    }
    if let Subject::Command(spec) = &task.subject {
        spec.settings.program.files().iter().for_each(|path| uses.input("a file of the program", path));
    }
    if let Some(folder) = &args.out {
        uses.folder("the folder of --out", folder, is_of_a_run);
    }
    if let Some(folder) = &args.animate {
        uses.folder("the folder of --animate", folder, is_frame);
    }
    uses
}

/// Frames are files, in a folder of their own.
fn check_frames(args: &MinimizeArgs, origins: &Origins) -> Result<(), CliError> {
    let Some(folder) = &args.animate else { return Ok(()) };
    let refuse = |why: &str| Err(origins.blame("animate", &format!("animate = {}: {why}", folder.display())));
    let real = |path: &Path| path.canonicalize().ok();
    if args.out.as_deref().and_then(real).is_some_and(|out| real(folder) == Some(out)) {
        return refuse("is the folder of --out too; choose another folder");
    }
    let names = files::names(folder).map_err(|e| CliError::unwritable(folder, &e))?;
    names.iter().try_for_each(|name| files::check_file(&folder.join(name)))
}

/// The draws of a run that has some.
const SAMPLES: &str = "samples.csv";

/// Writes the draws where they are asked for; before the result, which a folder gets last.
pub fn write_samples<T: Scalar>(
    args: &MinimizeArgs,
    drawn: Option<&Sample<T>>,
    folder: Option<&Folder>,
) -> Result<(), CliError> {
    let Some(drawn) = drawn else { return Ok(()) };
    let one = args.sample.samples.as_deref().map_or(Ok(()), |path| {
        let format = sample::Format::of(path).map_err(CliError::Usage)?;
        files::write_whole(path, &format.bytes(drawn))
    });
    let two = folder.map_or(Ok(()), |folder| files::write_own(folder, SAMPLES, &sample::Format::Csv.bytes(drawn)));
    one.and(two)
}

/// Whether a run folder has a file of this name.
pub fn is_of_a_run(name: &str) -> bool {
    let written = ["result.json", "history.csv", "energy.svg", "energy.png", SAMPLES];
    let is_certificate = certify::files(Path::new("")).iter().any(|file| file == Path::new(name));
    written.contains(&name) || is_certificate || mnist::report::FILES.contains(&name) || folder::is_own(name)
}

fn is_frame(name: &str) -> bool {
    let number = name.strip_prefix("frame-").and_then(|n| n.strip_suffix(".png"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn frame_name(index: usize) -> String {
    format!("frame-{index:04}.png")
}

/// What was seen of a run on its way.
pub struct Seen<'a> {
    /// Its history.
    pub records: &'a [Record],
    /// Its film, if there is one.
    pub film: Option<Film>,
}

/// Writes everything that is asked for; what belongs in the run folder, to `folder`.
pub fn write<T: Scalar>(
    args: &MinimizeArgs,
    task: &Task,
    target: &Target,
    summary: &Summary,
    report: &RunReport<T>,
    Seen { records, film }: Seen<'_>,
    folder: Option<&Folder>,
) -> Result<(), CliError> {
    let pictures = Pictures::new(task, target, report, records, film);
    let history = || history::to_csv(records).into_bytes();
    // A fault in one part does not keep the others from being written; the first is told.
    let one = args.history.as_deref().map_or(Ok(()), |path| files::write_whole(path, &history()));
    let two = args.plot.as_deref().map_or(Ok(()), |path| {
        let format = Format::of(path).map_err(CliError::Usage)?;
        files::write_whole(path, &pictures.overview(format)?)
    });
    let three = match (&args.animate, &pictures.landscape) {
        (Some(folder), Some((problem, landscape))) => write_frames(folder, &pictures, problem, landscape),
        _ => Ok(()),
    };
    let four = folder.map_or(Ok(()), |folder| {
        files::write_own(folder, "history.csv", &history())?;
        files::write_own(folder, "energy.svg", &pictures.overview(Format::Svg)?)?;
        files::write_own(folder, "energy.png", &pictures.overview(Format::Png)?)?;
        // Last, so that a folder with a result has everything.
        files::write_own(folder, "result.json", json(summary).as_bytes())
    });
    one.and(two).and(three).and(four)
}

/// What to say about a run that is done, but could not write everything. With a folder nothing is lost: its last
/// checkpoint leads to the same result.
pub fn settle(
    written: Result<(), CliError>,
    fault: Option<FolderError>,
    folder: Option<&Path>,
) -> Result<(), CliError> {
    let Some(folder) = folder else { return written };
    let unfinished =
        |remedy: String| CliError::Failed(format!("{remedy}, then finish the run: cbo resume {}", folder.display()));
    match (written, fault) {
        (Err(CliError::Failed(message)), _) => Err(unfinished(format!("{message}; make room or check the folder"))),
        (Ok(()), Some(fault)) => Err(unfinished(told(&fault))),
        (written, _) => written,
    }
}

/// What the pictures of a run are made of.
struct Pictures<'a> {
    target: &'a Target,
    records: &'a [Record],
    landscape: Option<(&'a Problem, Landscape)>,
    snapshots: Vec<Snapshot>,
    clock: plot::run::Clock,
}

impl<'a> Pictures<'a> {
    fn new<T: Scalar>(
        task: &Task,
        target: &'a Target,
        report: &RunReport<T>,
        records: &'a [Record],
        film: Option<Film>,
    ) -> Self {
        let consensus: Vec<f64> = report.consensus().x.iter().map(|v| v.to_f64()).collect();
        let snapshots = film
            .map(|film| film.finish(Snapshot::new(report.steps(), report.time(), report.ensemble(), &consensus)))
            .unwrap_or_default();
        let view = task.config().bounds.as_deref().filter(|b| b.iter().all(|(l, h)| l.is_finite() && h.is_finite()));
        let landscape = target.function().filter(|_| !snapshots.is_empty());
        let landscape = landscape.map(|p| (p, Landscape::new(p, view.unwrap_or(p.domain()))));
        let ends = report.phases().iter().map(|phase| phase.to as f64).collect();
        let clock = match task.config().method.is_auto() {
            true => plot::run::Clock::Evaluations { ends },
            false => plot::run::Clock::Time,
        };
        Self { target, records, landscape, snapshots, clock }
    }

    fn overview(&self, format: Format) -> Result<Vec<u8>, CliError> {
        let ends = self.snapshots.first().zip(self.snapshots.last());
        let swarm = self.landscape.as_ref().zip(ends).map(|((problem, landscape), ends)| (*problem, landscape, ends));
        plot::run::overview(self.target, self.records, swarm, &self.clock, format)
    }
}

fn write_frames(
    folder: &Path,
    pictures: &Pictures<'_>,
    problem: &Problem,
    landscape: &Landscape,
) -> Result<(), CliError> {
    let (snapshots, clock) = (&pictures.snapshots, &pictures.clock);
    snapshots.par_iter().enumerate().try_for_each(|(index, snapshot)| {
        let frame = plot::run::frame(problem, landscape, snapshot, &snapshots[..=index], clock)?;
        files::write_whole(&folder.join(frame_name(index)), &frame)
    })?;
    // Frames of an earlier, longer animation would otherwise follow these.
    let failed = |e| CliError::Failed(format!("cannot tidy {}: {e}", folder.display()));
    for name in files::names(folder).map_err(failed)? {
        let ours = (0..pictures.snapshots.len()).any(|index| frame_name(index) == name);
        if is_frame(&name) && !ours {
            std::fs::remove_file(folder.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}
