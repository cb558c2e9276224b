//! All minimisers of a function, found by one swarm.

use crate::error::CliError;
use crate::numbers::{json, short};
use crate::plot::experiments;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::experiments::{Session, landscape};
use cbo_lab::success::Rate;
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Report<'a> {
    experiment: &'static str,
    #[serde(flatten)]
    landscape: &'a landscape::Landscape,
    seconds: f64,
}

/// The experiment as files and text.
pub fn sheet(session: &Session<'_>, start: Instant) -> Result<Sheet, CliError> {
    let found = landscape::run(session)?;
    let problem = found.parameters.problem()?;
    let seconds = start.elapsed().as_secs_f64();
    let (svg, png) = pictures(|format| experiments::landscape(&problem, &found, format))?;
    let landscape::Parameters { function, particles, time, dt, .. } = &found.parameters;
    let row = |outcome: &landscape::Outcome| {
        let rate = Rate::of(outcome.found_all, found.runs);
        let mean = outcome.runs_that_found.iter().sum::<u64>() as f64 / found.runs as f64;
        vec![
            outcome.alpha.clone(),
            format!("{mean:.2}"),
            format!("{:.0} % ({:.0} to {:.0})", 100.0 * rate.rate, 100.0 * rate.low, 100.0 * rate.high),
            outcome.elsewhere.to_string(),
        ]
    };
    let first = &found.outcomes[0];
    let each = found.minimisers.iter().zip(&first.runs_that_found);
    let each = each.map(|(x, runs)| format!("({}, {}) {runs}", short(x[0]), short(x[1]))).collect::<Vec<_>>();
    Ok(Sheet {
        name: "landscape",
        title: "Landscape: all minimisers of a function, found by one polarised swarm",
        about: format!(
            "{function}, which has {} minimisers; {particles} particles, dt = {dt}, T = {time}; {} runs for each alpha",
            found.minimisers.len(),
            found.runs
        ),
        table: Table {
            head: vec!["alpha", "minimisers found in a run", "runs that found all", "points elsewhere"],
            rows: found.outcomes.iter().map(row).collect(),
        },
        verdict: format!("runs with alpha = {} that found each: {}", first.alpha, each.join(", ")),
        agrees: true,
        csv: found.csv(),
        json: json(&Report { experiment: "landscape", landscape: &found, seconds }),
        svg,
        png,
    })
}
