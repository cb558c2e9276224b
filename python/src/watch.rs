//! What is remembered and reported of a run: dictionaries from which the package makes its results.

use crate::settings::Number;
use crate::view;
use cbo::{History, Minimiser, Observer, Phase, RunReport, StepReport, StopReason};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::ops::ControlFlow;

/// Steps that a history keeps at most.
const HISTORY: usize = 1024;

/// How many steps apart a history looks at a swarm of this many coordinates: measuring its spread is a pass over all of
/// them, which must not slow the run down.
fn spacing(coordinates: usize) -> u64 {
    match coordinates {
        0..=1000 => 1,
        1001..=16384 => 16,
        _ => 32,
    }
}

/// Dimensions up to which a history keeps the consensus point.
const POINTS_UP_TO: usize = 64;

/// The numbers of a step.
#[derive(Clone, Debug)]
pub struct Told {
    /// Steps taken.
    pub step: u64,
    /// Evaluations spent.
    pub evaluations: u64,
    failed: u64,
    infeasible: u64,
    time: f64,
    alpha: f64,
    sigma: f64,
    seconds: f64,
    /// The best value.
    pub best: f64,
    violation: f64,
    x: Vec<f64>,
    consensus: Vec<f64>,
    consensus_value: f64,
}

/// Watches a run.
#[derive(Clone, Debug)]
pub struct Watch {
    history: History,
    /// Set by the first step: a swarm that shrinks does not change it.
    spacing: Option<u64>,
    /// The last step.
    pub last: Told,
    /// The particles that the last step evaluated, if not all.
    evaluated: Vec<u32>,
    /// Whether points have to meet constraints.
    constrained: bool,
}

impl Watch {
    /// A watch for a run in `dim` dimensions, perhaps under constraints.
    pub fn new(dim: usize, constrained: bool) -> Self {
        let history = History::new(HISTORY);
        Self {
            history: if dim <= POINTS_UP_TO { history.with_points() } else { history },
            last: Told {
                step: 0,
                evaluations: 0,
                failed: 0,
                infeasible: 0,
                time: 0.0,
                alpha: f64::NAN,
                sigma: f64::NAN,
                seconds: 0.0,
                best: f64::INFINITY,
                violation: 0.0,
                x: vec![f64::NAN; dim],
                consensus: vec![f64::NAN; dim],
                consensus_value: f64::NAN,
            },
            evaluated: Vec::new(),
            constrained,
            spacing: None,
        }
    }

    /// The same for a run on a device, whose positions stay there: the history does not know the spread.
    pub fn there(self) -> Self {
        Self { history: self.history.without_spread(), ..self }
    }

    /// Takes over what the end of a run adds: the value of the consensus point, which may be the best, and what was finished of a
    /// step that was not `told` as a whole.
    pub fn finish<T: Number>(&mut self, report: &RunReport<T>, told: bool) {
        let last = &mut self.last;
        (last.best, last.consensus_value) = (report.best().value, report.consensus().value);
        last.violation = report.best().violation;
        (last.step, last.time, last.seconds) = (report.steps(), report.time(), report.seconds());
        (last.evaluations, last.failed, last.infeasible) =
            (report.evaluations(), report.failed_evaluations(), report.infeasible_evaluations());
        // A run that found nothing has no points either.
        if last.best < f64::INFINITY {
            copy(&report.best().x, &mut last.x);
            copy(&report.consensus().x, &mut last.consensus);
        }
        // Nor were alpha and sigma chosen in a first step that was not told.
        if told || last.step > 0 {
            (last.alpha, last.sigma) = (report.alpha(), report.sigma());
        }
    }

    /// The run as a dictionary; what only a report has, where there is one.
    pub fn result<'py, T: Number>(
        &self,
        py: Python<'py>,
        stop: &str,
        report: Option<RunReport<T>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (dict, dim) = (self.last.dict(py)?, self.last.x.len());
        dict.set_item("stop", stop)?;
        dict.set_item("constrained", self.constrained)?;
        dict.set_item("message", report.as_ref().map_or("", |report| report.message()))?;
        dict.set_item("phases", phases(py, report.as_ref().map_or(&[], |report| report.phases()))?)?;
        dict.set_item("explanation", report.as_ref().map_or(&[][..], |report| report.explanation()))?;
        dict.set_item("minimisers", minimisers(py, report.as_ref().map_or(&[], |report| report.minimisers()))?)?;
        let covariance = report.as_ref().and_then(|report| report.covariance());
        let square = covariance.map(|rows| PyArray1::from_slice(py, rows).reshape([dim, dim])).transpose()?;
        dict.set_item("hess_inv", square)?;
        if let Some((ensemble, energies)) = report.map(RunReport::into_population) {
            dict.set_item("population_energies", scattered(py, ensemble.len(), &energies, &self.evaluated))?;
            dict.set_item("population", view::of_ensemble(py, ensemble)?)?;
        } else {
            dict.set_item("population_energies", PyArray1::<T>::zeros(py, 0, false))?;
            dict.set_item("population", PyArray2::<T>::zeros(py, [0, dim], false))?;
        }
        dict.set_item("history", self.history_dict(py)?)?;
        Ok(dict)
    }

    fn note_evaluated<T: Number>(&mut self, step: &StepReport<'_, T>) {
        self.evaluated.clear();
        self.evaluated.extend(step.evaluated().unwrap_or_default());
    }

    fn history_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let records = self.history.records();
        let dict = PyDict::new(py);
        dict.set_item("step", PyArray1::from_iter(py, records.iter().map(|r| r.step as i64)))?;
        dict.set_item("evaluations", PyArray1::from_iter(py, records.iter().map(|r| r.evaluations as i64)))?;
        let columns: [(&str, Column); 7] = [
            ("time", |r| r.time),
            ("best", |r| r.best),
            ("least", |r| r.least),
            ("alpha", |r| r.alpha),
            ("sigma", |r| r.sigma),
            ("effective_sample_size", |r| r.effective_sample_size),
            ("spread", |r| r.spread),
        ];
        for (name, column) in columns {
            dict.set_item(name, PyArray1::from_iter(py, records.iter().map(column)))?;
        }
        if self.constrained {
            let violations = records.iter().map(|r| r.violation.unwrap_or(f64::NAN));
            dict.set_item("violation", PyArray1::from_iter(py, violations))?;
        }
        if self.last.x.len() <= POINTS_UP_TO {
            let points = records.iter().flat_map(|r| r.consensus.iter().copied());
            let points = PyArray1::from_iter(py, points).reshape([records.len(), self.last.x.len()])?;
            dict.set_item("consensus", points)?;
        }
        Ok(dict)
    }
}

impl<T: Number> Observer<T> for Watch {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        // Positions on a device are copied by whoever looks at them: once is enough.
        let coordinates = || step.ensemble().len() * step.ensemble().dim();
        if step.step().is_multiple_of(*self.spacing.get_or_insert_with(|| spacing(coordinates()))) {
            let _ = self.history.observe(step);
        }
        self.last.take(step);
        self.note_evaluated(step);
        ControlFlow::Continue(())
    }

    fn ended(&mut self, step: &StepReport<'_, T>, _: StopReason) {
        // Without `observe`, if the run ends within the step.
        self.note_evaluated(step);
    }
}

impl Told {
    fn take<T: Number>(&mut self, step: &StepReport<'_, T>) {
        if (step.best().value, step.best().violation) != (self.best, self.violation)
            || self.x.first().is_some_and(|x| x.is_nan())
        {
            copy(&step.best().x, &mut self.x);
        }
        self.consensus.copy_from_slice(step.consensus());
        (self.step, self.time, self.seconds) = (step.step(), step.time(), step.seconds());
        (self.best, self.alpha, self.sigma) = (step.best().value, step.alpha(), step.sigma());
        self.violation = step.best().violation;
        (self.evaluations, self.failed, self.infeasible) =
            (step.evaluations(), step.failed_evaluations(), step.infeasible_evaluations());
    }

    fn dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        dict.set_item("x", PyArray1::from_slice(py, &self.x))?;
        dict.set_item("fun", self.best)?;
        dict.set_item("feasible", self.violation == 0.0)?;
        dict.set_item("violation", self.violation)?;
        dict.set_item("nfev", self.evaluations)?;
        dict.set_item("nit", self.step)?;
        dict.set_item("consensus", PyArray1::from_slice(py, &self.consensus))?;
        dict.set_item("consensus_fun", self.consensus_value)?;
        dict.set_item("failed_evaluations", self.failed)?;
        dict.set_item("infeasible_evaluations", self.infeasible)?;
        dict.set_item("alpha", self.alpha)?;
        dict.set_item("sigma", self.sigma)?;
        dict.set_item("time", self.time)?;
        dict.set_item("seconds", self.seconds)?;
        Ok(dict)
    }
}

/// A step for a callback, copied so that it may be kept.
#[derive(Debug)]
pub struct Moment<T> {
    told: Told,
    positions: Vec<T>,
    energies: Vec<T>,
    evaluated: Vec<u32>,
}

impl<T: Number> Moment<T> {
    /// A copy of the step that `watch` has just seen.
    pub fn new(watch: &Watch, step: &StepReport<'_, T>) -> Self {
        Self {
            told: watch.last.clone(),
            positions: step.ensemble().rows().as_slice().to_vec(),
            energies: step.energies().to_vec(),
            evaluated: watch.evaluated.clone(),
        }
    }

    /// The dictionary that the callback is given.
    pub fn dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dim = self.told.x.len();
        let rows = self.positions.len() / dim;
        let energies = scattered(py, rows, &self.energies, &self.evaluated);
        let dict = self.told.dict(py)?;
        dict.set_item("population", PyArray1::from_vec(py, self.positions).reshape([rows, dim])?)?;
        dict.set_item("population_energies", energies)?;
        Ok(dict)
    }
}

/// Phases as dictionaries.
fn phases<'py>(py: Python<'py>, phases: &[Phase]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for phase in phases {
        let dict = PyDict::new(py);
        dict.set_item("name", &phase.name)?;
        dict.set_item("start", phase.from)?;
        dict.set_item("stop", phase.to)?;
        dict.set_item("best", phase.best)?;
        dict.set_item("end", &phase.end)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// Minimisers as dictionaries.
fn minimisers<'py, T: Number>(py: Python<'py>, found: &[Minimiser<T>]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for minimiser in found {
        let dict = PyDict::new(py);
        dict.set_item("x", PyArray1::from_iter(py, minimiser.x.iter().map(|x| x.to_f64())))?;
        dict.set_item("fun", minimiser.value)?;
        dict.set_item("particles", minimiser.particles)?;
        dict.set_item("fraction", minimiser.fraction)?;
        list.append(dict)?;
    }
    Ok(list)
}

/// A number of a record.
type Column = fn(&cbo::Record) -> f64;

fn copy<T: Number>(from: &[T], to: &mut [f64]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = from.to_f64();
    }
}

/// The energies at the places of the particles that they belong to; NaN for particles that the step did not evaluate.
fn scattered<'py, T: Number>(
    py: Python<'py>,
    particles: usize,
    energies: &[T],
    evaluated: &[u32],
) -> Bound<'py, PyArray1<T>> {
    if energies.len() == particles {
        return PyArray1::from_slice(py, energies);
    }
    let mut all = vec![T::from_f64(f64::NAN); particles];
    for (&particle, &energy) in evaluated.iter().zip(energies) {
        if let Some(place) = all.get_mut(particle as usize) {
            *place = energy;
        }
    }
    PyArray1::from_vec(py, all)
}
