//! What the paper's theorem says about a setting, as a dictionary.

use crate::errors;
use crate::problem::Problem;
use crate::settings;
use cbo::{InitialLaw, Sigma};
use cbo_lab::setting;
use cbo_lab::theory::Basis;
use cbo_lab::theory::advice::{Holds, advise};
use cbo_lab::theory::assumptions::default_r0;
use cbo_lab::theory::constants::{Accuracy, Constants, Kind, Quantity, Question, Theorem};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// More dimensions than this do not fit into memory where they must be listed, or squared for a rotation.
const MOST_DIMS: usize = 100_000;
const MOST_ROTATED: usize = 500;

/// R_0 as the caller gives it.
#[derive(FromPyObject)]
pub enum Radius {
    /// This one.
    Given(f64),
    /// `auto`: the one with the least alpha_0.
    Word(String),
}

/// The constants of the theorem for a problem and a setting, and advice in sentences.
#[pyfunction]
#[pyo3(signature = (problem, settings, *, tau, epsilon, epsilon_ratio, c, r0, sharp))]
#[expect(clippy::too_many_arguments, reason = "keywords, given by name by one caller")]
pub fn theory<'py>(
    py: Python<'py>,
    problem: &Problem,
    settings: &Bound<'py, PyDict>,
    tau: f64,
    epsilon: Option<f64>,
    epsilon_ratio: f64,
    c: Option<f64>,
    r0: Option<Radius>,
    sharp: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let problem = &problem.inner;
    let dim = problem.dim();
    let most = if problem.rotation().is_some() { MOST_ROTATED } else { MOST_DIMS };
    if dim > most {
        return Err(PyValueError::new_err(format!("dim = {dim}: must lie between 1 and {most}")));
    }
    let (mut config, _) = settings::read_over(setting::config(dim), settings)?;
    if let (InitialLaw::Points(points), false) = (&config.init, settings.contains("particles")?) {
        config.particles = points.len() / dim;
    }
    config.time = None;
    config.check(dim).map_err(|e| errors::of_run(&e.into()))?;
    let Sigma::Constant(sigma) = config.sigma else {
        return Err(PyValueError::new_err("sigma: the theorem needs one number, not a schedule"));
    };
    let r0 = match r0 {
        Some(Radius::Given(r0)) => Some(r0),
        Some(Radius::Word(word)) if word == "auto" => None,
        Some(Radius::Word(word)) => {
            return Err(PyValueError::new_err(format!("r0 = {word:?}: must be a number or 'auto'")));
        }
        None => default_r0(problem),
    };
    let accuracy = epsilon.map_or(Accuracy::Ratio(epsilon_ratio), Accuracy::Epsilon);
    let question = Question { lambda: config.lambda, sigma, tau, accuracy, c, r0 };
    let refused = |e: cbo_lab::theory::TheoryError| errors::of_theory(&e);
    let (theorem, constants, sharper, advice) = py
        .detach(|| {
            let theorem = Theorem::new(problem, &config.init, question)?;
            let constants = theorem.constants(Kind::Paper)?;
            let sharper = if sharp { theorem.constants(Kind::Sharp)? } else { None };
            let advice = advise(&theorem, &config, sharp)?;
            Ok((theorem, constants, sharper, advice))
        })
        .map_err(refused)?;

    let dict = PyDict::new(py);
    dict.set_item("objective", problem.description())?;
    dict.set_item("dim", dim)?;
    dict.set_item("v0", theorem.v0)?;
    dict.set_item("epsilon", theorem.epsilon)?;
    let a2 = &theorem.assumptions;
    let assumptions = PyDict::new(py);
    for (name, value) in [("eta", a2.eta), ("nu", a2.nu), ("r0", a2.r0), ("e_inf", a2.far_field)] {
        assumptions.set_item(name, value)?;
    }
    assumptions.set_item("exact", a2.basis != Basis::Estimate)?;
    dict.set_item("assumptions", assumptions)?;
    dict.set_item("constants", constants.as_ref().map(|c| quantities(py, c)).transpose()?)?;
    dict.set_item("sharp", sharper.as_ref().map(|c| quantities(py, c)).transpose()?)?;
    dict.set_item("covered", advice.covered)?;
    dict.set_item("mean_square_stable", advice.mean_square_stable)?;
    dict.set_item("mean_square_factor", advice.mean_square_factor)?;
    dict.set_item("almost_surely_contracting", advice.almost_surely_contracting)?;
    dict.set_item("exponent", advice.exponent)?;
    let holds = |holds: Holds| match holds {
        Holds::Yes => Some(true),
        Holds::No => Some(false),
        Holds::Unknown => None,
    };
    let sentences: Vec<_> = advice.advice.iter().map(|s| (s.topic, holds(s.holds), s.text.clone())).collect();
    dict.set_item("advice", sentences)?;
    Ok(dict)
}

/// Each constant as its value and its natural logarithm: many are out of the range of floating point.
fn quantities<'py>(py: Python<'py>, constants: &Constants) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for Quantity { name, value, log, .. } in constants.all() {
        dict.set_item(name, (value, log))?;
    }
    if let Some(c) = constants.decay.c {
        dict.set_item("c", (c, c.ln()))?;
    }
    Ok(dict)
}
