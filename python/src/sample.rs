//! Draws from a law, after a run that came to rest.

use crate::errors;
use crate::settings::Number;
use cbo::{Plan, RunReport, Sample};
use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// A law in either precision.
trait Law: Send + Sync {
    fn draw<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)>;
    fn tell(&mut self, py: Python<'_>, energies: &[f64]);
    fn weigh<'py>(self: Box<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyDict>>;
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
    fn draw<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Vec<bool>)> {
        let points = py.detach(|| self.proposal.draw().to_vec());
        let inside = points.chunks_exact(self.dim).map(|x| self.proposal.is_inside(x)).collect();
        Ok((rows(py, points, self.dim)?, inside))
    }

    fn tell(&mut self, py: Python<'_>, energies: &[f64]) {
        let energies: Vec<T> = energies.iter().map(|&e| T::from_f64(e)).collect();
        py.detach(|| self.proposal.tell(&energies));
    }

    fn weigh<'py>(self: Box<Self>, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (proposal, dim) = (self.proposal, self.dim);
        let sample = py.detach(|| proposal.weigh());
        dict(py, &sample.map_err(|e| errors::of_run(&e))?, dim)
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

/// What points are drawn from, round by round.
#[pyclass(module = "cbo._lib")]
pub struct Proposal(Option<Box<dyn Law>>);

impl Proposal {
    /// That at the end of a run, for so many points.
    pub fn new<T: Number>(plan: &Plan, report: &RunReport<T>, count: usize) -> PyResult<Self> {
        let proposal = cbo::Proposal::new(plan, report, count).map_err(|e| errors::of_run(&e))?;
        Ok(Self(Some(Box::new(Of { proposal, dim: plan.dim() }))))
    }

    fn law(&mut self) -> PyResult<&mut Box<dyn Law>> {
        self.0.as_mut().ok_or_else(weighed_already)
    }
}

fn weighed_already() -> PyErr {
    PyRuntimeError::new_err("the points have been weighed already")
}

#[pymethods]
impl Proposal {
    /// The points of the next round, and which of them are inside the bounds; none when all are drawn.
    fn draw<'py>(&mut self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyArray1<bool>>)> {
        let (points, inside) = self.law()?.draw(py)?;
        Ok((points, PyArray1::from_vec(py, inside)))
    }

    /// Takes the energies of the points that were drawn last.
    fn tell(&mut self, py: Python<'_>, energies: PyReadonlyArray1<'_, f64>) -> PyResult<()> {
        let energies = energies.as_array().to_vec();
        self.law()?.tell(py, &energies);
        Ok(())
    }

    /// What all points tell of the law.
    fn weigh<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.0.take().ok_or_else(weighed_already)?.weigh(py)
    }
}
