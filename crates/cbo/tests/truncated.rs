//! Truncated noise: against a plain program, and against what it is without a limit.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{Alpha, CboConfig, Diffusion, Scheme, Sigma, StepReport, from_fn, solve};
use std::ops::ControlFlow;

const SEED: u64 = 5;

fn bowl(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.3).powi(2)).sum()
}

fn config(truncation: Option<f64>, diffusion: Diffusion, scheme: Scheme) -> CboConfig {
    CboConfig {
        particles: 37,
        alpha: Alpha::Constant(4.0),
        sigma: Sigma::Constant(0.9),
        steps: Some(20),
        seed: SEED,
        truncation,
        diffusion,
        scheme,
        ..CboConfig::default()
    }
}

/// One step of one particle, as the formula says.
fn moved(config: &CboConfig, x: &[f64], centre: &[f64], xi: &[f64]) -> Vec<f64> {
    let Sigma::Constant(sigma) = config.sigma else { unreachable!("a constant") };
    let (keep, noise) = (1.0 - config.lambda * config.dt, sigma * config.dt.sqrt());
    let longest = config.truncation.unwrap_or(f64::INFINITY);
    let drifted: Vec<f64> = x.iter().zip(centre).map(|(x, c)| c + keep * (x - c)).collect();
    let from = if config.scheme == Scheme::DriftFirst { &drifted } else { x };
    let far: Vec<f64> = from.iter().zip(centre).map(|(x, c)| x - c).collect();
    let norm = far.iter().map(|d| d * d).sum::<f64>().sqrt();
    let size = |k: usize| match config.diffusion {
        Diffusion::Anisotropic => far[k].signum() * far[k].abs().min(longest),
        Diffusion::Isotropic => norm.min(longest),
    };
    (0..x.len()).map(|k| drifted[k] + noise * size(k) * xi[k]).collect()
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    for dim in [1, 3, 19] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                let config = config(Some(0.8), diffusion, scheme);
                let mut expected: Vec<Vec<f64>> = Vec::new();
                let mut cut = 0;
                let mut observer = |step: &StepReport<'_, f64>| {
                    let rows = step.ensemble().rows();
                    for (row, wanted) in rows.iter().zip(&expected) {
                        let near = row.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs()));
                        assert!(near, "{diffusion} {scheme}: {row:?} {wanted:?}");
                    }
                    let centre = step.consensus();
                    cut += rows.iter().filter(|row| row.iter().zip(centre).any(|(x, c)| (x - c).abs() > 0.8)).count();
                    let next = |(i, row): (usize, &[f64])| {
                        let mut xi = vec![0.0; scratch_len(1, dim)];
                        Noise::new(SEED, Stream::Diffusion, step.step()).fill_normals(i as u32, 1, dim, &mut xi);
                        moved(&config, row, centre, &xi)
                    };
                    expected = rows.iter().enumerate().map(next).collect();
                    ControlFlow::Continue(())
                };
                solve(&config, &from_fn(dim, bowl), &mut observer).expect("a run");
                assert!(cut > 50, "the limit must matter: {cut}");
            }
        }
    }
}

#[test]
fn no_limit_is_plain_consensus_based_optimization() {
    for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
        for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
            let run = |truncation| {
                let run = solve(config(truncation, diffusion, scheme), &from_fn(5, bowl), &mut ()).expect("a run");
                run.ensemble().rows().as_slice().to_vec()
            };
            assert_eq!(run(None), run(Some(f64::INFINITY)));
            assert_ne!(run(None), run(Some(0.5)));
        }
    }
}

/// Beyond the bound of the mean square, plain noise takes particles away for ever; truncated noise cannot.
#[test]
fn truncated_noise_keeps_the_second_moment_bounded() {
    let spread = |truncation| {
        let config = CboConfig {
            particles: 2000,
            sigma: Sigma::Constant(2.5),
            dt: 0.01,
            steps: Some(1000),
            freeze: Some(vec![0.0; 4]),
            ..config(truncation, Diffusion::Isotropic, Scheme::EulerMaruyama)
        };
        let run = solve(&config, &from_fn(4, bowl), &mut ()).expect("a run");
        run.ensemble().rows().as_slice().iter().map(|x| x * x).sum::<f64>() / 2000.0
    };
    // In the limit E|X|^2 is at most d sigma^2 M^2 / (2 lambda) = 12.5 with M = 1.
    assert!(spread(Some(1.0)) < 12.5 && spread(None) > 1e3, "{} {}", spread(Some(1.0)), spread(None));
}

#[test]
fn wrong_lengths_are_refused() {
    for length in [0.0, -1.0, f64::NAN] {
        let wrong = CboConfig { truncation: Some(length), ..CboConfig::default() };
        let error = wrong.check(2).expect_err("wrong");
        assert_eq!(error.field, "truncation");
    }
}
