//! Shekel 10: ten foxholes of different depth.
//!
//! - formula: `-sum_{i=1..10} 1 / (c_i + |x - a_i|^2)`
//! - dimensions: 4
//! - domain: [0, 10] in each coordinate
//! - minimum: -10.536409816692043 at (4.000746531592047, 4.000592934138532, 3.9996633980403223, 3.9995098005868076)
//! - source: Dixon and Szego 1978, Towards Global Optimisation 2, function S10
//!
//! The seventh hole is at (5, 5, 3, 3), as in the source; some later collections have (5, 3, 5, 3).

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// a_i and c_i.
const CENTRES: [([f64; 4], f64); 10] = [
    ([4.0, 4.0, 4.0, 4.0], 0.1),
    ([1.0, 1.0, 1.0, 1.0], 0.2),
    ([8.0, 8.0, 8.0, 8.0], 0.2),
    ([6.0, 6.0, 6.0, 6.0], 0.4),
    ([3.0, 7.0, 3.0, 7.0], 0.4),
    ([2.0, 9.0, 2.0, 9.0], 0.6),
    ([5.0, 5.0, 3.0, 3.0], 0.3),
    ([8.0, 1.0, 8.0, 1.0], 0.7),
    ([6.0, 2.0, 6.0, 2.0], 0.5),
    ([7.0, 3.6, 7.0, 3.6], 0.5),
];

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Shekel;

impl Function for Shekel {
    const INFO: Info = Info {
        name: "shekel",
        title: "Shekel 10",
        formula: "-sum_{i=1..10} 1 / (c_i + |x - a_i|^2)",
        dims: Dims::Exactly(4),
        domain: &[(0.0, 10.0)],
        confined: false,
        optimum: "-10.536409816692043 at (4.000746531592047, 4.000592934138532, 3.9996633980403223, 3.9995098005868076)",
        source: "Dixon and Szego 1978, Towards Global Optimisation 2, function S10",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -10.536409816692043
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![4.000746531592047, 4.000592934138532, 3.9996633980403223, 3.9995098005868076]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for (centre, depth) in CENTRES {
            let mut square = R::constant(depth);
            for (k, c) in centre.iter().enumerate() {
                square = square + (x[k] - *c).square();
            }
            sum = sum - R::constant(1.0) / square;
        }
        sum
    }
}
