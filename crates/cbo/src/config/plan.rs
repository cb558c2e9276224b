//! `Plan`: a configuration that was checked.

use super::{CboConfig, ConfigError, refuse};
use crate::objective::StepContext;
use std::sync::Arc;

/// A checked configuration for a given dimension: the proof that it makes sense. Only [`CboConfig::check`] makes one, and a copy costs
/// nothing.
#[derive(Clone, Debug)]
pub struct Plan(Arc<Checked>);

#[derive(Debug)]
struct Checked {
    config: CboConfig,
    dim: usize,
    /// Steps allowed, from `steps` or `time`.
    last_step: Option<u64>,
    /// The steps after which the run ends at the latest, if that can be told beforehand.
    horizon: Option<u64>,
    /// Whether the length of the run is left to the engine.
    open_ended: bool,
    /// Steps in an epoch.
    epoch_steps: u64,
}

impl Plan {
    pub(super) fn new(
        config: CboConfig,
        dim: usize,
        last_step: Option<u64>,
        horizon: Option<u64>,
        open_ended: bool,
    ) -> Self {
        let batch = batch_size(&config);
        let epoch_steps = config.epoch_steps.unwrap_or((config.particles / batch) as u64);
        Self(Arc::new(Checked { config, dim, last_step, horizon, open_ended, epoch_steps }))
    }

    /// The configuration that was checked.
    pub fn config(&self) -> &CboConfig {
        &self.0.config
    }

    /// The dimension that it was checked for.
    pub fn dim(&self) -> usize {
        self.0.dim
    }

    /// The last step that the run may take, if steps or time limit it.
    pub fn last_step(&self) -> Option<u64> {
        self.0.last_step
    }

    /// The steps after which the run ends at the latest, as its limits of steps, time and evaluations say: the length over which settings
    /// fall that fall over the run.
    pub fn horizon(&self) -> Option<u64> {
        self.0.horizon
    }

    /// Particles evaluated in a step; for [`auto`](crate::Method::Auto) the points that a round should have at least.
    pub fn batch_size(&self) -> usize {
        batch_size(self.config())
    }

    /// Steps in an epoch.
    pub(crate) fn epoch_steps(&self) -> u64 {
        self.0.epoch_steps
    }

    /// Whether neither steps nor time, evaluations or seconds limit the run.
    #[doc(hidden)]
    pub fn is_open_ended(&self) -> bool {
        self.0.open_ended
    }

    /// Where in the run the evaluations of a step take place. Where all particles are evaluated, each step is a round.
    pub(crate) fn context(&self, step: u64, round_of_batches: Option<u64>) -> StepContext {
        StepContext { step, epoch: step / self.epoch_steps(), data_batch: round_of_batches.unwrap_or(step) }
    }
}

/// See [`Plan::batch_size`].
fn batch_size(config: &CboConfig) -> usize {
    let all = if config.method.is_auto() { 1 } else { config.particles };
    config.batch.unwrap_or(all)
}

/// Settings from which a run can begin: a [`Plan`], or a [`CboConfig`], which is checked first.
pub trait Settings {
    /// The plan for an objective in `dim` dimensions.
    fn plan(&self, dim: usize) -> Result<Plan, ConfigError>;
}

impl Settings for CboConfig {
    fn plan(&self, dim: usize) -> Result<Plan, ConfigError> {
        self.check(dim)
    }
}

impl Settings for Plan {
    fn plan(&self, dim: usize) -> Result<Plan, ConfigError> {
        if dim == self.dim() {
            return Ok(self.clone());
        }
        refuse("dim", self.dim(), format!("the objective has {dim} coordinates"))
    }
}

impl<S: Settings + ?Sized> Settings for &S {
    fn plan(&self, dim: usize) -> Result<Plan, ConfigError> {
        (**self).plan(dim)
    }
}
