//! A function in Python of all points of a round as an objective of the engine, perhaps with its gradient: for methods that need gradients, and
//! for baselines.

use crate::builtin::Ends;
use crate::settings::Number;
use cbo::{EvalError, Grouping, Objective, Rows, StepContext};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Mutex, PoisonError};

/// The function; its exceptions are kept.
pub struct Called {
    fun: Py<PyAny>,
    gradient: Option<Py<PyAny>>,
    dim: usize,
    raised: Mutex<Option<PyErr>>,
}

impl Called {
    pub fn new(fun: Bound<'_, PyAny>, gradient: Option<Bound<'_, PyAny>>, dim: usize) -> Self {
        Self { fun: fun.unbind(), gradient: gradient.map(Bound::unbind), dim, raised: Mutex::new(None) }
    }

    /// What it raised, if it did.
    pub fn into_raised(self) -> Option<PyErr> {
        self.raised.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls one of both, and takes what it returns.
    fn call<T: Number>(
        &self,
        fun: &Py<PyAny>,
        rows: Rows<'_, T>,
        take: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
    ) -> Result<(), EvalError> {
        let call = |py: Python<'_>| -> PyResult<()> {
            let points = PyArray1::from_slice(py, rows.as_slice()).reshape([rows.len(), self.dim])?;
            take(&fun.bind(py).call1((points,))?)?;
            py.check_signals()
        };
        Python::attach(call).map_err(|error| {
            *self.raised.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            EvalError::new("an exception")
        })
    }
}

impl<T: Number> Objective<T> for Called {
    fn dim(&self) -> usize {
        self.dim
    }

    fn energies(&self, _: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.call(&self.fun, rows, |values| {
            let values = values.extract::<PyReadonlyArray1<'_, f64>>()?;
            if values.len() != out.len() {
                return Err(PyValueError::new_err(format!("{} values for {} points", values.len(), out.len())));
            }
            out.iter_mut().zip(values.as_array()).for_each(|(out, value)| *out = T::from_f64(*value));
            Ok(())
        })
    }

    fn has_gradients(&self) -> bool {
        self.gradient.is_some()
    }

    fn gradients(&self, _: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        let gradient = self.gradient.as_ref().ok_or_else(|| EvalError::new("there is no gradient"))?;
        self.call(gradient, rows, |slopes| {
            let slopes = slopes.extract::<PyReadonlyArray2<'_, f64>>()?;
            if slopes.shape() != [rows.len(), self.dim] {
                let (found, points, dim) = (slopes.shape(), rows.len(), self.dim);
                let message = format!("jac must return an array of shape ({points}, {dim}), not {found:?}");
                return Err(PyValueError::new_err(message));
            }
            out.iter_mut().zip(slopes.as_array()).for_each(|(out, slope)| *out = T::from_f64(*slope));
            Ok(())
        })
    }

    fn grouping(&self) -> Grouping {
        Grouping::Together
    }
}

/// Minimises a function of all points of a round by a method that needs gradients: those of `jac`, a function of the same points, or central
/// differences. What the run found, as a dictionary. If it ends with an exception, `unfinished` is told before.
#[pyfunction]
#[pyo3(signature = (fun, jac, dim, settings, *, unfinished, callback=None, progress=None, draws=None))]
#[expect(clippy::too_many_arguments, reason = "keywords, given by name by one caller")]
pub fn minimize_called<'py>(
    py: Python<'py>,
    fun: Bound<'py, PyAny>,
    jac: Option<Bound<'py, PyAny>>,
    dim: usize,
    settings: &Bound<'py, PyDict>,
    unfinished: Bound<'py, PyAny>,
    callback: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
    draws: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let called = Called::new(fun, jac, dim);
    let outcome = Ends { settings, unfinished, callback, progress, draws }.run(py, &called);
    outcome.map_err(|error| called.into_raised().unwrap_or(error))
}
