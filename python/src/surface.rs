//! A surface of the caller: where a Python function is zero.

use crate::settings;
use cbo::Level;
use numpy::PyArray1;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The function, and the first exception that it raised.
struct Function {
    function: Py<PyAny>,
    raised: Mutex<Option<PyErr>>,
}

impl Function {
    /// Its value at a point, a number.
    fn call(&self, x: &[f64]) -> PyResult<f64> {
        Python::attach(|py| {
            let value = self.function.bind(py).call1((PyArray1::from_slice(py, x),))?;
            settings::number("surface(x)", &value)
        })
    }

    fn raised(&self) -> MutexGuard<'_, Option<PyErr>> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The engine knows no exceptions: the function is NaN where it raises one, and from then on. The caller takes it after the step.
impl Level for Function {
    fn level(&self, x: &[f64]) -> f64 {
        if self.raised().is_some() {
            return f64::NAN;
        }
        self.call(x).unwrap_or_else(|error| {
            self.raised().get_or_insert(error);
            f64::NAN
        })
    }
}

/// The setting `surface`.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Surface(Arc<Function>);

#[pymethods]
impl Surface {
    #[new]
    fn new(function: Bound<'_, PyAny>) -> PyResult<Self> {
        if !function.is_callable() {
            let shown: String = function.repr()?.to_string().chars().take(60).collect();
            return Err(PyTypeError::new_err(format!("surface = {shown}: must be a function of a point")));
        }
        Ok(Self(Arc::new(Function { function: function.unbind(), raised: Mutex::new(None) })))
    }
}

/// The surface of the engine.
pub fn read(value: &Bound<'_, PyAny>) -> PyResult<cbo::Surface> {
    let function = value.cast::<Surface>()?.get().0.clone();
    Ok(cbo::Surface::new(Shared(function)))
}

/// The same function for the engine and for whoever asks what it raised.
struct Shared(Arc<Function>);

impl Level for Shared {
    fn level(&self, x: &[f64]) -> f64 {
        self.0.level(x)
    }
}

/// What the surface of a run has raised, if it has one. To be asked after each step.
pub struct Raised(Option<Arc<Function>>);

impl Raised {
    /// By the surface of these settings.
    pub fn of(settings: &Bound<'_, PyDict>) -> PyResult<Self> {
        let surface = settings.get_item("surface")?;
        Ok(Self(surface.and_then(|value| value.cast::<Surface>().ok().map(|surface| surface.get().0.clone()))))
    }

    /// The exception as an error.
    pub fn check(&self) -> PyResult<()> {
        match self.0.as_ref().and_then(|function| function.raised().take()) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}
