//! G10: a heat exchanger, all of whose constraints hold.
//!
//! - formula: `x1 + x2 + x3`
//! - constraint: `0.0025 (x4 + x6) <= 1`
//! - constraint: `0.0025 (-x4 + x5 + x7) <= 1`
//! - constraint: `0.01 (x8 - x5) <= 1`
//! - constraint: `100 x1 - x1 x6 + 833.33252 x4 <= 83333.333`
//! - constraint: `x2 x4 - x2 x7 - 1250 x4 + 1250 x5 <= 0`
//! - constraint: `x3 x5 - x3 x8 - 2500 x5 + 1250000 <= 0`
//! - dimensions: 8
//! - domain: [100, 10000] in x1, [1000, 10000] in x2 and x3, [10, 1000] in the others; outside it there are lower
//!   points
//! - minimum: 7049.248020528665 at (579.3066844253551, 1359.9706680516551, 5109.970668051655, 182.01769958111993,
//!   295.6011732779338, 217.98230041888007, 286.4165263031861, 395.6011732779338)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g10

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G10;

impl Function for G10 {
    const INFO: Info = Info {
        name: "g10",
        title: "G10",
        formula: "x1 + x2 + x3",
        dims: Dims::Exactly(8),
        domain: &[(100.0, 10000.0), (1000.0, 10000.0), (1000.0, 10000.0), (10.0, 1000.0), (10.0, 1000.0), (10.0, 1000.0), (10.0, 1000.0), (10.0, 1000.0)],
        confined: true,
        optimum: "7049.248020528665 at (579.3066844253551, 1359.9706680516551, 5109.970668051655, 182.01769958111993, 295.6011732779338, 217.98230041888007, 286.4165263031861, 395.6011732779338)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g10",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "0.0025 (x4 + x6) <= 1",
        "0.0025 (-x4 + x5 + x7) <= 1",
        "0.01 (x8 - x5) <= 1",
        "100 x1 - x1 x6 + 833.33252 x4 <= 83333.333",
        "x2 x4 - x2 x7 - 1250 x4 + 1250 x5 <= 0",
        "x3 x5 - x3 x8 - 2500 x5 + 1250000 <= 0",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        7049.248020528665
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![579.3066844253551, 1359.9706680516551, 5109.970668051655, 182.01769958111993, 295.6011732779338, 217.98230041888007, 286.4165263031861, 395.6011732779338]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        x[0] + x[1] + x[2]
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = (x[3] + x[5]) * 0.0025 - 1.0;
        g[1] = (x[4] + x[6] - x[3]) * 0.0025 - 1.0;
        g[2] = (x[7] - x[4]) * 0.01 - 1.0;
        g[3] = x[0] * 100.0 - x[0] * x[5] + x[3] * 833.33252 - 83333.333;
        g[4] = x[1] * x[3] - x[1] * x[6] - x[3] * 1250.0 + x[4] * 1250.0;
        g[5] = x[2] * x[4] - x[2] * x[7] - x[4] * 2500.0 + 1250000.0;
    }
}
