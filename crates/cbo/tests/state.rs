//! Runs step by step, and runs that are saved and resumed, are the run of `solve`, bit for bit.

use cbo::{
    Adam, Alpha, AskTell, CboConfig, Diffusion, History, Hypersurface, InitialLaw, Jumps, Memory, Method, Mirror,
    Polarised, Sampling, Scalar, Sigma, SolveError, Sphere, StateError, StepReport, StopReason, Update, from_fn,
    resume, solve,
};
use std::ops::ControlFlow;

const DIM: usize = 3;

fn bumpy<T: Scalar>(x: &[T]) -> T {
    T::from_f64(x.iter().map(|x| (x.to_f64() - 1.0).powi(2) * (1.0 + x.to_f64().sin().powi(2))).sum())
}

fn energies<T: Scalar>(run: &mut AskTell<T>) -> Vec<T> {
    run.ask().iter().map(bumpy).collect()
}

fn hard() -> Method {
    Method::Memory(Memory::default())
}

fn smooth() -> Method {
    Method::Memory(Memory { beta: 2.0, kappa: Some(5.0), theta: 0.1, ..Memory::default() })
}

fn polarised() -> Method {
    Method::Polarised(Polarised { kappa: 0.4, ..Polarised::default() })
}

fn sampling(law: bool) -> Method {
    Method::Sampling(Sampling { law })
}

fn variants() -> Vec<CboConfig> {
    let usual = CboConfig::default();
    let base = CboConfig {
        particles: 130,
        alpha: Alpha::Constant(3.0),
        sigma: Sigma::Constant(0.7),
        steps: Some(12),
        init: InitialLaw::uniform(&[(-3.0, 3.0); DIM]),
        seed: 5,
        ..CboConfig::default()
    };
    vec![
        base.clone(),
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() },
        CboConfig { batch: Some(26), kick: Some(0.05), ..base.clone() },
        CboConfig { batch: Some(26), update: Update::Partial, kick: Some(10.0), ..base.clone() },
        CboConfig { batch: Some(10), reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { steps: None, sigma: Sigma::Constant(0.1), ..base.clone() },
        CboConfig { max_evaluations: Some(700), bounds: Some(vec![(-2.0, 3.0); DIM]), ..base.clone() },
        CboConfig { method: hard(), kick: Some(0.05), ..base.clone() },
        CboConfig { method: "hopping:momentum=0.9,rate=0.2,cosine=true".parse().expect("a method"), ..base.clone() },
        CboConfig {
            method: "hopping:weights=ranks,start=point,antithetic=false".parse().expect("a method"),
            alpha: Alpha::Constant(f64::INFINITY),
            ..base.clone()
        },
        CboConfig { method: hard(), batch: Some(26), update: Update::Partial, ..base.clone() },
        CboConfig { method: hard(), reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { method: smooth(), max_evaluations: Some(700), ..base.clone() },
        CboConfig { method: smooth(), batch: Some(26), alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() },
        CboConfig { method: polarised(), kick: Some(0.05), ..base.clone() },
        CboConfig { method: polarised(), batch: Some(26), update: Update::Partial, ..base.clone() },
        CboConfig { method: polarised(), reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { method: sampling(true), sigma: usual.sigma, ..base.clone() },
        CboConfig { method: sampling(false), sigma: usual.sigma, batch: Some(26), ..base.clone() },
        CboConfig {
            method: sampling(false),
            sigma: usual.sigma,
            alpha: Alpha::EffectiveSampleSize(0.4),
            reduction: Some(Default::default()),
            epoch_steps: Some(3),
            ..base.clone()
        },
        CboConfig { method: Method::Jumps(Jumps { rate: 3.0, size: 1.0 }), ..base.clone() },
        CboConfig { method: adam(), max_evaluations: Some(700), ..base.clone() },
        CboConfig { method: adam(), batch: Some(26), kick: Some(0.05), ..base.clone() },
        CboConfig { method: adam(), reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { method: Method::Mirror(Mirror::Box), bounds: Some(vec![(-2.0, 3.0); DIM]), ..base.clone() },
        CboConfig { method: sparse(), batch: Some(26), update: Update::Partial, ..base.clone() },
        CboConfig { method: sparse(), reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { method: Method::Sphere(Sphere { radius: 2.0 }), batch: Some(26), ..base.clone() },
        CboConfig { method: Method::Hypersurface(Hypersurface::Torus { major: 2.0, minor: 1.0 }), ..base },
    ]
}

fn adam() -> Method {
    Method::Adam(Adam::default())
}

fn sparse() -> Method {
    Method::Mirror(Mirror::Sparse { threshold: 0.5 })
}

/// Everything an observer sees of each step, as bits; times on the clock aside.
fn watch<T: Scalar>(seen: &mut Vec<Vec<u64>>) -> impl FnMut(&StepReport<'_, T>) -> ControlFlow<()> + Send {
    |step| {
        let positions = step.ensemble().rows().as_slice().iter().chain(step.energies()).chain(&step.best().x);
        let mut bits: Vec<u64> = positions.map(|x| x.to_f64().to_bits()).collect();
        bits.extend(step.consensus().iter().map(|x| x.to_bits()));
        let numbers = [step.alpha(), step.sigma(), step.least(), step.effective_sample_size(), step.best().value];
        bits.extend(numbers.map(f64::to_bits));
        bits.extend([
            step.step(),
            step.epoch(),
            step.evaluations(),
            step.failed_evaluations(),
            u64::from(step.kicked()),
        ]);
        seen.push(bits);
        ControlFlow::Continue(())
    }
}

fn same_as_solve<T: Scalar>(config: &CboConfig, save_and_load: bool) {
    let (mut solved, mut asked) = (Vec::new(), Vec::new());
    let whole = solve::<T>(config, &from_fn(DIM, bumpy), &mut watch(&mut solved)).expect("a run");
    let mut run = AskTell::<T>::new(config, DIM).expect("a run");
    while run.stopped().is_none() {
        if save_and_load {
            // Both before and after the move.
            run = AskTell::load(config, DIM, &run.save()).expect("a told state");
            run.ask();
            run = AskTell::load(config, DIM, &run.save()).expect("an asked state");
        }
        let energies = energies(&mut run);
        run.tell(&energies, &mut watch(&mut asked)).expect("energies");
    }
    assert!(solved == asked, "{config:?}");
    assert_eq!(run.stopped(), Some(whole.stop()));
    let again = AskTell::<T>::load(config, DIM, &run.save()).expect("a state");
    assert_eq!(again.stopped(), Some(whole.stop()));
    assert_eq!(again.report().evaluations() + 1, whole.evaluations());
    assert_eq!(again.report().steps(), whole.steps());
}

#[test]
fn asking_and_telling_is_solving() {
    for config in variants() {
        same_as_solve::<f64>(&config, false);
        same_as_solve::<f32>(&config, false);
    }
}

#[test]
fn noise_drawn_ahead_by_idle_threads_is_the_same_noise() {
    // Large enough for several threads; as solve is with one.
    let large = |config: &CboConfig| CboConfig {
        particles: 7800,
        steps: Some(6),
        max_evaluations: None,
        threads: 1,
        ..config.clone()
    };
    for config in variants().iter().map(large) {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let isotropic = diffusion == Diffusion::Isotropic;
            if isotropic && (config.method == adam() || matches!(config.method, Method::Sampling(_))) {
                continue; // its noise has a shape of its own
            }
            let config = CboConfig { diffusion, ..config.clone() };
            // Not every method has kinds of noise.
            if config.check(DIM).is_err() {
                continue;
            }
            let whole = solve::<f64>(&config, &from_fn(DIM, bumpy), &mut ()).expect("a run");
            for pause in [false, true] {
                let mut run = AskTell::<f64>::new(&CboConfig { threads: 3, ..config.clone() }, DIM).expect("a run");
                while run.stopped().is_none() {
                    let energies = energies(&mut run);
                    if pause {
                        std::thread::sleep(std::time::Duration::from_millis(2));
                    }
                    run.tell(&energies, &mut ()).expect("energies");
                }
                assert!(run.report().ensemble().rows().as_slice() == whole.ensemble().rows().as_slice(), "{config:?}");
            }
        }
    }
}

#[test]
fn a_run_that_is_saved_and_loaded_at_every_step_is_the_same_run() {
    for config in variants() {
        same_as_solve::<f64>(&config, true);
        same_as_solve::<f32>(&config, true);
    }
}

#[test]
fn a_run_goes_on_beyond_its_stop_and_with_a_larger_budget() {
    let config = variants().remove(0);
    let longer = CboConfig { steps: Some(20), ..config.clone() };
    let mut run = AskTell::<f64>::new(&config, DIM).expect("a run");
    while run.stopped().is_none() {
        let energies = energies(&mut run);
        run.tell(&energies, &mut ()).expect("energies");
    }
    assert_eq!((run.step(), run.stopped()), (12, Some(StopReason::Steps)));
    let mut run = AskTell::<f64>::load(&longer, DIM, &run.save()).expect("a state");
    assert_eq!(run.stopped(), None);
    while run.stopped().is_none() {
        let energies = energies(&mut run);
        run.tell(&energies, &mut ()).expect("energies");
    }
    let whole = solve(&longer, &from_fn(DIM, bumpy), &mut ()).expect("a run");
    assert_eq!(run.report().ensemble().rows().as_slice(), whole.ensemble().rows().as_slice());
}

#[test]
fn a_run_that_is_resumed_is_the_same_run() {
    for config in variants() {
        let mut states = Vec::new();
        let mut solved = Vec::new();
        let keep = |step: &StepReport<'_, f64>| {
            states.push(step.state());
            ControlFlow::Continue(())
        };
        let whole = solve(&config, &from_fn(DIM, bumpy), &mut (keep, watch(&mut solved))).expect("a run");
        for (step, state) in states.iter().enumerate() {
            let (config, mut seen) = (CboConfig { threads: 1 + step % 2, ..config.clone() }, Vec::new());
            let again = match step % 3 {
                0 => resume(&config, &from_fn(DIM, bumpy).costly(), &mut watch(&mut seen), state),
                _ => resume(&config, &from_fn(DIM, bumpy), &mut watch(&mut seen), state),
            };
            let again = again.expect("a run");
            assert!(seen == solved[step + 1..], "from step {step}: {config:?}");
            assert_eq!(
                (again.stop(), again.evaluations(), &again.best()),
                (whole.stop(), whole.evaluations(), &whole.best())
            );
            assert_eq!(again.consensus(), whole.consensus());
        }
    }
}

#[test]
fn a_state_that_waits_for_energies_is_resumed_with_them() {
    for config in variants() {
        let whole = solve(&config, &from_fn(DIM, bumpy), &mut ()).expect("a run");
        let mut run = AskTell::<f64>::new(&config, DIM).expect("a run");
        while run.stopped().is_none() {
            let energies = energies(&mut run);
            let again = resume(&config, &from_fn(DIM, bumpy::<f64>), &mut (), &run.save()).expect("a run");
            assert_eq!((again.best(), again.evaluations()), (whole.best(), whole.evaluations()));
            run.tell(&energies, &mut ()).expect("energies");
        }
    }
}

fn some_state(config: &CboConfig) -> Vec<u8> {
    let mut run = AskTell::<f64>::new(config, DIM).expect("a run");
    for _ in 0..3 {
        let energies = energies(&mut run);
        run.tell(&energies, &mut ()).expect("energies");
    }
    run.save()
}

#[test]
fn damaged_states_are_refused() {
    let config = CboConfig { particles: 8, batch: Some(4), seed: 5, ..CboConfig::default() };
    let bytes = some_state(&config);
    let load = |bytes: &[u8]| AskTell::<f64>::load(&config, DIM, bytes);
    assert!(load(&bytes).is_ok());
    for length in 0..bytes.len() {
        let refused = matches!(load(&bytes[..length]), Err(StateError::Damaged | StateError::NotAState));
        assert!(refused, "cut to {length} of {}", bytes.len());
    }
    for bit in 0..8 * bytes.len() {
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let refused = matches!(
            load(&changed),
            Err(StateError::Damaged | StateError::NotAState | StateError::Version { .. } | StateError::Old)
        );
        assert!(refused, "bit {bit}");
    }
    let more = [&bytes[..], &[0]].concat();
    assert!(matches!(load(&more), Err(StateError::Damaged)));
}

#[test]
fn numbers_that_no_run_would_write_are_refused_even_with_a_right_checksum() {
    for method in [Method::Cbo, hard(), smooth(), polarised(), sampling(false), adam(), sparse()] {
        numbers_in_a_state_of(method);
    }
}

fn numbers_in_a_state_of(method: Method) {
    let config = CboConfig { particles: 8, batch: Some(4), seed: 5, ..CboConfig::of(method) };
    let bytes = some_state(&config);
    let body = bytes.len() - 4;
    for at in (16..body).step_by(8) {
        for value in [0, 1, 3, 1 << 40, u64::MAX] {
            let mut changed = bytes[..body].to_vec();
            changed[at..at + 8].copy_from_slice(&u64::to_le_bytes(value));
            changed.extend(crc32fast::hash(&changed).to_le_bytes());
            if let Ok(mut run) = AskTell::<f64>::load(&config, DIM, &changed) {
                // Whatever the numbers are, it is a run that can continue.
                assert_eq!(run.ask().len(), 4);
                let _ = run.tell(&[1.0, 2.0, 3.0, 4.0], &mut ());
            }
        }
    }
}

#[test]
fn a_state_of_another_run_is_refused_by_name() {
    let config = variants().remove(2);
    let bytes = some_state(&config);
    let message = |config: &CboConfig, dim| AskTell::<f64>::load(config, dim, &bytes).unwrap_err().to_string();
    let seed = message(&CboConfig { seed: 6, ..config.clone() }, DIM);
    assert_eq!(seed, "the state was saved with seed = 5, but the run has seed = 6");
    let dim = message(&CboConfig { init: InitialLaw::uniform(&[(-3.0, 3.0); 4]), ..config.clone() }, 4);
    assert_eq!(dim, "the state was saved with dim = 3, but the run has dim = 4");
    let fewer = message(&CboConfig { particles: 104, ..config.clone() }, DIM);
    assert_eq!(fewer, "the state was saved with particles = 130, but the run has particles = 104");
    let single = AskTell::<f32>::load(&config, DIM, &bytes).unwrap_err().to_string();
    assert_eq!(single, "the state was saved with precision = f64, but the run has precision = f32");
    let memory = message(&CboConfig { method: hard(), ..config.clone() }, DIM);
    assert_eq!(memory, "the state was saved with method = cbo, but the run has method = memory");
    let mut other = bytes.clone();
    other[8] = 6;
    let newer = AskTell::<f64>::load(&config, DIM, &other).unwrap_err().to_string();
    assert_eq!(newer, "the state has version 6, but this program reads versions up to 5; use a newer one");
    other[8] = 1;
    let older = AskTell::<f64>::load(&config, DIM, &other).unwrap_err();
    assert!(matches!(older, StateError::Old) && older.to_string().contains("written by cbo 0.1"), "{older}");
}

#[test]
fn energies_that_say_nothing_are_an_error() {
    let mut run = AskTell::<f64>::new(&variants()[0], DIM).expect("a run");
    let nothing = vec![f64::NAN; run.ask().len()];
    assert!(matches!(run.tell(&nothing, &mut ()), Err(SolveError::NoFiniteEnergy { failed: 130, .. })));
}

/// Is told of the end, and of the step before it.
#[derive(Default)]
struct Listener {
    seen: Vec<u64>,
    end: Option<(u64, StopReason, Vec<u8>)>,
}

impl cbo::Observer<f64> for Listener {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        assert!(self.end.is_none());
        self.seen.push(step.step());
        ControlFlow::Continue(())
    }

    fn ended(&mut self, step: &StepReport<'_, f64>, reason: StopReason) {
        assert!(self.end.replace((step.step(), reason, step.state())).is_none());
    }
}

#[test]
fn the_end_of_a_run_is_told_with_a_state_to_go_on_from() {
    for config in variants() {
        let mut both = (Listener::default(), Listener::default());
        let objective = from_fn(DIM, bumpy);
        let whole = solve(&config, &objective, &mut both).expect("a run");
        let (step, reason, state) = both.1.end.take().expect("an end");
        assert_eq!((step, reason), (whole.steps(), whole.stop()));
        assert_eq!(both.0.seen.last(), Some(&step));
        let again = resume(&config, &objective, &mut (), &state).expect("the same end");
        assert_eq!((again.best(), again.evaluations()), (whole.best(), whole.evaluations()));
    }
}

#[test]
fn a_history_goes_on_from_its_records() {
    let config = CboConfig { steps: Some(50), ..variants().remove(0) };
    let objective = from_fn(DIM, bumpy);
    let mut whole = History::new(8).with_points();
    solve::<f64>(&config, &objective, &mut whole).expect("a run");
    for end in [0, 1, 7, 8, 9, 31] {
        let first = History::new(8).with_points();
        let mut state = Vec::new();
        let shorter = CboConfig { steps: Some(end), ..config.clone() };
        let keep = |step: &StepReport<'_, f64>| {
            state = step.state();
            ControlFlow::Continue(())
        };
        let mut both = (first, keep);
        solve::<f64>(&shorter, &objective, &mut both).expect("a run");
        let mut second = History::from_records(8, both.0.records().to_vec());
        resume(&config, &objective, &mut second, &state).expect("a run");
        assert_eq!(second.records(), whole.records());
        assert_eq!(second.spacing(), whole.spacing());
    }
}

#[test]
fn a_run_that_contracted_goes_on_when_it_is_given_steps() {
    let open_ended = variants().remove(6);
    let objective = from_fn(DIM, bumpy);
    let mut end = Listener::default();
    let contracted = solve::<f64>(&open_ended, &objective, &mut end).expect("a run");
    assert_eq!(contracted.stop(), StopReason::Diameter);
    let state = end.end.expect("an end").2;
    let longer = CboConfig { steps: Some(contracted.steps() + 30), ..open_ended.clone() };
    let whole = solve::<f64>(&longer, &objective, &mut ()).expect("a run");
    let again = resume::<f64>(&longer, &objective, &mut (), &state).expect("a run");
    assert_eq!((again.stop(), again.steps(), &again.best()), (StopReason::Steps, whole.steps(), &whole.best()));
    // A diameter of its own counts from now on too.
    let finer = CboConfig { diameter: Some(1e-30), ..longer };
    assert_eq!(resume::<f64>(&finer, &objective, &mut (), &state).expect("a run").stop(), StopReason::Steps);
}
