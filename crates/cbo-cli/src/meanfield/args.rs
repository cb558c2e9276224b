//! The flags of `cbo meanfield`.

use crate::values::{self, FreezeSpec, InitSpec, RotateSpec, ShiftSpec};
use cbo::Alpha;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo meanfield --quick
  cbo meanfield --out meanfield
  cbo meanfield --dim 2 --quick --out plane
  cbo meanfield --freeze minimiser --init normal:2,32 --time 4 --json
  cbo meanfield --objective ackley --alpha 50 --particles 100,1000 --repeats 20

The law solves the anisotropic Fokker-Planck equation on a grid that follows it. The distance of N particles to it is W_1
(and W_2), by quantiles; in two dimensions that of the marginals, averaged. It falls like N^-1/2 until the particles' time
step shows, whose own distance is given as the floor.";

/// Solves the mean-field equation and compares the particles with it.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MeanfieldArgs {
    /// The function; `cbo list` shows all
    #[arg(long, value_name = "FUNCTION", default_value = "rastrigin", help_heading = "Problem")]
    pub objective: String,
    /// Number of coordinates, 1 or 2
    #[arg(long, value_name = "D", default_value = "1", value_parser = values::size, allow_hyphen_values = true,
          help_heading = "Problem")]
    pub dim: usize,
    /// Moves the minimiser: by one number, by one for each coordinate (1;2), or to a `random` place given by the seed
    #[arg(long, value_name = "VALUE|random", value_parser = values::shift, allow_hyphen_values = true,
          help_heading = "Problem")]
    pub shift: Option<ShiftSpec>,
    /// Turns the function about its minimiser by the random matrix of this seed, or of the run's seed (`random`)
    #[arg(long, value_name = "SEED|random", value_parser = values::rotate, allow_hyphen_values = true,
          help_heading = "Problem")]
    pub rotate: Option<RotateSpec>,
    /// Height of Rastrigin's ripples: 2.5 in papers on consensus-based optimization, classically 10
    #[arg(long, value_name = "A", value_parser = values::number, allow_hyphen_values = true, help_heading = "Problem")]
    pub amplitude: Option<f64>,
    /// Condition number of the ellipsoid
    #[arg(long, value_name = "C", value_parser = values::number, allow_hyphen_values = true, help_heading = "Problem")]
    pub condition: Option<f64>,
    /// The law at time 0: normal:MEAN,VARIANCE or uniform:LOW,HIGH (each one number, or one for each coordinate:
    /// normal:2;0,1) [default: normal, a fifth of the domain off its centre (in two dimensions a tenth), a standard
    /// deviation of an eighth of it]
    #[arg(long, value_name = "LAW", value_parser = values::init, allow_hyphen_values = true, help_heading = "Problem")]
    pub init: Option<InitSpec>,

    /// Numbers of particles to compare with the law [default: 100,1000,10000,100000, in two dimensions
    /// 300,3000,30000]
    #[arg(long, value_name = "N", num_args = 1.., value_delimiter = ',', value_parser = values::size,
          help_heading = "Dynamics")]
    pub particles: Vec<usize>,
    /// Runs with each number of particles, with seeds of their own [default: 10]
    #[arg(long, value_name = "R", value_parser = values::count, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub repeats: Option<u64>,
    /// Drift towards the consensus point
    #[arg(long, value_name = "LAMBDA", default_value = "1.0", value_parser = values::number, allow_hyphen_values = true,
          help_heading = "Dynamics")]
    pub lambda: f64,
    /// Diffusion
    #[arg(long, value_name = "SIGMA", default_value = "0.32", value_parser = values::number, allow_hyphen_values = true,
          help_heading = "Dynamics")]
    pub sigma: f64,
    /// Weight parameter: a number or inf
    #[arg(long, value_name = "ALPHA", default_value = "5.0", value_parser = values::alpha, allow_hyphen_values = true,
          help_heading = "Dynamics")]
    pub alpha: Alpha,
    /// The time horizon, rounded to whole steps
    #[arg(long, value_name = "T", default_value = "2.0", value_parser = values::number, allow_hyphen_values = true,
          help_heading = "Dynamics")]
    pub time: f64,
    /// Time step of law and particles [default: 0.001, in two dimensions 0.004, but at most T/10 and 1/(10 lambda)]
    #[arg(long, value_name = "DT", value_parser = values::number, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub dt: Option<f64>,
    /// Keeps the consensus point at the `minimiser` or at x1,x2: then V is known exactly
    #[arg(long, value_name = "POINT", value_parser = values::freeze, allow_hyphen_values = true,
          help_heading = "Dynamics")]
    pub freeze: Option<FreezeSpec>,

    /// Cells of each coordinate [default: 800, in two dimensions 160]
    #[arg(long, value_name = "N", value_parser = values::size, allow_hyphen_values = true, help_heading = "Computation")]
    pub cells: Option<usize>,
    /// Seed of everything random; run r of each number of particles has the seed SEED + r (after 2^64 - 1 comes 0)
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = values::count, allow_hyphen_values = true,
          help_heading = "Computation")]
    pub seed: u64,
    /// A coarse run of seconds: dt 0.01, two numbers of particles, 4 repeats, 200 cells (80 in two dimensions), 4 frames,
    /// where no flag says otherwise
    #[arg(long, help_heading = "Computation")]
    pub quick: bool,

    /// Pictures of law and particles over time, in addition to the first; 0 for none [default: 24]
    #[arg(long, value_name = "K", value_parser = values::size, allow_hyphen_values = true, help_heading = "Output")]
    pub frames: Option<usize>,
    /// Writes density, energy and distance as CSV, SVG and PNG, the frames and result.json to this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// One JSON object on stdout, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress bar
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}
