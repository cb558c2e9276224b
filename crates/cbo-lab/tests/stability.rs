//! The exponent of almost every path: against the engine's noise, in its limits, and the edges of contraction.

use cbo::noise::{Noise, Stream, padded, scratch_len};
use cbo::{CboConfig, Diffusion, InitialLaw, Jumps, Method, Scheme, Sigma, from_fn, solve};
use cbo_lab::theory::stability;

/// The engine's own normals: 200 000 of them, a tolerance of 5 standard errors.
#[test]
fn exponents_agree_with_the_engine_s_noise() {
    let (rows, dim) = (200_000, 5);
    let mut normals = vec![0.0f64; scratch_len(rows, dim)];
    Noise::new(11, Stream::Diffusion, 3).fill_normals(0, rows, dim, &mut normals);
    for (lambda, sigma, dt) in [(1.0, 0.32, 0.01), (1.0, 3.0, 0.1), (1.0, 0.5, 1.0)] {
        for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
            for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
                let config =
                    CboConfig { lambda, sigma: Sigma::Constant(sigma), dt, scheme, diffusion, ..CboConfig::default() };
                let kept = 1.0 - lambda * dt;
                if scheme == Scheme::DriftFirst && kept == 0.0 {
                    assert_eq!(stability::log_factor(&config, dim), f64::NEG_INFINITY);
                    continue;
                }
                let noise = sigma * dt.sqrt() * if scheme == Scheme::DriftFirst { kept } else { 1.0 };
                let logs: Vec<f64> = normals
                    .chunks_exact(padded(dim))
                    .take(rows)
                    .map(|xi| match diffusion {
                        Diffusion::Anisotropic => (kept + noise * xi[0]).abs().ln(),
                        Diffusion::Isotropic => {
                            let first = (kept + noise * xi[0]).powi(2);
                            let others: f64 = xi[1..dim].iter().map(|x| (noise * x).powi(2)).sum();
                            0.5 * (first + others).ln()
                        }
                    })
                    .collect();
                let mean = logs.iter().sum::<f64>() / rows as f64;
                let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / rows as f64;
                let error = (variance / rows as f64).sqrt();
                let exact = stability::log_factor(&config, dim);
                assert!((mean - exact).abs() < 5.0 * error, "{config:?}: {mean} {exact} +- {error}");
            }
        }
    }
}

#[test]
fn exponents_have_their_continuous_limits_and_edges() {
    let base = CboConfig { lambda: 1.0, sigma: Sigma::Constant(0.7), dt: 1e-7, ..CboConfig::default() };
    // The first correction is of the order dt.
    assert!((stability::exponent(&base, 9) + 1.0 + 0.245).abs() < 1e-6);
    let isotropic = CboConfig { diffusion: Diffusion::Isotropic, ..base.clone() };
    for dim in [1, 2, 3, 9, 100] {
        let limit = -1.0 + 0.5 * (dim as f64 - 2.0) * 0.49;
        assert!((stability::exponent(&isotropic, dim) - limit).abs() < 1e-5 * dim as f64, "d = {dim}");
    }
    // Where a series and an expansion meet, they agree.
    let at = |dt: f64| stability::exponent(&CboConfig { dt, ..isotropic.clone() }, 9);
    assert!((at(1.000_001 * 0.5e-6 / 0.49) - at(0.999_999 * 0.5e-6 / 0.49)).abs() < 1e-9);
    for (config, dim) in
        [(&CboConfig::default(), 1), (&CboConfig { diffusion: Diffusion::Isotropic, ..CboConfig::default() }, 10)]
    {
        let (low, edge) = stability::contracting_sigmas(config, dim).expect("an edge");
        assert_eq!(low, 0.0);
        let at =
            |sigma: f64| stability::log_factor(&CboConfig { sigma: Sigma::Constant(sigma), ..config.clone() }, dim);
        assert!(at(0.999 * edge) < 0.0 && at(1.001 * edge) > 0.0, "{edge}");
    }
}

/// Noise and jumps together, with the engine's own moves: one step of 200 000 particles about a frozen point, 5 standard errors.
#[test]
fn exponents_with_jumps_agree_with_the_engine() {
    let (particles, dim, centre, start) = (200_000, 3, [0.5, -1.0, 2.0], [1.5, 1.0, -0.5]);
    for jumps in [Jumps { rate: 2.0, size: 0.8 }, Jumps { rate: 60.0, size: 0.3 }] {
        for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
            for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
                let config = CboConfig {
                    method: Method::Jumps(jumps),
                    particles,
                    sigma: Sigma::Constant(0.7),
                    steps: Some(1),
                    scheme,
                    diffusion,
                    freeze: Some(centre.to_vec()),
                    init: InitialLaw::Points(start.repeat(particles)),
                    ..CboConfig::default()
                };
                let run = solve(&config, &from_fn(dim, |_: &[f64]| 0.0), &mut ()).expect("a run");
                let norm = |row: &[f64]| row.iter().zip(&centre).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                let log = |row: &[f64]| match diffusion {
                    Diffusion::Anisotropic => ((row[0] - centre[0]) / (start[0] - centre[0])).abs().ln(),
                    Diffusion::Isotropic => (norm(row) / norm(&start)).ln(),
                };
                let logs: Vec<f64> = run.ensemble().rows().iter().map(log).collect();
                let mean = logs.iter().sum::<f64>() / particles as f64;
                let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / particles as f64;
                let error = (variance / particles as f64).sqrt();
                let exact = stability::log_factor(&config, dim);
                assert!((mean - exact).abs() < 5.0 * error, "{config:?}: {mean} {exact} +- {error}");
            }
        }
    }
}

#[test]
fn jumps_leave_less_room_for_noise() {
    let plain = CboConfig::default();
    let with = |rate, size| CboConfig { method: Method::Jumps(Jumps { rate, size }), ..plain.clone() };
    let (_, alone) = stability::contracting_sigmas(&plain, 3).expect("an interval");
    let (low, edge) = stability::contracting_sigmas(&with(1.0, 3.0), 3).expect("an interval");
    assert!(low == 0.0 && edge < alone, "{low} {edge} {alone}");
    let at = |sigma: f64| stability::log_factor(&CboConfig { sigma: Sigma::Constant(sigma), ..with(1.0, 3.0) }, 3);
    assert!(at(0.999 * edge) < 0.0 && at(1.001 * edge) > 0.0);
    assert_eq!(stability::contracting_sigmas(&with(100.0, 4.0), 3), None);
    // None at all.
    assert_eq!(stability::contracting_sigmas(&with(0.0, 4.0), 3), Some((0.0, alone)));
}

/// Where the drift alone overshoots (lambda dt > 2) some noise may still contract, between two edges; in more coordinates than
/// one isotropic noise never does.
#[test]
fn contraction_has_two_edges_where_the_drift_overshoots() {
    let base = CboConfig { lambda: 1.0, dt: 2.02, ..CboConfig::default() };
    let at = |config: &CboConfig, sigma: f64, dim: usize| {
        stability::log_factor(&CboConfig { sigma: Sigma::Constant(sigma), ..config.clone() }, dim)
    };
    for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
        let config = CboConfig { scheme, ..base.clone() };
        let (low, high) = stability::contracting_sigmas(&config, 3).expect("an interval");
        assert!(low > 0.0 && at(&config, 0.0, 3) > 0.0 && at(&config, 0.99 * low, 3) > 0.0, "{low}");
        assert!(at(&config, 1.01 * low, 3) < 0.0 && at(&config, 0.99 * high, 3) < 0.0, "{low} {high}");
        assert!(at(&config, 1.01 * high, 3) > 0.0, "{high}");
    }
    let isotropic = CboConfig { diffusion: Diffusion::Isotropic, ..base.clone() };
    assert_eq!(stability::contracting_sigmas(&isotropic, 2), None);
    assert!(stability::contracting_sigmas(&isotropic, 1).is_some());
    assert_eq!(stability::contracting_sigmas(&CboConfig { dt: 5.0, ..base.clone() }, 3), None);
    // lambda dt = 2: nothing happens without noise, and the least noise contracts.
    let (low, high) = stability::contracting_sigmas(&CboConfig { dt: 2.0, ..base.clone() }, 3).expect("an interval");
    assert!(low == 0.0 && high > 1.0);
    // lambda dt = 1, drift first: every particle is at the consensus point after a step.
    let at_once = CboConfig { dt: 1.0, scheme: Scheme::DriftFirst, ..base.clone() };
    assert_eq!(stability::contracting_sigmas(&at_once, 3), Some((0.0, f64::INFINITY)));
    // The edge of isotropic noise in continuous time: sigma^2 = 2 lambda / (d - 2), even with the tiniest steps.
    let tiny = CboConfig { dt: 1e-15, ..isotropic };
    let (_, edge) = stability::contracting_sigmas(&tiny, 1002).expect("an interval");
    assert!((edge / 0.002f64.sqrt() - 1.0).abs() < 1e-3, "{edge}");
}

/// Settings of absurd size have exponents all the same.
#[test]
fn exponents_are_never_nan() {
    for dt in [1e-300, 1e-9, 0.01, 0.5, 1.0, 2.0, 1e5, 1e300] {
        for sigma in [0.0, 1e-200, 1.0, 1e20, 1e200] {
            for lambda in [1e-50, 1.0, 1e50] {
                for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                    for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
                        let sigma = Sigma::Constant(sigma);
                        let config = CboConfig { lambda, sigma, dt, scheme, diffusion, ..CboConfig::default() };
                        let exponent = stability::exponent(&config, 3);
                        assert!(!exponent.is_nan(), "{config:?}");
                        assert!(stability::contracting_sigmas(&config, 3).is_none_or(|(l, h)| l < h), "{config:?}");
                    }
                }
            }
        }
    }
    // E ln|sigma sqrt(dt) xi| = ln(sigma sqrt(dt)) - (gamma + ln 2)/2, all else being too small to count.
    let config = CboConfig { lambda: 1.0, sigma: Sigma::Constant(1e200), dt: 0.01, ..CboConfig::default() };
    let expected = 199.0 * 10f64.ln() - 0.5 * (0.577_215_664_901_532_9 + 2f64.ln());
    assert!((stability::log_factor(&config, 3) - expected).abs() < 1e-10);
}
