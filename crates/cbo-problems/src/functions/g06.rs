//! G06: a cubic in a sliver between two circles.
//!
//! - formula: `(x - 10)^3 + (y - 20)^3`
//! - constraint: `(x - 5)^2 + (y - 5)^2 >= 100`
//! - constraint: `(x - 6)^2 + (y - 5)^2 <= 82.81`
//! - dimensions: 2
//! - domain: [13, 100] x [0, 100]; outside it there are lower points
//! - minimum: -6961.81387558014 at (14.095, 0.8429607892154782)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g06

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G06;

impl Function for G06 {
    const INFO: Info = Info {
        name: "g06",
        title: "G06",
        formula: "(x - 10)^3 + (y - 20)^3",
        dims: Dims::Exactly(2),
        domain: &[(13.0, 100.0), (0.0, 100.0)],
        confined: true,
        optimum: "-6961.81387558014 at (14.095, 0.8429607892154782)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g06",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "(x - 5)^2 + (y - 5)^2 >= 100",
        "(x - 6)^2 + (y - 5)^2 <= 82.81",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        -6961.81387558014
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![14.095, 0.8429607892154782]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        (x[0] - 10.0).powi(3) + (x[1] - 20.0).powi(3)
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = -(x[0] - 5.0).square() - (x[1] - 5.0).square() + 100.0;
        g[1] = (x[0] - 6.0).square() + (x[1] - 5.0).square() - 82.81;
    }
}
