//! Runs of a Python function: the loop on the calling thread, the interpreter released while the engine works.

use crate::errors;
use crate::function::{Fate, Function};
use crate::settings::{self, Number, Precision};
use crate::watch::{Moment, Watch};
use cbo::{AskTell, Observer, Plan, RunReport, StepReport, StopReason};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const PROGRESS: Duration = Duration::from_millis(100);

/// What the package wants to be called with.
pub struct Listeners<'py> {
    /// A dictionary of the step -> whether to stop.
    callback: Option<Bound<'py, PyAny>>,
    /// (step, last step or None, best value, evaluations) -> nothing.
    progress: Option<Bound<'py, PyAny>>,
    last_step: Option<u64>,
    shown: Instant,
}

impl<'py> Listeners<'py> {
    /// Listeners to a run.
    pub fn new(callback: Option<Bound<'py, PyAny>>, progress: Option<Bound<'py, PyAny>>, plan: &Plan) -> Self {
        Self { callback, progress, last_step: plan.last_step(), shown: Instant::now() }
    }

    /// Whether each step must be copied.
    pub fn want_moments(&self) -> bool {
        self.callback.is_some()
    }

    /// Calls back; says whether to stop.
    pub fn step<T: Number>(&self, py: Python<'py>, moment: Moment<T>) -> PyResult<bool> {
        self.callback.as_ref().map_or(Ok(false), |callback| callback.call1((moment.dict(py)?,))?.is_truthy())
    }

    /// Shows progress, if the last time was long enough ago.
    pub fn progress(&mut self, step: u64, best: f64, evaluations: u64) -> PyResult<()> {
        let Some(progress) = self.progress.as_ref().filter(|_| self.shown.elapsed() >= PROGRESS) else { return Ok(()) };
        self.shown = Instant::now();
        progress.call1((step, self.last_step, best, evaluations)).map(|_| ())
    }
}

/// Minimises a Python function: what the run found, as a dictionary. A KeyboardInterrupt carries it as `result`.
#[pyfunction]
#[pyo3(signature = (fun, dim, settings, *, args, vectorized, convert, callback=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords, given by name by one caller")]
pub fn minimize_function<'py>(
    py: Python<'py>,
    fun: Bound<'py, PyAny>,
    dim: usize,
    settings: &Bound<'py, PyDict>,
    args: &Bound<'py, PyTuple>,
    vectorized: bool,
    convert: Bound<'py, PyAny>,
    callback: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, precision) = settings::plan(settings, dim)?;
    let listeners = Listeners::new(callback, progress, &plan);
    let function = Function::new(fun, args, vectorized, convert)?;
    match precision {
        Precision::F32 => run::<f32>(py, &plan, function, listeners),
        Precision::F64 => run::<f64>(py, &plan, function, listeners),
    }
}

fn run<'py, T: Number>(
    py: Python<'py>,
    plan: &Plan,
    mut function: Function<'py>,
    mut listeners: Listeners<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut watch = Watch::new(plan.dim());
    let mut run = py.detach(|| AskTell::<T>::new(plan, plan.dim())).map_err(|e| errors::of_run(&e))?;
    let outcome = follow(py, &mut run, &mut function, &mut listeners, &mut watch);
    match outcome {
        Ok((stop, report)) => watch.result(py, stop.name(), Some(report)),
        Err(Ended { error, kept }) => {
            if error.is_instance_of::<PyKeyboardInterrupt>(py) {
                let result = watch.result(py, "interrupt", Some(run.report()))?;
                error.value(py).setattr("result", result)?;
            }
            if kept {
                function.surrender(run);
            }
            Err(error)
        }
    }
}

/// An exception that ended a run, and whether somebody (its traceback) keeps a view of the positions.
struct Ended {
    error: PyErr,
    kept: bool,
}

impl From<PyErr> for Ended {
    fn from(error: PyErr) -> Self {
        Self { error, kept: false }
    }
}

/// The loop.
fn follow<'py, T: Number>(
    py: Python<'py>,
    run: &mut AskTell<T>,
    function: &mut Function<'py>,
    listeners: &mut Listeners<'py>,
    watch: &mut Watch,
) -> Result<(StopReason, RunReport<T>), Ended> {
    let (dim, mut energies) = (run.plan().dim(), Vec::new());
    let stop = loop {
        energies.resize(py.detach(|| run.ask().len()), T::default());
        let step = run.step();
        let (outcome, fate) = function.energies(step, run.ask().as_slice(), dim, &mut energies);
        if let Err(error) = outcome {
            return Err(Ended { error, kept: fate == Fate::Kept });
        }
        if fate == Fate::Kept {
            let failed = |e| Ended { error: errors::of_state(&e), kept: true };
            let copy = AskTell::load(run.plan(), dim, &run.save()).map_err(failed)?;
            function.surrender(std::mem::replace(run, copy));
            // Its points are those that were just evaluated.
            run.ask();
        }
        let mut observer = Listen { watch: &mut *watch, moment: None, wanted: listeners.want_moments() };
        let told = py.detach(|| run.tell(&energies, &mut observer));
        let moment = observer.moment;
        let told = told.map_err(|e| errors::of_run(&e))?;
        listeners.progress(step, watch.last.best, watch.last.evaluations)?;
        if let Some(moment) = moment
            && listeners.step(py, moment)?
        {
            break StopReason::Observer;
        }
        if let Some(reason) = told {
            break reason;
        }
    };
    // The engine's own loop ends with the consensus point too, except that of the method auto.
    let report = if run.plan().config().method.is_auto() {
        run.report()
    } else {
        let value = function.energy(run.step(), &run.consensus())?.to_f64();
        run.report_with_consensus(value)
    };
    watch.finish(&report);
    Ok((stop, report))
}

/// Watches a step and copies it for a callback.
struct Listen<'a, T> {
    watch: &'a mut Watch,
    moment: Option<Moment<T>>,
    wanted: bool,
}

impl<T: Number> Observer<T> for Listen<'_, T> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let _ = self.watch.observe(step);
        self.moment = self.wanted.then(|| Moment::new(self.watch, step));
        ControlFlow::Continue(())
    }
}
