//! Figure 2: the sets of the mass bound's proof, and its claims checked on a fine grid.

use crate::error::CliError;
use crate::numbers::{json, short};
use crate::plot;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::figures::fig2::{self, Check, Figure, Parameters};
use cbo_lab::theory::mass::Ball;
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    figure: &'static str,
    agrees: bool,
    parameters: &'a Parameters,
    checks: &'a [Check],
}

pub fn sheet() -> Result<Sheet, CliError> {
    let figure = fig2::figure(&fig2::load()?.parameters);
    let (svg, png) = pictures(|format| plot::figures::fig2(&figure, format))?;
    let broken = figure.checks.iter().filter(|c| !c.holds).count();
    let report = Report { figure: "fig2", agrees: broken == 0, parameters: &figure.parameters, checks: &figure.checks };
    let Parameters { lambda, r, c, grid, .. } = figure.parameters;
    Ok(Sheet {
        name: "fig2",
        title: "Figure 2: the sets of the mass bound's proof",
        about: format!(
            "lambda = {lambda}, r = {r}, c = {c}, v* = 0; least values of T1/phi and T2/phi on {grid} points of each coordinate"
        ),
        table: table(&figure.checks),
        verdict: match broken {
            0 => format!("all {} claims of the proof hold on the grid", figure.checks.len()),
            _ => format!("{broken} of {} claims of the proof fail on the grid", figure.checks.len()),
        },
        agrees: report.agrees,
        csv: csv(&figure),
        json: json(&report),
        svg,
        png,
    })
}

fn table(checks: &[Check]) -> Table {
    let row = |c: &Check| {
        let found = |v: Option<f64>| v.map_or("no points".into(), short);
        vec![
            c.setting.to_string(),
            c.coordinate.to_string(),
            c.set.to_string(),
            c.claim.to_string(),
            found(c.minimum),
            short(c.bound),
            if c.holds { "holds" } else { "FAILS" }.to_string(),
        ]
    };
    let head = vec!["setting", "k", "set", "claim", "least found", "bound", ""];
    Table { head, rows: checks.iter().map(row).collect() }
}

/// Every point of the grid with its set and the two terms, over phi.
fn csv(figure: &Figure) -> String {
    let mut lines = String::from("setting,coordinate,x,set,drift,diffusion\n");
    let Parameters { lambda, r, .. } = figure.parameters;
    for (number, panel) in figure.panels.iter().enumerate() {
        let ball = Ball { lambda, sigma: panel.setting.sigma, r, b: 0.0 };
        for (k, (regions, &a)) in panel.regions.iter().zip(&panel.setting.consensus).enumerate() {
            for (&x, region) in figure.grid.iter().zip(regions) {
                let (drift, diffusion) = (ball.drift(x, a), ball.diffusion(x, a));
                lines += &format!("{},{},{x},{},{drift},{diffusion}\n", number + 1, k + 1, region.name());
            }
        }
    }
    lines
}
