//! Formulas as objects that can be called, minimised and pickled.

use crate::settings;
use cbo::{Objective, Rows, StepContext};
use cbo_problems::{Formula as Engine, FormulaError};
use numpy::{PyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Characters of a formula that an error shows.
const SHOWN: usize = 100;

/// A formula of the coordinates as text, evaluated in Rust: ``cbo.Formula("sum(x^2 + 2.5*(1 - cos(2*pi*x)))")``.
///
/// The guide has the grammar. Pass it to `cbo.minimize`, or call it with a point of shape ``(d,)`` for a float or with rows of shape
/// ``(n, d)`` for an array of values. Without a dimension it takes that of the bounds or of the points. Further keywords are numbers that
/// the formula has names for.
#[pyclass(frozen, module = "cbo._lib", name = "Formula")]
pub struct Formula {
    text: String,
    constants: Vec<(String, f64)>,
    engine: Option<Engine>,
}

/// What is wrong, and the formula with a mark under the place.
fn refused(error: &FormulaError, text: &str) -> PyErr {
    let Some(place) = error.column.map(|column| column - 1) else { return PyValueError::new_err(error.to_string()) };
    let from = if place < SHOWN * 3 / 4 { 0 } else { place - SHOWN / 2 };
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let line: String = text.chars().map(shown).skip(from).take(SHOWN).collect();
    PyValueError::new_err(format!("{error}\n  {line}\n  {}^", " ".repeat(place - from)))
}

impl Formula {
    fn compiled(&self, dim: usize) -> PyResult<Engine> {
        Engine::with_constants(&self.text, dim, &self.constants).map_err(|error| refused(&error, &self.text))
    }

    /// What computes it, if it has a dimension.
    pub fn engine(&self) -> PyResult<&Engine> {
        self.engine.as_ref().ok_or_else(|| PyValueError::new_err("the formula has no dimension"))
    }
}

#[pymethods]
impl Formula {
    #[new]
    #[pyo3(signature = (text, dim=None, **constants))]
    fn new(text: &str, dim: Option<Bound<'_, PyAny>>, constants: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut numbers = Vec::new();
        for (name, value) in constants.into_iter().flatten() {
            let name: String = name.extract()?;
            let number = settings::number(&name, &value)?;
            numbers.push((name, number));
        }
        let formula = Self { text: text.into(), constants: numbers, engine: None };
        let Some(dim) = dim else { return Ok(formula) };
        let engine = formula.compiled(usize::try_from(settings::count("dim", &dim)?)?)?;
        Ok(Self { engine: Some(engine), ..formula })
    }

    /// The same formula in a number of dimensions.
    fn at(&self, dim: usize) -> PyResult<Self> {
        if let Some(own) = self.dim().filter(|own| *own != dim) {
            return Err(PyValueError::new_err(format!("the formula has {own} coordinates, and the search {dim}")));
        }
        Ok(Self { text: self.text.clone(), constants: self.constants.clone(), engine: Some(self.compiled(dim)?) })
    }

    /// The text.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// Number of coordinates, if it was given.
    #[getter]
    fn dim(&self) -> Option<usize> {
        self.engine.as_ref().map(Engine::dim)
    }

    /// The numbers that were given besides the text.
    #[getter]
    fn constants<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let constants = PyDict::new(py);
        self.constants.iter().try_for_each(|(name, number)| constants.set_item(name, number))?;
        Ok(constants)
    }

    fn __call__<'py>(&self, py: Python<'py>, x: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let dtype = PyDict::new(py);
        dtype.set_item("dtype", "float64")?;
        let array = numpy::get_array_module(py)?.call_method("ascontiguousarray", (x,), Some(&dtype))?;
        let shape: Vec<usize> = array.getattr("shape")?.extract()?;
        let (1 | 2, Some(&dim)) = (shape.len(), shape.last()) else {
            let message =
                format!("x has the shape {}: a formula takes a point (d,) or rows (n, d)", array.getattr("shape")?);
            return Err(PyTypeError::new_err(message));
        };
        let here;
        let engine = match &self.engine {
            Some(engine) if engine.dim() == dim => engine,
            Some(engine) => {
                let message = format!("x has {dim} coordinates, and the formula {}", engine.dim());
                return Err(PyValueError::new_err(message));
            }
            None => {
                here = self.compiled(dim)?;
                &here
            }
        };
        let rows: PyReadonlyArray2<'_, f64> = array.call_method1("reshape", ((-1, dim),))?.extract()?;
        let mut values = vec![0.0; rows.shape()[0]];
        let points = Rows::new(rows.as_slice()?, dim);
        let outcome = py.detach(|| engine.energies(StepContext::default(), points, &mut values));
        outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        match shape.len() {
            1 => Ok(values[0].into_pyobject(py)?.into_any()),
            _ => Ok(PyArray1::from_vec(py, values).into_any()),
        }
    }

    fn __repr__(&self) -> String {
        let dim = self.dim().map_or(String::new(), |dim| format!(" in {dim} dimensions"));
        format!("<cbo formula: {}{dim}>", self.text)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Pickled<'py>)> {
        let rebuild = py.import("cbo._formula")?.getattr("rebuild")?;
        Ok((rebuild, (self.text.clone(), self.dim(), self.constants(py)?)))
    }
}

/// What makes a formula again.
type Pickled<'py> = (String, Option<usize>, Bound<'py, PyDict>);
