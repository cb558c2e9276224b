//! Salomon: concentric rings.
//!
//! - formula: `1 - cos(2 pi r) + r / 10, r = |x|`
//! - dimensions: any
//! - domain: [-100, 100] in each coordinate
//! - minimum: 0 at the origin
//! - source: Salomon 1996, doi:10.1016/0303-2647(96)01621-8

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Salomon;

impl Function for Salomon {
    const INFO: Info = Info {
        name: "salomon",
        title: "Salomon",
        formula: "1 - cos(2 pi r) + r / 10, r = |x|",
        dims: Dims::AtLeast(1),
        domain: &[(-100.0, 100.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Salomon 1996, doi:10.1016/0303-2647(96)01621-8",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut squares = R::constant(0.0);
        for &v in x {
            squares = v.mul_add(v, squares);
        }
        let radius = squares.sqrt();
        radius.sin_pi_up_to_sign().square() * 2.0 + radius * 0.1
    }
}
