//! How good the method `auto` is, on a few functions.

use crate::auto::{in_box, rosenbrock};
use cbo::{CboConfig, from_fn, solve};

/// A small suite with floors that a broken phase would miss: fractions of the targets 10^2, 10, .., 10^-8 above the minimum.
#[test]
fn a_small_suite_is_solved() {
    let rotated = |x: &[f64]| -> Vec<f64> {
        // Householder's reflection at (1, 2, ..., d), and a shift.
        let normal: f64 = (1..=x.len()).map(|k| (k * k) as f64).sum();
        let along: f64 = x.iter().enumerate().map(|(k, v)| (k + 1) as f64 * (v - 0.7)).sum();
        x.iter().enumerate().map(|(k, v)| v - 0.7 - 2.0 * along * (k + 1) as f64 / normal).collect()
    };
    let ellipsoid = |y: &[f64]| -> f64 {
        y.iter().enumerate().map(|(k, v)| 10f64.powf(6.0 * k as f64 / (y.len() - 1) as f64) * v * v).sum()
    };
    let rastrigin =
        |y: &[f64]| -> f64 { y.iter().map(|v| v * v + 2.5 * (1.0 - (std::f64::consts::TAU * v).cos())).sum() };
    let sharp = |y: &[f64]| -> f64 { y[0] * y[0] + 100.0 * y[1..].iter().map(|v| v * v).sum::<f64>().sqrt() };
    let steps = |y: &[f64]| -> f64 { y.iter().map(|v| (2.0 * v).round().powi(2)).sum::<f64>() + 1e-3 * y[0] * y[0] };
    type Case<'a> = (&'static str, Box<dyn Fn(&[f64]) -> f64 + Sync + 'a>, u64, f64);
    let cases: Vec<Case<'_>> = vec![
        ("separable Rastrigin", Box::new(|x| rastrigin(x)), 1500, 1.0),
        ("ellipsoid", Box::new(|x| ellipsoid(&rotated(x))), 500, 1.0),
        ("Rosenbrock", Box::new(|x| rosenbrock(&rotated(x))), 2000, 1.0),
        ("sharp ridge", Box::new(|x| sharp(&rotated(x))), 1500, 0.9),
        ("Rastrigin", Box::new(|x| rastrigin(&rotated(x))), 5000, 0.6),
        ("steps", Box::new(|x| steps(&rotated(x))), 3000, 0.4),
    ];
    const SEEDS: u64 = 8;
    for (name, function, budget, floor) in &cases {
        let mut reached = 0.0;
        for seed in 0..SEEDS {
            let config = CboConfig { seed, max_evaluations: Some(*budget), ..in_box(5, -5.0, 5.0) };
            let best = solve(&config, &from_fn(5, |x: &[f64]| function(x)), &mut ()).expect("a run").best().value;
            reached += (-2..=8).filter(|k| best <= 10f64.powi(-k)).count() as f64 / 11.0 / SEEDS as f64;
        }
        assert!(reached >= *floor, "{name}: {reached} of the targets, not {floor}");
    }
}

/// A curved valley in too many dimensions for a model with products: the model without them leads along it. If a quarter of the particles
/// were evaluated in every generation, the value would still be above 10^-4.
#[test]
fn a_curved_valley_is_followed_with_a_model_that_has_no_products() {
    let config = CboConfig { max_evaluations: Some(40_000), target: Some(1e-8), threads: 1, ..in_box(45, -5.0, 5.0) };
    let best = solve(&config, &from_fn(45, rosenbrock), &mut ()).expect("a run").best().value;
    assert!(best <= 1e-8, "{best}");
}

/// A valley a thousand times longer than wide, along no coordinate, in too many dimensions for a full covariance: a diagonal one is still
/// above 10 after all of these evaluations.
#[test]
fn a_long_valley_in_many_dimensions_is_followed() {
    let dim = 128;
    let cigar = |x: &[f64]| -> f64 {
        let signs = [1.0, -1.0, -1.0].iter().cycle();
        let along = x.iter().zip(signs).map(|(v, sign)| sign * (v - 0.7)).sum::<f64>().powi(2) / dim as f64;
        along + 1e6 * (x.iter().map(|v| (v - 0.7).powi(2)).sum::<f64>() - along)
    };
    let config = CboConfig { max_evaluations: Some(45_000), target: Some(1e-6), threads: 1, ..in_box(dim, -5.0, 5.0) };
    let best = solve(&config, &from_fn(dim, cigar), &mut ()).expect("a run").best().value;
    assert!(best <= 1e-6, "{best}");
}
