//! What a user may set, and which settings of the configuration have no meaning here.

use crate::config::{CboConfig, ConfigError};
use crate::initial::InitialLaw;
use crate::numbers::plain;

/// The settings of the method `auto`: there is next to nothing to set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Auto {
    /// Only polishes the start, the mean of a normal law or the middle of a box: there are no restarts elsewhere.
    pub local: bool,
}

impl Auto {
    /// Refuses the settings of the dynamics, which the solver chooses by itself, and starts that it cannot use.
    pub(crate) fn check(self, config: &CboConfig, dim: usize) -> Result<(), ConfigError> {
        let usual = CboConfig::default();
        let given = |field: &'static str, differs: bool, value: String| differs.then_some((field, value));
        let dynamics = [
            given("particles", config.particles != usual.particles, config.particles.to_string()),
            given("lambda", config.lambda != usual.lambda, plain(config.lambda)),
            given("sigma", config.sigma != usual.sigma, config.sigma.to_string()),
            given("alpha", config.alpha != usual.alpha, config.alpha.to_string()),
            given("dt", config.dt != usual.dt, plain(config.dt)),
            given("diffusion", config.diffusion != usual.diffusion, config.diffusion.to_string()),
            given("scheme", config.scheme != usual.scheme, config.scheme.to_string()),
            config.truncation.map(|length| ("truncation", plain(length))),
            given("update", config.update != usual.update, config.update.to_string()),
            config.kick.map(|kick| ("kick", plain(kick))),
            config.freeze.as_ref().map(|point| ("freeze", format!("{point:?}"))),
            config.epoch_steps.map(|steps| ("epoch_steps", steps.to_string())),
            config.reduction.map(|reduction| ("reduction", reduction.to_string())),
            config.steps.map(|steps| ("steps", steps.to_string())),
            config.time.map(|time| ("time", plain(time))),
            config.diameter.map(|diameter| ("diameter", plain(diameter))),
        ];
        if let Some((field, value)) = dynamics.into_iter().flatten().next() {
            let remedy = match field {
                "steps" | "time" | "diameter" => "limits a swarm; use max_evaluations with method auto, or method cbo",
                _ => "is a setting of method cbo; method auto needs none, so leave it out or use method cbo",
            };
            return Err(ConfigError { field, value, remedy: remedy.into() });
        }
        let refuse = |field, value: String, remedy: String| Err(ConfigError { field, value, remedy });
        if config.batch == Some(0) {
            return refuse("batch", "0".into(), "must be at least 1, the points of a round of evaluations".into());
        }
        match &config.init {
            InitialLaw::Points(points) if points.is_empty() || !points.len().is_multiple_of(dim) => {
                refuse("init", format!("{} numbers", points.len()), format!("points have {dim} coordinates each"))
            }
            InitialLaw::Uniform { low, high } => {
                match (0..dim).map(|k| (low.get(k), high.get(k))).find(|(l, h)| !(h - l).is_finite()) {
                    Some((l, h)) => refuse(
                        "init",
                        format!("uniform on [{l:e}, {h:e}]"),
                        "the box is wider than numbers reach".into(),
                    ),
                    None => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}
