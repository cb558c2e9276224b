//! Alpine 1: a mountain range whose valleys all touch zero.
//!
//! - formula: `sum_k |x_k sin(x_k) + x_k / 10|`
//! - dimensions: any
//! - domain: [-10, 10] in each coordinate
//! - minimum: 0 at the origin and wherever each x_k is 0 or sin(x_k) = -1/10
//! - source: Rahnamayan, Tizhoosh and Salama 2007, doi:10.1016/j.camwa.2006.07.013
//!
//! It has 8^d minimisers in its domain and infinitely many outside, which the literature, naming the origin alone,
//! overlooks. Only the origin is listed; the distance to the nearest minimiser counts all.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::{PI, TAU};

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Alpine1;

impl Function for Alpine1 {
    const INFO: Info = Info {
        name: "alpine-1",
        title: "Alpine 1",
        formula: "sum_k |x_k sin(x_k) + x_k / 10|",
        dims: Dims::AtLeast(1),
        domain: &[(-10.0, 10.0)],
        confined: false,
        optimum: "0 at the origin and wherever each x_k is 0 or sin(x_k) = -1/10",
        source: "Rahnamayan, Tizhoosh and Salama 2007, doi:10.1016/j.camwa.2006.07.013",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    fn nearest_minimiser(&self, x: &[f64]) -> Vec<f64> {
        let nearest = |v: f64| {
            let first = -0.1f64.asin();
            // The two families of solutions of sin(v) = -1/10.
            let falling = (PI - first) + TAU * ((v - (PI - first)) / TAU).round();
            let rising = first + TAU * ((v - first) / TAU).round();
            let closer = |a: f64, b: f64| if (a - v).abs() < (b - v).abs() { a } else { b };
            closer(closer(rising, falling), 0.0)
        };
        x.iter().map(|&v| nearest(v)).collect()
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            sum = sum + (v * (v.sin() + 0.1)).abs();
        }
        sum
    }
}
