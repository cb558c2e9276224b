//! Himmelblau: four equal minima.
//!
//! - formula: `(x^2 + y - 11)^2 + (x + y^2 - 7)^2`
//! - dimensions: 2
//! - domain: [-5, 5] in each coordinate
//! - minimum: 0 at (3, 2), (-2.805118086952745, 3.131312518250573), (-3.779310253377747, -3.2831859912861694) and
//!   (3.584428340330492, -1.8481265269644036)
//! - source: Himmelblau 1972, Applied Nonlinear Programming

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Himmelblau;

impl Function for Himmelblau {
    const INFO: Info = Info {
        name: "himmelblau",
        title: "Himmelblau",
        formula: "(x^2 + y - 11)^2 + (x + y^2 - 7)^2",
        dims: Dims::Exactly(2),
        domain: &[(-5.0, 5.0)],
        confined: false,
        optimum: "0 at (3, 2), (-2.805118086952745, 3.131312518250573), (-3.779310253377747, -3.2831859912861694) and (3.584428340330492, -1.8481265269644036)",
        source: "Himmelblau 1972, Applied Nonlinear Programming",
        parameters: &[],
    };

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![
            vec![3.0, 2.0],
            vec![-2.805118086952745, 3.131312518250573],
            vec![-3.779310253377747, -3.2831859912861694],
            vec![3.584428340330492, -1.8481265269644036],
        ]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        (x[0].square() + x[1] - 11.0).square() + (x[0] + x[1].square() - 7.0).square()
    }
}
