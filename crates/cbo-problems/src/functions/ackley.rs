//! Ackley: a nearly flat, rippled plain with a narrow funnel.
//!
//! - formula: `20 + e - 20 exp(-0.2 sqrt(sum_k x_k^2 / d)) - exp(sum_k cos(2 pi x_k) / d)`
//! - dimensions: any
//! - domain: [-32.768, 32.768] in each coordinate
//! - minimum: 0 at the origin
//! - source: Ackley 1987, doi:10.1007/978-1-4613-1997-9

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Ackley;

impl Function for Ackley {
    const INFO: Info = Info {
        name: "ackley",
        title: "Ackley",
        formula: "20 + e - 20 exp(-0.2 sqrt(sum_k x_k^2 / d)) - exp(sum_k cos(2 pi x_k) / d)",
        dims: Dims::AtLeast(1),
        domain: &[(-32.768, 32.768)],
        confined: false,
        optimum: "0 at the origin",
        source: "Ackley 1987, doi:10.1007/978-1-4613-1997-9",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (mut squares, mut waves) = (R::constant(0.0), R::constant(0.0));
        for &v in x {
            squares = v.mul_add(v, squares);
            let sine = v.sin_pi_up_to_sign();
            waves = sine.mul_add(sine, waves);
        }
        // exp(mean cos(2 pi v)) = e exp(-2 mean sin(pi v)^2): both brackets vanish at the minimum, exactly.
        let d = x.len() as f64;
        let funnel = R::constant(1.0) - ((squares / d).sqrt() * -0.2).exp();
        let ripple = R::constant(1.0) - (waves * (-2.0 / d)).exp();
        funnel * 20.0 + ripple * std::f64::consts::E
    }
}
