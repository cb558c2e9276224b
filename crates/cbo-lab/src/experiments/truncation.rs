//! Truncated noise: success over the strength of isotropic noise and the length at which it is cut.
//!
//! Particles start far away and spread wide. Without a limit, noise in proportion to the distance throws them further; cut at a length of
//! about the basins, they come back and still cross the ripples. See Fornasier, Richtarik, Riedl and Sun, *Consensus-based optimization
//! with truncated noise* (doi:10.1017/S095679252400007X).

use super::{Axis, Experiment, Grid, Range, Session, finds, short_run};
use crate::figures::{FigureError, experiment};
use cbo::device::Fleet;
use cbo::{Alpha, CboConfig, Diffusion, Sigma};
use cbo_problems::Problem;
use serde::{Deserialize, Serialize};

/// What all runs have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The function.
    pub function: String,
    /// Its dimension.
    pub dim: usize,
    /// The number of particles.
    pub particles: usize,
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
    /// sigma.
    pub sigma: Range,
    /// The binary logarithms of the lengths M; noise without a limit comes after them.
    pub log2_length: Range,
    /// Runs in each cell.
    pub runs: u64,
}

/// The experiment as its authors have it.
pub fn load() -> Result<Experiment<Parameters, Size>, FigureError> {
    experiment("truncation", include_str!("../../experiments/truncation.toml"))
}

impl Parameters {
    /// The settings of one run.
    pub fn config(&self, sigma: f64, length: f64, seed: u64) -> CboConfig {
        CboConfig {
            particles: self.particles,
            sigma: Sigma::Constant(sigma),
            truncation: Some(length),
            diffusion: Diffusion::Isotropic,
            alpha: Alpha::Constant(self.alpha),
            dt: self.dt,
            time: Some(self.time),
            seed,
            ..short_run(self.mean, self.variance)
        }
    }
}

/// Runs the experiment, on all cores or by whoever makes many runs at once.
pub fn run(session: &Session<'_>, fleet: Option<&dyn Fleet<f64>>) -> Result<Grid, FigureError> {
    let Experiment { parameters, full, quick } = load()?;
    let Size { sigma, log2_length, runs } = if session.quick { quick } else { full };
    let problem = Problem::named(&parameters.function, parameters.dim)?;
    let lengths = log2_length.values().into_iter().map(f64::exp2).chain([f64::INFINITY]);
    let axes = (Axis { name: "sigma", values: sigma.values() }, Axis { name: "truncation", values: lengths.collect() });
    if let Some(fleet) = fleet {
        let (tolerance, config) = (parameters.tolerance, |sigma, m, seed| parameters.config(sigma, m, seed));
        return Grid::measure_at_once(axes, runs, session, fleet, (problem, tolerance), config);
    }
    Grid::measure(axes, runs, session, |sigma, length, seed| {
        finds::<f64>(&parameters.config(sigma, length, seed), &problem, parameters.tolerance)
    })
}
