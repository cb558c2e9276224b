//! Draws from a law, after a run that came to rest.

use crate::errors;
use crate::settings::Number;
use cbo::{Plan, RunReport, Sample};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A law in either precision.
trait Law: Send + Sync {
    fn draw<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)>;
    fn weigh<'py>(&self, py: Python<'py>, energies: &[f64]) -> PyResult<Bound<'py, PyDict>>;
}

struct Of<T> {
    proposal: cbo::Proposal<T>,
    dim: usize,
}

fn rows<T: Number>(py: Python<'_>, values: Vec<T>, dim: usize) -> PyResult<Bound<'_, PyAny>> {
    let count = values.len() / dim;
    Ok(PyArray1::from_vec(py, values).reshape([count, dim])?.into_any())
}

impl<T: Number> Law for Of<T> {
    fn draw<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)> {
        let points = py.detach(|| self.proposal.draw(count));
        let inside = points.chunks_exact(self.dim).map(|x| self.proposal.is_inside(x)).collect();
        Ok((rows(py, points, self.dim)?, inside))
    }

    fn weigh<'py>(&self, py: Python<'py>, energies: &[f64]) -> PyResult<Bound<'py, PyDict>> {
        let energies: Vec<T> = energies.iter().map(|&e| T::from_f64(e)).collect();
        let sample = py.detach(|| self.proposal.weigh(self.proposal.draw(energies.len()), energies));
        dict(py, &sample.map_err(|e| errors::of_run(&e))?, self.dim)
    }
}

fn dict<'py, T: Number>(py: Python<'py>, sample: &Sample<T>, dim: usize) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("samples", rows(py, sample.draws(), dim)?)?;
    dict.set_item("mean", PyArray1::from_slice(py, sample.mean()))?;
    dict.set_item("mean_errors", PyArray1::from_slice(py, sample.mean_errors()))?;
    dict.set_item("covariance", rows(py, sample.covariance().to_vec(), dim)?)?;
    dict.set_item("covariance_errors", rows(py, sample.covariance_errors().to_vec(), dim)?)?;
    dict.set_item("log_normaliser", sample.log_normaliser())?;
    dict.set_item("log_normaliser_error", sample.log_normaliser_error())?;
    dict.set_item("effective_sample_size", sample.effective_sample_size())?;
    dict.set_item("points", rows(py, sample.points().as_slice().to_vec(), dim)?)?;
    dict.set_item("weights", PyArray1::from_slice(py, sample.weights()))?;
    dict.set_item("energies", PyArray1::from_slice(py, sample.energies()))?;
    dict.set_item("evaluations", sample.evaluations())?;
    dict.set_item("failed_evaluations", sample.failed_evaluations())?;
    Ok(dict)
}

/// The laws of a swarm's next positions, from which points are drawn.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Proposal(Box<dyn Law>);

impl Proposal {
    /// Those at the end of a run.
    pub fn new<T: Number>(plan: &Plan, report: &RunReport<T>) -> PyResult<Self> {
        let proposal = cbo::Proposal::new(plan, report).map_err(|e| errors::of_run(&e))?;
        Ok(Self(Box::new(Of { proposal, dim: plan.dim() })))
    }
}

#[pymethods]
impl Proposal {
    /// This many points, and which of them are inside the bounds.
    fn draw<'py>(&self, py: Python<'py>, count: usize) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<bool>>)> {
        let (points, inside) = self.0.draw(py, count)?;
        Ok((points, PyArray1::from_vec(py, inside)))
    }

    /// What the points tell of the law, given the energies of as many.
    fn weigh<'py>(&self, py: Python<'py>, energies: PyReadonlyArray1<'_, f64>) -> PyResult<Bound<'py, PyDict>> {
        self.0.weigh(py, &energies.as_array().to_vec())
    }
}
