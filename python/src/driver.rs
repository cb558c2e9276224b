//! Runs of a Python function: the loop on the calling thread, the interpreter released while the engine works.

use crate::errors;
use crate::function::{Fate, Function};
use crate::sample::Proposal;
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use crate::watch::{Moment, Watch};
use cbo::{AskTell, Observer, Plan, RunReport, StepReport, StopReason};
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
    /// The dictionary of a run that an exception ended -> nothing.
    unfinished: Bound<'py, PyAny>,
    /// What the surface has raised, if the run has one.
    raised: Raised,
    last_step: Option<u64>,
    shown: Instant,
}

impl<'py> Listeners<'py> {
    /// Listeners to a run.
    pub fn new(
        callback: Option<Bound<'py, PyAny>>,
        progress: Option<Bound<'py, PyAny>>,
        unfinished: Bound<'py, PyAny>,
        raised: Raised,
        plan: &Plan,
    ) -> Self {
        Self { callback, progress, unfinished, raised, last_step: plan.last_step(), shown: Instant::now() }
    }

    /// Tells what was found by a run that an exception ended.
    pub fn unfinished(&self, result: Bound<'py, PyDict>) -> PyResult<()> {
        self.unfinished.call1((result,)).map(|_| ())
    }

    /// Whether each step must be copied.
    pub fn want_moments(&self) -> bool {
        self.callback.is_some()
    }

    /// Calls back; says whether to stop.
    pub fn step<T: Number>(&self, py: Python<'py>, moment: Moment<T>) -> PyResult<bool> {
        self.callback.as_ref().map_or(Ok(false), |callback| callback.call1((moment.dict(py)?,))?.is_truthy())
    }

    /// What follows a step of a function: signals, progress, the callback. Says whether to stop.
    pub fn after<T: Number>(
        &mut self,
        py: Python<'py>,
        function: &mut Function<'py>,
        step: u64,
        watch: &Watch,
        moment: Option<Moment<T>>,
    ) -> PyResult<bool> {
        function.poll()?;
        self.progress(step, watch.last.best, watch.last.evaluations)?;
        moment.map_or(Ok(false), |moment| self.step(py, moment))
    }

    /// The exception of the surface if there is one, because it is what led to this error.
    pub fn reason(&self, error: PyErr) -> PyErr {
        self.raised.check().err().unwrap_or(error)
    }

    /// Shows progress, if the last time was long enough ago, and raises what the surface did.
    pub fn progress(&mut self, step: u64, best: f64, evaluations: u64) -> PyResult<()> {
        self.raised.check()?;
        let Some(progress) = self.progress.as_ref().filter(|_| self.shown.elapsed() >= PROGRESS) else { return Ok(()) };
        self.shown = Instant::now();
        progress.call1((step, self.last_step, best, evaluations)).map(|_| ())
    }
}

/// Minimises a Python function: what the run found, as a dictionary. If it ends with an exception, `unfinished` is told before. With
/// `draws` the dictionary has a `proposal`.
#[pyfunction]
#[pyo3(signature = (
    fun, dim, settings, *, args, way, convert, unfinished, callback=None, progress=None, constraints=None, draws=None
))]
#[expect(clippy::too_many_arguments, reason = "keywords, given by name by one caller")]
pub fn minimize_function<'py>(
    py: Python<'py>,
    fun: Bound<'py, PyAny>,
    dim: usize,
    settings: &Bound<'py, PyDict>,
    args: &Bound<'py, PyTuple>,
    way: &str,
    convert: Bound<'py, PyAny>,
    unfinished: Bound<'py, PyAny>,
    callback: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    constraints: Option<(Bound<'py, PyAny>, usize)>,
    draws: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, precision) = settings::plan(settings, dim)?;
    let listeners = Listeners::new(callback, progress, unfinished, Raised::of(settings)?, &plan);
    let function = Function::new(fun, args, way.parse()?, convert)?.under(constraints);
    match precision {
        Precision::F32 => run::<f32>(py, &plan, function, listeners, draws),
        Precision::F64 => run::<f64>(py, &plan, function, listeners, draws),
    }
}

fn run<'py, T: Number>(
    py: Python<'py>,
    plan: &Plan,
    mut function: Function<'py>,
    mut listeners: Listeners<'py>,
    draws: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let count = function.constraints();
    let mut watch = Watch::new(plan.dim(), count > 0);
    let begun = py.detach(|| AskTell::<T>::with_constraints(plan, plan.dim(), count));
    let mut run = begun.map_err(|e| listeners.reason(errors::of_run(&e)))?;
    match follow(py, &mut run, &mut function, &mut listeners, &mut watch) {
        Ok((stop, report)) => {
            watch.finish(&report, run.told());
            let proposal = draws.map(|draws| Proposal::new(plan, &report, draws)).transpose()?;
            with_proposal(watch.result(py, stop.name(), Some(report))?, proposal)
        }
        Err(Ended { error, kept }) => {
            let report = run.report();
            watch.finish(&report, run.told());
            let result = watch.result(py, errors::ending(py, &error), Some(report));
            if kept {
                function.surrender(run);
            }
            listeners.unfinished(result?)?;
            Err(error)
        }
    }
}

/// The dictionary of a run, with what points can be drawn from.
pub fn with_proposal<'py>(dict: Bound<'py, PyDict>, proposal: Option<Proposal>) -> PyResult<Bound<'py, PyDict>> {
    if let Some(proposal) = proposal {
        dict.set_item("proposal", Bound::new(dict.py(), proposal)?)?;
    }
    Ok(dict)
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
    let mut energies = Vec::new();
    let stop = loop {
        let mut listen = Listen { watch: &mut *watch, moment: None, wanted: listeners.want_moments() };
        let told = if function.is_vectorized() {
            all_at_once(py, run, function, &mut energies, &mut listen)?
        } else {
            one_by_one(py, run, function, &mut listen)?
        };
        let moment = listen.moment;
        if listeners.after(py, function, run.step(), watch, moment)? {
            break StopReason::Observer;
        }
        if let Some(reason) = told {
            break reason;
        }
    };
    // The engine's own loop ends with the consensus point too, except that of the method auto, and unless the run is to end at once.
    let at_once = matches!(stop, StopReason::Seconds | StopReason::Target | StopReason::Observer);
    if at_once || run.plan().config().method.is_auto() {
        return Ok((stop, run.report()));
    }
    let consensus = run.consensus();
    let mut constraints = vec![T::default(); function.constraints()];
    function.constrain(&consensus, consensus.len(), &mut constraints)?;
    let value = function.energy(run.step(), &consensus)?;
    Ok((stop, run.report_with_consensus(value, &constraints)))
}

/// A round of evaluations that may end between any two of them.
fn one_by_one<T: Number>(
    py: Python<'_>,
    run: &mut AskTell<T>,
    function: &mut Function<'_>,
    listen: &mut Listen<'_, T>,
) -> Result<Option<StopReason>, Ended> {
    let answers = py.detach(|| run.answers());
    let step = run.step();
    let (answers, outcome) = function.answer(step, run.ask(), answers);
    // What was finished before an exception counts.
    let told = py.detach(|| run.take(answers, listen));
    outcome?;
    Ok(told.map_err(|e| errors::of_run(&e))?)
}

/// A round of evaluations in one call.
fn all_at_once<T: Number>(
    py: Python<'_>,
    run: &mut AskTell<T>,
    function: &mut Function<'_>,
    energies: &mut Vec<T>,
    listen: &mut Listen<'_, T>,
) -> Result<Option<StopReason>, Ended> {
    let failed = |error| Ended::from(errors::of_run(&error));
    if !run.told() {
        // A step may have a second round, which is not needed if the run is over after the first.
        let answers = run.answers();
        if answers.are_enough() {
            return run.take(answers, listen).map_err(failed);
        }
    }
    energies.resize(py.detach(|| run.ask().len()), T::default());
    let (step, dim) = (run.step(), run.plan().dim());
    let mut constraints = vec![T::default(); energies.len() * function.constraints()];
    function.constrain(run.ask().as_slice(), dim, &mut constraints)?;
    let (outcome, fate) = function.energies(step, run.ask().as_slice(), dim, energies);
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
    py.detach(|| run.tell_constrained(energies, &constraints, listen)).map_err(failed)
}

/// Watches a step and copies it for a callback.
pub struct Listen<'a, T> {
    /// What watches.
    pub watch: &'a mut Watch,
    /// The copy, if it is wanted.
    pub moment: Option<Moment<T>>,
    /// Whether it is.
    pub wanted: bool,
}

impl<T: Number> Observer<T> for Listen<'_, T> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let _ = self.watch.observe(step);
        self.moment = self.wanted.then(|| Moment::new(self.watch, step));
        ControlFlow::Continue(())
    }

    fn ended(&mut self, step: &StepReport<'_, T>, reason: StopReason) {
        self.watch.ended(step, reason);
    }
}
