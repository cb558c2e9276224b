//! Figure 1a: the Rastrigin function in one coordinate.

use crate::error::CliError;
use crate::numbers::{json, short};
use crate::plot;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::figures::fig1a::{self, Minimum, Parameters};
use serde::Serialize;

/// How far a minimum may lie from where it is expected.
const TOLERANCE: f64 = 1e-9;

#[derive(Serialize)]
struct Report<'a> {
    figure: &'static str,
    agrees: bool,
    parameters: &'a Parameters,
    minima: &'a [Minimum],
}

pub fn sheet() -> Result<Sheet, CliError> {
    let figure = fig1a::figure(&fig1a::load()?)?;
    let near = |m: &Minimum| (m.v - m.v_expected).abs().max((m.energy - m.energy_expected).abs()) < TOLERANCE;
    let agrees = figure.minima.iter().all(near);
    let (svg, png) = pictures(|format| plot::figures::fig1a(&figure, format))?;
    let rows = figure.minima.iter().map(|m| [m.v, m.energy, m.v_expected, m.energy_expected].map(short).to_vec());
    let table = Table { head: vec!["v", "energy", "v expected", "energy expected"], rows: rows.collect() };
    let lines: String = figure.curve.iter().map(|(v, energy)| format!("{v},{energy}\n")).collect();
    Ok(Sheet {
        name: "fig1a",
        title: "Figure 1a: the Rastrigin function in one coordinate",
        about: format!(
            "E(v) = v^2 + {} (1 - cos 2 pi v) on [{}, {}], its local minima from the zeros of the derivative",
            figure.parameters.amplitude, figure.parameters.low, figure.parameters.high
        ),
        table,
        verdict: if agrees {
            format!("all {} local minima are where they are expected, to {TOLERANCE:e}", figure.minima.len())
        } else {
            "a local minimum is not where it is expected".into()
        },
        agrees,
        svg,
        png,
        csv: format!("v,energy\n{lines}"),
        json: json(&Report { figure: "fig1a", agrees, parameters: &figure.parameters, minima: &figure.minima }),
    })
}
