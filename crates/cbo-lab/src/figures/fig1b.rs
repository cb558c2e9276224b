//! Figure 1b: V(t)/V(0) of isotropic and anisotropic CBO on Rastrigin's function in several dimensions, once with the real
//! consensus point and once with the consensus frozen at the minimiser, where the expectation is known exactly.

use super::{FigureError, experiment};
use crate::frozen::{Chain, Start};
use crate::setting;
use crate::statistics::slope;
use cbo::device::{Device, solve_on};
use cbo::{Alpha, CboConfig, Diffusion, Objective, Scalar, Scheme, Sigma, StepReport, solve};
use cbo_problems::Problem;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;

/// `experiments/fig1b.toml`.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// What is run.
    pub parameters: Parameters,
    /// The expected numbers.
    pub expected: Expected,
}

/// What is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// Numbers of coordinates.
    pub dims: Vec<usize>,
    /// Number of particles.
    pub particles: usize,
    /// Number of particles of a quick look.
    pub quick_particles: usize,
    /// lambda.
    pub lambda: f64,
    /// sigma.
    pub sigma: f64,
    /// alpha.
    pub alpha: f64,
    /// The time step.
    pub dt: f64,
    /// The time horizon.
    pub time: f64,
    /// Steps between two kept values of V.
    pub every: u64,
}

/// The expected numbers, for frozen consensus unless said otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Expected {
    /// Rates in continuous time.
    pub continuous: Rates,
    /// Euler-Maruyama.
    pub euler_maruyama: Rates,
    /// Drift-first.
    pub drift_first: Rates,
    /// Relative standard deviations of V at the end, in per cent.
    pub deviation: PerDim,
    /// Rates of one run with the real consensus point.
    pub real: PerDim,
}

/// Rates, and V at the end over V at the start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rates {
    /// In every dimension.
    pub anisotropic: f64,
    /// In each of the dimensions.
    pub isotropic: Vec<f64>,
    /// V(T)/V(0), in every dimension.
    pub anisotropic_end: Option<f64>,
    /// V(T)/V(0), in each of the dimensions.
    pub isotropic_end: Option<Vec<f64>>,
}

/// A number for each of the dimensions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PerDim {
    /// Anisotropic noise.
    pub anisotropic: Vec<f64>,
    /// Isotropic noise.
    pub isotropic: Vec<f64>,
}

/// One of the curves, measured beside expected.
#[derive(Clone, Debug, Serialize)]
pub struct Curve {
    /// Kind of noise: `anisotropic` or `isotropic`.
    pub diffusion: &'static str,
    /// Number of coordinates.
    pub dim: usize,
    /// Decay rate of V by regression of log V over time, with the real consensus point.
    pub rate: f64,
    /// The same with the consensus point frozen at the minimiser.
    pub rate_frozen: f64,
    /// The exact rate of the expectation for this scheme and step, consensus frozen.
    pub rate_discrete: f64,
    /// The rate in continuous time, `2 lambda - k sigma^2`.
    pub rate_continuous: f64,
    /// The standard error of `rate_frozen`, exact to leading order in 1/N.
    pub standard_error: f64,
    /// `(rate_frozen - rate_discrete) / standard_error`.
    pub z_frozen: f64,
    /// V(T)/V(0) with the real consensus point.
    pub v_end_ratio: f64,
    /// V(T)/V(0) with the frozen one.
    pub v_end_ratio_frozen: f64,
    /// Its expectation.
    pub v_end_ratio_discrete: f64,
    /// The times of the curve.
    #[serde(skip)]
    pub times: Vec<f64>,
    /// V with the real consensus point.
    #[serde(skip)]
    pub v: Vec<f64>,
    /// V with the frozen one.
    #[serde(skip)]
    pub v_frozen: Vec<f64>,
}

/// The name of a kind of noise.
pub fn name(diffusion: Diffusion) -> &'static str {
    match diffusion {
        Diffusion::Anisotropic => "anisotropic",
        Diffusion::Isotropic => "isotropic",
    }
}

/// The experiment as the paper has it.
pub fn load() -> Result<Experiment, FigureError> {
    experiment("fig1b", include_str!("../../experiments/fig1b.toml"))
}

/// Runs all curves, anisotropic ones first, by the processor or on a device. `progress` is told the fraction that is done and may end it.
pub fn curves<T: Scalar>(
    parameters: &Parameters,
    scheme: Scheme,
    seed: u64,
    device: Option<&dyn Device<T>>,
    progress: &mut (dyn FnMut(f64) -> ControlFlow<()> + Send),
) -> Result<Vec<Curve>, FigureError>
where
    Problem: Objective<T>,
{
    let kinds = [Diffusion::Anisotropic, Diffusion::Isotropic];
    let runs: Vec<_> = kinds.iter().flat_map(|kind| parameters.dims.iter().map(|dim| (*kind, *dim))).collect();
    let total: usize = runs.iter().map(|(_, dim)| 2 * dim).sum();
    let mut done = 0;
    let mut curves = Vec::new();
    for (diffusion, dim) in runs {
        let (rastrigin, sphere) = (Problem::named("rastrigin", dim)?, Problem::named("sphere", dim)?);
        let config = config(parameters, diffusion, scheme, dim, seed);
        let mut v_of = |config: &CboConfig, problem: &Problem| {
            let mut part = |share: f64| progress((done as f64 + share * dim as f64) / total as f64);
            let v = record(config, problem, parameters.every, device, &mut part);
            done += dim;
            v
        };
        let v = v_of(&config, &rastrigin)?;
        // For a frozen run the objective does not matter.
        let v_frozen = v_of(&CboConfig { freeze: Some(vec![0.0; dim]), ..config.clone() }, &sphere)?;
        curves.push(curve(&config, dim, v, v_frozen));
    }
    Ok(curves)
}

fn config(parameters: &Parameters, diffusion: Diffusion, scheme: Scheme, dim: usize, seed: u64) -> CboConfig {
    let Parameters { particles, lambda, dt, time, .. } = *parameters;
    CboConfig {
        particles,
        lambda,
        sigma: Sigma::Constant(parameters.sigma),
        alpha: Alpha::Constant(parameters.alpha),
        dt,
        time: Some(time),
        diffusion,
        scheme,
        seed,
        ..setting::config(dim)
    }
}

/// Steps and V at every `every`th of them, and at the last.
fn record<T: Scalar>(
    config: &CboConfig,
    problem: &Problem,
    every: u64,
    device: Option<&dyn Device<T>>,
    progress: &mut (dyn FnMut(f64) -> ControlFlow<()> + Send),
) -> Result<Vec<(u64, f64)>, FigureError>
where
    Problem: Objective<T>,
{
    let plan = config.check(Objective::<T>::dim(problem)).map_err(cbo::SolveError::from)?;
    let last = plan.last_step().unwrap_or(1);
    let mut kept = Vec::new();
    let mut stopped = false;
    let mut observer = |step: &StepReport<'_, T>| {
        let number = step.step();
        if number.is_multiple_of(every) || number == last {
            // V about the origin, where the minimiser is.
            kept.push((number, 0.5 * step.mean_of_squares()));
        }
        let wish = progress(number as f64 / last as f64);
        stopped = wish.is_break();
        wish
    };
    match device {
        None => solve(plan, problem, &mut observer)?,
        Some(device) => solve_on(device, plan, problem, &mut observer)?,
    };
    if stopped {
        return Err(FigureError::Interrupted);
    }
    // The end counts for itself, too: published numbers were fitted so.
    if last.is_multiple_of(every) {
        kept.extend(kept.last().copied());
    }
    Ok(kept)
}

fn curve(config: &CboConfig, dim: usize, v: Vec<(u64, f64)>, v_frozen: Vec<(u64, f64)>) -> Curve {
    let CboConfig { lambda, dt, diffusion, scheme, .. } = *config;
    let chain = Chain { lambda, sigma: config.sigma.largest(), dt, diffusion, scheme, dim };
    let steps: Vec<u64> = v.iter().map(|(n, _)| *n).collect();
    let times: Vec<f64> = steps.iter().map(|n| *n as f64 * dt).collect();
    let rate = |v: &[(u64, f64)]| -slope(&times, &v.iter().map(|(_, v)| v.ln()).collect::<Vec<_>>());
    let end = |v: &[(u64, f64)]| v.last().map_or(f64::NAN, |last| last.1 / v[0].1);
    let standard_error = Start::of(&config.init, &vec![0.0; dim])
        .map_or(f64::NAN, |start| chain.rate_standard_error(&start, &steps, config.particles));
    let rate_frozen = rate(&v_frozen);
    Curve {
        diffusion: name(diffusion),
        dim,
        rate: rate(&v),
        rate_frozen,
        rate_discrete: chain.rate(),
        rate_continuous: chain.rate_continuous(),
        standard_error,
        z_frozen: (rate_frozen - chain.rate()) / standard_error,
        v_end_ratio: end(&v),
        v_end_ratio_frozen: end(&v_frozen),
        v_end_ratio_discrete: chain.growth().powf(steps.last().map_or(0.0, |n| *n as f64)),
        times,
        v: v.into_iter().map(|(_, v)| v).collect(),
        v_frozen: v_frozen.into_iter().map(|(_, v)| v).collect(),
    }
}
