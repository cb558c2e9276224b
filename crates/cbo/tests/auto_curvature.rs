//! The inverse of the curvature that the method `auto` reports.

use crate::auto::{in_box, run};
use cbo::CboConfig;

/// The lower triangular factor R of a Hessian `R R'`, by rows: coordinates of different size, all acting together.
fn factor(dim: usize, condition: f64) -> Vec<Vec<f64>> {
    let size = |k: usize| condition.powf(0.5 * k as f64 / (dim.max(2) - 1) as f64);
    let entry = |i: usize, j: usize| if i == j { 1.0 } else { 0.4 * ((7 * i + 3 * j) as f64).sin() };
    (0..dim).map(|i| (0..=i).map(|j| size(j) * entry(i, j)).collect()).collect()
}

/// `|R' (x - 0.3)|^2 / 2`.
fn quadratic(factor: &[Vec<f64>], x: &[f64]) -> f64 {
    let dim = x.len();
    let along = |j: usize| (j..dim).map(|i| factor[i][j] * (x[i] - 0.3)).sum::<f64>();
    (0..dim).map(|j| 0.5 * along(j) * along(j)).sum()
}

/// How far `R' C R` is from the identity: the error of C relative to the Hessian's own units.
fn error(factor: &[Vec<f64>], covariance: &[f64]) -> f64 {
    let dim = factor.len();
    let entry = |i: usize, j: usize| if j <= i { factor[i][j] } else { 0.0 };
    let mut worst: f64 = 0.0;
    for a in 0..dim {
        for b in 0..dim {
            let pairs = (0..dim).flat_map(|i| (0..dim).map(move |j| (i, j)));
            let sum: f64 = pairs.map(|(i, j)| entry(i, a) * covariance[i * dim + j] * entry(j, b)).sum();
            worst = worst.max((sum - f64::from(u8::from(a == b))).abs());
        }
    }
    worst
}

#[test]
fn the_curvature_of_a_quadratic_function_is_found_to_many_digits() {
    for dim in [2, 3, 5, 10, 20] {
        for (seed, condition) in [(1, 1.0), (2, 1e2), (3, 1e4)] {
            let factor = factor(dim, condition);
            for height in [0.0, 5.0] {
                let config = CboConfig { seed, max_evaluations: Some(200 * dim as u64), ..in_box(dim, -5.0, 5.0) };
                let report = run(&config, dim, |x| height + quadratic(&factor, x));
                let error = error(&factor, report.covariance().expect("a covariance"));
                assert!(error < 1e-3, "{error} in {dim} dimensions, condition {condition}, {height} above 0");
            }
        }
    }
}

#[test]
fn the_curvature_of_a_curved_valley_is_that_at_its_minimum() {
    // Hessian [802 -400; -400 200] at (1, 1), with this inverse.
    let wanted = [0.5, 1.0, 1.0, 2.005];
    for seed in 1..=4 {
        let report = run(&CboConfig { seed, ..in_box(2, -2.0, 2.0) }, 2, crate::auto::rosenbrock);
        let found = report.covariance().expect("a covariance");
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 0.02 * b), "{found:?}");
    }
}

#[test]
fn coordinates_that_act_alone_have_their_own_curvatures() {
    let f = |x: &[f64]| x.iter().enumerate().map(|(k, x)| ((k + 1) as f64 * (x - 0.3)).cosh()).sum::<f64>();
    for dim in [1, 4] {
        let report = run(&in_box(dim, -2.0, 2.0), dim, f);
        let found = report.covariance().expect("a covariance");
        for (at, value) in found.iter().enumerate() {
            let wanted = if at / dim == at % dim { ((at / dim + 1) as f64).powi(-2) } else { 0.0 };
            assert!((value - wanted).abs() <= 0.01 * wanted.max(1e-3), "entry {at} is {value} instead of {wanted}");
        }
    }
}
