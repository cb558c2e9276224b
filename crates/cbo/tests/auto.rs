//! The method `auto` as a run: budgets, stops, states, threads, failures, and what it must not depend on.

use cbo::{
    AskTell, Auto, BoundHandling, CboConfig, Coordinates, EvalError, Grouping, InitialLaw, Method, Objective,
    Reduction, Rows, RunReport, Scalar, SolveError, StepContext, StepReport, StopReason, from_fn, solve,
};
use std::ops::ControlFlow;
use std::sync::Mutex;

pub fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|v| (v - 0.3) * (v - 0.3)).sum()
}

pub fn rosenbrock(x: &[f64]) -> f64 {
    x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum()
}

fn rastrigin(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v + 10.0 * (1.0 - (std::f64::consts::TAU * v).cos())).sum()
}

fn auto() -> CboConfig {
    CboConfig { method: Method::Auto(Auto::default()), max_evaluations: Some(600), ..CboConfig::default() }
}

pub fn in_box(dim: usize, low: f64, high: f64) -> CboConfig {
    let bounds = vec![(low, high); dim];
    CboConfig { init: InitialLaw::uniform(&bounds), bounds: Some(bounds), ..auto() }
}

pub fn run(config: &CboConfig, dim: usize, f: impl Fn(&[f64]) -> f64 + Sync) -> RunReport<f64> {
    solve(config, &from_fn(dim, f), &mut ()).expect("a run")
}

/// The points and values of a run, in their order.
fn trace(config: &CboConfig, dim: usize, f: impl Fn(&[f64]) -> f64) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut ask = AskTell::<f64>::new(config, dim).expect("a run");
    let (mut points, mut values) = (Vec::new(), Vec::new());
    while ask.stopped().is_none() {
        let rows: Vec<Vec<f64>> = ask.ask().iter().map(<[f64]>::to_vec).collect();
        let energies: Vec<f64> = rows.iter().map(|x| f(x)).collect();
        ask.tell(&energies, &mut ()).expect("values");
        points.extend(rows);
        values.extend(energies);
    }
    (points, values)
}

pub fn bits<T: Scalar>(point: &cbo::Evaluated<T>) -> (Vec<u64>, u64) {
    (point.x.iter().map(|x| x.to_f64().to_bits()).collect(), point.value.to_bits())
}

#[test]
fn every_budget_is_kept_exactly() {
    for dim in [1, 2, 5] {
        for budget in 1..=500 {
            let count = Mutex::new(0u64);
            let config = CboConfig { max_evaluations: Some(budget), ..in_box(dim, -2.0, 3.0) };
            let report = run(&config, dim, |x| {
                *count.lock().expect("a count") += 1;
                rosenbrock(x) + sphere(x)
            });
            let counted = *count.lock().expect("a count");
            assert_eq!(report.evaluations(), counted);
            assert!(counted == budget || report.stop() == StopReason::Converged, "{counted} of {budget} in {dim}-D");
            assert!(report.best().value.is_finite());
        }
    }
}

#[test]
fn a_budget_is_kept_whatever_a_round_should_have() {
    for batch in [1, 3, 8, 50, 1000] {
        for budget in [1, 7, 60, 333] {
            let config = CboConfig { batch: Some(batch), max_evaluations: Some(budget), ..in_box(4, -2.0, 3.0) };
            let rounds = Mutex::new(Vec::new());
            let mut watch = |step: &StepReport<'_, f64>| {
                rounds.lock().expect("rounds").push((step.ensemble().len(), step.energies().len()));
                ControlFlow::Continue(())
            };
            let report = solve(&config, &from_fn(4, rosenbrock), &mut watch).expect("a run");
            assert_eq!(report.evaluations(), budget);
            let rounds = rounds.into_inner().expect("rounds");
            assert_eq!(rounds.iter().map(|r| r.0 as u64).sum::<u64>(), budget);
            assert!(rounds.iter().all(|r| r.0 == r.1));
        }
    }
}

#[test]
fn every_round_has_as_many_points_as_it_should() {
    for batch in [2, 3, 8, 50] {
        let config = CboConfig { batch: Some(batch), max_evaluations: Some(900), ..in_box(4, -2.0, 3.0) };
        let mut rounds = Vec::new();
        let mut watch = |step: &StepReport<'_, f64>| {
            rounds.push(step.ensemble().len());
            ControlFlow::Continue(())
        };
        solve(&config, &from_fn(4, rosenbrock), &mut watch).expect("a run");
        assert!(rounds[..rounds.len() - 1].iter().all(|&points| points >= batch), "{batch}: {rounds:?}");
    }
}

/// An objective that says how it wants its rows, and notes how they come.
struct Grouped(Grouping, Mutex<Vec<usize>>);

impl Objective<f64> for Grouped {
    fn dim(&self) -> usize {
        4
    }
    fn energies(&self, _: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        self.1.lock().expect("calls").push(rows.len());
        rows.iter().zip(out).for_each(|(x, e)| *e = rosenbrock(x));
        Ok(())
    }
    fn grouping(&self) -> Grouping {
        self.0
    }
}

#[test]
fn threads_and_grouping_do_not_matter() {
    for batch in [None, Some(6), Some(1500)] {
        let config = CboConfig { batch, max_evaluations: Some(2000), ..in_box(4, -2.0, 2.0) };
        let mut results = Vec::new();
        for grouping in [Grouping::Blocks, Grouping::Single, Grouping::Together] {
            for threads in [1, 2, 4] {
                let objective = Grouped(grouping, Mutex::default());
                let report = solve(&CboConfig { threads, ..config.clone() }, &objective, &mut ()).expect("a run");
                let calls = objective.1.into_inner().expect("calls");
                assert_eq!(calls.iter().sum::<usize>() as u64, report.evaluations());
                match grouping {
                    Grouping::Single => assert!(calls.iter().all(|&rows| rows == 1)),
                    Grouping::Together => assert_eq!(calls.len() as u64, report.steps() + 1),
                    _ => assert!(calls.len() as u64 > report.steps()),
                }
                results.push((bits(report.best()), report.evaluations(), report.steps()));
            }
        }
        assert!(results.windows(2).all(|w| w[0] == w[1]), "{results:?}");
    }
}

#[test]
fn bounds_on_both_sides_on_one_or_on_none() {
    let (open, start) =
        (f64::INFINITY, |low: f64, high: f64| InitialLaw::Uniform { low: low.into(), high: high.into() });
    let sides = [(-open, open), (0.5, open), (-open, 0.5), (-4.0, 4.0), (5.0, 9.0), (5.0, open), (-open, -5.0)];
    for (low, high) in sides {
        for handling in [BoundHandling::Reflect, BoundHandling::Clip] {
            let config = CboConfig {
                bounds: Some(vec![(low, high); 3]),
                bound_handling: handling,
                init: start(-3.0, 3.0),
                max_evaluations: Some(2000),
                ..auto()
            };
            let report = run(&config, 3, |x| {
                assert!(x.iter().all(|v| low <= *v && *v <= high), "{x:?} outside [{low}, {high}]");
                sphere(x)
            });
            let nearest = 0.3f64.clamp(low, high);
            assert!(report.best().x.iter().all(|v| (v - nearest).abs() < 1e-3), "[{low}, {high}]: {:?}", report.best());
        }
    }
}

#[test]
fn starts_of_every_kind() {
    let normal = |mean: f64, variance: f64| InitialLaw::Normal { mean: mean.into(), variance: variance.into() };
    let points = |count: usize| InitialLaw::Points((0..3 * count).map(|i| (i % 7) as f64).collect());
    let starts = [normal(2.0, 1.0), normal(2.0, 0.0), normal(-1e4, 0.0), points(1), points(5)];
    for init in starts {
        for local in [false, true] {
            let method = Method::Auto(Auto { local });
            let config = CboConfig { method, init: init.clone(), max_evaluations: Some(3000), ..auto() };
            let report = run(&config, 3, sphere);
            assert!(report.best().value < 1e-4, "{init}: {:?}", report.best());
        }
    }
    // A start without a spread in a box has that of the box.
    let bounds = vec![(-1e9, 1e9), (-1e-9, 1e-9)];
    let config = CboConfig { init: normal(0.0, 0.0), bounds: Some(bounds), max_evaluations: Some(2000), ..auto() };
    let report = run(&config, 2, |x| (x[0] / 1e9 - 0.3).powi(2) + (x[1] / 1e-9 + 0.2).powi(2));
    assert!(report.best().value < 1e-6, "{:?}", report.best());
}

#[test]
fn a_start_may_be_far_away() {
    for variance in [1e-4, 1e-12] {
        let init = InitialLaw::Normal { mean: 0.0.into(), variance: variance.into() };
        let report = run(&CboConfig { init, max_evaluations: Some(3000), ..auto() }, 3, sphere);
        assert!(report.best().value < 1e-4, "{variance}: {:?}", report.best());
    }
}

#[test]
fn units_of_coordinates_do_not_matter() {
    // Powers of two, so that nothing is rounded: 2^-30 is about 1e-9.
    let units = [2f64.powi(-30), 2f64.powi(30), 1.0, 2f64.powi(-3)];
    let plain = in_box(4, -2.0, 2.0);
    let scaled: Vec<(f64, f64)> = units.iter().map(|u| (-2.0 * u, 2.0 * u)).collect();
    let config = CboConfig { init: InitialLaw::uniform(&scaled), bounds: Some(scaled), ..auto() };
    let (points, values) = trace(&plain, 4, rosenbrock);
    let (others, same) =
        trace(&config, 4, |x| rosenbrock(&x.iter().zip(units).map(|(x, u)| x / u).collect::<Vec<_>>()));
    assert_eq!(values, same);
    for (x, y) in points.iter().zip(&others) {
        assert!(x.iter().zip(y).zip(units).all(|((x, y), u)| x * u == *y));
    }
}

#[test]
fn the_scale_of_values_does_not_matter() {
    for f in [rosenbrock, rastrigin, sphere] {
        let config = CboConfig { max_evaluations: Some(1500), ..in_box(3, -2.0, 2.5) };
        let (points, _) = trace(&config, 3, f);
        // Even powers, of which square roots are exact.
        for power in [-100, -2, 8, 100] {
            let (others, _) = trace(&config, 3, |x| 2f64.powi(power) * f(x));
            let differs = points.iter().zip(&others).position(|(x, y)| x != y);
            assert_eq!((differs, others.len()), (None, points.len()), "2^{power}");
        }
    }
}

#[test]
fn a_constant_does_not_matter() {
    // Multiples of 2^-20 below 2^12: sums with the constants are exact.
    let rounded = |f: fn(&[f64]) -> f64| move |x: &[f64]| (f(x) * 1048576.0).round() / 1048576.0;
    for f in [rosenbrock, sphere] {
        let config = CboConfig { max_evaluations: Some(400), ..in_box(3, -1.5, 1.75) };
        let (points, _) = trace(&config, 3, rounded(f));
        for constant in [1.0, -1.0, 1024.0, -65536.0] {
            let (others, _) = trace(&config, 3, |x| rounded(f)(x) + constant);
            let differs = points.iter().zip(&others).position(|(x, y)| x != y);
            assert_eq!((differs, others.len()), (None, points.len()), "+ {constant}");
        }
    }
}

#[test]
fn failures_and_infeasible_points_are_counted() {
    let config = CboConfig { max_evaluations: Some(1500), ..in_box(2, -1.0, 1.0) };
    for (bad, failed) in [(f64::NAN, true), (f64::NEG_INFINITY, true), (f64::INFINITY, false)] {
        let count = Mutex::new(0);
        let report = run(&config, 2, |x| {
            if x[0] < -0.2 {
                *count.lock().expect("a count") += 1;
                return bad;
            }
            sphere(x)
        });
        let count = count.into_inner().expect("a count");
        let counted = (report.failed_evaluations(), report.infeasible_evaluations());
        assert_eq!(counted, if failed { (count, 0) } else { (0, count) });
        assert!(count > 0 && report.best().value < 1e-6, "{bad}: {:?}", report.best());
        let strict = solve(&CboConfig { strict: true, ..config.clone() }, &from_fn(2, |_: &[f64]| bad), &mut ());
        match strict.expect_err("no value at all") {
            SolveError::Strict { step: 0, particle: 0, .. } => assert!(failed),
            SolveError::NoFiniteEnergy { evaluated: 1500, infeasible: 1500, .. } => assert!(!failed),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn a_run_that_finds_no_value_says_so() {
    let config = CboConfig { max_evaluations: Some(40), ..in_box(2, -1.0, 1.0) };
    let error = solve(&config, &from_fn(2, |_: &[f64]| f64::NAN), &mut ()).expect_err("no value");
    assert!(matches!(error, SolveError::NoFiniteEnergy { evaluated: 40, failed: 40, infeasible: 0, .. }), "{error}");
    let mut ask = AskTell::<f64>::new(&config, 2).expect("a run");
    let outcome = loop {
        let count = ask.ask().len();
        match ask.tell(&vec![f64::INFINITY; count], &mut ()) {
            Ok(None) => (),
            outcome => break outcome,
        }
    };
    assert!(matches!(outcome, Err(SolveError::NoFiniteEnergy { infeasible: 40, .. })));
}

#[test]
fn each_stop_stops() {
    let config = in_box(3, -2.0, 2.0);
    let target = run(&CboConfig { target: Some(1e-2), ..config.clone() }, 3, sphere);
    assert_eq!(target.stop(), StopReason::Target);
    assert!(target.best().value <= 1e-2 && target.evaluations() < 600 && target.message().contains("0.01"));
    let flat = run(&CboConfig { stagnation: Some(5), ..config.clone() }, 3, |_| 1.0);
    assert_eq!((flat.stop(), flat.steps()), (StopReason::Stagnation, 5), "{}", flat.message());
    let slow = CboConfig { max_seconds: Some(0.05), max_evaluations: Some(10_000_000), ..config.clone() };
    let slow = run(&slow, 3, |x| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        rosenbrock(x)
    });
    assert_eq!(slow.stop(), StopReason::Seconds);
    let mut stop = |step: &StepReport<'_, f64>| {
        if step.step() == 4 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let observed = solve(&config, &from_fn(3, rosenbrock), &mut stop).expect("a run");
    assert_eq!((observed.stop(), observed.steps()), (StopReason::Observer, 4));
    let spent = run(&config, 3, rosenbrock);
    assert_eq!((spent.stop(), spent.evaluations()), (StopReason::Evaluations, 600));
    for report in [target, flat, slow, observed, spent] {
        let message = report.message();
        assert!(message.ends_with('.') && message.starts_with(|c: char| c.is_uppercase() || c.is_ascii_digit()));
    }
}

#[test]
fn without_a_limit_a_run_ends() {
    let report = run(&CboConfig { max_evaluations: None, ..in_box(2, -2.0, 2.0) }, 2, rosenbrock);
    assert!(matches!(report.stop(), StopReason::Converged | StopReason::Evaluations));
    assert!(report.evaluations() <= 20_000 && report.best().value < 1e-8, "{:?}", report.best());
    assert!(!report.message().is_empty());
}

#[test]
fn plateaus_integers_and_constants_end() {
    let functions: [fn(&[f64]) -> f64; 4] = [
        |_| 1.0,
        |x| x.iter().map(|v| v.round().abs()).sum(),
        |x| x.iter().map(|v| v.signum()).sum(),
        |x| if x[0] > 0.5 { -1e300 } else { 1e300 * x[0] },
    ];
    for (i, f) in functions.into_iter().enumerate() {
        for max_evaluations in [Some(3000), None] {
            let report = run(&CboConfig { max_evaluations, ..in_box(2, -4.0, 4.0) }, 2, f);
            assert!(report.best().value.is_finite() && report.evaluations() <= 20_000, "function {i}");
        }
    }
}

#[test]
fn steps_are_reported_in_the_users_coordinates() {
    let config = in_box(3, 10.0, 14.0);
    let mut last = 0;
    let mut watch = |step: &StepReport<'_, f64>| {
        assert!(step.consensus().iter().all(|x| (10.0..=14.0).contains(x)), "{:?}", step.consensus());
        assert!(step.ensemble().rows().as_slice().iter().all(|x| (10.0..=14.0).contains(x)));
        assert!(step.sigma() >= 0.0 && step.effective_sample_size() >= 1.0 && step.alpha() == f64::INFINITY);
        assert!(step.least() >= step.best().value && step.evaluations() > last);
        assert!(step.time() == 0.0 && step.epoch() == 0 && !step.kicked() && step.evaluated().is_none());
        last = step.evaluations();
        ControlFlow::Continue(())
    };
    let report =
        solve(&config, &from_fn(3, |x: &[f64]| rosenbrock(&[x[0] - 11.0, x[1] - 12.0, x[2] - 12.5])), &mut watch);
    let report = report.expect("a run");
    assert_eq!(report.ensemble().len(), report.energies().len());
    assert!(report.phases().iter().all(|phase| phase.from <= phase.to && phase.to <= report.evaluations()));
}

#[test]
fn settings_of_the_dynamics_are_refused_by_name() {
    let usual = auto();
    let wrong = [
        ("particles", CboConfig { particles: 100, ..usual.clone() }),
        ("lambda", CboConfig { lambda: 2.0, ..usual.clone() }),
        ("sigma", CboConfig { sigma: cbo::Sigma::Constant(1.0), ..usual.clone() }),
        ("alpha", CboConfig { alpha: cbo::Alpha::Constant(30.0), ..usual.clone() }),
        ("dt", CboConfig { dt: 0.01, ..usual.clone() }),
        ("diffusion", CboConfig { diffusion: cbo::Diffusion::Isotropic, ..usual.clone() }),
        ("scheme", CboConfig { scheme: cbo::Scheme::DriftFirst, ..usual.clone() }),
        ("update", CboConfig { update: cbo::Update::Partial, ..usual.clone() }),
        ("kick", CboConfig { kick: Some(1e-3), ..usual.clone() }),
        ("freeze", CboConfig { freeze: Some(vec![0.0; 2]), ..usual.clone() }),
        ("epoch_steps", CboConfig { epoch_steps: Some(3), ..usual.clone() }),
        ("reduction", CboConfig { reduction: Some(Reduction::default()), ..usual.clone() }),
        ("steps", CboConfig { steps: Some(10), ..usual.clone() }),
        ("time", CboConfig { time: Some(1.0), ..usual.clone() }),
        ("diameter", CboConfig { diameter: Some(1e-3), ..usual.clone() }),
        ("batch", CboConfig { batch: Some(0), ..usual.clone() }),
        ("max_evaluations", CboConfig { max_evaluations: Some(0), ..usual.clone() }),
        ("init", CboConfig { init: InitialLaw::Points(vec![0.0; 3]), ..usual.clone() }),
        ("init", CboConfig { init: InitialLaw::Points(vec![]), ..usual.clone() }),
        ("init", CboConfig { init: InitialLaw::uniform(&[(-1.5e308, 1.5e308); 2]), ..usual.clone() }),
    ];
    for (field, config) in wrong {
        let error = config.check(2).expect_err(field);
        assert_eq!(error.field, field, "{error}");
    }
    let error = CboConfig { kick: Some(1e-3), ..usual.clone() }.check(2).expect_err("a kick");
    assert!(error.to_string().contains("use method cbo"), "{error}");
    for batch in [1, 7, 401, 100_000] {
        assert!(CboConfig { batch: Some(batch), ..usual.clone() }.check(2).is_ok());
    }
    assert!(CboConfig { max_evaluations: Some(1), ..usual.clone() }.check(2).is_ok());
    assert!(CboConfig { init: InitialLaw::Points(vec![0.5; 6]), ..usual.clone() }.check(2).is_ok());
    assert!(
        CboConfig { init: InitialLaw::Normal { mean: 0.0.into(), variance: Coordinates::All(0.0) }, ..usual }
            .check(2)
            .is_ok()
    );
}

struct Stochastic;

impl Objective<f64> for Stochastic {
    fn dim(&self) -> usize {
        2
    }
    fn energies(&self, _: StepContext, _: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        out.fill(0.0);
        Ok(())
    }
    fn is_stochastic(&self) -> bool {
        true
    }
}

#[test]
fn stochastic_objectives_are_refused() {
    let error = solve(auto(), &Stochastic, &mut ()).expect_err("data batches");
    assert!(error.to_string().contains("use method cbo"), "{error}");
}

#[test]
fn an_objective_that_gives_up_ends_the_run_with_its_row() {
    struct Fails;
    impl Objective<f64> for Fails {
        fn dim(&self) -> usize {
            2
        }
        fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
            rows.iter().zip(out).for_each(|(x, e)| *e = sphere(x));
            if at.step < 2 { Ok(()) } else { Err(EvalError { row: Some(0), ..EvalError::new("no licence") }) }
        }
        fn grouping(&self) -> Grouping {
            Grouping::Single
        }
    }
    let config = CboConfig { batch: Some(4), threads: 3, ..in_box(2, -1.0, 1.0) };
    match solve(&config, &Fails, &mut ()).expect_err("a failure") {
        SolveError::Evaluation { step: 2, source } => assert_eq!(source.row, Some(0)),
        other => panic!("{other}"),
    }
}

#[test]
fn a_start_that_is_given_is_evaluated_first() {
    let init = InitialLaw::Normal { mean: vec![0.25, -0.5].into(), variance: 1.0.into() };
    for local in [false, true] {
        let method = Method::Auto(Auto { local });
        let config = CboConfig { method, init: init.clone(), max_evaluations: Some(1), ..CboConfig::default() };
        let run = solve(&config, &from_fn(2, |x: &[f64]| x[0] + x[1]), &mut ()).expect("a run");
        assert_eq!((run.best().x.as_slice(), run.best().value), ([0.25, -0.5].as_slice(), -0.25));
    }
}
