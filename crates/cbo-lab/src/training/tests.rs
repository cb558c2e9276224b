//! Runs that are cut off at chosen steps and resumed.

use super::*;
use cbo::ranks::{Communicator, in_threads};
use cbo::{Alpha, Reduction};
use cbo_problems::mnist;
use cbo_problems::nn::{Network, Shape};

/// Epochs of 15 steps: 5 data batches, 3 batches of particles.
fn settings(epochs: u64) -> Settings {
    let network = Network::parse("pool 4, dense 10, bn", Shape::DIGIT).expect("a network");
    let paper = Settings::paper(network);
    let config = CboConfig {
        particles: 12,
        batch: Some(4),
        kick: Some(0.5),
        alpha: Alpha::EffectiveSampleSize(0.5),
        threads: 1,
        ..paper.config
    };
    Settings { config, epochs, batch_data: 200, shuffle: true, ..paper }
}

/// Hopping on epochs of 5 steps, which ends in the midst of the third.
fn hopping() -> Settings {
    let usual = Settings::hopping(settings(1).network);
    let config = CboConfig { particles: 16, threads: 1, ..usual.config };
    Settings { config, iterations: Some(13), batch_data: 190, ..usual }
}

/// Trains and is cut off at a step; returns what was saved there, and what was reported.
fn cut_off(settings: &Settings, data: &Dataset, step: u64) -> (Saved, Trained) {
    let mut saved = Saved::default();
    let trained = train(settings, data, |progress| {
        if progress.at.step() < step {
            return ControlFlow::Continue(());
        }
        saved = progress.save();
        ControlFlow::Break(())
    });
    (saved, trained.expect("a run"))
}

fn go_on(settings: &Settings, data: &Dataset, saved: &Saved) -> Result<Trained, TrainingError> {
    Training::new(settings, data)?.resume(saved, |_| ControlFlow::Continue(()))
}

/// Everything except times.
fn untimed(trained: &Trained) -> impl PartialEq + std::fmt::Debug {
    let bits = |p: &Point| {
        let numbers = [p.epoch, p.loss, p.train_accuracy, p.test_accuracy, p.alpha, p.sigma].map(f64::to_bits);
        (p.step, p.particles, numbers)
    };
    let curve: Vec<_> = trained.curve.iter().map(bits).collect();
    (curve, trained.model.clone(), trained.answers.clone(), trained.confusion, trained.kicks, trained.interrupted)
}

#[test]
fn a_run_goes_on_from_any_step_bit_by_bit() {
    let data = mnist::subset().expect("the subset");
    let plain = settings(2);
    let mut shrinking = plain.clone();
    shrinking.config.batch = None;
    shrinking.config.reduction = Some(Reduction::default());
    for settings in [plain, shrinking] {
        let whole = train(&settings, &data, |_| ControlFlow::Continue(())).expect("a run");
        let steps = whole.last().step;
        assert!(0 < whole.kicks && whole.kicks < steps, "{} kicks", whole.kicks);
        assert_eq!(whole.last().particles < 12, settings.config.reduction.is_some());
        let (epoch, last) = (steps / 2, steps);
        for step in [0, 1, epoch / 2, epoch / 2 + 1, epoch - 1, epoch, epoch + 1, last - 1, last] {
            let (saved, _) = cut_off(&settings, &data, step);
            let mut again = settings.clone();
            again.config.threads = 2;
            let resumed = go_on(&again, &data, &saved).expect("a resumed run");
            assert_eq!(untimed(&resumed), untimed(&whole), "cut off at step {step}");
            assert!(resumed.seconds > 0.0 && resumed.judging_seconds > 0.0);
        }
    }
}

#[test]
fn hopping_goes_on_from_any_step_bit_by_bit() {
    let data = mnist::subset().expect("the subset");
    let whole = train(&hopping(), &data, |_| ControlFlow::Continue(())).expect("a run");
    // The end is reported, although it is no time for it; a longer run would not have it.
    let steps: Vec<u64> = whole.curve.iter().map(|p| p.step).collect();
    assert_eq!(steps, [0, 2, 5, 7, 10, 12, 13]);
    for step in 0..=13 {
        let (saved, _) = cut_off(&hopping(), &data, step);
        let mut again = hopping();
        again.config.threads = 2;
        let resumed = go_on(&again, &data, &saved).expect("a resumed run");
        assert_eq!(untimed(&resumed), untimed(&whole), "cut off at step {step}");
    }
    // 14 times 16 particles, and the centre at the end.
    assert_eq!(whole.image_evaluations, (14 * 16 + 1) * 190);
}

/// Trains on ranks that share the particles, from what was saved if anything was, and is cut off at a step if one is given.
fn on_ranks(
    size: usize,
    settings: &Settings,
    data: &Dataset,
    from: Option<&Saved>,
    until: Option<u64>,
) -> (Saved, Trained) {
    let mut ends = in_threads(size, |rank| {
        let training = Training::new(settings, data).expect("settings");
        // As the command does: a run that is at its end is judged there.
        let particles = Particles::new(rank.clone()).whole(from.is_some() && until.is_none());
        if rank.rank() > 0 {
            let run = training.take_part(&particles, from.map(|from| &from.state[..]), ()).expect("a run");
            assert!(run.ensemble().len() < run.particles(), "a rank has its own particles alone");
            return None;
        }
        let mut saved = Saved::default();
        let watch = |progress: Progress<'_>| {
            if until != Some(progress.at.step()) {
                return ControlFlow::Continue(());
            }
            saved = progress.save();
            ControlFlow::Break(())
        };
        let trained = match from {
            Some(from) => training.resume_on(&particles, from, watch),
            None => training.run_on(&particles, watch),
        };
        Some((saved, trained.expect("a run")))
    });
    ends.swap_remove(0).expect("the first rank trains")
}

#[test]
fn ranks_that_share_the_particles_train_to_the_same_bits() {
    let data = mnist::subset().expect("the subset");
    let many = |settings: Settings, particles: usize, batch: Option<usize>| {
        let config = CboConfig { particles, batch, ..settings.config };
        Settings { config, ..settings }
    };
    let mut shrinking = many(settings(1), 200, None);
    shrinking.config.reduction = Some(Reduction::default());
    for settings in [many(settings(1), 300, Some(150)), shrinking, many(hopping(), 300, None)] {
        let whole = train(&settings, &data, |_| ControlFlow::Continue(())).expect("a run");
        for size in [1, 2, 3] {
            let (_, trained) = on_ranks(size, &settings, &data, None, None);
            assert_eq!(untimed(&trained), untimed(&whole), "{size} ranks");
            assert_eq!(trained.image_evaluations, whole.image_evaluations);
        }
        let last = whole.last().step;
        for step in [0, last / 2, last] {
            let (saved, _) = on_ranks(3, &settings, &data, None, Some(step));
            assert_eq!(untimed(&go_on(&settings, &data, &saved).expect("one machine")), untimed(&whole), "step {step}");
            let (_, resumed) = on_ranks(2, &settings, &data, Some(&saved), None);
            assert_eq!(untimed(&resumed), untimed(&whole), "cut off at step {step}, resumed on two ranks");
        }
    }
}

#[test]
fn the_point_of_an_interrupt_is_reported_and_not_saved() {
    let data = mnist::subset().expect("the subset");
    let (saved, trained) = cut_off(&settings(2), &data, 10);
    let steps = |curve: &[Point]| curve.iter().map(|p| p.step).collect::<Vec<_>>();
    assert_eq!(steps(&trained.curve), [0, 7, 10]);
    assert!(trained.interrupted);
    let (findings, _) = Findings::from_bytes(&saved.findings, Rhythm { epoch_steps: 15 }).expect("ours");
    assert_eq!(steps(&findings.curve), [0, 7]);
}

#[test]
fn a_finished_run_can_have_more_epochs() {
    let data = mnist::subset().expect("the subset");
    let (saved, _) = cut_off(&settings(1), &data, 15);
    let whole = train(&settings(3), &data, |_| ControlFlow::Continue(())).expect("a run");
    let resumed = go_on(&settings(3), &data, &saved).expect("a resumed run");
    assert_eq!(untimed(&resumed), untimed(&whole));
}

#[test]
fn what_belongs_to_another_run_is_refused() {
    let data = mnist::subset().expect("the subset");
    let (early, _) = cut_off(&settings(2), &data, 3);
    let (late, _) = cut_off(&settings(2), &data, 20);
    let refused = |settings: &Settings, saved: &Saved| go_on(settings, &data, saved).map(|_| ()).unwrap_err();
    let mixed =
        |state: &Saved, findings: &Saved| Saved { state: state.state.clone(), findings: findings.findings.clone() };
    for (state, findings) in [(&early, &late), (&late, &early)] {
        assert!(matches!(refused(&settings(2), &mixed(state, findings)), TrainingError::OtherEpochs));
        // At its end at once: no step tells.
        assert!(matches!(refused(&settings(0), &mixed(state, findings)), TrainingError::OtherEpochs));
    }
    let other = Settings { batch_data: 100, ..settings(2) };
    assert!(matches!(refused(&other, &early), TrainingError::OtherEpochs));
    let mut other = settings(2);
    other.config.seed = 1;
    assert!(matches!(refused(&other, &early), TrainingError::State(StateError::Differs { field: "seed", .. })));
    let damaged = Saved { state: early.state[1..].to_vec(), ..early.clone() };
    assert!(matches!(refused(&settings(2), &damaged), TrainingError::State(StateError::NotAState)));
    let damaged = Saved { findings: early.findings[..50].to_vec(), ..early };
    assert!(matches!(refused(&settings(2), &damaged), TrainingError::Saved(_)));
}
