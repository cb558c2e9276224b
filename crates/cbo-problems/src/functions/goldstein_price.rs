//! Goldstein-Price: values from 3 to a million within a small square.
//!
//! - formula: `(1 + (x + y + 1)^2 (19 - 14x + 3x^2 - 14y + 6xy + 3y^2)) (30 + (2x - 3y)^2 (18 - 32x + 12x^2 + 48y -
//!   36xy + 27y^2))`
//! - dimensions: 2
//! - domain: [-2, 2] in each coordinate
//! - minimum: 3 at (0, -1)
//! - source: Goldstein and Price 1971, doi:10.1090/S0025-5718-1971-0312365-X

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct GoldsteinPrice;

impl Function for GoldsteinPrice {
    const INFO: Info = Info {
        name: "goldstein-price",
        title: "Goldstein-Price",
        formula: "(1 + (x + y + 1)^2 (19 - 14x + 3x^2 - 14y + 6xy + 3y^2)) (30 + (2x - 3y)^2 (18 - 32x + 12x^2 + 48y - 36xy + 27y^2))",
        dims: Dims::Exactly(2),
        domain: &[(-2.0, 2.0)],
        confined: false,
        optimum: "3 at (0, -1)",
        source: "Goldstein and Price 1971, doi:10.1090/S0025-5718-1971-0312365-X",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        3.0
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0, -1.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        // Both quadratics are functions of one variable: of x + y and of 2x - 3y.
        let (s, t) = (x[0] + x[1], x[0] * 2.0 - x[1] * 3.0);
        let first = (s + 1.0).square() * ((s * 3.0 - 14.0) * s + 19.0) + 1.0;
        let second = t.square() * ((t * 3.0 - 16.0) * t + 18.0) + 30.0;
        first * second
    }
}
