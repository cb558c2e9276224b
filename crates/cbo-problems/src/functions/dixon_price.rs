//! Dixon-Price: a chain in which each coordinate bends the next.
//!
//! - formula: `(x_1 - 1)^2 + sum_{k>1} k (2 x_k^2 - x_{k-1})^2`
//! - dimensions: any
//! - domain: [-10, 10] in each coordinate
//! - minimum: 0 at x_k = 2^(2^(1-k) - 1); the last coordinate may change sign
//! - source: Dixon and Price 1989, doi:10.1007/BF00940007

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct DixonPrice;

impl Function for DixonPrice {
    const INFO: Info = Info {
        name: "dixon-price",
        title: "Dixon-Price",
        formula: "(x_1 - 1)^2 + sum_{k>1} k (2 x_k^2 - x_{k-1})^2",
        dims: Dims::AtLeast(1),
        domain: &[(-10.0, 10.0)],
        confined: false,
        optimum: "0 at x_k = 2^(2^(1-k) - 1); the last coordinate may change sign",
        source: "Dixon and Price 1989, doi:10.1007/BF00940007",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        let mut first: Vec<f64> = (0..dim).map(|k| (0.5f64.powi(k as i32) - 1.0).exp2()).collect();
        let mut both = vec![first.clone()];
        if dim > 1 {
            first[dim - 1] = -first[dim - 1];
            both.push(first);
        }
        both
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = (x[0] - 1.0).square();
        for k in 1..x.len() {
            let bend = x[k].square() * 2.0 - x[k - 1];
            sum = sum + bend.square() * (k + 1) as f64;
        }
        sum
    }
}
