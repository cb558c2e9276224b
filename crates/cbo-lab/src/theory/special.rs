//! Special functions and quadrature: normal probabilities in logarithms, digamma, Gauss-Legendre.

use std::f64::consts::{FRAC_1_SQRT_2, PI};
use std::sync::OnceLock;

/// The logarithm of `sqrt(2 pi)`.
const LOG_ROOT_TAU: f64 = 0.918_938_533_204_672_8;

/// The logarithm of the standard normal density.
pub fn log_density(z: f64) -> f64 {
    -0.5 * z * z - LOG_ROOT_TAU
}

/// The logarithm of the probability that a standard normal number lies within `half` of `centre`, accurate for tiny intervals
/// and far tails. (Two ends in place of centre and width would lose the width of a tiny interval.)
pub fn log_normal_mass(centre: f64, half: f64) -> f64 {
    let centre = centre.abs();
    let (from, to) = (centre - half, centre + half);
    if half <= 0.0 {
        f64::NEG_INFINITY
    } else if half <= 0.5 && centre * half <= 2.0 {
        // The density hardly varies: integrate it, relative to its value at the centre.
        let integral = integrate(-half, half, |t| (-t * (centre + 0.5 * t)).exp());
        log_density(centre) + integral.ln()
    } else if from < 0.0 {
        libm::log1p(-upper_tail(to) - upper_tail(-from))
    } else {
        // The second tail is much smaller than the first, so that their difference loses nothing.
        let (near, far) = (log_upper_tail(from), log_upper_tail(to));
        near + libm::log1p(-(far - near).exp())
    }
}

fn upper_tail(z: f64) -> f64 {
    0.5 * libm::erfc(z * FRAC_1_SQRT_2)
}

/// The logarithm of the probability beyond z >= 0.
fn log_upper_tail(z: f64) -> f64 {
    if z < 6.0 { upper_tail(z).ln() } else { log_density(z) + mills(z).ln() }
}

/// Probability beyond z over density at z, by Laplace's continued fraction 1/(z + 1/(z + 2/(z + 3/(z + ...)))).
fn mills(z: f64) -> f64 {
    1.0 / (1..=80).rev().fold(z, |tail, k| z + f64::from(k) / tail)
}

/// digamma(x) - ln(x) for x > 0.
pub fn digamma_minus_log(x: f64) -> f64 {
    /// Coefficients B_2k / 2k of the asymptotic series.
    const SERIES: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let (mut y, mut shift) = (x, 0.0);
    while y < 12.0 {
        shift -= 1.0 / y;
        y += 1.0;
    }
    let inverse = 1.0 / (y * y);
    let series = SERIES.iter().rev().fold(0.0, |sum, c| (sum + c) * inverse);
    let log_ratio = if y == x { 0.0 } else { (y / x).ln() };
    -0.5 / y - series + shift + log_ratio
}

/// `E ln(X / delta)` for X noncentral chi-square with `dim` degrees of freedom and noncentrality delta > 0.
///
/// X is a mixture of central ones: with J Poisson of mean delta/2, `E ln X = ln 2 + E digamma(dim/2 + J)`. The terms are taken
/// relative to ln(delta/2), so that nothing is lost where delta is large.
pub fn log_noncentral_ratio(dim: f64, delta: f64) -> f64 {
    let (half, mean) = (0.5 * dim, 0.5 * delta);
    if mean.is_infinite() {
        return 0.0;
    }
    if mean > MANY {
        // An expansion about the mean, with the moments mean, mean and 3 mean^2 + mean; its error is of the order mean^-3.
        let z = half + mean;
        let spread = -0.5 / z * (mean / z) * (1.0 + 1.0 / (3.0 * z) + 1.5 * mean / (z * z));
        return libm::log1p(half / mean) + digamma_minus_log(z) + spread;
    }
    poisson_mean(mean, |j| libm::log1p((half + j - mean) / mean) + digamma_minus_log(half + j))
}

/// `E ln X` for X central chi-square: `ln 2 + digamma(dim/2)`.
pub fn log_chi_square(dim: f64) -> f64 {
    dim.ln() + digamma_minus_log(0.5 * dim)
}

/// Beyond this mean a Poisson sum is replaced by an expansion.
const MANY: f64 = 1e6;

/// The expectation of f(J) for J Poisson of this mean: the terms within 12 standard deviations.
fn poisson_mean(mean: f64, f: impl Fn(f64) -> f64) -> f64 {
    let reach = 12.0 * mean.sqrt() + 40.0;
    let mode = mean.floor();
    let (mut total, mut sum) = (1.0, f(mode));
    // Outwards from the mode, where the weight is set to 1.
    let (mut j, mut weight) = (mode, 1.0);
    while j > 0.0 && mode - j < reach && weight > 1e-25 {
        weight *= j / mean;
        j -= 1.0;
        (total, sum) = (total + weight, sum + weight * f(j));
    }
    (j, weight) = (mode, 1.0);
    while j - mode < reach && weight > 1e-25 {
        j += 1.0;
        weight *= mean / j;
        (total, sum) = (total + weight, sum + weight * f(j));
    }
    sum / total
}

/// Points of the Gauss-Legendre rule.
const POINTS: usize = 32;

/// The Gauss-Legendre rule on [-1, 1]: nodes and weights.
pub fn legendre() -> &'static [(f64, f64); POINTS] {
    static RULE: OnceLock<[(f64, f64); POINTS]> = OnceLock::new();
    RULE.get_or_init(|| std::array::from_fn(legendre_point))
}

/// One node and its weight, by Newton's method.
fn legendre_point(i: usize) -> (f64, f64) {
    let n = POINTS as f64;
    let mut x = (PI * (i as f64 + 0.75) / (n + 0.5)).cos();
    let mut slope = 1.0;
    for _ in 0..8 {
        let (mut p, mut before) = (1.0, 0.0);
        for k in 0..POINTS {
            let k = k as f64;
            (p, before) = (((2.0 * k + 1.0) * x * p - k * before) / (k + 1.0), p);
        }
        slope = n * (x * p - before) / (x * x - 1.0);
        x -= p / slope;
    }
    (x, 2.0 / ((1.0 - x * x) * slope * slope))
}

/// The integral of f over [a, b] by one rule.
pub fn integrate(a: f64, b: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (middle, half) = (0.5 * (a + b), 0.5 * (b - a));
    half * legendre().iter().map(|(x, w)| w * f(middle + half * x)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    #[test]
    fn normal_masses_add_up_across_the_ways_to_compute_them() {
        let mass = |a: f64, b: f64| log_normal_mass(0.5 * (a + b), 0.5 * (b - a)).exp();
        for (a, b) in [(-0.3, 0.4), (0.0, 0.9), (2.0, 2.7), (5.0, 5.7), (-4.0, -3.3), (-1.0, 3.0), (0.5, 4.0)] {
            let middle = 0.4 * a + 0.6 * b;
            let parts = mass(a, middle) + mass(middle, b);
            assert!((mass(a, b) / parts - 1.0).abs() < 1e-13, "[{a}, {b}]: {} {parts}", mass(a, b));
        }
        assert!((log_normal_mass(0.0, 1.0) - 0.682_689_492_137_085_9f64.ln()).abs() < 1e-15);
        assert_eq!(log_normal_mass(1.0, 0.0), f64::NEG_INFINITY);
    }

    #[test]
    fn digamma_has_its_known_values() {
        let gamma = 0.577_215_664_901_532_9;
        for (x, value) in
            [(1.0f64, -gamma), (0.5, -gamma - 2.0 * LN_2), (2.0, 1.0 - gamma), (10.0, 2.251_752_589_066_721)]
        {
            assert!((digamma_minus_log(x) + x.ln() - value).abs() < 1e-14, "{x}");
        }
    }

    #[test]
    fn the_rule_is_exact_for_polynomials() {
        assert!((integrate(0.0, 2.0, |x| x.powi(9)) - 102.4).abs() < 1e-11);
        assert!((legendre().iter().map(|(_, w)| w).sum::<f64>() - 2.0).abs() < 1e-14);
    }
}
