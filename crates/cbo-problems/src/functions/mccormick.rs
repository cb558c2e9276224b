//! McCormick: a slanted, wavy plate.
//!
//! - formula: `sin(x + y) + (x - y)^2 - 3x/2 + 5y/2 + 1`
//! - dimensions: 2
//! - domain: [-1.5, 4] x [-3, 4]; outside it there are lower points
//! - minimum: -1.9132229549810365 at (1/2 - pi/3, -1/2 - pi/3)
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204
//!
//! Unbounded below outside the domain.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Mccormick;

impl Function for Mccormick {
    const INFO: Info = Info {
        name: "mccormick",
        title: "McCormick",
        formula: "sin(x + y) + (x - y)^2 - 3x/2 + 5y/2 + 1",
        dims: Dims::Exactly(2),
        domain: &[(-1.5, 4.0), (-3.0, 4.0)],
        confined: true,
        optimum: "-1.9132229549810365 at (1/2 - pi/3, -1/2 - pi/3)",
        source: "Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -1.9132229549810365
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.5 - PI / 3.0, -0.5 - PI / 3.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        (x[0] + x[1]).sin() + (x[0] - x[1]).square() - x[0] * 1.5 + x[1] * 2.5 + 1.0
    }
}
