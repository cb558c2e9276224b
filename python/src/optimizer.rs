//! A run whose loop is in Python: asked for points, told their energies, saved and loaded.

use crate::device;
use crate::dlpack::{Borrowed, Points};
use crate::errors;
use crate::on_device;
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use crate::watch::Watch;
use cbo::{AskTell, CboConfig, RunReport, SolveError, StateError, StopReason};
use cbo_cuda::{Cuda, Lent};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A run in one precision.
struct State<T> {
    run: AskTell<T>,
    /// Its memory, if it is on a device.
    lent: Option<Lent>,
    watch: Watch,
}

impl<T: Number> State<T> {
    fn begin(gpu: Option<&Cuda>, config: &CboConfig, dim: usize, constraints: usize) -> Result<Self, SolveError> {
        Ok(match gpu {
            Some(gpu) => Self::there(gpu.ask_tell(config, dim)?, dim),
            None => Self::of(AskTell::with_constraints(config, dim, constraints)?, dim),
        })
    }

    fn load(gpu: Option<&Cuda>, config: &CboConfig, dim: usize, bytes: &[u8]) -> Result<Self, StateError> {
        Ok(match gpu {
            Some(gpu) => Self::there(gpu.load(config, dim, bytes)?, dim),
            None => Self::of(AskTell::load(config, dim, bytes)?, dim),
        })
    }

    fn of(run: AskTell<T>, dim: usize) -> Self {
        let watch = Watch::new(dim, run.constraints() > 0);
        Self { run, lent: None, watch }
    }

    fn there((run, lent): (AskTell<T>, Lent), dim: usize) -> Self {
        Self { run, lent: Some(lent), watch: Watch::new(dim, false).there() }
    }

    fn tell(&mut self, energies: &[f64], constraints: &[f64]) -> Result<Option<StopReason>, SolveError> {
        let own = |numbers: &[f64]| numbers.iter().map(|&e| T::from_f64(e)).collect::<Vec<T>>();
        self.run.tell_constrained(&own(energies), &own(constraints), &mut self.watch)
    }

    /// The memory of the points, which are moved if it is time for it.
    fn lend(&mut self) -> Option<Lent> {
        self.run.ask_there();
        self.lent.clone()
    }

    /// A copy of what there is to report.
    fn summary(&self) -> Summary<T> {
        let report = self.run.report();
        let mut watch = self.watch.clone();
        watch.finish(&report, self.run.told());
        Summary { watch, report, stop: self.run.stopped() }
    }
}

/// A run whose points are in this machine's memory.
fn not_there() -> PyErr {
    PyRuntimeError::new_err("the points are on no device")
}

/// A run so far.
struct Summary<T> {
    watch: Watch,
    report: RunReport<T>,
    stop: Option<StopReason>,
}

impl<T: Number> Summary<T> {
    fn dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let stop = self.stop.map_or("", StopReason::name);
        self.watch.result(py, stop, Some(self.report))
    }
}

/// The same thing in either precision.
enum Either<A, B> {
    F32(A),
    F64(B),
}

/// The same for either precision.
macro_rules! with {
    ($either:expr, $state:ident => $value:expr) => {
        match $either {
            Either::F32($state) => $value,
            Either::F64($state) => $value,
        }
    };
}

/// A run, step by step.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Run {
    dim: usize,
    /// What the surface has raised, if the run has one.
    raised: Raised,
    either: Mutex<Either<State<f32>, State<f64>>>,
}

impl Run {
    /// The state. To be called without the interpreter: whoever has the lock may be waiting for it.
    fn state(&self) -> MutexGuard<'_, Either<State<f32>, State<f64>>> {
        self.either.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Run {
    #[new]
    #[pyo3(signature = (dim, settings, constraints=0))]
    fn new(py: Python<'_>, dim: usize, settings: &Bound<'_, PyDict>, constraints: usize) -> PyResult<Self> {
        let ((config, precision), raised) = (settings::read(settings)?, Raised::of(settings)?);
        let gpu = device::of(settings)?;
        let either = py.detach(|| match precision {
            Precision::F32 => State::begin(gpu.as_ref(), &config, dim, constraints).map(Either::F32),
            Precision::F64 => State::begin(gpu.as_ref(), &config, dim, constraints).map(Either::F64),
        });
        raised.check()?;
        Ok(Self { dim, raised, either: Mutex::new(either.map_err(|e| device::of_run(&e))?) })
    }

    /// Continues from the bytes of `save`.
    #[staticmethod]
    fn load(py: Python<'_>, dim: usize, settings: &Bound<'_, PyDict>, state: &[u8]) -> PyResult<Self> {
        let ((config, precision), raised) = (settings::read(settings)?, Raised::of(settings)?);
        let gpu = device::of(settings)?;
        let either = py.detach(|| match precision {
            Precision::F32 => State::load(gpu.as_ref(), &config, dim, state).map(Either::F32),
            Precision::F64 => State::load(gpu.as_ref(), &config, dim, state).map(Either::F64),
        });
        Ok(Self { dim, raised, either: Mutex::new(either.map_err(|e| errors::of_state(&e))?) })
    }

    /// The points of this step, in an array of their own.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let points = py.detach(|| match &mut *self.state() {
            Either::F32(state) => Either::F32(state.run.ask().as_slice().to_vec()),
            Either::F64(state) => Either::F64(state.run.ask().as_slice().to_vec()),
        });
        self.raised.check()?;
        fn rows<T: Number>(py: Python<'_>, values: Vec<T>, dim: usize) -> PyResult<Bound<'_, PyAny>> {
            let count = values.len() / dim;
            Ok(PyArray1::from_vec(py, values).reshape([count, dim])?.into_any())
        }
        with!(points, values => rows(py, values, self.dim))
    }

    /// The points of this step where they are, on the device.
    fn ask_there<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, Points>> {
        let (lent, bits) = py.detach(|| match &mut *self.state() {
            Either::F32(state) => (state.lend(), on_device::bits::<f32>()),
            Either::F64(state) => (state.lend(), on_device::bits::<f64>()),
        });
        Bound::new(py, Points::new(lent.ok_or_else(not_there)?, bits))
    }

    /// Takes the energies of these points, on the device or as an array; the reason if the run should end here.
    fn tell_there(
        &self,
        py: Python<'_>,
        points: &Bound<'_, Points>,
        energies: &Bound<'_, PyAny>,
        convert: &Bound<'_, PyAny>,
    ) -> PyResult<Option<&'static str>> {
        fn receive<T: Number>(
            points: &Bound<'_, Points>,
            energies: &Bound<'_, PyAny>,
            convert: &Bound<'_, PyAny>,
            (lent, step): (Option<Lent>, u64),
        ) -> PyResult<Option<Borrowed>> {
            on_device::receive::<T>(energies, convert, step, points.as_any(), &lent.ok_or_else(not_there)?)
        }
        let lent = py.detach(|| match &mut *self.state() {
            Either::F32(state) => Either::F32((state.lend(), state.run.step())),
            Either::F64(state) => Either::F64((state.lend(), state.run.step())),
        });
        let kept = match lent {
            Either::F32(lent) => receive::<f32>(points, energies, convert, lent),
            Either::F64(lent) => receive::<f64>(points, energies, convert, lent),
        }?;
        let told = py.detach(|| with!(&mut *self.state(), state => state.run.tell_there(&mut state.watch)));
        drop(kept);
        Ok(told.map_err(|e| errors::of_run(&e))?.map(StopReason::name))
    }

    /// How many constraints a point has to meet.
    #[getter]
    fn constraints(&self, py: Python<'_>) -> usize {
        py.detach(|| with!(&*self.state(), state => state.run.constraints()))
    }

    /// Takes the energies of all points asked for, and their constraints, one point after the other; the reason if the run should end
    /// here.
    #[pyo3(signature = (energies, constraints=None))]
    fn tell(
        &self,
        py: Python<'_>,
        energies: PyReadonlyArray1<'_, f64>,
        constraints: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Option<&'static str>> {
        let energies = energies.as_array().to_vec();
        let constraints = constraints.map_or(Vec::new(), |constraints| constraints.as_array().to_vec());
        let told = py.detach(|| {
            with!(&mut *self.state(), state => {
                if state.run.told() {
                    return Err(PyRuntimeError::new_err("tell without ask"));
                }
                let wanted = state.run.ask().len();
                if energies.len() != wanted {
                    return Err(PyValueError::new_err(format!("{} energies for {wanted} points", energies.len())));
                }
                let count = wanted * state.run.constraints();
                if constraints.len() != count {
                    let message = format!("{} constraints for {wanted} points that have {count}", constraints.len());
                    return Err(PyValueError::new_err(message));
                }
                state.tell(&energies, &constraints).map_err(|e| errors::of_run(&e))
            })
        });
        self.raised.check()?;
        Ok(told?.map(StopReason::name))
    }

    /// The step of the points last asked for.
    #[getter]
    fn step(&self, py: Python<'_>) -> u64 {
        py.detach(|| with!(&*self.state(), state => state.run.step()))
    }

    /// Whether the energies of this step are told.
    #[getter]
    fn told(&self, py: Python<'_>) -> bool {
        py.detach(|| with!(&*self.state(), state => state.run.told()))
    }

    /// Why the run should end here, if it should.
    #[getter]
    fn stopped(&self, py: Python<'_>) -> Option<&'static str> {
        py.detach(|| with!(&*self.state(), state => state.run.stopped())).map(StopReason::name)
    }

    /// The state as bytes.
    fn save<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let bytes = py.detach(|| with!(&*self.state(), state => state.run.save()));
        PyBytes::new(py, &bytes)
    }

    /// The run so far, as a dictionary.
    fn result<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let summary = py.detach(|| match &*self.state() {
            Either::F32(state) => Either::F32(state.summary()),
            Either::F64(state) => Either::F64(state.summary()),
        });
        with!(summary, summary => summary.dict(py))
    }
}
