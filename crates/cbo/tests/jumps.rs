//! Jumps: against a plain program, against plain consensus-based optimization, and against their exact second moment.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{Alpha, CboConfig, Diffusion, InitialLaw, Jumps, Method, Scheme, Sigma, StepReport, Update, from_fn, solve};
use std::ops::ControlFlow;

const SEED: u64 = 21;

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

fn normals(stream: Stream, step: u64, particle: u32, dim: usize) -> Vec<f64> {
    let mut normals = vec![0.0; scratch_len(1, dim)];
    Noise::new(SEED, stream, step).fill_normals(particle, 1, dim, &mut normals);
    normals.truncate(dim);
    normals
}

/// The number of jumps of a particle: the least n whose distribution function reaches a uniform number.
fn count(mean: f64, step: u64, particle: u32) -> u32 {
    let [a, b, ..] = Noise::new(SEED, Stream::JumpCount, step).words(particle, 0);
    let uniform = (((u64::from(a) << 32 | u64::from(b)) >> 11) as f64 + 0.5) / 2f64.powi(53);
    let probability = |n: u32| (1..=n).fold((-mean).exp(), |p, k| p * mean / f64::from(k));
    (0..).find(|&n| (0..=n).map(probability).sum::<f64>() >= uniform).expect("a number")
}

/// A step of one particle as it is written in the paper, one number after the other.
fn step(config: &CboConfig, jumps: &Jumps, step: u64, particle: u32, v: &[f64], centre: &[f64]) -> Vec<f64> {
    let (dt, sigma) = (config.dt, config.sigma.largest());
    let n = count(jumps.rate * dt, step, particle);
    let (xi, z) = (normals(Stream::Diffusion, step, particle, v.len()), normals(Stream::Jump, step, particle, v.len()));
    let drifted: Vec<f64> = v.iter().zip(centre).map(|(v, c)| v - config.lambda * dt * (v - c)).collect();
    let from = if config.scheme == Scheme::DriftFirst { &drifted } else { v };
    let norm = from.iter().zip(centre).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
    let moved = |k: usize| {
        let size = if config.diffusion == Diffusion::Anisotropic { from[k] - centre[k] } else { norm };
        drifted[k] + sigma * dt.sqrt() * size * xi[k] + jumps.size * f64::from(n).sqrt() * size * z[k]
    };
    (0..v.len()).map(moved).collect()
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let (dim, particles) = (5, 43);
    for jumps in [Jumps::default(), Jumps { rate: 20.0, size: 0.4 }] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                let config = CboConfig {
                    method: Method::Jumps(jumps),
                    particles,
                    alpha: Alpha::Constant(2.5),
                    sigma: Sigma::Constant(0.5),
                    steps: Some(25),
                    diffusion,
                    scheme,
                    seed: SEED,
                    ..CboConfig::default()
                };
                let mut expected: Vec<Vec<f64>> = Vec::new();
                let mut observer = |at: &StepReport<'_, f64>| {
                    for (row, v) in at.ensemble().rows().iter().zip(&expected) {
                        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + b.abs());
                        assert!(row.iter().zip(v).all(near), "{config:?}: {row:?} {v:?}");
                    }
                    let moved =
                        |(i, row): (usize, &[f64])| step(&config, &jumps, at.step(), i as u32, row, at.consensus());
                    expected = at.ensemble().rows().iter().enumerate().map(moved).collect();
                    ControlFlow::Continue(())
                };
                solve(&config, &from_fn(dim, hilly), &mut observer).expect("a run");
            }
        }
    }
}

#[test]
fn without_jumps_it_is_consensus_based_optimization_bit_for_bit() {
    let base = CboConfig { particles: 150, steps: Some(20), sigma: Sigma::Constant(0.9), ..CboConfig::default() };
    let variants = [
        base.clone(),
        CboConfig { diffusion: Diffusion::Isotropic, scheme: Scheme::DriftFirst, ..base.clone() },
        CboConfig { batch: Some(30), update: Update::Partial, kick: Some(0.1), ..base.clone() },
        CboConfig { bounds: Some(vec![(-2.0, 1.0); 7]), ..base },
    ];
    for config in variants {
        let run = |method| {
            let config = CboConfig { method, ..config.clone() };
            solve(&config, &from_fn(7, hilly), &mut ()).expect("a run").ensemble().rows().as_slice().to_vec()
        };
        let plain = run(Method::Cbo);
        assert_eq!(plain, run(Method::Jumps(Jumps { rate: 0.0, size: 5.0 })));
        assert_eq!(plain, run(Method::Jumps(Jumps { rate: 5.0, size: 0.0 })));
        assert_ne!(plain, run(Method::Jumps(Jumps::default())));
    }
}

/// Who does not jump in a step moves as without jumps, bit for bit.
#[test]
fn only_some_particles_jump() {
    let (dim, particles, jumps) = (6, 4_000, Jumps { rate: 3.0, size: 2.0 });
    for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
        let run = |method| {
            let freeze = Some(vec![0.1; dim]);
            let config =
                CboConfig { method, particles, diffusion, freeze, steps: Some(1), seed: SEED, ..CboConfig::default() };
            solve(&config, &from_fn(dim, hilly), &mut ()).expect("a run").ensemble().clone()
        };
        let (with, without) = (run(Method::Jumps(jumps)), run(Method::Cbo));
        let mut jumped = 0;
        for (i, (a, b)) in with.rows().iter().zip(without.rows().iter()).enumerate() {
            let jumps = count(jumps.rate * 0.1, 0, i as u32) > 0;
            assert_eq!(jumps, a != b, "{i}");
            jumped += u32::from(jumps);
        }
        // 1 - exp(-0.3) of them, within five standard deviations.
        let (expected, deviation) = (1036.7, (4000.0f64 * 0.2592 * 0.7408).sqrt());
        assert!((f64::from(jumped) - expected).abs() < 5.0 * deviation, "{jumped}");
    }
}

/// `E |V+ - c|^2 = F |X|^2` with the factor that the configuration tells, and the same for each coordinate.
#[test]
fn the_second_moment_of_a_step_is_the_exact_one() {
    let (particles, centre, start) = (400_000, [0.5, -1.0, 2.0], [1.5, 1.0, -0.5]);
    for jumps in [Jumps { rate: 2.0, size: 0.8 }, Jumps { rate: 60.0, size: 0.2 }] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                let config = CboConfig {
                    method: Method::Jumps(jumps),
                    particles,
                    sigma: Sigma::Constant(0.7),
                    steps: Some(1),
                    diffusion,
                    scheme,
                    freeze: Some(centre.to_vec()),
                    init: InitialLaw::Points(start.repeat(particles)),
                    seed: 4,
                    ..CboConfig::default()
                };
                let run = solve(&config, &from_fn(3, |_: &[f64]| 0.0), &mut ()).expect("a run");
                let square = |row: &[f64]| row.iter().zip(&centre).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
                let (second, fourth) = run.ensemble().rows().iter().fold((0.0, 0.0), |(s, f), row| {
                    (s + square(row) / particles as f64, f + square(row).powi(2) / particles as f64)
                });
                let error = ((fourth - second * second) / particles as f64).sqrt();
                let expected = config.mean_square_factor(3) * square(&start);
                assert!((second - expected).abs() < 5.0 * error, "{config:?}: {second} {expected} +- {error}");
                let by_hand = match scheme {
                    Scheme::EulerMaruyama => 0.81 + diffusion.moment_factor(3) * (0.49 + jumps.variance()) * 0.1,
                    Scheme::DriftFirst => 0.81 * (1.0 + diffusion.moment_factor(3) * (0.49 + jumps.variance()) * 0.1),
                };
                assert!((config.mean_square_factor(3) - by_hand).abs() < 1e-14);
            }
        }
    }
}

#[test]
fn the_stable_sigma_leaves_room_for_the_jumps() {
    let config = CboConfig { method: Method::Jumps(Jumps { rate: 1.0, size: 0.8 }), ..CboConfig::default() };
    let sigma = config.largest_stable_sigma(4).expect("a sigma");
    let at = |sigma| CboConfig { sigma: Sigma::Constant(sigma), ..config.clone() }.mean_square_factor(4);
    assert!((at(sigma) - 1.0).abs() < 1e-12 && sigma < CboConfig::default().largest_stable_sigma(4).expect("a sigma"));
    let wild = CboConfig { method: Method::Jumps(Jumps { rate: 10.0, size: 2.0 }), ..CboConfig::default() };
    assert_eq!(wild.largest_stable_sigma(4), None);
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let message = |jumps: Jumps, more: CboConfig| {
        let config = CboConfig { method: Method::Jumps(jumps), ..more };
        config.check(2).expect_err("wrong").to_string()
    };
    let (usual, config) = (Jumps::default(), CboConfig::default);
    let negative = message(Jumps { rate: -1.0, ..usual }, config());
    assert_eq!(negative, "method = jumps with rate = -1: rate must be zero or a positive finite number");
    assert!(message(Jumps { size: f64::NAN, ..usual }, config()).contains("jumps with size = NaN"));
    let often = message(Jumps { rate: 1001.0, ..usual }, config());
    assert!(often.contains("rate dt is at most 100 jumps in a step, the rate 1000"), "{often}");
    let truncated = message(usual, CboConfig { truncation: Some(1.0), ..config() });
    assert!(truncated.contains("truncation = 1: is not a setting of method jumps; cbo"), "{truncated}");
}
