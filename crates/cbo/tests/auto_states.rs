//! The states of the method `auto`: a run that is cut off anywhere goes on as if it had not been.

use crate::auto::{bits, in_box, rosenbrock, run, sphere};
use cbo::{AskTell, Auto, CboConfig, Method, StateError, StepReport, StopReason, from_fn, resume, solve};
use std::ops::ControlFlow;
use std::sync::Mutex;

#[test]
fn a_run_that_is_resumed_after_any_round_is_the_same_run() {
    let config = CboConfig { max_evaluations: Some(250), ..in_box(3, -2.0, 2.0) };
    let objective = from_fn(3, rosenbrock);
    let mut states = Vec::new();
    let mut keep = |step: &StepReport<'_, f64>| {
        states.push((step.step(), step.evaluations(), step.state()));
        ControlFlow::Continue(())
    };
    let whole = solve(&config, &objective, &mut keep).expect("a run");
    assert!(states.len() > 20);
    for (step, evaluations, state) in &states {
        let asked = Mutex::new(0);
        let counting = from_fn(3, |x: &[f64]| {
            *asked.lock().expect("a count") += 1;
            rosenbrock(x)
        });
        let mut first = None;
        let mut watch = |step: &StepReport<'_, f64>| {
            first = first.or(Some(step.step()));
            ControlFlow::Continue(())
        };
        let again = resume(&config, &counting, &mut watch, state).expect("a run");
        assert_eq!(bits(again.best()), bits(whole.best()), "resumed after round {step}");
        assert_eq!(bits(again.consensus()).0, bits(whole.consensus()).0);
        assert_eq!((again.evaluations(), again.steps(), again.stop()), (250, whole.steps(), whole.stop()));
        assert_eq!(asked.into_inner().expect("a count"), 250 - evaluations, "only what is new is evaluated");
        assert!(first.is_none_or(|first| first == step + 1));
        assert!(again.seconds() >= 0.0);
    }
}

#[test]
fn a_larger_budget_continues_a_run_and_can_be_resumed_itself() {
    let objective = from_fn(3, rosenbrock);
    let at = |budget: u64| CboConfig { max_evaluations: Some(budget), batch: Some(5), ..in_box(3, -2.0, 2.0) };
    // 101 cuts a round.
    let mut state = Vec::new();
    let mut keep = |step: &StepReport<'_, f64>| {
        state = step.state();
        ControlFlow::Continue(())
    };
    let short = solve(at(101), &objective, &mut keep).expect("a run");
    assert_eq!((short.evaluations(), short.stop()), (101, StopReason::Evaluations));
    let mut later = Vec::new();
    let mut keep_all = |step: &StepReport<'_, f64>| {
        later.push(step.state());
        ControlFlow::Continue(())
    };
    let long = resume(at(300), &objective, &mut keep_all, &state).expect("a run");
    assert_eq!(long.evaluations(), 300);
    assert!(long.best().value <= short.best().value);
    for state in &later {
        let again = resume(at(300), &objective, &mut (), state).expect("a run");
        assert_eq!((bits(again.best()), again.evaluations()), (bits(long.best()), 300));
    }
    // With less than it has spent, or with as much, it ends where it is.
    for budget in [50, 101] {
        let ended = resume(at(budget), &objective, &mut (), &state).expect("a run");
        assert_eq!((ended.evaluations(), ended.stop()), (101, StopReason::Evaluations));
    }
}

#[test]
fn asking_and_telling_is_solving_and_is_saved_anywhere() {
    let config = in_box(4, -2.0, 2.0);
    let whole = run(&config, 4, rosenbrock);
    let mut ask = AskTell::<f64>::new(&config, 4).expect("a run");
    let mut rounds = 0;
    while ask.stopped().is_none() {
        if rounds % 7 == 3 {
            ask = AskTell::load(&config, 4, &ask.save()).expect("a state before asking");
        }
        let energies: Vec<f64> = ask.ask().iter().map(rosenbrock).collect();
        if rounds % 7 == 5 {
            let points = ask.ask().as_slice().to_vec();
            ask = AskTell::load(&config, 4, &ask.save()).expect("a state before telling");
            assert_eq!(ask.ask().as_slice(), points);
        }
        ask.tell(&energies, &mut ()).expect("values");
        rounds += 1;
    }
    let report = ask.report();
    assert_eq!((bits(report.best()), report.evaluations()), (bits(whole.best()), whole.evaluations()));
    assert_eq!((report.stop(), report.steps(), ask.step()), (whole.stop(), whole.steps(), whole.steps()));
    assert!(report.consensus().value.is_nan() && report.time() == 0.0 && report.alpha() == f64::INFINITY);
    // Nothing more is asked for, and nothing comes of telling nothing.
    assert!(ask.ask().is_empty());
    assert_eq!(ask.tell(&[], &mut ()).expect("nothing"), Some(StopReason::Evaluations));
    assert_eq!(ask.report().evaluations(), whole.evaluations());
}

#[test]
fn single_precision_runs_and_resumes() {
    let config = in_box(3, -2.0, 2.0);
    let objective = from_fn(3, |x: &[f32]| x.iter().map(|v| (v - 0.3) * (v - 0.3)).sum::<f32>());
    let mut state = Vec::new();
    let mut keep = |step: &StepReport<'_, f32>| {
        if step.step() == 3 {
            state = step.state();
        }
        ControlFlow::Continue(())
    };
    let whole = solve(&config, &objective, &mut keep).expect("a run");
    assert!(whole.best().x.iter().all(|x| (x - 0.3).abs() < 1e-3), "{:?}", whole.best());
    let again = resume(&config, &objective, &mut (), &state).expect("a run");
    assert_eq!(bits(again.best()), bits(whole.best()));
    let error = resume(&config, &from_fn(3, sphere), &mut (), &state).expect_err("another precision");
    assert!(matches!(error, StateError::Differs { field: "precision", .. }), "{error}");
}

#[test]
fn states_of_other_runs_are_refused() {
    let config = in_box(2, -2.0, 2.0);
    let mut ask = AskTell::<f64>::new(&config, 2).expect("a run");
    for _ in 0..12 {
        let energies: Vec<f64> = ask.ask().iter().map(rosenbrock).collect();
        ask.tell(&energies, &mut ()).expect("values");
    }
    let state = ask.save();
    let refused = |config: &CboConfig| AskTell::<f64>::load(config, 2, &state).expect_err("another run");
    for (field, other) in [
        ("seed", CboConfig { seed: 1, ..config.clone() }),
        ("batch", CboConfig { batch: Some(8), ..config.clone() }),
        ("method", CboConfig { method: Method::Auto(Auto { local: true }), ..config.clone() }),
        ("method", CboConfig { method: Method::Cbo, ..config.clone() }),
    ] {
        match refused(&other) {
            StateError::Differs { field: named, .. } => assert_eq!(named, field),
            other => panic!("{field}: {other}"),
        }
    }
    let elsewhere = refused(&in_box(2, -2.0, 3.0));
    assert!(matches!(elsewhere, StateError::Diverged), "{elsewhere}");
    for at in 0..state.len() {
        let mut damaged = state.clone();
        damaged[at] ^= 1;
        assert!(AskTell::<f64>::load(&config, 2, &damaged).is_err());
        assert!(AskTell::<f64>::load(&config, 2, &state[..at]).is_err());
    }
    // A strict run goes on from failures that were accepted then.
    let mut ask = AskTell::<f64>::new(&config, 2).expect("a run");
    let count = ask.ask().len();
    ask.tell(&vec![f64::NAN; count], &mut ()).expect("failures");
    let state = ask.save();
    let strict = CboConfig { strict: true, ..config };
    assert_eq!(AskTell::<f64>::load(&strict, 2, &state).expect("a run").step(), 0);
}
