//! Many small runs abreast on the processor have the bits of the same runs one by one.

use cbo::device::{Abreast, Ended, Errand, Fleet, Made, Processor};
use cbo::{
    Alpha, BoundHandling, CboConfig, Coordinates, EvalError, Evaluated, InitialLaw, Objective, Rows, Scalar, Scheme,
    Sigma, SolveError, StepContext, StopReason, solve,
};
use cbo_lab::compare::{Contestant, trial};
use cbo_lab::experiments::{Grid, Range, Session, phase};
use cbo_lab::fleet;
use cbo_lab::success::Judge;
use cbo_problems::{Problem, Shift, functions};
use std::any::TypeId;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn abreast<T: Scalar>(runs: &[(CboConfig, &dyn Objective<T>)]) -> Vec<Made<T>> {
    let errand =
        |(config, objective): &(CboConfig, &'_ dyn Objective<T>)| config.check(objective.dim()).expect("a plan");
    let errands: Vec<Errand<'_, T>> = runs.iter().map(|run| Errand { plan: errand(run), objective: run.1 }).collect();
    let made = Processor.solve_many(&errands, false, &|_| true);
    made.expect("runs that suit").expect("nobody ended them")
}

fn alone<T: Scalar>(config: &CboConfig, objective: &dyn Objective<T>) -> Result<Ended<T>, SolveError> {
    let run = solve::<T>(CboConfig { threads: 1, ..config.clone() }, &objective, &mut ())?;
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
    let bits = |point: &Evaluated<T>| -> Vec<u64> {
        point.x.iter().map(|x| x.to_f64()).chain([point.value]).map(f64::to_bits).collect()
    };
    match end {
        Err(error) => error.to_string(),
        Ok(end) => format!("{:?} best {:x?} consensus {:x?}", end.stop, bits(&end.best), bits(&end.consensus)),
    }
}

fn compare<T: Scalar>(what: &str, runs: &[(CboConfig, &dyn Objective<T>)]) {
    let made = abreast(runs);
    assert_eq!(made.len(), runs.len());
    for (number, ((config, objective), made)) in runs.iter().zip(made).enumerate() {
        let here = alone(config, *objective);
        assert_eq!(shown(&here), shown(&made.end), "{what}, run {number}, {}", T::NAME);
        if let (Ok(here), Ok(there)) = (here, made.end) {
            let counts = |end: &Ended<T>| (end.steps, end.evaluations, end.failed, end.infeasible);
            assert_eq!(counts(&here), counts(&there), "{what}, run {number}, {}", T::NAME);
        }
    }
}

fn on<'a, T: Scalar>(configs: &[CboConfig], objective: &'a dyn Objective<T>) -> Vec<(CboConfig, &'a dyn Objective<T>)> {
    configs.iter().map(|config| (config.clone(), objective)).collect()
}

fn both(what: &str, configs: &[CboConfig], problem: &Problem) {
    compare::<f64>(what, &on(configs, problem));
    compare::<f32>(what, &on(configs, problem));
}

/// Runs of different lengths, amplitudes and alphas, more than there are lanes.
fn config(problem: &Problem, number: u64) -> CboConfig {
    CboConfig {
        particles: 37,
        sigma: Sigma::Constant(0.5 + 0.2 * number as f64),
        alpha: Alpha::Constant([1.0, 100.0, f64::INFINITY][number as usize % 3]),
        steps: Some(2 + number % 7),
        init: InitialLaw::uniform(problem.domain()),
        seed: number << 31 | number,
        threads: 1,
        ..CboConfig::default()
    }
}

#[test]
fn every_function() {
    for info in functions::all() {
        let dims = info.default_dim().map_or_else(|| vec![1, 2, 3, 4, 5, 8, 17, 33], |dim| vec![dim]);
        for dim in dims {
            let Ok(problem) = Problem::named(info.name, dim) else { continue };
            if problem.constraint_texts().is_empty() {
                let configs: Vec<CboConfig> = (0..21).map(|number| config(&problem, number)).collect();
                both(&format!("{} in {dim} dimensions", info.name), &configs, &problem);
            }
        }
    }
}

#[test]
fn every_setting() {
    let problem = Problem::named("rastrigin", 6).expect("a problem");
    let base = CboConfig { steps: Some(25), ..config(&problem, 3) };
    let quiet = CboConfig { sigma: Sigma::Constant(0.1), ..base.clone() };
    let bounds =
        Some(vec![(-2.0, 3.0), (0.5, 4.0), (-1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0), (-5.0, 5.0), (1.0, 2.0)]);
    let normal = InitialLaw::Normal {
        mean: Coordinates::Each((0..6).map(f64::from).collect()),
        variance: Coordinates::All(0.3),
    };
    let points = InitialLaw::Points((0..222).map(|i| f64::from(i % 17) - 8.0).collect());
    let reflect = BoundHandling::Reflect;
    let mut settings = vec![
        CboConfig { init: normal.clone(), ..base.clone() },
        CboConfig { init: points, ..base.clone() },
        CboConfig { diameter: Some(3.0), steps: Some(200), ..quiet.clone() },
        // Its swarm shrinks to nothing.
        CboConfig { steps: None, dt: 0.5, ..quiet.clone() },
        CboConfig { target: Some(30.0), ..base.clone() },
        CboConfig { max_evaluations: Some(777), steps: None, ..base.clone() },
        CboConfig { max_evaluations: Some(370), steps: Some(10), ..base.clone() },
        CboConfig { stagnation: Some(3), sigma: Sigma::Constant(5.0), steps: Some(300), ..base.clone() },
        CboConfig { scheme: Scheme::DriftFirst, ..base.clone() },
        CboConfig { alpha: "geometric:1,1.2".parse().expect("alpha"), ..base.clone() },
        CboConfig { sigma: Sigma::Falling { start: 2.0, end: 0.1 }, ..base.clone() },
        CboConfig { lambda: 2.5, dt: 0.03, steps: None, time: Some(0.6), ..base.clone() },
        CboConfig { truncation: Some(f64::INFINITY), ..base.clone() },
        CboConfig { bounds: bounds.clone(), bound_handling: reflect, init: normal.clone(), ..base.clone() },
        CboConfig { bounds: bounds.clone(), bound_handling: BoundHandling::Clip, init: normal, ..base.clone() },
        CboConfig { bounds, bound_handling: BoundHandling::None, ..base.clone() },
    ];
    // In one block of 352, in two and in four.
    settings.extend([1, 2, 7, 8, 9, 100, 352, 353, 700, 1100].map(|particles| CboConfig { particles, ..base.clone() }));
    both("every setting", &settings, &problem);
    let ended = |number: usize| alone::<f64>(&settings[number], &problem).expect("a run").stop;
    let reasons = [2, 3, 4, 5, 7].map(ended);
    let expected = [StopReason::Diameter, StopReason::Diameter, StopReason::Target, StopReason::Evaluations];
    assert_eq!((&reasons[..4], reasons[4]), (&expected[..], StopReason::Stagnation));
}

/// Of runs in one block and in several, each with a place of its own, and of functions in any order.
#[test]
fn a_shift_for_each_run() {
    for (name, dim, particles) in [("rastrigin", 4, 37), ("ackley", 20, 150), ("schwefel", 7, 300), ("sphere", 33, 200)]
    {
        let moved = |seed| Problem::builder(name).dim(dim).shift(Shift::Random(seed)).build().expect("a problem");
        let problems: Vec<Problem> = (0..20).map(moved).collect();
        let configs: Vec<CboConfig> =
            problems.iter().zip(2..).map(|(p, number)| CboConfig { particles, ..config(p, number) }).collect();
        let of = || configs.iter().cloned().zip(&problems);
        compare::<f64>(name, &of().map(|(c, p)| (c, p as &dyn Objective<f64>)).collect::<Vec<_>>());
        compare::<f32>(name, &of().map(|(c, p)| (c, p as &dyn Objective<f32>)).collect::<Vec<_>>());
    }
    // Each is one function more: another place, another parameter, another name.
    let builders = [
        Problem::builder("rastrigin"),
        Problem::builder("rastrigin").shift(1.0),
        Problem::builder("rastrigin").parameter("amplitude", 10.0),
        Problem::builder("sphere"),
    ];
    let problems = builders.map(|builder| builder.dim(5).build().expect("a problem"));
    let runs: Vec<_> =
        (0..40).map(|k| (config(&problems[0], k), &problems[k as usize % 4] as &dyn Objective<f64>)).collect();
    compare("different functions", &runs);
}

/// Points whose squares, or which themselves, are no longer normal numbers.
#[test]
fn numbers_near_zero() {
    for name in ["sphere", "rastrigin", "ackley", "griewank"] {
        let problem = Problem::named(name, 4).expect("a problem");
        let tiny = [0.0, 1e-19, 1e-25, -3e-31, 1e-154, -1e-160, 1e-291, 0.5];
        let points =
            |shift: usize| -> Vec<f64> { (0..148).map(|i| tiny[(i * i + i / 4 + shift) % tiny.len()]).collect() };
        let law = |shift: usize| InitialLaw::Points(points(shift));
        let of = |number: usize| CboConfig { init: law(number / 2), ..config(&problem, number as u64) };
        both(name, &(0..40).map(of).collect::<Vec<_>>(), &problem);
        // Around another place, and so many that some are in a block and a call of their own.
        let moved = Problem::builder(name).dim(4).shift(0.0).build().expect("a problem");
        let many = |number: usize| CboConfig {
            particles: 37 * 5,
            init: InitialLaw::Points((0..5).flat_map(|k| points(number + k)).collect()),
            ..of(number)
        };
        both(name, &(0..20).map(many).collect::<Vec<_>>(), &moved);
    }
}

/// Far from its minimum this function is zero, of either sign: the best value is the first of the least ones.
#[test]
fn signs_of_zero() {
    let problem = Problem::named("easom", 2).expect("a problem");
    let init = InitialLaw::Normal { mean: Coordinates::Each(vec![21.0, 24.0]), variance: Coordinates::All(20.0) };
    let of = |seed| CboConfig {
        init: init.clone(),
        alpha: Alpha::Constant(10.0),
        particles: 16,
        steps: Some(1),
        bounds: Some(problem.domain().to_vec()),
        seed,
        ..CboConfig::default()
    };
    let configs: Vec<CboConfig> = [881, 1540, 4322, 12409].into_iter().chain(0..2000).map(of).collect();
    both("signs of zero", &configs, &problem);
}

/// The sphere, but points on one side have no value, and those on another are not feasible.
struct Holes;

impl Holes {
    fn value(x: f64, y: f64) -> f64 {
        if x > 1.0 {
            f64::NAN
        } else if y > 1.0 {
            f64::INFINITY
        } else if x + y < -3.0 {
            f64::NEG_INFINITY
        } else {
            x * x + y * y
        }
    }
}

impl Objective<f64> for Holes {
    fn dim(&self) -> usize {
        2
    }
    fn energies(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        rows.iter().zip(out).for_each(|(row, out)| *out = Self::value(row[0], row[1]));
        Ok(())
    }
    fn abreast(&self) -> Option<&dyn Abreast<f64>> {
        Some(self)
    }
}

impl Abreast<f64> for Holes {
    fn identity(&self) -> (TypeId, &str) {
        (TypeId::of::<Self>(), "holes")
    }

    fn energies(&self, points: &[f64], energies: &mut [f64]) {
        let lanes = 8;
        for (energies, point) in energies.chunks_exact_mut(lanes).zip(points.chunks_exact(2 * lanes)) {
            for (lane, energy) in energies.iter_mut().enumerate() {
                *energy = Self::value(point[lane], point[lanes + lane]);
            }
        }
    }
}

#[test]
fn points_without_a_value() {
    let within = |low: f64, high: f64, seed: u64| CboConfig {
        init: InitialLaw::uniform(&[(low, high); 2]),
        steps: Some(30),
        particles: 20,
        seed,
        ..CboConfig::default()
    };
    let mut configs: Vec<CboConfig> = (0..30).map(|seed| within(-3.0, 3.0, seed)).collect();
    // One in which no point has a value, among others.
    configs.insert(5, within(2.0, 3.0, 7));
    // Two blocks, of which the second may have no value at all.
    configs.extend((0..20).map(|seed| CboConfig { particles: 1030, steps: Some(5), ..within(0.9, 1.2, seed) }));
    compare("holes", &on(&configs, &Holes));
    let made = abreast(&on(&configs, &Holes as &dyn Objective<f64>));
    assert!(matches!(made[5].end, Err(SolveError::NoFiniteEnergy { step: 0, evaluated: 20, failed: 20, .. })));
    assert!(made[0].end.as_ref().is_ok_and(|end| end.failed > 0 && end.infeasible > 0));
}

#[test]
fn improvements_are_those_of_single_runs() {
    let problem = Arc::new(Problem::named("ackley", 2).expect("a problem"));
    let config = |seed: usize| CboConfig { seed: seed as u64, ..self::config(&problem, 2 + seed as u64) };
    let run = |seed: usize| Ok::<_, SolveError>((config(seed), problem.clone()));
    let many = fleet::trials::<f64, _>(&Processor, 40, run, Judge::Best, &|_| true).expect("trials");
    let cbo: Contestant = "cbo".parse().expect("a method");
    for (seed, many) in many.iter().enumerate() {
        let alone = trial::<f64>(&cbo, &config(seed), &problem, Judge::Best, &|| false).expect("a run");
        let alone = alone.expect("a trial");
        assert_eq!(many.outcome.evaluations, alone.outcome.evaluations);
        let numbers = |trial: &cbo_lab::compare::Trial| -> Vec<(u64, u64)> {
            trial.improvements.iter().map(|i| (i.evaluation, i.value.to_bits())).collect()
        };
        assert!(!many.improvements.is_empty());
        assert_eq!(numbers(many), numbers(&alone), "seed {seed}");
    }
}

#[test]
fn the_phase_diagram_is_that_of_single_runs() {
    let session = Session { quick: true, seed: 3, watch: &|_| true };
    let (sigma_squared, particles) = (Range { from: 2.0, to: 30.0, count: 5 }, Range { from: 5.0, to: 60.0, count: 2 });
    let wanted = phase::Wanted { sigma_squared: Some(sigma_squared), particles: Some(particles), runs: Some(20) };
    let parameters = phase::load().expect("the experiment").parameters;
    let problem = Problem::named(&parameters.function, parameters.dim).expect("a problem");
    let expected: Vec<u64> = particles
        .values()
        .iter()
        .flat_map(|n| sigma_squared.values().into_iter().map(|sigma| (sigma, n.round())).collect::<Vec<_>>())
        .map(|(sigma, n)| {
            let run = |seed| parameters.succeeds::<f64>(&problem, &parameters.config(sigma, n, seed));
            (3..23).map(|seed| u64::from(run(seed).expect("a run"))).sum()
        })
        .collect();
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let grid: Grid = pool.install(|| phase::run::<f64>(&session, wanted, None)).expect("a grid");
        assert_eq!(grid.successes, expected, "{threads} threads");
    }
    assert!(expected.iter().any(|found| (1..20).contains(found)), "{expected:?}");
}

#[test]
fn what_does_not_suit_is_refused_and_somebody_may_end_it() {
    let problem = Problem::named("sphere", 4).expect("a problem");
    let base = config(&problem, 1);
    let plan = |config: &CboConfig| config.check(4).expect("a plan");
    let others = [
        CboConfig { kick: Some(0.1), ..base.clone() },
        CboConfig { particles: 2049, ..base.clone() },
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.5), ..base.clone() },
        CboConfig { truncation: Some(1.0), ..base.clone() },
        CboConfig { diffusion: cbo::Diffusion::Isotropic, ..base.clone() },
        CboConfig { method: "adam".parse().expect("a method"), ..base.clone() },
        CboConfig { max_seconds: Some(1.0), ..base.clone() },
        CboConfig { strict: true, ..base.clone() },
        CboConfig { freeze: Some(vec![0.0; 4]), ..base.clone() },
        CboConfig { batch: Some(1), ..base.clone() },
    ];
    for config in &others {
        assert!(!Processor::suits::<f64>(&plan(config), &problem), "{config:?}");
        let errand = Errand::<f64> { plan: plan(config), objective: &problem };
        assert!(matches!(Processor.solve_many(&[errand], false, &|_| true), Err(SolveError::Config(_))));
    }
    let turned = Problem::builder("sphere").dim(4).rotate(5).build().expect("a problem");
    assert!(Processor::suits::<f64>(&plan(&base), &problem) && !Processor::suits::<f64>(&plan(&base), &turned));
    let errands: Vec<Errand<'_, f64>> =
        (0..50).map(|seed| Errand { plan: plan(&CboConfig { seed, ..base.clone() }), objective: &problem }).collect();
    assert!(Processor.solve_many(&errands, false, &|_| false).expect("no error").is_none());
    assert!(
        Fleet::<f64>::solve_many(&Processor, &[], false, &|_| true)
            .expect("no error")
            .is_some_and(|made| made.is_empty())
    );
    // What was made by then is there, and nothing else: of runs of very different lengths the short ones.
    let long = |seed: u64| CboConfig {
        seed,
        steps: Some(if seed.is_multiple_of(5) { 1_000_000 } else { 20 }),
        ..base.clone()
    };
    let runs: Vec<Errand<'_, f64>> =
        (0..40).map(|seed| Errand { plan: plan(&long(seed)), objective: &problem }).collect();
    let looks = AtomicUsize::new(0);
    let made = Processor.solve_some(&runs, false, &|_| looks.fetch_add(1, Ordering::Relaxed) < 40).expect("no error");
    for (run, made) in runs.iter().zip(&made) {
        let config = run.plan.config();
        assert_eq!(made.is_some(), config.steps == Some(20), "seed {}", config.seed);
        if let Some(made) = made {
            assert_eq!(shown(&alone::<f64>(config, &problem)), shown(&made.end));
        }
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("threads");
    let pays = |runs| pool.install(|| (Processor::pays::<f64>(runs), Processor::pays::<f32>(runs)));
    assert_eq!([pays(23), pays(24), pays(47), pays(48)], [(false, false), (true, false), (true, false), (true, true)]);
}
