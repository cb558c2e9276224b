//! The path of the consensus point through a canyon.

use crate::error::CliError;
use crate::numbers::{json, short};
use crate::plot::experiments;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::experiments::{Session, canyon};
use cbo_lab::success::median;
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Report<'a> {
    experiment: &'static str,
    parameters: &'a canyon::Parameters,
    distances: &'a [f64],
    descent_distance: f64,
    seconds: f64,
}

/// The experiment as files and text.
pub fn sheet(session: &Session<'_>, start: Instant) -> Result<Sheet, CliError> {
    let problem = canyon::problem()?;
    let paths = canyon::run(session)?;
    let seconds = start.elapsed().as_secs_f64();
    let (svg, png) = pictures(|format| experiments::canyon(&problem, &paths, format))?;
    let canyon::Parameters { start: from, particles, steps, dt, sigma, alpha, .. } = &paths.parameters;
    let typical = median(paths.distances.iter().copied()).unwrap_or(f64::NAN);
    let end = paths.descent.last().copied().unwrap_or(*from);
    let row = |name: &str, distance: f64| vec![name.to_string(), short(distance)];
    Ok(Sheet {
        name: "canyon",
        title: "Canyon: the consensus point follows the floor, not the ripples",
        about: format!(
            "{} runs of {particles} particles from ({}, {}), {steps} steps of {dt}, sigma = {sigma}, alpha = {alpha}",
            paths.consensus.len(),
            from[0],
            from[1]
        ),
        table: Table {
            head: vec!["", "distance to the minimiser at the end"],
            rows: vec![
                row("consensus point (median)", typical),
                row("consensus point (worst)", paths.distances.iter().copied().fold(0.0, f64::max)),
                row("gradient descent", paths.descent_distance),
            ],
        },
        verdict: format!("gradient descent ends at ({}, {})", short(end[0]), short(end[1])),
        agrees: true,
        csv: paths.csv(),
        json: json(&Report {
            experiment: "canyon",
            parameters: &paths.parameters,
            distances: &paths.distances,
            descent_distance: paths.descent_distance,
            seconds,
        }),
        svg,
        png,
    })
}
