//! Figure 1b: the decay of V for isotropic and anisotropic noise.

use super::PaperArgs;
use crate::error::CliError;
use crate::numbers::{grouped, json};
use crate::plot;
use crate::sheet::{Sheet, Table, pictures};
use crate::values::Precision;
use cbo_cuda::Cuda;
use cbo_lab::figures::fig1b::{self, Curve, Expected, Parameters};
use serde::Serialize;
use std::ops::ControlFlow;
use std::time::Instant;

/// Standard errors that a frozen rate may lie from its expectation.
const Z: f64 = 4.0;

#[derive(Serialize)]
struct Report<'a> {
    figure: &'static str,
    agrees: bool,
    scheme: String,
    seed: u64,
    device: String,
    precision: &'static str,
    parameters: &'a Parameters,
    runs: &'a [Curve],
    expected: &'a Expected,
    seconds: f64,
}

pub fn sheet(
    args: &PaperArgs,
    gpu: Option<&Cuda>,
    progress: &mut (dyn FnMut(f64) -> ControlFlow<()> + Send),
) -> Result<Sheet, CliError> {
    let PaperArgs { scheme, seed, precision, .. } = *args;
    let mut experiment = fig1b::load()?;
    if args.quick {
        experiment.parameters.particles = experiment.parameters.quick_particles;
    }
    let parameters = &experiment.parameters;
    let start = Instant::now();
    let curves = match precision {
        Precision::F64 => fig1b::curves::<f64>(parameters, scheme, seed, gpu.map(|gpu| gpu as _), progress)?,
        Precision::F32 => fig1b::curves::<f32>(parameters, scheme, seed, gpu.map(|gpu| gpu as _), progress)?,
    };
    let seconds = start.elapsed().as_secs_f64();
    let (svg, png) = pictures(|format| plot::figures::fig1b(parameters, &curves, format))?;
    let agrees = curves.iter().all(|c| c.z_frozen.abs() <= Z);
    let worst = curves.iter().map(|c| c.z_frozen.abs()).fold(0.0, f64::max);
    let report = Report {
        figure: "fig1b",
        agrees,
        scheme: scheme.to_string(),
        seed,
        device: args.device.to_string(),
        precision: precision.name(),
        parameters,
        runs: &curves,
        expected: &experiment.expected,
        seconds,
    };
    let Parameters { lambda, sigma, alpha, dt, time, particles, .. } = *parameters;
    Ok(Sheet {
        name: "fig1b",
        title: "Figure 1b: decay of V for isotropic and anisotropic noise",
        about: format!(
            "Rastrigin, N = {}, lambda = {lambda}, sigma = {sigma}, alpha = {alpha:e}, dt = {dt}, T = {time}, scheme {}, seed {seed}; \
             {seconds:.1} s",
            grouped(particles as u64),
            report.scheme
        ),
        table: table(&curves),
        verdict: format!(
            "frozen consensus against the exact discrete expectation: at worst {worst:.2} standard errors away ({Z} allowed)"
        ),
        agrees,
        csv: csv(&curves),
        json: json(&report),
        svg,
        png,
    })
}

fn table(curves: &[Curve]) -> Table {
    let row = |c: &Curve| {
        let mut row = vec![c.diffusion.to_string(), c.dim.to_string()];
        row.extend([c.rate, c.rate_frozen, c.rate_discrete, c.rate_continuous].map(|v| format!("{v:.5}")));
        row.extend([format!("{:.5}", c.standard_error), format!("{:+.2}", c.z_frozen)]);
        row.extend([c.v_end_ratio, c.v_end_ratio_frozen, c.v_end_ratio_discrete].map(|v| format!("{v:.4e}")));
        row
    };
    let head = vec![
        "noise",
        "d",
        "rate",
        "rate frozen",
        "discrete",
        "continuous",
        "std. error",
        "z",
        "V(T)/V(0)",
        "frozen",
        "expected",
    ];
    Table { head, rows: curves.iter().map(row).collect() }
}

/// V over time, one column per run.
fn csv(curves: &[Curve]) -> String {
    let mut lines = String::from("time");
    for c in curves {
        lines += &format!(",v_{0}_{1},v_{0}_{1}_frozen", c.diffusion, c.dim);
    }
    lines.push('\n');
    for (i, time) in curves.first().map_or(&[][..], |c| &c.times).iter().enumerate() {
        lines += &time.to_string();
        for c in curves {
            lines += &format!(",{},{}", c.v[i], c.v_frozen[i]);
        }
        lines.push('\n');
    }
    lines
}
