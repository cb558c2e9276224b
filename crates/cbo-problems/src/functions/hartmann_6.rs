//! Hartmann 6: four Gaussian wells.
//!
//! - formula: `-sum_{i=1..4} h_i exp(-sum_k a_ik (x_k - p_ik)^2)`
//! - dimensions: 6
//! - domain: [0, 1] in each coordinate
//! - minimum: -3.322368011415515 at (0.20168951100670543, 0.15001069182345797, 0.476873974221897,
//!   0.2753324304940561, 0.3116516166001132, 0.6573005340656203)
//! - source: Hartman 1973, doi:10.1002/nav.3800200316; coefficients of Dixon and Szego 1978, Towards Global
//!   Optimisation 2, function H6

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// h_i, a_i and p_i.
const WELLS: [(f64, [f64; 6], [f64; 6]); 4] = [
    (1.0, [10.0, 3.0, 17.0, 3.5, 1.7, 8.0], [0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886]),
    (1.2, [0.05, 10.0, 17.0, 0.1, 8.0, 14.0], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991]),
    (3.0, [3.0, 3.5, 1.7, 10.0, 17.0, 8.0], [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650]),
    (3.2, [17.0, 8.0, 0.05, 10.0, 0.1, 14.0], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]),
];

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Hartmann6;

impl Function for Hartmann6 {
    const INFO: Info = Info {
        name: "hartmann-6",
        title: "Hartmann 6",
        formula: "-sum_{i=1..4} h_i exp(-sum_k a_ik (x_k - p_ik)^2)",
        dims: Dims::Exactly(6),
        domain: &[(0.0, 1.0)],
        confined: false,
        optimum: "-3.322368011415515 at (0.20168951100670543, 0.15001069182345797, 0.476873974221897, 0.2753324304940561, 0.3116516166001132, 0.6573005340656203)",
        source: "Hartman 1973, doi:10.1002/nav.3800200316; coefficients of Dixon and Szego 1978, Towards Global Optimisation 2, function H6",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -3.322368011415515
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.20168951100670543, 0.15001069182345797, 0.476873974221897, 0.2753324304940561, 0.3116516166001132, 0.6573005340656203]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for (height, widths, centre) in WELLS {
            let mut exponent = R::constant(0.0);
            for k in 0..6 {
                exponent = exponent - (x[k] - centre[k]).square() * widths[k];
            }
            sum = sum - exponent.exp() * height;
        }
        sum
    }
}
