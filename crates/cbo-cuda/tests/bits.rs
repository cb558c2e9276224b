//! Runs on the kernels beside runs of the engine: the same bits. The same tests serve the processor in the place of a GPU and a real one.

use crate::host::{Host, is_there};
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, InitialLaw, Objective, RunReport, Scalar, Scheme, Sigma, StepReport,
    Update, resume, solve,
};
use cbo_cuda::Cuda;
use cbo_problems::{Formula, Problem, ProblemBuilder, Shift, functions};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The kernels on the processor, or, if CBO_CUDA is set, on the GPU of that number (`make test-cuda`).
pub fn device() -> Cuda {
    match std::env::var("CBO_CUDA") {
        Ok(number) => Cuda::open(number.parse().expect("the number of a GPU")).expect("a GPU"),
        Err(_) => Cuda::on(Arc::new(Host::default())),
    }
}

/// Positions, energies, best and consensus points of a run, as bits.
pub fn bits<T: Scalar>(run: &RunReport<T>) -> Vec<u64> {
    let numbers = [run.ensemble().rows().as_slice(), run.energies(), &run.best().x, &run.consensus().x];
    let counts = [run.evaluations(), run.failed_evaluations(), run.infeasible_evaluations(), run.steps()];
    let values = [run.best().value, run.consensus().value, run.alpha()];
    let all = numbers.concat().into_iter().map(Scalar::to_f64).chain(values);
    // All NaNs are one: their bits say nothing.
    all.map(|x| if x.is_nan() { u64::MAX } else { x.to_bits() }).chain(counts).collect()
}

/// Compares a run on the device with one of the engine.
fn compare<T: Scalar>(what: &str, config: &CboConfig, problem: &impl Objective<T>) {
    let here = solve::<T>(config, problem, &mut ()).unwrap_or_else(|e| panic!("{what}: {e}"));
    let there = device().solve::<T>(config, problem, &mut ()).unwrap_or_else(|e| panic!("{what}: {e:?}"));
    assert!(bits(&here) == bits(&there), "{what}, {}: {:?} instead of {:?}", T::NAME, there.best(), here.best());
}

fn both(what: &str, config: &CboConfig, problem: &Problem) {
    compare::<f64>(what, config, problem);
    compare::<f32>(what, config, problem);
}

pub fn config(problem: &Problem, particles: usize, steps: u64) -> CboConfig {
    CboConfig {
        particles,
        steps: Some(steps),
        seed: 11,
        threads: 1,
        alpha: Alpha::Constant(30.0),
        sigma: Sigma::Constant(1.0),
        init: InitialLaw::uniform(problem.domain()),
        ..CboConfig::default()
    }
}

pub fn built(builder: ProblemBuilder, dim: usize) -> Problem {
    builder.dim(dim).build().expect("a problem")
}

#[test]
fn every_built_in_function() {
    if !is_there() {
        return;
    }
    for info in functions::all() {
        let dim = info.default_dim().unwrap_or(5);
        let problem = built(Problem::builder(info.name), dim);
        if !problem.constraint_texts().is_empty() {
            continue;
        }
        both(info.name, &config(&problem, 150, 12), &problem);
    }
}

#[test]
fn every_dimension_of_the_moves() {
    if !is_there() {
        return;
    }
    for dim in [1, 3, 8, 17, 48, 65] {
        let problem = built(Problem::builder("rastrigin"), dim);
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let config = CboConfig { diffusion, sigma: Sigma::Constant(0.3), ..config(&problem, 1100, 3) };
            both(&format!("{dim} dimensions, {diffusion:?}"), &config, &problem);
        }
    }
}

#[test]
fn formulas() {
    if !is_there() {
        return;
    }
    let domain = [(-2.0, 3.0); 6];
    for text in [
        "sum(x^2 + 2.5*(1 - cos(2*pi*x)))",
        "sum(i, 1, d-1, 100*(x[i+1]-x[i]^2)^2 + (1-x[i])^2)",
        "a = 20; a + e - a*exp(-0.2*sqrt(mean(x^2))) - exp(mean(cos(2*pi*x)))",
        "max(abs(x)) + prod(i, 1, 3, ln(x[i]^2 + i))^2 + sum(i, 1, d, sum(j, 1, i, x[j])^2)",
    ] {
        let formula = Formula::new(text, 6).expect("a formula");
        let config = CboConfig {
            particles: 300,
            steps: Some(10),
            threads: 1,
            sigma: Sigma::Constant(1.0),
            init: InitialLaw::uniform(&domain),
            ..CboConfig::default()
        };
        compare::<f64>(text, &config, &formula);
        compare::<f32>(text, &config, &formula);
    }
}

#[test]
fn sums_that_are_merged_in_several_goes() {
    if !is_there() {
        return;
    }
    for (dim, particles) in [(33, 17_000), (78, 6000), (130, 9000), (300, 9000)] {
        let problem = built(Problem::builder("rastrigin"), dim);
        let config = config(&problem, particles, 2);
        compare::<f64>(&format!("{dim} dimensions, {particles} particles"), &config, &problem);
    }
}

/// Formulas that are a loop, and some that are none.
#[test]
fn many_coordinates() {
    if !is_there() {
        return;
    }
    for name in ["rastrigin", "rosenbrock", "ackley", "griewank", "dixon-price"] {
        for dim in [70, 72] {
            let problem = built(Problem::builder(name), dim);
            let config = CboConfig { kick: Some(0.5), ..config(&problem, 300, 3) };
            both(&format!("{name}, {dim} dimensions"), &config, &problem);
        }
    }
    let text = "sum(i, 1, d-1, (x[i+1]-x[i]^2)^2) + max(abs(x)) + x[d]^2";
    let formula = Formula::new(text, 81).expect("a formula");
    let problem = built(Problem::builder("rastrigin"), 81);
    compare::<f32>(text, &config(&problem, 300, 3), &formula);
}

/// Batches of particles, and a run of them that is moved from one to the other.
#[test]
fn batches_of_particles() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 6);
    let base = config(&problem, 900, 25);
    let alpha = Alpha::EffectiveSampleSize(0.3);
    for config in [
        CboConfig { batch: Some(300), kick: Some(0.3), ..base.clone() },
        CboConfig { batch: Some(9), diffusion: Diffusion::Isotropic, ..base.clone() },
        CboConfig { batch: Some(450), alpha, ..base.clone() },
    ] {
        both(&format!("batches of {:?}", config.batch), &config, &problem);
    }
    let config = CboConfig { batch: Some(225), ..base };
    let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
    let mut state = Vec::new();
    let mut stop_at_ten = |step: &StepReport<'_, f64>| {
        state = step.state();
        if step.step() == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    device().solve::<f64>(&config, &problem, &mut stop_at_ten).expect("a run");
    assert_eq!(bits(&device().resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole);
    assert_eq!(bits(&resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole);
}

/// A report without particles is otherwise the same.
#[test]
fn without_particles() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 5);
    let config = config(&problem, 333, 12);
    let here = solve::<f64>(&config, &problem, &mut ()).expect("a run");
    let there = device().without_particles().solve::<f64>(&config, &problem, &mut ()).expect("a run");
    assert_eq!((here.best(), here.consensus(), here.steps()), (there.best(), there.consensus(), there.steps()));
    assert!(there.ensemble().is_empty() && !here.ensemble().is_empty());
}

/// Where there is no room for a second place for the particles, no step begins before the one before it was looked at.
#[test]
fn with_little_memory_steps_are_made_in_place() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 5);
    let config = CboConfig { kick: Some(0.3), ..config(&problem, 700, 15) };
    let small = Cuda::on(Arc::new(Host { free: Some(50_000), ..Host::default() }));
    let here = solve::<f64>(&config, &problem, &mut ()).expect("a run");
    let there = small.solve::<f64>(&config, &problem, &mut ()).expect("a run");
    assert!(bits(&here) == bits(&there), "{:?} instead of {:?}", there.best(), here.best());
}

/// What observers see of each step, whatever the device does meanwhile; and where a run ends that a target ends.
#[test]
fn every_step_is_seen_as_it_is() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 5);
    let base = config(&problem, 1500, 40);
    for config in [
        CboConfig { target: Some(2.0), ..base.clone() },
        CboConfig { kick: Some(0.02), sigma: Sigma::Constant(0.3), ..base.clone() },
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.3), ..base.clone() },
        CboConfig { init: InitialLaw::Points(vec![1.25; 1500 * 5]), kick: Some(0.5), ..base },
    ] {
        let seen = |device: Option<&Cuda>| {
            let mut seen = Vec::new();
            let mut look = |step: &StepReport<'_, f32>| {
                let mut numbers =
                    vec![step.mean_of_squares(), step.least(), step.effective_sample_size(), step.alpha()];
                numbers.extend_from_slice(step.consensus());
                if step.step().is_multiple_of(3) {
                    let squares = |row: &[f32]| row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
                    let plain = step.ensemble().rows().iter().map(squares).sum::<f64>() / 1500.0;
                    assert!((numbers[0] - plain).abs() <= 1e-12 * plain, "{} instead of {plain}", numbers[0]);
                    numbers.extend(step.ensemble().rows().as_slice().iter().map(|x| x.to_f64()));
                    numbers.extend(step.energies().iter().map(|e| e.to_f64()));
                }
                seen.push(numbers.into_iter().map(f64::to_bits).collect::<Vec<_>>());
                ControlFlow::Continue(())
            };
            let report = match device {
                None => solve(&config, &problem, &mut look),
                Some(device) => device.solve(&config, &problem, &mut look),
            };
            (bits(&report.expect("a run")), seen)
        };
        assert!(seen(None) == seen(Some(&device())), "{config:?}");
    }
}

#[test]
fn positions_coordinate_by_coordinate() {
    if !is_there() {
        return;
    }
    for dim in [3, 10, 65] {
        let problem = built(Problem::builder("ackley"), dim);
        let config = CboConfig { diameter: Some(1e-9), ..config(&problem, 1100, 5) };
        let here = solve::<f32>(&config, &problem, &mut ()).expect("a run");
        let there = device().in_columns().solve::<f32>(&config, &problem, &mut ()).expect("a run");
        assert!(bits(&here) == bits(&there), "{dim} dimensions: {:?} instead of {:?}", there.best(), here.best());
    }
}

#[test]
fn every_setting() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 6);
    let base = config(&problem, 700, 25);
    let bounds =
        Some(vec![(-2.0, 3.0), (0.5, 4.0), (-1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0), (-5.0, 5.0), (1.0, 2.0)]);
    let settings: Vec<(&str, CboConfig)> = vec![
        ("drift first", CboConfig { scheme: Scheme::DriftFirst, ..base.clone() }),
        ("infinite alpha", CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..base.clone() }),
        ("huge alpha", CboConfig { alpha: Alpha::Constant(1e15), ..base.clone() }),
        ("small alpha", CboConfig { alpha: Alpha::Constant(1e-3), ..base.clone() }),
        ("effective sample size", CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() }),
        ("growing alpha", CboConfig { alpha: "geometric:1,1.2".parse().expect("a schedule"), ..base.clone() }),
        ("kick", CboConfig { kick: Some(0.5), ..base.clone() }),
        ("reflection", CboConfig { bounds: bounds.clone(), bound_handling: BoundHandling::Reflect, ..base.clone() }),
        ("clipping", CboConfig { bounds, bound_handling: BoundHandling::Clip, ..base.clone() }),
        ("truncation", CboConfig { truncation: Some(0.7), ..base.clone() }),
        ("frozen", CboConfig { freeze: Some(vec![0.0; 6]), ..base.clone() }),
        (
            "a diameter",
            CboConfig { diameter: Some(3.0), steps: Some(200), sigma: Sigma::Constant(0.1), ..base.clone() },
        ),
        ("one particle", CboConfig { particles: 1, ..base.clone() }),
        ("no limit", CboConfig { steps: None, sigma: Sigma::Constant(0.2), dt: 0.1, ..base.clone() }),
    ];
    for (what, config) in settings {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            both(&format!("{what}, {diffusion:?}"), &CboConfig { diffusion, ..config.clone() }, &problem);
        }
    }
    let truncated = CboConfig { truncation: Some(0.7), scheme: Scheme::DriftFirst, ..base };
    both("truncation, drift first", &truncated, &problem);
}

#[test]
fn shifts_rotations_and_what_vanishes() {
    if !is_there() {
        return;
    }
    for (dim, name) in [(3, "ackley"), (20, "rastrigin"), (9, "levy"), (40, "ellipsoid")] {
        let shifted = built(Problem::builder(name).shift(Shift::Random(3)), dim);
        both(&format!("{name}, shifted"), &config(&shifted, 200, 10), &shifted);
        let rotated = built(Problem::builder(name).rotate(4), dim);
        both(&format!("{name}, rotated"), &config(&rotated, 200, 10), &rotated);
    }
    // A swarm that gathers at the origin until squares are subnormal.
    let problem = built(Problem::builder("sphere"), 4);
    let gathering = CboConfig {
        freeze: Some(vec![0.0; 4]),
        sigma: Sigma::Constant(0.1),
        dt: 0.9,
        steps: Some(400),
        ..config(&problem, 300, 0)
    };
    both("gathering at the origin", &gathering, &problem);
    let rotated = built(Problem::builder("sphere").rotate(4), 4);
    both("gathering at the origin, rotated", &gathering, &rotated);
}

#[test]
fn a_run_goes_on_where_the_other_stopped() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 5);
    let config = config(&problem, 333, 30);
    let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
    let mut state = Vec::new();
    let mut stop_at_ten = |step: &StepReport<'_, f64>| {
        state = step.state();
        if step.step() == 10 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    device().solve::<f64>(&config, &problem, &mut stop_at_ten).expect("a run");
    assert_eq!(bits(&resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole);
    let mut stop_at_twenty = |step: &StepReport<'_, f64>| {
        state = step.state();
        if step.step() == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    solve::<f64>(&config, &problem, &mut stop_at_twenty).expect("a run");
    assert_eq!(bits(&device().resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole);
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let problem = built(Problem::builder("sphere"), 2);
    let base = config(&problem, 100, 5);
    let refused =
        |config: &CboConfig| device().solve::<f64>(config, &problem, &mut ()).expect_err("a refusal").to_string();
    let adam = CboConfig { method: "adam".parse().expect("a method"), ..base.clone() };
    assert!(refused(&adam).contains("adam") && refused(&adam).contains("device cpu"));
    let partial = CboConfig { batch: Some(10), update: Update::Partial, ..base.clone() };
    assert!(refused(&partial).contains("update") && refused(&partial).contains("partial"));
    let small = Cuda::on(Arc::new(Host { free: Some(1000), ..Host::default() }));
    let error = small.solve::<f64>(&base, &problem, &mut ()).expect_err("a refusal").to_string();
    assert!(error.contains("particles") && error.contains("GB"), "{error}");
    let closure = cbo::from_fn(2, |x: &[f64]| x[0] + x[1]);
    let error = device().solve(&base, &closure, &mut ()).expect_err("a refusal").to_string();
    assert!(error.contains("built-in functions"), "{error}");
}

#[test]
fn a_lost_device_is_an_error_and_its_checkpoint_goes_on() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("sphere"), 2);
    let config = config(&problem, 100, 20);
    let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
    let mut state = Vec::new();
    let device = Cuda::on(Arc::new(Host { lost_after: Some(11), ..Host::default() }));
    let mut keep = |step: &StepReport<'_, f64>| {
        state = step.state();
        ControlFlow::Continue(())
    };
    let error = device.solve::<f64>(&config, &problem, &mut keep).expect_err("a fault");
    let said = format!("{error}: {}", std::error::Error::source(&error).expect("a cause"));
    assert!(said.contains("step 10") && said.contains("fell off the bus"), "{said}");
    assert_eq!(bits(&resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole);
}
