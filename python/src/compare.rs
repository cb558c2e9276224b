//! Comparisons: runs of methods on built-in problems, baselines on functions in Python, and the statistics of all of them.

use crate::called::Called;
use crate::errors;
use crate::many;
use crate::problem::Problem;
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use cbo::{CboConfig, InitialLaw, Objective};
use cbo_lab::baselines::{self, Baseline, BaselineError, Task};
use cbo_lab::compare::{self, Comparison, Contestant, Entry, Goal, Improvement, Judged, Measured, Targets, Trial};
use cbo_lab::success::Judge;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;

fn wrong(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// The methods of a list in their own words, each with whether it is a baseline.
#[pyfunction]
pub fn compare_methods(text: &str) -> PyResult<Vec<(String, bool)>> {
    let methods = Contestant::list(text).map_err(wrong)?;
    Ok(methods.iter().map(|method| (method.to_string(), matches!(method, Contestant::Baseline(_)))).collect())
}

/// The names of all methods.
#[pyfunction]
pub fn compare_names() -> Vec<&'static str> {
    Contestant::names().collect()
}

/// The first `count` initial points of runs with this seed in a box, one per row.
#[pyfunction]
pub fn compare_cloud<'py>(
    py: Python<'py>,
    bounds: PyReadonlyArray2<'py, f64>,
    seed: u64,
    count: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let bounds = pairs(&bounds);
    let config = CboConfig { init: InitialLaw::uniform(&bounds), seed, ..CboConfig::default() };
    let points = compare::cloud::<f64>(&config, bounds.len(), count).map_err(|e| errors::of_run(&e))?;
    PyArray1::from_vec(py, points).reshape([count, bounds.len()])
}

fn pairs(bounds: &PyReadonlyArray2<'_, f64>) -> Vec<(f64, f64)> {
    bounds.as_array().rows().into_iter().map(|pair| (pair[0], pair[1])).collect()
}

/// The height of a typical initial point of a problem above its minimum.
#[pyfunction]
pub fn compare_scale(problem: &Problem, settings: &Bound<'_, PyDict>) -> PyResult<f64> {
    let (config, _) = settings::read(settings)?;
    Ok(Targets::of(&problem.inner, &config).scale)
}

/// One run of a method on each of the problems, with the seeds `seed`, `seed + 1`, ..., spread over the threads.
#[pyfunction]
pub fn compare_trials<'py>(
    py: Python<'py>,
    problems: Vec<PyRef<'py, Problem>>,
    method: &str,
    settings: &Bound<'py, PyDict>,
    judge: &str,
) -> PyResult<Bound<'py, PyList>> {
    let contestant: Contestant = method.parse().map_err(wrong)?;
    let judge: Judge = judge.parse().map_err(|e| wrong(format!("judge = {judge:?}: {e}")))?;
    let (config, precision) = settings::read(settings)?;
    let config = CboConfig { method: contestant.method(), ..config };
    let problems: Vec<cbo_problems::Problem> = problems.iter().map(|problem| problem.inner.clone()).collect();
    let raised = Raised::of(settings)?;
    let trials = match precision {
        Precision::F32 => all::<f32>(py, &problems, &contestant, &config, judge, &raised)?,
        Precision::F64 => all::<f64>(py, &problems, &contestant, &config, judge, &raised)?,
    };
    let dicts = trials.iter().map(|trial| told(py, trial)).collect::<PyResult<Vec<_>>>()?;
    PyList::new(py, dicts)
}

/// A run as a dictionary.
fn told<'py>(py: Python<'py>, trial: &Trial) -> PyResult<Bound<'py, PyDict>> {
    let run = trial.judged();
    let dict = PyDict::new(py);
    dict.set_item("seed", run.seed)?;
    dict.set_item("value", run.value)?;
    dict.set_item("distance", run.distance)?;
    dict.set_item("evaluations", run.evaluations)?;
    dict.set_item("at_its_end", run.at_its_end)?;
    dict.set_item("finished", run.finished)?;
    let history: Vec<f64> = run.improvements.iter().flat_map(|i| [i.evaluation as f64, i.value, i.distance]).collect();
    dict.set_item("history", PyArray1::from_vec(py, history).reshape([run.improvements.len(), 3])?)?;
    Ok(dict)
}

fn all<T: Number>(
    py: Python<'_>,
    problems: &[cbo_problems::Problem],
    contestant: &Contestant,
    config: &CboConfig,
    judge: Judge,
    raised: &Raised,
) -> PyResult<Vec<Trial>>
where
    cbo_problems::Problem: Objective<T>,
{
    many::runs(py, config.threads, problems.len(), raised, |run, brake| {
        let config = CboConfig { seed: config.seed.wrapping_add(run as u64), ..config.clone() };
        compare::trial::<T>(contestant, &config, &problems[run], judge, &|| brake.soon.load(Relaxed))
    })
}

/// Minimises a function in Python by a baseline. Who wants to know what it found looks at the function's calls.
#[pyfunction]
pub fn compare_baseline<'py>(
    method: &str,
    fun: Bound<'py, PyAny>,
    bounds: PyReadonlyArray2<'py, f64>,
    start: PyReadonlyArray2<'py, f64>,
    evaluations: u64,
    seed: u64,
) -> PyResult<()> {
    let baseline: Baseline = method.parse().map_err(wrong)?;
    let (bounds, start) = (pairs(&bounds), start.as_array().iter().copied().collect::<Vec<_>>());
    let called = Called::new(fun, None, bounds.len());
    let task = Task { bounds: &bounds, start: &start, evaluations, target: None, seed };
    match baselines::minimize(&baseline, &called, &task) {
        Ok(_) => Ok(()),
        Err(BaselineError::Evaluation(error)) => {
            Err(called.into_raised().unwrap_or_else(|| PyRuntimeError::new_err(error.to_string())))
        }
        Err(error) => Err(wrong(error)),
    }
}

/// The statistics of runs: `methods` are names with their runs, as dictionaries like those of [`compare_trials`].
#[pyfunction]
#[pyo3(signature = (methods, *, tolerance, by_distance, minimum, scale, budget))]
pub fn compare_summary<'py>(
    py: Python<'py>,
    methods: Vec<(String, Vec<Bound<'py, PyDict>>)>,
    tolerance: f64,
    by_distance: bool,
    minimum: f64,
    scale: f64,
    budget: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let goal = if by_distance { Goal::Distance { tolerance } } else { Goal::Height { tolerance, minimum } };
    let targets = Targets::new(minimum, scale);
    let mut entries = Vec::new();
    for (name, runs) in methods {
        let runs = runs.iter().map(|run| measured(run, &goal, &targets)).collect::<PyResult<_>>()?;
        entries.push(Entry { name, runs });
    }
    let comparison = Comparison::of(&entries, &targets, budget);
    let dict = PyDict::new(py);
    dict.set_item("heights", PyArray1::from_vec(py, targets.heights.clone()))?;
    dict.set_item("ranking", comparison.ranking())?;
    let rows = comparison.rows.iter().map(|row| row_of(py, row)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("rows", rows)?;
    let pairs = comparison.pairs.iter().map(|pair| pair_of(py, pair, &entries)).collect::<PyResult<Vec<_>>>()?;
    dict.set_item("tests", pairs)?;
    let mut curves = Vec::new();
    for curve in &comparison.curves {
        let numbers = curve.iter().flat_map(|p| [p.evaluations as f64, p.reached, p.low, p.high]).collect();
        curves.push(PyArray1::from_vec(py, numbers).reshape([curve.len(), 4])?);
    }
    dict.set_item("curves", curves)?;
    let outcomes: Vec<Vec<(bool, Option<u64>)>> =
        entries.iter().map(|entry| entry.runs.iter().map(|run| (run.success, run.success_at)).collect()).collect();
    dict.set_item("outcomes", outcomes)?;
    Ok(dict)
}

fn measured(run: &Bound<'_, PyDict>, goal: &Goal, targets: &Targets) -> PyResult<Measured> {
    let item = |key: &str| run.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("a run without {key}")));
    let history = item("history")?;
    let history = history.extract::<PyReadonlyArray2<'_, f64>>()?;
    let improvement = |row: numpy::ndarray::ArrayView1<'_, f64>| Improvement {
        evaluation: row[0] as u64,
        value: row[1],
        distance: row[2],
    };
    let improvements: Vec<Improvement> = history.as_array().rows().into_iter().map(improvement).collect();
    let run = Judged {
        seed: item("seed")?.extract()?,
        value: item("value")?.extract()?,
        distance: item("distance")?.extract()?,
        evaluations: item("evaluations")?.extract()?,
        improvements: &improvements,
        at_its_end: item("at_its_end")?.extract()?,
        finished: item("finished")?.extract()?,
    };
    Ok(Measured::of(&run, goal, targets))
}

fn row_of<'py>(py: Python<'py>, row: &compare::Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("method", &row.name)?;
    dict.set_item("runs", row.rate.runs)?;
    dict.set_item("successes", row.rate.successes)?;
    dict.set_item("rate", row.rate.rate)?;
    dict.set_item("low", row.rate.low)?;
    dict.set_item("high", row.rate.high)?;
    dict.set_item("median_evaluations", row.median_evaluations)?;
    dict.set_item("expected_evaluations", row.expected_evaluations)?;
    dict.set_item("median_value", row.median_value)?;
    dict.set_item("targets_reached", row.targets)?;
    dict.set_item("better_than", row.better_than)?;
    dict.set_item("worse_than", row.worse_than)?;
    dict.set_item("failed_runs", row.failed)?;
    Ok(dict)
}

fn pair_of<'py>(py: Python<'py>, pair: &compare::Pair, entries: &[Entry]) -> PyResult<Bound<'py, PyDict>> {
    let (first, second) = (&entries[pair.first].name, &entries[pair.second].name);
    let lower = match pair.lower {
        Ordering::Less => Some(first),
        Ordering::Equal => None,
        Ordering::Greater => Some(second),
    };
    let dict = PyDict::new(py);
    dict.set_item("first", first)?;
    dict.set_item("second", second)?;
    dict.set_item("lower", lower)?;
    dict.set_item("value_p", pair.value_p)?;
    dict.set_item("only_first", pair.only.0)?;
    dict.set_item("only_second", pair.only.1)?;
    dict.set_item("success_p", pair.success_p)?;
    Ok(dict)
}
