//! `cbo mnist train`: a network trained by a swarm of particles, no gradient anywhere.

use super::data::{self, Data, DatasetName};
use super::report;
use crate::error::{CliError, print};
use crate::minimize::{eprintln_quietly, failure};
use crate::values::{self, InitSpec, Switch};
use crate::{files, interrupt, progress, text};
use cbo::{Alpha, Diffusion, Reduction, Scheme, Sigma, SolveError, Update};
use cbo_lab::training::{self, Preset, Progress, Settings, TrainingError};
use cbo_problems::nn::{CrossEntropy, Network, Shape};
use clap::Args;
use std::ops::ControlFlow;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo mnist train                                       # LeNet-1 on the images at hand, a few seconds on the built-in ones
  cbo mnist fetch && cbo mnist train --network lenet1 --epochs 30 --out lenet1
  cbo mnist train --network shallow --epochs 40 --out shallow
  cbo mnist train --preset best --out best              # more particles, fewer epochs
  cbo mnist train --network 'conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn' --json

A network is a list of layers: dense OUTPUTS, conv MAPSxKERNEL [shared], relu, pool SIZE, bn.
Ctrl-C ends the training and reports the network as it is.";

const SIGMA: &str = "Diffusion: a number, geometric:START,FACTOR[,CAP][,step|epoch] or log:START[,step|epoch] [default: \
                     log:0.6324555320336759,epoch]";

const ALPHA: &str = "Weight parameter: a number, inf, ess:ETA, geometric:START,FACTOR[,CAP][,step|epoch] or \
                     log:START[,step|epoch] [default: geometric:50,2,epoch, with preset best ess:0.3]";

/// Arguments of `cbo mnist train`. What is not given comes from the preset.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct TrainArgs {
    /// The network: shallow (7850 parameters), lenet1 (2112) or a list of layers
    #[arg(long, value_name = "NETWORK", default_value = "lenet1")]
    pub network: String,
    /// The settings that hold unless a flag says otherwise
    #[arg(long, value_name = "PRESET", value_enum, default_value_t)]
    pub preset: PresetName,
    /// Times that the training images are gone through [default: 30, with preset best 12]
    #[arg(long, value_name = "EPOCHS", value_parser = values::count)]
    pub epochs: Option<u64>,

    /// A folder with the four IDX files, plain or gzip [default: what cbo mnist fetch got, else the built-in subset]
    #[arg(long, value_name = "DIR", help_heading = "Data")]
    pub data: Option<PathBuf>,
    /// Which of the fetched data sets to use
    #[arg(long, value_name = "NAME", value_enum, default_value_t, help_heading = "Data")]
    pub dataset: DatasetName,
    /// Images in a data batch, a divisor of their number [default: 60, with preset
    /// best 300, or the largest divisor below]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Data")]
    pub batch_data: Option<usize>,
    /// Takes the images in a new random order each epoch [default: as they lie in the file]
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Data")]
    pub shuffle: Option<bool>,

    /// Number of particles N [default: 100, with preset best 400]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Dynamics")]
    pub particles: Option<usize>,
    /// Particles evaluated in a step, a divisor of N; `off` for all [default: 10]
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
    /// Where particles start: normal:MEAN,VARIANCE or uniform:LOW,HIGH [default: normal:0,1]
    #[arg(long, value_name = "LAW", value_parser = values::init, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub init: Option<InitSpec>,
    /// Kicks the swarm by plain noise when the consensus point moved less than this; `off` for never [default: 1e-5,
    /// with preset best 5e-3]
    #[arg(long, value_name = "TOLERANCE|off", value_parser = values::number_or_off, allow_hyphen_values = true, help_heading = "Dynamics")]
    pub kick: Option<Switch<f64>>,
    /// Shrinks the swarm with its variance, once an epoch: on, off or STRENGTH,LEAST [default: off]
    #[arg(long, value_name = "HOW", value_parser = values::reduction, help_heading = "Dynamics")]
    pub reduction: Option<Switch<Reduction>>,

    /// Seed of everything random
    #[arg(long, value_name = "SEED", value_parser = values::count, default_value_t = 0, help_heading = "Computation")]
    pub seed: u64,
    /// Threads; 0 for one a core. Results do not depend on it
    #[arg(long, value_name = "COUNT", value_parser = values::size, default_value_t = 0, help_heading = "Computation")]
    pub threads: usize,

    /// Writes the model, the curve, the result and pictures to this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
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
    /// The fewest epochs to a good LeNet-1.
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

/// Runs the command.
pub fn run(args: &TrainArgs) -> Result<(), CliError> {
    interrupt::listen();
    let network = Network::parse(&args.network, Shape::DIGIT).map_err(|e| CliError::Usage(e.to_string()))?;
    let data = data::load(args.data.as_deref(), args.dataset)?;
    let settings = settings(args, network, &data)?;
    if let Some(folder) = &args.out {
        files::check_folder(folder, "the folder of a training run", report::is_ours)?;
    }
    if let (Some(note), false) = (data.source.note(), args.quiet) {
        eprintln_quietly(&format!("note: {note}"));
    }
    let trained = training::train(&settings, &data.images, watch(!args.json && !args.quiet)).map_err(refused)?;
    let report = report::Report::new(args, &settings, &data, &trained);
    if let Some(folder) = &args.out {
        report.write(folder)?;
    }
    print(&if args.json { report.json() } else { report.text(args.out.as_deref()) })?;
    if trained.interrupted { Err(CliError::Interrupted) } else { Ok(()) }
}

/// Goes on with a training run.
pub fn resume(_args: &crate::resume::ResumeArgs, _resumed: crate::resume::Resumed) -> Result<(), CliError> {
    unimplemented!()
}

/// The preset, with what was given over it.
fn settings(args: &TrainArgs, network: Network, data: &Data) -> Result<Settings, CliError> {
    let preset = match args.preset {
        PresetName::Paper => Preset::Paper,
        PresetName::Best => Preset::Best,
    };
    let mut settings = preset.settings(network);
    settings.epochs = args.epochs.unwrap_or(settings.epochs);
    if settings.epochs == 0 {
        return Err(CliError::setting("epochs", 0, "must be at least 1"));
    }
    settings.shuffle = args.shuffle.unwrap_or(settings.shuffle);
    settings.batch_data =
        args.batch_data.unwrap_or_else(|| CrossEntropy::fitting_size(&data.images.train, settings.batch_data));
    let config = &mut settings.config;
    /// Sets fields from plain options and from switches.
    macro_rules! set {
        ($($field:ident),*; $($switch:ident),*) => {
            $(if let Some(value) = args.$field { config.$field = value; })*
            $(if let Some(Switch(value)) = args.$switch { config.$switch = value; })*
        };
    }
    set!(particles, update, lambda, sigma, alpha, dt, diffusion, scheme; kick, reduction);
    if let Some(Switch(batch)) = args.batch_particles {
        config.batch = batch;
    }
    match &args.init {
        Some(InitSpec::Law(law)) => config.init = law.clone(),
        Some(InitSpec::File(path)) => {
            let remedy = "training starts from a law, normal:MEAN,VARIANCE or uniform:LOW,HIGH";
            return Err(CliError::setting("init", format!("file:{}", path.display()), remedy));
        }
        None => {}
    }
    (config.seed, config.threads) = (args.seed, args.threads);
    Ok(settings)
}

/// A progress bar that also listens for Ctrl-C.
fn watch(wanted: bool) -> impl FnMut(Progress) -> ControlFlow<()> + Send {
    let bar = progress::bar(1000, wanted);
    let mut shown = 0.0;
    move |at: Progress| {
        if let Some(bar) = &bar
            && at.seconds - shown > 0.1
        {
            shown = at.seconds;
            let found = at.latest.map_or_else(String::new, |p| {
                format!("loss {:.4}, test accuracy {:.2} %, ", p.loss, 100.0 * p.test_accuracy)
            });
            let left = progress::duration(at.seconds * (1.0 - at.done) / at.done.max(1e-9));
            bar.set_position((1000.0 * at.done) as u64);
            bar.set_message(format!("epoch {:.1}, {found}{left} left", at.epoch));
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A run that could not be made, in the words of the flags.
fn refused(error: TrainingError) -> CliError {
    match error {
        TrainingError::Solve(SolveError::Config(error)) if error.field == "batch" => {
            CliError::setting("batch-particles", error.value, error.remedy)
        }
        TrainingError::Solve(error) => failure(&error),
        other => CliError::Usage(other.to_string()),
    }
}

/// The settings of a run as text, by their flags.
pub fn described(settings: &Settings) -> [(&'static str, String); 8] {
    let config = &settings.config;
    [
        ("update", text::update(config.update)),
        ("diffusion", text::diffusion(config.diffusion)),
        ("scheme", text::scheme(config.scheme)),
        ("sigma", text::sigma(&config.sigma)),
        ("alpha", text::alpha(&config.alpha)),
        ("init", text::init(&config.init, "")),
        ("kick", text::optional(config.kick, text::number)),
        ("reduction", text::optional(config.reduction, text::reduction)),
    ]
}
