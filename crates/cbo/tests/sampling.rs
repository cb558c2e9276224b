//! Swarms that agree on a covariance: against a plain program, against exact expectations, and under changes of coordinates.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, CboConfig, ConfigError, EvalError, InitialLaw, Method, Objective, Rows, Sampling, Sigma, SolveError,
    StepContext, StepReport, Update, from_fn, solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 11;

fn config(law: bool) -> CboConfig {
    CboConfig { seed: SEED, ..CboConfig::of(Method::Sampling(Sampling { law })) }
}

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

/// Weights, mean and covariance of some points, as they are written in the paper.
fn weighted(points: &[Vec<f64>], energies: &[f64], alpha: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
    let dim = points[0].len();
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    let weights: Vec<f64> = energies.iter().map(|e| (-alpha * (e - least)).exp()).collect();
    let mass: f64 = weights.iter().sum();
    let each = || points.iter().zip(&weights);
    let mean: Vec<f64> = (0..dim).map(|k| each().map(|(x, w)| w * x[k]).sum::<f64>() / mass).collect();
    let entry = |i: usize, j: usize| each().map(|(x, w)| w * (x[i] - mean[i]) * (x[j] - mean[j])).sum::<f64>() / mass;
    (mean.clone(), (0..dim).map(|i| (0..dim).map(|j| entry(i, j)).collect()).collect())
}

/// L of `L L' = C`, row by row.
fn cholesky(c: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dim = c.len();
    let mut l = vec![vec![0.0; dim]; dim];
    for i in 0..dim {
        for j in 0..=i {
            let known: f64 = (0..j).map(|k| l[i][k] * l[j][k]).sum();
            l[i][j] = if i == j { (c[i][i] - known).sqrt() } else { (c[i][j] - known) / l[j][j] };
        }
    }
    l
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let (dim, particles) = (5, 43);
    for law in [false, true] {
        for (alpha, dt) in [(Alpha::Constant(0.3), 0.2), (Alpha::EffectiveSampleSize(0.6), 1.5)] {
            let config = CboConfig { particles, alpha, dt, steps: Some(12), ..config(law) };
            let mut plain: Vec<Vec<f64>> = Vec::new();
            let mut seen = 0;
            let mut observer = |step: &StepReport<'_, f64>| {
                let rows = step.ensemble().rows();
                if step.step() == 0 {
                    plain = rows.iter().map(<[f64]>::to_vec).collect();
                }
                let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                for (row, x) in rows.iter().zip(&plain) {
                    assert!(row.iter().zip(x).all(|(a, b)| near(*a, *b)), "{law}, step {}", step.step());
                }
                let energies: Vec<f64> = plain.iter().map(|x| hilly(x)).collect();
                let (centre, covariance) = weighted(&plain, &energies, step.alpha());
                assert!(step.consensus().iter().zip(&centre).all(|(a, b)| near(*a, *b)));
                let (l, b) = (cholesky(&covariance), (-dt).exp());
                let inflated = if law { 1.0 + step.alpha() } else { 1.0 };
                let amplitude = ((1.0 - b * b) * inflated).sqrt();
                for (i, x) in plain.iter_mut().enumerate() {
                    let mut xi = vec![0.0; scratch_len(1, dim)];
                    Noise::new(SEED, Stream::Diffusion, step.step()).fill_normals(i as u32, 1, dim, &mut xi);
                    let noise = |k: usize| (0..=k).map(|j| l[k][j] * xi[j]).sum::<f64>();
                    *x = (0..dim).map(|k| centre[k] + b * (x[k] - centre[k]) + amplitude * noise(k)).collect();
                }
                seen += 1;
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(dim, hilly), &mut observer).expect("a run");
            assert_eq!(seen, 13);
        }
    }
}

/// Many particles at each of a few points: mean and covariance after one step are known exactly.
#[test]
fn a_step_has_the_mean_and_the_covariance_of_the_formula() {
    let (each, alpha, dt) = (40_000, 0.8, 0.4);
    let places = [[0.0, 0.0], [1.0, -2.0], [-1.0, 0.5]];
    let energy = |x: &[f64]| x[0] + 0.3 * x[1];
    for law in [false, true] {
        let points = places.iter().flat_map(|x| x.repeat(each)).collect();
        let config = CboConfig {
            particles: 3 * each,
            alpha: Alpha::Constant(alpha),
            dt,
            steps: Some(1),
            init: InitialLaw::Points(points),
            ..config(law)
        };
        let run = solve(&config, &from_fn(2, energy), &mut ()).expect("a run");
        let energies = places.map(|x| energy(&x));
        let (centre, covariance) = weighted(&places.map(|x| x.to_vec()), &energies, alpha);
        let b = (-dt).exp();
        let inflated = if law { 1.0 + alpha } else { 1.0 };
        let rows = run.ensemble().rows();
        for (place, moved) in places.iter().zip(rows.as_slice().chunks_exact(2 * each)) {
            let count = each as f64;
            let mean = [0, 1].map(|k| centre[k] + b * (place[k] - centre[k]));
            let offset = |row: &[f64], k: usize| row[k] - mean[k];
            for (k, line) in covariance.iter().enumerate() {
                let off = moved.chunks_exact(2).map(|row| offset(row, k)).sum::<f64>() / count;
                let variance = (1.0 - b * b) * inflated * line[k];
                assert!(off.abs() < 5.0 * (variance / count).sqrt(), "law {law}, mean {k} off by {off}");
                for (j, entry) in line.iter().enumerate() {
                    let expected = (1.0 - b * b) * inflated * entry;
                    let products = || moved.chunks_exact(2).map(|row| offset(row, k) * offset(row, j));
                    let found = products().sum::<f64>() / count;
                    let spread = products().map(|p| (p - found).powi(2)).sum::<f64>() / count;
                    let off = (found - expected).abs();
                    assert!(off < 5.0 * (spread / count).sqrt(), "law {law}, {k}, {j}: {found} for {expected}");
                }
            }
        }
    }
}

/// The positions after some steps, of particles that begin at these points.
fn positions(law: bool, points: Vec<f64>, dim: usize, energy: impl Fn(&[f64]) -> f64 + Sync) -> Vec<f64> {
    let config =
        CboConfig { particles: points.len() / dim, steps: Some(12), init: InitialLaw::Points(points), ..config(law) };
    solve(&config, &from_fn(dim, energy), &mut ()).expect("a run").ensemble().rows().as_slice().to_vec()
}

fn some_points(count: usize, dim: usize) -> Vec<f64> {
    (0..count * dim).map(|i| (i as f64 * 0.7548).sin() * 2.0 + (i as f64 * 0.1234).cos()).collect()
}

#[test]
fn units_that_are_powers_of_two_change_no_bit() {
    let units = [1024.0, 1.0, 1.0 / 65536.0];
    let scaled = |x: &[f64]| -> Vec<f64> { x.iter().zip(units.iter().cycle()).map(|(x, u)| x * u).collect() };
    let points = some_points(60, 3);
    for law in [false, true] {
        let plain = positions(law, points.clone(), 3, hilly);
        let there = positions(law, scaled(&points), 3, |x| hilly(&[x[0] / units[0], x[1] / units[1], x[2] / units[2]]));
        assert_eq!(there, scaled(&plain), "law {law}");
    }
}

/// Where Cholesky's factor of the mapped covariance is the mapped factor, runs are the same runs in other coordinates.
#[test]
fn triangular_maps_of_the_coordinates_change_the_coordinates_alone() {
    let map = |x: &[f64]| [3.0 * x[0] + 5.0, -2.0 * x[0] + 0.1 * x[1], 70.0 * x[1] + 40.0 * x[2] - 1.0];
    let back = |y: &[f64]| {
        let first = (y[0] - 5.0) / 3.0;
        let second = (y[1] + 2.0 * first) / 0.1;
        [first, second, (y[2] + 1.0 - 70.0 * second) / 40.0]
    };
    let all = |points: &[f64]| -> Vec<f64> { points.chunks_exact(3).flat_map(map).collect() };
    let points = some_points(60, 3);
    for law in [false, true] {
        let plain = positions(law, points.clone(), 3, hilly);
        let there = positions(law, all(&points), 3, |y| hilly(&back(y)));
        for (found, expected) in there.iter().zip(all(&plain)) {
            assert!((found - expected).abs() < 1e-8 * (1.0 + expected.abs()), "law {law}: {found} for {expected}");
        }
    }
}

/// Under any other affine map the law of a run is the same: the mean of the logarithm of the least energy, over many seeds.
#[test]
fn maps_of_the_coordinates_do_not_change_the_law_of_a_run() {
    let (dim, particles, seeds) = (3, 24, 300);
    let map = |x: &[f64]| [x[0] + 9.0 * x[1], 0.1 * x[1] - x[2], 2.0 * x[0] + x[2]];
    // The inverse, from its determinant.
    let back = |y: &[f64]| {
        let d = 0.1 - 18.0;
        [
            (0.1 * y[0] - 9.0 * y[1] - 9.0 * y[2]) / d,
            (-2.0 * y[0] + y[1] + y[2]) / d,
            (-0.2 * y[0] + 18.0 * y[1] + 0.1 * y[2]) / d,
        ]
    };
    assert!(back(&map(&[1.0, 2.0, 3.0])).iter().zip([1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-12));
    let energy = |x: &[f64]| (x[0] - 1.0).powi(2) + 5.0 * (x[1] - 2.0).powi(2) + (x[2] + 1.0).powi(4);
    let points = some_points(particles, dim);
    let mapped: Vec<f64> = points.chunks_exact(dim).flat_map(map).collect();
    let statistic = |points: &[f64], energy: &(dyn Fn(&[f64]) -> f64 + Sync)| {
        let of = |seed| {
            let init = InitialLaw::Points(points.to_vec());
            let config = CboConfig { particles, steps: Some(15), seed, init, ..config(false) };
            solve(&config, &from_fn(dim, energy), &mut ()).expect("a run").best().value.ln()
        };
        let found: Vec<f64> = (0..seeds).map(of).collect();
        let mean = found.iter().sum::<f64>() / seeds as f64;
        (mean, found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (seeds * (seeds - 1)) as f64)
    };
    let (here, there) = (statistic(&points, &energy), statistic(&mapped, &|y: &[f64]| energy(&back(y))));
    let error = (here.1 + there.1).sqrt();
    assert!((here.0 - there.0).abs() < 4.0 * error, "{} and {}, standard error {error}", here.0, there.0);
    assert!(error < 0.3 * here.0.abs(), "{error} says nothing");
}

#[test]
fn swarms_that_span_a_plane_stay_in_it() {
    // Three particles in five dimensions, and one coordinate that is the same for all.
    let mut points = some_points(3, 5);
    points.chunks_exact_mut(5).for_each(|x| x[2] = 0.25);
    let config = CboConfig { particles: 3, steps: Some(9), init: InitialLaw::Points(points.clone()), ..config(false) };
    let run = solve(&config, &from_fn(5, hilly), &mut ()).expect("a run");
    let (a, b) =
        ([0, 1, 2, 3, 4].map(|k| points[5 + k] - points[k]), [0, 1, 2, 3, 4].map(|k| points[10 + k] - points[k]));
    for row in run.ensemble().rows().iter() {
        let x = [0, 1, 2, 3, 4].map(|k| row[k] - points[k]);
        let inner = |u: &[f64; 5], v: &[f64; 5]| u.iter().zip(v).map(|(u, v)| u * v).sum::<f64>();
        let (aa, ab, bb) = (inner(&a, &a), inner(&a, &b), inner(&b, &b));
        let d = aa * bb - ab * ab;
        let (s, t) = ((inner(&x, &a) * bb - inner(&x, &b) * ab) / d, (inner(&x, &b) * aa - inner(&x, &a) * ab) / d);
        let rest = [0, 1, 2, 3, 4].map(|k| x[k] - s * a[k] - t * b[k]);
        assert!(inner(&rest, &rest).sqrt() < 1e-9, "{rest:?}");
        assert!((row[2] - 0.25).abs() < 1e-12, "{}", row[2]);
    }
}

#[test]
fn the_default_settings_find_the_bottom_of_a_narrow_valley() {
    // Turned and badly scaled: what scaled coordinates cannot see.
    let valley = |x: &[f64]| (x[0] - 1.0 + x[1]).powi(2) + 1e6 * (x[0] - x[1]).powi(2) + x[2].powi(2);
    let run = solve(config(false), &from_fn(3, valley), &mut ()).expect("a run");
    assert!(run.best().value < 1e-15, "{:?}", run.best());
    assert_eq!(run.sigma(), 0.0);
}

/// Energies of which all but a few are the same, infinite or missing.
#[test]
fn energies_without_differences_do_no_harm() {
    for law in [false, true] {
        for energy in [
            (|_: &[f64]| 1.0) as fn(&[f64]) -> f64,
            |x| if x[0] > 0.0 { 0.0 } else { f64::INFINITY },
            |x| if x[0] > 0.0 { f64::NAN } else { 3.0 },
        ] {
            let config = CboConfig { particles: 50, steps: Some(30), ..config(law) };
            let run = solve(&config, &from_fn(3, energy), &mut ()).expect("a run");
            assert!(run.ensemble().rows().as_slice().iter().all(|x| x.is_finite()), "law {law}");
        }
    }
}

/// Its energies depend on the data.
struct Noisy;

impl Objective<f64> for Noisy {
    fn dim(&self) -> usize {
        1
    }
    fn energies(&self, at: StepContext, _rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(at.data_batch as f64);
        Ok(())
    }
    fn is_stochastic(&self) -> bool {
        true
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let message = |config: CboConfig, dim: usize| config.check(dim).expect_err("wrong").to_string();
    let cases = [
        (CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..config(false) }, 2, "alpha = inf: method sampling needs"),
        (config(false), 2001, "dim = 2001: is too many for method sampling"),
        (CboConfig { sigma: Sigma::Constant(1.0), ..config(false) }, 2, "sigma = 1.0: is not a setting of method samp"),
        (CboConfig { lambda: 2.0, ..config(false) }, 2, "lambda = 2: is not a setting of method sampling; cbo"),
        (CboConfig { kick: Some(1e-3), ..config(false) }, 2, "kick = 0.001: is not a setting of method sampling"),
        (CboConfig { freeze: Some(vec![0.0; 2]), ..config(false) }, 2, "freeze = [0.0, 0.0]: is not a setting of"),
        (CboConfig { truncation: Some(1.0), ..config(false) }, 2, "truncation = 1: is not a setting of method samp"),
        (
            CboConfig { batch: Some(100), ..config(true) },
            2,
            "batch = 100: to draw from a law takes the energies of all",
        ),
        (CboConfig { particles: 10, ..config(true) }, 10, "particles = 10: to draw from a law in 10 dimensions"),
    ];
    for (config, dim, part) in cases {
        let message = message(config, dim);
        assert!(message.contains(part), "{message} lacks {part}");
    }
    let fine = CboConfig { batch: Some(100), update: Update::Partial, ..config(false) };
    assert!(fine.check(2000).is_ok());
    let refused = solve(config(true), &Noisy, &mut ());
    assert!(matches!(refused, Err(SolveError::Config(ConfigError { field: "method", .. }))), "{refused:?}");
}
