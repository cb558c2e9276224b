//! Runs that end within a step: what was finished counts, and a run that goes on is the run that never stopped, bit for bit.

use cbo::{
    Answers, AskTell, Auto, CboConfig, EvalError, Grouping, InitialLaw, Memory, Method, Objective, Observer, Rows,
    RunReport, Scalar, Sigma, SolveError, StateError, StepContext, StepReport, StopReason, from_fn, resume, solve,
};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const DIM: usize = 3;

fn bumpy<T: Scalar>(x: &[T]) -> T {
    T::from_f64(x.iter().map(|x| (x.to_f64() - 1.0).powi(2) * (1.0 + x.to_f64().sin().powi(2))).sum())
}

fn variants() -> Vec<CboConfig> {
    let base = CboConfig {
        particles: 20,
        sigma: Sigma::Constant(0.7),
        steps: Some(4),
        init: InitialLaw::uniform(&[(-3.0, 3.0); DIM]),
        seed: 5,
        threads: 1,
        ..CboConfig::default()
    };
    let memory = |beta| Method::Memory(Memory { beta, ..Memory::default() });
    vec![
        base.clone(),
        CboConfig { batch: Some(5), kick: Some(0.05), ..base.clone() },
        CboConfig { reduction: Some(Default::default()), epoch_steps: Some(2), ..base.clone() },
        CboConfig { method: memory(f64::INFINITY), ..base.clone() },
        CboConfig { method: "hopping:momentum=0.9,start=point".parse().expect("a method"), ..base.clone() },
        CboConfig { method: memory(2.0), batch: Some(10), ..base.clone() },
        CboConfig {
            method: Method::Auto(Auto::default()),
            batch: Some(6),
            max_evaluations: Some(60),
            init: base.init.clone(),
            seed: 5,
            threads: 1,
            ..CboConfig::default()
        },
    ]
}

/// Answers this many times, then leaves the rest without an answer, or gives up.
struct Tires {
    after: usize,
    gives_up: bool,
    asked: AtomicUsize,
}

impl Tires {
    fn new(after: usize, gives_up: bool) -> Self {
        Self { after, gives_up, asked: AtomicUsize::new(0) }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl<T: Scalar> Objective<T> for Tires {
    fn dim(&self) -> usize {
        DIM
    }
    fn energies(&self, _: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.asked.fetch_add(rows.len(), Ordering::Relaxed);
        rows.iter().zip(out).for_each(|(x, e)| *e = bumpy(x));
        Ok(())
    }
    fn energies_one_by_one(&self, _: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        // From the last to the first: answers may come in any order.
        for row in (0..rows.len()).rev() {
            if self.asked() == self.after {
                return if self.gives_up { Err(EvalError::new("no licence")) } else { Ok(()) };
            }
            self.asked.fetch_add(1, Ordering::Relaxed);
            answers.give(row, bumpy(rows.row(row)));
        }
        Ok(())
    }
    fn grouping(&self) -> Grouping {
        Grouping::Together
    }
}

/// Keeps everything that it is told, as bits, and the state at the end.
#[derive(Default)]
struct Listener {
    seen: Vec<Vec<u64>>,
    ended: Option<(StopReason, u64)>,
    failed: Option<(u64, f64)>,
    state: Vec<u8>,
}

impl<T: Scalar> Observer<T> for Listener {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let numbers = step.ensemble().rows().as_slice().iter().chain(step.energies()).chain(&step.best().x);
        let mut bits: Vec<u64> = numbers.map(|x| x.to_f64().to_bits()).collect();
        bits.extend(step.consensus().iter().map(|x| x.to_bits()));
        bits.extend([step.step(), step.evaluations(), step.best().value.to_bits()]);
        self.seen.push(bits);
        ControlFlow::Continue(())
    }

    fn ended(&mut self, step: &StepReport<'_, T>, reason: StopReason) {
        (self.ended, self.state) = (Some((reason, step.evaluations())), step.state());
    }

    fn failed(&mut self, step: &StepReport<'_, T>, _: &SolveError) {
        (self.failed, self.state) = (Some((step.evaluations(), step.best().value)), step.state());
    }
}

fn run<T: Scalar>(
    config: &CboConfig,
    objective: &Tires,
    listener: &mut Listener,
    state: Option<&[u8]>,
) -> Result<RunReport<T>, StateError> {
    match state {
        None => Ok(solve(config, objective, listener)?),
        Some(state) => resume(config, objective, listener, state),
    }
}

fn goes_on_where_it_was<T: Scalar>(config: &CboConfig, gives_up: bool) {
    let (never, mut undisturbed) = (Tires::new(usize::MAX, false), Listener::default());
    let whole = run::<T>(config, &never, &mut undisturbed, None).expect("a run");
    let all = never.asked();
    for after in 1..all - 1 {
        let (mut listener, mut state, mut asked) = (Listener::default(), None, 0);
        // Cut twice, then to the end.
        for limit in [after, 3, usize::MAX] {
            let objective = Tires::new(limit, gives_up);
            let outcome = run::<T>(config, &objective, &mut listener, state.as_deref());
            asked += objective.asked();
            match outcome {
                Err(error) => {
                    assert!(gives_up && error.to_string().contains("the objective failed"), "{error}");
                    let (evaluations, best) = listener.failed.take().expect("told of it");
                    assert!(evaluations == asked as u64 && best.is_finite(), "{evaluations} {asked} {best}");
                }
                Ok(report) if report.stop() == StopReason::Observer => {
                    assert_eq!((gives_up, report.evaluations()), (false, asked as u64));
                    assert_eq!(listener.ended.take(), Some((StopReason::Observer, asked as u64)));
                    assert!(report.best().value.is_finite() && report.consensus().value.is_nan());
                    assert_eq!(bumpy::<T>(&report.best().x).to_f64(), report.best().value);
                }
                Ok(report) => {
                    assert_eq!((report.best(), report.stop()), (whole.best(), whole.stop()));
                    assert_eq!((report.evaluations(), asked), (whole.evaluations(), all), "nothing is evaluated twice");
                    break;
                }
            }
            state = Some(std::mem::take(&mut listener.state));
        }
        assert!(listener.seen == undisturbed.seen, "cut after {after}: {config:?}");
        assert_eq!(asked, all, "it came to its end");
    }
}

#[test]
fn a_step_that_was_cut_is_finished_later() {
    for config in variants() {
        goes_on_where_it_was::<f64>(&config, false);
    }
    goes_on_where_it_was::<f32>(&variants()[4], false);
    goes_on_where_it_was::<f32>(&variants()[5], false);
}

#[test]
fn a_step_in_which_the_objective_failed_is_finished_later() {
    for config in variants() {
        goes_on_where_it_was::<f64>(&config, true);
    }
}

#[test]
fn a_target_holds_for_each_evaluation_of_a_costly_objective() {
    for config in variants() {
        let count = AtomicUsize::new(0);
        // The eighth evaluation reaches it.
        let objective =
            from_fn(DIM, |x: &[f64]| if count.fetch_add(1, Ordering::Relaxed) == 7 { -1.0 } else { bumpy(x) });
        let config = CboConfig { target: Some(-0.5), ..config };
        let mut listener = Listener::default();
        let report = solve(&config, &objective.costly(), &mut listener).expect("a run");
        assert_eq!((report.stop(), report.evaluations(), report.best().value), (StopReason::Target, 8, -1.0));
        assert_eq!(count.load(Ordering::Relaxed), 8, "{config:?}");
        assert_eq!(listener.ended, Some((StopReason::Target, 8)));
        // One that is resumed has reached it already.
        let again = resume(&config, &from_fn(DIM, bumpy::<f64>).costly(), &mut (), &listener.state).expect("a run");
        assert_eq!((again.stop(), again.evaluations(), again.best()), (StopReason::Target, 8, report.best()));
    }
}

/// The step after the first asks a smooth memory twice: for the positions, and then for what the particles remember.
#[test]
fn a_step_of_two_rounds_counts_both() {
    let (config, count) = (CboConfig { batch: None, ..variants()[4].clone() }, AtomicUsize::new(0));
    let particles = config.particles;
    for (place, asked) in [(30, 47), (39, 43), (42, 45)] {
        // The lowest value comes at this place; a failed one comes before it, in the first round.
        let objective = from_fn(DIM, |x: &[f64]| match count.fetch_add(1, Ordering::Relaxed) {
            25 => f64::NAN,
            at if at == place => -1.0,
            _ => bumpy(x),
        });
        count.store(0, Ordering::Relaxed);
        let mut run = AskTell::<f64>::new(&config, DIM).expect("a run");
        let energy = |x: &[f64]| {
            let mut out = [0.0];
            objective.energies(StepContext::default(), Rows::new(x, DIM), &mut out).expect("a value");
            out[0]
        };
        for _ in 0..2 {
            let energies: Vec<f64> = run.ask().iter().map(energy).collect();
            run.tell(&energies, &mut ()).expect("energies");
        }
        let (answers, points) = (run.answers(), run.ask());
        (0..asked - 2 * particles).for_each(|row| answers.give(row, energy(points.row(row))));
        run.take(answers, &mut ()).expect("an end");
        let report = run.report();
        assert_eq!((report.best().value, report.evaluations()), (-1.0, asked as u64));
        assert_eq!(report.failed_evaluations(), 1);

        count.store(0, Ordering::Relaxed);
        let config = CboConfig { target: Some(-0.5), ..config.clone() };
        let report = solve(&config, &objective.costly(), &mut ()).expect("a run");
        assert_eq!((report.stop(), report.evaluations()), (StopReason::Target, place as u64 + 1));
    }
}

#[test]
fn the_time_is_over_within_a_step() {
    for costly in [true, false] {
        for config in variants() {
            // A cheap objective is left half evaluated only by `auto`, which looks at how long it takes.
            if !costly && !matches!(config.method, Method::Auto(_)) {
                continue;
            }
            let config = CboConfig { max_seconds: Some(1e-3), ..config };
            let objective = from_fn(DIM, |x: &[f64]| {
                std::thread::sleep(Duration::from_millis(2));
                bumpy(x)
            });
            let objective = if costly { objective.costly() } else { objective };
            let report = solve(&config, &objective, &mut ()).expect("a run");
            assert_eq!((report.stop(), report.evaluations()), (StopReason::Seconds, 1), "{config:?}");
            assert!(report.best().value.is_finite() && report.message().contains("0.001 seconds"));
            assert_eq!(report.energies().iter().filter(|e| !e.is_nan()).count(), 1);
        }
    }
}

#[test]
fn a_run_that_ends_before_it_found_anything_says_so() {
    for config in variants() {
        let config = CboConfig { max_seconds: Some(1e-9), ..config };
        let error = solve(&config, &from_fn(DIM, |_: &[f64]| f64::NAN).costly(), &mut ()).expect_err("no value");
        assert!(matches!(error, SolveError::NoFiniteEnergy { evaluated: 1, failed: 1, .. }), "{error}");
    }
}

#[test]
fn by_ask_and_tell_a_step_is_left_and_finished_too() {
    for config in variants() {
        let (mut whole, mut cut) = (AskTell::<f64>::new(&config, DIM), AskTell::<f64>::new(&config, DIM));
        let (whole, cut) = (whole.as_mut().expect("a run"), cut.as_mut().expect("a run"));
        while whole.stopped().is_none() {
            let energies: Vec<f64> = whole.ask().iter().map(bumpy).collect();
            whole.tell(&energies, &mut ()).expect("energies");
            let (answers, before) = (cut.answers(), cut.report().evaluations());
            answers.give(2, energies[2]);
            answers.give(2, -7.0); // the first counts
            assert_eq!(cut.take(answers, &mut ()).expect("an end"), Some(StopReason::Observer));
            let report = cut.report();
            assert!(report.evaluations() == before + 1 && report.best().value <= energies[2]);
            *cut = AskTell::load(&config, DIM, &cut.save()).expect("a state");
            assert_eq!(cut.report().evaluations(), before + 1);
            let answers = cut.answers();
            energies.iter().enumerate().filter(|(row, _)| *row != 2).for_each(|(row, e)| answers.give(row, *e));
            assert_eq!(cut.take(answers, &mut ()).expect("a step"), whole.stopped());
        }
        assert_eq!((cut.report().best(), cut.save().len()), (whole.report().best(), whole.save().len()));
        assert!(cut.answers().deadline().is_none());
    }
}

/// Where the head of a state ends: magic, version, precision, method, dimension, seed and batch size.
const HEAD: usize = 8 + 4 + 4 + 16 + 3 * 8;

/// Version 3 has no word about constraints, version 2 none about steps that are left half evaluated.
#[test]
fn states_of_older_versions_are_read() {
    for config in variants() {
        let mut listener = Listener::default();
        let whole = solve(&config, &from_fn(DIM, bumpy::<f64>), &mut listener).expect("a run");
        let state = &listener.state;
        for (version, without) in [(3, 4), (2, 4 + 8)] {
            let mut older = [&state[..HEAD], &state[HEAD + 8..state.len() - without]].concat();
            older[8] = version;
            older.extend(crc32fast::hash(&older).to_le_bytes());
            let again = resume(&config, &from_fn(DIM, bumpy::<f64>), &mut (), &older).expect("a state");
            assert_eq!((again.best(), again.evaluations()), (whole.best(), whole.evaluations()));
        }
    }
}
