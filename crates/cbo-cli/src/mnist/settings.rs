//! The settings of a training run: from flags, as text that the flags read back, and compared with those of a checkpoint.

use super::args::{PresetName, TrainArgs};
use super::data::Data;
use super::report::network_name;
use crate::device::DeviceSpec;
use crate::error::CliError;
use crate::text;
use crate::values::{InitSpec, Switch};
use cbo::{CboConfig, HoppingWeights, Method, TextError};
use cbo_lab::training::{Preset, Settings};
use cbo_problems::nn::{CrossEntropy, Network};
use cbo_runs::checkpoint::Summary;
use std::path::Path;

/// Settings that may change while a run pauses: they decide when it ends or how fast it is, not where it goes. Where the images are
/// does not matter either, as long as they are the same.
const FREE: [&str; 6] = ["epochs", "iterations", "threads", "device", "checkpoint-every", "data"];

/// What the checksum of the images is called among the files of a checkpoint.
pub const IMAGES: &str = "data";

/// The settings that hold where no flag says otherwise: those of the preset, or those with which the method trains well.
pub fn usual(args: &TrainArgs, network: Network) -> Result<Settings, CliError> {
    let preset = match args.preset {
        PresetName::Paper => Preset::Paper,
        PresetName::Best => Preset::Best,
    };
    let Some(text) = args.method.as_deref().map(str::trim) else { return Ok(preset.settings(network)) };
    let refused = |error: TextError| CliError::setting("method", text, error);
    let (name, changes) = text.split_once(':').unwrap_or((text, ""));
    if name != "hopping" {
        let method: Method = text.parse().map_err(refused)?;
        if preset == Preset::Best {
            return Err(CliError::setting("method", text, "the preset best is one of hopping; leave it out"));
        }
        let settings = preset.settings(network);
        return Ok(Settings { config: CboConfig { method, ..settings.config }, ..settings });
    }
    let mut settings = if preset == Preset::Best { Settings::best(network) } else { Settings::hopping(network) };
    if let Method::Hopping(usual) = settings.config.method {
        let hopping = usual.with(changes).map_err(refused)?;
        settings.config.method = Method::Hopping(hopping);
        // Ranks know no alpha.
        if hopping.weights == HoppingWeights::Ranks {
            settings.config.alpha = CboConfig::of(settings.config.method).alpha;
        }
    }
    Ok(settings)
}

/// The usual settings, with what was given over them.
pub fn from_args(args: &TrainArgs, network: Network, data: &Data) -> Result<Settings, CliError> {
    let mut settings = usual(args, network)?;
    if let Some(epochs) = args.epochs {
        (settings.epochs, settings.iterations) = (epochs, None);
    }
    settings.iterations = args.iterations.or(settings.iterations);
    for (flag, given) in [("epochs", args.epochs), ("iterations", args.iterations)] {
        if given == Some(0) {
            return Err(CliError::setting(flag, 0, "must be at least 1"));
        }
    }
    settings.shuffle = args.shuffle.unwrap_or(settings.shuffle);
    settings.batch_data = args
        .batch_data
        .unwrap_or_else(|| CrossEntropy::fitting_size(&data.images.train, settings.batch_data, settings.shuffle));
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

/// The settings of the dynamics as text, by their flags.
pub fn described(settings: &Settings) -> [(&'static str, String); 8] {
    let config = &settings.config;
    [
        ("update", config.update.to_string()),
        ("diffusion", config.diffusion.to_string()),
        ("scheme", config.scheme.to_string()),
        ("sigma", config.sigma.to_string()),
        ("alpha", config.alpha.to_string()),
        ("init", text::init(&config.init, "")),
        ("kick", text::optional(config.kick, text::number)),
        ("reduction", text::optional(config.reduction, |r| r.to_string())),
    ]
}

/// The method with all its settings, because in training others hold where none is named.
pub fn method_text(method: Method) -> String {
    match method {
        Method::Hopping(hopping) => format!("{}:{}", method.name(), hopping.written_out()),
        other => other.to_string(),
    }
}

/// Every setting of a run, as its flag would read it.
pub fn entries(args: &TrainArgs, settings: &Settings, data: &Data) -> Vec<(&'static str, String)> {
    let config = &settings.config;
    let mut entries = vec![
        ("network", network_name(&settings.network)),
        ("preset", args.preset.name().into()),
        ("method", method_text(settings.config.method)),
        match settings.iterations {
            Some(iterations) => ("iterations", iterations.to_string()),
            None => ("epochs", settings.epochs.to_string()),
        },
        ("data", data.source.place()),
        ("dataset", args.dataset.name().into()),
        ("batch-data", settings.batch_data.to_string()),
        ("shuffle", settings.shuffle.to_string()),
        ("particles", config.particles.to_string()),
        ("batch-particles", text::optional(config.batch, |n| n.to_string())),
        ("lambda", text::number(config.lambda)),
        ("dt", text::number(config.dt)),
    ];
    entries.extend(described(settings));
    entries.extend([
        ("seed", config.seed.to_string()),
        ("threads", config.threads.to_string()),
        ("checkpoint-every", text::number(args.checkpoint_every)),
    ]);
    let device = args.device.filter(|device| *device != DeviceSpec::Cpu);
    entries.extend(device.map(|device| ("device", device.to_string())));
    entries
}

/// Refuses a run that is no longer the one of the checkpoint, and names every difference.
pub fn check_same(file: &Path, saved: &Summary, now: &Summary) -> Result<(), CliError> {
    let mut differences = Vec::new();
    for (key, value) in now.settings.iter().filter(|(key, _)| !FREE.contains(&key.as_str())) {
        match saved.settings.get(key) {
            Some(before) if before == value => {}
            // There was no other.
            None if key == "method" && value == "cbo" => {}
            before => {
                let before = before.map_or("not known", String::as_str);
                differences.push(format!("{key} = {value} (it was {before})"));
            }
        }
    }
    if saved.files.get(IMAGES) != now.files.get(IMAGES) {
        let [before, value] = [saved, now].map(|s| s.files.get(IMAGES).map_or("not known", String::as_str));
        let place = now.settings.get("data").map_or("", String::as_str);
        differences.push(format!("data = {place} holds other images (SHA-256 {value}, it was {before})"));
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "this is not the run that was cut off: {}; put it back (settings are in {}), or resume anyway with --force",
        differences.join(", "),
        file.display()
    )))
}
