//! Gradients against differences of values.

use crate::samples;
use cbo_problems::Problem;

/// Central differences of the plain value, extrapolated.
fn differences(problem: &Problem, x: &[f64], k: usize, h: f64) -> f64 {
    let slope = |h: f64| {
        let mut moved = x.to_vec();
        moved[k] = x[k] + h;
        let up = problem.value(&moved);
        moved[k] = x[k] - h;
        (up - problem.value(&moved)) / (2.0 * h)
    };
    (4.0 * slope(h) - slope(2.0 * h)) / 3.0
}

fn compare(problem: &Problem) {
    let dim = problem.dim();
    let (mut slope, mut compared, mut wrong) = (vec![0.0; dim], 0, 0);
    for x in samples::uniform(problem, 40, 3).chunks_exact(dim) {
        // Not at the walls, outside of which confined functions are infinite.
        let x: Vec<f64> =
            x.iter().zip(problem.domain()).map(|(x, (l, h))| 0.5 * (l + h) + 0.9 * (x - 0.5 * (l + h))).collect();
        let value = problem.gradient(&x, &mut slope);
        if value.is_infinite() {
            continue;
        }
        assert!((value - problem.value(&x)).abs() <= 1e-9 * (1.0 + value.abs()), "{}", problem.name());
        for (k, found) in slope.iter().enumerate() {
            let width = problem.domain()[k].1 - problem.domain()[k].0;
            let (wide, narrow) = (differences(problem, &x, k, 2e-4 * width), differences(problem, &x, k, 2e-5 * width));
            // Where differences themselves disagree there is a kink nearby, or ripples finer than they see.
            let scale = 1e-3 * (wide.abs() + narrow.abs()) + 1e-6 * (1.0 + value.abs()) / width;
            if (wide - narrow).abs() > scale {
                continue;
            }
            compared += 1;
            wrong += usize::from((found - narrow).abs() > 2.0 * scale);
        }
    }
    let name = problem.description();
    assert!(wrong == 0 && (compared > 10 || name.starts_with("weierstrass")), "{name}: {wrong} of {compared} differ");
}

#[test]
fn every_function_has_its_gradient() {
    samples::problems().iter().for_each(compare);
}

#[test]
fn shifts_and_rotations_turn_gradients() {
    for name in ["rosenbrock", "rastrigin", "ackley", "styblinski-tang"] {
        compare(&Problem::builder(name).dim(5).shift(0.5).rotate(3).build().expect("a problem"));
    }
}

/// At minimisers inside the domain where the function is smooth there is no slope.
#[test]
fn minimisers_have_no_slope() {
    for name in ["sphere", "rosenbrock", "rastrigin", "griewank", "himmelblau", "six-hump-camel", "goldstein-price"] {
        let problem = Problem::named(name, 2).expect("a problem");
        for minimiser in problem.minimisers() {
            let mut slope = [1.0; 2];
            problem.gradient(minimiser, &mut slope);
            assert!(slope.iter().all(|s| s.abs() < 1e-4), "{name}: {slope:?}");
        }
    }
}
