//! What the method `auto` notices: each phase on functions where it must and must not take part, as its report tells.

use crate::auto::{in_box, rosenbrock, sphere};
use cbo::{CboConfig, RunReport, from_fn, solve};

fn rastrigin(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v + 10.0 * (1.0 - (std::f64::consts::TAU * v).cos())).sum()
}

/// Householder's reflection at (1, 2, ..., d), and a shift.
fn turned(x: &[f64]) -> Vec<f64> {
    let normal: f64 = (1..=x.len()).map(|k| (k * k) as f64).sum();
    let along: f64 = x.iter().enumerate().map(|(k, v)| (k + 1) as f64 * (v - 0.7)).sum();
    x.iter().enumerate().map(|(k, v)| v - 0.7 - 2.0 * along * (k + 1) as f64 / normal).collect()
}

fn ellipsoid(x: &[f64]) -> f64 {
    turned(x).iter().enumerate().map(|(k, v)| 10f64.powi(k as i32) * v * v).sum()
}

fn run(seed: u64, dim: usize, budget: Option<u64>, f: impl Fn(&[f64]) -> f64 + Sync) -> RunReport<f64> {
    let config = CboConfig { seed, max_evaluations: budget, ..in_box(dim, -4.0, 5.0) };
    solve(&config, &from_fn(dim, f), &mut ()).expect("a run")
}

/// Whether the coordinates were found to act alone.
fn alone(report: &RunReport<f64>) -> bool {
    let test = &report.phases()[0];
    assert_eq!(test.name, "separability test");
    let lines = report.phases().iter().any(|phase| phase.name == "lines");
    let alone = test.end == "the coordinates act alone";
    assert!(alone || !lines, "{:?}", report.phases());
    alone
}

/// Whether a run ended for this reason.
fn ended(report: &RunReport<f64>, why: &str) -> bool {
    report.phases().iter().any(|phase| phase.end.contains(why))
}

const PLATEAU: &str = "different points have equal values";
const RUGGED: &str = "no quadratic model holds";

#[test]
fn sums_over_coordinates_are_minimised_line_by_line() {
    let mixed = |x: &[f64]| -> f64 { x.iter().enumerate().map(|(k, v)| (v - 0.3).abs().powi(1 + k as i32 % 3)).sum() };
    for dim in [2, 3, 5, 17] {
        for seed in 0..4 {
            for f in [sphere, rastrigin, mixed] {
                let report = run(seed, dim, None, f);
                assert!(alone(&report), "{dim}: {:?}", report.explanation());
                assert!(report.best().value < 1e-8, "{dim}: {:?}", report.best());
                assert!(report.explanation()[0].starts_with("The coordinates act alone"));
            }
        }
    }
}

#[test]
fn coordinates_that_almost_act_alone_are_solved() {
    // The minimiser of sum (x - 0.3)^2 + c (sum x)^2 has all coordinates 0.3 / (1 + c d).
    for strength in [1e-3, 1e-6, 1e-8, 1e-10] {
        for dim in [2, 5] {
            let f = |x: &[f64]| sphere(x) + strength * x.iter().sum::<f64>().powi(2);
            let least = f(&vec![0.3 / (1.0 + strength * dim as f64); dim]);
            for seed in 0..4 {
                for budget in [None, Some(1000)] {
                    let report = run(seed, dim, budget, f);
                    if strength >= 1e-6 {
                        assert!(!alone(&report), "{strength} in {dim}-D, seed {seed}");
                    }
                    let gap = report.best().value - least;
                    assert!(gap < 1e-12, "{gap} above the minimum, coupling {strength}, {dim}-D, seed {seed}");
                }
            }
        }
    }
}

#[test]
fn coordinates_whose_ripples_act_together_are_not_taken_to_act_alone() {
    // Ripples of 1e-6 of the range across the coordinates.
    for seed in 0..8 {
        let f = |x: &[f64]| sphere(x) + 1e-4 * (3.0 * x.iter().sum::<f64>()).sin();
        assert!(!alone(&run(seed, 4, Some(100), f)), "seed {seed}");
    }
}

#[test]
fn functions_of_a_sum_are_not_sums() {
    let functions: [fn(&[f64]) -> f64; 4] = [
        |x| (0.1 * sphere(x)).exp() - 1.0,
        |x| sphere(x).sqrt(),
        |x| sphere(x).ln_1p(),
        |x| 1.0 - (-0.1 * sphere(x)).exp(),
    ];
    for (i, f) in functions.into_iter().enumerate() {
        for seed in 0..4 {
            let report = run(seed, 4, Some(2000), f);
            assert!(!alone(&report), "function {i}, seed {seed}");
            assert!(report.best().value < 1e-7, "function {i}, seed {seed}: {:?}", report.best());
        }
    }
}

#[test]
fn steps_are_plateaus_and_rounded_values_are_not() {
    for seed in 0..6 {
        let steps = |x: &[f64]| turned(x).iter().map(|v| (2.0 * v).round().powi(2)).sum::<f64>();
        let report = run(seed, 4, Some(2000), steps);
        assert!(ended(&report, PLATEAU), "seed {seed}: {:?}", report.explanation());
        let smooth: [fn(&[f64]) -> f64; 3] = [|x| sphere(&turned(x)).sqrt(), ellipsoid, rosenbrock];
        for (i, f) in smooth.into_iter().enumerate() {
            for constant in [0.0, 1.0, 1e4, -1e8] {
                let report = run(seed, 4, Some(2000), |x| f(x) + constant);
                assert!(!ended(&report, PLATEAU), "{i} + {constant}, seed {seed}: {:?}", report.explanation());
            }
        }
    }
}

#[test]
fn ripples_are_rugged_and_valleys_are_not() {
    let says = |report: &RunReport<f64>, what: &str| report.explanation().iter().any(|s| s.contains(what));
    for seed in 0..6 {
        let report = run(seed, 5, Some(5000), |x| rastrigin(&turned(x)));
        assert_eq!(report.phases()[1].name, "first run");
        assert!(report.phases()[1].end.contains(RUGGED), "seed {seed}: {:?}", report.explanation());
        assert!(says(&report, "the function is rugged") && !says(&report, "the function is smooth"));
        // The same with few evaluations left: there is no time for larger runs.
        assert!(!ended(&run(seed, 5, Some(1000), |x| rastrigin(&turned(x))), RUGGED), "seed {seed}");
        let smooth: [fn(&[f64]) -> f64; 2] = [|x| (1.0 + sphere(&turned(x))).sqrt(), ellipsoid];
        for (i, f) in smooth.into_iter().enumerate() {
            let report = run(seed, 5, Some(5000), f);
            assert!(!ended(&report, RUGGED), "function {i}, seed {seed}: {:?}", report.explanation());
            assert!(says(&report, "A quadratic model orders the points well"), "function {i}, seed {seed}");
        }
    }
}

#[test]
fn a_model_saves_evaluations_on_a_quadratic_function() {
    // Without one, this takes more than a thousand.
    for seed in 0..6 {
        let config = CboConfig { seed, target: Some(1e-8), max_evaluations: Some(3000), ..in_box(5, -4.0, 5.0) };
        let report = solve(&config, &from_fn(5, ellipsoid), &mut ()).expect("a run");
        assert!(report.evaluations() < 300, "{} evaluations", report.evaluations());
    }
}

#[test]
fn coordinates_act_alone_beside_infeasible_points() {
    // Feasible in a tenth of the box, with several minima on each line, the best near the end of the feasible part.
    for seed in 0..4 {
        let waves = |v: f64| 0.3 * (v + 2.0) - (4.0 * v).cos();
        let f = |x: &[f64]| {
            if x.iter().all(|v| (-2.0..=3.7).contains(v)) { x.iter().map(|v| waves(*v)).sum() } else { f64::INFINITY }
        };
        let report = run(seed, 5, None, f);
        assert!(alone(&report), "seed {seed}: {:?}", report.explanation());
        let least = (0..=100_000).map(|i| waves(-2.0 + 5.7e-5 * f64::from(i))).fold(f64::INFINITY, f64::min);
        assert!(report.best().value < 5.0 * least + 1e-6, "seed {seed}: {:?}", report.best());
    }
}

#[test]
fn a_model_without_products_does_not_hide_how_coordinates_act_together() {
    // With one true value a generation, the shape learnt nothing but the model's axes: values from 24 to 320 for seeds 1 to 4.
    let dim = 45;
    let f = move |x: &[f64]| -> f64 {
        let scaled = |(k, v): (usize, f64)| 1e6f64.powf(k as f64 / (dim - 1) as f64) * v * v;
        turned(x).into_iter().enumerate().map(scaled).sum()
    };
    for seed in 1..3 {
        let report = run(seed, dim, Some(40_000), f);
        assert!(report.best().value < 1e-3, "seed {seed}: {}", report.best().value);
    }
}
