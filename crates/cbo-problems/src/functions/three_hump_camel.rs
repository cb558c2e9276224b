//! Three-hump camel: a valley with three minima, the middle one deepest.
//!
//! - formula: `2 x^2 - 1.05 x^4 + x^6/6 + x y + y^2`
//! - dimensions: 2
//! - domain: [-5, 5] in each coordinate
//! - minimum: 0 at the origin
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreeHumpCamel;

impl Function for ThreeHumpCamel {
    const INFO: Info = Info {
        name: "three-hump-camel",
        title: "Three-hump camel",
        formula: "2 x^2 - 1.05 x^4 + x^6/6 + x y + y^2",
        dims: Dims::Exactly(2),
        domain: &[(-5.0, 5.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0, 0.0]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let square = x[0].square();
        ((square * (1.0 / 6.0) - 1.05) * square + 2.0) * square + x[0] * x[1] + x[1].square()
    }
}
