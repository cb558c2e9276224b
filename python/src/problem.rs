//! Built-in problems as objects that can be called, minimised and pickled.

use crate::errors;
use crate::settings;
use cbo::{Objective, Rows, StepContext};
use cbo_problems::{Problem as Engine, Shift};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

/// More coordinates than this are a mistake, and would not fit into memory; a rotation squares them.
const MOST_DIMS: u64 = 10_000_000;
const MOST_ROTATED: u64 = 5_000;

/// A function, and the arguments with which it makes the object again.
type Pickle<'py> = (Bound<'py, PyAny>, (String, Bound<'py, PyDict>));

/// The names of all built-in functions, with underscores for dashes.
#[pyfunction]
pub fn problem_names() -> Vec<String> {
    cbo_problems::all().iter().map(|info| info.name.replace('-', "_")).collect()
}

/// A built-in benchmark function in a number of dimensions.
///
/// Call it with a point of shape ``(d,)`` for a float or with rows of shape ``(n, d)`` for an array of values.
#[pyclass(frozen, module = "cbo._lib", name = "Problem")]
pub struct Problem {
    /// The problem itself.
    pub inner: Engine,
    /// The arguments that make it again.
    arguments: Py<PyDict>,
}

#[pymethods]
impl Problem {
    #[new]
    #[pyo3(signature = (name, dim=None, *, shift=None, rotate=None, seed=0, **parameters))]
    fn new(
        py: Python<'_>,
        name: &str,
        dim: Option<Bound<'_, PyAny>>,
        shift: Option<Bound<'_, PyAny>>,
        rotate: Option<Bound<'_, PyAny>>,
        seed: u64,
        parameters: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let arguments = PyDict::new(py);
        let mut builder = Engine::builder(name);
        if let Some(dim) = &dim {
            let dim = settings::count("dim", dim)?;
            let most = if rotate.is_some() { MOST_ROTATED } else { MOST_DIMS };
            if dim > most {
                let with = if rotate.is_some() { " with a rotation" } else { "" };
                return Err(PyValueError::new_err(format!("dim = {dim}: must lie between 1 and {most}{with}")));
            }
            arguments.set_item("dim", dim)?;
            builder = builder.dim(usize::try_from(dim)?);
        }
        if let Some(shift) = &shift {
            arguments.set_item("shift", shift)?;
            builder = builder.shift(read_shift(shift, seed)?);
        }
        if let Some(rotate) = &rotate {
            arguments.set_item("rotate", rotate)?;
            let own = if is_random(rotate) { seed } else { settings::count("rotate", rotate)? };
            builder = builder.rotate(own);
        }
        for (name, value) in parameters.into_iter().flatten() {
            let name: String = name.extract()?;
            arguments.set_item(&name, &value)?;
            builder = builder.parameter(&name, settings::number(&name, &value)?);
        }
        arguments.set_item("seed", seed)?;
        Ok(Self { inner: builder.build().map_err(|e| errors::of_problem(&e))?, arguments: arguments.unbind() })
    }

    /// The name of the function.
    #[getter]
    fn name(&self) -> String {
        self.inner.name().replace('-', "_")
    }

    /// Number of coordinates.
    #[getter]
    fn dim(&self) -> usize {
        self.inner.dim()
    }

    /// Name, parameters, shift and rotation in words.
    #[getter]
    fn description(&self) -> &str {
        self.inner.description()
    }

    /// The formula in one line.
    #[getter]
    fn formula(&self) -> &str {
        self.inner.info().formula
    }

    /// Where the function comes from.
    #[getter]
    fn source(&self) -> &str {
        self.inner.info().source
    }

    /// Where to search: an array of shape ``(d, 2)``, low and high of each coordinate.
    #[getter]
    fn bounds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let numbers = self.inner.domain().iter().flat_map(|&(low, high)| [low, high]);
        PyArray1::from_iter(py, numbers).reshape([self.inner.dim(), 2])
    }

    /// Whether points outside the bounds are infeasible.
    #[getter]
    fn confined(&self) -> bool {
        self.inner.confined()
    }

    /// The constraints that a point has to meet besides the bounds, in plain text; empty for most functions.
    #[getter]
    fn constraints(&self) -> &'static [&'static str] {
        self.inner.constraint_texts()
    }

    /// The constraints at a point of shape ``(d,)``, each met where it is zero or less, or at rows of shape ``(n, d)``.
    fn constraint_values<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.rows_of(py, x)?;
        let count = self.inner.constraint_texts().len();
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let rows =
            array.call_method1("reshape", ((shape.iter().product::<usize>() / self.inner.dim(), self.inner.dim()),))?;
        let (_, constraints) = self.evaluate(py, &rows)?;
        let flat = PyArray1::from_vec(py, constraints);
        Ok(match shape.len() {
            1 => flat.into_any(),
            _ => flat.reshape([shape[0], count])?.into_any(),
        })
    }

    /// The least value.
    #[getter]
    fn minimum(&self) -> f64 {
        self.inner.minimum()
    }

    /// Where the least value is taken: one point per row.
    #[getter]
    fn minimisers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = self.inner.minimisers();
        let numbers = points.iter().flatten().copied();
        PyArray1::from_iter(py, numbers).reshape([points.len(), self.inner.dim()])
    }

    /// The distance of a point to the nearest minimiser, in the maximum norm.
    fn distance(&self, x: Vec<f64>) -> PyResult<f64> {
        if x.len() != self.inner.dim() {
            return Err(self.wrong_shape(&format!("({},)", x.len())));
        }
        Ok(self.inner.distance_to_minimiser(&x))
    }

    fn __call__<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let array = self.rows_of(py, x)?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        match shape[..] {
            [dim] => {
                let rows = array.call_method1("reshape", ((1, dim),))?;
                Ok(self.values(py, &rows)?.get_item(0)?.call_method0("__float__")?)
            }
            _ => Ok(self.values(py, &array)?.into_any()),
        }
    }

    fn __repr__(&self) -> String {
        format!("<cbo problem: {} in {} dimensions>", self.inner.description(), self.inner.dim())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickle<'py>> {
        let rebuild = py.import("cbo.problems")?.getattr("_rebuild")?;
        Ok((rebuild, (self.inner.name().to_string(), self.arguments.bind(py).clone())))
    }
}

impl Problem {
    fn wrong_shape(&self, shape: &str) -> PyErr {
        let dim = self.inner.dim();
        let name = self.name();
        PyValueError::new_err(format!("x has the shape {shape}: {name} takes a point ({dim},) or rows (n, {dim})"))
    }

    /// A point or rows as an array of float64, of the right shape.
    fn rows_of<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let numpy = numpy::get_array_module(py)?;
        let dtype = PyDict::new(py);
        dtype.set_item("dtype", "float64")?;
        let array = numpy.call_method("ascontiguousarray", (x,), Some(&dtype))?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        match shape[..] {
            [dim] | [_, dim] if dim == self.inner.dim() => Ok(array),
            _ => Err(self.wrong_shape(&array.getattr("shape")?.to_string())),
        }
    }

    fn values<'py>(&self, py: Python<'py>, rows: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(PyArray1::from_vec(py, self.evaluate(py, rows)?.0))
    }

    /// The values of rows and their constraints, one row after the other.
    fn evaluate(&self, py: Python<'_>, rows: &Bound<'_, PyAny>) -> PyResult<(Vec<f64>, Vec<f64>)> {
        let rows: PyReadonlyArray2<'_, f64> = rows.extract()?;
        let mut values = vec![0.0; rows.shape()[0]];
        let mut constraints = vec![0.0; values.len() * self.inner.constraint_texts().len()];
        let points = Rows::new(rows.as_slice()?, self.inner.dim());
        let at = StepContext::default();
        let outcome = py.detach(|| self.inner.energies_and_constraints(at, points, &mut values, &mut constraints));
        outcome.map_err(|e| PyRuntimeError::new_err(errors::told(&e)))?;
        Ok((values, constraints))
    }
}

fn is_random(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>() && value.to_string() == "random"
}

fn read_shift(value: &Bound<'_, PyAny>, seed: u64) -> PyResult<Shift> {
    if is_random(value) {
        return Ok(Shift::Random(seed));
    }
    if let (Ok(amounts), false) = (value.extract::<Vec<f64>>(), value.is_instance_of::<PyString>()) {
        return Ok(Shift::Each(amounts));
    }
    settings::number("shift", value).map(Shift::All).map_err(|_| {
        PyTypeError::new_err(format!("shift = {value}: must be a number, one for each coordinate, or 'random'"))
    })
}
