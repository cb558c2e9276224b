//! The landscape of an energy: all its minimisers, found by one swarm whose particles have consensus points of their own.
//!
//! See Bungert, Roith and Wacker, *Polarized consensus-based dynamics for optimization and sampling* (arXiv:2211.05238).

use super::{COLLAPSED, Experiment, Session};
use crate::figures::{FigureError, experiment};
use cbo::{Alpha, CboConfig, InitialLaw, Method, Minimiser, Polarised, solve};
use cbo_problems::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU64, Ordering};

/// What all runs have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The function.
    pub function: String,
    /// The number of particles.
    pub particles: usize,
    /// The time at the end.
    pub time: f64,
    /// The time step.
    pub dt: f64,
    /// How near a minimiser must be to count as found, in the maximum norm.
    pub tolerance: f64,
    /// The choices of alpha that are compared.
    pub alphas: Vec<String>,
}

/// How many runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Runs.
    pub runs: u64,
}

/// A point that a run returned as a minimiser.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The run.
    pub run: u64,
    /// Where it is.
    pub x: Vec<f64>,
    /// Its value.
    pub value: f64,
    /// The fraction of the swarm that belongs to it.
    pub fraction: f64,
}

/// What swarms with one choice of alpha found.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The choice.
    pub alpha: String,
    /// All points that were returned.
    pub found: Vec<Found>,
    /// For each minimiser of the function, how many runs found it.
    pub runs_that_found: Vec<u64>,
    /// Runs that found all.
    pub found_all: u64,
    /// Returned points that are near no minimiser of the function.
    pub elsewhere: u64,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Landscape {
    /// What all runs have.
    pub parameters: Parameters,
    /// The minimisers that the function has.
    pub minimisers: Vec<Vec<f64>>,
    /// What was found of them.
    pub outcomes: Vec<Outcome>,
    /// Runs for each choice.
    pub runs: u64,
}

/// The experiment.
pub fn load() -> Result<Experiment<Parameters, Size>, FigureError> {
    experiment("landscape", include_str!("../../experiments/landscape.toml"))
}

/// Runs the experiment.
pub fn run(session: &Session<'_>) -> Result<Landscape, FigureError> {
    let Experiment { parameters, full, quick } = load()?;
    let Size { runs } = if session.quick { quick } else { full };
    let problem = parameters.problem()?;
    let (done, all) = (AtomicU64::new(0), runs * parameters.alphas.len() as u64);
    let outcome = |alpha: &String| {
        let one = |number: usize| {
            let number = number as u64;
            if !(session.watch)(done.fetch_add(1, Ordering::Relaxed) as f64 / all as f64) {
                return Err(FigureError::Interrupted);
            }
            let config = parameters.config(&problem, alpha, session.seed.wrapping_add(number))?;
            let found = solve::<f64>(config, &problem, &mut ())?;
            let point =
                |m: &Minimiser<f64>| Found { run: number, x: m.x.clone(), value: m.value, fraction: m.fraction };
            Ok(found.minimisers().iter().map(point).collect::<Vec<_>>())
        };
        let found =
            (0..runs as usize).into_par_iter().with_max_len(1).map(one).collect::<Result<Vec<_>, FigureError>>()?;
        Ok(judge(alpha, problem.minimisers(), &found, parameters.tolerance))
    };
    let outcomes = parameters.alphas.iter().map(outcome).collect::<Result<Vec<_>, FigureError>>()?;
    Ok(Landscape { minimisers: problem.minimisers().to_vec(), outcomes, runs, parameters })
}

impl Parameters {
    /// The function, in two dimensions.
    pub fn problem(&self) -> Result<Problem, FigureError> {
        Ok(Problem::named(&self.function, 2)?)
    }

    fn config(&self, problem: &Problem, alpha: &str, seed: u64) -> Result<CboConfig, FigureError> {
        let alpha: Alpha = alpha.parse().map_err(|remedy| {
            cbo::SolveError::from(cbo::ConfigError { field: "alpha", value: alpha.into(), remedy: format!("{remedy}") })
        })?;
        Ok(CboConfig {
            particles: self.particles,
            alpha,
            dt: self.dt,
            time: Some(self.time),
            init: InitialLaw::uniform(problem.domain()),
            // Much later, the last digits of equal minima would decide between them.
            diameter: Some(COLLAPSED),
            threads: 1,
            seed,
            ..CboConfig::of(Method::Polarised(Polarised::default()))
        })
    }
}

/// Counts which minimisers were found; `found` has the points of each run.
fn judge(alpha: &str, minimisers: &[Vec<f64>], found: &[Vec<Found>], tolerance: f64) -> Outcome {
    let is_near = |point: &Found, x: &[f64]| point.x.iter().zip(x).all(|(a, b)| (a - b).abs() < tolerance);
    let has = |points: &[Found], x: &[f64]| points.iter().any(|point| is_near(point, x));
    let runs_that_found =
        minimisers.iter().map(|x| found.iter().filter(|points| has(points, x)).count() as u64).collect();
    let complete = found.iter().filter(|points| minimisers.iter().all(|x| has(points, x))).count();
    let strays = found.iter().flatten().filter(|point| !minimisers.iter().any(|x| is_near(point, x)));
    Outcome {
        alpha: alpha.into(),
        runs_that_found,
        found_all: complete as u64,
        elsewhere: strays.count() as u64,
        found: found.concat(),
    }
}

impl Landscape {
    /// One line per point that was returned.
    pub fn csv(&self) -> String {
        let mut lines = String::from("alpha,run,x,y,value,fraction\n");
        for outcome in &self.outcomes {
            for Found { run, x, value, fraction } in &outcome.found {
                lines += &format!("{},{run},{},{},{value},{fraction}\n", outcome.alpha, x[0], x[1]);
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minimisers_are_counted_by_runs() {
        let point = |run, x: [f64; 2]| Found { run, x: x.to_vec(), value: 0.0, fraction: 0.5 };
        let minimisers = [vec![0.0, 0.0], vec![3.0, 1.0]];
        let found =
            [vec![point(0, [0.1, 0.0]), point(0, [-0.1, 0.0]), point(0, [3.0, 1.1])], vec![point(1, [2.0, 1.0])]];
        let outcome = judge("1", &minimisers, &found, 0.25);
        assert_eq!((outcome.runs_that_found, outcome.found_all, outcome.elsewhere), (vec![1, 1], 1, 1));
    }
}
