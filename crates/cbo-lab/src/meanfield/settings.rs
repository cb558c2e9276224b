//! The settings of a mean-field run, and what they must be like.

use super::grid::{MOST_NOISE, least_cells, most_noise};
use cbo::numbers::plain;
use cbo::{Alpha, CboConfig, ConfigError, Coordinates, InitialLaw, Sigma};

/// Fewer cells per coordinate than this resolve nothing.
pub const LEAST_CELLS: usize = 32;

/// Nobody waits for more steps than this.
pub const MOST_STEPS: f64 = 1e6;

/// The squares of larger numbers may leave the range of numbers.
const LARGEST: f64 = 1e100;

/// Standard deviations from 0 beyond which the positions of a law differ only in their last digits.
const FARTHEST_ORIGIN: f64 = 1e10;

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
            return refuse(
                "dim",
                dim.to_string(),
                "the grid has 1 or 2 dimensions; particles have no such limit".into(),
            );
        }
        let most = most_cells(dim);
        if !(LEAST_CELLS..=most).contains(&self.cells) {
            let each = if dim == 1 { "" } else { " in each coordinate" };
            return refuse("cells", self.cells.to_string(), format!("must lie between {LEAST_CELLS} and {most}{each}"));
        }
        if !(self.time > 0.0 && self.time.is_finite()) {
            return refuse("time", plain(self.time), "must be a positive finite number".into());
        }
        if let InitialLaw::Points(_) = self.init {
            let remedy = "the mean-field law starts from a density: normal:MEAN,VARIANCE or uniform:LOW,HIGH".into();
            return refuse("init", "points".into(), remedy);
        }
        self.check_sizes()?;
        // lambda, sigma, alpha, the initial law and the frozen point are checked with those of the particles.
        self.particles(1, 0).check(dim).map_err(|e| match e.value.parse::<f64>() {
            Ok(number) => ConfigError { value: plain(number), ..e },
            Err(_) => e,
        })?;
        let most = self.time.min(0.5 / self.lambda);
        if self.dt > most {
            let remedy = format!("must be at most {}: the time and 1 / (2 lambda) limit it", plain(most));
            return refuse("dt", plain(self.dt), remedy);
        }
        if self.time / self.dt > MOST_STEPS {
            let least = self.time / MOST_STEPS;
            return refuse("dt", plain(self.dt), format!("must be at least {least:e}: 1e6 steps until the time"));
        }
        self.check_noise(dim)?;
        if let InitialLaw::Normal { variance, .. } = &self.init
            && let Some(k) = (0..dim).find(|&k| variance.get(k) == 0.0)
        {
            let remedy = format!("the variance of coordinate {} must be positive, for a density", k + 1);
            return refuse("init", "normal with variance 0".into(), remedy);
        }
        for (mean, deviation) in (0..dim).map(|k| mean_and_deviation(&self.init, k)) {
            if mean.abs() > FARTHEST_ORIGIN * deviation {
                let remedy = format!(
                    "its mean must be at most {FARTHEST_ORIGIN:e} standard deviations from 0, or rounding hides its shape"
                );
                return refuse("init", format!("a law about {}", plain(mean)), remedy);
            }
        }
        Ok(())
    }

    /// Checks that the squares of the initial law's and the frozen point's numbers are in range.
    fn check_sizes(&self) -> Result<(), ConfigError> {
        let refuse = |field, value: f64, remedy: String| Err(ConfigError { field, value: plain(value), remedy });
        let (first, second) = match &self.init {
            InitialLaw::Normal { mean, variance } => (values(mean), values(variance)),
            InitialLaw::Uniform { low, high } => (values(low), values(high)),
            InitialLaw::Points(_) => (&[][..], &[][..]),
        };
        if let Some(value) = first.iter().chain(second).find(|v| v.abs() > LARGEST) {
            return refuse("init", *value, format!("numbers of the law must be at most {LARGEST:e} in size"));
        }
        let tiny = |v: &&f64| **v > 0.0 && **v < 1.0 / LARGEST;
        if let (InitialLaw::Normal { .. }, Some(value)) = (&self.init, second.iter().find(tiny)) {
            return refuse("init", *value, format!("a variance must be at least {:e}", 1.0 / LARGEST));
        }
        match self.freeze.iter().flatten().find(|v| v.abs() > LARGEST) {
            Some(value) => refuse("freeze", *value, format!("a coordinate must be at most {LARGEST:e} in size")),
            None => Ok(()),
        }
    }

    /// Checks that the law spreads over no more decades than the cells resolve.
    fn check_noise(&self, dim: usize) -> Result<(), ConfigError> {
        let (noise, most) = (self.sigma * self.sigma * self.time, most_noise(self.cells));
        if noise <= most {
            return Ok(());
        }
        let (limit, time) = ((most / self.time).sqrt(), plain(self.time));
        let wanted = least_cells(noise);
        let more = if noise <= MOST_NOISE && wanted <= most_cells(dim) {
            format!("; {wanted} cells resolve it")
        } else {
            String::new()
        };
        let remedy = format!(
            "must be at most {limit:.3} until time {time} with {} cells, for sigma^2 T at most {most:.2}: beyond that, the law spans \
             more decades than they resolve{more}",
            self.cells
        );
        Err(ConfigError { field: "sigma", value: plain(self.sigma), remedy })
    }
}

fn values(coordinates: &Coordinates) -> &[f64] {
    match coordinates {
        Coordinates::All(value) => std::slice::from_ref(value),
        Coordinates::Each(values) => values,
    }
}

/// Mean and standard deviation of coordinate `k` of a law that [`Settings::check`] accepted.
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
