//! Methods besides `cbo` on the kernels beside runs of the engine: the same bits.

use crate::bits::{bits, built, config, device};
use crate::host::{Host, is_there};
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, InitialLaw, Method, Objective, Scalar, Scheme, Sigma, StepReport,
    resume, solve,
};
use cbo_cuda::Cuda;
use cbo_problems::{Formula, Problem, Shift};
use std::ops::ControlFlow;
use std::sync::Arc;

fn method(text: &str) -> Method {
    text.parse().expect("a method")
}

/// Settings of a method beside a problem: those that suit it, but for some.
fn of_method(text: &str, problem: &Problem, particles: usize, steps: u64) -> CboConfig {
    let usual = CboConfig::of(method(text));
    let CboConfig { init, .. } = config(problem, particles, steps);
    CboConfig { particles, steps: Some(steps), seed: 11, threads: 1, init, ..usual }
}

/// Compares a run on the device with one of the engine, and what observers saw of each step; a run that fails, fails alike.
fn compare_on<T: Scalar>(device: &Cuda, what: &str, config: &CboConfig, problem: &dyn Objective<T>) {
    let seen = |device: Option<&Cuda>| {
        let mut seen: Vec<Vec<u64>> = Vec::new();
        let mut look = |step: &StepReport<'_, T>| {
            let mut numbers = vec![step.least(), step.effective_sample_size(), step.alpha()];
            numbers.extend_from_slice(step.consensus());
            if step.step().is_multiple_of(4) {
                numbers.extend(step.ensemble().rows().as_slice().iter().map(|x| x.to_f64()));
                numbers.extend(step.energies().iter().map(|e| e.to_f64()));
            }
            seen.push(numbers.into_iter().map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).collect());
            ControlFlow::Continue(())
        };
        let report = match device {
            None => solve(config, &problem, &mut look),
            Some(device) => device.solve(config, problem, &mut look),
        };
        (report.map(|report| bits(&report)).map_err(|error| error.to_string()), seen)
    };
    let (here, there) = (seen(None), seen(Some(device)));
    let first = here.1.iter().zip(&there.1).position(|(a, b)| a != b);
    assert!(here == there, "{what}, {}: differs in step {first:?}; {:?}, {:?}", T::NAME, here.0.err(), there.0.err());
}

fn both(what: &str, config: &CboConfig, problem: &Problem) {
    compare_on::<f64>(&device(), what, config, problem);
    compare_on::<f32>(&device(), what, config, problem);
}

fn bounds() -> Option<Vec<(f64, f64)>> {
    Some(vec![(-2.0, 3.0), (0.5, 4.0), (-1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0), (-5.0, 5.0), (1.0, 2.0)])
}

#[test]
fn hopping_in_every_setting() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 6);
    for text in [
        "hopping",
        "hopping:antithetic=false,momentum=0.7,rate=0.6,cosine=true",
        "hopping:weights=ranks,rate=3,momentum=0.5",
        "hopping:weights=ranks,antithetic=false,start=point",
        "hopping:start=point,momentum=0.3",
    ] {
        let base = of_method(text, &problem, 701, 15);
        both(text, &base, &problem);
        let within = CboConfig { bounds: bounds(), bound_handling: BoundHandling::Reflect, ..base.clone() };
        both(&format!("{text}, reflected"), &within, &problem);
        let clipped = CboConfig { bound_handling: BoundHandling::Clip, ..within };
        compare_on::<f64>(&device(), &format!("{text}, clipped"), &clipped, &problem);
        if text.contains("ranks") {
            continue;
        }
        for alpha in ["30", "inf", "geometric:1,1.2"] {
            let alpha = alpha.parse().expect("alpha");
            both(&format!("{text}, alpha {alpha}"), &CboConfig { alpha, ..base.clone() }, &problem);
        }
    }
    let base = of_method("hopping", &problem, 300, 30);
    let normal = InitialLaw::Normal { mean: 0.5.into(), variance: 4.0.into() };
    let points = InitialLaw::Points((0..1800).map(|i| f64::from(i * 7 % 31) - 15.0).collect());
    for config in [
        CboConfig { init: normal, sigma: Sigma::Constant(0.3), ..base.clone() },
        CboConfig { init: points, ..base.clone() },
        CboConfig { freeze: Some(vec![0.25; 6]), ..base.clone() },
        CboConfig { target: Some(5.0), ..base.clone() },
        CboConfig { diameter: Some(4.0), ..base.clone() },
        CboConfig { particles: 1, ..base },
    ] {
        both("hopping otherwise", &config, &problem);
    }
}

/// Moves of all kinds: normals ahead, held rows, loops, called normals, centres too long for the arguments.
#[test]
fn dimensions_of_the_moves() {
    if !is_there() {
        return;
    }
    for (dim, name) in [(1, "rastrigin"), (17, "ackley"), (48, "rastrigin"), (70, "ackley"), (72, "griewank")] {
        let problem = built(Problem::builder(name), dim);
        let hops = of_method("hopping:weights=ranks,rate=2", &problem, 1100, 3);
        both(&format!("hopping, {dim} dimensions"), &hops, &problem);
        let base = of_method("memory:beta=2,drift=0.4,noise=0.3", &problem, 1100, 3);
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let config = CboConfig { diffusion, sigma: Sigma::Constant(0.3), ..base.clone() };
            both(&format!("memory, {dim} dimensions, {diffusion:?}"), &config, &problem);
        }
    }
    let problem = built(Problem::builder("rastrigin"), 530);
    compare_on::<f32>(&device(), "hopping, long", &of_method("hopping", &problem, 150, 2), &problem);
    compare_on::<f32>(&device(), "memory, long", &of_method("memory", &problem, 150, 2), &problem);
}

#[test]
fn memory_in_every_setting() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 6);
    for text in [
        "memory",
        "memory:beta=3",
        "memory:beta=0.5,drift=0.9,noise=0.8,kappa=4,theta=0.2",
        "memory:drift=0,noise=0",
        "memory:drift=0,noise=0,beta=0",
    ] {
        let base = CboConfig { alpha: Alpha::Constant(30.0), ..of_method(text, &problem, 700, 20) };
        let alpha = Alpha::EffectiveSampleSize(0.2);
        let bounded = CboConfig { bounds: bounds(), bound_handling: BoundHandling::Reflect, ..base.clone() };
        for (what, config) in [
            ("as it is", base.clone()),
            ("drift first", CboConfig { scheme: Scheme::DriftFirst, ..base.clone() }),
            ("sample size", CboConfig { alpha, ..base.clone() }),
            ("infinite alpha", CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..base.clone() }),
            ("kick", CboConfig { kick: Some(0.5), ..base.clone() }),
            ("reflection", bounded.clone()),
            ("clipping", CboConfig { bound_handling: BoundHandling::Clip, ..bounded }),
            ("batches", CboConfig { batch: Some(140), kick: Some(0.3), ..base.clone() }),
            ("batches, sample size", CboConfig { batch: Some(350), alpha, ..base.clone() }),
            ("frozen", CboConfig { freeze: Some(vec![0.0; 6]), ..base.clone() }),
            ("target", CboConfig { target: Some(20.0), ..base.clone() }),
            ("diameter", CboConfig { diameter: Some(4.0), sigma: Sigma::Constant(0.1), ..base.clone() }),
            ("one particle", CboConfig { particles: 1, ..base }),
        ] {
            compare_on::<f64>(&device(), &format!("{text}, {what}"), &config, &problem);
            let isotropic = CboConfig { diffusion: Diffusion::Isotropic, ..config };
            compare_on::<f32>(&device(), &format!("{text}, {what}, isotropic"), &isotropic, &problem);
        }
    }
}

/// Energies that are equal in many places: which particle is the best one is the same, too.
#[test]
fn ties_between_positions_and_what_is_remembered() {
    if !is_there() {
        return;
    }
    let formula = Formula::new("sum(floor(x/2))", 3).expect("a formula");
    let problem = built(Problem::builder("sphere"), 3);
    for text in ["memory", "memory:beta=1", "hopping:weights=ranks", "hopping"] {
        let base = of_method(text, &problem, 6000, 12);
        compare_on::<f64>(&device(), text, &base, &formula);
        compare_on::<f32>(&device(), text, &base, &formula);
        if text.starts_with("memory") {
            compare_on::<f64>(&device(), text, &CboConfig { batch: Some(3000), ..base }, &formula);
        }
    }
}

#[test]
fn points_without_an_energy() {
    if !is_there() {
        return;
    }
    // None below 1, and an infinite one for large x.
    let formula = Formula::new("sum(ln(x - 1) + exp(x^5))", 3).expect("a formula");
    let problem = built(Problem::builder("sphere"), 3);
    for text in ["memory", "memory:beta=1", "hopping:weights=ranks", "hopping"] {
        for strict in [false, true] {
            let base = CboConfig { strict, ..of_method(text, &problem, 500, 12) };
            compare_on::<f64>(&device(), text, &base, &formula);
        }
        let nowhere = InitialLaw::uniform(&[(-2.0, 0.5); 3]);
        compare_on::<f32>(&device(), text, &CboConfig { init: nowhere, ..of_method(text, &problem, 90, 4) }, &formula);
    }
}

#[test]
fn what_vanishes_and_other_functions() {
    if !is_there() {
        return;
    }
    for problem in [
        built(Problem::builder("sphere"), 4),
        built(Problem::builder("sphere").rotate(4), 4),
        built(Problem::builder("levy").shift(Shift::Random(3)), 9),
        built(Problem::builder("ackley").rotate(2), 40),
    ] {
        for text in ["memory", "memory:beta=2", "hopping:rate=0.5"] {
            let frozen = CboConfig { freeze: Some(vec![0.0; problem.dim()]), ..of_method(text, &problem, 200, 150) };
            let gathers = CboConfig { sigma: Sigma::Falling { start: 0.1, end: 1e-200 }, ..frozen };
            compare_on::<f64>(&device(), text, &gathers, &problem);
        }
    }
}

#[test]
fn a_run_goes_on_where_the_other_stopped() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 5);
    let mut configs = Vec::new();
    for text in ["memory", "memory:beta=2", "hopping:momentum=0.5,start=point", "hopping:weights=ranks"] {
        configs.push(of_method(text, &problem, 333, 30));
    }
    configs.push(CboConfig { batch: Some(111), ..configs[0].clone() });
    configs.push(CboConfig { batch: Some(111), ..configs[1].clone() });
    for config in configs {
        let what = &config.method;
        let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
        let mut state = Vec::new();
        let until = |last: u64| {
            move |step: &StepReport<'_, f64>, state: &mut Vec<u8>| {
                *state = step.state();
                if step.step() == last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            }
        };
        let (ten, twenty) = (until(10), until(20));
        device().solve::<f64>(&config, &problem, &mut |s: &StepReport<'_, f64>| ten(s, &mut state)).expect("a run");
        assert_eq!(bits(&resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole, "{what}");
        assert_eq!(bits(&device().resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole, "{what}");
        solve::<f64>(&config, &problem, &mut |s: &StepReport<'_, f64>| twenty(s, &mut state)).expect("a run");
        assert_eq!(bits(&device().resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole, "{what}");
    }
}

#[test]
fn positions_in_columns() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 10);
    for text in ["memory", "memory:beta=2", "hopping:start=point"] {
        let config = of_method(text, &problem, 1100, 6);
        compare_on::<f32>(&device().in_columns(), text, &config, &problem);
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let problem = built(Problem::builder("sphere"), 2);
    let refused = |text: &str| {
        let config = of_method(text, &problem, 100, 5);
        device().solve::<f64>(&config, &problem, &mut ()).expect_err("a refusal").to_string()
    };
    let gradient = refused("memory:gradient=0.5");
    assert!(gradient.contains("method = memory:gradient=0.5") && gradient.contains("gradient, which"), "{gradient}");
    for name in ["adam", "polarised", "sampling"] {
        let said = refused(name);
        assert!(said.contains(&format!("method = {name}")) && said.contains("device cpu"), "{said}");
    }
    // What is remembered takes as much as the positions.
    let small = Cuda::on(Arc::new(Host { free: Some(3_000), ..Host::default() }));
    let of = |text: &str| small.solve::<f64>(of_method(text, &problem, 100, 5), &problem, &mut ());
    assert!(of("memory").expect_err("a refusal").to_string().contains("particles = 100"));
}
