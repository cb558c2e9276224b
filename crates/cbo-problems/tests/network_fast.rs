//! The fast forward pass against the slow, obvious one, for each layer, both networks of the paper and random ones.

use cbo::noise::{Noise, Stream};
use cbo::simd::{self, InstructionSet};
use cbo_problems::mnist::{self, Images, Labelled, PIXELS};
use cbo_problems::nn::fast::{Evaluator, Outcome, Workspace};
use cbo_problems::nn::reference::{Mode, forward, predict};
use cbo_problems::nn::{ForwardError, Network, Shape, Statistics};
use proptest::prelude::*;

/// Standard normal parameters.
fn parameters(network: &Network, seed: u64) -> Vec<f32> {
    let count = network.parameters();
    let mut normals = vec![0.0f32; cbo::noise::scratch_len(1, count)];
    Noise::new(seed, Stream::Initial, 0).fill_normals(0, 1, count, &mut normals);
    normals.truncate(count);
    normals
}

fn network(text: &str) -> Network {
    Network::parse(text, Shape::DIGIT).expect("a network")
}

fn doubles(values: &[f32]) -> Vec<f64> {
    values.iter().map(|x| f64::from(*x)).collect()
}

/// Images `indices` of the subset, sample-major.
fn pixels(data: &Labelled, indices: &[usize]) -> Vec<f64> {
    let image = |&i: &usize| data.images().image(i).expect("an image").iter().map(|p| f64::from(mnist::unit(*p)));
    indices.iter().flat_map(image).collect()
}

/// Evaluates both ways, in training mode and then in test mode with the reference's statistics, and compares.
fn compare(network: &Network, data: &Labelled, indices: &[usize], seed: u64) {
    let parameters = parameters(network, seed);
    let evaluator = Evaluator::new(network);
    let batch = evaluator.batch(data, indices);
    let labels: Vec<u8> = indices.iter().map(|&i| data.labels()[i]).collect();
    assert_eq!(batch.labels(), labels);
    let mut workspace = Workspace::default();
    let slow = forward(network, &doubles(&parameters), &pixels(data, indices), Mode::Train).expect("the reference");
    for mode in [Mode::Train, Mode::Test(&slow.statistics)] {
        let fast = evaluator.evaluate(&parameters, &batch, mode, &mut workspace).expect("the fast pass");
        let loss = slow.cross_entropy(&labels).expect("labels");
        // Single precision; losses of random networks reach some hundreds where no batch norm tames them.
        assert!((fast.loss - loss).abs() < 2e-4 * (1.0 + loss), "{network}: {} for {loss}", fast.loss);
        for (found, wanted) in workspace.statistics().iter().zip(&slow.statistics) {
            let mean = largest(&wanted.mean);
            close(&found.mean, &wanted.mean, 3e-4 * mean, network);
            // An error of 1e-5 in values about a mean m moves a variance v by up to 2e-5 m sqrt(v).
            let variance = largest(&wanted.variance);
            close(&found.variance, &wanted.variance, 1e-4 * variance + 2e-5 * mean * variance.sqrt(), network);
        }
        assert_eq!(workspace.statistics().len(), slow.statistics.len());
        agree_on_answers(network, slow.logits(), workspace.predictions());
        let right = labels.iter().zip(workspace.predictions()).filter(|(label, answer)| **answer == Some(**label));
        assert_eq!(fast.right, right.count());
        assert_eq!(fast.count, indices.len());
    }
}

fn close(found: &[f64], wanted: &[f64], tolerance: f64, network: &Network) {
    assert_eq!(found.len(), wanted.len());
    for (a, b) in found.iter().zip(wanted) {
        assert!((a - b).abs() < tolerance, "{network}: {a} for {b}");
    }
}

/// The largest magnitude, at least 1.
fn largest(values: &[f64]) -> f64 {
    values.iter().fold(1.0, |s: f64, x| s.max(x.abs()))
}

/// The same answers, except where two logits are too close for single precision.
fn agree_on_answers(network: &Network, logits: &[f64], answers: &[Option<u8>]) {
    for (logits, answer) in logits.chunks_exact(network.classes()).zip(answers) {
        let answer = usize::from(answer.expect("a number"));
        let best = predict(logits).expect("a number");
        assert!(logits[best] - logits[answer] < 1e-3 * largest(logits), "{network}: {answer} for {best} in {logits:?}");
    }
}

#[test]
fn each_layer_and_order_of_layers() {
    let data = mnist::subset().expect("the subset");
    let texts = [
        "dense 10",
        "dense 10, relu",
        "dense 10, bn",
        "dense 10, relu, bn",
        "dense 17, relu, bn, dense 10, relu, bn",
        "dense 20, relu, relu, bn, bn, dense 10",
        "bn, dense 10",
        "relu, bn, pool 2, bn, dense 10",
        "pool 4, dense 10, bn",
        "pool 2, relu, pool 7, dense 10",
        "conv 4x5, dense 10",
        "conv 7x3, relu, pool 2, dense 10, bn",
        "conv 3x28, dense 10",
        "conv 2x5 shared, bn, conv 3x5 shared, bn, dense 10, bn",
        "conv 4x5, relu, bn, pool 2, bn, conv 5x3, relu, bn, pool 2, bn, dense 10, relu, bn",
        "conv 2x5, pool 2, pool 3, bn, relu, bn, dense 10",
        "conv 1x1, bn, pool 28, dense 10",
        "conv 13x9 shared, relu, bn, pool 5, bn, dense 10, relu, bn",
        "shallow",
        "lenet1",
    ];
    for (seed, text) in texts.iter().enumerate() {
        compare(&network(text), &data.train, &(0..60).collect::<Vec<_>>(), seed as u64);
    }
}

#[test]
fn batches_of_any_size() {
    let data = mnist::subset().expect("the subset");
    for count in [1, 2, 15, 16, 17, 33, 48, 60, 64, 65, 130] {
        let indices: Vec<usize> = (0..count).map(|i| (7 * i + 3) % 1000).collect();
        compare(&network("conv 2x5, relu, pool 2, dense 10"), &data.train, &indices, 5);
        if count > 2 {
            compare(&Network::lenet1(), &data.train, &indices, count as u64);
            compare(&Network::shallow(), &data.train, &indices, count as u64);
        }
    }
}

#[test]
fn full_images_have_no_zero_pixels_to_leave_out() {
    let noise = Noise::new(1, Stream::Problem, 0);
    let images = Images::new((0..100 * PIXELS).map(|i| noise.words(i as u32, 0)[0] as u8).collect()).expect("images");
    let data = Labelled::new(images, (0..100).map(|i| i % 10).collect()).expect("labels");
    for network in [Network::shallow(), Network::lenet1()] {
        compare(&network, &data, &(0..100).collect::<Vec<_>>(), 2);
    }
}

#[test]
fn one_image_has_no_variance() {
    let data = mnist::subset().expect("the subset");
    let evaluator = Evaluator::new(&Network::shallow());
    let batch = evaluator.batch(&data.train, &[0]);
    let error = evaluator.evaluate(&[0.0; 7850], &batch, Mode::Train, &mut Workspace::default()).unwrap_err();
    assert_eq!(error, ForwardError::BatchTooSmall { number: 3 });
}

#[test]
fn wrong_lengths_are_refused() {
    let data = mnist::subset().expect("the subset");
    let evaluator = Evaluator::new(&Network::shallow());
    let batch = evaluator.batch(&data.train, &[0, 1]);
    let mut workspace = Workspace::default();
    let error = evaluator.evaluate(&[0.0; 7849], &batch, Mode::Train, &mut workspace).unwrap_err();
    assert_eq!(error, ForwardError::Parameters { length: 7849, parameters: 7850 });
    let none: [Statistics; 0] = [];
    let error = evaluator.evaluate(&[0.0; 7850], &batch, Mode::Test(&none), &mut workspace).unwrap_err();
    assert_eq!(error, ForwardError::StatisticsCount { given: 0, needed: 1 });
}

#[test]
fn a_parameter_that_is_not_finite_fails_even_at_a_pixel_that_is_always_black() {
    let data = mnist::subset().expect("the subset");
    let evaluator = Evaluator::new(&Network::shallow());
    let batch = evaluator.batch(&data.train, &(0..60).collect::<Vec<_>>());
    let mut workspace = Workspace::default();
    for bad in [f32::NAN, f32::INFINITY] {
        let mut parameters = vec![0.1f32; 7850];
        parameters[0] = bad; // the weight of the corner
        let outcome = evaluator.evaluate(&parameters, &batch, Mode::Train, &mut workspace).expect("an outcome");
        assert!(outcome.loss.is_nan() && outcome.right == 0);
        assert!(workspace.predictions().iter().all(Option::is_none));
    }
}

#[test]
fn parameters_that_overflow_fail_and_do_not_look_harmless() {
    let data = mnist::subset().expect("the subset");
    for network in [Network::shallow(), Network::lenet1()] {
        let evaluator = Evaluator::new(&network);
        let batch = evaluator.batch(&data.train, &(0..60).collect::<Vec<_>>());
        let huge: Vec<f32> = parameters(&network, 1).iter().map(|p| p * 1e30).collect();
        let outcome = evaluator.evaluate(&huge, &batch, Mode::Train, &mut Workspace::default()).expect("an outcome");
        assert!(outcome.loss.is_nan() && outcome.right == 0, "{network}");
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let data = mnist::subset().expect("the subset");
    let indices: Vec<usize> = (0..100).collect();
    for network in [Network::shallow(), Network::lenet1(), network("conv 7x5, relu, bn, pool 3, bn, dense 10, bn")] {
        let parameters = parameters(&network, 3);
        let on = |set: InstructionSet| -> (Outcome, Vec<Statistics>) {
            let evaluator = Evaluator::on(set, &network);
            let mut workspace = Workspace::default();
            let batch = evaluator.batch(&data.train, &indices);
            let outcome = evaluator.evaluate(&parameters, &batch, Mode::Train, &mut workspace).expect("an outcome");
            (outcome, workspace.statistics().to_vec())
        };
        let portable = on(InstructionSet::PORTABLE);
        for set in simd::available() {
            assert_eq!(on(set), portable, "{}", set.name());
        }
    }
}

#[test]
fn the_loss_of_known_answers() {
    // Only the bias of class 3 differs: log-softmax is -log(9 + e) for the others, 1 - log(9 + e) for class 3.
    let data = mnist::subset().expect("the subset");
    let evaluator = Evaluator::new(&network("dense 10"));
    let mut parameters = vec![0.0f32; 7850];
    parameters[7840 + 3] = 1.0;
    let of_digit = |digit: u8| (0..1000).filter(|&i| data.train.labels()[i] == digit).take(20).collect::<Vec<_>>();
    for (digit, own) in [(3, 1.0), (4, 0.0)] {
        let batch = evaluator.batch(&data.train, &of_digit(digit));
        let outcome = evaluator.evaluate(&parameters, &batch, Mode::Train, &mut Workspace::default()).expect("a loss");
        assert!((outcome.loss - ((9.0 + 1f64.exp()).ln() - own)).abs() < 1e-6);
        assert_eq!(outcome.accuracy(), own);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 40, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn random_networks(words in prop::collection::vec(0usize..7, 0..7), seed in any::<u64>(), count in 3usize..70) {
        let layer = |w: &usize| ["relu", "bn", "pool 2", "conv 2x3", "conv 3x3 shared", "relu", "bn"][*w];
        let mut text: Vec<&str> = words.iter().map(layer).collect();
        text.extend(["bn", "dense 10", "bn"]);
        // Many do not fit (a pool of odd maps): those are for another test.
        if let Ok(network) = Network::parse(&text.join(", "), Shape::DIGIT) {
            let data = mnist::subset().expect("the subset");
            compare(&network, &data.train, &(0..count).collect::<Vec<_>>(), seed);
        }
    }
}

#[test]
fn maps_that_are_the_same_for_all_images_stay_harmless() {
    // The first ReLU lets nothing through in some of these, so that later maps are their biases: normalised once or twice,
    // their rounding errors would be magnified by up to 1e4.
    let data = mnist::subset().expect("the subset");
    for text in ["conv 2x3, relu, conv 3x3 shared, bn, bn, dense 10, bn", "conv 2x3, relu, conv 2x3, bn, dense 10, bn"]
    {
        for seed in 0..60 {
            compare(&network(text), &data.train, &[0, 1, 2, 3], seed);
        }
    }
}
