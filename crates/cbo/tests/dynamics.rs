//! The dynamics against exact facts: one step, and the decay towards a frozen consensus point.

use cbo::{Alpha, CboConfig, Coordinates, Diffusion, InitialLaw, Scheme, Sigma, from_fn, solve};

const DIFFUSIONS: [Diffusion; 2] = [Diffusion::Anisotropic, Diffusion::Isotropic];
const SCHEMES: [Scheme; 2] = [Scheme::EulerMaruyama, Scheme::DriftFirst];

fn sphere(dim: usize) -> impl cbo::Objective<f64> {
    from_fn(dim, |x: &[f64]| x.iter().map(|v| v * v).sum())
}

/// E ||V+ - v*||^2 = ||e||^2 + 2 (1 - lambda dt) <e, X> + F ||X||^2 with F = (1 - lambda dt)^2 + k sigma^2 dt (Euler-Maruyama)
/// or (1 - lambda dt)^2 (1 + k sigma^2 dt) (drift-first): mean over independent copies, within 5 standard errors.
#[test]
fn one_step_has_the_exact_second_moment() {
    let (dim, copies) = (7usize, 100_000usize);
    let (lambda, sigma, dt) = (1.3, 0.9, 0.05);
    let minimiser: Vec<f64> = (0..dim).map(|k| 0.3 * k as f64 - 1.0).collect();
    let consensus: Vec<f64> = (0..dim).map(|k| (k as f64).cos()).collect();
    let start: Vec<f64> = (0..dim).map(|k| 2.0 - 0.7 * k as f64).collect();
    let e: Vec<f64> = consensus.iter().zip(&minimiser).map(|(a, b)| a - b).collect();
    let x: Vec<f64> = start.iter().zip(&consensus).map(|(a, b)| a - b).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    for diffusion in DIFFUSIONS {
        for scheme in SCHEMES {
            let config = CboConfig {
                particles: copies,
                lambda,
                sigma: Sigma::Constant(sigma),
                dt,
                diffusion,
                scheme,
                init: InitialLaw::Points(start.repeat(copies)),
                freeze: Some(consensus.clone()),
                steps: Some(1),
                seed: 3,
                ..CboConfig::default()
            };
            let run = solve(&config, &sphere(dim), &mut ()).expect("a run");
            let squares: Vec<f64> = run
                .ensemble()
                .rows()
                .iter()
                .map(|row| row.iter().zip(&minimiser).map(|(a, b)| (a - b).powi(2)).sum())
                .collect();
            let mean = squares.iter().sum::<f64>() / copies as f64;
            let variance = squares.iter().map(|s| (s - mean).powi(2)).sum::<f64>() / copies as f64;
            let error = (variance / copies as f64).sqrt();

            let a = 1.0 - lambda * dt;
            let noise = diffusion.moment_factor(dim) * sigma * sigma * dt;
            let last = match scheme {
                Scheme::EulerMaruyama => a * a + noise,
                Scheme::DriftFirst => a * a * (1.0 + noise),
            };
            assert!((config.mean_square_factor(dim) - last).abs() < 1e-14);
            let expected = dot(&e, &e) + 2.0 * a * dot(&e, &x) + last * dot(&x, &x);
            assert!(
                (mean - expected).abs() < 5.0 * error,
                "{diffusion:?} {scheme:?}: {mean}, not {expected} +- {error}"
            );
        }
    }
}

/// The setting of the paper's Figure 1 with the consensus point frozen at v* = 0: V(4)/V(0) within 4 standard errors of the exact
/// discrete expectation. The relative standard deviations are those of N = 320 000, scaled to the N used here.
#[test]
fn frozen_consensus_decays_as_the_theory_says() {
    let particles = 20_000usize;
    // Euler-Maruyama and drift-first V(4)/V(0): anisotropic (any d), then isotropic for d = 4, 8, 12, 16.
    let anisotropic = [4.8928e-4, 4.8523e-4];
    let isotropic = [[1.7086e-3, 1.6529e-3], [8.9973e-3, 8.4228e-3], [4.7055e-2, 4.2637e-2], [0.24442, 0.21443]];
    let deviations = [[0.0034, 0.0024, 0.0020, 0.0017], [0.0046, 0.0041, 0.0040, 0.0038]];
    for (i, dim) in [4usize, 8, 12, 16].into_iter().enumerate() {
        for (j, diffusion) in DIFFUSIONS.into_iter().enumerate() {
            for (k, scheme) in SCHEMES.into_iter().enumerate() {
                let mut mean = vec![0.0; dim];
                mean[..dim / 2].fill(2.0 / (dim as f64 / 2.0).sqrt());
                let config = CboConfig {
                    particles,
                    sigma: Sigma::Constant(0.32),
                    alpha: Alpha::Constant(1e15),
                    dt: 0.01,
                    time: Some(4.0),
                    diffusion,
                    scheme,
                    init: InitialLaw::Normal { mean: Coordinates::Each(mean), variance: Coordinates::All(32.0) },
                    freeze: Some(vec![0.0; dim]),
                    seed: 11,
                    ..CboConfig::default()
                };
                let origin = vec![0.0; dim];
                let mut first = 0.0;
                let mut remember = |step: &cbo::StepReport<'_, f64>| {
                    if step.step() == 0 {
                        first = step.ensemble().half_mean_square(&origin);
                    }
                    std::ops::ControlFlow::Continue(())
                };
                let run = solve(&config, &sphere(dim), &mut remember).expect("a run");
                assert_eq!(run.steps(), 400);
                let ratio = run.ensemble().half_mean_square(&origin) / first;
                let exact = config.mean_square_factor(dim).powi(400);
                let published = if j == 0 { anisotropic[k] } else { isotropic[i][k] };
                assert!((exact / published - 1.0).abs() < 1e-4, "expectation {exact}, published {published}");
                let error = deviations[j][i] * (320_000.0 / particles as f64).sqrt();
                let off = ratio / exact - 1.0;
                assert!(off.abs() < 4.0 * error, "{diffusion:?} {scheme:?} d = {dim}: off by {off}, error {error}");
            }
        }
    }
}

/// With the real consensus point the swarm finds the minimum of the paper's Rastrigin function.
#[test]
fn the_papers_setting_converges() {
    let rastrigin = |x: &[f64]| x.iter().map(|v| v * v + 2.5 * (1.0 - (std::f64::consts::TAU * v).cos())).sum();
    let config = CboConfig {
        particles: 20_000,
        sigma: Sigma::Constant(0.32),
        alpha: Alpha::Constant(1e15),
        dt: 0.01,
        time: Some(4.0),
        init: InitialLaw::Normal { mean: 1.0.into(), variance: 32.0.into() },
        ..CboConfig::default()
    };
    let origin = [0.0; 4];
    let mut start = 0.0;
    let mut remember = |step: &cbo::StepReport<'_, f64>| {
        if step.step() == 0 {
            start = step.ensemble().half_mean_square(&origin);
        }
        std::ops::ControlFlow::Continue(())
    };
    let run = solve(&config, &from_fn(4, rastrigin), &mut remember).expect("a run");
    // The rate on [0, 4] lies near 2 lambda - sigma^2 = 1.9; v_a starts away from v*, so loosely.
    let rate = -(run.ensemble().half_mean_square(&origin) / start).ln() / 4.0;
    assert!((1.7..2.0).contains(&rate), "rate {rate}");
}

/// The plain noise of the kick has variance sigma^2 dt, on top of the move, and comes exactly when consensus stalls.
#[test]
fn a_stalled_consensus_is_kicked() {
    let (particles, sigma, dt) = (20_000usize, 0.5, 0.1);
    // All particles sit in one point: X = 0, so that nothing but the kick can move them.
    let config = CboConfig {
        particles,
        sigma: Sigma::Constant(sigma),
        dt,
        init: InitialLaw::Points(vec![1.0; particles * 2]),
        kick: Some(1e-5),
        steps: Some(2),
        ..CboConfig::default()
    };
    let mut kicks = Vec::new();
    let mut watch = |step: &cbo::StepReport<'_, f64>| {
        kicks.push(step.kicked());
        std::ops::ControlFlow::Continue(())
    };
    let run = solve(&config, &sphere(2), &mut watch).expect("a run");
    // Step 0 has no predecessor; step 1 finds consensus unmoved; step 2 finds it moved by the kick.
    assert_eq!(kicks, [false, true, false]);
    let expected = sigma * sigma * dt;
    for variance in run.ensemble().variances() {
        // Relative standard error of a sample variance: sqrt(2/N).
        assert!(
            (variance / expected - 1.0).abs() < 5.0 * (2.0 / particles as f64).sqrt(),
            "{variance}, not {expected}"
        );
    }
    let still = solve(&CboConfig { kick: None, ..config }, &sphere(2), &mut ()).expect("a run");
    assert_eq!(still.ensemble().diameter(), 0.0);
}

/// Towards a consensus point at zero the dynamics has no scale: a swarm that begins 2^-900 times as large stays so, bit for bit, until
/// positions are below 1e-290, where they become zero instead of subnormal numbers.
#[test]
fn positions_next_to_zero_become_zero_and_no_others_change() {
    let (dim, particles) = (5, 40);
    let scale = 2f64.powi(-900);
    let start: Vec<f64> = (0..particles * dim).map(|i| 1.0 + i as f64 / 100.0).collect();
    // Isotropic noise ends earlier: the squares of distances below 1e-162 are zero.
    let run = |factor: f64, steps| {
        let config = CboConfig {
            particles,
            sigma: Sigma::Constant(0.8),
            dt: 0.3,
            init: InitialLaw::Points(start.iter().map(|x| x * factor).collect()),
            freeze: Some(vec![0.0; dim]),
            steps: Some(steps),
            ..CboConfig::default()
        };
        solve(&config, &sphere(dim), &mut ()).expect("a run").ensemble().rows().as_slice().to_vec()
    };
    let (large, small) = (run(1.0, 60), run(scale, 60));
    let (mut kept, mut vanished) = (0, 0);
    for (x, y) in large.iter().map(|x| x * scale).zip(&small) {
        if x.abs() >= 1e-290 {
            assert_eq!(x.to_bits(), y.to_bits());
            kept += 1;
        } else {
            assert_eq!(*y, 0.0, "{x:e}");
            vanished += 1;
        }
    }
    assert!(kept > 10 && vanished > 10, "{kept} kept, {vanished} vanished");
    assert!(run(scale, 2000).iter().all(|x| *x == 0.0));
}

/// Zero may lie outside the box, even if only slightly.
#[test]
fn positions_next_to_zero_stay_in_their_box() {
    for low in [1e-43, 1e-33, 1e-31] {
        let config = CboConfig {
            particles: 64,
            init: InitialLaw::uniform(&[(low, 1.0); 3]),
            bounds: Some(vec![(low, 1.0); 3]),
            bound_handling: cbo::BoundHandling::Clip,
            steps: Some(200),
            ..CboConfig::default()
        };
        let run = solve(&config, &from_fn(3, |x: &[f32]| x.iter().sum()), &mut ()).expect("a run");
        let least = run.ensemble().rows().as_slice().iter().copied().fold(f32::INFINITY, f32::min);
        assert!(least >= low as f32, "{least:e}, not at least {low:e}");
    }
}
