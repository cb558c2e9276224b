//! The lemma and the propositions on clouds and runs: identities to rounding, bounds that bound, expectations that are
//! met.

use cbo::{
    Alpha, CboConfig, Coordinates, Diffusion, Ensemble, InitialLaw, Objective, Rows, Scalar, Scheme, Sigma, StepReport,
    from_fn, solve,
};
use cbo_lab::certificate::Certificate;
use cbo_lab::theory::Assumptions;
use cbo_lab::theory::evolution::{Dynamics, Evolution};
use cbo_lab::theory::laplace::{Distances, LaplaceBound};
use cbo_lab::theory::mass::Ball;
use cbo_problems::Problem;
use proptest::prelude::*;
use std::ops::ControlFlow;

/// A cloud with its two points: coordinates, v*, v_a.
#[derive(Clone, Debug)]
struct Cloud {
    dim: usize,
    rows: Vec<f64>,
    minimiser: Vec<f64>,
    consensus: Vec<f64>,
}

/// Clouds of any size, at any distance from v*, at any distance from the origin; v_a a weighted mean of the particles.
fn clouds() -> impl Strategy<Value = Cloud> {
    let exponent = -6.0..6.0f64;
    let signs = prop::collection::vec(-1.0..1.0f64, 8);
    (1usize..=8, 1usize..=60, exponent.clone(), exponent.clone(), exponent, signs).prop_flat_map(
        |(dim, count, width, offset, origin, signs)| {
            let numbers = prop::collection::vec(-1.0..1.0f64, dim * count);
            let weights = prop::collection::vec(0.0..1.0f64, count);
            (numbers, weights).prop_map(move |(numbers, weights)| {
                let [width, offset, origin] = [width, offset, origin].map(|e| 10f64.powf(e));
                let minimiser: Vec<f64> = (0..dim).map(|k| origin * signs[7 - k]).collect();
                let place = |(i, x): (usize, &f64)| minimiser[i % dim] + offset * signs[i % dim] + width * x;
                let rows: Vec<f64> = numbers.iter().enumerate().map(place).collect();
                let mass: f64 = weights.iter().sum::<f64>() + 1e-9;
                let mean =
                    |k| (0..count).map(|i| (weights[i] + 1e-9 / count as f64) * rows[i * dim + k]).sum::<f64>() / mass;
                let consensus = (0..dim).map(mean).collect();
                Cloud { dim, rows, minimiser, consensus }
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// The identity of the module's derivation, and Lemma 1, on any cloud. The forms differ only by rounding: each term
    /// has a few dozen operations of relative error 1e-16.
    #[test]
    fn the_two_forms_agree_and_the_lemma_holds(
        cloud in clouds(),
        lambda in 0.01..10.0f64,
        sigma in 0.0..5.0f64,
        isotropic: bool,
    ) {
        let diffusion = if isotropic { Diffusion::Isotropic } else { Diffusion::Anisotropic };
        let dynamics = Dynamics::new(lambda, sigma, diffusion, cloud.dim);
        let evolution = Evolution::new(Rows::new(&cloud.rows, cloud.dim), &cloud.minimiser, &cloud.consensus);
        let size = evolution.size(&dynamics);
        let (direct, identity) = (evolution.derivative(&dynamics), evolution.identity(&dynamics));
        prop_assert!((direct - identity).abs() <= 1e-12 * size, "{direct} {identity}, terms of {size}");
        prop_assert!(evolution.slack(&dynamics) >= -1e-12 * size);
        prop_assert!(evolution.sharp_bound(&dynamics) - direct >= -1e-12 * size);
        prop_assert!(evolution.sharp_bound(&dynamics) <= evolution.bound(&dynamics));
    }

    /// Proposition 1 bounds the distance of the consensus point of the weights on any cloud near the minimiser of
    /// functions for which A2 is proved, for any alpha.
    #[test]
    fn the_laplace_bound_bounds(
        dim in 1usize..=5,
        numbers in prop::collection::vec(-1.0..1.0f64, 5 * 40),
        count in 1usize..=40,
        width in -8.0..0.5f64,
        log_alpha in -2.0..16.0f64,
        infinite in prop::bool::weighted(0.2),
        rastrigin: bool,
    ) {
        let problem = Problem::named(if rastrigin { "rastrigin" } else { "sphere" }, dim).expect("a function");
        let assumptions = Assumptions::new(&problem, if rastrigin { 0.1 } else { 1.0 }).expect("a radius");
        let rows: Vec<f64> = numbers[..dim * count].iter().map(|x| x * 10f64.powf(width)).collect();
        let alpha = if infinite { f64::INFINITY } else { 10f64.powf(log_alpha) };
        let consensus = consensus_of(&problem, &rows, alpha);
        let distance = consensus.iter().map(|x| x * x).sum::<f64>().sqrt();
        let distances = Distances::new(rows.chunks(dim), &vec![0.0; dim], assumptions.r0);
        if let Some(bound) = distances.laplace_bound(&assumptions, alpha, dim, 0.0) {
            prop_assert!(distance <= bound.value * (1.0 + 1e-12), "{distance} above {bound:?}");
            prop_assert!(bound.r <= assumptions.r0 && bound.mass > 0.0);
            prop_assert!(bound.q + assumptions.highest(bound.r) <= assumptions.far_field * (1.0 + 1e-12));
        }
    }
}

/// The consensus point by the plain formula.
fn consensus_of(problem: &Problem, rows: &[f64], alpha: f64) -> Vec<f64> {
    let dim = problem.dim();
    let energies: Vec<f64> = rows.chunks(dim).map(|x| problem.value(x)).collect();
    let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
    let weight = |e: f64| if e == least { 1.0 } else { (-alpha * (e - least)).exp() };
    let mass: f64 = energies.iter().map(|&e| weight(e)).sum();
    (0..dim).map(|k| rows.chunks(dim).zip(&energies).map(|(x, &e)| weight(e) * x[k]).sum::<f64>() / mass).collect()
}

/// The bound against every r of a fine grid and every q of another: none is better, and one comes close.
#[test]
fn the_laplace_bound_is_the_least() {
    for (name, r0) in [("rastrigin", 0.1), ("sphere", 1.0)] {
        for (dim, count, width) in [(1, 50, 0.3), (2, 2000, 0.4), (3, 30, 0.05)] {
            let problem = Problem::named(name, dim).expect("a function");
            let assumptions = Assumptions::new(&problem, r0).expect("a radius");
            // A different irrational step in each coordinate fills the box.
            let share =
                |i: usize| f64::fract((i / dim) as f64 * [0.754877666, 0.569840291, 0.618033989][i % dim] + 0.37);
            let rows: Vec<f64> = (0..dim * count).map(|i| width * (2.0 * share(i) - 1.0)).collect();
            let distances = Distances::new(rows.chunks(dim), &vec![0.0; dim], r0);
            for alpha in [0.5, 20.0, 1e3, 1e15] {
                let brute = brute_force(&assumptions, &distances, alpha, dim);
                let found = distances.laplace_bound(&assumptions, alpha, dim, 0.0);
                let Some(found) = found else { panic!("{name}: a particle is near, but there is no bound") };
                // Not all radii of 2000 particles are tried; the grids have steps of 1 % in r and 2 % in q.
                let (low, high) = if count > 200 { (0.97, 1.01) } else { (0.97, 1.0 + 1e-12) };
                let ratio = found.value / brute;
                assert!((low..=high).contains(&ratio), "{name}, d = {dim}, alpha = {alpha}: {found:?} against {brute}");
            }
        }
    }
}

fn brute_force(assumptions: &Assumptions, distances: &Distances, alpha: f64, dim: usize) -> f64 {
    let root = (dim as f64).sqrt();
    let mut least = f64::INFINITY;
    for i in 0..1000 {
        let r = assumptions.r0 * (-0.01 * f64::from(i)).exp();
        let (highest, mass) = (assumptions.highest(r), distances.mass(r));
        let room = assumptions.far_field - highest;
        if mass == 0.0 || room <= 0.0 {
            continue;
        }
        for j in 0..2000 {
            let q = room * (-0.02 * f64::from(j)).exp();
            let first = root * (q + highest).powf(assumptions.nu) / assumptions.eta;
            least = least.min(first + root * (-alpha * q).exp() / mass * distances.mean());
        }
    }
    least
}

#[test]
fn no_particle_near_no_bound() {
    let problem = Problem::named("rastrigin", 2).expect("a function");
    let assumptions = Assumptions::new(&problem, 0.1).expect("a radius");
    let bound = |rows: &[f64]| -> Option<LaplaceBound> {
        Distances::new(rows.chunks(2), &[0.0, 0.0], 0.1).laplace_bound(&assumptions, 1e15, 2, 0.0)
    };
    assert_eq!(bound(&[0.3, 0.0, 0.0, -2.0]), None);
    // Within R_0, but the box that reaches it has energies above E_inf = 0.4875.
    assert_eq!(bound(&[0.09, 0.0]), None);
    assert!(bound(&[0.02, 0.0]).is_some());
    // A particle on v* itself: the limit r -> 0.
    let at_minimiser = Distances::new([0.0, 0.0].chunks(2), &[0.0, 0.0], 0.1);
    let limit = at_minimiser.laplace_bound(&assumptions, f64::INFINITY, 2, 0.0).expect("a bound");
    assert_eq!((limit.value, limit.r, limit.mass), (0.0, 0.0, 1.0));
}

/// One step of the engine against the exact expectation given the cloud before it, `E V+ = V + dt dV/dt + (lambda
/// dt)^2/2 mean|X|^2` (Euler-Maruyama; drift-first has less noise), in standard errors that are known exactly too.
#[test]
fn a_step_of_the_engine_meets_its_expectation() {
    let (lambda, sigma, dt, dim, particles) = (1.5, 0.6, 0.05, 3, 100_000);
    let problem = Problem::builder("rastrigin").dim(dim).shift(vec![1.0, -2.0, 0.5]).build().expect("a problem");
    let minimiser = problem.minimisers()[0].clone();
    for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
        for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
            let config = CboConfig {
                particles,
                lambda,
                sigma: Sigma::Constant(sigma),
                dt,
                diffusion,
                scheme,
                alpha: Alpha::Constant(5.0),
                init: InitialLaw::Normal { mean: Coordinates::All(1.0), variance: Coordinates::All(2.0) },
                steps: Some(1),
                seed: 11,
                ..CboConfig::default()
            };
            let dynamics = Dynamics::new(lambda, sigma, diffusion, dim);
            let mut seen: Vec<Evolution> = Vec::new();
            let mut variance = 0.0;
            solve(&config, &problem, &mut |step: &StepReport<'_, f64>| {
                seen.push(Evolution::new(step.ensemble().rows(), &minimiser, step.consensus()));
                if step.step() == 0 {
                    variance = variance_of_v(&config, step.ensemble(), &minimiser, step.consensus());
                }
                ControlFlow::Continue(())
            })
            .expect("a run");
            let (before, after) = (&seen[0], &seen[1]);
            let drift = 1.0 - lambda * dt;
            let noise_lost = match scheme {
                Scheme::EulerMaruyama => 0.0,
                Scheme::DriftFirst => 0.5 * dynamics.noise * dt * (1.0 - drift * drift),
            };
            let second_order = (0.5 * (lambda * dt).powi(2) - noise_lost) * before.square;
            let expected = before.v + dt * before.derivative(&dynamics) + second_order;
            // The same, as the squares of the step are written down.
            let cross: f64 = before.m.iter().zip(&before.e).map(|(m, e)| e * (m - e)).sum();
            let e2: f64 = before.e.iter().map(|e| e * e).sum();
            let spread = drift * drift + dynamics.noise * dt - 2.0 * noise_lost;
            let squares = 0.5 * (e2 + 2.0 * drift * cross + spread * before.square);
            assert!((expected - squares).abs() < 1e-12 * expected, "{expected} {squares}");
            let z = (after.v - expected) / variance.sqrt();
            assert!(z.abs() < 4.0, "{diffusion:?} {scheme:?}: {} against {expected}, z = {z}", after.v);
            // The test would see a wrong sign or a missing term: the step moves V by many standard errors.
            assert!((expected - before.v).abs() > 50.0 * variance.sqrt());
        }
    }
}

/// The variance of V after a step: each coordinate becomes a + b xi, whose square has variance `4 a^2 b^2 + 2 b^4`.
fn variance_of_v(config: &CboConfig, cloud: &Ensemble<f64>, minimiser: &[f64], consensus: &[f64]) -> f64 {
    let drift = 1.0 - config.lambda * config.dt;
    let shrink = if config.scheme == Scheme::DriftFirst { drift } else { 1.0 };
    let noise = config.sigma.largest() * config.dt.sqrt() * shrink;
    let mut sum = 0.0;
    for row in cloud.rows().iter() {
        let x: Vec<f64> = row.iter().zip(consensus).map(|(v, c)| v - c).collect();
        let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        for k in 0..x.len() {
            let size = if config.diffusion == Diffusion::Isotropic { norm } else { x[k].abs() };
            let (a, b) = (consensus[k] - minimiser[k] + drift * x[k], noise * size);
            sum += 4.0 * a * a * b * b + 2.0 * b.powi(4);
        }
    }
    0.25 * sum / (cloud.len() as f64).powi(2)
}

/// The setting of the paper's figure, smaller.
fn figure(particles: usize, alpha: f64) -> CboConfig {
    CboConfig { particles, alpha: Alpha::Constant(alpha), ..cbo_lab::setting::config(2) }
}

fn certified<T: Scalar>(problem: &Problem, config: &CboConfig, capacity: usize) -> Certificate
where
    Problem: Objective<T>,
{
    let mut certificate = Certificate::new(problem, config, capacity).expect("a function with one minimiser");
    let run = solve::<T>(config, problem, &mut certificate).expect("a run");
    certificate.finish(&run);
    certificate
}

#[test]
fn a_run_of_the_paper_is_certified() {
    let problem = Problem::named("rastrigin", 2).expect("a function");
    for alpha in [100.0, 1e15, f64::INFINITY] {
        let config = figure(4000, alpha);
        let certificate = certified::<f64>(&problem, &config, 1000);
        let records = certificate.records();
        assert_eq!(records.len(), 401);
        let summary = certificate.summary().expect("records");
        assert!(
            summary.lemma_held == Some(true) && summary.laplace_held == Some(true) && summary.mass_held != Some(false),
            "{summary:?}"
        );
        assert!(summary.laplace_steps > 300, "{summary:?}");
        assert_eq!(certificate.remarks(), [""; 0]);
        // V as the engine measures it, and the mass bound by hand.
        let mut last = f64::NAN;
        solve(&config, &problem, &mut |step: &StepReport<'_, f64>| {
            last = step.ensemble().half_mean_square(&[0.0, 0.0]);
            ControlFlow::Continue(())
        })
        .expect("a run");
        let end = &records[400];
        assert!((end.v / last - 1.0).abs() < 1e-12 && end.w2_squared() == 2.0 * end.v);
        let ball = Ball { lambda: 1.0, sigma: 0.32, r: 0.1, b: certificate.farthest() };
        let initial = records[0].log_mass_bound.expect("anisotropic, constant sigma");
        assert!(initial <= records[0].log_mass && initial > -12.0);
        for (bound, p) in [(end.log_mass_bound, ball.decay(2).p), (end.log_mass_bound_sharp, ball.sharp_decay(2))] {
            let bound = bound.expect("anisotropic, constant sigma");
            assert!((bound / (initial - 4.0 * p) - 1.0).abs() < 1e-12, "{bound}");
        }
        assert!(end.log_mass_bound_sharp > end.log_mass_bound);
    }
}

/// In one dimension, with a large ball, the mass bound is above one particle's mass for a while.
#[test]
fn the_mass_stays_above_its_bound_where_particles_can_show_it() {
    let problem = Problem::named("sphere", 1).expect("a function");
    let config = CboConfig { sigma: Sigma::Constant(0.6), seed: 3, ..figure(20_000, 1e3) };
    let config = CboConfig { init: InitialLaw::Normal { mean: 1.0.into(), variance: 1.0.into() }, ..config };
    let mut certificate = Certificate::new(&problem, &config, 1000).expect("one minimiser").with_mass_radius(2.0);
    solve::<f64>(&config, &problem, &mut certificate).expect("a run");
    let summary = certificate.summary().expect("records");
    assert!(summary.mass_steps >= 10 && summary.mass_held == Some(true), "{summary:?}");
    // The share of N(1, 1) in [-2, 2] is 0.8400, with standard error 0.0026.
    assert!((certificate.records()[0].log_mass.exp() - 0.84).abs() < 0.0104);
}

#[test]
fn records_thin_themselves_and_end_with_the_end() {
    let problem = Problem::named("rastrigin", 2).expect("a function");
    let config = CboConfig { steps: Some(150), time: None, ..figure(50, 1e3) };
    let thin = certified::<f64>(&problem, &config, 16);
    let steps: Vec<u64> = thin.records().iter().map(|r| r.step).collect();
    assert_eq!(steps, [0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 150]);
    let whole = certified::<f64>(&problem, &config, 1000);
    // What is kept does not depend on what else is: B is seen at every step.
    for record in &thin.records()[..10] {
        assert_eq!(record, &whole.records()[record.step as usize]);
    }
    assert_eq!(thin.farthest(), whole.farthest());
}

#[test]
fn single_precision_is_certified_too() {
    let problem = Problem::builder("rastrigin").dim(2).shift(0.3).build().expect("a problem");
    let config = CboConfig { steps: Some(1500), time: None, ..figure(500, f64::INFINITY) };
    let summary = certified::<f32>(&problem, &config, 2000).summary().expect("records");
    // So long that the swarm reaches the rounding of its positions.
    assert!(summary.v_end < 1e-9, "{summary:?}");
    assert!(summary.lemma_held == Some(true) && summary.laplace_held == Some(true), "{summary:?}");
}

#[test]
fn what_does_not_apply_is_absent_and_said() {
    let problem = Problem::named("rastrigin", 2).expect("a function");
    let short = CboConfig { steps: Some(5), time: None, ..figure(200, 1e3) };
    let isotropic = certified::<f64>(&problem, &CboConfig { diffusion: Diffusion::Isotropic, ..short.clone() }, 10);
    assert!(isotropic.records().iter().all(|r| r.log_mass_bound.is_none() && r.log_mass_bound_sharp.is_none()));
    assert!(isotropic.remarks()[0].contains("isotropic"));
    let frozen = certified::<f64>(&problem, &CboConfig { freeze: Some(vec![0.0; 2]), ..short.clone() }, 10);
    assert!(frozen.records().iter().all(|r| r.laplace.is_none() && r.distance == 0.0));
    // Where the consensus point is v*, Lemma 1 is an equality.
    assert!(frozen.records().iter().all(|r| r.relative_slack().abs() < 1e-14));
    assert!(frozen.remarks()[0].contains("frozen"));
    let cooled = Sigma::Logarithmic { start: 0.3, clock: cbo::Clock::Step };
    let cooled = certified::<f64>(&problem, &CboConfig { sigma: cooled, ..short.clone() }, 10);
    assert!(cooled.records().iter().all(|r| r.log_mass_bound.is_none()));
    assert!(cooled.records()[1].sigma < cooled.records()[0].sigma);
    let silent = certified::<f64>(&problem, &CboConfig { sigma: Sigma::Constant(0.0), ..short.clone() }, 10);
    assert!(silent.records().iter().all(|r| r.log_mass_bound.is_none()));
    let batched = certified::<f64>(&problem, &CboConfig { batch: Some(20), kick: Some(1e-5), ..short }, 10);
    assert_eq!(batched.remarks().len(), 2);
    assert_ne!(batched.summary().expect("records").laplace_held, Some(false));
}

#[test]
fn functions_with_several_minimisers_are_refused() {
    let config = CboConfig::default();
    for name in ["himmelblau", "six-hump-camel", "cross-in-tray"] {
        let problem = Problem::builder(name).build().expect("a function");
        let error = Certificate::new(&problem, &config, 10).expect_err("several minimisers");
        assert!(error.to_string().contains("minimiser"), "{error}");
    }
}

/// A user's own objective has no known minimiser; the lemma can be watched all the same.
#[test]
fn the_lemma_can_be_watched_without_a_benchmark() {
    let objective = from_fn(2, |x: &[f64]| (x[0] - 1.0).powi(2) + x[1].powi(4));
    let dynamics = Dynamics::new(1.0, 0.5, Diffusion::Anisotropic, 2);
    let config = CboConfig { sigma: Sigma::Constant(0.5), steps: Some(20), ..CboConfig::default() };
    solve(&config, &objective, &mut |step: &StepReport<'_, f64>| {
        let evolution = Evolution::new(step.ensemble().rows(), &[1.0, 0.0], step.consensus());
        assert!(evolution.slack(&dynamics) >= -1e-12 * evolution.size(&dynamics));
        ControlFlow::Continue(())
    })
    .expect("a run");
}
