//! `device`: where a run is computed.

use crate::errors;
use cbo::SolveError;
use cbo_cuda::{Cuda, Fault};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

#[cfg(feature = "stand-in")]
#[path = "../../crates/cbo-cuda/tests/host.rs"]
#[allow(dead_code, missing_docs, reason = "the tests of the other crate use more of it, and document nothing")]
mod host;

/// The number of the GPU that a text means; none for the processor.
fn number(text: &str) -> PyResult<Option<usize>> {
    let unknown = || PyValueError::new_err(format!("device = '{text}': must be 'cpu', 'cuda' or 'cuda:N'"));
    match text.split_once(':') {
        None if text == "cpu" => Ok(None),
        None if text == "cuda" => Ok(Some(0)),
        Some(("cuda", number)) => number.parse().map(Some).map_err(|_| unknown()),
        _ => Err(unknown()),
    }
}

/// Opens the device of this name; none for the processor.
fn open(text: &str) -> PyResult<Option<Cuda>> {
    #[cfg(feature = "stand-in")]
    if text == "stand-in" {
        return Ok(Some(Cuda::on(std::sync::Arc::new(host::Host::default()))));
    }
    let Some(number) = number(text)? else { return Ok(None) };
    let refused = |fault| PyValueError::new_err(format!("device = '{text}': {fault}; use device='cpu'"));
    Cuda::open(number).map(Some).map_err(refused)
}

/// The device that settings name; none for the processor.
pub fn of(settings: &Bound<'_, PyDict>) -> PyResult<Option<Cuda>> {
    let Some(value) = settings.get_item("device")?.filter(|value| !value.is_none()) else { return Ok(None) };
    let Ok(text) = value.cast::<PyString>() else {
        return Err(PyTypeError::new_err(format!("device = {value}: must be a text: 'cpu', 'cuda' or 'cuda:N'")));
    };
    open(&text.to_cow()?)
}

/// Opens a device and closes it again: an error if there is no such device.
#[pyfunction]
pub fn check_device(py: Python<'_>, device: &str) -> PyResult<()> {
    py.detach(|| open(device)).map(drop)
}

/// A device that failed in the middle of a run.
pub fn lost(fault: &Fault) -> PyErr {
    PyRuntimeError::new_err(format!("the device failed: {fault}"))
}

/// A run that could not begin or continue, in the words of this package.
pub fn of_run(error: &SolveError) -> PyErr {
    match error {
        SolveError::Config(error) if error.field == "device" => {
            PyValueError::new_err(format!("device = '{}': {}", error.value, error.remedy))
        }
        _ => errors::of_run(error),
    }
}
