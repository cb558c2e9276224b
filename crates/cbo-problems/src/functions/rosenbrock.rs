//! Rosenbrock: a long, curved, almost flat valley.
//!
//! - formula: `sum_k 100 (x_{k+1} - x_k^2)^2 + (1 - x_k)^2, k < d`
//! - dimensions: at least 2
//! - domain: [-5, 10] in each coordinate
//! - minimum: 0 at (1, ..., 1)
//! - source: Rosenbrock 1960, doi:10.1093/comjnl/3.3.175

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rosenbrock;

impl Function for Rosenbrock {
    const INFO: Info = Info {
        name: "rosenbrock",
        title: "Rosenbrock",
        formula: "sum_k 100 (x_{k+1} - x_k^2)^2 + (1 - x_k)^2, k < d",
        dims: Dims::AtLeast(2),
        domain: &[(-5.0, 10.0)],
        confined: false,
        optimum: "0 at (1, ..., 1)",
        source: "Rosenbrock 1960, doi:10.1093/comjnl/3.3.175",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![1.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for k in 1..x.len() {
            let bend = x[k] - x[k - 1].square();
            sum = sum + bend.square() * 100.0 + (x[k - 1] - 1.0).square();
        }
        sum
    }
}
