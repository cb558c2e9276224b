//! Michalewicz: steep, narrow valleys between plateaus; d! local minima.
//!
//! - formula: `-sum_k sin(x_k) sin(k x_k^2 / pi)^20`
//! - dimensions: any
//! - domain: [0, pi] in each coordinate; outside it there are lower points
//! - minimum: -1.8013034100985525 (d = 2), -4.687658179088146 (5), -9.660151715641341 (10)
//! - source: Michalewicz 1996, doi:10.1007/978-3-662-03315-9
//!
//! The sum is separable, so the minimiser is found coordinate by coordinate, to full precision in every dimension.
//! With m = 10, the exponent is 2 m.

use crate::function::{Dims, Function, Info};
use cbo::simd::Real;
use std::f64::consts::PI;

/// See the [module](self).
#[derive(Clone, Copy, Debug, Default)]
pub struct Michalewicz;

impl Function for Michalewicz {
    const INFO: Info = Info {
        name: "michalewicz",
        title: "Michalewicz",
        formula: "-sum_k sin(x_k) sin(k x_k^2 / pi)^20",
        dims: Dims::AtLeast(1),
        domain: &[(0.0, PI)],
        confined: true,
        optimum: "-1.8013034100985525 (d = 2), -4.687658179088146 (5), -9.660151715641341 (10)",
        source: "Michalewicz 1996, doi:10.1007/978-3-662-03315-9",
        parameters: &[],
    };

    fn minimum(&self, dim: usize) -> f64 {
        self.value(&self.minimisers(dim)[0])
    }

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![(1..=dim).map(minimiser).collect()]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for (k, &v) in x.iter().enumerate() {
            let valley = (v.square() * ((k + 1) as f64 / (PI * PI))).sin_pi();
            // Depths below 1e-35 count as none: the subnormal numbers of single precision, which lie there, are slow.
            let fourth = valley.square().square();
            let fourth = R::constant(1e-7).select_less(fourth, fourth, R::constant(0.0));
            sum = sum - v.sin() * (fourth.square().square() * fourth);
        }
        sum
    }
}

/// The minimiser of coordinate `k`, counted from 1.
///
/// `sin(k x^2 / pi)^20` has one peak between neighbouring zeros `pi sqrt(j / k)`; the other factor, `sin(x)`, prefers the
/// peaks next to pi/2, where `j = k/4`. On a peak, the logarithmic derivative falls from plus to minus infinity.
fn minimiser(k: usize) -> f64 {
    let scale = k as f64;
    let slope = |x: f64| {
        let angle = scale * x * x / PI;
        x.cos() / x.sin() + 40.0 * scale * x / PI * angle.cos() / angle.sin()
    };
    let depth = |x: f64| -x.sin() * (scale * x * x / PI).sin().powi(20);
    let mut best = PI / 2.0;
    for j in (k / 4).saturating_sub(2)..=(k / 4 + 1).min(k - 1) {
        let (mut low, mut high) = (PI * (j as f64 / scale).sqrt(), PI * ((j + 1) as f64 / scale).sqrt());
        for _ in 0..80 {
            let middle = 0.5 * (low + high);
            if slope(middle) > 0.0 { low = middle } else { high = middle }
        }
        if depth(low) < depth(best) {
            best = low;
        }
    }
    best
}
