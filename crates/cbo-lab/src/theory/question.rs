//! What the theorem is asked: the dynamics, the accuracy, and what its proof leaves open.

use super::TheoryError;
use super::mass::least_c;
use super::words::number;

/// Beyond these the proof's constants, which have fourth powers, overflow or vanish.
const LEAST: f64 = 1e-50;
const LARGEST: f64 = 1e50;
const LEAST_TAU: f64 = 1e-300;

/// A number this close to the least admissible c counts as it.
const NEAR: f64 = 1e-9;

/// The accuracy epsilon that is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// epsilon itself.
    Epsilon(f64),
    /// epsilon as a fraction of V_0.
    Ratio(f64),
}

/// What the theorem is asked about, besides the function and the initial law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// lambda > 0.
    pub lambda: f64,
    /// sigma >= 0.
    pub sigma: f64,
    /// tau in (0, 1): the fraction of the rate that is given away.
    pub tau: f64,
    /// The accuracy.
    pub accuracy: Accuracy,
    /// c of the mass bound; the best one if `None`.
    pub c: Option<f64>,
    /// R_0 of assumption A2; the one with the least alpha_0 if `None`.
    pub r0: Option<f64>,
}

impl Question {
    /// 2 lambda - sigma^2, the rate of the theorem.
    pub fn rate(&self) -> f64 {
        2.0 * self.lambda - self.sigma * self.sigma
    }

    /// The question, if everything is admissible; a c that is the least one up to rounding is replaced by it.
    pub(super) fn checked(mut self) -> Result<Self, TheoryError> {
        let Self { lambda, sigma, tau, c, .. } = self;
        if !(lambda > 0.0 && lambda.is_finite()) {
            return Err(TheoryError::number("lambda", lambda, "must be a positive finite number"));
        }
        if !(LEAST..=LARGEST).contains(&lambda) {
            let remedy =
                format!("must lie between {LEAST:e} and {LARGEST:e}; beyond, the constants cannot be computed");
            return Err(TheoryError::number("lambda", lambda, remedy));
        }
        if !(sigma >= 0.0 && sigma.is_finite()) {
            return Err(TheoryError::number("sigma", sigma, "must be zero or a positive finite number"));
        }
        if sigma > 0.0 && sigma < LEAST {
            let remedy = format!("must be 0 or at least {LEAST:e}; below, the constants cannot be computed");
            return Err(TheoryError::number("sigma", sigma, remedy));
        }
        if !(tau > 0.0 && tau < 1.0) {
            return Err(TheoryError::number("tau", tau, "must lie between 0 and 1, both excluded"));
        }
        if tau < LEAST_TAU {
            return Err(TheoryError::number("tau", tau, format!("must be at least {LEAST_TAU:e}")));
        }
        if let Some(c) = c {
            let least = least_c();
            if !(c >= least - NEAR && c < 1.0) {
                // Rounded up, so that what is printed is admissible.
                let shown = (least * 1e7).ceil() / 1e7;
                let range = format!("from (sqrt(5) - 1)/2, just below {shown:.7}, to 1, excluded");
                let remedy = format!("must satisfy (1-c)^2 <= (2c-1) c and c < 1: {range}");
                return Err(TheoryError::number("c", c, remedy));
            }
            self.c = Some(c.max(least));
        }
        Ok(self)
    }

    /// epsilon, for this V_0.
    pub(super) fn epsilon(&self, v0: f64) -> Result<f64, TheoryError> {
        if !(v0 > 0.0 && v0.is_finite()) {
            let remedy = "V_0, half the mean square distance of the initial law from v*, must be positive and finite";
            return Err(TheoryError::new("init", format!("a law with V_0 = {}", number(v0)), remedy));
        }
        match self.accuracy {
            Accuracy::Ratio(ratio) if ratio > 0.0 && ratio < 1.0 && ratio * v0 >= f64::MIN_POSITIVE => Ok(ratio * v0),
            Accuracy::Ratio(ratio) if ratio > 0.0 && ratio < 1.0 => {
                let remedy =
                    format!("is too small: epsilon, this fraction of V_0 = {}, cannot be told from 0", number(v0));
                Err(TheoryError::number("epsilon-ratio", ratio, remedy))
            }
            Accuracy::Ratio(ratio) => {
                Err(TheoryError::number("epsilon-ratio", ratio, "must lie between 0 and 1, both excluded"))
            }
            Accuracy::Epsilon(epsilon) if epsilon > 0.0 && epsilon < v0 => Ok(epsilon),
            Accuracy::Epsilon(epsilon) => {
                let remedy = format!("must lie between 0 and V_0 = {}, both excluded", number(v0));
                Err(TheoryError::number("epsilon", epsilon, remedy))
            }
        }
    }
}
