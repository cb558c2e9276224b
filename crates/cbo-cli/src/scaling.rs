//! `cbo scaling`: what a run on many machines would take, from what is measured here.

pub mod measure;
pub mod model;

use crate::error::{CliError, print};
use crate::plot::{self, Format};
use crate::{files, ranks, values};
use clap::Args;
use measure::Measured;
use model::{Model, Network, Row};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  mpirun -n 2 cbo scaling                                   # measures the step and its exchange, then extrapolates
  mpirun -n 2 cbo scaling --out scaling                     # the same with scaling.csv, scaling.svg and scaling.png
  cbo scaling --latency 2 --bandwidth 10                    # for a network of 2 microseconds and 10 GB/s";

/// Arguments of `cbo scaling`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ScalingArgs {
    /// Microseconds that a message between two machines takes [default: as measured between the ranks, or 2]
    #[arg(long, value_name = "MICROSECONDS", value_parser = values::number)]
    latency: Option<f64>,
    /// Gigabytes that pass between two machines in a second [default: as measured between the ranks, or 10]
    #[arg(long, value_name = "GB/S", value_parser = values::number)]
    bandwidth: Option<f64>,
    /// By which part the slowest rank is slower than the mean [default: as measured between the ranks, or 0.02]
    #[arg(long, value_name = "PART", value_parser = values::number)]
    imbalance: Option<f64>,
    /// Seconds to spend on each measurement
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// Writes scaling.csv, scaling.svg and scaling.png to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// What the command found.
#[derive(Debug, Serialize)]
struct Report {
    measured: Measured,
    network: Network,
    rows: Vec<Row>,
}

/// Runs the command; of several ranks on the first.
pub fn run(args: &ScalingArgs) -> Result<(), CliError> {
    if !(args.seconds > 0.0 && args.seconds <= 60.0) {
        return Err(CliError::setting("seconds", args.seconds, "must lie between 0 and 60"));
    }
    let given = [("latency", args.latency), ("bandwidth", args.bandwidth), ("imbalance", args.imbalance)];
    for (field, value) in given {
        if let Some(value) =
            value.filter(|value| !(value.is_finite() && *value >= 0.0) || (field == "bandwidth" && *value == 0.0))
        {
            return Err(CliError::setting(field, value, "must be a positive number"));
        }
    }
    ranks::lead_measurement(args.seconds);
    let measured = measure::measure(ranks::several(), args.seconds)?;
    let network = Network {
        latency: args.latency.map(|micros| 1e-6 * micros).unwrap_or(measured.latency()),
        bandwidth: args.bandwidth.map(|gigabytes| 1e9 * gigabytes).unwrap_or(measured.bandwidth()),
        imbalance: args.imbalance.unwrap_or(measured.imbalance()),
    };
    let rows = Model { coordinate: measured.seconds_per_coordinate(), network }.rows();
    let report = Report { measured, network, rows };
    if args.json {
        let text = serde_json::to_string(&report).map_err(|e| CliError::failed(&e))?;
        print(&format!("{text}\n"))?;
    } else {
        print(&words(&report))?;
    }
    let Some(folder) = &args.out else { return Ok(()) };
    std::fs::create_dir_all(folder).map_err(|e| CliError::unwritable(folder, &e))?;
    files::write_whole(&folder.join("scaling.csv"), csv(&report.rows).as_bytes())?;
    for (name, format) in [("scaling.svg", Format::Svg), ("scaling.png", Format::Png)] {
        files::write_whole(&folder.join(name), &plot::scaling::draw(&report.rows, format)?)?;
    }
    Ok(())
}

fn csv(rows: &[Row]) -> String {
    let mut text = "dim,particles_per_rank,ranks,subtrees,compute_ms,exchange_ms,step_ms,efficiency\n".to_string();
    for row in rows {
        let Row { dim, particles, ranks, subtrees, compute, exchange, .. } = row;
        let (compute, exchange) = (1e3 * compute, 1e3 * exchange);
        let _ = writeln!(
            text,
            "{dim},{particles},{ranks},{subtrees},{compute},{exchange},{},{}",
            compute + exchange,
            row.efficiency()
        );
    }
    text
}

fn words(report: &Report) -> String {
    let Report { measured, network, rows } = report;
    let mut text = measured.words();
    let _ = writeln!(
        text,
        "\nModel: {:.2} us and {:.2} GB/s between ranks, the slowest {:.1} % behind the mean; ranks of one thread,\n\
         sums to the first along a binary tree of ranks and back, and what it decides.\n",
        1e6 * network.latency,
        1e-9 * network.bandwidth,
        100.0 * network.imbalance
    );
    let _ = writeln!(
        text,
        "{:>8} {:>10} {:>6} {:>12} {:>13} {:>11}",
        "dim", "particles", "ranks", "step", "exchange", "efficiency"
    );
    for row in rows {
        let _ = writeln!(
            text,
            "{:>8} {:>10} {:>6} {:>9.3} ms {:>10.4} ms {:>9.1} %",
            row.dim,
            row.particles,
            row.ranks,
            1e3 * (row.compute + row.exchange),
            1e3 * row.exchange,
            100.0 * row.efficiency()
        );
    }
    text
}
