//! The stated minima: taken at the stated minimisers, published as such, and not undercut anywhere.

use crate::samples;
use cbo::noise::{Noise, Stream};
use cbo::{Objective, Rows, StepContext};
use cbo_problems::Problem;

/// How far below or beside the stated minimum rounding may lead.
fn slack(problem: &Problem) -> f64 {
    1e-9 * (1.0 + problem.minimum().abs())
}

/// The energies, infinite where a constraint is violated by more than rounding.
fn energies(problem: &Problem, points: &[f64]) -> Vec<f64> {
    let count = problem.constraint_texts().len();
    let mut energies = vec![0.0; points.len() / problem.dim()];
    let mut constraints = vec![0.0; energies.len() * count];
    let rows = Rows::new(points, problem.dim());
    problem.energies_and_constraints(StepContext::default(), rows, &mut energies, &mut constraints).unwrap();
    for (energy, constraints) in energies.iter_mut().zip(constraints.chunks(count.max(1))) {
        if constraints.iter().any(|g| *g > MET) {
            *energy = f64::INFINITY;
        }
    }
    energies
}

/// How far rounding may violate a constraint at a minimiser: that of g10 has terms of 1e6.
const MET: f64 = 1e-9;

#[test]
fn every_minimiser_has_the_minimum() {
    for problem in samples::problems() {
        assert!(!problem.minimisers().is_empty());
        for minimiser in problem.minimisers() {
            for energy in [problem.value(minimiser), energies(&problem, minimiser)[0]] {
                let difference = (energy - problem.minimum()).abs();
                assert!(difference <= slack(&problem), "{problem:?} at {minimiser:?}: {energy}");
            }
            assert!(problem.distance_to_minimiser(minimiser) == 0.0);
            for (v, (low, high)) in minimiser.iter().zip(problem.domain()) {
                assert!(low <= v && v <= high, "{problem:?}: {minimiser:?} outside the domain");
            }
        }
    }
}

#[test]
fn minima_at_the_origin_or_at_whole_points_are_exact() {
    for problem in samples::problems() {
        let minimiser = &problem.minimisers()[0];
        if minimiser.iter().all(|v| v.fract() == 0.0) {
            assert_eq!(energies(&problem, minimiser), [problem.minimum()], "{problem:?}");
            let single: Vec<f32> = minimiser.iter().map(|v| *v as f32).collect();
            let mut energy = [f32::NAN];
            problem.energies(StepContext::default(), Rows::new(&single, problem.dim()), &mut energy).unwrap();
            assert_eq!(f64::from(energy[0]), problem.minimum(), "{problem:?} in single precision");
        }
    }
}

#[test]
fn two_hundred_thousand_even_points_find_nothing_lower() {
    for problem in samples::problems() {
        for part in samples::even(&problem, 200_000).chunks(1000 * problem.dim()) {
            for (row, energy) in energies(&problem, part).into_iter().enumerate() {
                let point = || &part[row * problem.dim()..(row + 1) * problem.dim()];
                assert!(energy >= problem.minimum() - slack(&problem), "{problem:?} at {:?}: {energy}", point());
            }
        }
    }
}

#[test]
fn minimisers_meet_their_constraints_and_some_hold_them() {
    for problem in samples::problems().into_iter().filter(|p| !p.constraint_texts().is_empty()) {
        let values = problem.constraint_values(&problem.minimisers()[0]);
        assert!(values.iter().all(|g| *g <= MET), "{problem:?}: {values:?}");
        // g08 has its minimum inside.
        let holding = values.iter().filter(|g| g.abs() <= MET).count();
        assert_eq!(holding > 0, problem.name() != "g08", "{problem:?}: {values:?}");
    }
}

/// Steps of many sizes around each minimiser, in all coordinates at once and in one alone.
#[test]
fn nothing_lower_lies_near_a_minimiser() {
    for problem in samples::problems() {
        let dim = problem.dim();
        for (which, minimiser) in problem.minimisers().iter().enumerate() {
            let noise = Noise::new(which as u64, Stream::Problem, 5);
            let mut points = Vec::new();
            for trial in 0..4000u32 {
                let size = 10f64.powf(-0.5 - 8.0 * noise.uniforms(trial, dim as u32 / 4)[dim % 4]);
                let alone = (trial % 2 == 0).then_some(trial as usize / 2 % dim);
                for (k, (low, high)) in problem.domain().iter().enumerate() {
                    let step = size * (high - low) * (2.0 * noise.uniforms(trial, k as u32 / 4)[k % 4] - 1.0);
                    let step = if alone.is_none_or(|a| a == k) { step } else { 0.0 };
                    points.push((minimiser[k] + step).clamp(*low, *high));
                }
            }
            let feasible = |x: &&[f64]| problem.constraint_values(x).iter().all(|g| *g <= 0.0);
            let points: Vec<f64> = points.chunks_exact(dim).filter(feasible).flatten().copied().collect();
            // Relative to rounding of the value itself: a thousand times finer than elsewhere.
            let least = energies(&problem, &points).into_iter().fold(f64::INFINITY, f64::min);
            assert!(least >= problem.minimum() - 1e-3 * slack(&problem), "{problem:?}: {least:e}");
        }
    }
}

/// Unconfined functions have no lower point outside the domain either.
#[test]
fn unconfined_functions_are_no_lower_outside_their_domain() {
    for problem in samples::problems().into_iter().filter(|p| !p.confined()) {
        let points = samples::uniform(&problem, 20_000, 3);
        let centre: Vec<f64> = problem.domain().iter().map(|(low, high)| 0.5 * (low + high)).collect();
        for factor in [1.5, 4.0, 50.0] {
            let far: Vec<f64> = points.iter().zip(centre.iter().cycle()).map(|(v, c)| c + factor * (v - c)).collect();
            for energy in energies(&problem, &far) {
                assert!(energy >= problem.minimum() - slack(&problem), "{problem:?}: {energy}");
            }
        }
    }
}

/// Confined functions deserve the name: without the confinement, these points would be lower.
#[test]
fn confined_functions_are_infinite_outside() {
    for problem in samples::problems().into_iter().filter(Problem::confined) {
        let inside = problem.minimisers()[0].clone();
        for k in 0..problem.dim() {
            let (low, high) = problem.domain()[k];
            for outside in [low - 0.01, high + 0.01] {
                let mut point = inside.clone();
                point[k] = outside;
                assert_eq!(problem.value(&point), f64::INFINITY, "{problem:?}");
                assert_eq!(energies(&problem, &point), [f64::INFINITY], "{problem:?}");
            }
            let mut point = inside.clone();
            point[k] = low;
            // The energy alone: the edge may violate a constraint; and g08 divides by x.
            let inside = problem.value(&point).is_finite() || problem.name() == "g08";
            assert!(inside, "{problem:?}: the edge belongs to the domain");
        }
    }
}

/// As printed in the literature, to the digits given there.
#[test]
fn minima_agree_with_published_ones() {
    let published: &[(&str, usize, f64, f64)] = &[
        // name, dimension, minimum, what rounding or the last printed digit may change
        ("michalewicz", 2, -1.8013034100985537, 4e-15),
        ("michalewicz", 5, -4.687658179088148, 1e-14),
        ("michalewicz", 10, -9.66015171564135, 4e-14),
        ("styblinski-tang", 1, -39.16616570377142, 1e-14),
        ("styblinski-tang", 10, -391.6616570377142, 1e-13),
        ("eggholder", 2, -959.6407, 5e-5),
        ("eggholder", 2, -959.6406627208506, 5e-13),
        ("drop-wave", 2, -1.0, 0.0),
        ("easom", 2, -1.0, 0.0),
        ("holder-table", 2, -19.2085, 5e-5),
        ("holder-table", 2, -19.208502567886732, 1e-14),
        ("cross-in-tray", 2, -2.06261, 5e-6),
        ("cross-in-tray", 2, -2.062611870822739, 4e-15),
        ("mccormick", 2, -1.9133, 1e-4),
        ("mccormick", 2, -1.9132229549810367, 1e-15),
        ("six-hump-camel", 2, -1.031628453489877, 1e-15),
        ("goldstein-price", 2, 3.0, 0.0),
        ("g01", 13, -15.0, 0.0),
        ("g04", 5, -30665.538671783328, 1.5e-11),
        ("g06", 2, -6961.81387558015, 1.5e-11),
        ("g07", 10, 24.30620906818, 5e-12),
        ("g08", 2, -0.0958250414180359, 1e-16),
        ("g09", 7, 680.630057374402, 5e-13),
        // Half of the last digit that is published, and one unit in the last place of the number here.
        ("g10", 8, 7049.24802052867, 6e-12),
        ("g24", 2, -5.50801327159536, 1e-13),
        ("shekel", 4, -10.5364, 5e-5),
        ("shekel", 4, -10.536409816692043, 1e-14),
        ("hartmann-6", 6, -3.32237, 5e-6),
        ("hartmann-6", 6, -3.322368011415512, 4e-15),
    ];
    for &(name, dim, minimum, half_digit) in published {
        let problem = Problem::named(name, dim).unwrap();
        let difference = (problem.minimum() - minimum).abs();
        assert!(difference <= half_digit, "{name}: {} against {minimum}", problem.minimum());
    }
}

/// As printed in the literature, to the digits given there.
#[test]
fn minimisers_agree_with_published_ones() {
    let published: &[(&str, &[f64], f64)] = &[
        ("michalewicz", &[2.20290552, std::f64::consts::FRAC_PI_2], 5e-9),
        ("styblinski-tang", &[-2.903534, -2.903534], 5e-7),
        ("schwefel", &[420.9687, 420.9687], 5e-5),
        ("himmelblau", &[-2.805118, 3.131312], 1e-6),
        ("himmelblau", &[-3.779310, -3.283186], 5e-7),
        ("himmelblau", &[3.584428, -1.848126], 1e-6),
        ("eggholder", &[512.0, 404.2319], 1e-4),
        ("holder-table", &[-8.05502, 9.66459], 5e-6),
        ("cross-in-tray", &[1.3494, -1.3494], 5e-5),
        ("mccormick", &[-0.54719, -1.54719], 1e-5),
        ("six-hump-camel", &[-0.0898, 0.7126], 1e-4),
        ("dixon-price", &[1.0, std::f64::consts::FRAC_1_SQRT_2, 0.594603557501361], 1e-15),
        ("alpine-1", &[-0.100167421161560, 3.241760074751353], 1e-14),
        ("shekel", &[4.000747, 4.000593, 3.999663, 3.999510], 5e-7),
        ("hartmann-6", &[0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573], 5e-6),
    ];
    for (name, minimiser, half_digit) in published {
        let problem = Problem::named(name, minimiser.len()).unwrap();
        let distance = problem.distance_to_minimiser(minimiser);
        assert!(distance <= *half_digit, "{name}: {distance:e} from {minimiser:?}");
    }
}
