//! Xin-She Yang 2: a cusp at the minimum amid many deep valleys.
//!
//! - formula: `(sum_k |x_k|) exp(-sum_k sin(x_k^2))`
//! - dimensions: any
//! - domain: [-2 pi, 2 pi] in each coordinate
//! - minimum: 0 at the origin
//! - source: Yang 2010, arXiv:1008.0549
//!
//! Of the author's functions this is the second, which is deterministic.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct XinSheYang;

impl Function for XinSheYang {
    const INFO: Info = Info {
        name: "xin-she-yang",
        title: "Xin-She Yang 2",
        formula: "(sum_k |x_k|) exp(-sum_k sin(x_k^2))",
        dims: Dims::AtLeast(1),
        domain: &[(-2.0 * PI, 2.0 * PI)],
        confined: false,
        optimum: "0 at the origin",
        source: "Yang 2010, arXiv:1008.0549",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (mut sum, mut waves) = (R::constant(0.0), R::constant(0.0));
        for &v in x {
            sum = sum + v.abs();
            waves = waves + v.square().sin();
        }
        sum * (-waves).exp()
    }
}
