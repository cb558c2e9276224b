//! Bukin 6: a sharp, curved ridge that descends gently.
//!
//! - formula: `100 sqrt(|y - x^2/100|) + |x + 10|/100`
//! - dimensions: 2
//! - domain: [-15, -5] x [-3, 3]
//! - minimum: 0 at (-10, 1)
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Bukin6;

impl Function for Bukin6 {
    const INFO: Info = Info {
        name: "bukin-6",
        title: "Bukin 6",
        formula: "100 sqrt(|y - x^2/100|) + |x + 10|/100",
        dims: Dims::Exactly(2),
        domain: &[(-15.0, -5.0), (-3.0, 3.0)],
        confined: false,
        optimum: "0 at (-10, 1)",
        source: "Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204",
        parameters: &[],
    };

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![-10.0, 1.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        (x[1] - x[0].square() / 100.0).abs().sqrt() * 100.0 + (x[0] + 10.0).abs() * 0.01
    }
}
