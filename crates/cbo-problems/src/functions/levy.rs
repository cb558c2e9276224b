//! Levy: a bowl with slanted waves of growing height.
//!
//! - formula: `sin(pi w_1)^2 + sum_{k<d} (w_k - 1)^2 (1 + 10 sin(pi w_k + 1)^2) + (w_d - 1)^2 (1 + sin(2 pi
//!   w_d)^2), w_k = 1 + (x_k - 1)/4`
//! - dimensions: any
//! - domain: [-10, 10] in each coordinate
//! - minimum: 0 at (1, ..., 1)
//! - source: Levy and Montalvo 1985, doi:10.1137/0906002

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Levy;

impl Function for Levy {
    const INFO: Info = Info {
        name: "levy",
        title: "Levy",
        formula: "sin(pi w_1)^2 + sum_{k<d} (w_k - 1)^2 (1 + 10 sin(pi w_k + 1)^2) + (w_d - 1)^2 (1 + sin(2 pi w_d)^2), w_k = 1 + (x_k - 1)/4",
        dims: Dims::AtLeast(1),
        domain: &[(-10.0, 10.0)],
        confined: false,
        optimum: "0 at (1, ..., 1)",
        source: "Levy and Montalvo 1985, doi:10.1137/0906002",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![1.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        // In u = w - 1: a shift by 1 inside sin(pi ...) only flips the sign, which the square removes.
        let mut sum = ((x[0] - 1.0) * 0.25).sin_pi_up_to_sign().square();
        for &v in &x[..x.len() - 1] {
            let u = (v - 1.0) * 0.25;
            let wave = (u * std::f64::consts::PI + 1.0).sin();
            sum = sum + u.square() * (wave.square() * 10.0 + 1.0);
        }
        let u = (x[x.len() - 1] - 1.0) * 0.25;
        sum + u.square() * ((u * 2.0).sin_pi_up_to_sign().square() + 1.0)
    }
}
