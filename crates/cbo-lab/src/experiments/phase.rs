//! The phase transition: success over the strength of the noise and the number of particles.
//!
//! Few particles fail; from a certain number of particles on, which is the smaller the stronger the noise, nearly every run succeeds. See
//! Riedl, *Leveraging memory effects and gradient information in consensus-based optimization*
//! (doi:10.1017/S0956792523000293).

use super::{Axis, Experiment, Grid, Range, Session, finds, short_run};
use crate::figures::{FigureError, experiment};
use cbo::device::{Fleet, Processor};
use cbo::{Alpha, CboConfig, Objective, Scalar, Sigma, SolveError};
use cbo_problems::Problem;
use serde::{Deserialize, Serialize};

/// What all runs have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The function.
    pub function: String,
    /// Its dimension.
    pub dim: usize,
    /// The time T.
    pub time: f64,
    /// The time step.
    pub dt: f64,
    /// alpha.
    pub alpha: f64,
    /// The mean of the initial law in each coordinate.
    pub mean: f64,
    /// Its variance.
    pub variance: f64,
    /// The distance below which a run is a success.
    pub tolerance: f64,
}

/// The cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Size {
    /// sigma^2.
    pub sigma_squared: Range,
    /// Numbers of particles.
    pub particles: Range,
    /// Runs in each cell.
    pub runs: u64,
}

/// What is asked for instead of the size of the experiment; where nothing is, that stays.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// sigma^2.
    pub sigma_squared: Option<Range>,
    /// Numbers of particles, rounded to whole ones.
    pub particles: Option<Range>,
    /// Runs in each cell.
    pub runs: Option<u64>,
}

/// The experiment as its authors have it.
pub fn load() -> Result<Experiment<Parameters, Size>, FigureError> {
    experiment("phase", include_str!("../../experiments/phase.toml"))
}

impl Parameters {
    /// The settings of one run.
    pub fn config(&self, sigma_squared: f64, particles: f64, seed: u64) -> CboConfig {
        CboConfig {
            particles: particles as usize,
            sigma: Sigma::Constant(sigma_squared.sqrt()),
            alpha: Alpha::Constant(self.alpha),
            dt: self.dt,
            time: Some(self.time),
            seed,
            ..short_run(self.mean, self.variance)
        }
    }

    /// Whether one run succeeds.
    pub fn succeeds<T: Scalar>(&self, problem: &Problem, config: &CboConfig) -> Result<bool, SolveError>
    where
        Problem: Objective<T>,
    {
        finds::<T>(config, problem, self.tolerance)
    }
}

/// Runs the experiment in the precision T, on all cores or by whoever makes many runs at once.
pub fn run<T: Scalar>(session: &Session<'_>, wanted: Wanted, fleet: Option<&dyn Fleet<T>>) -> Result<Grid, FigureError>
where
    Problem: Objective<T>,
{
    let Experiment { parameters, full, quick } = load()?;
    let size = if session.quick { quick } else { full };
    let (sigma_squared, particles) =
        (wanted.sigma_squared.unwrap_or(size.sigma_squared), wanted.particles.unwrap_or(size.particles));
    let problem = Problem::named(&parameters.function, parameters.dim)?;
    let axes = (
        Axis { name: "sigma_squared", values: sigma_squared.values() },
        Axis { name: "particles", values: particles.values().into_iter().map(f64::round).collect() },
    );
    let runs = wanted.runs.unwrap_or(size.runs);
    let config = |sigma, particles, seed| parameters.config(sigma, particles, seed);
    // Those with the most particles are the hardest to place.
    let largest = config(0.0, axes.1.values.iter().copied().fold(1.0, f64::max), 0)
        .check(parameters.dim)
        .map_err(SolveError::from)?;
    let alike = axes.0.values.len().saturating_mul(runs as usize);
    let abreast = Processor::suits::<T>(&largest, &problem) && Processor::pays::<T>(alike);
    if let Some(fleet) = fleet.or(abreast.then_some(&Processor)) {
        return Grid::measure_at_once(axes, runs, session, fleet, (problem, parameters.tolerance), config);
    }
    Grid::measure(axes, runs, session, |sigma_squared, particles, seed| {
        parameters.succeeds::<T>(&problem, &config(sigma_squared, particles, seed))
    })
}
