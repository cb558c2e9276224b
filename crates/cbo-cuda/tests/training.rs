//! Training on the kernels beside training by the engine: the same bits.

use crate::bits::{bits, device};
use crate::host::{Host, is_there};
use cbo::{
    Alpha, CboConfig, Diffusion, Hopping, HoppingStart, HoppingWeights, InitialLaw, Method, Scheme, Sigma, StepReport,
    resume, solve,
};
use cbo_cuda::Cuda;
use cbo_problems::mnist::{self, Dataset};
use cbo_problems::nn::{CrossEntropy, Network, Order, Shape};
use std::ops::ControlFlow;
use std::sync::Arc;

fn data() -> Dataset {
    mnist::subset().expect("images")
}

fn network(text: &str) -> Network {
    Network::parse(text, Shape::DIGIT).expect("a network")
}

/// The paper's dynamics in small: batches of particles, a kick.
fn paper() -> CboConfig {
    CboConfig {
        particles: 12,
        batch: Some(4),
        dt: 0.1,
        sigma: Sigma::Constant(0.6),
        alpha: Alpha::Constant(50.0),
        init: InitialLaw::Normal { mean: 0.0.into(), variance: 1.0.into() },
        kick: Some(0.2),
        steps: Some(4),
        seed: 5,
        threads: 2,
        ..CboConfig::default()
    }
}

fn hopping(weights: HoppingWeights, antithetic: bool, start: HoppingStart) -> CboConfig {
    let method = Method::Hopping(Hopping { momentum: 0.9, rate: 5.0, cosine: true, antithetic, weights, start });
    CboConfig {
        particles: 9,
        sigma: Sigma::Falling { start: 0.5, end: 0.2 },
        init: InitialLaw::Normal { mean: 0.0.into(), variance: 0.09.into() },
        steps: Some(4),
        seed: 3,
        threads: 2,
        ..CboConfig::of(method)
    }
}

/// Compares a training on the device with one of the engine.
fn compare(what: &str, config: &CboConfig, objective: &CrossEntropy<'_>) {
    let device = device();
    let runs = [solve::<f32>(config, objective, &mut ()), device.networks(objective).solve(config, &mut ())];
    let [here, there] = runs.map(|run| run.map_err(|error| error.to_string()));
    let same = match (&here, &there) {
        (Ok(here), Ok(there)) => bits(here) == bits(there),
        (here, there) => here.as_ref().err() == there.as_ref().err(),
    };
    let told = [&there, &here].map(|run| run.as_ref().map(|run| run.energies().to_vec()));
    assert!(same, "{what}: {:?} instead of {:?}", told[0], told[1]);
}

#[test]
fn every_network() {
    if !is_there() {
        return;
    }
    let data = data();
    for (text, images) in [
        ("lenet1", 40),
        ("lenet1", 100),
        ("shallow", 50),
        ("dense 7, relu, dense 10", 20),
        ("conv 7x5, relu, pool 2, bn, conv 2x3, bn, pool 5, dense 12, relu, bn, dense 10, bn", 50),
        ("conv 2x7 shared, relu, pool 11, conv 10x2", 50),
    ] {
        // Some of these begin a block with a layer that is not there.
        let Ok(objective) = CrossEntropy::new(&network(text), &data.train, images, Order::Sequential) else {
            panic!("{text}: {images} images do not fit");
        };
        compare(&format!("{text}, {images} images"), &paper(), &objective);
    }
}

#[test]
fn every_setting() {
    if !is_there() {
        return;
    }
    let data = data();
    let objective =
        CrossEntropy::new(&Network::lenet1(), &data.train, 30, Order::Shuffled { seed: 8 }).expect("a size");
    let base = paper();
    let settings = [
        ("all particles", CboConfig { batch: None, ..base.clone() }),
        ("isotropic", CboConfig { diffusion: Diffusion::Isotropic, sigma: Sigma::Constant(0.02), ..base.clone() }),
        ("drift first", CboConfig { scheme: Scheme::DriftFirst, ..base.clone() }),
        ("no kick", CboConfig { kick: None, ..base.clone() }),
        ("effective sample size", CboConfig { alpha: Alpha::EffectiveSampleSize(0.3), ..base.clone() }),
        ("infinite alpha", CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..base.clone() }),
        ("overflow", CboConfig { init: InitialLaw::Normal { mean: 0.0.into(), variance: 2e35.into() }, ..base }),
        ("ranks", hopping(HoppingWeights::Ranks, true, HoppingStart::Point)),
        ("ranks, alone", hopping(HoppingWeights::Ranks, false, HoppingStart::Law)),
        ("energies", hopping(HoppingWeights::Energies, true, HoppingStart::Law)),
    ];
    for (what, config) in settings {
        compare(what, &config, &objective);
    }
}

#[test]
fn a_training_goes_on_where_the_other_stopped() {
    if !is_there() {
        return;
    }
    let data = data();
    let objective =
        CrossEntropy::new(&Network::lenet1(), &data.train, 20, Order::Shuffled { seed: 8 }).expect("a size");
    for config in [
        CboConfig { steps: Some(9), ..paper() },
        CboConfig { steps: Some(9), ..hopping(HoppingWeights::Ranks, true, HoppingStart::Point) },
    ] {
        let whole = bits(&solve::<f32>(&config, &objective, &mut ()).expect("a run"));
        let device = device();
        let networks = device.networks(&objective);
        let mut state = Vec::new();
        let until = |last: u64| {
            move |step: &StepReport<'_, f32>, state: &mut Vec<u8>| {
                *state = step.state();
                if step.step() == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        };
        let stop = until(4);
        networks.solve(&config, &mut |step: &StepReport<'_, f32>| stop(step, &mut state)).expect("a run");
        assert_eq!(bits(&resume::<f32>(&config, &objective, &mut (), &state).expect("a run")), whole);
        let stop = until(5);
        solve::<f32>(&config, &objective, &mut |step: &StepReport<'_, f32>| stop(step, &mut state)).expect("a run");
        assert_eq!(bits(&networks.resume(&config, &mut (), &state).expect("a run")), whole);
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let data = data();
    let device = device();
    let refused = |text: &str, config: &CboConfig| {
        let objective = CrossEntropy::new(&network(text), &data.train, 20, Order::Sequential).expect("a size");
        device.networks(&objective).solve(config, &mut ()).expect_err("a refusal").to_string()
    };
    let base = paper();
    let reduction = Some("0.5,0.1".parse().expect("a reduction"));
    for (field, config) in [
        ("method", CboConfig { method: "adam".parse().expect("a method"), batch: None, kick: None, ..base.clone() }),
        ("update", CboConfig { update: cbo::Update::Partial, ..base.clone() }),
        ("reduction", CboConfig { reduction, ..base.clone() }),
    ] {
        let said = refused("lenet1", &config);
        assert!(said.contains(field) && said.contains("device cpu"), "{said}");
    }
    let said = refused("bn, dense 10", &base);
    assert!(said.contains("network") && said.contains("conv or dense"), "{said}");
}

#[test]
fn too_little_memory_is_said_before_anything_is_allocated() {
    let data = data();
    let objective = CrossEntropy::new(&Network::lenet1(), &data.train, 20, Order::Sequential).expect("a size");
    let small = Cuda::on(Arc::new(Host { free: Some(100_000), ..Host::default() }));
    let said = small.networks(&objective).solve(paper(), &mut ()).expect_err("too little memory").to_string();
    assert!(said.contains("particles = 12") && said.contains("0.0 GB"), "{said}");
}
