//! Sum of different powers: flat near the minimum, more so with every coordinate.
//!
//! - formula: `sum_k |x_k|^(k + 1)`
//! - dimensions: any
//! - domain: [-1, 1] in each coordinate
//! - minimum: 0 at the origin
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct DifferentPowers;

impl Function for DifferentPowers {
    const INFO: Info = Info {
        name: "different-powers",
        title: "Sum of different powers",
        formula: "sum_k |x_k|^(k + 1)",
        dims: Dims::AtLeast(1),
        domain: &[(-1.0, 1.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for (k, &v) in x.iter().enumerate() {
            sum = sum + v.abs().powi(k as u32 + 2);
        }
        sum
    }
}
