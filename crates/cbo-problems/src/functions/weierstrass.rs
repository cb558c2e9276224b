//! Weierstrass: continuous, almost nowhere smooth.
//!
//! - formula: `sum_k sum_{j=0..20} 2^-j (1 - cos(2 pi 3^j x_k))`
//! - dimensions: any
//! - domain: [-0.5, 0.5] in each coordinate
//! - minimum: 0 at the origin and, outside the domain, at all points with whole coordinates
//! - source: Suganthan and others 2005, Problem definitions for the CEC 2005 special session on real-parameter
//!   optimization, function 11
//!
//! The usual form, with cos(2 pi 3^j (x_k + 1/2)) and its value at 0 subtracted, is the same, since 3^j is odd.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Weierstrass;

impl Function for Weierstrass {
    const INFO: Info = Info {
        name: "weierstrass",
        title: "Weierstrass",
        formula: "sum_k sum_{j=0..20} 2^-j (1 - cos(2 pi 3^j x_k))",
        dims: Dims::AtLeast(1),
        domain: &[(-0.5, 0.5)],
        confined: false,
        optimum: "0 at the origin and, outside the domain, at all points with whole coordinates",
        source: "Suganthan and others 2005, Problem definitions for the CEC 2005 special session on real-parameter optimization, function 11",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    fn nearest_minimiser(&self, x: &[f64]) -> Vec<f64> {
        x.iter().map(|v| v.round()).collect()
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            let (mut height, mut frequency) = (2.0, 1.0);
            for _ in 0..=20 {
                sum = (v * frequency).sin_pi_up_to_sign().square().mul_add(R::constant(height), sum);
                height *= 0.5;
                frequency *= 3.0;
            }
        }
        sum
    }
}
