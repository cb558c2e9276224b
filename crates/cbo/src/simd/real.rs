//! `Real`: the arithmetic that a formula may use, on one number or on a whole vector of them.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number, or a vector of them, in a formula.
///
/// Implemented by `f64` (through the standard library: the slow, obvious reference) and by every SIMD vector. Constants
/// are plain `f64` on the right-hand side: `x.square() * 2.0 + 1.0`.
pub trait Real:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + Add<f64, Output = Self>
    + Sub<f64, Output = Self>
    + Mul<f64, Output = Self>
    + Div<f64, Output = Self>
{
    /// The constant `value`.
    fn constant(value: f64) -> Self;
    /// `self * factor + summand`, rounded once.
    fn mul_add(self, factor: Self, summand: Self) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// Absolute value.
    fn abs(self) -> Self;
    /// Greatest integer not above.
    fn floor(self) -> Self;
    /// Nearest integer, ties to even.
    fn round(self) -> Self;
    /// The smaller of two numbers.
    fn min(self, other: Self) -> Self;
    /// The larger of two numbers.
    fn max(self, other: Self) -> Self;
    /// `yes` where `self < other`, else `no`.
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self;
    /// e^self.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// sin(self), in radians.
    fn sin(self) -> Self;
    /// cos(self), in radians.
    fn cos(self) -> Self;
    /// sin(pi self), exact at integers.
    fn sin_pi(self) -> Self;

    /// sin(pi self) up to its sign, for formulas in which only the square counts; exact at integers.
    #[inline(always)]
    fn sin_pi_up_to_sign(self) -> Self {
        self.sin_pi()
    }

    /// cos(pi self).
    #[inline(always)]
    fn cos_pi(self) -> Self {
        // The reduction makes the shift by 1/2 exact.
        let reduced = self - (self * 0.5).round() * 2.0;
        (Self::constant(0.5) - reduced.abs()).sin_pi()
    }

    /// self * self.
    #[inline(always)]
    fn square(self) -> Self {
        self * self
    }

    /// The power with a non-negative whole exponent.
    #[inline(always)]
    fn powi(self, exponent: u32) -> Self {
        let (mut result, mut base, mut left) = (Self::constant(1.0), self, exponent);
        while left > 0 {
            if left & 1 == 1 {
                result = result * base;
            }
            base = base * base;
            left >>= 1;
        }
        result
    }

    /// The power of a non-negative base with a positive real exponent; NaN for a negative base.
    #[inline(always)]
    fn powf(self, exponent: f64) -> Self {
        (self.ln() * exponent).exp()
    }
}

impl Real for f64 {
    fn constant(value: f64) -> Self {
        value
    }
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        f64::mul_add(self, factor, summand)
    }
    fn sqrt(self) -> Self {
        f64::sqrt(self)
    }
    fn abs(self) -> Self {
        f64::abs(self)
    }
    fn floor(self) -> Self {
        f64::floor(self)
    }
    fn round(self) -> Self {
        f64::round_ties_even(self)
    }
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        if self < other { yes } else { no }
    }
    fn exp(self) -> Self {
        f64::exp(self)
    }
    fn ln(self) -> Self {
        f64::ln(self)
    }
    fn sin(self) -> Self {
        f64::sin(self)
    }
    fn cos(self) -> Self {
        f64::cos(self)
    }
    fn sin_pi(self) -> Self {
        let nearest = self.round_ties_even();
        let sign = if nearest.rem_euclid(2.0) == 1.0 { -1.0 } else { 1.0 };
        sign * (std::f64::consts::PI * (self - nearest)).sin()
    }
}
