//! Sum of squares: a bowl whose weights grow with the coordinate.
//!
//! - formula: `sum_k k x_k^2`
//! - dimensions: any
//! - domain: [-10, 10] in each coordinate
//! - minimum: 0 at the origin
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct SumOfSquares;

impl Function for SumOfSquares {
    const INFO: Info = Info {
        name: "sum-of-squares",
        title: "Sum of squares",
        formula: "sum_k k x_k^2",
        dims: Dims::AtLeast(1),
        domain: &[(-10.0, 10.0)],
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
            sum = (v * v).mul_add(R::constant((k + 1) as f64), sum);
        }
        sum
    }
}
