//! One run of one method.

use super::contestant::Contestant;
use super::recorder::{Improvement, Recorder, Rounded};
use crate::baselines::{self, Baseline, BaselineError, Task};
use crate::success::{Judge, Outcome, outcome};
use cbo::device::Made;
use cbo::{AskTell, CboConfig, ConfigError, Evaluated, InitialLaw, Method, Objective, Scalar, SolveError, StopReason};
use cbo_problems::Problem;

/// Points of the start that baselines are given: as many as the largest of them begins with.
const POINTS: usize = 100;

/// One run, with its history.
#[derive(Debug)]
#[non_exhaustive]
pub struct Trial {
    /// How it ended.
    pub outcome: Outcome,
    /// How its best value improved.
    pub improvements: Vec<Improvement>,
    /// Whether it was judged by what it had at its very end, and not by its best point.
    pub at_its_end: bool,
}

impl Trial {
    /// Of one of many runs that were made at once by the engine's method `cbo`.
    pub(crate) fn of<T: Scalar>(config: &CboConfig, problem: &Problem, made: Made<T>, judge: Judge) -> Self {
        let improvement = |(evaluation, point): &(u64, Evaluated<T>)| {
            let x: Vec<f64> = point.x.iter().map(|v| v.to_f64()).collect();
            Improvement { evaluation: *evaluation, value: point.value, distance: problem.distance_to_minimiser(&x) }
        };
        let improvements = made.improvements.iter().map(improvement).collect();
        // Of a run that could not go on, the engine counts nothing.
        let outcome = Outcome { evaluations: made.evaluations, ..Outcome::of(config, problem, made.end, judge) };
        Self { outcome, improvements, at_its_end: judge == Judge::Consensus }
    }

    /// The run as it is judged.
    pub fn judged(&self) -> Judged<'_> {
        Judged {
            seed: self.outcome.seed,
            value: self.outcome.value,
            distance: self.outcome.distance,
            evaluations: self.outcome.evaluations,
            improvements: &self.improvements,
            at_its_end: self.at_its_end,
            finished: self.outcome.end.is_ok(),
        }
    }
}

/// A run as it is judged, whoever made it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// Its seed.
    pub seed: u64,
    /// The value of the point by which it is judged; infinite if the run could not continue.
    pub value: f64,
    /// Distance of that point to the nearest minimiser, in the maximum norm; NaN where none is known.
    pub distance: f64,
    /// Evaluations spent.
    pub evaluations: u64,
    /// How its best value improved.
    pub improvements: &'a [Improvement],
    /// Whether it is judged by what it had at its very end, and not by its best point.
    pub at_its_end: bool,
    /// Whether it ended as it should.
    pub finished: bool,
}

/// The evaluations of a run whose settings do not limit them: 10 000 for each coordinate.
pub fn most_evaluations(dim: usize) -> u64 {
    10_000u64.saturating_mul(dim as u64)
}

/// The first `count` initial points of runs with these settings, one after the other: those of a swarm of the engine. They are a function
/// of the initial law and the seed alone; points of a file may be fewer.
pub fn cloud<T: Scalar>(config: &CboConfig, dim: usize, count: usize) -> Result<Vec<f64>, SolveError> {
    if let InitialLaw::Points(points) = &config.init {
        return Ok(points.iter().copied().take(count * dim).collect());
    }
    let start = CboConfig {
        init: config.init.clone(),
        bounds: config.bounds.clone(),
        bound_handling: config.bound_handling,
        particles: count,
        seed: config.seed,
        threads: 1,
        ..CboConfig::default()
    };
    let mut swarm = AskTell::<T>::new(&start, dim)?;
    Ok(swarm.ask().as_slice().iter().map(|x| x.to_f64()).collect())
}

/// One run on `problem` with the settings of `config`, which are the same for all methods but for the method itself. `None` if
/// `interrupted` ended it. A run that could not continue is an outcome; a setting with which none can begin is an error.
///
/// A baseline takes from the settings the box (the domain of the problem, if there is none), the initial points, the limit of
/// evaluations, the target and the seed.
pub fn trial<T: Scalar>(
    contestant: &Contestant,
    config: &CboConfig,
    problem: &Problem,
    judge: Judge,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Trial>, SolveError>
where
    Problem: Objective<T>,
{
    let config = Contestant::limited(config, problem.dim());
    let at_its_end = judge == Judge::Consensus && contestant.has_consensus();
    let (outcome, improvements) = match contestant {
        Contestant::Engine(method) => {
            let recorder = Recorder::new(problem, problem, interrupted);
            let config = CboConfig { method: *method, ..config };
            let Some(outcome) = outcome::<T>(&config, problem, &recorder, judge, interrupted)? else { return Ok(None) };
            let (evaluations, improvements) = recorder.into_log();
            // Of a run that could not go on, the engine counts nothing.
            (Outcome { evaluations, ..outcome }, improvements)
        }
        Contestant::Baseline(baseline) => {
            let recorder = Recorder::new(Rounded::<T>::new(problem), problem, interrupted);
            let start = cloud::<T>(&config, problem.dim(), POINTS)?;
            let Some(outcome) = of_baseline(baseline, &config, problem, &recorder, &start)? else { return Ok(None) };
            (outcome, recorder.into_log().1)
        }
    };
    Ok(Some(Trial { outcome, improvements, at_its_end }))
}

fn of_baseline(
    baseline: &Baseline,
    config: &CboConfig,
    problem: &Problem,
    objective: &dyn Objective<f64>,
    start: &[f64],
) -> Result<Option<Outcome>, SolveError> {
    let task = Task {
        bounds: config.bounds.as_deref().unwrap_or(problem.domain()),
        start,
        evaluations: config.max_evaluations.unwrap_or(most_evaluations(problem.dim())),
        target: config.target,
        seed: config.seed,
    };
    let found = match baselines::minimize(baseline, objective, &task) {
        Ok(found) => found,
        // The problem itself never fails: the run was interrupted.
        Err(BaselineError::Evaluation(_)) => return Ok(None),
        Err(BaselineError::Task { field: "bounds", value, remedy }) => {
            return Err(ConfigError { field: "bounds", value, remedy }.into());
        }
        Err(error) => {
            let (value, remedy) = (baseline.to_string(), error.to_string());
            return Err(ConfigError { field: "method", value, remedy }.into());
        }
    };
    let (evaluated, failed, infeasible) = (found.evaluations, found.failed, found.infeasible);
    let (value, distance, end) = match &found.best {
        Some(best) if task.target.is_some_and(|target| best.value <= target) => {
            (best.value, problem.distance_to_minimiser(&best.x), Ok(StopReason::Target))
        }
        Some(best) => (best.value, problem.distance_to_minimiser(&best.x), Ok(StopReason::Evaluations)),
        None => {
            let nothing = SolveError::NoFiniteEnergy { step: 0, evaluated, failed, infeasible };
            (f64::INFINITY, f64::INFINITY, Err(nothing))
        }
    };
    Ok(Some(Outcome {
        seed: config.seed,
        value,
        distance,
        gap: value - problem.minimum(),
        // Baselines know no constraints, and functions with them are not compared.
        violation: 0.0,
        evaluations: evaluated,
        steps: 0,
        end,
    }))
}

/// The method that stands for the settings of baselines: a swarm, whose initial points they take.
impl Contestant {
    /// The settings of a run, its evaluations limited and its threads one.
    pub(crate) fn limited(config: &CboConfig, dim: usize) -> CboConfig {
        let limit = config.max_evaluations.unwrap_or(most_evaluations(dim));
        CboConfig { max_evaluations: Some(limit), threads: 1, ..config.clone() }
    }

    /// The method of the settings that it needs.
    pub fn method(&self) -> Method {
        match self {
            Self::Engine(method) => *method,
            Self::Baseline(_) => Method::Cbo,
        }
    }
}
