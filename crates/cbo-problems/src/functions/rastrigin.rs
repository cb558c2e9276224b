//! Rastrigin: a bowl under a regular grid of about 11^d local minima.
//!
//! - formula: `sum_k x_k^2 + amplitude (1 - cos(2 pi x_k))`
//! - dimensions: any
//! - domain: [-5.12, 5.12] in each coordinate
//! - minimum: 0 at the origin
//! - source: Muhlenbein, Schomisch and Born 1991, doi:10.1016/S0167-8191(05)80052-3
//!
//! The parameter `amplitude` is the height of the ripples: 10 in the source, 2.5 in the papers on consensus-based
//! optimization, which is the default.

use crate::function::{Dims, Function, Info, Parameter};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Rastrigin {
    /// Height of the ripples.
    pub amplitude: f64,
}

impl Default for Rastrigin {
    fn default() -> Self {
        Self { amplitude: Self::INFO.parameters[0].default }
    }
}

impl Function for Rastrigin {
    const INFO: Info = Info {
        name: "rastrigin",
        title: "Rastrigin",
        formula: "sum_k x_k^2 + amplitude (1 - cos(2 pi x_k))",
        dims: Dims::AtLeast(1),
        domain: &[(-5.12, 5.12)],
        confined: false,
        optimum: "0 at the origin",
        source: "Muhlenbein, Schomisch and Born 1991, doi:10.1016/S0167-8191(05)80052-3",
        parameters: &[Parameter { name: "amplitude", meaning: "height of the ripples", default: 2.5, least: 0.0, most: 1e12 }],
    };
    const FLAT_AT_ZERO: bool = true;

    fn with_parameters(values: &[f64]) -> Self {
        Self { amplitude: values[0] }
    }

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (mut squares, mut waves) = (R::constant(0.0), R::constant(0.0));
        for &v in x {
            squares = v.mul_add(v, squares);
            // 1 - cos(2 pi v) = 2 sin(pi v)^2, without cancellation near the minimum.
            let sine = v.sin_pi_up_to_sign();
            waves = sine.mul_add(sine, waves);
        }
        squares + waves * (2.0 * self.amplitude)
    }
}
