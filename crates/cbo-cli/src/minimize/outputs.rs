//! What a run leaves behind: pictures, frames and files.

use super::target::Target;
use super::task::{Subject, Task};
use super::{MinimizeArgs, history};
use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::film::{Film, Snapshot};
use crate::landscape::Landscape;
use crate::numbers::json;
use crate::plot::{self, Format};
use crate::result::Summary;
use crate::{certify, files};
use cbo::{Record, RunReport, Scalar};
use cbo_problems::Problem;
use cbo_runs::folder::FolderError;
use rayon::prelude::*;
use std::path::Path;

/// Everything that can be known to go wrong with the outputs before the run.
pub fn check(args: &MinimizeArgs, task: &Task, origins: &Origins) -> Result<(), CliError> {
    if let Some(path) = &args.plot {
        Format::of(path).map_err(|e| origins.blame("plot", &e))?;
        files::check_file(path)?;
    }
    if let Some(path) = &args.history {
        files::check_file(path)?;
    }
    let is_program = matches!(task.subject, Subject::Command(_));
    if let Some(folder) = &args.animate {
        let (dim, folder) = (task.dim(), folder.display());
        if dim > 2 || is_program {
            let what = if is_program { "not a program".into() } else { format!("not dim = {dim}") };
            let remedy = format!("only 1-D and 2-D functions can be animated, {what}; use --plot");
            return Err(origins.blame("animate", &format!("animate = {folder}: {remedy}")));
        }
        files::check_folder(args.animate.as_deref().unwrap_or(Path::new("")), "an animation", |names| {
            names.iter().all(|name| is_frame(name))
        })?;
    }
    match (args.certificate_folder(), &args.out) {
        (Some(_), _) if is_program => {
            let remedy = "a certificate needs a known minimiser, which a program does not have; leave it out";
            Err(origins.blame("certify", &format!("certify = true: {remedy}")))
        }
        (Some(folder), None) => certify::files(folder).iter().try_for_each(|file| files::check_file(file)),
        _ => Ok(()),
    }
}

fn is_frame(name: &str) -> bool {
    let number = name.strip_prefix("frame-").and_then(|n| n.strip_suffix(".png"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

fn frame_name(index: usize) -> String {
    format!("frame-{index:04}.png")
}

/// Writes everything that is asked for.
pub fn write<T: Scalar>(
    args: &MinimizeArgs,
    task: &Task,
    target: &Target,
    summary: &Summary,
    report: &RunReport<T>,
    records: &[Record],
    film: Option<Film>,
) -> Result<(), CliError> {
    let pictures = Pictures::new(task, target, report, records, film);
    if let Some(path) = &args.history {
        files::write_whole(path, history::to_csv(records).as_bytes())?;
    }
    if let Some(path) = &args.plot {
        let format = Format::of(path).map_err(CliError::Usage)?;
        files::write_whole(path, &pictures.overview(format)?)?;
    }
    if let (Some(folder), Some((problem, landscape))) = (&args.animate, &pictures.landscape) {
        write_frames(folder, &pictures, problem, landscape)?;
    }
    let Some(folder) = &args.out else { return Ok(()) };
    files::write_whole(&folder.join("history.csv"), history::to_csv(records).as_bytes())?;
    files::write_whole(&folder.join("energy.svg"), &pictures.overview(Format::Svg)?)?;
    files::write_whole(&folder.join("energy.png"), &pictures.overview(Format::Png)?)?;
    // Last, so that a folder with a result has everything.
    files::write_whole(&folder.join("result.json"), json(summary).as_bytes())
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
