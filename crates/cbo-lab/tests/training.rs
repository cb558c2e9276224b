//! Training runs on the built-in digits.

use cbo::{Alpha, CboConfig, Scheme, Sigma};
use cbo_lab::training::{Preset, Settings, Trained, TrainingError, train};
use cbo_problems::mnist;
use cbo_problems::nn::reference::{self, Mode};
use cbo_problems::nn::{ForwardError, Network, Shape};
use std::ops::ControlFlow;

fn run(settings: &Settings) -> Trained {
    let data = mnist::subset().expect("the subset");
    train(settings, &data, |_| ControlFlow::Continue(())).expect("a run")
}

fn small(network: Network) -> Settings {
    Settings { epochs: 2, batch_data: 50, ..Settings::paper(network) }
}

fn with(settings: &Settings, change: impl Fn(&mut CboConfig)) -> Settings {
    let mut settings = settings.clone();
    change(&mut settings.config);
    settings
}

/// Everything except times.
fn untimed(trained: &Trained) -> Vec<(u64, u64, u64, u64)> {
    let bits = |p: &cbo_lab::training::Point| {
        (p.step, p.loss.to_bits(), p.train_accuracy.to_bits(), p.test_accuracy.to_bits())
    };
    trained.curve.iter().map(bits).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    for network in [Network::shallow(), Network::lenet1()] {
        for shuffle in [false, true] {
            let settings = Settings { epochs: 1, shuffle, ..small(network.clone()) };
            let one = run(&with(&settings, |c| c.threads = 1));
            for threads in [2, 3] {
                let more = run(&with(&settings, |c| c.threads = threads));
                assert_eq!(one.model, more.model);
                assert_eq!(untimed(&one), untimed(&more));
                assert_eq!((one.answers.as_slice(), one.kicks), (more.answers.as_slice(), more.kicks));
            }
        }
    }
}

#[test]
fn seeds_differ_and_repeat() {
    let settings = Settings { epochs: 1, ..small(Network::shallow()) };
    let seed = |s| run(&with(&settings, |c| c.seed = s));
    assert_eq!(seed(4).model, seed(4).model);
    assert_ne!(seed(4).model, seed(5).model);
}

/// The curve, the model and the confusion matrix tell the same story, which the slow reference confirms.
#[test]
fn what_is_reported_is_what_the_model_does() {
    let data = mnist::subset().expect("the subset");
    let trained = run(&small(Network::lenet1()));
    let last = trained.last();
    let epochs: Vec<f64> = trained.curve.iter().map(|p| p.epoch).collect();
    assert_eq!(epochs, [0.0, 0.5, 1.0, 1.5, 2.0]);
    assert_eq!(last.step, 2 * 20 * 10);
    let right: usize = (0..10).map(|class| trained.confusion[class][class]).sum();
    assert_eq!(right as f64 / 500.0, last.test_accuracy);
    assert_eq!(trained.confusion.iter().flatten().sum::<usize>(), 500);
    assert!(trained.best_test_accuracy() >= last.test_accuracy);

    let parameters: Vec<f64> = trained.model.parameters.iter().map(|p| f64::from(*p)).collect();
    let pixels = |images: &mnist::Images| images.unit_pixels().into_iter().map(f64::from).collect::<Vec<_>>();
    let network = &trained.model.network;
    let train = reference::forward(network, &parameters, &pixels(data.train.images()), Mode::Train).expect("a pass");
    let loss = train.cross_entropy(data.train.labels()).expect("labels");
    assert!((loss - last.loss).abs() < 1e-4 * loss, "{} for {loss}", last.loss);
    let mode = Mode::Test(&trained.model.statistics);
    let test = reference::forward(network, &parameters, &pixels(data.test.images()), mode).expect("a pass");
    // One image in 500 may lie between two classes.
    let accuracy = test.accuracy(data.test.labels()).expect("labels");
    assert!((accuracy - last.test_accuracy).abs() < 0.0021, "{} for {accuracy}", last.test_accuracy);
}

/// An early kick, a mean of several particles and a sigma that does not cool: an epoch of the built-in digits is short.
fn quick(network: Network) -> Settings {
    let change = |c: &mut CboConfig| {
        (c.alpha, c.kick, c.sigma) = (Alpha::EffectiveSampleSize(0.3), Some(5e-3), Sigma::Constant(0.5));
    };
    with(&Settings { epochs: 20, ..small(network) }, change)
}

/// Guessing is right one time in ten.
#[test]
fn the_built_in_digits_are_learned() {
    let lenet1 = run(&quick(Network::lenet1()));
    assert!(lenet1.last().test_accuracy > 0.75, "{}", lenet1.last().test_accuracy);
    assert!(lenet1.kicks > 0);
    let shallow = run(&quick(Network::shallow()));
    assert!(shallow.last().test_accuracy > 0.6, "{}", shallow.last().test_accuracy);
}

/// A small run of hopping on the built-in digits.
fn hopping() -> Settings {
    let usual = Settings::hopping(Network::parse("pool 2, dense 10, bn", Shape::DIGIT).expect("a network"));
    let config = CboConfig { particles: 100, ..usual.config };
    Settings { config, iterations: Some(120), batch_data: 100, ..usual }
}

#[test]
fn hopping_learns_the_built_in_digits() {
    let trained = run(&hopping());
    assert!(trained.last().test_accuracy > 0.7, "{}", trained.last().test_accuracy);
    let by_ranks = run(&with(&hopping(), |c| {
        let text = "hopping:momentum=0.9,rate=0.5,cosine=true,weights=ranks,start=point";
        c.method = text.parse().expect("a method");
        c.alpha = CboConfig::of(c.method).alpha;
    }));
    assert!(by_ranks.last().test_accuracy > 0.7, "{}", by_ranks.last().test_accuracy);
}

/// Every step has other images, and all its particles have the same: the centre that is reported is the model.
#[test]
fn hopping_does_not_depend_on_threads() {
    let settings = Settings { iterations: Some(15), ..hopping() };
    let one = run(&with(&settings, |c| c.threads = 1));
    for threads in [2, 3] {
        let more = run(&with(&settings, |c| c.threads = threads));
        assert_eq!((untimed(&one), &one.model), (untimed(&more), &more.model));
    }
    let seed = run(&with(&settings, |c| c.seed = 1));
    assert_ne!(one.model, seed.model);
}

/// The paper does not say it, but without the kick the swarm collapses at once and learns nothing more.
#[test]
fn without_the_kick_it_fails() {
    let settings = Settings { epochs: 6, ..small(Network::lenet1()) };
    let stuck = run(&with(&settings, |c| c.kick = None));
    assert!(stuck.last().test_accuracy < 0.5, "{}", stuck.last().test_accuracy);
    let (late, last) = (&stuck.curve[stuck.curve.len() - 3], stuck.last());
    assert!((late.loss - last.loss).abs() < 1e-3 * last.loss);
}

#[test]
fn the_other_scheme_learns_too() {
    let drift_first =
        run(&with(&Settings { epochs: 8, ..quick(Network::lenet1()) }, |c| c.scheme = Scheme::DriftFirst));
    assert!(drift_first.last().test_accuracy > 0.45, "{}", drift_first.last().test_accuracy);
}

#[test]
fn a_run_can_be_ended_and_reports_what_it_has() {
    let data = mnist::subset().expect("the subset");
    let mut seen = 0;
    let trained = train(&small(Network::shallow()), &data, |progress| {
        seen += 1;
        assert!((0.0..=1.0).contains(&progress.done));
        if seen == 33 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let trained = trained.expect("a run");
    assert!(trained.interrupted);
    let steps: Vec<u64> = trained.curve.iter().map(|p| p.step).collect();
    assert_eq!(steps, [0, 32]);
}

#[test]
fn reduction_shrinks_the_swarm_between_epochs() {
    let trained =
        run(&with(&Settings { epochs: 3, ..small(Network::shallow()) }, |c| c.reduction = Some(Default::default())));
    assert_eq!(trained.curve[0].particles, 100);
    assert!(trained.last().particles < 100);
}

#[test]
fn presets_have_settings_that_hold() {
    for preset in [Preset::Paper, Preset::Best] {
        let settings = preset.settings(Network::lenet1());
        CboConfig { steps: Some(1000), ..settings.config }.check(2112).expect("a good configuration");
    }
}

#[test]
fn what_cannot_be_trained_is_refused() {
    let data = mnist::subset().expect("the subset");
    let go = |settings: &Settings| train(settings, &data, |_| ControlFlow::Continue(())).map(|_| ()).unwrap_err();
    let network = |text| Network::parse(text, Shape::DIGIT).expect("a network");
    assert!(matches!(go(&small(network("dense 9"))), TrainingError::Classes { classes: 9 }));
    assert!(matches!(go(&Settings { batch_data: 60, ..small(Network::shallow()) }), TrainingError::BatchSize(_)));
    let error = go(&Settings { batch_data: 1, ..small(Network::shallow()) });
    assert!(matches!(error, TrainingError::Forward(ForwardError::BatchTooSmall { number: 3 })));
    let error = go(&with(&small(Network::shallow()), |c| c.batch = Some(33)));
    assert!(error.to_string().contains("must divide the number of particles, 100"));
}
