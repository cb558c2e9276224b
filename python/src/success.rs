//! Many runs of a built-in problem, spread over the threads.

use crate::builtin::{Brake, Braked};
use crate::errors;
use crate::problem::Problem;
use crate::settings::{self, Number, Precision};
use cbo::{CboConfig, EvalError, Objective, SolveError};
use cbo_lab::success::{Judge, Outcome, Rate, outcome};
use numpy::PyArray1;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// Runs with the seeds `seed`, `seed + 1`, ...: their values, distances to a minimiser, evaluations and steps.
#[pyfunction]
pub fn success_runs<'py>(
    py: Python<'py>,
    problem: &Problem,
    settings: &Bound<'py, PyDict>,
    runs: usize,
    judge: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, precision) = settings::plan(settings, problem.inner.dim())?;
    let config = plan.config();
    let judge: Judge = judge.parse().map_err(|e| PyValueError::new_err(format!("judge = {judge:?}: {e}")))?;
    let outcomes = match precision {
        Precision::F32 => all::<f32>(py, &problem.inner, config, runs, judge)?,
        Precision::F64 => all::<f64>(py, &problem.inner, config, runs, judge)?,
    };
    let dict = PyDict::new(py);
    dict.set_item("fun", PyArray1::from_iter(py, outcomes.iter().map(|o| o.value)))?;
    dict.set_item("distance", PyArray1::from_iter(py, outcomes.iter().map(|o| o.distance)))?;
    dict.set_item("violation", PyArray1::from_iter(py, outcomes.iter().map(|o| o.violation)))?;
    dict.set_item("nfev", PyArray1::from_iter(py, outcomes.iter().map(|o| o.evaluations as i64)))?;
    dict.set_item("nit", PyArray1::from_iter(py, outcomes.iter().map(|o| o.steps as i64)))?;
    Ok(dict)
}

fn all<T: Number>(
    py: Python<'_>,
    problem: &cbo_problems::Problem,
    config: &CboConfig,
    runs: usize,
    judge: Judge,
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
            let one = |run: usize| one::<T>(problem, config, run as u64, judge, brake);
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
    judge: Judge,
    brake: &Brake,
) -> Result<Outcome, SolveError>
where
    cbo_problems::Problem: Objective<T>,
{
    let interrupted = || SolveError::Evaluation { step: 0, source: EvalError::new("interrupted") };
    if brake.soon.load(Relaxed) {
        return Err(interrupted());
    }
    let config = CboConfig { threads: 1, seed: config.seed.wrapping_add(run), ..config.clone() };
    let stop = || brake.soon.load(Relaxed);
    outcome(&config, problem, &Braked { problem, brake }, judge, &stop)?.ok_or_else(interrupted)
}

/// The ends of the 95 % Wilson interval of a rate.
#[pyfunction]
pub fn wilson(successes: u64, runs: u64) -> (f64, f64) {
    let rate = Rate::of(successes, runs);
    (rate.low, rate.high)
}
