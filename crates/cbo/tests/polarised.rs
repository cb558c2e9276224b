//! Particles with consensus points of their own: against a plain program, against an exact expectation, against plain consensus-based
//! optimization, and whether they find what there is to be found.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, CboConfig, Diffusion, InitialLaw, Method, Polarised, Scalar, Scheme, Sigma, Similarity, StepReport, Update,
    from_fn, solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 11;

fn polarised(kappa: f64) -> Method {
    Method::Polarised(Polarised { kappa, ..Polarised::default() })
}

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

/// The consensus points as they are written in the paper.
fn consensus_points(points: &[Vec<f64>], units: &[f64], method: Polarised, alpha: f64) -> Vec<Vec<f64>> {
    let dim = units.len();
    let kernel = |a: &[f64], b: &[f64]| {
        let squares = (0..dim).map(|k| ((a[k] - b[k]) / units[k]).powi(2));
        let square = squares.sum::<f64>() / dim as f64 / (method.kappa * method.kappa);
        match method.kernel {
            Similarity::Gaussian => (-square / 2.0).exp(),
            Similarity::Laplace => (-square.sqrt()).exp(),
            Similarity::InverseQuadratic => 1.0 / (1.0 + square),
        }
    };
    let own = |x: &Vec<f64>| {
        let weights: Vec<f64> = points.iter().map(|y| kernel(x, y) * (-alpha * hilly(y)).exp()).collect();
        let mass: f64 = weights.iter().sum();
        (0..dim).map(|k| points.iter().zip(&weights).map(|(y, w)| w * y[k]).sum::<f64>() / mass).collect()
    };
    points.iter().map(own).collect()
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let (dim, particles, alpha, sigma) = (5, 43, 0.4, 0.6);
    let bounds: Vec<(f64, f64)> = (0..dim).map(|k| (-3.0, 2.0 + k as f64)).collect();
    let units: Vec<f64> = bounds.iter().map(|(low, high)| (high - low) / 12f64.sqrt()).collect();
    for kernel in [Similarity::Gaussian, Similarity::Laplace, Similarity::InverseQuadratic] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                let method = Polarised { kappa: 0.4, kernel };
                let config = CboConfig {
                    particles,
                    alpha: Alpha::Constant(alpha),
                    sigma: Sigma::Constant(sigma),
                    steps: Some(20),
                    diffusion,
                    scheme,
                    init: InitialLaw::uniform(&bounds),
                    seed: SEED,
                    ..CboConfig::of(Method::Polarised(method))
                };
                let (lambda, dt) = (config.lambda, config.dt);
                let mut plain: Vec<Vec<f64>> = Vec::new();
                let mut seen = 0;
                let mut observer = |step: &StepReport<'_, f64>| {
                    let rows = step.ensemble().rows();
                    if step.step() == 0 {
                        plain = rows.iter().map(<[f64]>::to_vec).collect();
                    }
                    for (row, x) in rows.iter().zip(&plain) {
                        let near = row.iter().zip(x).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()));
                        assert!(near, "{kernel}, {diffusion}, {scheme}: {row:?} {x:?}");
                    }
                    let centres = consensus_points(&plain, &units, method, alpha);
                    for (i, (x, centre)) in plain.iter_mut().zip(&centres).enumerate() {
                        let mut xi = vec![0.0; scratch_len(1, dim)];
                        Noise::new(SEED, Stream::Diffusion, step.step()).fill_normals(i as u32, 1, dim, &mut xi);
                        let drifted: Vec<f64> = x.iter().zip(centre).map(|(x, c)| x - lambda * dt * (x - c)).collect();
                        let from = if scheme == Scheme::DriftFirst { drifted.clone() } else { x.clone() };
                        let away: Vec<f64> = from.iter().zip(centre).map(|(x, c)| x - c).collect();
                        let norm = away.iter().map(|x| x * x).sum::<f64>().sqrt();
                        let size = |k: usize| if diffusion == Diffusion::Isotropic { norm } else { away[k] };
                        *x = (0..dim).map(|k| drifted[k] + sigma * dt.sqrt() * size(k) * xi[k]).collect();
                    }
                    seen += 1;
                    ControlFlow::Continue(())
                };
                solve(&config, &from_fn(dim, hilly), &mut observer).expect("a run");
                assert_eq!(seen, 21);
            }
        }
    }
}

/// Energies that are all the same, a normal swarm, a Gaussian kernel: particle x has its consensus point at `x s^2 / (s^2 + kappa^2)`, up
/// to the fluctuations of the swarm.
#[test]
fn a_normal_swarm_contracts_as_the_kernel_says() {
    let (kappa, dt, particles, seeds) = (0.5, 0.1, 1000, 30);
    let config = |seed| CboConfig {
        particles,
        sigma: Sigma::Constant(0.0),
        alpha: Alpha::Constant(1.0),
        dt,
        steps: Some(1),
        init: InitialLaw::Normal { mean: 2.0.into(), variance: 9.0.into() },
        seed,
        ..CboConfig::of(polarised(kappa))
    };
    let slope = |seed| {
        let mut before = Vec::new();
        let mut keep = |step: &StepReport<'_, f64>| {
            before = if step.step() == 0 { step.ensemble().rows().as_slice().to_vec() } else { before.clone() };
            ControlFlow::Continue(())
        };
        let run = solve(config(seed), &from_fn(1, |_: &[f64]| 4.0), &mut keep).expect("a run");
        let after = run.ensemble().rows().as_slice();
        let (mean, moved) =
            (before.iter().sum::<f64>() / particles as f64, after.iter().sum::<f64>() / particles as f64);
        let products = before.iter().zip(after).map(|(x, y)| (x - mean) * (y - moved)).sum::<f64>();
        products / before.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let slopes: Vec<f64> = (0..seeds).map(slope).collect();
    let mean = slopes.iter().sum::<f64>() / seeds as f64;
    let error = (slopes.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (seeds * (seeds - 1)) as f64).sqrt();
    let expected = 1.0 - dt * kappa * kappa / (1.0 + kappa * kappa);
    // The sample has N - 1 degrees of freedom, and its tails see fewer particles: both are of order 1 / N.
    assert!((mean - expected).abs() < 5.0 * error + dt / particles as f64, "{mean} for {expected}, error {error}");
    assert!(error < 0.02 * (1.0 - expected), "{error} says nothing");
}

fn bits<T: Scalar>(config: &CboConfig, dim: usize) -> Vec<u64> {
    let bumpy = |x: &[T]| {
        T::from_f64(x.iter().map(|x| (x.to_f64() - 1.0).powi(2) * (1.0 + x.to_f64().sin().powi(2))).sum::<f64>())
    };
    let run = solve::<T>(config, &from_fn(dim, bumpy), &mut ()).expect("a run");
    let numbers = run.ensemble().rows().as_slice().iter().chain(&run.consensus().x).chain(run.energies());
    let mut bits: Vec<u64> = numbers.map(|x| x.to_f64().to_bits()).collect();
    bits.extend([run.best().value.to_bits(), run.evaluations(), run.steps()]);
    bits
}

#[test]
fn an_infinite_width_is_consensus_based_optimization_bit_for_bit() {
    for dim in [1, 3, 8, 11, 70, 2051] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let base = CboConfig {
                particles: 60,
                alpha: Alpha::Constant(3.0),
                sigma: Sigma::Constant(0.3),
                diffusion,
                steps: Some(6),
                seed: 3,
                ..CboConfig::default()
            };
            let variants = [
                base.clone(),
                CboConfig { alpha: Alpha::Constant(f64::INFINITY), kick: Some(10.0), ..base.clone() },
                CboConfig { scheme: Scheme::DriftFirst, bounds: Some(vec![(-2.0, 2.5); dim]), ..base.clone() },
                CboConfig { batch: Some(20), ..base.clone() },
                CboConfig { batch: Some(20), update: Update::Partial, kick: Some(10.0), ..base.clone() },
                CboConfig { reduction: Some(Default::default()), epoch_steps: Some(2), ..base },
            ];
            for config in variants {
                let other = CboConfig { method: polarised(f64::INFINITY), ..config.clone() };
                assert!(bits::<f64>(&config, dim) == bits::<f64>(&other, dim), "{dim}-D, f64: {config:?}");
                assert!(bits::<f32>(&config, dim) == bits::<f32>(&other, dim), "{dim}-D, f32: {config:?}");
            }
        }
    }
}

/// Two groups, as far apart as the units say, that do not move: what belongs together is counted together.
#[test]
fn minimisers_are_counted_by_their_particles() {
    // Ten particles around 0, thirty around 5, and one in between that sees neither.
    let mut points: Vec<f64> = (0..10).map(|i| 0.01 * f64::from(i)).collect();
    points.extend((0..30).map(|i| 5.0 + 0.01 * f64::from(i)));
    points.push(2.5);
    let config =
        CboConfig { particles: 41, steps: Some(0), init: InitialLaw::Points(points), ..CboConfig::of(polarised(0.5)) };
    let energy = |x: &[f64]| if x[0] < 1.0 { 1.0 + x[0] } else { (x[0] - 5.1).abs() };
    let run = solve(&config, &from_fn(1, energy), &mut ()).expect("a run");
    let [best, other] = run.minimisers() else { panic!("{:?}", run.minimisers()) };
    assert!((best.x[0] - 5.1).abs() < 1e-12 && best.value < 1e-12 && best.particles == 30, "{best:?}");
    assert_eq!((other.x[0], other.value, other.particles), (0.0, 1.0, 10));
    assert_eq!(other.fraction, 10.0 / 41.0);
    // A particle between the groups, within reach of both, takes the worse one along to the better.
    let joined = solve(&CboConfig { method: polarised(1.3), ..config.clone() }, &from_fn(1, energy), &mut ());
    let joined = joined.expect("a run");
    assert_eq!(joined.minimisers().iter().map(|m| m.particles).collect::<Vec<_>>(), [31, 10]);
    // Others have none.
    let plain = CboConfig { method: Method::Cbo, ..config };
    assert!(solve(&plain, &from_fn(1, energy), &mut ()).expect("a run").minimisers().is_empty());
}

#[test]
fn particles_that_were_not_evaluated_belong_to_those_near_them() {
    let config = CboConfig { batch: Some(40), steps: Some(60), ..CboConfig::of(polarised(0.3)) };
    let energy = |x: &[f64]| (x[0].abs() - 1.5).powi(2);
    let run = solve(&config, &from_fn(1, energy), &mut ()).expect("a run");
    assert_eq!(run.energies().len(), 40);
    assert_eq!(run.minimisers().len(), 2, "{:?}", run.minimisers());
    assert_eq!(run.minimisers().iter().map(|m| m.particles).sum::<usize>(), 400);
}

fn himmelblau(x: &[f64]) -> f64 {
    (x[0] * x[0] + x[1] - 11.0).powi(2) + (x[0] + x[1] * x[1] - 7.0).powi(2)
}

const MINIMISERS: [[f64; 2]; 4] = [
    [3.0, 2.0],
    [-2.805118086952745, 3.131312518250573],
    [-3.779310253377747, -3.2831859912861694],
    [3.584428340330492, -1.8481265269644036],
];

#[test]
fn the_default_settings_find_all_minimisers_of_himmelblau() {
    for seed in 0..10 {
        let init = InitialLaw::uniform(&[(-5.0, 5.0); 2]);
        let config = CboConfig { init, seed, ..CboConfig::of(Method::Polarised(Polarised::default())) };
        let run = solve(&config, &from_fn(2, himmelblau), &mut ()).expect("a run");
        assert_eq!(run.minimisers().len(), 4, "seed {seed}: {:?}", run.minimisers());
        for expected in MINIMISERS {
            let found = run.minimisers().iter().any(|m| (0..2).all(|k| (m.x[k] - expected[k]).abs() < 1e-3));
            assert!(found, "seed {seed}: {expected:?} among {:?}", run.minimisers());
        }
        let all: usize = run.minimisers().iter().map(|m| m.particles).sum();
        assert!(all >= 390, "seed {seed}: {all} particles belong to minimisers");
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let usual = CboConfig::of(Method::Polarised(Polarised::default()));
    let cases = [
        (CboConfig { method: polarised(0.0), ..usual.clone() }, "polarised with kappa = 0: kappa must be a positive"),
        (CboConfig { method: polarised(f64::NAN), ..usual.clone() }, "kappa = NaN"),
        (
            CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..usual.clone() },
            "alpha = inf: with method polarised all",
        ),
        (CboConfig { truncation: Some(1.0), ..usual.clone() }, "truncation = 1: is not a setting of method polarised"),
        (
            CboConfig { freeze: Some(vec![0.0; 2]), ..usual },
            "freeze = [0.0, 0.0]: is not a setting of method polarised",
        ),
    ];
    for (config, part) in cases {
        let message = config.check(2).expect_err("wrong").to_string();
        assert!(message.contains(part), "{message} lacks {part}");
    }
}

/// Particles that are thrown out of the world do not take the others along.
#[test]
fn particles_that_go_astray_are_not_followed() {
    let config = CboConfig { sigma: Sigma::Constant(1e100), steps: Some(12), ..CboConfig::of(polarised(0.3)) };
    let run = solve(&config, &from_fn(1, |x: &[f64]| x[0] * x[0]), &mut ()).expect("a run");
    assert!(run.infeasible_evaluations() > 0 && run.best().value < 0.1, "{:?}", run.best());
}
