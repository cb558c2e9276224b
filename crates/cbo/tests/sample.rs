//! Draws from laws whose mean, covariance and normaliser are known, within their own standard errors.

use cbo::{
    CboConfig, ConfigError, InitialLaw, Method, Proposal, Sample, Sampling, Scalar, SolveError, StepReport, from_fn,
    sample, solve,
};
use std::f64::consts::{PI, TAU};
use std::ops::ControlFlow;

fn config(seed: u64, bounds: &[(f64, f64)]) -> CboConfig {
    CboConfig { seed, init: InitialLaw::uniform(bounds), ..CboConfig::of(Method::Sampling(Sampling { law: true })) }
}

/// What is known of a law.
struct Law {
    name: &'static str,
    energy: fn(&[f64]) -> f64,
    start: Vec<(f64, f64)>,
    mean: Vec<f64>,
    covariance: Vec<f64>,
    log_normaliser: f64,
}

/// Standard errors that estimates may be away. Of 200 numbers one is beyond 4 in a hundred such tests.
const ERRORS: f64 = 4.0;

fn check<T: Scalar>(law: &Law, sample: &Sample<T>, what: &str) {
    let dim = law.mean.len();
    let within = |name: &str, found: f64, expected: f64, error: f64| {
        let off = (found - expected).abs() / error;
        assert!(off < ERRORS, "{}, {what}: {name} is {found}, expected {expected}, {off:.1} errors", law.name);
    };
    for k in 0..dim {
        within(&format!("mean {k}"), sample.mean()[k], law.mean[k], sample.mean_errors()[k]);
    }
    for at in 0..dim * dim {
        let (found, error) = (sample.covariance()[at], sample.covariance_errors()[at]);
        within(&format!("covariance {at}"), found, law.covariance[at], error);
    }
    within("log normaliser", sample.log_normaliser(), law.log_normaliser, sample.log_normaliser_error());
}

fn laws() -> Vec<Law> {
    vec![
        Law {
            name: "correlated",
            // Covariance (4, 2.7; 2.7, 2), of determinant 0.71.
            energy: |x| {
                let (a, b) = (x[0] - 1.0, x[1] + 3.0);
                (2.0 * a * a - 5.4 * a * b + 4.0 * b * b) / 1.42
            },
            start: vec![(-3.0, 3.0); 2],
            mean: vec![1.0, -3.0],
            covariance: vec![4.0, 2.7, 2.7, 2.0],
            log_normaliser: TAU.ln() + 0.5 * 0.71f64.ln(),
        },
        Law {
            name: "badly scaled",
            energy: |x| 0.5 * ((x[0] / 1e3).powi(2) + ((x[1] - 0.5) / 1e-3).powi(2)) - 7.0,
            start: vec![(-3.0, 3.0); 2],
            mean: vec![0.0, 0.5],
            covariance: vec![1e6, 0.0, 0.0, 1e-6],
            log_normaliser: TAU.ln() + 7.0,
        },
        Law {
            name: "five dimensions",
            // Coordinates are sums of independent ones, x_k = z_k + x_(k-1) / 2.
            energy: |x| {
                let z = |k: usize| x[k] - if k == 0 { 0.0 } else { x[k - 1] / 2.0 };
                0.5 * (0..5).map(|k| (z(k) - k as f64).powi(2)).sum::<f64>()
            },
            start: vec![(-10.0, 10.0); 5],
            mean: (0..5).map(|k| (0..=k).map(|j| j as f64 * 0.5f64.powi(k - j)).sum()).collect(),
            covariance: (0..25)
                .map(|at| {
                    let (i, j) = (at / 5, at % 5);
                    (0..=i.min(j)).map(|k| 0.5f64.powi(i + j - 2 * k)).sum()
                })
                .collect(),
            log_normaliser: 2.5 * TAU.ln(),
        },
        Law {
            name: "two hills",
            // A third of the mass at (-2, 0), the rest at (2, 1); both of variance 1/4.
            energy: |x| {
                let square = |a: f64, b: f64| (x[0] - a).powi(2) + (x[1] - b).powi(2);
                -((-2.0 * square(-2.0, 0.0)).exp() + 2.0 * (-2.0 * square(2.0, 1.0)).exp()).ln()
            },
            start: vec![(-6.0, 6.0); 2],
            mean: vec![2.0 / 3.0, 2.0 / 3.0],
            covariance: vec![0.25 + 32.0 / 9.0, 8.0 / 9.0, 8.0 / 9.0, 0.25 + 2.0 / 9.0],
            log_normaliser: (3.0 * PI / 2.0).ln(),
        },
    ]
}

#[test]
fn estimates_are_within_their_standard_errors() {
    for law in laws() {
        let dim = law.mean.len();
        for seed in 0..4 {
            let (run, sample) =
                sample(config(seed, &law.start), &from_fn(dim, law.energy), &mut (), 4000).expect("a sample");
            assert!(sample.effective_sample_size() > 400.0, "{}: {}", law.name, sample.effective_sample_size());
            assert_eq!((sample.evaluations(), run.steps()), (4000, 100));
            check(&law, &sample, &format!("seed {seed}"));
            // Equal weights tell the same, a little less well.
            let draws = sample.draws();
            for k in 0..dim {
                let mean = draws.iter().skip(k).step_by(dim).sum::<f64>() / 4000.0;
                let off = (mean - law.mean[k]).abs() / sample.mean_errors()[k];
                assert!(off < ERRORS + 1.0, "{}: mean {k} of equal draws is {mean}", law.name);
            }
        }
    }
}

#[test]
fn single_precision_and_few_draws_will_do() {
    for law in laws().iter().filter(|law| law.name != "badly scaled") {
        let dim = law.mean.len();
        let energy = |x: &[f32]| (law.energy)(&x.iter().map(|x| f64::from(*x)).collect::<Vec<_>>()) as f32;
        // Of 400 draws from the start 9 are expected within two standard deviations of the smaller hill; of 33 it could be none.
        let draws = if law.name == "two hills" { 4000 } else { 333 };
        let (_, sample) = sample(config(1, &law.start), &from_fn(dim, energy), &mut (), draws).expect("a sample");
        check(law, &sample, "f32");
    }
}

/// Draws in the bounds alone: half of a normal law, of which the rest is cut off.
#[test]
fn bounds_cut_the_law() {
    let energy = |x: &[f64]| x[0] * x[0] / 2.0;
    let mut config = config(3, &[(0.0, 5.0)]);
    config.bounds = Some(vec![(0.0, f64::INFINITY)]);
    let (_, sample) = sample(&config, &from_fn(1, energy), &mut (), 4000).expect("a sample");
    assert!(sample.evaluations() < 4000 && sample.effective_sample_size() > 500.0, "{:?}", sample.evaluations());
    let law = Law {
        name: "half normal",
        energy: |x| x[0] * x[0] / 2.0,
        start: vec![],
        mean: vec![(2.0 / PI).sqrt()],
        covariance: vec![1.0 - 2.0 / PI],
        log_normaliser: (PI / 2.0).sqrt().ln(),
    };
    check(&law, &sample, "cut at 0");
    assert!(sample.draws().iter().all(|x| *x >= 0.0));
}

/// Without any correction, the swarm itself has mean and covariance of a Gaussian law up to a number over N.
#[test]
fn the_swarm_itself_has_a_gaussian_law_up_to_its_size() {
    let law = &laws()[0];
    for particles in [50, 200, 800] {
        let (seeds, steps) = (40, 120);
        let mut found = [const { Vec::new() }; 5];
        for seed in 0..seeds {
            let config = CboConfig { particles, steps: Some(steps), ..config(seed, &law.start) };
            let mut sums = [0.0; 5];
            let mut watch = |step: &StepReport<'_, f64>| {
                if step.step() > 20 {
                    let count = (steps - 20) as f64;
                    let mean = step.ensemble().mean();
                    let product = |i: usize, j: usize| {
                        let rows = step.ensemble().rows();
                        rows.iter().map(|x| (x[i] - mean[i]) * (x[j] - mean[j])).sum::<f64>() / (particles - 1) as f64
                    };
                    let now = [mean[0], mean[1], product(0, 0), product(0, 1), product(1, 1)];
                    sums.iter_mut().zip(now).for_each(|(sum, x)| *sum += x / count);
                }
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(2, law.energy), &mut watch).expect("a run");
            found.iter_mut().zip(sums).for_each(|(found, x)| found.push(x));
        }
        let expected = [1.0, -3.0, 4.0, 2.7, 2.0];
        let scale = [2.0, 2f64.sqrt(), 4.0, 2.7, 2.0];
        for (k, found) in found.iter().enumerate() {
            let mean = found.iter().sum::<f64>() / seeds as f64;
            let square = found.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (seeds * (seeds - 1)) as f64;
            let (off, error) = ((mean - expected[k]) / scale[k], square.sqrt() / scale[k]);
            let bias = 10.0 / particles as f64;
            println!("{particles} particles, number {k}: off by {off:.5}, error {error:.5}, bias {bias}");
            assert!(
                off.abs() < bias + ERRORS * error,
                "{particles} particles, number {k}: off by {off}, error {error}"
            );
        }
    }
}

#[test]
fn draws_are_the_next_step_and_some_from_the_start() {
    let law = &laws()[0];
    let (shorter, longer) = (config(5, &law.start), config(5, &law.start));
    let (shorter, longer) =
        (CboConfig { steps: Some(7), ..shorter }.check(2), CboConfig { steps: Some(8), ..longer }.check(2));
    let (shorter, longer) = (shorter.expect("a plan"), longer.expect("a plan"));
    let objective = from_fn(2, law.energy);
    let run = solve(&shorter, &objective, &mut ()).expect("a run");
    let next = solve(&longer, &objective, &mut ()).expect("a run");
    let mut proposal = Proposal::new(&shorter, &run, 400).expect("a proposal");
    let (of_the_swarm, of_the_start) = proposal.draw().split_at(2 * 60);
    for (drawn, next) in of_the_swarm.iter().zip(next.ensemble().rows().as_slice()) {
        assert!((drawn - next).abs() < 1e-9 * (1.0 + next.abs()), "{drawn} and {next}");
    }
    assert!(of_the_start.len() == 2 * 40 && of_the_start.iter().all(|x| x.abs() <= 3.0));
}

/// Four hills of which the swarm keeps one or two: the others are found by draws from the start, and then drawn around.
#[test]
fn hills_that_the_swarm_has_left_are_found_again() {
    let himmelblau = |x: &[f64]| (x[0] * x[0] + x[1] - 11.0).powi(2) + (x[0] + x[1] * x[1] - 7.0).powi(2);
    // By a sum over a fine grid.
    let width = 12.0 / 3000.0;
    let at = |i: u32| -6.0 + (f64::from(i) + 0.5) * width;
    let sum = |f: &dyn Fn(&[f64]) -> f64| -> f64 {
        let rows = (0..3000).flat_map(|i| (0..3000).map(move |j| [at(i), at(j)]));
        rows.map(|x| f(&x) * (-himmelblau(&x)).exp() * width * width).sum()
    };
    let mass = sum(&|_| 1.0);
    let law = Law {
        name: "four hills",
        energy: |_| 0.0,
        start: vec![(-5.0, 5.0); 2],
        mean: (0..2).map(|k| sum(&|x| x[k]) / mass).collect(),
        covariance: vec![],
        log_normaliser: mass.ln(),
    };
    for seed in 0..4 {
        let (_, sample) = sample(config(seed, &law.start), &from_fn(2, himmelblau), &mut (), 10_000).expect("draws");
        assert!(sample.effective_sample_size() > 500.0, "{}", sample.effective_sample_size());
        for k in 0..2 {
            let off = (sample.mean()[k] - law.mean[k]).abs() / sample.mean_errors()[k];
            assert!(off < ERRORS, "seed {seed}: mean {k} is {off:.1} errors off");
        }
        let off = (sample.log_normaliser() - law.log_normaliser).abs() / sample.log_normaliser_error();
        assert!(off < ERRORS, "seed {seed}: the logarithm of the integral is {off:.1} errors off");
    }
}

#[test]
fn draws_do_not_depend_on_threads() {
    let law = &laws()[3];
    let found = [1, 2, 5].map(|threads| {
        let config = CboConfig { threads, particles: 3000, steps: Some(20), ..config(2, &law.start) };
        let (_, sample) = sample(&config, &from_fn(2, law.energy).costly(), &mut (), 5000).expect("a sample");
        let numbers = sample.weights().iter().chain(sample.covariance()).chain(sample.covariance_errors());
        numbers.map(|x| x.to_bits()).collect::<Vec<_>>()
    });
    assert!(found[0] == found[1] && found[0] == found[2]);
}

#[test]
fn what_has_no_law_is_refused() {
    let plain = sample(CboConfig::default(), &from_fn(1, |x: &[f64]| x[0] * x[0]), &mut (), 10);
    assert!(matches!(plain, Err(SolveError::Config(ConfigError { field: "method", .. }))), "{plain:?}");
    let flat =
        CboConfig { init: InitialLaw::Points([1.0, 2.0].repeat(10)), particles: 10, ..config(0, &[(-1.0, 1.0); 2]) };
    let degenerate = sample(&flat, &from_fn(2, |x: &[f64]| x[0] * x[0] + x[1] * x[1]), &mut (), 10);
    assert!(matches!(degenerate, Err(SolveError::Degenerate { step: 100 })), "{degenerate:?}");
    // Feasible for the swarm, but not for a single draw.
    let config = config(0, &[(-1.0, 1.0)]);
    let plan = config.check(1).expect("a plan");
    let run = solve(&plan, &from_fn(1, |x: &[f64]| x[0] * x[0]), &mut ()).expect("a run");
    let mut proposal = Proposal::new(&plan, &run, 3).expect("a proposal");
    assert_eq!(proposal.draw().len(), 3);
    proposal.tell(&[f64::NAN; 3]);
    assert!(proposal.draw().is_empty());
    let nowhere = proposal.weigh();
    assert!(matches!(nowhere, Err(SolveError::NoFiniteEnergy { evaluated: 3, failed: 3, .. })), "{nowhere:?}");
}
