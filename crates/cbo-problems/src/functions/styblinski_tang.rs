//! Styblinski-Tang: 2^d valleys, one of them deepest.
//!
//! - formula: `sum_k (x_k^4 - 16 x_k^2 + 5 x_k) / 2`
//! - dimensions: any
//! - domain: [-5, 5] in each coordinate
//! - minimum: -39.16616570377141 d at (-2.903534027771177, ...)
//! - source: Styblinski and Tang 1990, doi:10.1016/0893-6080(90)90029-K
//!
//! The minimiser is the least root of 4 x^3 - 32 x + 5.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct StyblinskiTang;

impl Function for StyblinskiTang {
    const INFO: Info = Info {
        name: "styblinski-tang",
        title: "Styblinski-Tang",
        formula: "sum_k (x_k^4 - 16 x_k^2 + 5 x_k) / 2",
        dims: Dims::AtLeast(1),
        domain: &[(-5.0, 5.0)],
        confined: false,
        optimum: "-39.16616570377141 d at (-2.903534027771177, ...)",
        source: "Styblinski and Tang 1990, doi:10.1016/0893-6080(90)90029-K",
        parameters: &[],
    };

    fn minimum(&self, dim: usize) -> f64 {
        -39.16616570377141 * dim as f64
    }

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![-2.903534027771177; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            let square = v.square();
            sum = sum + ((square - 16.0) * square + v * 5.0) * 0.5;
        }
        sum
    }
}
