//! Particles that remember: against a plain program, and against the expectations of a frozen consensus point.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, AskTell, CboConfig, ConfigError, Diffusion, EvalError, InitialLaw, Memory, Method, Objective, Rows, Scheme,
    Sigma, SolveError, StepContext, StepReport, from_fn, solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 11;

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

fn slope(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| 2.0 * (x - 0.7) + 6.0 * (3.0 * x).sin()).collect()
}

/// The same with its gradient.
struct Hilly {
    dim: usize,
}

impl Objective<f64> for Hilly {
    fn dim(&self) -> usize {
        self.dim
    }
    fn energies(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        rows.iter().zip(out).for_each(|(row, energy)| *energy = hilly(row));
        Ok(())
    }
    fn has_gradients(&self) -> bool {
        true
    }
    fn gradients(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        rows.iter().zip(out.chunks_exact_mut(self.dim)).for_each(|(row, out)| out.copy_from_slice(&slope(row)));
        Ok(())
    }
}

/// The method as it is written in the paper, one number after the other.
struct Plain {
    memory: Memory,
    config: CboConfig,
    dim: usize,
    /// V and Y of each particle, and E(Y).
    particles: Vec<(Vec<f64>, Vec<f64>, f64)>,
}

impl Plain {
    fn consensus(&self, alpha: f64) -> Vec<f64> {
        let least = self.particles.iter().map(|p| p.2).fold(f64::INFINITY, f64::min);
        let weights: Vec<f64> = self.particles.iter().map(|p| (-alpha * (p.2 - least)).exp()).collect();
        let mass: f64 = weights.iter().sum();
        let sum = |k: usize| self.particles.iter().zip(&weights).map(|(p, w)| w * p.1[k]).sum::<f64>();
        (0..self.dim).map(|k| sum(k) / mass).collect()
    }

    fn step(&mut self, step: u64, centre: &[f64], sigma: f64) {
        let (dt, dim, memory) = (self.config.dt, self.dim, self.memory);
        let (lambda, noise) = (self.config.lambda, sigma * dt.sqrt());
        for (i, (v, y, value)) in self.particles.iter_mut().enumerate() {
            let normals = |stream| {
                let mut normals = vec![0.0; scratch_len(1, dim)];
                Noise::new(SEED, stream, step).fill_normals(i as u32, 1, dim, &mut normals);
                normals
            };
            let (xi, zeta) = (normals(Stream::Diffusion), normals(Stream::Memory));
            let (eta, slope) = (normals(Stream::Gradient), slope(v));
            let drifted: Vec<f64> = (0..dim)
                .map(|k| v[k] - lambda * dt * (v[k] - centre[k]) - memory.drift * lambda * dt * (v[k] - y[k]))
                .collect();
            let from = if self.config.scheme == Scheme::DriftFirst { &drifted } else { &*v };
            let size = |to: &[f64], k: usize| match self.config.diffusion {
                Diffusion::Anisotropic => from[k] - to[k],
                _ => from.iter().zip(to).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt(),
            };
            let moved: Vec<f64> = (0..dim)
                .map(|k| drifted[k] + noise * size(centre, k) * xi[k] + memory.noise * noise * size(y, k) * zeta[k])
                .collect();
            let pushed = |k: usize| (memory.gradient_noise * dt.sqrt() * eta[k] - memory.gradient * dt) * slope[k];
            *v = (0..dim).map(|k| moved[k] + pushed(k)).collect();
            if memory.beta == 0.0 {
                (*y, *value) = (v.clone(), hilly(v));
            } else if memory.beta.is_infinite() {
                if hilly(v) < *value {
                    (*y, *value) = (v.clone(), hilly(v));
                }
            } else {
                let kappa = memory.kappa.unwrap_or(1.0 / (dt * (1.0 + 0.5 * memory.theta)));
                let s = 0.5 * (1.0 + memory.theta + (memory.beta * (*value - hilly(v))).tanh());
                *y = y.iter().zip(&*v).map(|(y, v)| y + kappa * dt * s * (v - y)).collect();
                *value = hilly(y);
            }
        }
    }
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let memories = [
        Memory::default(),
        Memory { beta: 3.0, ..Memory::default() },
        Memory { drift: 0.9, noise: 1.1, beta: 0.5, kappa: Some(4.0), theta: 0.2, ..Memory::default() },
        Memory { gradient: 0.3, gradient_noise: 0.2, ..Memory::default() },
        Memory { drift: 0.0, noise: 0.0, beta: 0.0, gradient: 0.5, ..Memory::default() },
    ];
    let (dim, particles, alpha) = (5, 43, 2.5);
    for memory in memories {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                let config = CboConfig {
                    method: Method::Memory(memory),
                    particles,
                    alpha: Alpha::Constant(alpha),
                    sigma: Sigma::Constant(0.6),
                    steps: Some(25),
                    diffusion,
                    scheme,
                    init: InitialLaw::Uniform { low: (-3.0).into(), high: 3.0.into() },
                    seed: SEED,
                    ..CboConfig::default()
                };
                let mut plain = Plain { memory, config: config.clone(), dim, particles: Vec::new() };
                let mut seen = 0;
                let mut observer = |step: &StepReport<'_, f64>| {
                    let rows = step.ensemble().rows();
                    if step.step() == 0 {
                        let begin = |x: &[f64]| (x.to_vec(), x.to_vec(), hilly(x));
                        plain.particles = rows.iter().map(begin).collect();
                    }
                    let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                    for (row, (v, ..)) in rows.iter().zip(&plain.particles) {
                        assert!(row.iter().zip(v).all(|(a, b)| near(*a, *b)), "{:?} {row:?} {v:?}", config.method);
                    }
                    let centre = plain.consensus(alpha);
                    assert!(step.consensus().iter().zip(&centre).all(|(a, b)| near(*a, *b)), "{:?}", config.method);
                    let rounds = if memory.beta.is_finite() && memory.beta > 0.0 {
                        2 * step.step() + 1
                    } else {
                        step.step() + 1
                    };
                    assert_eq!(step.evaluations(), particles as u64 * rounds);
                    plain.step(step.step(), &centre, step.sigma());
                    seen += 1;
                    ControlFlow::Continue(())
                };
                solve(&config, &Hilly { dim }, &mut observer).expect("a run");
                assert_eq!(seen, 26);
            }
        }
    }
}

/// Energies that grow from step to step: what was seen first remains the best.
struct WorseAndWorse {
    dim: usize,
}

impl Objective<f64> for WorseAndWorse {
    fn dim(&self) -> usize {
        self.dim
    }
    fn energies(&self, at: StepContext, _rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(at.step as f64);
        Ok(())
    }
}

/// With the consensus point c frozen and the remembered point y fixed, a coordinate of all particles begins at y and follows
/// `V+ = V - a (V - c) - b (V - y) + s (V - c) xi + r (V - y) zeta`: mean and variance are known exactly.
#[test]
fn mean_and_variance_follow_their_exact_recursion() {
    let (dim, particles, steps, sigma, dt) = (3, 200_000, 12, 0.8, 0.1);
    let memory = Memory { drift: 0.7, noise: 0.9, ..Memory::default() };
    let (centre, start) = ([0.5, -1.0, 2.0], [1.5, 1.0, -0.5]);
    for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
        let config = CboConfig {
            method: Method::Memory(memory),
            particles,
            sigma: Sigma::Constant(sigma),
            dt,
            steps: Some(steps),
            diffusion,
            freeze: Some(centre.to_vec()),
            init: InitialLaw::Points(start.repeat(particles)),
            seed: 3,
            ..CboConfig::default()
        };
        let run = solve(&config, &WorseAndWorse { dim }, &mut ()).expect("a run");
        let (a, b) = (dt, memory.drift * dt);
        let (s, r) = (sigma * dt.sqrt(), memory.noise * sigma * dt.sqrt());
        let (mut mean, mut variance) = (start, [0.0; 3]);
        for _ in 0..steps {
            let square = |point: [f64; 3]| -> [f64; 3] {
                let each: [f64; 3] = std::array::from_fn(|k| variance[k] + (mean[k] - point[k]).powi(2));
                if diffusion == Diffusion::Anisotropic { each } else { [each.iter().sum(); 3] }
            };
            let (far, away) = (square(centre), square(start));
            variance = std::array::from_fn(|k| (1.0 - a - b).powi(2) * variance[k] + s * s * far[k] + r * r * away[k]);
            mean = std::array::from_fn(|k| (1.0 - a - b) * mean[k] + a * centre[k] + b * start[k]);
        }
        let count = particles as f64;
        for k in 0..dim {
            let column = || run.ensemble().rows().iter().map(|row| row[k] - mean[k]);
            let found = column().sum::<f64>() / count;
            assert!(found.abs() < 5.0 * (variance[k] / count).sqrt(), "{diffusion}, {k}: mean off by {found}");
            let (second, fourth) = column().fold((0.0, 0.0), |(s, f), x| (s + x * x / count, f + x.powi(4) / count));
            let error = ((fourth - second * second) / count).sqrt();
            let off = second - variance[k];
            assert!(off.abs() < 5.0 * error, "{diffusion}, {k}: variance {second}, expected {}", variance[k]);
        }
    }
}

#[test]
fn the_best_point_of_a_smooth_memory_may_be_a_remembered_one() {
    let config = CboConfig {
        method: Method::Memory(Memory { beta: 1.0, ..Memory::default() }),
        particles: 60,
        steps: Some(80),
        ..CboConfig::default()
    };
    let run = solve(&config, &from_fn(4, hilly), &mut ()).expect("a run");
    assert_eq!(hilly(&run.best().x), run.best().value);
    assert!(run.best().value < hilly(&[0.0; 4]));
}

/// Noise that throws particles out of the world, in both precisions: what they remember stays where it was.
#[test]
fn particles_that_go_astray_do_not_take_their_memory_along() {
    for beta in [1.0, f64::INFINITY] {
        let config = CboConfig {
            method: Method::Memory(Memory { beta, ..Memory::default() }),
            particles: 30,
            sigma: Sigma::Constant(1e100),
            steps: Some(12),
            ..CboConfig::default()
        };
        let run = solve(&config, &from_fn(1, |x: &[f64]| x[0] * x[0]), &mut ()).expect("a run");
        assert!(run.best().value < 0.1 && run.infeasible_evaluations() > 0, "{beta}: {run:?}");
        let single = solve(&config, &from_fn(1, |x: &[f32]| x[0] * x[0]), &mut ()).expect("a run");
        assert!(single.best().value < 0.1, "{beta}: {single:?}");
    }
}

/// Two evaluations per coordinate take the place of a gradient.
#[test]
fn differences_are_gradients_where_there_are_none() {
    let memory = Memory { gradient: 0.4, gradient_noise: 0.1, ..Memory::default() };
    let config = CboConfig {
        particles: 30,
        steps: Some(6),
        sigma: Sigma::Constant(0.5),
        ..CboConfig::of(Method::Memory(memory))
    };
    let given = solve(&config, &Hilly { dim: 3 }, &mut ()).expect("a run");
    for objective in [from_fn(3, hilly), from_fn(3, hilly).costly()] {
        let found = solve(&config, &objective, &mut ()).expect("a run");
        let rows = |run: &cbo::RunReport<f64>| run.ensemble().rows().as_slice().to_vec();
        assert!(rows(&found).iter().zip(rows(&given)).all(|(a, b)| (a - b).abs() < 1e-7), "{found:?} {given:?}");
        assert_eq!((given.evaluations(), found.evaluations()), (7 * 30 + 1, 7 * 30 * 7 + 1));
    }
    let limited = CboConfig { max_evaluations: Some(500), steps: None, ..config };
    assert_eq!(solve(&limited, &from_fn(3, hilly), &mut ()).expect("a run").evaluations(), 2 * 30 * 7 + 1);
}

#[test]
fn particles_without_memory_are_plain_consensus_based_optimization() {
    let memory = Memory { drift: 0.0, noise: 0.0, beta: 0.0, ..Memory::default() };
    for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let plain = CboConfig { particles: 70, steps: Some(40), scheme, diffusion, ..CboConfig::default() };
            let method = Method::Memory(memory);
            let run = |config: &CboConfig| solve(config, &from_fn(4, hilly), &mut ()).expect("a run");
            let (one, other) = (run(&plain), run(&CboConfig { method, ..plain.clone() }));
            assert_eq!(one.ensemble().rows().as_slice(), other.ensemble().rows().as_slice());
            assert_eq!((one.best(), one.evaluations()), (other.best(), other.evaluations()));
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
    let message = |memory: Memory| {
        let config = CboConfig { method: Method::Memory(memory), ..CboConfig::default() };
        config.check(2).expect_err("wrong").to_string()
    };
    let usual = Memory::default();
    let cases = [
        (
            Memory { drift: -1.0, ..usual },
            "method = memory with drift = -1: drift must be zero or a positive finite number",
        ),
        (Memory { noise: f64::NAN, ..usual }, "memory with noise = NaN"),
        (Memory { beta: -1.0, ..usual }, "beta must be positive; inf keeps the better point"),
        (Memory { beta: 0.0, ..usual }, "beta = 0 remembers nothing to return to, so drift and noise must be 0"),
        (Memory { gradient: f64::INFINITY, ..usual }, "gradient must be zero or a positive finite number"),
        (Memory { theta: 0.5, ..usual }, "kappa and theta need a beta between"),
        (Memory { beta: 1.0, kappa: Some(0.0), ..usual }, "kappa must be a positive finite number"),
        (Memory { beta: 1.0, kappa: Some(20.0), ..usual }, "the memory would overshoot"),
    ];
    for (memory, part) in cases {
        assert!(message(memory).contains(part), "{}", message(memory));
    }
    let steep = Method::Memory(Memory { gradient: 1.0, ..usual });
    let config = CboConfig { method: steep, batch: Some(40), ..CboConfig::default() };
    assert!(config.check(2).expect_err("wrong").to_string().contains("batch = 40: every particle needs its gradient"));
    let told = AskTell::<f64>::new(CboConfig::of(steep), 2).expect_err("no gradients").to_string();
    assert!(told.contains("ask and tell is told no gradients"), "{told}");
    let truncated = CboConfig { truncation: Some(1.0), ..CboConfig::of(Method::Memory(usual)) };
    let told = truncated.check(2).expect_err("not its setting").to_string();
    assert!(told.starts_with("truncation = 1: is not a setting of method memory; cbo"), "{told}");
    let config = CboConfig { method: Method::Memory(usual), ..CboConfig::default() };
    let refused = solve(&config, &Noisy, &mut ());
    assert!(matches!(refused, Err(SolveError::Config(ConfigError { field: "method", .. }))), "{refused:?}");
}
