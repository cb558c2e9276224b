//! Schwefel 2.26: deceptive: the second-best valley lies at the other end of the domain.
//!
//! - formula: `sum_k 418.9828872724337 - x_k sin(sqrt(|x_k|))`
//! - dimensions: any
//! - domain: [-500, 500] in each coordinate; outside it there are lower points
//! - minimum: 0 at (420.96874635998203, ...)
//! - source: Schwefel 1981, Numerical Optimization of Computer Models, function 2.26
//!
//! The constant makes the minimum 0; with the usual 418.9829 it would be 1.3e-5 d. Outside the domain the function
//! is unbounded below.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Schwefel;

impl Function for Schwefel {
    const INFO: Info = Info {
        name: "schwefel",
        title: "Schwefel 2.26",
        formula: "sum_k 418.9828872724337 - x_k sin(sqrt(|x_k|))",
        dims: Dims::AtLeast(1),
        domain: &[(-500.0, 500.0)],
        confined: true,
        optimum: "0 at (420.96874635998203, ...)",
        source: "Schwefel 1981, Numerical Optimization of Computer Models, function 2.26",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![420.96874635998203; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            sum = sum + (R::constant(418.9828872724337) - v * v.abs().sqrt().sin());
        }
        sum
    }
}
