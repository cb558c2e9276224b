//! Errors of the engine as exceptions of Python.

use cbo::{ConfigError, SolveError, StateError};
use cbo_lab::theory::TheoryError;
use cbo_problems::ProblemError;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyValueError};

/// The name of a setting in Python.
fn keyword(field: &str) -> String {
    if field == "lambda" { "lambda_".into() } else { field.replace('-', "_") }
}

fn setting(error: &ConfigError) -> PyErr {
    PyValueError::new_err(format!("{} = {}: {}", keyword(error.field), error.value, error.remedy))
}

/// A run that could not begin or go on.
pub fn of_run(error: &SolveError) -> PyErr {
    match error {
        SolveError::Config(error) => setting(error),
        SolveError::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        _ => PyRuntimeError::new_err(error.to_string()),
    }
}

/// A state that cannot be read.
pub fn of_state(error: &StateError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A problem that cannot be built.
pub fn of_problem(error: &ProblemError) -> PyErr {
    PyValueError::new_err(error.to_string().replace("`cbo list` shows all", "cbo.problems.names() lists all"))
}

/// A setting that the theorem does not admit.
pub fn of_theory(error: &TheoryError) -> PyErr {
    PyValueError::new_err(format!("{} = {}: {}", keyword(error.field), error.value, error.remedy))
}
