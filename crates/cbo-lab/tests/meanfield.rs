//! The mean-field solver against what is known in closed form: mass, sign, moments, consensus points, the frozen law, the
//! distance to the particles.

use cbo::{Coordinates, InitialLaw};
use cbo_lab::meanfield::{
    Distance, Fit, MeanField, Motion, ParticleRun, Settings, Trajectory, frozen_v, mean_distances,
};
use cbo_problems::Problem;

fn normal(mean: f64, variance: f64) -> InitialLaw {
    InitialLaw::Normal { mean: Coordinates::All(mean), variance: Coordinates::All(variance) }
}

fn settings() -> Settings {
    Settings {
        lambda: 1.0,
        sigma: 0.32,
        alpha: 5.0,
        dt: 0.01,
        time: 1.0,
        cells: 200,
        init: normal(2.0, 1.6),
        freeze: None,
        motion: Motion::Continuous,
    }
}

fn problem(name: &str, dim: usize) -> Problem {
    Problem::named(name, dim).expect("a problem")
}

fn run(settings: &Settings, problem: &Problem) -> Trajectory {
    let last = settings.steps();
    let minimiser = problem.minimisers()[0].clone();
    Trajectory::new(settings, problem, &minimiser, &[0, last], &|| ()).expect("a run")
}

/// Mass to 1e-12 and no negative density at any step, even where noise outweighs drift, and at every alpha.
#[test]
fn no_mass_is_lost_and_no_density_is_negative() {
    let cases = [
        (1, Settings { sigma: 0.32, time: 30.0, dt: 0.02, ..settings() }),
        (1, Settings { sigma: 1.0, alpha: 1e15, time: 20.0, dt: 0.02, cells: 560, ..settings() }),
        // 2 lambda < sigma^2, and steps in which the noise is far from small.
        (1, Settings { sigma: 2.5, alpha: f64::INFINITY, time: 5.0, dt: 0.05, cells: 800, ..settings() }),
        (1, Settings { sigma: 5.0, alpha: 30.0, time: 1.0, dt: 0.1, cells: 800, ..settings() }),
        (1, Settings { sigma: 0.5, alpha: 30.0, time: 0.1, dt: 0.05, cells: 37, ..settings() }),
        (1, Settings { sigma: 0.0, time: 3.0, ..settings() }),
        (1, Settings { init: InitialLaw::uniform(&[(-1.0, 3.0)]), alpha: f64::INFINITY, sigma: 1.5, ..settings() }),
        (1, Settings { freeze: Some(vec![-20.0]), sigma: 1.0, time: 4.0, ..settings() }),
        (2, Settings { cells: 84, sigma: 0.5, time: 4.0, dt: 0.04, ..settings() }),
        (2, Settings { cells: 160, sigma: 1.2, alpha: f64::INFINITY, time: 2.0, dt: 0.05, ..settings() }),
    ];
    for (dim, case) in cases {
        let result = run(&case, &problem("rastrigin", dim));
        assert!(result.mass_error < 1e-12, "dim {dim}, {case:?}: {}", result.mass_error);
        assert!(result.least_density >= 0.0, "dim {dim}, {case:?}: {}", result.least_density);
        let last = result.records.last().expect("a record");
        assert!(last.v.is_finite() && last.v >= 0.0 && last.consensus.iter().all(|a| a.is_finite()), "{case:?}");
    }
}

/// A law that has shrunk by many orders of magnitude is as well resolved as at the start: sd^2 falls like exp(-1.8976 t).
#[test]
fn the_grid_follows_the_law_into_its_dirac() {
    let case = Settings { alpha: f64::INFINITY, time: 20.0, dt: 0.02, ..settings() };
    let result = run(&case, &problem("rastrigin", 1));
    let expected = (-(2.0 - 0.32f64 * 0.32) * 20.0).exp();
    assert!((result.v_ratio() / expected - 1.0).abs() < 0.01, "{} {expected}", result.v_ratio());
    assert!((result.rate() - 1.8976).abs() < 2e-3, "{}", result.rate());
}

/// Frozen off the mean (y_a is not 0) and off the minimiser: V is known exactly, and the law meets it to 1 %.
#[test]
fn the_second_moment_of_a_frozen_law_is_the_known_one() {
    for (sigma, point, init) in [
        (0.32, 0.0, normal(2.0, 1.6)),
        (0.8, 0.7, normal(2.0, 1.6)),
        (1.2, -3.0, InitialLaw::uniform(&[(-1.0, 5.0)])),
        // Noise outweighs drift: V grows.
        (1.6, 1.0, normal(2.0, 1.0)),
    ] {
        let case = Settings { sigma, init, freeze: Some(vec![point]), cells: 400, ..settings() };
        let result = run(&case, &problem("sphere", 1));
        for record in &result.records {
            let exact = frozen_v(&case, &[0.0], record.time).expect("frozen");
            let error = record.v / exact - 1.0;
            assert!(error.abs() < 0.01, "sigma {sigma}, time {}: {error}", record.time);
        }
    }
    let plane = Settings { freeze: Some(vec![0.5, -1.0]), sigma: 0.6, cells: 100, ..settings() };
    let result = run(&plane, &problem("sphere", 2));
    let exact = frozen_v(&plane, &[0.0, 0.0], 1.0).expect("frozen");
    let error = result.records.last().expect("a record").v / exact - 1.0;
    assert!(error.abs() < 0.01, "{error}");
}

/// The distribution function of the frozen law: v - a = (v_0 - a) exp(-(lambda + sigma^2/2) t + sigma B), integrated over the
/// normal v_0 and B by the trapezoid rule, which is exact to rounding for such smooth integrands.
fn frozen_cdf(case: &Settings, (mean, variance): (f64, f64), v: f64) -> f64 {
    let (a, t) = (case.freeze.as_ref().expect("frozen")[0], case.time);
    let below = |x: f64| 0.5 * libm::erfc(-x / 2f64.sqrt());
    let step = 0.01;
    let weigh = |i: i32| {
        let z = f64::from(i) * step;
        let factor = (-(case.lambda + 0.5 * case.sigma * case.sigma) * t + case.sigma * t.sqrt() * z).exp();
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        step * density * below((a + (v - a) / factor - mean) / variance.sqrt())
    };
    (-900..=900).map(weigh).sum()
}

/// The error of V and of the distribution function (largest over a row of points) at the end.
fn errors(cells: usize, dt: f64) -> (f64, f64) {
    let case = Settings { sigma: 0.8, freeze: Some(vec![0.7]), init: normal(2.0, 1.6), cells, dt, ..settings() };
    let result = run(&case, &problem("sphere", 1));
    let exact = frozen_v(&case, &[0.0], case.time).expect("frozen");
    let marginal = result.snapshots.last().expect("the end").law.marginal(0);
    let points = (-8..=12).map(|i| 0.25 * f64::from(i) + 0.03);
    let worst = points.map(|v| (marginal.cdf(v) - frozen_cdf(&case, (2.0, 1.6), v)).abs()).fold(0.0, f64::max);
    ((result.records.last().expect("a record").v / exact - 1.0).abs(), worst)
}

/// Second order in space, with the time step refined like the square of the grid: each halving divides the errors by four.
#[test]
fn errors_fall_at_second_order_under_grid_refinement() {
    let found: Vec<(f64, f64)> = [(72, 0.02), (144, 0.005), (288, 0.00125)].map(|(n, dt)| errors(n, dt)).into();
    for pair in found.windows(2) {
        let orders = ((pair[0].0 / pair[1].0).log2(), (pair[0].1 / pair[1].1).log2());
        println!("{:?} -> {:?}: orders {:.2}, {:.2}", pair[0], pair[1], orders.0, orders.1);
    }
    // Over two halvings, the errors of V and of the distribution function fall by 16 if the order is 2.
    let orders = ((found[0].0 / found[2].0).log2() / 2.0, (found[0].1 / found[2].1).log2() / 2.0);
    assert!((1.7..2.6).contains(&orders.0), "V: {orders:?} {found:?}");
    assert!((1.6..2.6).contains(&orders.1), "distribution function: {orders:?} {found:?}");
    assert!(found[2].0 < 1e-3 && found[2].1 < 1e-3, "{found:?}");
}

/// First order in time, on a grid fine enough not to matter.
#[test]
fn errors_fall_at_first_order_in_the_time_step() {
    let found: Vec<f64> = [0.1, 0.05, 0.025].map(|dt| errors(1600, dt).1).into();
    let order = (found[0] / found[2]).log2() / 2.0;
    println!("{found:?}: order {order:.2}");
    assert!((0.8..1.2).contains(&order), "{order} {found:?}");
}

/// The mean follows `m' = -lambda (m - a)`, up to the order of the scheme.
#[test]
fn the_mean_follows_the_drift() {
    let case = Settings { sigma: 0.8, freeze: Some(vec![-1.0]), cells: 400, ..settings() };
    let result = run(&case, &problem("sphere", 1));
    for record in &result.records {
        let expected = -1.0 + 3.0 * (-record.time).exp();
        let error = (record.mean[0] - expected) / record.deviation[0];
        assert!(error.abs() < 1e-3, "time {}: {error} standard deviations", record.time);
    }
    // Without noise the frame carries the law exactly.
    let still = Settings { sigma: 0.0, freeze: Some(vec![-1.0]), ..settings() };
    let records = run(&still, &problem("sphere", 1)).records;
    let (first, last) = (records[0].mean[0], records[records.len() - 1].mean[0]);
    assert!((last - (-1.0 + (first + 1.0) * (-1f64).exp())).abs() < 1e-12, "{first} {last}");
}

/// On a quadratic objective a normal law is tilted: `v_alpha = m / (1 + 2 alpha c s^2)` in a coordinate of curvature 2 c.
#[test]
fn consensus_points_of_normal_laws_are_the_tilted_means() {
    let at_start =
        |name: &str, dim: usize, case: &Settings| MeanField::new(case, &problem(name, dim)).expect("a law").consensus();
    // From weights wider than the law to weights 10^8 times narrower than a cell.
    for alpha in [1e-12, 1e-3, 0.3, 1.0, 10.0, 1e3, 1e6, 1e15] {
        let case = Settings { alpha, cells: 400, ..settings() };
        let width = 1.6f64.sqrt() / (1.0 + 2.0 * alpha * 1.6).sqrt();
        let error = at_start("sphere", 1, &case)[0] - 2.0 / (1.0 + 2.0 * alpha * 1.6);
        assert!(error.abs() < 1e-4 * width, "alpha {alpha}: {error}, width {width}");
        let case = Settings { cells: 120, ..case };
        for a in at_start("sphere", 2, &case) {
            let error = a - 2.0 / (1.0 + 2.0 * alpha * 1.6);
            assert!(error.abs() < 1e-2 * width, "plane, alpha {alpha}: {error}, width {width}");
        }
    }
    // The ellipsoid in two dimensions has curvatures 1 and 10^6: the weights are a thin ellipse.
    let case = Settings { alpha: 0.5, cells: 120, ..settings() };
    let found = at_start("ellipsoid", 2, &case);
    for (a, c) in found.iter().zip([1.0, 1e6]) {
        let (expected, width) = (2.0 / (1.0 + c * 1.6), (1.6 / (1.0 + c * 1.6f64)).sqrt());
        assert!((a - expected).abs() < 1e-2 * width, "curvature {c}: {a} {expected}");
    }
}

/// At alpha = infinity the consensus point is the minimiser where the law lives, to 1e-8 of its width.
#[test]
fn infinite_alpha_finds_the_minimiser_inside_a_cell() {
    for name in ["rastrigin", "ackley", "griewank"] {
        for dim in [1, 2] {
            let shifted = Problem::builder(name).dim(dim).shift(0.123).build().expect("a problem");
            let case = Settings { alpha: f64::INFINITY, cells: 100, ..settings() };
            let field = MeanField::new(&case, &shifted).expect("a law");
            let distance = shifted.distance_to_minimiser(&field.consensus());
            assert!(distance < 1e-8, "{name} in {dim}: {distance}");
        }
    }
    // A uniform law knows nothing beyond its box, and could never leave it past a consensus point at its end.
    let case = Settings { alpha: f64::INFINITY, init: InitialLaw::uniform(&[(1.0, 3.0)]), cells: 400, ..settings() };
    let error = MeanField::new(&case, &problem("sphere", 1)).expect_err("at the end").to_string();
    assert!(error.contains("init = uniform") && error.contains("end of the box"), "{error}");
}

/// A function that is infinite outside its domain: the weights end there, the law does not.
#[test]
fn infeasible_points_have_no_weight() {
    let schwefel = problem("schwefel", 1);
    let init = InitialLaw::Normal { mean: Coordinates::All(300.0), variance: Coordinates::All(1e4) };
    let case = Settings { alpha: f64::INFINITY, init, ..settings() };
    let field = MeanField::new(&case, &schwefel).expect("a law");
    assert!(schwefel.distance_to_minimiser(&field.consensus()) < 1e-3, "{:?}", field.consensus());
    // Everything that weighs anything lies beyond the domain, which ends at 500; the tail of the law does not.
    let beyond = Settings { init: normal(700.0, 400.0), ..case.clone() };
    let a = MeanField::new(&beyond, &schwefel).expect("a law").consensus()[0];
    assert!((420.0..=500.0).contains(&a), "{a}");
    let nowhere = Settings { init: InitialLaw::uniform(&[(600.0, 700.0)]), ..case };
    assert!(MeanField::new(&nowhere, &schwefel).is_err());
}

/// The distance of particles to the law falls like N^-1/2: on a small case, within four of its standard errors.
#[test]
fn the_distance_of_particles_falls_with_the_root_of_their_number() {
    let case = Settings { dt: 0.005, time: 0.5, ..settings() };
    let (rastrigin, last) = (problem("rastrigin", 1), case.steps());
    let law = Trajectory::new(&case, &rastrigin, &[0.0], &[0, last], &|| ()).expect("a law");
    let distances: Vec<_> = [100, 400, 1600, 6400]
        .map(|n| {
            let runs = ParticleRun::repeated(&case, &rastrigin, &law, (n, 0, 12), (&[last], 0), &|| ()).expect("runs");
            mean_distances(n, &runs.iter().map(|r| r.distances[0]).collect::<Vec<_>>())
        })
        .into();
    let fit = Fit::of(&distances).expect("a fit");
    println!("{distances:?}\n{fit:?}");
    assert!(fit.standard_error < 0.05, "{fit:?}");
    assert!((fit.exponent + 0.5).abs() < 4.0 * fit.standard_error, "{fit:?}");
    // The time step's own distance is far below that of the most particles, or the fit would mean nothing.
    let stepped = Settings { motion: Motion::EulerMaruyama, ..case.clone() };
    let other = Trajectory::new(&stepped, &rastrigin, &[0.0], &[last], &|| ()).expect("a law");
    let floor = law.snapshots[1].law.marginal(0).distance_to(&other.snapshots[0].law.marginal(0));
    assert!(0.0 < floor.w1 && floor.w1 < 0.3 * distances[3].mean.w1, "{floor:?}");
}

/// The law with the particles' own time step is nearer to many particles than the continuous one, where dt is coarse.
#[test]
fn the_floor_is_what_many_particles_show() {
    let case = Settings { dt: 0.1, time: 2.0, ..settings() };
    let (rastrigin, last) = (problem("rastrigin", 1), case.steps());
    let law = |motion| {
        let case = Settings { motion, ..case.clone() };
        Trajectory::new(&case, &rastrigin, &[0.0], &[last], &|| ()).expect("a law")
    };
    let (continuous, stepped) = (law(Motion::Continuous), law(Motion::EulerMaruyama));
    let distance = |law: &Trajectory| {
        let run = ParticleRun::new(&case, &rastrigin, law, (100_000, 1), (&[last], 0), &|| ()).expect("a run");
        run.distances[0].w1
    };
    let floor = continuous.snapshots[0].law.marginal(0).distance_to(&stepped.snapshots[0].law.marginal(0)).w1;
    let (far, near) = (distance(&continuous), distance(&stepped));
    println!("floor {floor}, to the continuous law {far}, to the stepped law {near}");
    assert!((far / floor - 1.0).abs() < 0.25 && near < 0.4 * far, "floor {floor}, far {far}, near {near}");
}

/// `E|v - a| = exp(-lambda T) E|v_0 - a|` to 1 %, and `W_2` to a, which is `sqrt(2 V)`, to 2 %, because masses spread over a cell are
/// farther out than its node: up to where sigma is refused. Distances over any third law obey the triangle inequality, to rounding.
#[test]
fn distances_of_a_frozen_law_are_right_whatever_the_noise() {
    let sphere = problem("sphere", 1);
    for (sigma, cells) in [(0.32, 200), (1.0, 200), (1.6, 200), (2.5, 800), (3.3, 800), (4.05, 800)] {
        let case = Settings { sigma, cells, time: 2.0, freeze: Some(vec![0.0]), ..settings() };
        let result = run(&case, &sphere);
        let law = result.snapshots[1].law.marginal(0);
        let found = law.distance_to_points(&[0.0]);
        // A normal law of mean 2 and variance 1.6: E|v_0| = m erf(m / sqrt(2 s^2)) + sqrt(2 s^2 / pi) exp(-m^2 / (2 s^2)).
        let start = 2.0 * libm::erf(2.0 / 3.2f64.sqrt()) + (3.2 / std::f64::consts::PI).sqrt() * (-4.0f64 / 3.2).exp();
        let expected = start * (-2.0f64).exp();
        assert!((found.w1 / expected - 1.0).abs() < 0.01, "sigma {sigma}: {} {expected}", found.w1);
        let v = frozen_v(&case, &[0.0], 2.0).expect("frozen");
        assert!((found.w2 / (2.0 * v).sqrt() - 1.0).abs() < 0.02, "sigma {sigma}: {} {v}", found.w2);
        let points: Vec<f64> = (0..200).map(|i| law.quantile((f64::from(i) + 0.5) / 200.0)).collect();
        let (near, count) = (law.distance_to_points(&points), points.len() as f64);
        let w1 = points.iter().map(|v| v.abs()).sum::<f64>() / count;
        let w2 = (points.iter().map(|v| v * v).sum::<f64>() / count).sqrt();
        for (far, near, other) in [(found.w1, near.w1, w1), (found.w2, near.w2, w2)] {
            let slack = 1e-9 * far;
            assert!(far <= near + other + slack && near <= far + other + slack, "sigma {sigma}: {far} {near} {other}");
            assert!(other <= far + near + slack, "sigma {sigma}: {far} {near} {other}");
        }
    }
    for (sigma, cells) in [(1.7, 200), (4.2, 800)] {
        let refused = Settings { sigma, cells, time: 2.0, ..settings() }.check(1).expect_err("too much noise");
        assert_eq!(refused.field, "sigma");
    }
}

/// Weights in the farthest tail of the law: at time 0 the consensus point is a ratio of two integrals, here by a sum over a
/// million points. To 2 % of a standard deviation with 200 cells and 0.2 % with 800, however short the time is.
#[test]
fn consensus_points_in_the_tail_of_the_law_are_those_of_a_quadrature() {
    let rastrigin = problem("rastrigin", 1);
    for (mean, expected) in [(10.0, 0.988), (15.0, 1.19), (20.0, 1.97)] {
        let exponent = |v: f64| {
            let energy = v * v + 2.5 * (1.0 - (2.0 * std::f64::consts::PI * v).cos());
            -0.5 * (v - mean) * (v - mean) - 5.0 * energy
        };
        let points = || (0..1_000_000).map(|i| -10.0 + 4e-5 * f64::from(i));
        let most = points().map(exponent).fold(f64::NEG_INFINITY, f64::max);
        let sums = points().fold((0.0, 0.0), |(mass, sum), v| {
            let weight = (exponent(v) - most).exp();
            (mass + weight, sum + weight * v)
        });
        let exact = sums.1 / sums.0;
        assert!((exact - expected).abs() < 0.005, "{exact} {expected}");
        for (cells, tolerance) in [(200, 0.04), (800, 0.002)] {
            for time in [0.05, 0.5, 2.0] {
                let case = Settings { init: normal(mean, 1.0), cells, time, ..settings() };
                let found = MeanField::new(&case, &rastrigin).expect("a law").consensus()[0];
                assert!((found - exact).abs() < tolerance, "mean {mean}, {cells} cells, time {time}: {found} {exact}");
                let case = Settings { alpha: f64::INFINITY, ..case };
                let found = MeanField::new(&case, &rastrigin).expect("a law").consensus()[0];
                assert!(found.abs() < 1e-8, "mean {mean}, {cells} cells, time {time}: {found}");
            }
        }
    }
    // Farther away the law is refused: at 30 its tail is there but thinner than the scheme's, at 60 it is no longer a number.
    for mean in [30.0, 60.0, 1e6] {
        for alpha in [5.0, f64::INFINITY] {
            let case = Settings { alpha, init: normal(mean, 1.0), ..settings() };
            let error = MeanField::new(&case, &rastrigin).expect_err("too far").to_string();
            assert!(error.contains("init") && error.contains("standard deviations"), "{error}");
        }
    }
    // A box has no tail; what the steps put there must not count.
    let boxed = Settings { init: InitialLaw::uniform(&[(100.0, 101.0)]), ..settings() };
    let error = Trajectory::new(&boxed, &rastrigin, &[0.0], &[], &|| ()).expect_err("beyond the grid").to_string();
    assert!(error.contains("beyond the grid"), "{error}");
}

/// With a consensus point far off, the law may crowd where the cells are wide: refused, not printed.
#[test]
fn a_law_narrower_than_its_cells_is_refused() {
    let case = Settings { freeze: Some(vec![1e60]), time: 2.0, ..settings() };
    let result = Trajectory::new(&case, &problem("sphere", 1), &[0.0], &[], &|| ());
    let error = result.map(|r| r.rate()).expect_err("coarse").to_string();
    assert!(error.contains("cells") && error.contains("0.4"), "{error}");
}

#[test]
fn seeds_begin_again_after_the_last() {
    let case = Settings { dt: 0.1, time: 0.2, ..settings() };
    let sphere = problem("sphere", 1);
    let law = Trajectory::new(&case, &sphere, &[0.0], &[2], &|| ()).expect("a law");
    let runs = ParticleRun::repeated(&case, &sphere, &law, (10, u64::MAX, 3), (&[2], 0), &|| ()).expect("runs");
    let second = ParticleRun::new(&case, &sphere, &law, (10, 0), (&[2], 0), &|| ()).expect("a run");
    assert_eq!(runs.len(), 3);
    assert_eq!(runs[1].v, second.v);
}

#[test]
fn marginals_have_quantiles_and_a_density() {
    let sphere = problem("sphere", 2);
    let field = MeanField::new(&Settings { cells: 400, ..settings() }, &sphere).expect("a law");
    let deviation = 1.6f64.sqrt();
    for k in [0, 1] {
        let marginal = field.law().marginal(k);
        assert!((marginal.quantile(0.5) - 2.0).abs() < 1e-3);
        assert!((marginal.quantile(0.975) - (2.0 + 1.959964 * deviation)).abs() < 3e-3);
        assert!((marginal.cdf(2.0 - deviation) - 0.1586553).abs() < 1e-3);
        let peak = marginal.density().into_iter().fold(0.0, f64::max);
        assert!((peak * deviation * (2.0 * std::f64::consts::PI).sqrt() - 1.0).abs() < 3e-3);
    }
    let middle = field.law().density_at(&[2.0, 2.0]) * 1.6 * 2.0 * std::f64::consts::PI;
    assert!((middle - 1.0).abs() < 5e-3, "{middle}");
    assert_eq!(Distance::over_coordinates(&[]), Distance::default());
}

#[test]
fn what_cannot_be_solved_is_refused_by_name() {
    let refused = |dim: usize, case: Settings| match case.check(dim) {
        Err(error) => error.field,
        Ok(()) => panic!("{case:?} in {dim} dimensions"),
    };
    assert_eq!(refused(3, settings()), "dim");
    assert_eq!(refused(1, Settings { cells: 31, ..settings() }), "cells");
    assert_eq!(refused(2, Settings { cells: 1001, ..settings() }), "cells");
    assert_eq!(refused(1, Settings { dt: 0.0, ..settings() }), "dt");
    assert_eq!(refused(1, Settings { dt: 1.5, time: 2.0, ..settings() }), "dt");
    assert_eq!(refused(1, Settings { dt: 1e-9, ..settings() }), "dt");
    assert_eq!(refused(1, Settings { time: -1.0, ..settings() }), "time");
    assert_eq!(refused(1, Settings { sigma: -0.1, ..settings() }), "sigma");
    assert_eq!(refused(1, Settings { sigma: 8.0, ..settings() }), "sigma");
    assert_eq!(refused(1, Settings { alpha: 0.0, ..settings() }), "alpha");
    assert_eq!(refused(1, Settings { lambda: f64::NAN, ..settings() }), "lambda");
    assert_eq!(refused(1, Settings { init: normal(0.0, 0.0), ..settings() }), "init");
    assert_eq!(refused(1, Settings { init: InitialLaw::Points(vec![1.0]), ..settings() }), "init");
    assert_eq!(refused(1, Settings { freeze: Some(vec![1.0, 2.0]), ..settings() }), "freeze");
    assert_eq!(refused(1, Settings { freeze: Some(vec![1e200]), ..settings() }), "freeze");
    assert_eq!(refused(1, Settings { init: normal(1e200, 1.0), ..settings() }), "init");
    assert_eq!(refused(1, Settings { init: normal(1e50, 1.0), ..settings() }), "init");
    assert_eq!(refused(1, Settings { init: normal(0.0, 1e-150), ..settings() }), "init");
}
