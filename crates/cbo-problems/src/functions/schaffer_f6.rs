//! Schaffer F6: rings around a needle, chained over neighbouring coordinates.
//!
//! - formula: `sum_{k<d} 1/2 + (sin(r_k)^2 - 1/2) / (1 + r_k^2 / 1000)^2, r_k^2 = x_k^2 + x_{k+1}^2`
//! - dimensions: at least 2
//! - domain: [-100, 100] in each coordinate
//! - minimum: 0 at the origin
//! - source: Schaffer, Caruana, Eshelman and Das 1989, A study of control parameters affecting online performance
//!   of genetic algorithms
//!
//! The chain does not close: in 2 dimensions this is the original function.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct SchafferF6;

impl Function for SchafferF6 {
    const INFO: Info = Info {
        name: "schaffer-f6",
        title: "Schaffer F6",
        formula: "sum_{k<d} 1/2 + (sin(r_k)^2 - 1/2) / (1 + r_k^2 / 1000)^2, r_k^2 = x_k^2 + x_{k+1}^2",
        dims: Dims::AtLeast(2),
        domain: &[(-100.0, 100.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Schaffer, Caruana, Eshelman and Das 1989, A study of control parameters affecting online performance of genetic algorithms",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for k in 1..x.len() {
            let square = x[k].mul_add(x[k], x[k - 1].square());
            let slow = square * 0.001;
            // 1/2 + (s - 1/2) / (1 + u)^2 = (s + u + u^2/2) / (1 + u)^2: no cancellation near the minimum.
            let upper = square.sqrt().sin().square() + slow + slow.square() * 0.5;
            sum = sum + upper / (slow + 1.0).square();
        }
        sum
    }
}
