//! Griewank: a wide bowl under a product of cosines.
//!
//! - formula: `1 + sum_k x_k^2 / 4000 - prod_k cos(x_k / sqrt(k))`
//! - dimensions: any
//! - domain: [-600, 600] in each coordinate
//! - minimum: 0 at the origin
//! - source: Griewank 1981, doi:10.1007/BF00933356

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Griewank;

impl Function for Griewank {
    const INFO: Info = Info {
        name: "griewank",
        title: "Griewank",
        formula: "1 + sum_k x_k^2 / 4000 - prod_k cos(x_k / sqrt(k))",
        dims: Dims::AtLeast(1),
        domain: &[(-600.0, 600.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Griewank 1981, doi:10.1007/BF00933356",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (mut sum, mut product) = (R::constant(0.0), R::constant(1.0));
        for (k, &v) in x.iter().enumerate() {
            sum = v.mul_add(v, sum);
            product = product * (v * (1.0 / ((k + 1) as f64).sqrt())).cos();
        }
        sum * (1.0 / 4000.0) - product + 1.0
    }
}
