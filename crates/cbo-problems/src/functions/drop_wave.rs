//! Drop-wave: rings on water.
//!
//! - formula: `-(1 + cos(12 r)) / (r^2/2 + 2), r = |(x, y)|`
//! - dimensions: 2
//! - domain: [-5.12, 5.12] in each coordinate
//! - minimum: -1 at the origin
//! - source: Molga and Smutnicki 2005, Test functions for optimization needs

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct DropWave;

impl Function for DropWave {
    const INFO: Info = Info {
        name: "drop-wave",
        title: "Drop-wave",
        formula: "-(1 + cos(12 r)) / (r^2/2 + 2), r = |(x, y)|",
        dims: Dims::Exactly(2),
        domain: &[(-5.12, 5.12)],
        confined: false,
        optimum: "-1 at the origin",
        source: "Molga and Smutnicki 2005, Test functions for optimization needs",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimum(&self, _dim: usize) -> f64 {
        -1.0
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0, 0.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let square = x[0].square() + x[1].square();
        -((square.sqrt() * 12.0).cos() + 1.0) / (square * 0.5 + 2.0)
    }
}
