//! The files of a comparison: tables, pictures, frames, and the result last.

use super::plan::MOST_FRAMES;
use super::report::Report;
use super::{Outcome, Swarm};
use crate::error::CliError;
use crate::files::{self, write_whole};
use crate::numbers::json;
use crate::plot::{Format, meanfield as plot};
use crate::text::number;
use cbo_lab::meanfield::frozen_v;
use serde_json::Value;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

const RESULT: &str = "result.json";
const TABLES: [&str; 3] = ["density", "energy", "distance"];
const FRAMES: &str = "frames";

fn frame_name(index: usize) -> String {
    format!("frame-{index:04}.png")
}

/// How many frames an earlier run left in the folder, as its result says; none if there is no such result.
fn earlier_frames(folder: &Path) -> usize {
    let result = fs::read(folder.join(RESULT)).ok().and_then(|text| serde_json::from_slice::<Value>(&text).ok());
    // A result of this command; other commands write files of this name too.
    let ours = result.filter(|r| r.get("floor_w1").is_some());
    let frames = ours.as_ref().and_then(|r| r.get("frames")).and_then(Value::as_u64).unwrap_or(0);
    usize::try_from(frames).unwrap_or(0).min(MOST_FRAMES + 1)
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
    // Frames of an earlier, longer run would follow these. Only its own: others of such names are the user's.
    let frames = outcome.plan.frame_steps();
    remove_frames(&folder.join(FRAMES), frames.len()..earlier_frames(folder))?;
    for (index, step) in frames.iter().enumerate() {
        let Some(at) = outcome.trajectory.snapshots.iter().position(|s| s.step == *step) else { continue };
        write_whole(&folder.join(FRAMES).join(frame_name(index)), &plot::frame(outcome, at)?)?;
    }
    // Last, so that a folder with a result has everything.
    write_whole(&folder.join(RESULT), json(report).as_bytes())
}

fn remove_frames(folder: &Path, indices: Range<usize>) -> Result<(), CliError> {
    for index in indices {
        let path = folder.join(frame_name(index));
        match fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(CliError::Failed(format!("cannot remove {}: {e}", path.display())));
            }
            _ => (),
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
