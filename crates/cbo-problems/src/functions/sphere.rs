//! Sphere: the sum of squares, the plainest bowl.
//!
//! - formula: `sum_k x_k^2`
//! - dimensions: any
//! - domain: [-5.12, 5.12] in each coordinate
//! - minimum: 0 at the origin
//! - source: De Jong 1975, An analysis of the behavior of a class of genetic adaptive systems

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sphere;

impl Function for Sphere {
    const INFO: Info = Info {
        name: "sphere",
        title: "Sphere",
        formula: "sum_k x_k^2",
        dims: Dims::AtLeast(1),
        domain: &[(-5.12, 5.12)],
        confined: false,
        optimum: "0 at the origin",
        source: "De Jong 1975, An analysis of the behavior of a class of genetic adaptive systems",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            sum = v.mul_add(v, sum);
        }
        sum
    }
}
