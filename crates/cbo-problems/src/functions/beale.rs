//! Beale: a flat region with sharp corners.
//!
//! - formula: `(1.5 - x + x y)^2 + (2.25 - x + x y^2)^2 + (2.625 - x + x y^3)^2`
//! - dimensions: 2
//! - domain: [-4.5, 4.5] in each coordinate
//! - minimum: 0 at (3, 0.5)
//! - source: Beale 1958, On an iterative method for finding a local minimum of a function of more than one variable

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Beale;

impl Function for Beale {
    const INFO: Info = Info {
        name: "beale",
        title: "Beale",
        formula: "(1.5 - x + x y)^2 + (2.25 - x + x y^2)^2 + (2.625 - x + x y^3)^2",
        dims: Dims::Exactly(2),
        domain: &[(-4.5, 4.5)],
        confined: false,
        optimum: "0 at (3, 0.5)",
        source: "Beale 1958, On an iterative method for finding a local minimum of a function of more than one variable",
        parameters: &[],
    };

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![3.0, 0.5]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        let mut power = R::constant(1.0);
        for start in [1.5, 2.25, 2.625] {
            power = power * x[1];
            sum = sum + (x[0] * (power - 1.0) + start).square();
        }
        sum
    }
}
