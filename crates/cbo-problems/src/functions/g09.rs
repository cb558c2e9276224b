//! G09: powers up to the sixth.
//!
//! - formula: `(x1 - 10)^2 + 5 (x2 - 12)^2 + x3^4 + 3 (x4 - 11)^2 + 10 x5^6 + 7 x6^2 + x7^4 - 4 x6 x7 - 10 x6 - 8 x7`
//! - constraint: `2 x1^2 + 3 x2^4 + x3 + 4 x4^2 + 5 x5 <= 127`
//! - constraint: `7 x1 + 3 x2 + 10 x3^2 + x4 - x5 <= 282`
//! - constraint: `23 x1 + x2^2 + 6 x6^2 - 8 x7 <= 196`
//! - constraint: `4 x1^2 + x2^2 - 3 x1 x2 + 2 x3^2 + 5 x6 - 11 x7 <= 0`
//! - dimensions: 7
//! - domain: [-10, 10] in each coordinate; outside it points are infeasible
//! - minimum: 680.6300573744022 at (2.33049937287957, 1.951372372896889, -0.4775413923888716, 4.36572623365581,
//!   -0.6244869705268175, 1.0381310186079584, 1.5942267116118685)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g09

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G09;

impl Function for G09 {
    const INFO: Info = Info {
        name: "g09",
        title: "G09",
        formula: "(x1 - 10)^2 + 5 (x2 - 12)^2 + x3^4 + 3 (x4 - 11)^2 + 10 x5^6 + 7 x6^2 + x7^4 - 4 x6 x7 - 10 x6 - 8 x7",
        dims: Dims::Exactly(7),
        domain: &[(-10.0, 10.0)],
        confined: true,
        optimum: "680.6300573744022 at (2.33049937287957, 1.951372372896889, -0.4775413923888716, 4.36572623365581, -0.6244869705268175, 1.0381310186079584, 1.5942267116118685)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g09",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "2 x1^2 + 3 x2^4 + x3 + 4 x4^2 + 5 x5 <= 127",
        "7 x1 + 3 x2 + 10 x3^2 + x4 - x5 <= 282",
        "23 x1 + x2^2 + 6 x6^2 - 8 x7 <= 196",
        "4 x1^2 + x2^2 - 3 x1 x2 + 2 x3^2 + 5 x6 - 11 x7 <= 0",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        680.6300573744022
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![2.33049937287957, 1.951372372896889, -0.4775413923888716, 4.36572623365581, -0.6244869705268175, 1.0381310186079584, 1.5942267116118685]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let first = (x[0] - 10.0).square() + (x[1] - 12.0).square() * 5.0 + x[2].powi(4);
        let middle = (x[3] - 11.0).square() * 3.0 + x[4].powi(6) * 10.0 + x[5].square() * 7.0 + x[6].powi(4);
        first + middle - x[5] * x[6] * 4.0 - x[5] * 10.0 - x[6] * 8.0
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = x[0].square() * 2.0 + x[1].powi(4) * 3.0 + x[2] + x[3].square() * 4.0 + x[4] * 5.0 - 127.0;
        g[1] = x[0] * 7.0 + x[1] * 3.0 + x[2].square() * 10.0 + x[3] - x[4] - 282.0;
        g[2] = x[0] * 23.0 + x[1].square() + x[5].square() * 6.0 - x[6] * 8.0 - 196.0;
        g[3] = x[0].square() * 4.0 + x[1].square() - x[0] * x[1] * 3.0 + x[2].square() * 2.0 + x[5] * 5.0 - x[6] * 11.0;
    }
}
