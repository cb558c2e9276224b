//! Cross-in-tray: a cross of ridges; four equal minima.
//!
//! - formula: `-(|sin(x) sin(y) exp(|100 - r/pi|)| + 1)^(1/10) / 10000, r = |(x, y)|`
//! - dimensions: 2
//! - domain: [-10, 10] in each coordinate; outside it there are lower points
//! - minimum: -2.062611870822737 at (+-1.3494066171539108, +-1.3494066171539108)
//! - source: Mishra 2006, doi:10.2139/ssrn.926132
//!
//! Beyond r = 626 the function falls below the stated minimum.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::FRAC_1_PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct CrossInTray;

impl Function for CrossInTray {
    const INFO: Info = Info {
        name: "cross-in-tray",
        title: "Cross-in-tray",
        formula: "-(|sin(x) sin(y) exp(|100 - r/pi|)| + 1)^(1/10) / 10000, r = |(x, y)|",
        dims: Dims::Exactly(2),
        domain: &[(-10.0, 10.0)],
        confined: true,
        optimum: "-2.062611870822737 at (+-1.3494066171539108, +-1.3494066171539108)",
        source: "Mishra 2006, doi:10.2139/ssrn.926132",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -2.062611870822737
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        let a = 1.3494066171539108;
        vec![vec![a, a], vec![a, -a], vec![-a, a], vec![-a, -a]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let radius = (x[0].square() + x[1].square()).sqrt();
        let growth = (radius * -FRAC_1_PI + 100.0).abs();
        // (s e^g + 1)^(1/10) = e^(g/10) (s + e^-g)^(1/10): e^100 would overflow in single precision.
        let waves = (x[0].sin() * x[1].sin()).abs() + (-growth).exp();
        -((growth * 0.1).exp() * waves.powf(0.1)) * 1e-4
    }
}
