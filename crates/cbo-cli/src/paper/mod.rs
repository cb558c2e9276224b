//! `cbo paper`: the figures of the paper, each as SVG, PNG, CSV and a JSON of measured and expected numbers.

mod fig1a;
mod fig1b;
mod fig2;
mod fig3;
mod fig4;
mod html;
mod runs;

use crate::config_file::Origins;
use crate::device::DeviceSpec;
use crate::error::{CliError, print};
use crate::plot::training;
use crate::sheet::{self, Sheet};
use crate::values::Precision;
use crate::{files, interrupt, progress, values};
use cbo::Scheme;
use cbo_cuda::Cuda;
use cbo_lab::figures::FigureError;
use clap::{Args, ValueEnum};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  cbo paper fig1b --out figures             # full size: 320 000 particles
  cbo paper all --out figures --quick       # small runs, and an index.html that shows everything
  cbo paper fig1b --out figures --scheme drift-first --json
  cbo paper fig1b --out figures --device cuda   # on a GPU
  cbo paper fig4 --runs lenet1 --out figures   # from a run of `cbo mnist train --network lenet1 --out lenet1`

Each figure writes NAME.svg, NAME.png, NAME.csv and NAME.json; files of these names are replaced, nothing else in the folder
is touched. The exit code is 1 if a measured number disagrees with what is expected.";

/// Arguments of `cbo paper`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct PaperArgs {
    /// The figure
    #[arg(value_enum, value_name = "FIGURE")]
    figure: Choice,
    /// The folder for the files; created if missing
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Small runs, for a first look (figure 1b: 8 000 particles)
    #[arg(long)]
    quick: bool,
    /// Seed of the runs
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    seed: u64,
    /// Time discretisation of figure 1b: euler-maruyama (the paper's) or drift-first (its authors' code)
    #[arg(long, value_name = "SCHEME", default_value = "euler-maruyama", value_parser = values::scheme)]
    scheme: Scheme,
    /// Folders of finished training runs for figure 4, as `cbo mnist train --out` leaves them
    #[arg(long, value_name = "DIR", num_args = 1.., value_delimiter = ',')]
    runs: Vec<PathBuf>,
    /// fig1b: where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, with the same bits
    #[arg(long, value_name = "DEVICE", default_value = "cpu")]
    device: DeviceSpec,
    /// fig1b: `f64`, or `f32`
    #[arg(long, value_name = "TYPE", default_value = "f64")]
    precision: Precision,
    /// One JSON object on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// The page of `all`.
const PAGE: &str = "index.html";

/// A figure, or all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Choice {
    /// The Rastrigin function in one coordinate
    Fig1a,
    /// Decay of V for isotropic and anisotropic noise in several dimensions
    Fig1b,
    /// The decomposition of the box around the minimiser, and the proof's claims checked on it
    Fig2,
    /// The two networks of the machine learning example
    Fig3,
    /// Test accuracy and loss over the epochs of training, from finished runs (--runs)
    Fig4,
    /// All of them, and a page that shows them; figure 4 only with --runs
    All,
}

impl From<FigureError> for CliError {
    fn from(error: FigureError) -> Self {
        match error {
            FigureError::Solve(error) => crate::minimize::failure(&error),
            FigureError::Interrupted => Self::Interrupted,
            other => Self::failed(&other),
        }
    }
}

/// Runs the command.
pub fn run(args: &PaperArgs) -> Result<(), CliError> {
    interrupt::listen();
    // First of all: a bad run must leave no folder behind.
    let runs = finished_runs(args)?;
    let gpu = gpu(args)?;
    let wanted =
        |choice| args.figure == choice || args.figure == Choice::All && (choice != Choice::Fig4 || !runs.is_empty());
    let all = [
        (Choice::Fig1a, "fig1a"),
        (Choice::Fig1b, "fig1b"),
        (Choice::Fig2, "fig2"),
        (Choice::Fig3, "fig3"),
        (Choice::Fig4, "fig4"),
    ];
    let names: Vec<&str> = all.iter().filter(|(choice, _)| wanted(*choice)).map(|(_, name)| *name).collect();
    files::check_folder(&args.out, "a folder of figures", |_| true)?;
    for name in &names {
        sheet::check(&args.out, name)?;
    }
    if args.figure == Choice::All {
        files::check_file(&args.out.join(PAGE))?;
    }
    let mut sheets = Vec::new();
    let mut failure = None;
    for (choice, _) in all.into_iter().filter(|(choice, _)| wanted(*choice)) {
        // Each is written when it is done: whatever happens to the next one, it is there.
        match draw(choice, args, &runs, gpu.as_ref()).and_then(|sheet| sheet.write(&args.out).map(|()| sheet)) {
            Ok(sheet) => sheets.push(sheet),
            Err(CliError::Interrupted) => return Err(CliError::Interrupted),
            Err(error) => failure = failure.or(Some(error)),
        }
    }
    let missing = (args.figure == Choice::All && runs.is_empty()).then_some(fig4::NEEDS_RUNS);
    if sheets.is_empty() {
        return failure.map_or(Ok(()), Err);
    }
    if args.figure == Choice::All
        && let Err(error) = files::write_whole(&args.out.join(PAGE), html::page(&sheets, missing).as_bytes())
    {
        failure = failure.or(Some(error));
    }
    let report = match (args.json, &sheets[..]) {
        (true, [sheet]) if args.figure != Choice::All => sheet.json.clone(),
        (true, _) => {
            let objects: Vec<&str> = sheets.iter().map(|s| s.json.trim_end()).collect();
            format!("{{\"figures\":[{}]}}\n", objects.join(","))
        }
        (false, _) => {
            let parts = sheets.iter().map(|s| s.text(&args.out)).chain(missing.map(|note| format!("{note}\n")));
            parts.collect::<Vec<_>>().join("\n")
        }
    };
    print(&report)?;
    if let Some(error) = failure {
        return Err(error);
    }
    match sheets.iter().find(|s| !s.agrees) {
        Some(sheet) => Err(CliError::Failed(format!("{}: {}", sheet.name, sheet.verdict))),
        None => Ok(()),
    }
}

/// The GPU of figure 1b, which alone has particles.
fn gpu(args: &PaperArgs) -> Result<Option<Cuda>, CliError> {
    let remedy = "only fig1b and all have particles; leave it out";
    match args.figure {
        Choice::Fig1b | Choice::All => {
            let gpu = args.device.open_for_many(false, &Origins::default())?;
            Ok(gpu.map(Cuda::without_particles))
        }
        _ if args.device != DeviceSpec::Cpu => Err(CliError::setting("device", args.device, remedy)),
        _ if args.precision != Precision::F64 => Err(CliError::setting("precision", args.precision.name(), remedy)),
        _ => Ok(None),
    }
}

/// The training runs that figure 4 is drawn from.
fn finished_runs(args: &PaperArgs) -> Result<Vec<runs::Finished>, CliError> {
    match (args.figure, args.runs.len()) {
        (Choice::Fig4, 0) => Err(CliError::Usage(fig4::NEEDS_RUNS.into())),
        (Choice::Fig4 | Choice::All, count) if count > training::MOST_RUNS => {
            let remedy = format!("at most {} can be told apart in a picture", training::MOST_RUNS);
            Err(CliError::setting("number of runs", count, remedy))
        }
        (Choice::Fig4 | Choice::All, _) | (_, 0) => args.runs.iter().map(|folder| runs::read(folder)).collect(),
        _ => {
            let remedy = "only fig4 and all are drawn from training runs; leave it out";
            Err(CliError::setting("runs", args.runs[0].display(), remedy))
        }
    }
}

/// A progress bar as a function of the part that is done; it also listens for Ctrl-C.
fn shown(wanted: bool) -> impl FnMut(f64) -> ControlFlow<()> {
    let bar = progress::bar(1000, wanted);
    let start = Instant::now();
    let mut last = 0.0;
    move |done: f64| {
        let seconds = start.elapsed().as_secs_f64();
        if let Some(bar) = &bar
            && seconds - last > 0.05
        {
            last = seconds;
            bar.set_position((1000.0 * done) as u64);
            bar.set_message(format!("{} left", progress::duration(seconds * (1.0 - done) / done.max(1e-9))));
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Makes a figure.
fn draw(choice: Choice, args: &PaperArgs, runs: &[runs::Finished], gpu: Option<&Cuda>) -> Result<Sheet, CliError> {
    match choice {
        Choice::Fig1a => fig1a::sheet(),
        Choice::Fig1b => fig1b::sheet(args, gpu, &mut shown(!args.json && !args.quiet)),
        Choice::Fig2 => fig2::sheet(),
        Choice::Fig3 => fig3::sheet(),
        Choice::Fig4 | Choice::All => fig4::sheet(runs),
    }
}
