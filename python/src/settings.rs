//! Settings: a Python dictionary as the configuration of the engine.

use crate::errors;
use crate::surface;
use cbo::{CboConfig, Coordinates, InitialLaw, Plan, Reduction, TextError};
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString};
use std::str::FromStr;

/// Numbers of a run: those that the engine computes with and NumPy has.
pub trait Number: cbo::Scalar + numpy::Element {}
impl Number for f32 {}
impl Number for f64 {}

/// Precision of positions and energies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Single.
    F32,
    /// Double.
    F64,
}

/// A sentence about a setting: what it is, its value, what would be right.
fn sentence(field: &str, value: &Bound<'_, PyAny>, remedy: &str) -> String {
    const LONGEST: usize = 80;
    let shown = value.repr().map_or_else(|_| "a value".into(), |text| text.to_string());
    let short: String = shown.chars().take(LONGEST).collect();
    let dots = if shown.chars().count() > LONGEST { "..." } else { "" };
    format!("{field} = {short}{dots}: {remedy}")
}

fn wrong_type<T>(field: &str, value: &Bound<'_, PyAny>, remedy: &str) -> PyResult<T> {
    Err(PyTypeError::new_err(sentence(field, value, remedy)))
}

fn wrong_value<T>(field: &str, value: &Bound<'_, PyAny>, remedy: &str) -> PyResult<T> {
    Err(PyValueError::new_err(sentence(field, value, remedy)))
}

fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.is_instance_of::<PyString>()
}

/// Any number of Python or NumPy, but not a string or a boolean.
pub fn number(field: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    if is_text(value) || value.is_instance_of::<PyBool>() {
        return wrong_type(field, value, "must be a number");
    }
    match value.extract() {
        Ok(number) => Ok(number),
        Err(e) if e.is_instance_of::<PyOverflowError>(value.py()) => {
            wrong_value(field, value, "is too large for a float")
        }
        Err(_) => wrong_type(field, value, "must be a number"),
    }
}

/// A whole number, or a float that is one: `1e6`.
pub fn count(field: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    const REMEDY: &str = "must be a whole number that is zero or positive";
    if let (Ok(whole), false) = (value.extract::<u64>(), value.is_instance_of::<PyBool>()) {
        return Ok(whole);
    }
    match number(field, value) {
        Ok(whole) if whole >= 0.0 && whole.fract() == 0.0 && whole <= 9_007_199_254_740_992.0 => Ok(whole as u64),
        Ok(_) => wrong_value(field, value, REMEDY),
        Err(e) if e.is_instance_of::<PyValueError>(value.py()) => wrong_value(field, value, "is too large"),
        Err(_) => wrong_type(field, value, REMEDY),
    }
}

fn size(field: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    usize::try_from(count(field, value)?).or_else(|_| wrong_value(field, value, "is too large"))
}

fn truth(field: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.extract().or_else(|_| wrong_type(field, value, "must be True or False"))
}

fn optional<T>(
    field: &str,
    value: &Bound<'_, PyAny>,
    read: fn(&str, &Bound<'_, PyAny>) -> PyResult<T>,
) -> PyResult<Option<T>> {
    if value.is_none() { Ok(None) } else { read(field, value).map(Some) }
}

/// A text of the engine.
pub fn text<T: FromStr<Err = TextError>>(field: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    let Ok(text) = value.extract::<String>() else { return wrong_type(field, value, "must be a text") };
    text.parse().or_else(|error: TextError| wrong_value(field, value, &error.to_string()))
}

/// A text of the engine, or a number, which the engine reads as a text too.
fn text_or_number<T: FromStr<Err = TextError>>(field: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    if is_text(value) {
        return text(field, value);
    }
    let number = match number(field, value) {
        Ok(number) => number,
        Err(e) if e.is_instance_of::<PyValueError>(value.py()) => return Err(e),
        Err(_) => return wrong_type(field, value, "must be a number or a text such as 'geometric:1,0.99'"),
    };
    // `{:?}` keeps all digits.
    format!("{number:?}").parse().or_else(|error: TextError| wrong_value(field, value, &error.to_string()))
}

fn reduction(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Option<Reduction>> {
    let off = value.extract::<String>().is_ok_and(|text| text == "off");
    if off { Ok(None) } else { optional(field, value, text) }
}

fn vector(value: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(value.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec())
}

fn rows(value: &Bound<'_, PyAny>) -> PyResult<Vec<f64>> {
    Ok(value.extract::<PyReadonlyArray2<'_, f64>>()?.as_array().iter().copied().collect())
}

fn pairs(value: &Bound<'_, PyAny>) -> PyResult<Vec<(f64, f64)>> {
    Ok(rows(value)?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
}

/// The initial law: a text, or what the package made of `x0` and `bounds`.
fn init(settings: &Bound<'_, PyDict>) -> PyResult<Option<InitialLaw>> {
    if let Some(value) = settings.get_item("init")? {
        return text("init", &value).map(Some);
    }
    if let Some(points) = settings.get_item("init_points")? {
        return Ok(Some(InitialLaw::Points(rows(&points)?)));
    }
    if let Some(sides) = settings.get_item("init_box")? {
        return Ok(Some(InitialLaw::uniform(&pairs(&sides)?)));
    }
    let (Some(mean), Some(variance)) = (settings.get_item("init_mean")?, settings.get_item("init_variance")?) else {
        return Ok(None);
    };
    let (mean, variance) = (Coordinates::Each(vector(&mean)?), Coordinates::Each(vector(&variance)?));
    Ok(Some(InitialLaw::Normal { mean, variance }))
}

fn precision(field: &str, value: &Bound<'_, PyAny>) -> PyResult<Precision> {
    match value.extract::<String>().as_deref() {
        Ok("f32") => Ok(Precision::F32),
        Ok("f64") => Ok(Precision::F64),
        Ok(_) => wrong_value(field, value, "it is one of f32, f64"),
        Err(_) => wrong_type(field, value, "must be a text, 'f32' or 'f64'"),
    }
}

/// The configuration that `settings` describe over `start`. Keys are the fields of [`CboConfig`], of which `init` may come in
/// several; `lambda_` is lambda, which Python keeps for itself.
pub fn read_over(start: CboConfig, settings: &Bound<'_, PyDict>) -> PyResult<(CboConfig, Precision)> {
    let (mut config, mut chosen) = (start, Precision::F64);
    for (key, value) in settings {
        let key: String = key.extract()?;
        let (field, value) = (key.as_str(), &value);
        match field {
            "method" => config.method = text(field, value)?,
            "particles" => config.particles = size(field, value)?,
            "lambda_" => config.lambda = number(field, value)?,
            "sigma" => config.sigma = text_or_number(field, value)?,
            "alpha" => config.alpha = text_or_number(field, value)?,
            "dt" => config.dt = number(field, value)?,
            "diffusion" => config.diffusion = text(field, value)?,
            "scheme" => config.scheme = text(field, value)?,
            "surface" => config.surface = optional(field, value, |_, v| surface::read(v))?,
            "truncation" => config.truncation = optional(field, value, number)?,
            // Where, which the caller knows.
            "device" => (),
            // Several keys make one setting, below.
            "init" | "init_points" | "init_box" | "init_mean" | "init_variance" => (),
            "batch" => config.batch = optional(field, value, size)?,
            "update" => config.update = text(field, value)?,
            "kick" => config.kick = optional(field, value, number)?,
            "freeze" => config.freeze = optional(field, value, |_, v| vector(v))?,
            "bounds" => config.bounds = optional(field, value, |_, v| pairs(v))?,
            "bound_handling" => config.bound_handling = text(field, value)?,
            "epoch_steps" => config.epoch_steps = optional(field, value, count)?,
            "reduction" => config.reduction = reduction(field, value)?,
            "steps" => config.steps = optional(field, value, count)?,
            "time" => config.time = optional(field, value, number)?,
            "max_evaluations" => config.max_evaluations = optional(field, value, count)?,
            "max_seconds" => config.max_seconds = optional(field, value, number)?,
            "target" => config.target = optional(field, value, number)?,
            "diameter" => config.diameter = optional(field, value, number)?,
            "stagnation" => config.stagnation = optional(field, value, count)?,
            "seed" => config.seed = count(field, value)?,
            "threads" => config.threads = size(field, value)?,
            "strict" => config.strict = truth(field, value)?,
            "precision" => chosen = precision(field, value)?,
            _ => return Err(PyTypeError::new_err(format!("{field} is not a setting"))),
        }
    }
    if let Some(law) = init(settings)? {
        config.init = law;
    }
    Ok((config, chosen))
}

/// The configuration that `settings` describe.
pub fn read(settings: &Bound<'_, PyDict>) -> PyResult<(CboConfig, Precision)> {
    let method = settings.get_item("method")?.map(|value| text("method", &value)).transpose()?;
    read_over(CboConfig::of(method.unwrap_or_default()), settings)
}

/// The same, checked for a run in `dim` dimensions.
pub fn plan(settings: &Bound<'_, PyDict>, dim: usize) -> PyResult<(Plan, Precision)> {
    let (config, precision) = read(settings)?;
    Ok((config.check(dim).map_err(|e| errors::of_run(&e.into()))?, precision))
}

/// Checks settings for a run in `dim` dimensions, without running it.
#[pyfunction]
pub fn check(dim: usize, settings: &Bound<'_, PyDict>) -> PyResult<()> {
    plan(settings, dim).map(|_| ())
}

/// Whether the method of these settings needs gradients.
#[pyfunction]
pub fn follows_gradient(settings: &Bound<'_, PyDict>) -> PyResult<bool> {
    let follows = |memory: cbo::Memory| memory.gradient != 0.0 || memory.gradient_noise != 0.0;
    Ok(matches!(read(settings)?.0.method, cbo::Method::Memory(memory) if follows(memory)))
}

/// The engine's defaults that the package shows or needs.
#[pyfunction]
pub fn defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let config = CboConfig::default();
    let dict = PyDict::new(py);
    dict.set_item("particles", config.particles)?;
    dict.set_item("lambda_", config.lambda)?;
    dict.set_item("dt", config.dt)?;
    dict.set_item("steps", cbo::DEFAULT_STEPS)?;
    Ok(dict)
}
