//! Many runs at once beside the same runs one by one by the engine: the same bits. On the processor in the place of a GPU, or on a real one.

use crate::bits::{built, config, device};
use crate::host::{Host, is_there};
use cbo::device::{Ended, Errand, Fleet, Made};
use cbo::{
    Alpha, BoundHandling, CboConfig, Coordinates, Diffusion, Evaluated, InitialLaw, Objective, Scalar, Scheme, Sigma,
    SolveError, StopReason, from_fn, solve,
};
use cbo_cuda::Cuda;
use cbo_problems::{Formula, Problem, Shift, functions};
use std::sync::Arc;

/// The runs made at once.
fn fleet<T: Scalar>(what: &str, runs: &[(CboConfig, &dyn Objective<T>)], logged: bool) -> Vec<Made<T>> {
    let errand =
        |(config, objective): &(CboConfig, &'_ dyn Objective<T>)| config.check(objective.dim()).expect("a plan");
    let errands: Vec<Errand<'_, T>> = runs.iter().map(|run| Errand { plan: errand(run), objective: run.1 }).collect();
    let made = device().solve_many(&errands, logged, &|_| true).unwrap_or_else(|e| panic!("{what}: {e}"));
    made.expect("nobody ended it")
}

/// What a run by the engine says of its end.
fn alone<T: Scalar>(config: &CboConfig, objective: &dyn Objective<T>) -> Result<Ended<T>, SolveError> {
    let run = solve::<T>(config, &objective, &mut ())?;
    Ok(Ended {
        best: run.best().clone(),
        consensus: run.consensus().clone(),
        stop: run.stop(),
        steps: run.steps(),
        evaluations: run.evaluations(),
        failed: run.failed_evaluations(),
        infeasible: run.infeasible_evaluations(),
    })
}

/// The end of a run in words that show every bit.
fn shown<T: Scalar>(end: &Result<Ended<T>, SolveError>) -> String {
    let point = |e: &Evaluated<T>| -> Vec<u64> {
        let value = if e.value.is_nan() { f64::NAN } else { e.value };
        e.x.iter().map(|x| x.to_f64()).chain([value]).map(f64::to_bits).collect()
    };
    match end {
        Err(error) => error.to_string(),
        Ok(ended) => format!(
            "{}, {} steps, {} evaluations, {} failed, {} infeasible, best {:x?}, consensus {:x?}",
            ended.stop,
            ended.steps,
            ended.evaluations,
            ended.failed,
            ended.infeasible,
            point(&ended.best),
            point(&ended.consensus)
        ),
    }
}

fn compare<T: Scalar>(what: &str, runs: &[(CboConfig, &dyn Objective<T>)]) {
    let made = fleet(what, runs, false);
    assert_eq!(made.len(), runs.len());
    for (number, ((config, objective), made)) in runs.iter().zip(&made).enumerate() {
        let here = alone(config, *objective);
        assert_eq!(shown(&here), shown(&made.end), "{what}, run {number}, {}", T::NAME);
        assert!(made.improvements.is_empty());
    }
}

/// The same in both precisions, on one problem.
fn both(what: &str, configs: &[CboConfig], problem: &Problem) {
    compare::<f64>(what, &configs.iter().map(|c| (c.clone(), problem as &dyn Objective<f64>)).collect::<Vec<_>>());
    compare::<f32>(what, &configs.iter().map(|c| (c.clone(), problem as &dyn Objective<f32>)).collect::<Vec<_>>());
}

/// Several seeds.
fn seeds(config: &CboConfig, count: u64) -> Vec<CboConfig> {
    (0..count).map(|seed| CboConfig { seed: 1000 * seed + 5, ..config.clone() }).collect()
}

#[test]
fn many_functions() {
    if !is_there() {
        return;
    }
    for (index, info) in functions::all().iter().enumerate() {
        let problem = built(Problem::builder(info.name), info.default_dim().unwrap_or(5));
        // Some of them: all are compiled in `bits.rs`, by the same words.
        if index % 5 == 0 && problem.constraint_texts().is_empty() {
            both(info.name, &seeds(&config(&problem, 60, 12), 2), &problem);
        }
    }
}

#[test]
fn numbers_of_particles_noise_and_schedules_in_one_launch() {
    if !is_there() {
        return;
    }
    for (dim, diffusion) in [(4, Diffusion::Anisotropic), (4, Diffusion::Isotropic), (40, Diffusion::Isotropic)] {
        let problem = built(Problem::builder("rastrigin"), dim);
        let base = CboConfig { diffusion, ..config(&problem, 1, 15) };
        let mut configs = Vec::new();
        for particles in [1, 2, 7, 33, 100, 200, 257, 700, 1100] {
            for sigma in [0.2, 1.5, 4.0] {
                let seed = configs.len() as u64;
                configs.push(CboConfig { particles, sigma: Sigma::Constant(sigma), seed, ..base.clone() });
            }
        }
        configs.push(CboConfig { particles: 50, alpha: "geometric:1,1.2".parse().expect("alpha"), ..base.clone() });
        configs.push(CboConfig { particles: 50, alpha: Alpha::Constant(f64::INFINITY), ..base.clone() });
        configs.push(CboConfig { particles: 50, sigma: Sigma::Falling { start: 2.0, end: 0.1 }, ..base.clone() });
        configs.push(CboConfig { particles: 50, lambda: 2.5, dt: 0.03, steps: None, time: Some(0.6), ..base });
        both(&format!("{dim} dimensions, {diffusion:?}"), &configs, &problem);
    }
}

/// Each finds the alpha of its weights from a sample size.
#[test]
fn sample_sizes() {
    if !is_there() {
        return;
    }
    for dim in [3, 40] {
        let problem = built(Problem::builder("rastrigin"), dim);
        let base = CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..config(&problem, 1, 12) };
        let mut configs = Vec::new();
        for particles in [1, 2, 9, 33, 100, 257, 700] {
            for fraction in [0.05, 0.5, 0.99] {
                let alpha = Alpha::EffectiveSampleSize(fraction);
                configs.push(CboConfig { particles, alpha, seed: configs.len() as u64, ..base.clone() });
            }
        }
        // Of a launch with others, and with points that are all the same.
        configs.push(CboConfig { particles: 50, alpha: Alpha::Constant(30.0), ..base.clone() });
        configs.push(CboConfig { particles: 50, kick: Some(0.2), ..base.clone() });
        configs.push(CboConfig { particles: 50, sigma: Sigma::Falling { start: 2.0, end: 0.1 }, ..base.clone() });
        configs.push(CboConfig { particles: 10, init: InitialLaw::Points(vec![0.5; 10 * dim]), ..base });
        both(&format!("{dim} dimensions"), &configs, &problem);
    }
    // Some points without an energy, and energies so far apart that a gap is infinite.
    for (text, low) in [("sum(ln(x - 1) + x^2)", 0.0), ("sum(ln(x - 1))", 0.99), ("sum(x^9) * 1e306 - 1e308", -3.0)] {
        let formula = Formula::new(text, 3).expect("a formula");
        let init = InitialLaw::uniform(&[(low, 3.0); 3]);
        let base = CboConfig { particles: 60, steps: Some(8), threads: 1, init, ..CboConfig::default() };
        let of = |fraction| CboConfig { alpha: Alpha::EffectiveSampleSize(fraction), ..base.clone() };
        let runs: Vec<_> = [0.1, 0.6].map(|fraction| (of(fraction), &formula as &dyn Objective<f64>)).into();
        compare(text, &runs);
    }
}

/// They have as many steps as there was time for, and are otherwise as if these had been asked for.
#[test]
fn runs_that_end_by_the_clock() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 4);
    let base = config(&problem, 40, 10);
    let clocked = CboConfig { max_seconds: Some(1e-3), steps: None, ..base.clone() };
    let other = CboConfig { seed: 3, sigma: Sigma::Constant(0.5), ..clocked.clone() };
    let quick = CboConfig { max_seconds: Some(1e6), ..base };
    let configs = [clocked, quick, other];
    let made = fleet::<f64>(
        "a clock",
        &configs.clone().map(|c| (c, &problem as &dyn Objective<f64>)).into_iter().collect::<Vec<_>>(),
        false,
    );
    for (config, made) in configs.into_iter().zip(made) {
        let end = made.end.expect("a result");
        let expected = if config.steps.is_some() { StopReason::Steps } else { StopReason::Seconds };
        assert_eq!(end.stop, expected);
        let again = CboConfig { steps: Some(end.steps), max_seconds: None, ..config };
        let alone = alone::<f64>(&again, &problem).expect("a run");
        assert_eq!(shown(&Ok(alone)), shown(&Ok(Ended { stop: StopReason::Steps, ..end })));
    }
}

#[test]
fn swarms_too_large_for_shared_memory() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 70);
    both("far", &seeds(&config(&problem, 300, 4), 3), &problem);
}

#[test]
fn every_setting() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 6);
    let base = config(&problem, 70, 25);
    let bounds =
        Some(vec![(-2.0, 3.0), (0.5, 4.0), (-1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0), (-5.0, 5.0), (1.0, 2.0)]);
    let normal = InitialLaw::Normal {
        mean: Coordinates::Each((0..6).map(f64::from).collect()),
        variance: Coordinates::All(0.3),
    };
    let points = InitialLaw::Points((0..420).map(|i| f64::from(i % 17) - 8.0).collect());
    // One launch for all that have the same switches.
    let settings = vec![
        CboConfig { freeze: Some(vec![0.5; 6]), ..base.clone() },
        CboConfig { freeze: Some(vec![0.0; 6]), ..base.clone() },
        CboConfig { kick: Some(0.5), ..base.clone() },
        CboConfig { init: normal.clone(), ..base.clone() },
        CboConfig { init: points, ..base.clone() },
        CboConfig { diameter: Some(3.0), steps: Some(200), sigma: Sigma::Constant(0.1), ..base.clone() },
        CboConfig { steps: None, sigma: Sigma::Constant(0.1), dt: 0.5, ..base.clone() },
        CboConfig { target: Some(30.0), ..base.clone() },
        CboConfig { max_evaluations: Some(777), steps: None, ..base.clone() },
        CboConfig { max_evaluations: Some(770), steps: Some(10), ..base.clone() },
        CboConfig { stagnation: Some(3), sigma: Sigma::Constant(5.0), steps: Some(300), ..base.clone() },
        CboConfig { strict: true, ..base.clone() },
        CboConfig { scheme: Scheme::DriftFirst, ..base.clone() },
        CboConfig { truncation: Some(0.7), ..base.clone() },
        CboConfig { truncation: Some(f64::INFINITY), ..base.clone() },
        CboConfig { truncation: Some(0.7), scheme: Scheme::DriftFirst, ..base.clone() },
        CboConfig {
            bounds: bounds.clone(),
            bound_handling: BoundHandling::Reflect,
            init: normal.clone(),
            ..base.clone()
        },
        CboConfig { bounds: bounds.clone(), bound_handling: BoundHandling::Clip, init: normal, ..base.clone() },
        CboConfig { bounds, bound_handling: BoundHandling::None, ..base },
    ];
    both("anisotropic", &settings, &problem);
    let isotropic = settings.into_iter().map(|c| CboConfig { diffusion: Diffusion::Isotropic, ..c });
    compare::<f32>("isotropic", &isotropic.map(|c| (c, &problem as &dyn Objective<f32>)).collect::<Vec<_>>());
}

#[test]
fn a_shift_and_a_rotation_for_each_run() {
    if !is_there() {
        return;
    }
    for (name, dim) in [("ackley", 3), ("rastrigin", 10)] {
        let make = |seed| built(Problem::builder(name).shift(Shift::Random(seed)).rotate(seed), dim);
        let problems: Vec<Problem> = (0..6).map(make).collect();
        let configs: Vec<CboConfig> =
            problems.iter().zip(0..).map(|(p, seed)| CboConfig { seed, ..config(p, 80, 15) }).collect();
        let of = || problems.iter().zip(&configs);
        compare::<f64>(name, &of().map(|(p, c)| (c.clone(), p as &dyn Objective<f64>)).collect::<Vec<_>>());
        compare::<f32>(name, &of().map(|(p, c)| (c.clone(), p as &dyn Objective<f32>)).collect::<Vec<_>>());
    }
    // Functions of different forms, and a formula, in any order.
    let (sphere, ackley) = (built(Problem::builder("sphere"), 4), built(Problem::builder("ackley"), 4));
    let formula = Formula::new("sum(x^2 + 2.5*(1 - cos(2*pi*x)))", 4).expect("a formula");
    let all: [&dyn Objective<f64>; 5] = [&sphere, &formula, &ackley, &sphere, &formula];
    let runs: Vec<_> =
        all.into_iter().zip(0..).map(|(o, seed)| (CboConfig { seed, ..config(&sphere, 40, 9) }, o)).collect();
    compare("different functions", &runs);
}

#[test]
fn gathering_at_the_origin() {
    if !is_there() {
        return;
    }
    for problem in [built(Problem::builder("sphere"), 4), built(Problem::builder("sphere").rotate(4), 4)] {
        let gathering = CboConfig {
            freeze: Some(vec![0.0; 4]),
            sigma: Sigma::Constant(0.1),
            dt: 0.9,
            steps: Some(400),
            ..config(&problem, 60, 0)
        };
        both("gathering at the origin", &[gathering], &problem);
    }
}

#[test]
fn runs_that_cannot_continue_are_results() {
    if !is_there() {
        return;
    }
    // Its logarithm is not defined everywhere.
    let formula = Formula::new("sum(ln(x - 1) + x^2)", 3).expect("a formula");
    let base =
        CboConfig { particles: 30, steps: Some(10), threads: 1, sigma: Sigma::Constant(1.0), ..CboConfig::default() };
    let within = |low: f64, high: f64| InitialLaw::uniform(&[(low, high); 3]);
    let configs = [
        CboConfig { init: within(2.0, 3.0), ..base.clone() },
        CboConfig { init: within(0.0, 3.0), ..base.clone() },
        CboConfig { init: within(0.0, 3.0), strict: true, ..base.clone() },
        CboConfig { init: within(1.5, 3.0), strict: true, ..base.clone() },
        CboConfig { init: within(-2.0, 0.5), ..base },
    ];
    let runs: Vec<_> = configs.iter().map(|c| (c.clone(), &formula as &dyn Objective<f64>)).collect();
    compare("a logarithm", &runs);
    let made = fleet("a logarithm", &runs, false);
    assert!(matches!(made[2].end, Err(SolveError::Strict { .. })), "{:?}", made[2].end);
    assert!(matches!(made[4].end, Err(SolveError::NoFiniteEnergy { .. })), "{:?}", made[4].end);
}

#[test]
fn improvements_are_logged_in_their_order() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("sphere"), 3);
    // So many that the log is copied in between, and the run goes on.
    let gathering = CboConfig { sigma: Sigma::Constant(0.1), dt: 0.02, ..config(&problem, 10, 900) };
    let config = CboConfig { freeze: Some(vec![0.0; 3]), ..gathering };
    let made = fleet::<f64>(
        "logged",
        &[(config.clone(), &problem), (CboConfig { seed: 3, ..config.clone() }, &problem)],
        true,
    );
    let log = std::sync::Mutex::new((0u64, Vec::new()));
    let noting = from_fn(3, |x: &[f64]| {
        let value = problem.value(x);
        let mut log = log.lock().expect("one thread");
        log.0 += 1;
        if log.1.last().is_none_or(|(_, last): &(u64, f64)| value < *last) {
            let number = log.0;
            log.1.push((number, value));
        }
        value
    });
    solve::<f64>(&config, &noting, &mut ()).expect("a run");
    let (evaluations, noted) = log.into_inner().expect("one thread");
    assert_eq!(evaluations, made[0].evaluations);
    assert!(noted.len() > 600, "{}", noted.len());
    let numbers = |log: &[(u64, Evaluated<f64>)]| log.iter().map(|(n, e)| (*n, e.value)).collect::<Vec<_>>();
    assert_eq!(numbers(&made[0].improvements).len(), noted.len());
    // The value of one point at a time may differ in its last bits from that of many.
    for ((n, value), (number, noted)) in numbers(&made[0].improvements).into_iter().zip(noted) {
        assert!(n == number && (value - noted).abs() < 1e-9, "{n} {value}, {number} {noted}");
    }
    for (_, point) in &made[1].improvements {
        assert!((problem.value(&point.x) - point.value).abs() < 1e-9);
    }
}

#[test]
fn what_is_not_there_is_refused_by_name() {
    let problem = built(Problem::builder("sphere"), 2);
    let base = config(&problem, 100, 5);
    let refused = |cuda: &Cuda, config: &CboConfig| {
        let errand = Errand::<f64> { plan: config.check(2).expect("a plan"), objective: &problem };
        cuda.solve_many(&[errand], false, &|_| true).expect_err("a refusal").to_string()
    };
    for method in ["memory", "hopping"] {
        let said = refused(&device(), &CboConfig { method: method.parse().expect("a method"), ..base.clone() });
        assert!(said.contains(&format!("method = {method}")) && said.contains("device cpu"), "{said}");
    }
    let grows = "geometric:1,1.2".parse().expect("a schedule");
    let seconds = CboConfig { max_seconds: Some(2.0), steps: None, alpha: grows, ..base.clone() };
    let said = refused(&device(), &seconds);
    assert!(said.contains("max_seconds = 2") && said.contains("limit their steps"), "{said}");
    let batch = refused(&device(), &CboConfig { batch: Some(10), ..base.clone() });
    assert!(batch.contains("batch = 10"), "{batch}");
    let small = Cuda::on(Arc::new(Host { free: Some(1000), ..Host::default() }));
    let memory = refused(&small, &base);
    assert!(memory.contains("particles = 100") && memory.contains("GB"), "{memory}");
}

#[test]
fn runs_are_made_in_batches_if_memory_is_small_and_end_if_somebody_says_so() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("sphere"), 2);
    let configs = seeds(&config(&problem, 50, 5), 12);
    let errands: Vec<Errand<'_, f64>> = configs
        .iter()
        .map(|config| Errand { plan: config.check(2).expect("a plan"), objective: &problem as &dyn Objective<f64> })
        .collect();
    let small = Cuda::on(Arc::new(Host { free: Some(20_000), ..Host::default() }));
    let made = small.solve_many(&errands, false, &|_| true).expect("runs").expect("all");
    for (config, made) in configs.iter().zip(&made) {
        assert_eq!(shown(&alone::<f64>(config, &problem)), shown(&made.end));
    }
    assert!(small.solve_many(&errands, false, &|part| part < 0.5).expect("runs").is_none());
    let lost = Cuda::on(Arc::new(Host { lost_after: Some(0), ..Host::default() }));
    let error = lost.solve_many(&errands, false, &|_| true).expect_err("a fault").to_string();
    assert!(error.contains("fell off the bus"), "{error}");
}
