//! Zakharov: a plate-shaped bowl with one steep direction.
//!
//! - formula: `s2 + s1^2 + s1^4, s2 = sum_k x_k^2, s1 = sum_k k x_k / 2`
//! - dimensions: any
//! - domain: [-5, 10] in each coordinate
//! - minimum: 0 at the origin
//! - source: Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Zakharov;

impl Function for Zakharov {
    const INFO: Info = Info {
        name: "zakharov",
        title: "Zakharov",
        formula: "s2 + s1^2 + s1^4, s2 = sum_k x_k^2, s1 = sum_k k x_k / 2",
        dims: Dims::AtLeast(1),
        domain: &[(-5.0, 10.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Jamil and Yang 2013, doi:10.1504/IJMMNO.2013.055204",
        parameters: &[],
    };
    const FLAT_AT_ZERO: bool = true;

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let (mut squares, mut weighted) = (R::constant(0.0), R::constant(0.0));
        for (k, &v) in x.iter().enumerate() {
            squares = v.mul_add(v, squares);
            weighted = v.mul_add(R::constant(0.5 * (k + 1) as f64), weighted);
        }
        let quadratic = weighted.square();
        squares + quadratic + quadratic.square()
    }
}
