//! Compressed sensing.

use crate::error::CliError;
use crate::numbers::{grouped, json, short};
use crate::plot::experiments;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::experiments::{Grid, Session, sensing};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Report<'a> {
    experiment: &'static str,
    parameters: &'a sensing::Parameters,
    #[serde(flatten)]
    grid: &'a Grid,
    seconds: f64,
}

/// The experiment as files and text.
pub fn sheet(session: &Session<'_>, start: Instant) -> Result<Sheet, CliError> {
    let parameters = sensing::load()?.parameters;
    let grid = sensing::run(session)?;
    let seconds = start.elapsed().as_secs_f64();
    let (svg, png) = pictures(|format| experiments::sensing(&grid, format))?;
    let sensing::Parameters { dim, sparsity, mu, power, particles, alpha, dt, time, .. } = &parameters;
    let rate = |column: usize, row: usize| {
        let rate = grid.rate(column, row);
        format!("{:.0} % ({:.0} to {:.0})", 100.0 * rate.rate, 100.0 * rate.low, 100.0 * rate.high)
    };
    let line = |(k, m): (usize, &f64)| vec![short(*m), rate(k, 0), rate(k, 1)];
    let enough = (0..grid.x.values.len()).find(|&k| grid.rate(k, 1).rate >= 0.5).map(|k| grid.x.values[k]);
    Ok(Sheet {
        name: "sensing",
        title: "Compressed sensing: success over the number of measurements",
        about: format!(
            "{sparsity} of {dim} coordinates are not zero; mu = {mu}, p = {power}; {particles} particles, alpha = {alpha}, dt = {dt}, \
             T = {time}; {} runs in {}",
            grouped(grid.successes.len() as u64 * grid.runs),
            crate::progress::duration(seconds)
        ),
        table: Table {
            head: vec!["measurements", "without gradient", "with gradient"],
            rows: grid.x.values.iter().enumerate().map(line).collect(),
        },
        verdict: match enough {
            Some(m) => format!("with the gradient half of the runs succeed from {} measurements on", short(m)),
            None => "with the gradient fewer than half of the runs succeed".into(),
        },
        agrees: true,
        csv: grid.csv(),
        json: json(&Report { experiment: "sensing", parameters: &parameters, grid: &grid, seconds }),
        svg,
        png,
    })
}
