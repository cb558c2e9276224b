//! G04: a quadratic, with products of coordinates between limits.
//!
//! - formula: `5.3578547 x3^2 + 0.8356891 x1 x5 + 37.293239 x1 - 40792.141`
//! - constraint: `85.334407 + 0.0056858 x2 x5 + 0.0006262 x1 x4 - 0.0022053 x3 x5 <= 92`
//! - constraint: `85.334407 + 0.0056858 x2 x5 + 0.0006262 x1 x4 - 0.0022053 x3 x5 >= 0`
//! - constraint: `80.51249 + 0.0071317 x2 x5 + 0.0029955 x1 x2 + 0.0021813 x3^2 <= 110`
//! - constraint: `80.51249 + 0.0071317 x2 x5 + 0.0029955 x1 x2 + 0.0021813 x3^2 >= 90`
//! - constraint: `9.300961 + 0.0047026 x3 x5 + 0.0012547 x1 x3 + 0.0019085 x3 x4 <= 25`
//! - constraint: `9.300961 + 0.0047026 x3 x5 + 0.0012547 x1 x3 + 0.0019085 x3 x4 >= 20`
//! - dimensions: 5
//! - domain: [78, 102] x [33, 45] x [27, 45] x [27, 45] x [27, 45]; outside it there are lower points
//! - minimum: -30665.538671783317 at (78, 33, 29.9952560256816, 45, 36.77581290578821)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g04

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G04;

impl Function for G04 {
    const INFO: Info = Info {
        name: "g04",
        title: "G04",
        formula: "5.3578547 x3^2 + 0.8356891 x1 x5 + 37.293239 x1 - 40792.141",
        dims: Dims::Exactly(5),
        domain: &[(78.0, 102.0), (33.0, 45.0), (27.0, 45.0), (27.0, 45.0), (27.0, 45.0)],
        confined: true,
        optimum: "-30665.538671783317 at (78, 33, 29.9952560256816, 45, 36.77581290578821)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g04",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "85.334407 + 0.0056858 x2 x5 + 0.0006262 x1 x4 - 0.0022053 x3 x5 <= 92",
        "85.334407 + 0.0056858 x2 x5 + 0.0006262 x1 x4 - 0.0022053 x3 x5 >= 0",
        "80.51249 + 0.0071317 x2 x5 + 0.0029955 x1 x2 + 0.0021813 x3^2 <= 110",
        "80.51249 + 0.0071317 x2 x5 + 0.0029955 x1 x2 + 0.0021813 x3^2 >= 90",
        "9.300961 + 0.0047026 x3 x5 + 0.0012547 x1 x3 + 0.0019085 x3 x4 <= 25",
        "9.300961 + 0.0047026 x3 x5 + 0.0012547 x1 x3 + 0.0019085 x3 x4 >= 20",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        -30665.538671783317
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![78.0, 33.0, 29.9952560256816, 45.0, 36.77581290578821]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        x[2].square() * 5.3578547 + x[0] * x[4] * 0.8356891 + x[0] * 37.293239 - 40792.141
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        let u = x[1] * x[4] * 0.0056858 + x[0] * x[3] * 0.0006262 - x[2] * x[4] * 0.0022053 + 85.334407;
        let v = x[1] * x[4] * 0.0071317 + x[0] * x[1] * 0.0029955 + x[2].square() * 0.0021813 + 80.51249;
        let w = x[2] * x[4] * 0.0047026 + x[0] * x[2] * 0.0012547 + x[2] * x[3] * 0.0019085 + 9.300961;
        g[0] = u - 92.0;
        g[1] = -u;
        g[2] = v - 110.0;
        g[3] = -v + 90.0;
        g[4] = w - 25.0;
        g[5] = -w + 20.0;
    }
}
