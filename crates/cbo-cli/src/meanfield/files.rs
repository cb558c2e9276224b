//! The files of a comparison: tables, pictures, frames, and the result last.

use super::report::Report;
use super::{Outcome, Swarm};
use crate::error::CliError;
use crate::files::{self, write_whole};
use crate::numbers::json;
use crate::plot::{Format, meanfield as plot};
use crate::text::number;
use cbo_lab::meanfield::frozen_v;
use std::fs;
use std::path::Path;

const RESULT: &str = "result.json";
const TABLES: [&str; 3] = ["density", "energy", "distance"];
const FRAMES: &str = "frames";

fn frame_name(index: usize) -> String {
    format!("frame-{index:04}.png")
}

fn is_frame(name: &str) -> bool {
    let digits = name.strip_prefix("frame-").and_then(|n| n.strip_suffix(".png"));
    digits.is_some_and(|n| n.len() >= 4 && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Finds out before the run whether all files can be written. What else lies in the folder does not matter: only files of
/// these names are written.
pub fn check(folder: &Path, frames: usize) -> Result<(), CliError> {
    files::check_folder(folder, "a folder", |_| true)?;
    for name in TABLES {
        for end in ["csv", "svg", "png"] {
            files::check_file(&folder.join(format!("{name}.{end}")))?;
        }
    }
    files::check_file(&folder.join(RESULT))?;
    if frames == 0 { Ok(()) } else { files::check_folder(&folder.join(FRAMES), "a folder", |_| true) }
}

/// Writes them.
pub fn write(folder: &Path, outcome: &Outcome, report: &Report) -> Result<(), CliError> {
    let texts = [density(outcome), energy(outcome), distance(outcome)];
    for (name, text) in TABLES.iter().zip(texts) {
        write_whole(&folder.join(format!("{name}.csv")), text.as_bytes())?;
    }
    for (end, format) in [("svg", Format::Svg), ("png", Format::Png)] {
        write_whole(&folder.join(format!("density.{end}")), &plot::density(outcome, format)?)?;
        write_whole(&folder.join(format!("energy.{end}")), &plot::energy(outcome, format)?)?;
        write_whole(&folder.join(format!("distance.{end}")), &plot::distance(outcome, format)?)?;
    }
    if outcome.plan.frames > 0 {
        write_frames(&folder.join(FRAMES), outcome)?;
    }
    // Last, so that a folder with a result has everything.
    write_whole(&folder.join(RESULT), json(report).as_bytes())
}

fn write_frames(folder: &Path, outcome: &Outcome) -> Result<(), CliError> {
    let steps = outcome.plan.frame_steps();
    for (index, step) in steps.iter().enumerate() {
        let Some(at) = outcome.trajectory.snapshots.iter().position(|s| s.step == *step) else { continue };
        write_whole(&folder.join(frame_name(index)), &plot::frame(outcome, at)?)?;
    }
    // Frames of an earlier, longer run would otherwise follow on these.
    let failed = |e| CliError::Failed(format!("cannot tidy {}: {e}", folder.display()));
    for name in files::names(folder).map_err(failed)? {
        if is_frame(&name) && !(0..steps.len()).any(|index| frame_name(index) == name) {
            fs::remove_file(folder.join(name)).map_err(failed)?;
        }
    }
    Ok(())
}

fn line(cells: impl IntoIterator<Item = f64>) -> String {
    cells.into_iter().map(number).collect::<Vec<_>>().join(",") + "\n"
}

/// The density: in one dimension in every cell of every snapshot, in two on the raster of the pictures.
fn density(outcome: &Outcome) -> String {
    let snapshots = &outcome.trajectory.snapshots;
    if outcome.plan.problem.dim() == 2 {
        let mut text = String::from("time,v1,v2,density\n");
        for snapshot in snapshots.iter().filter(|s| outcome.plan.compared.contains(&s.step)) {
            for [v1, v2, density] in plot::raster(outcome, &snapshot.law) {
                text += &line([snapshot.time, v1, v2, density]);
            }
        }
        return text;
    }
    let mut text = String::from("time,v,density\n");
    for snapshot in snapshots {
        let marginal = snapshot.law.marginal(0);
        for (v, density) in marginal.positions().into_iter().zip(marginal.density()) {
            text += &line([snapshot.time, v, density]);
        }
    }
    text
}

/// V of the law, of the theory and of the particles.
fn energy(outcome: &Outcome) -> String {
    let Outcome { plan, trajectory, swarms, .. } = outcome;
    let mut text = String::from("time,law,theory");
    if plan.settings.freeze.is_some() {
        text += ",frozen";
    }
    for n in &plan.particles {
        text += &format!(",particles_{n}");
    }
    text += "\n";
    for (i, record) in trajectory.records.iter().enumerate() {
        let exact = frozen_v(&plan.settings, &trajectory.minimiser, record.time);
        let cells = [record.time, record.v, outcome.theory(record.time)];
        let particles = swarms.iter().filter_map(|s: &Swarm| s.v.get(i).copied());
        text += &line(cells.into_iter().chain(exact).chain(particles));
    }
    text
}

/// The distances at every time of the comparison.
fn distance(outcome: &Outcome) -> String {
    let mut text = String::from("time,particles,repeats,w1,w1_standard_error,w2,w2_standard_error,floor_w1,floor_w2\n");
    for (i, step) in outcome.plan.compared.iter().enumerate() {
        let floor = outcome.floor.get(i).copied().unwrap_or_default();
        for d in outcome.swarms.iter().filter_map(|s| s.distances.get(i)) {
            let time = *step as f64 * outcome.plan.settings.dt;
            text += &format!("{},{},{},", number(time), d.particles, d.repeats);
            let (mean, error) = (d.mean, d.standard_error);
            text += &line([mean.w1, error.w1, mean.w2, error.w2, floor.w1, floor.w2]);
        }
    }
    text
}

impl Outcome {
    /// `V(0) exp(-(2 lambda - sigma^2) t)`.
    pub(crate) fn theory(&self, time: f64) -> f64 {
        let settings = &self.plan.settings;
        let start = self.trajectory.records.first().map_or(f64::NAN, |r| r.v);
        start * (-(2.0 * settings.lambda - settings.sigma * settings.sigma) * time).exp()
    }
}
