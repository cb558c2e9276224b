//! Many runs of a built-in problem, spread over the threads.

use crate::builtin::Braked;
use crate::many;
use crate::problem::Problem;
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use cbo::{CboConfig, Objective};
use cbo_lab::success::{Judge, Outcome, Rate, outcome};
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::Ordering::Relaxed;

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
    let raised = Raised::of(settings)?;
    let outcomes = match precision {
        Precision::F32 => all::<f32>(py, &problem.inner, config, runs, judge, &raised)?,
        Precision::F64 => all::<f64>(py, &problem.inner, config, runs, judge, &raised)?,
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
    raised: &Raised,
) -> PyResult<Vec<Outcome>>
where
    cbo_problems::Problem: Objective<T>,
{
    many::runs(py, config.threads, runs, raised, |run, brake| {
        let config = CboConfig { threads: 1, seed: config.seed.wrapping_add(run as u64), ..config.clone() };
        let stop = || brake.soon.load(Relaxed);
        // A run that could not continue is an outcome; a wrong setting is an error.
        outcome(&config, problem, &Braked { problem, brake }, judge, &stop)
    })
}

/// The ends of the 95 % Wilson interval of a rate.
#[pyfunction]
pub fn wilson(successes: u64, runs: u64) -> (f64, f64) {
    let rate = Rate::of(successes, runs);
    (rate.low, rate.high)
}
