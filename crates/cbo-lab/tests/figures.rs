//! The figures against the numbers in `experiments/`.

use cbo::{Diffusion, Scheme};
use cbo_lab::figures::fig1b::{self, Curve, Rates};
use cbo_lab::frozen::{Chain, Start};
use cbo_lab::setting;
use std::ops::ControlFlow;

fn chain(diffusion: Diffusion, scheme: Scheme, dim: usize) -> Chain {
    let (lambda, sigma, dt) = (setting::LAMBDA, setting::SIGMA, setting::DT);
    Chain { lambda, sigma, dt, diffusion, scheme, dim }
}

#[test]
fn the_experiment_is_the_setting_of_the_paper() {
    let p = fig1b::load().expect("the experiment").parameters;
    assert_eq!((p.lambda, p.sigma, p.alpha), (setting::LAMBDA, setting::SIGMA, setting::ALPHA));
    assert_eq!((p.dt, p.time, p.particles), (setting::DT, setting::TIME, setting::PARTICLES));
    assert_eq!(p.dims, [4, 8, 12, 16]);
}

#[test]
fn discrete_rates_are_those_of_the_experiment() {
    let experiment = fig1b::load().expect("the experiment");
    let near =
        |ours: f64, known: f64, digits: f64| assert!((ours - known).abs() <= 0.5 * digits, "{ours} against {known}");
    let compare = |rates: &Rates, scheme: Scheme| {
        for (i, &dim) in experiment.parameters.dims.iter().enumerate() {
            let (aniso, iso) = (chain(Diffusion::Anisotropic, scheme, dim), chain(Diffusion::Isotropic, scheme, dim));
            near(aniso.rate(), rates.anisotropic, 1.01e-5);
            near(iso.rate(), rates.isotropic[i], 1.01e-5);
            near(aniso.growth().powi(400), rates.anisotropic_end.expect("a number"), 1.01e-8);
            let end = rates.isotropic_end.as_ref().expect("numbers")[i];
            near(iso.growth().powi(400) / end, 1.0, 1.2e-4);
            near(aniso.rate_continuous(), experiment.expected.continuous.anisotropic, 1e-12);
            near(iso.rate_continuous(), experiment.expected.continuous.isotropic[i], 1e-12);
        }
    };
    compare(&experiment.expected.euler_maruyama, Scheme::EulerMaruyama);
    compare(&experiment.expected.drift_first, Scheme::DriftFirst);
    for (i, &dim) in experiment.parameters.dims.iter().enumerate() {
        let start = Start::of(&setting::initial_law(dim), &vec![0.0; dim]).expect("normal");
        let deviation = |kind| {
            let chain = chain(kind, Scheme::EulerMaruyama, dim);
            100.0 * (chain.relative_variance(&start, 400) / 320_000.0).sqrt()
        };
        near(deviation(Diffusion::Anisotropic), experiment.expected.deviation.anisotropic[i], 0.021);
        near(deviation(Diffusion::Isotropic), experiment.expected.deviation.isotropic[i], 0.021);
    }
}

/// Many seeds: the z values have mean 0 and variance 1, so that the standard error is neither too large nor too small.
#[test]
fn frozen_rates_scatter_as_their_standard_error_says() {
    let mut parameters = fig1b::load().expect("the experiment").parameters;
    (parameters.particles, parameters.dims) = (500, vec![3, 5]);
    for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
        let seeds = 60;
        let z: Vec<Vec<f64>> = (0..seeds)
            .map(|seed| {
                let curves = fig1b::curves::<f64>(&parameters, scheme, seed, None, &mut |_| ControlFlow::Continue(()))
                    .expect("runs");
                curves.iter().map(|c: &Curve| c.z_frozen).collect()
            })
            .collect();
        for run in 0..4 {
            let n = seeds as f64;
            let mean = z.iter().map(|z| z[run]).sum::<f64>() / n;
            let variance = z.iter().map(|z| (z[run] - mean).powi(2)).sum::<f64>() / (n - 1.0);
            // Standard error of the mean 0.13, of the variance 0.18 for normal z; heavy tails at N = 500 add to both.
            assert!(mean.abs() < 0.65, "run {run}: mean z {mean}");
            assert!((0.4..2.0).contains(&variance), "run {run}: variance of z {variance}");
        }
    }
}

#[test]
fn a_figure_can_be_ended_early() {
    let mut parameters = fig1b::load().expect("the experiment").parameters;
    parameters.particles = 100;
    let mut calls = 0;
    let mut stop = |done: f64| {
        calls += 1;
        assert!((0.0..=1.0).contains(&done));
        if calls == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    assert!(fig1b::curves::<f64>(&parameters, Scheme::EulerMaruyama, 0, None, &mut stop).is_err());
    assert_eq!(calls, 10);
}
