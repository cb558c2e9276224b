//! The canyon: ripples on the walls and the floor of a curved canyon, and the path of the consensus point through it.
//!
//! The consensus point follows the canyon, not the ripples: it behaves like gradient descent on an envelope of the energy that nobody
//! computed. Gradient descent on the energy itself stays in the first ripple. See Riedl, Klock, Geldhauser and Fornasier, *Gradient is all
//! you need?* (arXiv:2306.09778).

use super::{Experiment, Session};
use crate::figures::{FigureError, experiment};
use cbo::{Alpha, CboConfig, Coordinates, InitialLaw, Sigma, StepReport, solve};
use cbo_problems::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// What all runs have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The mean of the initial law.
    pub start: [f64; 2],
    /// Its variance.
    pub variance: f64,
    /// The number of particles.
    pub particles: usize,
    /// Steps.
    pub steps: u64,
    /// The time step.
    pub dt: f64,
    /// sigma.
    pub sigma: f64,
    /// alpha.
    pub alpha: f64,
}

/// How many runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Runs.
    pub runs: u64,
}

/// Points one after the other.
pub type Path = Vec<[f64; 2]>;

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Paths {
    /// What all runs have.
    pub parameters: Parameters,
    /// The consensus point of each run, step by step.
    pub consensus: Vec<Path>,
    /// Gradient descent from the start, with a step as long as the ripples allow.
    pub descent: Path,
    /// The distance of each run's last consensus point from the minimiser.
    pub distances: Vec<f64>,
    /// That of gradient descent.
    pub descent_distance: f64,
}

/// The experiment.
pub fn load() -> Result<Experiment<Parameters, Size>, FigureError> {
    experiment("canyon", include_str!("../../experiments/canyon.toml"))
}

/// The function.
pub fn problem() -> Result<Problem, FigureError> {
    Ok(Problem::named("canyon", 2)?)
}

/// Runs the experiment.
pub fn run(session: &Session<'_>) -> Result<Paths, FigureError> {
    let Experiment { parameters, full, quick } = load()?;
    let Size { runs } = if session.quick { quick } else { full };
    let problem = problem()?;
    let done = AtomicU64::new(0);
    let one = |number: usize| {
        if !(session.watch)(done.fetch_add(1, Ordering::Relaxed) as f64 / runs as f64) {
            return Err(FigureError::Interrupted);
        }
        path(&parameters, &problem, session.seed.wrapping_add(number as u64))
    };
    let consensus = (0..runs as usize).into_par_iter().with_max_len(1).map(one).collect::<Result<Vec<Path>, _>>()?;
    let distance = |path: &Path| path.last().map_or(f64::INFINITY, |end| problem.distance_to_minimiser(end));
    let descent = descend(&problem, parameters.start);
    Ok(Paths {
        distances: consensus.iter().map(distance).collect(),
        descent_distance: distance(&descent),
        consensus,
        descent,
        parameters,
    })
}

/// The consensus point of one run, step by step.
fn path(parameters: &Parameters, problem: &Problem, seed: u64) -> Result<Path, FigureError> {
    let config = CboConfig {
        particles: parameters.particles,
        sigma: Sigma::Constant(parameters.sigma),
        alpha: Alpha::Constant(parameters.alpha),
        dt: parameters.dt,
        steps: Some(parameters.steps),
        init: InitialLaw::Normal {
            mean: Coordinates::Each(parameters.start.to_vec()),
            variance: Coordinates::All(parameters.variance),
        },
        threads: 1,
        seed,
        ..CboConfig::default()
    };
    let mut path = Path::new();
    solve::<f64>(config, problem, &mut |step: &StepReport<'_, f64>| {
        path.push([step.consensus()[0], step.consensus()[1]]);
        ControlFlow::Continue(())
    })?;
    Ok(path)
}

/// Gradient descent whose step is halved until it goes down: it takes every slope as it is.
fn descend(problem: &Problem, start: [f64; 2]) -> Path {
    let (mut x, mut path) = (start, vec![start]);
    for _ in 0..500 {
        let mut slope = [0.0; 2];
        let here = problem.gradient(&x, &mut slope);
        let at = |step: f64| [x[0] - step * slope[0], x[1] - step * slope[1]];
        let lower = (0..60).map(|k| 0.1 * 0.5f64.powi(k)).map(at).find(|next| problem.value(next) < here);
        let Some(next) = lower else { break };
        path.push(next);
        x = next;
    }
    path
}

impl Paths {
    /// One line per run and step; gradient descent is run -1.
    pub fn csv(&self) -> String {
        let mut lines = String::from("run,step,x,y\n");
        let descent = std::iter::once((-1, &self.descent));
        for (run, path) in descent.chain((0..).zip(&self.consensus)) {
            for (step, [x, y]) in path.iter().enumerate() {
                lines += &format!("{run},{step},{x},{y}\n");
            }
        }
        lines
    }
}
