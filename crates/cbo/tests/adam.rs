//! Adam-CBO: against a plain program, and what it finds.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{Adam, Alpha, CboConfig, Diffusion, Method, Scheme, Sigma, StepReport, Update, from_fn, solve};
use std::ops::ControlFlow;

const SEED: u64 = 31;

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

/// V, m and v of a particle.
type Particle = [Vec<f64>; 3];

/// A step of one particle as it is written in the paper, one number after the other.
fn step(config: &CboConfig, adam: &Adam, at: &StepReport<'_, f64>, particle: usize, [x, m, v]: &mut Particle) {
    let mut xi = vec![0.0; scratch_len(1, x.len())];
    Noise::new(SEED, Stream::Diffusion, at.step()).fill_normals(particle as u32, 1, x.len(), &mut xi);
    let t = at.step() as i32 + 1;
    for k in 0..x.len() {
        let far = x[k] - at.consensus()[k];
        m[k] = adam.beta1 * m[k] + (1.0 - adam.beta1) * far;
        v[k] = adam.beta2 * v[k] + (1.0 - adam.beta2) * far * far;
        let (mean, square) = (m[k] / (1.0 - adam.beta1.powi(t)), v[k] / (1.0 - adam.beta2.powi(t)));
        let step = config.lambda * config.dt * mean / (square.sqrt() + adam.epsilon);
        x[k] += at.sigma() * config.dt.sqrt() * xi[k] - step;
    }
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let (dim, particles) = (5, 43);
    for adam in [Adam::default(), Adam { beta1: 0.0, beta2: 0.5, epsilon: 0.1 }] {
        for batch in [None, Some(43)] {
            let config = CboConfig {
                particles: batch.map_or(particles, |batch| 2 * batch),
                batch,
                alpha: Alpha::Constant(2.5),
                steps: Some(60),
                dt: 0.5,
                seed: SEED,
                ..CboConfig::of(Method::Adam(adam))
            };
            let mut plain: Vec<Particle> = Vec::new();
            let mut observer = |at: &StepReport<'_, f64>| {
                let rows = at.ensemble().rows();
                if at.step() == 0 {
                    plain = rows.iter().map(|row| [row.to_vec(), vec![0.0; dim], vec![0.0; dim]]).collect();
                }
                for (i, (row, particle)) in rows.iter().zip(&mut plain).enumerate() {
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-12 * (1.0 + b.abs());
                    assert!(row.iter().zip(&particle[0]).all(near), "{config:?}: {row:?} {particle:?}");
                    // From the engine's own positions, so that roundings do not grow; the moments are those of the plain program.
                    particle[0] = row.to_vec();
                    step(&config, &adam, at, i, particle);
                }
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(dim, hilly), &mut observer).expect("a run");
        }
    }
}

/// In the first step the corrected moments are X and X^2, so that each coordinate moves by lambda dt towards the consensus.
#[test]
fn the_first_step_has_the_same_length_in_every_coordinate() {
    let config = CboConfig {
        particles: 50,
        sigma: Sigma::Constant(0.0),
        freeze: Some(vec![0.25, -7.0, 1e4]),
        steps: Some(1),
        ..CboConfig::of(Method::Adam(Adam { epsilon: 1e-300, ..Adam::default() }))
    };
    let mut begin = Vec::new();
    let mut observer = |at: &StepReport<'_, f64>| {
        if at.step() == 0 {
            begin = at.ensemble().rows().as_slice().to_vec();
            return ControlFlow::Continue(());
        }
        for (i, (before, after)) in begin.iter().zip(at.ensemble().rows().as_slice()).enumerate() {
            let towards = (at.consensus()[i % 3] - before).signum();
            assert!((after - before - 0.3 * towards).abs() < 1e-14, "{before} {after}");
        }
        ControlFlow::Continue(())
    };
    solve(&config, &from_fn(3, hilly), &mut observer).expect("a run");
}

/// Single precision draws together without ever becoming slow or not a number.
#[test]
fn moments_vanish_quietly() {
    let config = CboConfig { particles: 60, steps: Some(6_000), ..CboConfig::of(Method::Adam(Adam::default())) };
    let bowl = |x: &[f32]| x.iter().map(|v| v * v).sum();
    let run = solve(&config, &from_fn(3, bowl), &mut ()).expect("a run");
    assert!(run.best().value < 1e-6 && run.ensemble().rows().as_slice().iter().all(|x| x.is_finite()), "{run:?}");
}

#[test]
fn its_own_settings_find_the_minimum() {
    let rastrigin = |x: &[f64]| x.iter().map(|x| x * x + 2.5 * (1.0 - (std::f64::consts::TAU * x).cos())).sum();
    for seed in 0..5 {
        let config = CboConfig { seed, ..CboConfig::of(Method::Adam(Adam::default())) };
        let run = solve(&config, &from_fn(20, rastrigin), &mut ()).expect("a run");
        assert!(run.best().value < 1e-3, "seed {seed}: {}", run.best().value);
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let usual = Adam::default();
    let message = |config: CboConfig| config.check(2).expect_err("wrong").to_string();
    let with = |adam| message(CboConfig::of(Method::Adam(adam)));
    assert_eq!(with(Adam { beta1: 1.0, ..usual }), "method = adam with beta1 = 1: must be at least 0 and below 1");
    assert!(with(Adam { beta2: -0.1, ..usual }).contains("beta2 = -0.1"));
    assert!(with(Adam { epsilon: 0.0, ..usual }).contains("epsilon = 0: must be a positive finite number"));
    let of = || CboConfig::of(Method::Adam(usual));
    let others = [
        (CboConfig { diffusion: Diffusion::Isotropic, ..of() }, "diffusion = isotropic"),
        (CboConfig { scheme: Scheme::DriftFirst, ..of() }, "scheme = drift-first"),
        (CboConfig { batch: Some(40), update: Update::Partial, ..of() }, "update = partial"),
        (CboConfig { truncation: Some(1.0), ..of() }, "truncation = 1"),
    ];
    for (config, part) in others {
        let text = message(config);
        assert!(text.contains(part) && text.contains("is not a setting of method adam"), "{text}");
    }
}
