//! The flags of `cbo mnist train`.

use super::data::DatasetName;
use crate::device::DeviceSpec;
use crate::values::{self, InitSpec, Switch};
use cbo::ranks::farm::Schedule;
use cbo::{Alpha, Diffusion, Reduction, Scheme, Sigma, Update};
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo mnist train                                       # LeNet-1 on the images at hand, a few seconds on the built-in ones
  cbo mnist fetch && cbo mnist train --network lenet1 --epochs 30 --out lenet1
  cbo mnist train --network shallow --epochs 40 --out shallow
  cbo mnist train --method hopping --out hopping        # consensus hopping
  cbo mnist train --preset best --device cuda --out best  # on an NVIDIA GPU, with the bits of the processor
  cbo mnist train --network 'conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn' --json
  cbo mnist train --config lenet1/config.toml --seed 1 --out again   # the settings of a run, one of them replaced

A network is a list of layers: dense OUTPUTS, conv MAPSxKERNEL [shared], relu, pool SIZE, bn.
Ctrl-C ends the training and reports the network as it is; cbo resume continues a run that has a folder.";

const SIGMA: &str = "Diffusion: a number, geometric:START,FACTOR[,CAP][,step|epoch], log:START[,step|epoch] or falling:START,END over \
                     the run; of hopping relative to the start [default: log:0.6324555320336759,epoch, with hopping falling:0.1667,0.0667]";

const ALPHA: &str = "Weight parameter: a number, inf, ess:ETA, geometric:START,FACTOR[,CAP][,step|epoch] or \
                     log:START[,step|epoch] [default: geometric:50,2,epoch, none with hopping by ranks]";

/// Arguments of `cbo mnist train`. What is not given comes from the preset.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct TrainArgs {
    /// A TOML file with the same keys as the flags; flags override it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The network: shallow (7850 parameters), lenet1 (2112) or a list of layers
    #[arg(long, value_name = "NETWORK", default_value = "lenet1")]
    pub network: String,
    /// The settings that hold unless a flag says otherwise
    #[arg(long, value_name = "PRESET", value_enum, default_value_t)]
    pub preset: PresetName,
    /// How particles move: cbo, or hopping[:NAME=VALUE,...], with what is named in place of the settings that train well (momentum, rate,
    /// cosine, antithetic, weights, start) [default: cbo]
    #[arg(long, value_name = "METHOD")]
    pub method: Option<String>,
    /// Passes through the training images [default: 30]
    #[arg(long, value_name = "EPOCHS", value_parser = values::count)]
    pub epochs: Option<u64>,
    /// Steps, instead of epochs [default with hopping: 800, with --preset best 8000]
    #[arg(long, value_name = "STEPS", value_parser = values::count, conflicts_with = "epochs")]
    pub iterations: Option<u64>,

    /// A folder with the four IDX files, plain or gzip; `fetched` or `built-in` for one of these alone [default: what cbo
    /// mnist fetch got, else the built-in subset]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub data: Option<PathBuf>,
    /// Which of the fetched data sets to use
    #[arg(long, value_name = "NAME", value_enum, default_value_t, help_heading = "Data")]
    pub dataset: DatasetName,
    /// Short for --dataset fashion
    #[arg(long, conflicts_with = "dataset", help_heading = "Data")]
    pub fashion: bool,
    /// Images in a data batch, a divisor of their number unless they are shuffled [default: 60 or the largest divisor below, with hopping
    /// 256]
    #[arg(long, visible_alias = "images", value_name = "N", value_parser = values::size, help_heading = "Data")]
    pub batch_data: Option<usize>,
    /// Takes the images in a new random order each epoch [default: in the order of the file, with hopping shuffled]
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Data")]
    pub shuffle: Option<bool>,

    /// Number of particles N [default: 100, with hopping 256, with --preset best 2048]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Dynamics")]
    pub particles: Option<usize>,
    /// Particles evaluated in a step, a divisor of N; `off` for all [default: 10, with hopping off]
    #[arg(long, value_name = "N", value_parser = values::size_or_off, help_heading = "Dynamics")]
    pub batch_particles: Option<Switch<usize>>,
    /// Which particles move in a step: full (all) or partial (those evaluated) [default: full]
    #[arg(long, value_name = "WHICH", value_parser = values::update, help_heading = "Dynamics")]
    pub update: Option<Update>,
    /// Drift towards the consensus point [default: 1]
    #[arg(long, value_name = "LAMBDA", value_parser = values::number, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub lambda: Option<f64>,
    /// Diffusion over time
    #[arg(long, value_name = "SIGMA", value_parser = values::sigma, allow_hyphen_values = true, help = SIGMA, help_heading = "Dynamics")]
    pub sigma: Option<Sigma>,
    /// Weight parameter over time
    #[arg(long, value_name = "ALPHA", value_parser = values::alpha, allow_hyphen_values = true, help = ALPHA, help_heading = "Dynamics")]
    pub alpha: Option<Alpha>,
    /// Time step [default: 0.1]
    #[arg(long, value_name = "DT", value_parser = values::number, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub dt: Option<f64>,
    /// Kind of noise: anisotropic or isotropic [default: anisotropic]
    #[arg(long, value_name = "KIND", value_parser = values::diffusion, help_heading = "Dynamics")]
    pub diffusion: Option<Diffusion>,
    /// Time discretisation: euler-maruyama or drift-first [default: euler-maruyama]
    #[arg(long, value_name = "SCHEME", value_parser = values::scheme, help_heading = "Dynamics")]
    pub scheme: Option<Scheme>,
    /// Where particles start: normal:MEAN,VARIANCE or uniform:LOW,HIGH [default: normal:0,1, with hopping normal:0,0.09]
    #[arg(long, value_name = "LAW", value_parser = values::init, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub init: Option<InitSpec>,
    /// Kicks the swarm by plain noise when the consensus point moved less than this; `off` for never [default: 1e-5,
    /// with hopping off]
    #[arg(long, value_name = "TOLERANCE|off", value_parser = values::number_or_off, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub kick: Option<Switch<f64>>,
    /// Shrinks the swarm with its variance, once an epoch: on, off or STRENGTH,LEAST [default: off]
    #[arg(long, value_name = "HOW", value_parser = values::reduction, help_heading = "Dynamics")]
    pub reduction: Option<Switch<Reduction>>,

    /// Seed of everything random
    #[arg(long, value_name = "SEED", value_parser = values::count, default_value_t = 0, help_heading = "Computation")]
    pub seed: u64,
    /// Threads; 0 for one per core. Results do not depend on it
    #[arg(long, value_name = "COUNT", value_parser = values::size, default_value_t = 0, help_heading = "Computation")]
    pub threads: usize,
    /// How a run on several ranks is spread: `static`, each holds, moves and evaluates its own particles, or `dynamic`, the first holds them,
    /// and networks are evaluated by ranks as they become free [default: static where a step has four blocks or more of 64 particles for
    /// each rank, else dynamic]
    #[arg(long, value_name = "SCHEDULE", help_heading = "Computation")]
    pub schedule: Option<Schedule>,
    /// Where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, with the same bits [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Computation")]
    pub device: Option<DeviceSpec>,

    /// Writes the model, the curve, the result and pictures to this folder, and during the run what cbo resume needs
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Seconds between two checkpoints; 0 for every step
    #[arg(long, value_name = "SECONDS", value_parser = values::number, allow_hyphen_values = true, default_value_t = 30.0,
          help_heading = "Output")]
    pub checkpoint_every: f64,
    /// Replaces the run in the folder of --out, which is set aside
    #[arg(long, help_heading = "Output")]
    pub force: bool,
    /// One JSON object on stdout, and nothing else there
    #[arg(long, help_heading = "Output")]
    pub json: bool,
    /// No progress bar, no notes
    #[arg(long, help_heading = "Output")]
    pub quiet: bool,
}

/// Settings with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum PresetName {
    /// The paper's.
    #[default]
    Paper,
    /// The most accurate LeNet-1, by consensus hopping.
    Best,
}

impl PresetName {
    /// As the flag has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Best => "best",
        }
    }
}
