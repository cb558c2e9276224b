//! Assumption A2 of the paper for a benchmark function: `||v - v*||_inf <= (E(v) - E_min)^nu / eta` in the ball of radius R_0
//! around v*, and `E(v) - E_min > E_inf` outside it.

use super::TheoryError;
use super::landscape::{Landscape, bisect};
use super::words::number;
use cbo_problems::Problem;
use serde::Serialize;

/// How far a constant can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// Proved for this function; the number is the sharp one, up to rounding.
    Exact,
    /// Found by a search that may have missed something. The true eta and E_inf may be less, E_r may be more.
    Estimate,
}

/// The constants of assumption A2 for one function and one radius R_0, and the heights `E_r` that go with them.
#[derive(Clone, Debug)]
pub struct Assumptions {
    /// eta.
    pub eta: f64,
    /// nu.
    pub nu: f64,
    /// R_0.
    pub r0: f64,
    /// E_inf.
    pub far_field: f64,
    /// Whether the numbers are proved or estimated.
    pub basis: Basis,
    /// v*.
    pub minimiser: Vec<f64>,
    /// E_min.
    pub minimum: f64,
    landscape: Landscape,
}

impl Assumptions {
    /// The constants of `problem` for the radius `r0`. An error if the function violates A2 or the radius is not admitted.
    pub fn new(problem: &Problem, r0: f64) -> Result<Self, TheoryError> {
        Self::on(problem, &Landscape::new(problem)?, r0)
    }

    /// The same, for heights that are already known.
    pub fn on(problem: &Problem, landscape: &Landscape, r0: f64) -> Result<Self, TheoryError> {
        let trial = Self::trial(problem, landscape, r0)?;
        let (eta, far_field) = landscape.refined(problem, r0);
        Self { eta, far_field, ..trial }.checked()
    }

    /// The same with less effort for estimates: for trying many radii.
    pub fn trial(problem: &Problem, landscape: &Landscape, r0: f64) -> Result<Self, TheoryError> {
        let (least, largest) = landscape.range;
        if !(least..=largest).contains(&r0) {
            let range = format!("{} and {}", number(least), number(largest));
            return Err(TheoryError::number("r0", r0, format!("the radius of assumption A2 must lie between {range}")));
        }
        let trial = Self {
            eta: landscape.eta(r0),
            nu: landscape.nu,
            r0,
            far_field: landscape.far_field(r0),
            basis: landscape.basis,
            minimiser: problem.minimisers()[0].clone(),
            minimum: problem.minimum(),
            landscape: landscape.clone(),
        };
        trial.checked()
    }

    fn checked(self) -> Result<Self, TheoryError> {
        if self.eta > 0.0 && self.far_field >= f64::MIN_POSITIVE {
            return Ok(self);
        }
        let (far_field, largest) = (number(self.far_field), number(self.landscape.range.1));
        let remedy = format!("E_inf = {far_field} is too small for a number there; take a radius nearer to {largest}");
        Err(TheoryError::number("r0", self.r0, remedy))
    }

    /// `E_r`: the largest E - E_min in the closed ball of radius `r` around v*, in the maximum norm.
    pub fn highest(&self, r: f64) -> f64 {
        self.landscape.highest(r)
    }

    /// `r_eps`: the largest s in [0, R_0] with `E_s <= q`.
    pub fn radius_below(&self, q: f64) -> f64 {
        if q.is_nan() || q <= 0.0 {
            return 0.0;
        }
        if self.highest(self.r0) <= q {
            return self.r0;
        }
        let mut high = self.r0;
        while self.highest(0.5 * high) > q {
            high *= 0.5;
        }
        bisect(0.5 * high, high, |s| self.highest(s) <= q)
    }

    /// The logarithm of [`radius_below`](Self::radius_below) for a q given by its logarithm, even where both underflow.
    pub fn log_radius_below(&self, log_q: f64) -> f64 {
        // So close to v* that only the leading power counts.
        let near = 1e-60 * self.r0;
        let log_near = self.highest(near).ln();
        if log_q < log_near {
            return near.ln() + (log_q - log_near) / self.landscape.leading_power();
        }
        self.radius_below(log_q.exp()).ln()
    }
}

/// The radii R_0 that are admitted for `problem`, least and largest. An error if A2 fails for every radius.
pub fn admissible_radii(problem: &Problem) -> Result<(f64, f64), TheoryError> {
    Ok(Landscape::new(problem)?.range)
}

/// The radius that is used when none is asked for: 0.1 for the Rastrigin function; `None` means the one with the least alpha_0.
pub fn default_r0(problem: &Problem) -> Option<f64> {
    (problem.name() == "rastrigin").then_some(0.1)
}
