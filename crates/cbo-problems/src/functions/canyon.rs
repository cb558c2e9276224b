//! Canyon: a curved canyon whose walls and floor are covered with ripples.
//!
//! - formula: `x^2 / 10 + (y - x^2 / 8)^2 + (1 - cos(6 pi x)) / 2 + (1 - cos(6 pi y)) / 2`
//! - dimensions: 2
//! - domain: [-10, 10] in each coordinate
//! - minimum: 0 at the origin
//! - source: after Riedl, Klock, Geldhauser and Fornasier 2023, arXiv:2306.09778
//!
//! The floor leads from far away, along y = x^2 / 8, to the minimum; a local minimum lies in nearly every ripple.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Canyon;

impl Function for Canyon {
    const INFO: Info = Info {
        name: "canyon",
        title: "Canyon",
        formula: "x^2 / 10 + (y - x^2 / 8)^2 + (1 - cos(6 pi x)) / 2 + (1 - cos(6 pi y)) / 2",
        dims: Dims::Exactly(2),
        domain: &[(-10.0, 10.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "after Riedl, Klock, Geldhauser and Fornasier 2023, arXiv:2306.09778",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (a, b) = (x[0], x[1]);
        let wall = b - a.square() * 0.125;
        // (1 - cos(6 pi v)) / 2 = sin(3 pi v)^2, without cancellation near the minimum.
        let ripple = |v: R| (v * 3.0).sin_pi_up_to_sign().square();
        a.square() * 0.1 + wall.square() + ripple(a) + ripple(b)
    }
}
