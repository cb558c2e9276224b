//! Building a problem: the choices, and the checks of them.

use crate::error::ProblemError;
use crate::function::Info;
use crate::functions::{Entry, plain};
use crate::problem::Problem;
use crate::rotation::Rotation;
use crate::transform::{Shift, Transform};
use std::fmt;
use std::ops::ControlFlow;

/// Chooses dimension, parameters, shift and rotation of a [`Problem`]; [`build`](Self::build) checks them.
#[derive(Clone)]
pub struct ProblemBuilder {
    entry: Result<Entry, ProblemError>,
    dim: Option<usize>,
    parameters: Vec<(String, f64)>,
    shift: Option<Shift>,
    rotation: Option<u64>,
}

impl ProblemBuilder {
    pub(crate) fn new(entry: Result<Entry, ProblemError>) -> Self {
        Self { entry, dim: None, parameters: Vec::new(), shift: None, rotation: None }
    }

    /// The number of coordinates. Functions of a fixed dimension do not need it.
    pub fn dim(mut self, dim: usize) -> Self {
        self.dim = Some(dim);
        self
    }

    /// The value of a parameter of the function, such as `amplitude`. The last value given counts.
    pub fn parameter(mut self, name: &str, value: f64) -> Self {
        self.parameters.push((name.into(), value));
        self
    }

    /// Moves the minimiser: by one number in all coordinates, by a vector, or at random ([`Shift::Random`]).
    ///
    /// The minimiser of a confined function must stay in the domain; any other function is defined everywhere, and its
    /// minimiser may go anywhere.
    pub fn shift(mut self, shift: impl Into<Shift>) -> Self {
        self.shift = Some(shift.into());
        self
    }

    /// Turns the function about its minimiser, by the random orthogonal matrix that belongs to `seed`.
    pub fn rotate(mut self, seed: u64) -> Self {
        self.rotation = Some(seed);
        self
    }

    /// The problem, or what is wrong with it.
    pub fn build(self) -> Result<Problem, ProblemError> {
        self.build_watched(&mut || ControlFlow::Continue(()))
    }

    /// The same, where that may take long: a rotation takes a time that grows with the cube of the dimension. `watch` is asked again
    /// and again while it is made; when it breaks off, the building ends with [`ProblemError::Stopped`].
    pub fn build_watched(self, watch: &mut dyn FnMut() -> ControlFlow<()>) -> Result<Problem, ProblemError> {
        let entry = self.entry?;
        let info = entry.info;
        let dim = match self.dim.or(info.default_dim()) {
            None => return Err(ProblemError::MissingDim { function: info.name, dims: info.dims }),
            Some(dim) if dim == 0 || !info.dims.contains(dim) => {
                return Err(ProblemError::WrongDim { function: info.name, dim, dims: info.dims });
            }
            Some(dim) => dim,
        };
        let values = parameter_values(&info, &self.parameters)?;
        let function = (entry.make)(&values);
        let mut minimisers = function.minimisers(dim);
        let original = minimisers[0].clone();
        let moved = match &self.shift {
            Some(shift) => shift.target(&info, &original)?,
            None => original.clone(),
        };
        let original_name = describe(&info, &values, None, None);
        let description = describe(&info, &values, self.shift.as_ref(), self.rotation);
        let stopped = ProblemError::Stopped { function: info.name };
        let turned = self.rotation.map(|seed| Rotation::watched(dim, seed, watch).ok_or(stopped)).transpose()?;
        let transform = (self.shift.is_some() || turned.is_some()).then(|| Transform::new(original, moved, turned));
        if let Some(transform) = &transform {
            minimisers.iter_mut().for_each(|m| *m = transform.image_of(m));
        }
        let (minimum, domain) = (function.minimum(dim), info.domain_in(dim));
        Ok(Problem {
            function,
            info,
            constraints: entry.constraints,
            dim,
            domain,
            transform,
            minimum,
            minimisers,
            description,
            original: original_name,
        })
    }
}

impl fmt::Debug for ProblemBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProblemBuilder")
            .field("function", &self.entry.as_ref().map(|entry| entry.info.name))
            .field("dim", &self.dim)
            .field("parameters", &self.parameters)
            .field("shift", &self.shift)
            .field("rotation", &self.rotation)
            .finish()
    }
}

/// A value for each parameter of the function: the one given, or the default.
fn parameter_values(info: &Info, given: &[(String, f64)]) -> Result<Vec<f64>, ProblemError> {
    let mut values: Vec<f64> = info.parameters.iter().map(|p| p.default).collect();
    for (name, value) in given {
        let Some(place) = info.parameters.iter().position(|p| plain(p.name) == plain(name)) else {
            let (parameter, accepted) = (name.clone(), info.parameters);
            return Err(ProblemError::UnknownParameter { function: info.name, parameter, accepted });
        };
        let parameter = info.parameters[place];
        if !(parameter.least..=parameter.most).contains(value) {
            return Err(ProblemError::BadParameter { function: info.name, parameter, value: *value });
        }
        values[place] = *value;
    }
    Ok(values)
}

fn describe(info: &Info, values: &[f64], shift: Option<&Shift>, rotation: Option<u64>) -> String {
    let parameters: Vec<_> = info.parameters.iter().zip(values).map(|(p, v)| format!("{} {v}", p.name)).collect();
    let mut words = info.name.to_string();
    if !parameters.is_empty() {
        words += &format!(" ({})", parameters.join(", "));
    }
    if let Some(shift) = shift {
        words += &format!(", {}", shift.words());
    }
    if let Some(seed) = rotation {
        words += &format!(", rotated (seed {seed})");
    }
    words
}
