//! What can be wrong with the description of a problem.

use crate::function::{Dims, Parameter};
use cbo::numbers::plain;

/// A problem that cannot be built; the message says what was wrong, where, and what would be right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// No function has this name.
    #[error("unknown function `{name}`{}", nearest.map(|n| format!("; did you mean `{n}`?")).unwrap_or_default())]
    UnknownFunction {
        /// The name that was asked for.
        name: String,
        /// The most similar name that there is, if one is similar.
        nearest: Option<&'static str>,
    },
    /// A function of any dimension, and no dimension given.
    #[error("{function} needs a dimension (dim): {dims}")]
    MissingDim {
        /// The function.
        function: &'static str,
        /// The dimensions that it allows.
        dims: Dims,
    },
    /// A dimension in which the function is not defined.
    #[error("{}", wrong_dim(function, *dim, *dims))]
    WrongDim {
        /// The function.
        function: &'static str,
        /// The dimension that was asked for.
        dim: usize,
        /// The dimensions that it allows.
        dims: Dims,
    },
    /// A parameter that the function does not have.
    #[error("{function} has no parameter `{parameter}`; it has {}", names(accepted))]
    UnknownParameter {
        /// The function.
        function: &'static str,
        /// The parameter that was given.
        parameter: String,
        /// The parameters that it has.
        accepted: &'static [Parameter],
    },
    /// A parameter outside its range.
    #[error("parameter `{}` of {function} is {}; it must be a number from {} to {}", parameter.name, plain(*value), plain(parameter.least), plain(parameter.most))]
    BadParameter {
        /// The function.
        function: &'static str,
        /// The parameter and its range.
        parameter: Parameter,
        /// The value that was given.
        value: f64,
    },
    /// A shift with too few or too many coordinates.
    #[error("shift has {length} coordinates, but {function} has {dim}; give {dim} numbers, or one number for all")]
    ShiftLength {
        /// The function.
        function: &'static str,
        /// Coordinates of the shift.
        length: usize,
        /// Coordinates of the problem.
        dim: usize,
    },
    /// A shift by NaN or infinity.
    #[error("shift is {value} in x{}; it must be finite", coordinate + 1)]
    ShiftNotFinite {
        /// The coordinate, from 0.
        coordinate: usize,
        /// The shift in it.
        value: f64,
    },
    /// A shift that takes the minimiser of a confined function out of its domain.
    #[error(
        "shift {} in x{} takes the minimiser of {function} out of its domain; it must lie between {} and {} there",
        plain(*value), coordinate + 1, plain(*least), plain(*most)
    )]
    ShiftLeavesDomain {
        /// The function.
        function: &'static str,
        /// The coordinate, from 0.
        coordinate: usize,
        /// The shift in it.
        value: f64,
        /// The least shift that keeps the minimiser inside.
        least: f64,
        /// The largest.
        most: f64,
    },
    /// Whoever watched the building did not want it any more.
    #[error("building {function} was stopped")]
    Stopped {
        /// The function.
        function: &'static str,
    },
}

fn wrong_dim(function: &str, dim: usize, dims: Dims) -> String {
    match dims {
        Dims::Exactly(only) => format!("{function} is defined in {only} dimensions, not {dim}"),
        Dims::AtLeast(1) => format!("dimension {dim} of {function} is too small; it needs at least 1"),
        Dims::AtLeast(least) => format!("{function} needs at least {least} dimensions, not {dim}"),
    }
}

fn names(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return "none".into();
    }
    parameters.iter().map(|p| format!("`{}`", p.name)).collect::<Vec<_>>().join(", ")
}
