//! Holder table: a table on four legs.
//!
//! - formula: `-|sin(x) cos(y) exp(|1 - r/pi|)|, r = |(x, y)|`
//! - dimensions: 2
//! - domain: [-10, 10] in each coordinate; outside it there are lower points
//! - minimum: -19.20850256788673 at (+-8.055023475736563, +-9.664590019241274)
//! - source: Mishra 2006, doi:10.2139/ssrn.926132

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::FRAC_1_PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct HolderTable;

impl Function for HolderTable {
    const INFO: Info = Info {
        name: "holder-table",
        title: "Holder table",
        formula: "-|sin(x) cos(y) exp(|1 - r/pi|)|, r = |(x, y)|",
        dims: Dims::Exactly(2),
        domain: &[(-10.0, 10.0)],
        confined: true,
        optimum: "-19.20850256788673 at (+-8.055023475736563, +-9.664590019241274)",
        source: "Mishra 2006, doi:10.2139/ssrn.926132",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -19.20850256788673
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        let (a, b) = (8.055023475736563, 9.664590019241274);
        vec![vec![a, b], vec![a, -b], vec![-a, b], vec![-a, -b]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let radius = (x[0].square() + x[1].square()).sqrt();
        let growth = (radius * FRAC_1_PI - 1.0).abs().exp();
        -(x[0].sin() * x[1].cos() * growth).abs()
    }
}
