//! What the method `auto` must not depend on, and what it must stand: scales, orders of coordinates, walls, corners, cliffs.

use crate::auto::{in_box, rosenbrock};
use cbo::{CboConfig, InitialLaw, from_fn, solve};

/// The best point and its value.
fn best(config: &CboConfig, f: impl Fn(&[f64]) -> f64 + Sync) -> (Vec<f64>, f64) {
    let dim = config.bounds.as_ref().map_or(3, Vec::len);
    let found = solve(config, &from_fn(dim, f), &mut ()).expect("a run").best().clone();
    (found.x, found.value)
}

#[test]
fn any_scale_of_values_will_do() {
    for seed in 0..3 {
        let config = CboConfig { seed, max_evaluations: Some(2500), ..in_box(4, -2.0, 2.5) };
        for scale in [1e-30, 3e-11, 0.7, 5e7, 1e30] {
            let (_, value) = best(&config, |x| scale * rosenbrock(x));
            assert!(value < 1e-10 * scale, "{value} at scale {scale}, seed {seed}");
        }
        for constant in [-1e9, -7.0, 1e3, 1e9] {
            let (_, value) = best(&config, |x| constant + rosenbrock(x));
            assert!(value - constant <= 1e-10 + 1e-14 * constant.abs(), "{value} above {constant}, seed {seed}");
        }
    }
}

#[test]
fn any_units_of_coordinates_will_do() {
    let units = [1e-9, 1e9, 3.0, 1e-4];
    let bounds: Vec<(f64, f64)> = units.iter().map(|u| (-2.0 * u, 2.5 * u)).collect();
    for seed in 0..3 {
        let config = CboConfig {
            seed,
            init: InitialLaw::uniform(&bounds),
            bounds: Some(bounds.clone()),
            max_evaluations: Some(2500),
            ..in_box(4, 0.0, 1.0)
        };
        let (_, value) = best(&config, |x| rosenbrock(&x.iter().zip(units).map(|(x, u)| x / u).collect::<Vec<_>>()));
        assert!(value < 1e-10, "{value}, seed {seed}");
    }
}

/// Mean and variance of the mean of the evaluations until the target.
fn cost(f: impl Fn(&[f64]) -> f64 + Sync) -> (f64, f64) {
    let runs = 60;
    let costs: Vec<f64> = (0..runs)
        .map(|seed| {
            let config = CboConfig { seed, target: Some(1e-6), max_evaluations: Some(9000), ..in_box(4, -2.0, 2.0) };
            solve(&config, &from_fn(4, &f), &mut ()).expect("a run").evaluations() as f64
        })
        .collect();
    let mean = costs.iter().sum::<f64>() / costs.len() as f64;
    let variance = costs.iter().map(|c| (c - mean).powi(2)).sum::<f64>() / (costs.len() - 1) as f64;
    (mean, variance / costs.len() as f64)
}

#[test]
fn the_order_of_coordinates_does_not_matter() {
    let (a, b) = (cost(rosenbrock), cost(|x| rosenbrock(&[x[3], x[2], x[1], x[0]])));
    let error = (a.1 + b.1).sqrt();
    assert!((a.0 - b.0).abs() < 4.0 * error, "{} and {} evaluations, standard error {error}", a.0, b.0);
}

/// `sum (x - c)^2 + (sum x)^2 / 2`, of which some c are outside the unit box.
fn leaning(centre: &[f64], x: &[f64]) -> f64 {
    x.iter().zip(centre).map(|(x, c)| (x - c).powi(2)).sum::<f64>() + 0.5 * x.iter().sum::<f64>().powi(2)
}

#[test]
fn minima_on_walls_and_in_corners_are_found() {
    for centre in [[-0.5, 0.5, 2.0, 3.0], [5.0, 5.0, 5.0, 5.0], [-3.0, -3.0, -3.0, -3.0], [-1.0, 9.0, -1.0, 9.0]] {
        // The minimiser, by gradients and projections.
        let mut x = [0.5; 4];
        for _ in 0..2000 {
            let sum: f64 = x.iter().sum();
            x.iter_mut().zip(centre).for_each(|(x, c)| *x = (*x - 0.1 * (2.0 * (*x - c) + sum)).clamp(0.0, 1.0));
        }
        let least = leaning(&centre, &x);
        for seed in 0..4 {
            let config = CboConfig { seed, max_evaluations: Some(2000), ..in_box(4, 0.0, 1.0) };
            let (_, value) = best(&config, |x| leaning(&centre, x));
            assert!(value - least < 1e-6, "{value} instead of {least} for {centre:?}, seed {seed}");
        }
    }
}

#[test]
fn valleys_may_have_a_wall_on_one_side_or_none() {
    let open = f64::INFINITY;
    for (low, high, least) in [(-open, open, 0.0), (0.0, open, 0.0), (-open, 3.0, 0.0)] {
        for seed in 0..4 {
            let config = CboConfig {
                seed,
                bounds: Some(vec![(low, high); 3]),
                init: InitialLaw::Uniform { low: (-2.0).into(), high: 2.0.into() },
                max_evaluations: Some(3000),
                ..in_box(3, 0.0, 1.0)
            };
            let (_, value) = best(&config, rosenbrock);
            assert!(value - least < 1e-8, "{value} in [{low}, {high}], seed {seed}");
        }
    }
}

#[test]
fn failures_and_cliffs_at_an_angle_are_stood() {
    // |x|^2 where sum x >= 1, and nothing elsewhere: the minimum is on the cliff.
    for bad in [f64::NAN, f64::INFINITY] {
        for seed in 0..4 {
            let config = CboConfig { seed, max_evaluations: Some(4000), ..in_box(3, -2.0, 3.0) };
            let (x, value) = best(&config, |x| {
                let side: f64 = x.iter().sum();
                if side < 1.0 { bad } else { x.iter().map(|v| v * v).sum::<f64>() }
            });
            assert!(value < 1.0 / 3.0 + 1e-2, "{value} at {x:?}, seed {seed}");
        }
    }
}

#[test]
fn jumps_and_whole_numbers_are_stood() {
    for seed in 0..4 {
        let config = CboConfig { seed, max_evaluations: Some(3000), ..in_box(3, -8.0, 9.0) };
        // A jump through a bowl, at an angle.
        let jump = |x: &[f64]| {
            let bowl: f64 = x.iter().map(|v| (v - 1.3).powi(2)).sum();
            if x[0] + x[1] > x[2] { bowl } else { bowl + 10.0 }
        };
        let (_, value) = best(&config, jump);
        assert!(value < 1e-6, "{value}, seed {seed}");
        // Whole numbers that act together: 2, 1, -3.
        let whole = |x: &[f64]| {
            let y: Vec<f64> = x.iter().map(|v| v.round()).collect();
            (y[0] + y[1] + y[2]).powi(2)
                + (y[0] - 2.0).powi(2)
                + (y[1] - 1.0).abs() * (1.0 + y[2].abs())
                + (y[2] + 3.0).powi(2)
        };
        let (x, value) = best(&config, whole);
        assert!(value == 0.0, "{value} at {x:?}, seed {seed}");
    }
}
