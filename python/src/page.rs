//! The pages of the viewer as text, for notebooks.

use cbo_view::report;
use pyo3::exceptions::{PyFileNotFoundError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// The runs below a folder as one HTML file.
#[pyfunction]
pub fn page_of_folder(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    py.detach(|| report::of_folder(&folder)).map_err(|error| PyFileNotFoundError::new_err(format!("folder: {error}")))
}

/// The pages with data that are given as JSON.
#[pyfunction]
pub fn page_of_data(data: &str) -> PyResult<String> {
    let data = serde_json::from_str(data).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(report::html(&data))
}
