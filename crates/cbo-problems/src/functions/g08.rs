//! G08: waves that are far lower where they may not be entered.
//!
//! - formula: `-sin^3(2 pi x) sin(2 pi y) / (x^3 (x + y))`
//! - constraint: `x^2 - y + 1 <= 0`
//! - constraint: `1 - x + (y - 4)^2 <= 0`
//! - dimensions: 2
//! - domain: [0, 10] in each coordinate; outside it there are lower points
//! - minimum: -0.09582504141803581 at (1.2279713527638443, 4.245373366458418)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g08

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::TAU;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G08;

impl Function for G08 {
    const INFO: Info = Info {
        name: "g08",
        title: "G08",
        formula: "-sin^3(2 pi x) sin(2 pi y) / (x^3 (x + y))",
        dims: Dims::Exactly(2),
        domain: &[(0.0, 10.0)],
        confined: true,
        optimum: "-0.09582504141803581 at (1.2279713527638443, 4.245373366458418)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g08",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "x^2 - y + 1 <= 0",
        "1 - x + (y - 4)^2 <= 0",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        -0.09582504141803581
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![1.2279713527638443, 4.245373366458418]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        // In this order nothing next to zero is too small for a number.
        -((x[0] * TAU).sin() / x[0]).powi(3) * ((x[1] * TAU).sin() / (x[0] + x[1]))
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = x[0].square() - x[1] + 1.0;
        g[1] = -x[0] + (x[1] - 4.0).square() + 1.0;
    }
}
