//! Six-hump camel: six minima, two of them deepest.
//!
//! - formula: `(4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2`
//! - dimensions: 2
//! - domain: [-3, 3] x [-2, 2]
//! - minimum: -1.0316284534898774 at +-(0.08984201310031806, -0.7126564030207396)
//! - source: Dixon and Szego 1978, Towards Global Optimisation 2

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct SixHumpCamel;

impl Function for SixHumpCamel {
    const INFO: Info = Info {
        name: "six-hump-camel",
        title: "Six-hump camel",
        formula: "(4 - 2.1 x^2 + x^4/3) x^2 + x y + (4 y^2 - 4) y^2",
        dims: Dims::Exactly(2),
        domain: &[(-3.0, 3.0), (-2.0, 2.0)],
        confined: false,
        optimum: "-1.0316284534898774 at +-(0.08984201310031806, -0.7126564030207396)",
        source: "Dixon and Szego 1978, Towards Global Optimisation 2",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -1.0316284534898774
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        let (a, b) = (0.08984201310031806, -0.7126564030207396);
        vec![vec![a, b], vec![-a, -b]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (a, b) = (x[0].square(), x[1].square());
        ((a * (1.0 / 3.0) - 2.1) * a + 4.0) * a + x[0] * x[1] + (b * 4.0 - 4.0) * b
    }
}
