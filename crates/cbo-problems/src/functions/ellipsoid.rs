//! Ellipsoid: a bowl whose axes differ a thousandfold.
//!
//! - formula: `sum_k condition^((k - 1)/(d - 1)) x_k^2`
//! - dimensions: any
//! - domain: [-5, 5] in each coordinate
//! - minimum: 0 at the origin
//! - source: Hansen, Finck, Ros and Auger 2009, Real-parameter black-box optimization benchmarking, function 2
//!   without its oscillation
//!
//! The parameter `condition` is the condition number of the quadratic form.

use crate::function::{Dims, Function, Info, Parameter};
use cbo::simd::Real;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Ellipsoid {
    /// Ratio of the largest weight to the least.
    pub condition: f64,
}

impl Default for Ellipsoid {
    fn default() -> Self {
        Self { condition: Self::INFO.parameters[0].default }
    }
}

impl Function for Ellipsoid {
    const INFO: Info = Info {
        name: "ellipsoid",
        title: "Ellipsoid",
        formula: "sum_k condition^((k - 1)/(d - 1)) x_k^2",
        dims: Dims::AtLeast(1),
        domain: &[(-5.0, 5.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "Hansen, Finck, Ros and Auger 2009, Real-parameter black-box optimization benchmarking, function 2 without its oscillation",
        parameters: &[Parameter { name: "condition", meaning: "ratio of the largest weight to the least", default: 1e6, least: 1.0, most: 1e12 }],
    };
    const FLAT_AT_ZERO: bool = true;

    fn with_parameters(values: &[f64]) -> Self {
        Self { condition: values[0] }
    }

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        // The weights form a geometric sequence from 1 to the condition number.
        let ratio = if x.len() > 1 { self.condition.powf(1.0 / (x.len() - 1) as f64) } else { 1.0 };
        let (mut sum, mut weight) = (R::constant(0.0), 1.0);
        for &v in x {
            sum = (v * v).mul_add(R::constant(weight), sum);
            weight *= ratio;
        }
        sum
    }
}
