//! The settings of a mean-field run, and what they must be like.

use cbo::{Alpha, CboConfig, ConfigError, InitialLaw, Sigma};

/// Fewer cells a coordinate than this resolve nothing.
pub const LEAST_CELLS: usize = 16;

/// More steps than this nobody waits for.
const MOST_STEPS: f64 = 1e6;

/// `sigma^2 T` above which the tails of the law span more decades than a grid can resolve.
const MOST_NOISE: f64 = 50.0;

/// The largest number of cells of each coordinate in `dim` dimensions.
pub fn most_cells(dim: usize) -> usize {
    if dim == 1 { 100_000 } else { 1000 }
}

/// What the frame follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Motion {
    /// The equation: exact exponentials, and a consensus point in the middle of the step.
    #[default]
    Continuous,
    /// The particles' Euler-Maruyama step of the same length, its mean and mean square exactly: the law that infinitely many
    /// particles would have, up to the higher moments of a step. Its distance to the continuous law is the part of the
    /// particles' distance that does not vanish with their number.
    EulerMaruyama,
}

/// A mean-field run.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Drift, lambda > 0.
    pub lambda: f64,
    /// Diffusion, sigma >= 0.
    pub sigma: f64,
    /// Weight parameter in (0, infinity].
    pub alpha: f64,
    /// Length of a step.
    pub dt: f64,
    /// The time horizon, rounded to whole steps.
    pub time: f64,
    /// Cells of each coordinate.
    pub cells: usize,
    /// The law at time 0: normal or uniform, with a density.
    pub init: InitialLaw,
    /// A consensus point that stays where it is.
    pub freeze: Option<Vec<f64>>,
    /// What the frame follows.
    pub motion: Motion,
}

impl Settings {
    /// Steps until the time horizon.
    pub fn steps(&self) -> u64 {
        (self.time / self.dt).round() as u64
    }

    /// The particles of the same setting.
    pub fn particles(&self, particles: usize, seed: u64) -> CboConfig {
        CboConfig {
            particles,
            lambda: self.lambda,
            sigma: Sigma::Constant(self.sigma),
            alpha: Alpha::Constant(self.alpha),
            dt: self.dt,
            init: self.init.clone(),
            freeze: self.freeze.clone(),
            steps: Some(self.steps()),
            seed,
            ..CboConfig::default()
        }
    }

    /// Says what is wrong in `dim` dimensions, if anything is.
    pub fn check(&self, dim: usize) -> Result<(), ConfigError> {
        let refuse = |field, value: String, remedy: String| Err(ConfigError { field, value, remedy });
        if !(1..=2).contains(&dim) {
            let cells = (self.cells as f64).powf(dim as f64);
            let remedy = format!(
                "the grid has 1 or 2 dimensions (in {dim} it would have {cells:.0e} cells); particles have no such limit"
            );
            return refuse("dim", dim.to_string(), remedy);
        }
        let most = most_cells(dim);
        if !(LEAST_CELLS..=most).contains(&self.cells) {
            let remedy = format!("must lie between {LEAST_CELLS} and {most} in each of {dim} coordinates");
            return refuse("cells", self.cells.to_string(), remedy);
        }
        if !(self.time > 0.0 && self.time.is_finite()) {
            return refuse("time", self.time.to_string(), "must be a positive finite number".into());
        }
        if let InitialLaw::Points(_) = self.init {
            let remedy = "the mean-field law starts from a density: normal:MEAN,VARIANCE or uniform:LOW,HIGH".into();
            return refuse("init", "points".into(), remedy);
        }
        // lambda, sigma, alpha, the initial law and the frozen point are checked where the particles' are.
        self.particles(1, 0).check(dim)?;
        let most = self.time.min(0.5 / self.lambda);
        if self.dt > most {
            let remedy = format!("must be at most {most}: the time and 1 / (2 lambda) limit it");
            return refuse("dt", self.dt.to_string(), remedy);
        }
        if self.time / self.dt > MOST_STEPS {
            let least = self.time / MOST_STEPS;
            return refuse("dt", self.dt.to_string(), format!("must be at least {least:e}: 1e6 steps until the time"));
        }
        let noise = self.sigma * self.sigma * self.time;
        if noise > MOST_NOISE {
            let most = (MOST_NOISE / self.time).sqrt();
            let remedy = format!(
                "at most {most:.4} until time {}: sigma^2 T must not exceed {MOST_NOISE}, or the tails of the law leave every grid",
                self.time
            );
            return refuse("sigma", self.sigma.to_string(), remedy);
        }
        if let InitialLaw::Normal { variance, .. } = &self.init
            && let Some(k) = (0..dim).find(|&k| variance.get(k) == 0.0)
        {
            let remedy = format!("the variance of coordinate {} must be positive, for a density", k + 1);
            return refuse("init", "normal with variance 0".into(), remedy);
        }
        Ok(())
    }
}

/// Mean and standard deviation of coordinate `k` of a law that [`Settings::check`] let pass.
pub(crate) fn mean_and_deviation(init: &InitialLaw, k: usize) -> (f64, f64) {
    match init {
        InitialLaw::Normal { mean, variance } => (mean.get(k), variance.get(k).sqrt()),
        InitialLaw::Uniform { low, high } => {
            let (low, high) = (low.get(k), high.get(k));
            (0.5 * (low + high), (high - low) / 12f64.sqrt())
        }
        InitialLaw::Points(_) => (0.0, 1.0),
    }
}
