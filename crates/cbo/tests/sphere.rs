//! On the sphere: against a plain program, whether positions stay on it, and what is found there.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, InitialLaw, Method, Scalar, Scheme, Sigma, Sphere, StepReport, from_fn,
    solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 51;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Ackley's function about the last axis.
fn ackley<T: Scalar>(x: &[T]) -> T {
    let dim = x.len() as f64;
    let far = |k: usize| x[k].to_f64() - f64::from(u8::from(k + 1 == x.len()));
    let square = (0..x.len()).map(|k| far(k).powi(2)).sum::<f64>() / dim;
    let waves = (0..x.len()).map(|k| (std::f64::consts::TAU * 3.0 * far(k)).cos()).sum::<f64>() / dim;
    T::from_f64(20.0 - 20.0 * (-0.2 * (9.0 * square).sqrt()).exp() + 1f64.exp() - waves.exp())
}

/// A step as it is written in the papers, with the whole matrix P.
fn step(config: &CboConfig, radius: f64, v: &[f64], centre: &[f64], xi: &[f64]) -> Vec<f64> {
    let (dim, square) = (v.len(), radius * radius);
    let (dt, sigma) = (config.dt, config.sigma.largest());
    let x: Vec<f64> = v.iter().zip(centre).map(|(v, c)| v - c).collect();
    let p = |i: usize, j: usize| f64::from(u8::from(i == j)) - v[i] * v[j] / square;
    let d = |k: usize| if config.diffusion == Diffusion::Anisotropic { x[k] } else { dot(&x, &x).sqrt() };
    let inner: Vec<f64> = (0..dim).map(|k| config.lambda * dt * centre[k] + sigma * dt.sqrt() * d(k) * xi[k]).collect();
    let correction = |k: usize| match config.diffusion {
        Diffusion::Isotropic => (dim as f64 - 1.0) * dot(&x, &x) * v[k] / square,
        Diffusion::Anisotropic => {
            let along: f64 = (0..dim).map(|j| (x[j] * v[j]).powi(2)).sum();
            (dot(&x, &x) * v[k] + x[k] * x[k] * v[k] - 2.0 * along * v[k] / square) / square
        }
    };
    let moved: Vec<f64> = (0..dim)
        .map(|i| v[i] + (0..dim).map(|j| p(i, j) * inner[j]).sum::<f64>() - 0.5 * sigma * sigma * dt * correction(i))
        .collect();
    let norm = dot(&moved, &moved).sqrt();
    moved.iter().map(|w| radius * w / norm).collect()
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    for (dim, radius) in [(2, 1.0), (5, 1.0), (19, 2.5)] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let config = CboConfig {
                particles: 43,
                alpha: Alpha::Constant(2.5),
                sigma: Sigma::Constant(0.4),
                diffusion,
                steps: Some(25),
                seed: SEED,
                ..CboConfig::of(Method::Sphere(Sphere { radius }))
            };
            let mut expected: Vec<Vec<f64>> = Vec::new();
            let mut observer = |at: &StepReport<'_, f64>| {
                let rows = at.ensemble().rows();
                for (row, v) in rows.iter().zip(&expected) {
                    assert!(row.iter().zip(v).all(|(a, b)| (a - b).abs() < 1e-13 * radius), "{config:?} {row:?} {v:?}");
                }
                let moved = |(i, row): (usize, &[f64])| {
                    let mut xi = vec![0.0; scratch_len(1, dim)];
                    Noise::new(SEED, Stream::Diffusion, at.step()).fill_normals(i as u32, 1, dim, &mut xi);
                    step(&config, radius, row, at.consensus(), &xi)
                };
                expected = rows.iter().enumerate().map(moved).collect();
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(dim, ackley), &mut observer).expect("a run");
        }
    }
}

fn stays<T: Scalar>(config: &CboConfig, radius: f64, rounding: f64) {
    let norm = |x: &[T]| x.iter().map(|x| x.to_f64().powi(2)).sum::<f64>().sqrt();
    let on_it = |x: &[T]| (norm(x) - radius).abs() < rounding * radius;
    let mut observer = |at: &StepReport<'_, T>| {
        assert!(at.ensemble().rows().iter().all(on_it), "{config:?}, step {}", at.step());
        ControlFlow::Continue(())
    };
    let run = solve::<T>(config, &from_fn(7, ackley), &mut observer).expect("a run");
    assert!(on_it(&run.best().x) && on_it(&run.consensus().x), "{config:?}");
}

#[test]
fn positions_stay_on_the_sphere_after_every_step() {
    for radius in [1.0, 1e-3, 40.0] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for sigma in [0.3, 3.0, 1e6] {
                let (method, sigma) = (Method::Sphere(Sphere { radius }), Sigma::Constant(sigma));
                let config = CboConfig { particles: 50, diffusion, sigma, steps: Some(60), ..CboConfig::of(method) };
                stays::<f64>(&config, radius, 1e-12);
                stays::<f32>(&config, radius, 1e-5);
                // From the corners of a box, and some from the origin.
                let mut points = vec![100.0; 50 * 7];
                points[..70].fill(0.0);
                stays::<f64>(&CboConfig { init: InitialLaw::Points(points), ..config }, radius, 1e-12);
            }
        }
    }
}

/// One step of many particles from one place: tangentially the noise has no mean, up to terms of higher order, and its variance along the
/// sphere is that of the tangential noise. With the frozen consensus at c the mean moves by `lambda dt P c`.
#[test]
fn a_small_step_is_that_of_the_equation_on_the_sphere() {
    let (particles, dt, sigma) = (400_000, 1e-4, 0.5);
    let (v, c): ([f64; 3], [f64; 3]) = ([0.6, 0.0, 0.8], [0.1, -0.4, 0.5]);
    let config = CboConfig {
        particles,
        dt,
        sigma: Sigma::Constant(sigma),
        diffusion: Diffusion::Isotropic,
        freeze: Some(c.to_vec()),
        init: InitialLaw::Points(v.repeat(particles)),
        steps: Some(1),
        ..CboConfig::of(Method::Sphere(Sphere::default()))
    };
    let run = solve(&config, &from_fn(3, |_: &[f64]| 0.0), &mut ()).expect("a run");
    let square: f64 = v.iter().zip(&c).map(|(v, c)| (v - c).powi(2)).sum();
    let count = particles as f64;
    for (name, tangent) in [("down", [0.8, 0.0, -0.6]), ("across", [0.0, 1.0, 0.0])] {
        let shifts = || run.ensemble().rows().iter().map(|row| dot(row, &tangent) - dot(&v, &tangent));
        let mean = shifts().sum::<f64>() / count;
        let variance = shifts().map(|s| (s - mean).powi(2)).sum::<f64>() / count;
        let expected = sigma * sigma * dt * square;
        let deviation = (expected / count).sqrt();
        assert!((mean - dt * dot(&c, &tangent)).abs() < 5.0 * deviation, "{name}: {mean}");
        assert!((variance / expected - 1.0).abs() < 5.0 * (2.0 / count).sqrt() + 10.0 * dt, "{name}: {variance}");
    }
    // Outwards Ito's correction holds: the mean of the height falls by sigma^2 dt |X|^2 (d - 1) / 2.
    let height = run.ensemble().rows().iter().map(|row| dot(row, &v) - 1.0).sum::<f64>() / count;
    let expected = -sigma * sigma * dt * square;
    assert!((height / expected - 1.0).abs() < 5.0 * (1.0 / count).sqrt() + 10.0 * dt, "{height} {expected}");
}

#[test]
fn the_minimum_of_ackley_on_the_sphere() {
    for seed in 0..5 {
        let config = CboConfig { seed, ..CboConfig::of(Method::Sphere(Sphere::default())) };
        let run = solve(&config, &from_fn(10, ackley::<f64>), &mut ()).expect("a run");
        assert!(run.best().x[9] > 0.999, "seed {seed}: {:?}", run.best());
    }
}

/// The least eigenvector of a symmetric matrix that is known by its construction: A = I - 2 u u^T has the eigenvalue -1 on u, 1 elsewhere.
#[test]
fn the_leading_eigenvector() {
    let dim = 12;
    let raw: Vec<f64> = (0..dim).map(|k| (k as f64 * 1.7).sin() + 0.3).collect();
    let norm = dot(&raw, &raw).sqrt();
    let u: Vec<f64> = raw.iter().map(|x| x / norm).collect();
    let quotient = |x: &[f64]| dot(x, x) - 2.0 * dot(x, &u).powi(2);
    let run = solve(CboConfig::of(Method::Sphere(Sphere::default())), &from_fn(dim, quotient), &mut ()).expect("a run");
    assert!((run.best().value + 1.0).abs() < 1e-6 && dot(&run.best().x, &u).abs() > 1.0 - 1e-6, "{:?}", run.best());
}

/// Phase retrieval, the example of the paper: x up to its sign from |<a, x>|^2.
#[test]
fn phase_retrieval() {
    let (dim, measurements) = (10, 40);
    let mut frame = vec![0.0; scratch_len(measurements, dim)];
    Noise::new(8, Stream::Problem, 0).fill_normals(0, measurements, 12, &mut frame);
    let vectors = || frame.chunks_exact(12).take(measurements).map(|row| &row[..dim]);
    let raw: Vec<f64> = (0..dim).map(|k| (k as f64 * 2.3).cos()).collect();
    let norm = dot(&raw, &raw).sqrt();
    let signal: Vec<f64> = raw.iter().map(|x| x / norm).collect();
    let misfit = |x: &[f64]| {
        vectors().map(|a| (dot(a, x).powi(2) - dot(a, &signal).powi(2)).powi(2)).sum::<f64>() / measurements as f64
    };
    let run = solve(CboConfig::of(Method::Sphere(Sphere::default())), &from_fn(dim, misfit), &mut ()).expect("a run");
    assert!(dot(&run.best().x, &signal).abs() > 0.9999, "{:?}", run.best());
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let message = |config: CboConfig| config.check(5).expect_err("wrong").to_string();
    let of = || CboConfig::of(Method::Sphere(Sphere::default()));
    let bounds = Some(vec![(-1.0, 1.0); 5]);
    let cases = [
        (CboConfig::of(Method::Sphere(Sphere { radius: 0.0 })), "method = sphere with radius = 0: must be a positive"),
        (
            CboConfig { bounds: bounds.clone(), ..of() },
            "bounds = 5 pairs: particles of method sphere stay on their surface",
        ),
        (CboConfig { kick: Some(1.0), ..of() }, "kick = 1: is not a setting of method sphere"),
        (CboConfig { scheme: Scheme::DriftFirst, ..of() }, "scheme = drift-first: is not a setting"),
        (CboConfig { truncation: Some(1.0), ..of() }, "truncation = 1: is not a setting"),
    ];
    for (config, part) in cases {
        let text = message(config);
        assert!(text.contains(part), "{text}");
    }
    assert!(CboConfig { bounds, bound_handling: BoundHandling::None, ..of() }.check(5).is_ok());
}
