//! The experiments that are maps of success rates.

use super::cells::CellArgs;
use crate::error::CliError;
use crate::numbers::{grouped, json, short};
use crate::plot::experiments::{self, Map};
use crate::sheet::{Sheet, Table, pictures};
use crate::values::Precision;
use cbo::device::Fleet;
use cbo_cuda::Cuda;
use cbo_lab::experiments::{Grid, Session, phase, truncation};
use serde::Serialize;
use std::time::Instant;

#[derive(Serialize)]
struct Report<'a, P> {
    experiment: &'static str,
    parameters: &'a P,
    #[serde(flatten)]
    grid: &'a Grid,
    seconds: f64,
}

/// The phase transition.
pub fn phase(session: &Session<'_>, cells: &CellArgs, gpu: Option<&Cuda>, start: Instant) -> Result<Sheet, CliError> {
    let parameters = phase::load()?.parameters;
    let grid = match cells.precision() {
        Precision::F32 => phase::run::<f32>(session, cells.wanted(), gpu.map(|gpu| gpu as &dyn Fleet<f32>))?,
        Precision::F64 => phase::run::<f64>(session, cells.wanted(), gpu.map(|gpu| gpu as &dyn Fleet<f64>))?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let map = Map { title: "Success of consensus-based optimization", x: "sigma^2", y: "particles N", decades: false };
    let (svg, png) = pictures(|format| experiments::map(&grid, &map, format))?;
    let phase::Parameters { function, dim, time, dt, alpha, mean, variance, .. } = &parameters;
    Ok(Sheet {
        name: "phase",
        title: "Phase transition: success over the strength of the noise and the number of particles",
        about: format!(
            "{function} in {dim} dimensions, anisotropic noise, alpha = {alpha}, dt = {dt}, T = {time}, N({mean}, {variance}) at the start; \
             {} runs in {}",
            grouped(grid.successes.len() as u64 * grid.runs),
            crate::progress::duration(seconds)
        ),
        table: table(&grid, "sigma^2", "N", 5, 8),
        verdict: best(&grid, "sigma^2", "N"),
        agrees: true,
        csv: grid.csv(),
        json: json(&Report { experiment: "phase", parameters: &parameters, grid: &grid, seconds }),
        svg,
        png,
    })
}

/// Truncated noise.
pub fn truncation(session: &Session<'_>, gpu: Option<&Cuda>, start: Instant) -> Result<Sheet, CliError> {
    let parameters = truncation::load()?.parameters;
    let grid = truncation::run(session, gpu.map(|gpu| gpu as &dyn Fleet<f64>))?;
    let seconds = start.elapsed().as_secs_f64();
    let map =
        Map { title: "Success with truncated isotropic noise", x: "sigma", y: "log2 of the length M", decades: true };
    let (svg, png) = pictures(|format| experiments::map(&grid, &map, format))?;
    let truncation::Parameters { function, dim, particles, time, dt, alpha, mean, variance, .. } = &parameters;
    Ok(Sheet {
        name: "truncation",
        title: "Truncated noise: success over the strength of isotropic noise and the length at which it is cut",
        about: format!(
            "{function} in {dim} dimensions, {particles} particles, alpha = {alpha}, dt = {dt}, T = {time}, N({mean}, {variance}) at the \
             start; {} runs in {}; the last row has no limit",
            grouped(grid.successes.len() as u64 * grid.runs),
            crate::progress::duration(seconds)
        ),
        table: table(&grid, "sigma", "M", 5, 8),
        verdict: best(&grid, "sigma", "M"),
        agrees: true,
        csv: grid.csv(),
        json: json(&Report { experiment: "truncation", parameters: &parameters, grid: &grid, seconds }),
        svg,
        png,
    })
}

/// Some rows and columns of the map, evenly chosen, with both ends.
fn table(grid: &Grid, x: &'static str, y: &'static str, columns: usize, rows: usize) -> Table {
    let chosen = |count: usize, wanted: usize| -> Vec<usize> {
        let wanted = wanted.min(count);
        (0..wanted).map(|k| k * (count - 1) / (wanted - 1).max(1)).collect()
    };
    let picked = chosen(grid.x.values.len(), columns);
    let mut lines = vec![
        std::iter::once(format!("{y}, {x} ="))
            .chain(picked.iter().map(|&k| short(grid.x.values[k])))
            .collect::<Vec<_>>(),
    ];
    for row in chosen(grid.y.values.len(), rows) {
        let rates = picked.iter().map(|&column| format!("{:.0} %", 100.0 * grid.rate(column, row).rate));
        lines.push(std::iter::once(short(grid.y.values[row])).chain(rates).collect());
    }
    let mut head = vec![""; columns.min(grid.x.values.len()) + 1];
    head[0] = "success";
    Table { head, rows: lines }
}

/// The cell with the best rate.
fn best(grid: &Grid, x: &str, y: &str) -> String {
    let columns = grid.x.values.len();
    let place = (0..grid.successes.len()).rev().max_by_key(|&k| grid.successes[k]).unwrap_or(0);
    let rate = grid.rate(place % columns, place / columns);
    format!(
        "best: {:.0} % (95 % Wilson interval {:.0} to {:.0} %) at {x} = {}, {y} = {}",
        100.0 * rate.rate,
        100.0 * rate.low,
        100.0 * rate.high,
        short(grid.x.values[place % columns]),
        short(grid.y.values[place / columns])
    )
}
