//! Easom: a flat plain with one small hole.
//!
//! - formula: `-cos(x) cos(y) exp(-(x - pi)^2 - (y - pi)^2)`
//! - dimensions: 2
//! - domain: [-100, 100] in each coordinate
//! - minimum: -1 at (pi, pi)
//! - source: Easom 1990, A survey of global optimization techniques

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Easom;

impl Function for Easom {
    const INFO: Info = Info {
        name: "easom",
        title: "Easom",
        formula: "-cos(x) cos(y) exp(-(x - pi)^2 - (y - pi)^2)",
        dims: Dims::Exactly(2),
        domain: &[(-100.0, 100.0)],
        confined: false,
        optimum: "-1 at (pi, pi)",
        source: "Easom 1990, A survey of global optimization techniques",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -1.0
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![PI, PI]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let square = (x[0] - PI).square() + (x[1] - PI).square();
        -(x[0].cos() * x[1].cos() * (-square).exp())
    }
}
