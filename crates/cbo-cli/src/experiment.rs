//! `cbo experiment`: experiments of the method's authors, each as SVG, PNG, CSV and a JSON of its numbers.

mod canyon;
mod cells;
mod landscape;
mod maps;
mod sensing;

use crate::config_file::Origins;
use crate::device::DeviceSpec;
use crate::error::{CliError, print};
use crate::sheet::{self, Sheet};
use crate::{files, interrupt, progress, result, values};
use cbo_cuda::Cuda;
use cbo_lab::experiments::Session;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  cbo experiment phase --out experiments --quick      # a first look, in seconds
  cbo experiment phase --out experiments              # full size: 800 000 runs
  cbo experiment phase --out experiments --sigma-squared 4:28:5 --particles 40:160:2 --runs 100   # ten cells of it
  cbo experiment canyon --out experiments --json

Each writes NAME.svg, NAME.png, NAME.csv and NAME.json; files of these names are replaced, nothing else in the folder is touched.";

/// Arguments of `cbo experiment`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ExperimentArgs {
    /// The experiment
    #[arg(value_enum, value_name = "EXPERIMENT")]
    experiment: Choice,
    /// The folder for the files; created if missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Fewer settings and runs, for a first look
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    cells: cells::CellArgs,
    /// Seed of the first run of each setting
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = values::count)]
    seed: u64,
    /// Threads; 0 for one per core. Results do not depend on it
    #[arg(long, value_name = "COUNT", default_value = "0", value_parser = values::size)]
    threads: usize,
    /// phase, truncation: where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, thousands of runs at once, with the
    /// same bits
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceSpec,
    /// One JSON object on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// An experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// Success over the strength of the noise and the number of particles
    Phase,
    /// Success over the strength of isotropic noise and the length at which it is cut
    Truncation,
    /// Compressed sensing: success over the number of measurements, with and without a gradient
    Sensing,
    /// All minimisers of a function, found by one polarised swarm
    Landscape,
    /// The path of the consensus point through a rippled canyon
    Canyon,
}

impl Choice {
    fn name(self) -> &'static str {
        match self {
            Self::Phase => "phase",
            Self::Truncation => "truncation",
            Self::Sensing => "sensing",
            Self::Landscape => "landscape",
            Self::Canyon => "canyon",
        }
    }
}

/// Runs the command.
pub fn run(args: &ExperimentArgs) -> Result<(), CliError> {
    interrupt::listen();
    args.cells.check(args.experiment == Choice::Phase)?;
    if args.device != DeviceSpec::Cpu && !matches!(args.experiment, Choice::Phase | Choice::Truncation) {
        let remedy = "only the experiments phase and truncation run there; leave it out";
        return Err(CliError::setting("device", args.device, remedy));
    }
    let gpu = args.device.open_for_many(false, &Origins::default())?;
    files::check_folder(&args.out, "a folder of experiments", |_| true)?;
    sheet::check(&args.out, args.experiment.name())?;
    let count = result::threads(args.threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map_err(|e| CliError::setting("threads", count, format!("{e}; use fewer")))?;
    let sheet = pool.install(|| measured(args, gpu.as_ref()))?;
    sheet.write(&args.out)?;
    print(&if args.json { sheet.json.clone() } else { sheet.text(&args.out) })
}

/// Makes all runs of the experiment, with a progress bar.
fn measured(args: &ExperimentArgs, gpu: Option<&Cuda>) -> Result<Sheet, CliError> {
    let bar = progress::bar(1000, !args.json && !args.quiet);
    let start = Instant::now();
    let watch = |part: f64| {
        if let Some(bar) = &bar {
            let place = (1000.0 * part) as u64;
            if place > bar.position() {
                bar.set_position(place);
                let seconds = start.elapsed().as_secs_f64();
                bar.set_message(format!("{} left", progress::duration(seconds * (1.0 - part) / part.max(1e-9))));
            }
        }
        !interrupt::requested()
    };
    let session = Session { quick: args.quick, seed: args.seed, watch: &watch };
    let sheet = match args.experiment {
        Choice::Phase => maps::phase(&session, &args.cells, gpu, start),
        Choice::Truncation => maps::truncation(&session, gpu, start),
        Choice::Sensing => sensing::sheet(&session, start),
        Choice::Landscape => landscape::sheet(&session, start),
        Choice::Canyon => canyon::sheet(&session, start),
    };
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    sheet
}
