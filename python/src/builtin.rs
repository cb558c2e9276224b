//! Runs of a built-in problem: on a thread of their own and without the interpreter, while the calling thread listens for
//! signals and calls back.

use crate::device;
use crate::driver::{Listeners, with_proposal};
use crate::errors;
use crate::formula::Formula;
use crate::problem::Problem;
use crate::sample::Proposal;
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use crate::watch::{Moment, Watch};
use cbo::{EnergyTrace, EvalError, Grouping, Objective, Observer, Plan, Rows, StepContext, StepReport, solve};
use cbo_cuda::Cuda;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// How long a run may take to end after its step; then it is cut off within it.
const PATIENCE: Duration = Duration::from_millis(60);

/// How the calling thread ends a run early.
#[derive(Debug, Default)]
pub struct Brake {
    /// After the step.
    pub soon: AtomicBool,
    /// Within it.
    pub now: AtomicBool,
}

impl Brake {
    /// After the step, and within it if that takes too long.
    pub fn pull(&self, since: Instant) {
        self.soon.store(true, Relaxed);
        self.now.fetch_or(since.elapsed() > PATIENCE, Relaxed);
    }
}

/// An objective that can be cut off.
pub struct Braked<'a, O> {
    /// The objective.
    pub problem: &'a O,
    /// Its brake.
    pub brake: &'a Brake,
}

impl<T: Number, O: Objective<T>> Objective<T> for Braked<'_, O> {
    fn dim(&self) -> usize {
        self.problem.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        if self.brake.now.load(Relaxed) {
            return Err(EvalError::new("interrupted"));
        }
        self.problem.energies(at, rows, out)
    }

    fn constraints(&self) -> usize {
        self.problem.constraints()
    }

    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        if self.brake.now.load(Relaxed) {
            return Err(EvalError::new("interrupted"));
        }
        self.problem.energies_and_constraints(at, rows, energies, constraints)
    }

    fn has_gradients(&self) -> bool {
        self.problem.has_gradients()
    }

    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.problem.gradients(at, rows, out)
    }

    fn grouping(&self) -> Grouping {
        self.problem.grouping()
    }

    fn trace(&self) -> Option<EnergyTrace> {
        self.problem.trace()
    }
}

/// What the run tells the calling thread without being asked.
#[derive(Default)]
struct Gauge {
    step: AtomicU64,
    evaluations: AtomicU64,
    best: AtomicU64,
}

/// The observer on the thread of the run.
struct Remote<'a, T> {
    watch: &'a mut Watch,
    brake: &'a Brake,
    gauge: &'a Gauge,
    /// Steps go out here, if there is a callback; it closes with the run.
    out: Sender<Moment<T>>,
    /// Whether to stop comes back here, if there is a callback.
    back: Option<Receiver<bool>>,
}

impl<T: Number> Observer<T> for Remote<'_, T> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let _ = self.watch.observe(step);
        self.gauge.step.store(step.step(), Relaxed);
        self.gauge.evaluations.store(step.evaluations(), Relaxed);
        self.gauge.best.store(step.best().value.to_bits(), Relaxed);
        let stopped = self.back.as_ref().is_some_and(|back| {
            let sent = self.out.send(Moment::new(self.watch, step));
            sent.is_err() || back.recv().unwrap_or(true)
        });
        if stopped || self.brake.soon.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// Minimises a built-in problem or a formula: what the run found, as a dictionary. If it ends with an exception, `unfinished` is told before.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, unfinished, callback=None, progress=None, draws=None))]
pub fn minimize_problem<'py>(
    py: Python<'py>,
    problem: Bound<'py, PyAny>,
    settings: &Bound<'py, PyDict>,
    unfinished: Bound<'py, PyAny>,
    callback: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    draws: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let ends = Ends { settings, unfinished, callback, progress, draws };
    match problem.cast::<Formula>() {
        Ok(formula) => ends.run(py, formula.get().engine()?),
        Err(_) => ends.run(py, &problem.cast::<Problem>()?.get().inner),
    }
}

/// What a run is given besides its objective.
pub struct Ends<'a, 'py> {
    pub settings: &'a Bound<'py, PyDict>,
    pub unfinished: Bound<'py, PyAny>,
    pub callback: Option<Bound<'py, PyAny>>,
    pub progress: Option<Bound<'py, PyAny>>,
    pub draws: Option<usize>,
}

impl<'py> Ends<'_, 'py> {
    /// The run, on a thread of its own.
    pub fn run<O: Objective<f32> + Objective<f64>>(
        self,
        py: Python<'py>,
        objective: &O,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (plan, precision) = settings::plan(self.settings, Objective::<f64>::dim(objective))?;
        let raised = Raised::of(self.settings)?;
        let listeners = Listeners::new(self.callback, self.progress, self.unfinished, raised, &plan);
        let gpu = device::of(self.settings)?;
        match precision {
            Precision::F32 => run::<f32, O>(py, gpu.as_ref(), objective, &plan, listeners, self.draws),
            Precision::F64 => run::<f64, O>(py, gpu.as_ref(), objective, &plan, listeners, self.draws),
        }
    }
}

fn run<'py, T: Number, O: Objective<T>>(
    py: Python<'py>,
    gpu: Option<&Cuda>,
    problem: &O,
    plan: &Plan,
    mut listeners: Listeners<'py>,
    draws: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let (brake, gauge) = (Brake::default(), Gauge::default());
    let watch = Watch::new(problem.dim(), problem.constraints() > 0);
    let mut watch = if gpu.is_some() { watch.there() } else { watch };
    let (out, mut steps) = channel::<Moment<T>>();
    let (answer, back) = channel();
    let back = listeners.want_moments().then_some(back);
    let mut failure: Option<(PyErr, Instant)> = None;
    let outcome = std::thread::scope(|scope| {
        let mut remote = Remote { watch: &mut watch, brake: &brake, gauge: &gauge, out, back };
        let objective = Braked { problem, brake: &brake };
        let worker = scope.spawn(move || match gpu {
            Some(gpu) => gpu.solve(plan, &objective, &mut remote),
            None => solve(plan, &objective, &mut remote),
        });
        loop {
            let steps = &mut steps;
            let news = py.detach(move || steps.recv_timeout(POLL));
            let done = matches!(news, Err(RecvTimeoutError::Disconnected));
            let result = match news {
                Ok(moment) if failure.is_none() => listeners.step(py, moment).map(|stop| answer.send(stop).is_ok()),
                Ok(_) => Ok(answer.send(true).is_ok()),
                Err(_) => Ok(true),
            };
            let told = result.and_then(|_| py.check_signals()).and_then(|()| {
                let best = f64::from_bits(gauge.best.load(Relaxed));
                listeners.progress(gauge.step.load(Relaxed), best, gauge.evaluations.load(Relaxed))
            });
            if done {
                // Too late to end the run, but not too late to be raised.
                failure = failure.take().or(told.err().map(|error| (error, Instant::now())));
                break;
            }
            if let Err(error) = told {
                let _ = answer.send(true);
                failure = failure.take().or(Some((error, Instant::now())));
            }
            if let Some((_, since)) = &failure {
                brake.pull(*since);
            }
        }
        py.detach(|| worker.join())
    });
    let (report, failure) = match outcome {
        Ok(Ok(report)) => (Some(report), failure.map(|(error, _)| error)),
        Ok(Err(error)) => (None, failure.map(|(error, _)| error).or_else(|| Some(device::of_run(&error)))),
        Err(_) => return Err(PyRuntimeError::new_err("the engine failed; this is a bug in cbo, please report it")),
    };
    if let Some(report) = &report {
        watch.finish(report, true);
    }
    let stop = report.as_ref().map_or("observer", |report| report.stop().name());
    let Some(error) = failure else {
        let proposal =
            report.as_ref().zip(draws).map(|(report, draws)| Proposal::new(plan, report, draws)).transpose()?;
        return with_proposal(watch.result(py, stop, report)?, proposal);
    };
    listeners.unfinished(watch.result(py, errors::ending(py, &error), report)?)?;
    Err(error)
}
