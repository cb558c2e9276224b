//! Eggholder: many deep valleys; the deepest ends at the edge of the domain.
//!
//! - formula: `-(y + 47) sin(sqrt(|x/2 + y + 47|)) - x sin(sqrt(|x - y - 47|))`
//! - dimensions: 2
//! - domain: [-512, 512] in each coordinate; outside it there are lower points
//! - minimum: -959.6406627208508 at (512, 404.2318051137578)
//! - source: Whitley, Rana, Dzubera and Mathias 1996, doi:10.1016/0004-3702(95)00124-7

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Eggholder;

impl Function for Eggholder {
    const INFO: Info = Info {
        name: "eggholder",
        title: "Eggholder",
        formula: "-(y + 47) sin(sqrt(|x/2 + y + 47|)) - x sin(sqrt(|x - y - 47|))",
        dims: Dims::Exactly(2),
        domain: &[(-512.0, 512.0)],
        confined: true,
        optimum: "-959.6406627208508 at (512, 404.2318051137578)",
        source: "Whitley, Rana, Dzubera and Mathias 1996, doi:10.1016/0004-3702(95)00124-7",
        parameters: &[],
    };

    fn minimum(&self, _dim: usize) -> f64 {
        -959.6406627208508
    }

    fn minimisers(&self, _dim: usize) -> Vec<Vec<f64>> {
        vec![vec![512.0, 404.2318051137578]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let raised = x[1] + 47.0;
        let near = (x[0] * 0.5 + raised).abs().sqrt().sin();
        let far = (x[0] - raised).abs().sqrt().sin();
        -(raised * near) - x[0] * far
    }
}
