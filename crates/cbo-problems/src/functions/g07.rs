//! G07: a quadratic with six constraints that hold it.
//!
//! - formula: `x1^2 + x2^2 + x1 x2 - 14 x1 - 16 x2 + (x3 - 10)^2 + 4 (x4 - 5)^2 + (x5 - 3)^2 + 2 (x6 - 1)^2 + 5 x7^2
//!   + 7 (x8 - 11)^2 + 2 (x9 - 10)^2 + (x10 - 7)^2 + 45`
//! - constraint: `4 x1 + 5 x2 - 3 x7 + 9 x8 <= 105`
//! - constraint: `10 x1 - 8 x2 - 17 x7 + 2 x8 <= 0`
//! - constraint: `-8 x1 + 2 x2 + 5 x9 - 2 x10 <= 12`
//! - constraint: `3 (x1 - 2)^2 + 4 (x2 - 3)^2 + 2 x3^2 - 7 x4 <= 120`
//! - constraint: `5 x1^2 + 8 x2 + (x3 - 6)^2 - 2 x4 <= 40`
//! - constraint: `x1^2 + 2 (x2 - 2)^2 - 2 x1 x2 + 14 x5 - 6 x6 <= 0`
//! - constraint: `(x1 - 8)^2 / 2 + 2 (x2 - 4)^2 + 3 x5^2 - x6 <= 30`
//! - constraint: `-3 x1 + 6 x2 + 12 (x9 - 8)^2 - 7 x10 <= 0`
//! - dimensions: 10
//! - domain: [-10, 10] in each coordinate; outside it there are lower points
//! - minimum: 24.30620906817981 at (2.1719963712554553, 2.36368297369728, 8.77392573847685, 5.095984487948453,
//!   0.9906547649638592, 1.4305739789363159, 1.3216442081617032, 9.828725807886322, 8.280091670098345,
//!   8.375926663921323)
//! - source: Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and
//!   Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g07

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct G07;

impl Function for G07 {
    const INFO: Info = Info {
        name: "g07",
        title: "G07",
        formula: "x1^2 + x2^2 + x1 x2 - 14 x1 - 16 x2 + (x3 - 10)^2 + 4 (x4 - 5)^2 + (x5 - 3)^2 + 2 (x6 - 1)^2 + 5 x7^2 + 7 (x8 - 11)^2 + 2 (x9 - 10)^2 + (x10 - 7)^2 + 45",
        dims: Dims::Exactly(10),
        domain: &[(-10.0, 10.0)],
        confined: true,
        optimum: "24.30620906817981 at (2.1719963712554553, 2.36368297369728, 8.77392573847685, 5.095984487948453, 0.9906547649638592, 1.4305739789363159, 1.3216442081617032, 9.828725807886322, 8.280091670098345, 8.375926663921323)",
        source: "Liang, Runarsson, Mezura-Montes, Clerc, Suganthan, Coello and Deb 2006, Problem Definitions and Evaluation Criteria for the CEC 2006 Special Session on Constrained Real-Parameter Optimization, problem g07",
        parameters: &[],
    };

    const CONSTRAINTS: &'static [&'static str] = &[
        "4 x1 + 5 x2 - 3 x7 + 9 x8 <= 105",
        "10 x1 - 8 x2 - 17 x7 + 2 x8 <= 0",
        "-8 x1 + 2 x2 + 5 x9 - 2 x10 <= 12",
        "3 (x1 - 2)^2 + 4 (x2 - 3)^2 + 2 x3^2 - 7 x4 <= 120",
        "5 x1^2 + 8 x2 + (x3 - 6)^2 - 2 x4 <= 40",
        "x1^2 + 2 (x2 - 2)^2 - 2 x1 x2 + 14 x5 - 6 x6 <= 0",
        "(x1 - 8)^2 / 2 + 2 (x2 - 4)^2 + 3 x5^2 - x6 <= 30",
        "-3 x1 + 6 x2 + 12 (x9 - 8)^2 - 7 x10 <= 0",
    ];

    fn minimum(&self, _dim: usize) -> f64 {
        24.30620906817981
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![2.1719963712554553, 2.36368297369728, 8.77392573847685, 5.095984487948453, 0.9906547649638592, 1.4305739789363159, 1.3216442081617032, 9.828725807886322, 8.280091670098345, 8.375926663921323]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let first = x[0].square() + x[1].square() + x[0] * x[1] - x[0] * 14.0 - x[1] * 16.0;
        let middle = (x[2] - 10.0).square() + (x[3] - 5.0).square() * 4.0 + (x[4] - 3.0).square();
        let rest = (x[5] - 1.0).square() * 2.0 + x[6].square() * 5.0 + (x[7] - 11.0).square() * 7.0;
        first + middle + rest + (x[8] - 10.0).square() * 2.0 + (x[9] - 7.0).square() + 45.0
    }

    #[inline(always)]
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        g[0] = x[0] * 4.0 + x[1] * 5.0 - x[6] * 3.0 + x[7] * 9.0 - 105.0;
        g[1] = x[0] * 10.0 - x[1] * 8.0 - x[6] * 17.0 + x[7] * 2.0;
        g[2] = -x[0] * 8.0 + x[1] * 2.0 + x[8] * 5.0 - x[9] * 2.0 - 12.0;
        g[3] = (x[0] - 2.0).square() * 3.0 + (x[1] - 3.0).square() * 4.0 + x[2].square() * 2.0 - x[3] * 7.0 - 120.0;
        g[4] = x[0].square() * 5.0 + x[1] * 8.0 + (x[2] - 6.0).square() - x[3] * 2.0 - 40.0;
        g[5] = x[0].square() + (x[1] - 2.0).square() * 2.0 - x[0] * x[1] * 2.0 + x[4] * 14.0 - x[5] * 6.0;
        g[6] = (x[0] - 8.0).square() * 0.5 + (x[1] - 4.0).square() * 2.0 + x[4].square() * 3.0 - x[5] - 30.0;
        g[7] = -x[0] * 3.0 + x[1] * 6.0 + (x[8] - 8.0).square() * 12.0 - x[9] * 7.0;
    }
}
