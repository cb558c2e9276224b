//! Errors of the engine as Python exceptions.

use cbo::{ConfigError, SolveError, StateError};
use cbo_lab::theory::TheoryError;
use cbo_problems::ProblemError;
use pyo3::exceptions::{PyKeyboardInterrupt, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::{PyErr, Python, create_exception};
use std::error::Error;

create_exception!(cbo._lib, NoFiniteEnergy, PyRuntimeError, "No particle of a step has a finite energy.");

/// How a run that an exception ended is said to have ended.
pub fn ending(py: Python<'_>, error: &PyErr) -> &'static str {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) { "interrupt" } else { "exception" }
}

/// An error and its causes in one sentence.
pub fn told(error: &dyn Error) -> String {
    std::iter::successors(Some(error), |error| (*error).source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The name of a setting in Python.
fn keyword(field: &str) -> String {
    if field == "lambda" { "lambda_".into() } else { field.replace('-', "_") }
}

fn setting(error: &ConfigError) -> PyErr {
    PyValueError::new_err(format!("{} = {}: {}", keyword(error.field), error.value, error.remedy))
}

/// A run that could not begin or continue.
pub fn of_run(error: &SolveError) -> PyErr {
    match error {
        SolveError::Config(error) => setting(error),
        SolveError::Memory { .. } => PyMemoryError::new_err(told(error)),
        SolveError::NoFiniteEnergy { .. } => NoFiniteEnergy::new_err(told(error)),
        _ => PyRuntimeError::new_err(told(error)),
    }
}

/// A state that cannot be read.
pub fn of_state(error: &StateError) -> PyErr {
    PyValueError::new_err(told(error))
}

/// A problem that cannot be built.
pub fn of_problem(error: &ProblemError) -> PyErr {
    let end = match error {
        ProblemError::UnknownFunction { nearest: Some(_), .. } => " cbo.problems.names() lists all",
        ProblemError::UnknownFunction { nearest: None, .. } => "; cbo.problems.names() lists all",
        _ => "",
    };
    PyValueError::new_err(told(error) + end)
}

/// A setting that the theorem does not admit.
pub fn of_theory(error: &TheoryError) -> PyErr {
    PyValueError::new_err(format!("{} = {}: {}", keyword(error.field), error.value, error.remedy))
}
