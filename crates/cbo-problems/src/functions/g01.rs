//! G01: a concave quadratic over a polytope.
//!
//! - formula: `5 sum_{k=1..4} (x_k - x_k^2) - sum_{k=5..13} x_k`
//! - constraint: `2 x1 + 2 x2 + x10 + x11 <= 10`
//! - constraint: `2 x1 + 2 x3 + x10 + x12 <= 10`
//! - constraint: `2 x2 + 2 x3 + x11 + x12 <= 10`
//! - constraint: `x10 <= 8 x1`
//! - constraint: `x11 <= 8 x2`
//! - constraint: `x12 <= 8 x3`
//! - constraint: `x10 <= 2 x4 + x5`
//! - constraint: `x11 <= 2 x6 + x7`
//! - constraint: `x12 <= 2 x8 + x9`
//! - dimensions: 13
//! - domain: [0, 1] in each coordinate but [0, 100] in x10, x11 and x12; outside it there are lower points
//! - minimum: -15 at (1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g01

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G01;

impl Function for G01 {
    const INFO: Info = Info {
        name: "g01",
        title: "G01",
        formula: "5 sum_{k=1..4} (x_k - x_k^2) - sum_{k=5..13} x_k",
        dims: Dims::Exactly(13),
        domain: &[(0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 1.0), (0.0, 100.0), (0.0, 100.0), (0.0, 100.0), (0.0, 1.0)],
        confined: true,
        optimum: "-15 at (1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 1)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g01",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "2 x1 + 2 x2 + x10 + x11 <= 10",
        "2 x1 + 2 x3 + x10 + x12 <= 10",
        "2 x2 + 2 x3 + x11 + x12 <= 10",
        "x10 <= 8 x1",
        "x11 <= 8 x2",
        "x12 <= 8 x3",
        "x10 <= 2 x4 + x5",
        "x11 <= 2 x6 + x7",
        "x12 <= 2 x8 + x9",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        -15.0
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 1.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in &x[..4] {
            sum = sum + (v - v.square()) * 5.0;
        }
        for &v in &x[4..] {
            sum = sum - v;
        }
        sum
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = (x[0] + x[1]) * 2.0 + x[9] + x[10] - 10.0;
        g[1] = (x[0] + x[2]) * 2.0 + x[9] + x[11] - 10.0;
        g[2] = (x[1] + x[2]) * 2.0 + x[10] + x[11] - 10.0;
        g[3] = x[9] - x[0] * 8.0;
        g[4] = x[10] - x[1] * 8.0;
        g[5] = x[11] - x[2] * 8.0;
        g[6] = x[9] - x[3] * 2.0 - x[4];
        g[7] = x[10] - x[5] * 2.0 - x[6];
        g[8] = x[11] - x[7] * 2.0 - x[8];
    }
}
