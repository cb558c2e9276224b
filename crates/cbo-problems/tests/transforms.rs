//! Shifts and rotations: where the minimiser goes, what stays, and that rotations are uniform.

use crate::samples;
use cbo::simd::available;
use cbo::{Objective, Rows, StepContext};
use cbo_problems::{Problem, ProblemError, Rotation, Shift, all};
use proptest::prelude::*;
use std::ops::ControlFlow;

#[test]
fn rotations_are_orthogonal() {
    for dim in [1, 2, 3, 5, 16, 20, 64, 129] {
        for seed in [0, 1, u64::MAX] {
            let rotation = Rotation::random(dim, seed);
            for i in 0..dim {
                for j in 0..dim {
                    let product: f64 = rotation.row(i).iter().zip(rotation.row(j)).map(|(a, b)| a * b).sum();
                    let expected = if i == j { 1.0 } else { 0.0 };
                    assert!((product - expected).abs() < 1e-12, "dim {dim}, rows {i} and {j}: {product}");
                }
            }
        }
    }
}

/// Under the Haar measure of O(d) an entry has mean 0 and mean square 1/d, the trace has mean 0 and mean square 1, and
/// half of the matrices are reflections. Without the correction of signs the first mean would be far from 0.
#[test]
fn whoever_watches_can_stop_the_building() {
    let builder = || Problem::builder("sphere").dim(9).rotate(3);
    let mut asked = 0;
    let whole = builder().build_watched(&mut || {
        asked += 1;
        ControlFlow::Continue(())
    });
    assert_eq!(whole.unwrap().rotation(), builder().build().unwrap().rotation());
    for stop in 1..=asked {
        let mut left = stop;
        let stopped = builder().build_watched(&mut || {
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(stopped.unwrap_err(), ProblemError::Stopped { function: "sphere" });
    }
    assert!(asked >= 9, "{asked}");
}

#[test]
fn rotations_are_uniform() {
    let (dim, count) = (3, 4000);
    let rotations: Vec<Rotation> = (0..count).map(|seed| Rotation::random(dim, seed)).collect();
    // `deviation` is the standard deviation of one sample; 5 standard errors.
    let check = |what: &str, deviation: f64, expected: f64, sample: &dyn Fn(&Rotation) -> f64| {
        let mean = rotations.iter().map(sample).sum::<f64>() / count as f64;
        let allowed = 5.0 * deviation / (count as f64).sqrt();
        assert!((mean - expected).abs() < allowed, "{what}: {mean}, expected {expected} +- {allowed}");
    };
    for i in 0..dim {
        for j in 0..dim {
            check("entry", (1.0f64 / 3.0).sqrt(), 0.0, &|r| r.row(i)[j]);
            // The fourth moment is 3/(d (d + 2)) = 1/5, so the variance of the square is 1/5 - 1/9.
            check("square", (1.0f64 / 5.0 - 1.0 / 9.0).sqrt(), 1.0 / 3.0, &|r| r.row(i)[j].powi(2));
        }
    }
    let trace = |r: &Rotation| (0..dim).map(|i| r.row(i)[i]).sum::<f64>();
    check("trace", 1.0, 0.0, &trace);
    // The trace lies within [-3, 3] and its fourth moment is 3 for d >= 2: variance of the square 2.
    check("square of the trace", 2f64.sqrt(), 1.0, &|r| trace(r).powi(2));
    check("determinant", 1.0, 0.0, &|r| {
        let [a, b, c] = [r.row(0), r.row(1), r.row(2)];
        a[0] * (b[1] * c[2] - b[2] * c[1]) - a[1] * (b[0] * c[2] - b[2] * c[0]) + a[2] * (b[0] * c[1] - b[1] * c[0])
    });
}

#[test]
fn seeds_of_shift_and_rotation_matter_and_repeat() {
    assert_eq!(Rotation::random(4, 7), Rotation::random(4, 7));
    assert_ne!(Rotation::random(4, 7), Rotation::random(4, 8));
    let shifted = |seed| Problem::builder("levy").dim(4).shift(Shift::Random(seed)).build().unwrap();
    assert_eq!(shifted(1).minimisers(), shifted(1).minimisers());
    assert_ne!(shifted(1).minimisers(), shifted(2).minimisers());
}

#[test]
fn every_function_keeps_its_minimum() {
    for plain in samples::problems() {
        for seed in 0..3 {
            let builder = Problem::builder(plain.name()).dim(plain.dim());
            let problem = builder.shift(Shift::Random(seed)).rotate(seed).build().unwrap();
            assert_eq!(problem.minimum(), plain.minimum());
            assert_eq!(problem.domain(), plain.domain());
            let first = &problem.minimisers()[0];
            for (v, (low, high)) in first.iter().zip(problem.domain()) {
                let edge = 0.1 * (high - low);
                assert!(low + edge <= *v && *v <= high - edge, "{problem:?}: {v} not in the central 80 %");
            }
            // The first minimiser is mapped exactly, so that even the edge of a domain (eggholder) is safe.
            assert_eq!(problem.value(first), plain.value(&plain.minimisers()[0]), "{problem:?}");
            let mut energy = [f64::NAN];
            problem.energies(StepContext::default(), Rows::new(first, plain.dim()), &mut energy).unwrap();
            assert!((energy[0] - problem.minimum()).abs() <= 1e-9 * (1.0 + problem.minimum().abs()), "{problem:?}");
            // The others only up to rounding of the rotation; cusps magnify it.
            for minimiser in problem.minimisers() {
                let value = problem.value(minimiser);
                assert!((value - problem.minimum()).abs() <= 1e-9 * (1.0 + value.abs()), "{problem:?}: {value}");
                assert!(problem.distance_to_minimiser(minimiser) < 1e-12);
            }
        }
    }
}

#[test]
fn a_shift_moves_function_and_minimiser_together() {
    let plain = Problem::named("rastrigin", 3).unwrap();
    let moved = Problem::builder("rastrigin").dim(3).shift(vec![1.0, -2.0, 0.5]).build().unwrap();
    assert_eq!(moved.minimisers(), [[1.0, -2.0, 0.5]]);
    assert_eq!(moved.value(&[1.25, -1.0, 0.0]), plain.value(&[0.25, 1.0, -0.5]));
    assert_ne!(moved.value(&[1.25, -1.0, 0.0]), plain.value(&[1.25, -1.0, 0.0]));
    assert_eq!(moved.distance_to_minimiser(&[1.25, -1.0, 0.0]), 1.0);
    let far = Problem::builder("sphere").dim(2).shift(100.0).build().unwrap();
    assert_eq!(far.minimisers(), [[100.0, 100.0]]);
}

#[test]
fn a_rotation_couples_the_coordinates_but_keeps_radial_functions() {
    let turned = |name| Problem::builder(name).dim(2).rotate(5).build().unwrap();
    let x = [0.3, 1.1];
    let plain = |name| Problem::named(name, 2).unwrap().value(&x);
    assert!((turned("sphere").value(&x) - plain("sphere")).abs() < 1e-12);
    assert!((turned("rastrigin").value(&x) - plain("rastrigin")).abs() > 1e-3);
}

#[test]
fn confined_functions_are_infinite_where_their_argument_leaves_the_domain() {
    let problem = Problem::builder("schwefel").dim(2).shift(-400.0).build().unwrap();
    for (x, feasible) in [([20.0, 20.0], true), ([-899.0, 99.0], true), ([101.0, 0.0], false), ([0.0, -901.0], false)] {
        assert_eq!(problem.value(&x).is_finite(), feasible, "{x:?}");
        let mut energy = [0.0];
        problem.energies(StepContext::default(), Rows::new(&x, 2), &mut energy).unwrap();
        assert_eq!(energy[0].is_finite(), feasible, "{x:?}");
    }
}

#[test]
fn energies_of_transformed_problems_match_the_reference() {
    for plain in samples::problems() {
        let builder = Problem::builder(plain.name()).dim(plain.dim()).shift(Shift::Random(9));
        for problem in [builder.clone().build().unwrap(), builder.rotate(9).build().unwrap()] {
            let dim = problem.dim();
            let points = samples::uniform(&problem, 100, 3);
            for set in available() {
                let mut energies = vec![f64::NAN; 100];
                problem.energies_on(set, Rows::new(&points, dim), &mut energies);
                for (x, energy) in points.chunks(dim).zip(energies) {
                    let reference = problem.value(x);
                    if reference.is_infinite() || energy.is_infinite() {
                        assert_eq!(energy, reference, "{problem:?} {set:?} {x:?}");
                        continue;
                    }
                    // Rounding of the rotated argument, magnified most by Weierstrass (3^20) and Bukin (square root).
                    let allowed = match problem.name() {
                        "weierstrass" | "bukin-6" => 1e-5,
                        _ => 1e-10,
                    };
                    let difference = (energy - reference).abs();
                    assert!(
                        difference <= allowed * (1.0 + reference.abs()),
                        "{problem:?} {set:?}: {energy} {reference}"
                    );
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn shifted_and_rotated_values_are_those_of_the_formula(
        which in 0usize..42, dim in 2usize..9, seed in any::<u64>(), part in prop::collection::vec(0.0f64..1.0, 13)
    ) {
        let info = all()[which];
        let dim = info.default_dim().unwrap_or(dim);
        let plain = Problem::named(info.name, dim).unwrap();
        let problem = Problem::builder(info.name).dim(dim).shift(Shift::Random(seed)).rotate(seed).build().unwrap();
        let x: Vec<f64> = problem.domain().iter().zip(&part).map(|((low, high), u)| low + (high - low) * u).collect();
        // g(x) = f(x0 + Q (x - x0 - shift)), from the public parts.
        let difference: Vec<f64> = x.iter().zip(&problem.minimisers()[0]).map(|(a, b)| a - b).collect();
        let turned = problem.rotation().unwrap().apply(&difference);
        let y: Vec<f64> = plain.minimisers()[0].iter().zip(&turned).map(|(a, b)| a + b).collect();
        prop_assert_eq!(problem.value(&x), plain.value(&y));
        // Points that violate constraints may be lower.
        let lowest = problem.minimum() - 1e-9 * (1.0 + problem.minimum().abs());
        prop_assert!(problem.value(&x) >= lowest || !problem.constraint_texts().is_empty());
    }

    #[test]
    fn rotations_keep_lengths_and_can_be_undone(
        seed in any::<u64>(), vector in prop::collection::vec(-1e3f64..1e3, 1..40)
    ) {
        let rotation = Rotation::random(vector.len(), seed);
        let turned = rotation.apply(&vector);
        let length = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        prop_assert!((length(&turned) - length(&vector)).abs() <= 1e-12 * (1.0 + length(&vector)));
        for (a, b) in rotation.apply_inverse(&turned).iter().zip(&vector) {
            prop_assert!((a - b).abs() <= 1e-12 * (1.0 + length(&vector)));
        }
    }

    #[test]
    fn distance_is_the_largest_coordinate(step in prop::collection::vec(-0.4f64..0.4, 5)) {
        let problem = Problem::named("rastrigin", 5).unwrap();
        let largest = step.iter().fold(0.0f64, |a, b| a.max(b.abs()));
        prop_assert_eq!(problem.distance_to_minimiser(&step), largest);
    }
}
