//! G24: a plane over two regions that do not touch.
//!
//! - formula: `-x - y`
//! - constraint: `y <= 2 x^4 - 8 x^3 + 8 x^2 + 2`
//! - constraint: `y <= 4 x^4 - 32 x^3 + 88 x^2 - 96 x + 36`
//! - dimensions: 2
//! - domain: [0, 3] x [0, 4]; outside it there are lower points
//! - minimum: -5.508013271595274 at (2.3295201974776054, 3.1784930741176685)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g24

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G24;

impl Function for G24 {
    const INFO: Info = Info {
        name: "g24",
        title: "G24",
        formula: "-x - y",
        dims: Dims::Exactly(2),
        domain: &[(0.0, 3.0), (0.0, 4.0)],
        confined: true,
        optimum: "-5.508013271595274 at (2.3295201974776054, 3.1784930741176685)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g24",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "y <= 2 x^4 - 8 x^3 + 8 x^2 + 2",
        "y <= 4 x^4 - 32 x^3 + 88 x^2 - 96 x + 36",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        -5.508013271595274
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![2.3295201974776054, 3.1784930741176685]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        -x[0] - x[1]
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        let (square, cube, fourth) = (x[0].square(), x[0].powi(3), x[0].powi(4));
        g[0] = x[1] - fourth * 2.0 + cube * 8.0 - square * 8.0 - 2.0;
        g[1] = x[1] - fourth * 4.0 + cube * 32.0 - square * 88.0 + x[0] * 96.0 - 36.0;
    }
}
