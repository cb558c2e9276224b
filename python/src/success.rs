//! Many runs of a built-in problem, spread over the threads.

use crate::builtin::{Brake, Braked};
use crate::errors;
use crate::problem::Problem;
use crate::settings::{self, Number, Precision};
use cbo::{CboConfig, EvalError, Objective, SolveError, StepReport, solve};
use numpy::PyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// One run of many; without a value if it could not continue.
struct Outcome {
    value: f64,
    distance: f64,
    evaluations: u64,
    steps: u64,
}

/// Runs with the seeds `seed`, `seed + 1`, ...: their values, distances to a minimiser, evaluations and steps.
#[pyfunction]
pub fn success_runs<'py>(
    py: Python<'py>,
    problem: &Problem,
    settings: &Bound<'py, PyDict>,
    runs: usize,
) -> PyResult<Bound<'py, PyDict>> {
    let (config, precision) = settings::read(settings)?;
    config.check(problem.inner.dim()).map_err(|e| errors::of_run(&e.into()))?;
    let outcomes = match precision {
        Precision::F32 => all::<f32>(py, &problem.inner, &config, runs)?,
        Precision::F64 => all::<f64>(py, &problem.inner, &config, runs)?,
    };
    let dict = PyDict::new(py);
    dict.set_item("fun", PyArray1::from_iter(py, outcomes.iter().map(|o| o.value)))?;
    dict.set_item("distance", PyArray1::from_iter(py, outcomes.iter().map(|o| o.distance)))?;
    dict.set_item("nfev", PyArray1::from_iter(py, outcomes.iter().map(|o| o.evaluations as i64)))?;
    dict.set_item("nit", PyArray1::from_iter(py, outcomes.iter().map(|o| o.steps as i64)))?;
    Ok(dict)
}

fn all<T: Number>(
    py: Python<'_>,
    problem: &cbo_problems::Problem,
    config: &CboConfig,
    runs: usize,
) -> PyResult<Vec<Outcome>>
where
    cbo_problems::Problem: Objective<T>,
{
    let brake = Brake::default();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(config.threads)
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("threads = {}: {e}; use fewer", config.threads)))?;
    let (ended, mut end) = channel::<()>();
    let mut failure: Option<(PyErr, Instant)> = None;
    let outcome = std::thread::scope(|scope| {
        let (brake, pool) = (&brake, &pool);
        let worker = scope.spawn(move || {
            let one = |run: usize| one::<T>(problem, config, run as u64, brake);
            let outcomes =
                pool.install(|| (0..runs).into_par_iter().with_max_len(1).map(one).collect::<Result<_, _>>());
            drop(ended);
            outcomes
        });
        let mut wait = || {
            let end = &mut end;
            py.detach(move || end.recv_timeout(POLL))
        };
        while wait() == Err(RecvTimeoutError::Timeout) {
            if let Err(error) = py.check_signals() {
                failure = failure.take().or(Some((error, Instant::now())));
            }
            if let Some((_, since)) = &failure {
                brake.pull(*since);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some((error, _)) = failure {
        return Err(error);
    }
    match outcome {
        Ok(outcomes) => outcomes.map_err(|e: SolveError| errors::of_run(&e)),
        Err(_) => Err(PyRuntimeError::new_err("the engine failed; this is a bug in cbo, please report it")),
    }
}

/// One run. A run that could not continue is an outcome; a wrong setting is an error.
fn one<T: Number>(
    problem: &cbo_problems::Problem,
    config: &CboConfig,
    run: u64,
    brake: &Brake,
) -> Result<Outcome, SolveError>
where
    cbo_problems::Problem: Objective<T>,
{
    if brake.soon.load(Relaxed) {
        return Err(SolveError::Evaluation { step: 0, source: EvalError::new("interrupted") });
    }
    let config = CboConfig { threads: 1, seed: config.seed.wrapping_add(run), ..config.clone() };
    let mut watch = |_: &StepReport<'_, T>| {
        if brake.soon.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match solve(&config, &Braked { problem, brake }, &mut watch) {
        Ok(report) => {
            let best: Vec<f64> = report.best().x.iter().map(|v| v.to_f64()).collect();
            Ok(Outcome {
                value: report.best().value,
                distance: problem.distance_to_minimiser(&best),
                evaluations: report.evaluations(),
                steps: report.steps(),
            })
        }
        Err(SolveError::NoFiniteEnergy { .. } | SolveError::Strict { .. }) => {
            Ok(Outcome { value: f64::INFINITY, distance: f64::INFINITY, evaluations: 0, steps: 0 })
        }
        Err(error) => Err(error),
    }
}
