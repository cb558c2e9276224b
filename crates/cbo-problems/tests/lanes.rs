//! The fast path against the slow one: every function, on every instruction set, in both precisions.

use crate::samples;
use cbo::simd::{InstructionSet, available};
use cbo::{Objective, Rows, StepContext};
use cbo_problems::{Problem, Shift, all, constraints};

fn double(problem: &Problem, set: InstructionSet, points: &[f64]) -> Vec<f64> {
    let mut energies = vec![f64::NAN; points.len() / problem.dim()];
    problem.energies_on(set, Rows::new(points, problem.dim()), &mut energies);
    energies
}

fn single(problem: &Problem, set: InstructionSet, points: &[f32]) -> Vec<f32> {
    let mut energies = vec![f32::NAN; points.len() / problem.dim()];
    problem.energies_on(set, Rows::new(points, problem.dim()), &mut energies);
    energies
}

/// What rounding may do to a value: the size of its terms and the change of the reference when the coordinates change by
/// a few units in the last place, one by one. The second part covers functions that magnify errors of their argument
/// (Weierstrass, whose last term has frequency 3^20; the square root in Bukin's function).
fn rounding(problem: &Problem, x: &[f64], scale: f64, unit: f64) -> f64 {
    let centre = problem.value(x);
    // The longest chain of roundings is Michalewicz's 20th power.
    let mut sum = 40.0 * unit * (scale + centre.abs());
    for k in 0..x.len() {
        let mut largest = 0.0f64;
        for units in [-4.0, -2.0, -1.0, 1.0, 2.0, 4.0] {
            let mut moved = x.to_vec();
            moved[k] += units * unit * moved[k].abs();
            largest = largest.max((problem.value(&moved) - centre).abs());
        }
        sum += largest;
    }
    sum
}

/// The size of the terms whose sum or difference a function is: its mean absolute value over the domain.
fn scale(problem: &Problem) -> f64 {
    let points = samples::uniform(problem, 500, 8);
    points.chunks(problem.dim()).map(|x| problem.value(x).abs()).sum::<f64>() / 500.0
}

#[test]
fn double_precision_lanes_match_the_reference() {
    for problem in samples::problems() {
        let (points, scale) = (samples::uniform(&problem, 300, 1), scale(&problem));
        for set in available() {
            let energies = double(&problem, set, &points);
            for (x, energy) in points.chunks(problem.dim()).zip(energies) {
                let (reference, allowed) = (problem.value(x), rounding(&problem, x, scale, f64::EPSILON));
                assert!(
                    (energy - reference).abs() <= allowed,
                    "{problem:?} {set:?} {x:?}: {energy} {reference} {allowed:e}"
                );
                // However the function magnifies errors, half of the digits are right.
                assert!((energy - reference).abs() <= 1e-6 * (scale + reference.abs()), "{problem:?} {set:?} {x:?}");
            }
        }
    }
}

/// Groups of lanes reach back where rows do not fill the last one, and short rows have a path of their own.
#[test]
fn any_number_of_rows_has_the_bits_of_each_row_alone() {
    for (name, dim) in [("rastrigin", 4), ("rastrigin", 3), ("ackley", 4), ("eggholder", 2), ("schwefel", 21)] {
        let problem = Problem::named(name, dim).unwrap();
        let points = samples::uniform(&problem, 50, 3);
        let singles: Vec<f32> = points.iter().map(|v| *v as f32).collect();
        for set in available() {
            let alone: Vec<f64> = points.chunks(dim).flat_map(|x| double(&problem, set, x)).collect();
            let alone_single: Vec<f32> = singles.chunks(dim).flat_map(|x| single(&problem, set, x)).collect();
            for count in [1, 7, 8, 9, 15, 16, 17, 40, 50] {
                assert_eq!(double(&problem, set, &points[..count * dim]), alone[..count], "{name} {set} {count}");
                assert_eq!(
                    single(&problem, set, &singles[..count * dim]),
                    alone_single[..count],
                    "{name} {set} {count}"
                );
            }
        }
    }
}

#[test]
fn single_precision_lanes_match_the_reference() {
    for problem in samples::problems() {
        let (points, scale) = (samples::uniform(&problem, 300, 2), scale(&problem));
        let points: Vec<f32> = points.iter().map(|v| *v as f32).collect();
        for set in available() {
            let energies = single(&problem, set, &points);
            for (x, energy) in points.chunks(problem.dim()).zip(energies) {
                let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
                let (reference, energy) = (problem.value(&x), f64::from(energy));
                let allowed = rounding(&problem, &x, scale, f64::from(f32::EPSILON));
                assert!(
                    (energy - reference).abs() <= allowed,
                    "{problem:?} {set:?} {x:?}: {energy} {reference} {allowed:e}"
                );
                assert!((energy - reference).abs() <= 1e-3 * (scale + reference.abs()), "{problem:?} {set:?} {x:?}");
            }
        }
    }
}

#[test]
fn all_instruction_sets_return_the_same_bits() {
    for problem in samples::problems() {
        let points = samples::uniform(&problem, 50, 4);
        let rounded: Vec<f32> = points.iter().map(|v| *v as f32).collect();
        let expected = double(&problem, InstructionSet::PORTABLE, &points);
        let expected_single = single(&problem, InstructionSet::PORTABLE, &rounded);
        for set in available() {
            assert_eq!(double(&problem, set, &points), expected, "{problem:?} {set:?}");
            assert_eq!(single(&problem, set, &rounded), expected_single, "{problem:?} {set:?}");
        }
    }
}

/// Coordinates next to zero may be taken for zero, but only where the value does not show it.
#[test]
fn next_to_zero_values_are_right_to_1e_290() {
    for problem in samples::problems() {
        for exponent in [-100, -140, -150, -152, -153, -154, -160, -200, -300, -310] {
            let points: Vec<f64> = samples::uniform(&problem, 20, 9).iter().map(|x| x * 10f64.powi(exponent)).collect();
            for set in available() {
                for (x, energy) in points.chunks(problem.dim()).zip(double(&problem, set, &points)) {
                    let reference = problem.value(x);
                    let allowed = 1e-290 + 1e-9 * reference.abs();
                    assert!(
                        energy == reference
                            || (energy.is_nan() && reference.is_nan())
                            || (energy - reference).abs() <= allowed,
                        "{problem:?} {set:?} {x:?}: {energy:e} {reference:e}"
                    );
                }
            }
        }
    }
}

/// The bits of a value. Those of NaN are one: Rust leaves its sign to the compiler.
fn bits(value: f64) -> u64 {
    if value.is_nan() { f64::NAN.to_bits() } else { value.to_bits() }
}

/// Transformed and plain problems, with points far outside among them, for which slow paths exist.
#[test]
fn a_row_does_not_feel_its_neighbours() {
    for plain in samples::problems() {
        let turned = Problem::builder(plain.name()).dim(plain.dim()).rotate(4).build().unwrap();
        for problem in [plain, turned] {
            let dim = problem.dim();
            let mut points = samples::uniform(&problem, 40, 6);
            points[7 * dim] = 3e7;
            points[20 * dim] = f64::NAN;
            points[33 * dim] = f64::INFINITY;
            let rounded: Vec<f32> = points.iter().map(|v| *v as f32).collect();
            for set in available() {
                let all: Vec<u64> = double(&problem, set, &points).into_iter().map(bits).collect();
                let all_single: Vec<u64> =
                    single(&problem, set, &rounded).into_iter().map(|e| bits(e.into())).collect();
                for row in 0..40 {
                    let alone = double(&problem, set, &points[row * dim..(row + 1) * dim]);
                    assert_eq!(bits(alone[0]), all[row], "{problem:?} {set:?} row {row}");
                    let alone = single(&problem, set, &rounded[row * dim..(row + 1) * dim]);
                    assert_eq!(bits(alone[0].into()), all_single[row], "{problem:?} {set:?} row {row}");
                    // Last of a batch that ends with it, first of one that begins with it.
                    let until = double(&problem, set, &points[..(row + 1) * dim]);
                    assert_eq!(bits(until[row]), all[row], "{problem:?} {set:?} row {row}");
                    let from = double(&problem, set, &points[row * dim..]);
                    assert_eq!(bits(from[0]), all[row], "{problem:?} {set:?} row {row}");
                }
            }
        }
    }
}

#[test]
fn a_point_with_nan_has_no_finite_energy() {
    for problem in samples::problems() {
        for k in 0..problem.dim() {
            let mut x = problem.minimisers()[0].clone();
            x[k] = f64::NAN;
            // Some coordinates are in the constraints alone.
            if problem.constraint_values(&x).iter().any(|g| g.is_nan()) {
                continue;
            }
            assert!(problem.value(&x).is_nan(), "{problem:?}");
            assert!(problem.distance_to_minimiser(&x).is_nan(), "{problem:?}");
            for set in available() {
                assert!(double(&problem, set, &x)[0].is_nan(), "{problem:?} {set:?}");
                let rounded: Vec<f32> = x.iter().map(|v| *v as f32).collect();
                assert!(single(&problem, set, &rounded)[0].is_nan(), "{problem:?} {set:?}");
            }
        }
    }
}

#[test]
fn more_coordinates_than_the_stack_holds() {
    for dim in [127, 128, 129, 300] {
        for rotate in [false, true] {
            let builder = Problem::builder("rosenbrock").dim(dim).shift(-0.5);
            let problem = if rotate { builder.rotate(2) } else { builder }.build().unwrap();
            let points = samples::uniform(&problem, 37, 1);
            let energies = double(&problem, cbo::simd::current(), &points);
            for (x, energy) in points.chunks(dim).zip(energies) {
                let reference = problem.value(x);
                assert!((energy - reference).abs() <= 1e-12 * reference.abs(), "{dim}: {energy} {reference}");
            }
        }
    }
}

#[test]
fn rows_that_do_not_fit_are_errors() {
    let problem = Problem::named("sphere", 3).unwrap();
    let mut out = [0.0; 2];
    let error = problem.energies(StepContext::default(), Rows::new(&[0.0; 4], 2), &mut out).unwrap_err();
    assert_eq!(error.message, "sphere has 3 coordinates, the points have 2");
    let error = problem.energies(StepContext::default(), Rows::new(&[0.0; 9], 3), &mut out).unwrap_err();
    assert_eq!(error.message, "3 points, but room for 2 energies");
    problem.energies(StepContext::default(), Rows::new(&[], 3), &mut [0.0f64; 0]).unwrap();
}

/// Constraints on lanes, shifted and rotated or not, are those of the reference; and the energies beside them are the same as alone.
#[test]
fn constraints_on_lanes_match_the_reference() {
    for info in all().into_iter().filter(|info| !constraints(info.name).unwrap().is_empty()) {
        let moved = Problem::builder(info.name).shift(Shift::Random(3)).rotate(4).build().unwrap();
        for problem in [Problem::builder(info.name).build().unwrap(), moved] {
            let (dim, count) = (problem.dim(), constraints(info.name).unwrap().len());
            // Not a whole number of vectors.
            let points = samples::uniform(&problem, 301, 2);
            let singles: Vec<f32> = points.iter().map(|x| *x as f32).collect();
            for set in available() {
                let (mut energies, mut values) = (vec![f64::NAN; 301], vec![f64::NAN; 301 * count]);
                problem.constrained_energies_on(set, Rows::new(&points, dim), &mut energies, &mut values);
                assert_eq!(energies, double(&problem, set, &points), "{problem:?} {set:?}");
                let (mut in_single, mut few_digits) = (vec![f32::NAN; 301], vec![f32::NAN; 301 * count]);
                problem.constrained_energies_on(set, Rows::new(&singles, dim), &mut in_single, &mut few_digits);
                for (row, x) in points.chunks(dim).enumerate() {
                    let reference = problem.constraint_values(x);
                    // The largest term has the square of the largest coordinate (g10) or its fourth power times three (g09, g24).
                    let largest = problem.domain().iter().fold(1.0f64, |most, d| most.max(d.0.abs()).max(d.1.abs()));
                    let size = if largest > 100.0 { largest.powi(2) } else { 100.0 * largest.powi(4) };
                    for (j, reference) in reference.iter().enumerate() {
                        let (value, rough) = (values[row * count + j], few_digits[row * count + j]);
                        assert!(
                            (value - reference).abs() <= 1e-13 * size,
                            "{problem:?} {set:?} {x:?}: {value} {reference}"
                        );
                        assert!(
                            (f64::from(rough) - reference).abs() <= 1e-4 * size,
                            "{problem:?} {set:?} {x:?}: {rough}"
                        );
                    }
                }
            }
        }
    }
}
