//! The reference forward pass: each layer against numbers worked out by hand, whole networks against NumPy.

use cbo_problems::nn::reference::{Forward, Mode, accuracy, cross_entropy, forward, log_softmax, predict};
use cbo_problems::nn::{EPSILON, ForwardError, Network, Shape, Statistics};

/// Values after the last layer of a network on maps of the given shape, in training mode.
fn evaluate(text: &str, (maps, height, width): (usize, usize, usize), parameters: &[f64], images: &[f64]) -> Vec<f64> {
    let network = Network::parse(text, Shape::Maps { maps, height, width }).unwrap();
    forward(&network, parameters, images, Mode::Train).unwrap().logits().to_vec()
}

/// Equal up to rounding of a few dozen operations on numbers of size 1 to 100.
fn assert_close(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-12, "{found:?} is not {expected:?}");
    }
}

#[test]
fn dense_by_hand() {
    // W = [1 2 3; 4 5 6], b = [0.5, -1], images (1, 0, -1) and (2, 1, 0).
    let parameters = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, -1.0];
    let outputs = evaluate("dense 2", (3, 1, 1), &parameters, &[1.0, 0.0, -1.0, 2.0, 1.0, 0.0]);
    assert_eq!(outputs, [-1.5, -3.0, 4.5, 12.0]);
}

#[test]
fn convolution_by_hand() {
    // One 2x2 kernel, not flipped: 1 a + 2 b + 3 c + 4 d, plus 10.
    let image = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let outputs = evaluate("conv 1x2", (1, 2, 3), &[1.0, 2.0, 3.0, 4.0, 10.0], &image);
    assert_eq!(outputs, [1.0 + 4.0 + 12.0 + 20.0 + 10.0, 2.0 + 6.0 + 15.0 + 24.0 + 10.0]);
}

#[test]
fn convolution_over_two_maps_by_hand() {
    // Two input maps (1, 2) and (10, 20), 1x1 kernels. Full: map k is w[k][0] x_0 + w[k][1] x_1 + b[k].
    let images = [1.0, 2.0, 10.0, 20.0, 3.0, 4.0, 30.0, 40.0];
    let outputs = evaluate("conv 2x1", (2, 1, 2), &[1.0, 2.0, 3.0, 4.0, 0.5, 0.25], &images);
    assert_eq!(outputs, [21.5, 42.5, 43.25, 86.25, 63.5, 84.5, 129.25, 172.25]);
    // Shared: map 2 i + k is w[k] x_i + b[k]; each input map meets both kernels before the next.
    let outputs = evaluate("conv 2x1 shared", (2, 1, 2), &[1.0, 2.0, 0.5, 0.25], &images);
    let first = [1.5, 2.5, 2.25, 4.25, 10.5, 20.5, 20.25, 40.25];
    let second = [3.5, 4.5, 6.25, 8.25, 30.5, 40.5, 60.25, 80.25];
    assert_eq!(outputs, [first, second].concat());
}

/// On one input map there is nothing to share.
#[test]
fn shared_and_full_agree_on_one_map() {
    let image: Vec<f64> = (0..30).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let parameters: Vec<f64> = (0..30).map(|i| (f64::from(i) * 1.3).cos()).collect();
    let full = evaluate("conv 3x3", (1, 5, 6), &parameters, &image);
    assert_eq!(full.len(), 3 * 3 * 4);
    assert_eq!(full, evaluate("conv 3x3 shared", (1, 5, 6), &parameters, &image));
}

#[test]
fn relu_and_pool_by_hand() {
    assert_eq!(evaluate("relu", (1, 1, 4), &[], &[-2.0, 0.0, 3.0, f64::NEG_INFINITY]), [0.0, 0.0, 3.0, 0.0]);
    let rows = [[1.0, 2.0, -1.0, -2.0], [4.0, 3.0, -3.0, -4.0], [0.0, 0.0, 9.0, 8.0], [0.0, 5.0, 6.0, 7.0]];
    assert_eq!(evaluate("pool 2", (1, 4, 4), &[], &rows.concat()), [4.0, -1.0, 5.0, 9.0]);
    assert_eq!(evaluate("pool 2", (2, 2, 4), &[], &rows.concat()), [4.0, -1.0, 5.0, 9.0]);
    // Cut into four images of 2x2 instead, the same sixteen numbers have other squares.
    assert_eq!(evaluate("pool 2", (1, 2, 2), &[], &rows.concat()), [2.0, 4.0, 9.0, 7.0]);
}

#[test]
fn nan_is_never_hidden() {
    assert!(evaluate("relu", (1, 1, 1), &[], &[f64::NAN])[0].is_nan());
    for place in 0..4 {
        let mut image = [1.0, 2.0, 3.0, 4.0];
        image[place] = f64::NAN;
        assert!(evaluate("pool 2", (1, 2, 2), &[], &image)[0].is_nan(), "{place}");
    }
    assert!(cross_entropy(&[0.0, f64::NAN], 2, &[0]).unwrap().is_nan());
}

#[test]
fn batch_norm_by_hand() {
    // Flat: each value over the three images. (1, 2, 6): mean 3, unbiased variance (4 + 1 + 9) / 2 = 7; (5, 5, 5): 0.
    let network = Network::parse("bn", Shape::Flat(2)).unwrap();
    let found = forward(&network, &[], &[1.0, 5.0, 2.0, 5.0, 6.0, 5.0], Mode::Train).unwrap();
    assert_eq!(found.statistics, [Statistics { mean: vec![3.0, 5.0], variance: vec![7.0, 0.0] }]);
    let root = 7.0001f64.sqrt();
    assert_close(found.logits(), &[-2.0 / root, 0.0, -1.0 / root, 0.0, 3.0 / root, 0.0]);

    // Maps: over images and pixels. Map 0 has (1, 3) and (5, 7): mean 4, variance 20 / 3; map 1 has 0, 0, 0, 4: 1 and 4.
    let network = Network::parse("bn", Shape::Maps { maps: 2, height: 1, width: 2 }).unwrap();
    let found = forward(&network, &[], &[1.0, 3.0, 0.0, 0.0, 5.0, 7.0, 0.0, 4.0], Mode::Train).unwrap();
    assert_eq!(found.statistics, [Statistics { mean: vec![4.0, 1.0], variance: vec![20.0 / 3.0, 4.0] }]);
    let (a, b) = ((20.0f64 / 3.0 + 1e-4).sqrt(), 4.0001f64.sqrt());
    assert_close(found.logits(), &[-3.0 / a, -1.0 / a, -1.0 / b, -1.0 / b, 1.0 / a, 3.0 / a, -1.0 / b, 3.0 / b]);

    // Given statistics are used as they are, on a single image too.
    let given = [Statistics { mean: vec![1.0, 2.0], variance: vec![0.9999, 3.9999] }];
    let found = forward(&network, &[], &[2.0, 3.0, 4.0, 6.0], Mode::Test(&given)).unwrap();
    assert_close(found.logits(), &[1.0, 2.0, 1.0, 2.0]);
}

/// Parameters and images that NumPy makes as easily: `sin(i + 1) / 2`, and a grey value from a congruence.
fn parameters(network: &Network) -> Vec<f64> {
    (1..=network.parameters()).map(|i| (i as f64).sin() * 0.5).collect()
}

fn images(count: usize) -> Vec<f64> {
    (0..count * 784).map(|i| ((i * 37 + i / 784 * 11) % 101) as f64 / 100.0).collect()
}

fn labels(count: u8) -> Vec<u8> {
    (0..count).map(|i| i * 7 % 10).collect()
}

fn on_twelve(network: &Network) -> Forward {
    forward(network, &parameters(network), &images(12), Mode::Train).unwrap()
}

/// Loss and three logits of twelve images in training mode, then the loss of the first three of them with the statistics
/// of the twelve, computed apart with NumPy (einsum over sliding windows; the paper's shared layer as a convolution of
/// single maps). Dividing by small standard deviations magnifies rounding, but not beyond 1e-10.
#[test]
fn whole_networks_agree_with_numpy() {
    let full = Network::parse("conv 2x5, pool 2, conv 3x5, dense 10", Shape::DIGIT).unwrap();
    for (network, loss, logits, tested) in [
        (
            Network::lenet1(),
            2.865973238702347,
            [-0.8421511803104822, 0.3452185719503982, -0.19245004208973376],
            3.5183779251889544,
        ),
        (
            Network::shallow(),
            2.52228773176021,
            [0.0005740156855668389, -0.7279676136896474, -0.9059933402455947],
            2.712553733877325,
        ),
        (full, 4.4359233161458524, [-0.9549146164167583, -3.1794508054784045, 1.7079984440445828], 5.568002817758708),
    ] {
        let found = on_twelve(&network);
        let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-10, "{network}: {a} is not {b}");
        close(found.cross_entropy(&labels(12)).unwrap(), loss);
        for (place, expected) in [0, 57, 119].into_iter().zip(logits) {
            close(found.logits()[place], expected);
        }
        // One image of twelve is right, whichever the network.
        close(found.accuracy(&labels(12)).unwrap(), 1.0 / 12.0);
        let test = Mode::Test(&found.statistics);
        let three = forward(&network, &parameters(&network), &images(3), test).unwrap();
        close(three.cross_entropy(&labels(3)).unwrap(), tested);
    }
}

/// In training mode every channel has mean 0 and unbiased variance v / (v + epsilon), v the variance before.
#[test]
fn batch_norm_in_training_mode_normalises() {
    let network = Network::lenet1();
    let found = on_twelve(&network);
    let norms = (0..13).filter(|&place| network.stages()[place].layer.word() == "bn");
    for (place, statistics) in norms.zip(&found.statistics) {
        let shape = network.stages()[place].output;
        for channel in 0..shape.channels() {
            let chunks = found.outputs[place].chunks_exact(shape.area());
            let values: Vec<f64> = chunks.skip(channel).step_by(shape.channels()).flatten().copied().collect();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / (count - 1.0);
            let before = statistics.variance[channel];
            // The rounding of at most 12 * 576 additions of numbers of size 1.
            assert!(mean.abs() < 1e-11, "layer {place}, channel {channel}: mean {mean}");
            assert!((variance - before / (before + EPSILON)).abs() < 1e-11, "layer {place}, channel {channel}");
        }
    }
}

/// An image has the same logits, bit for bit, alone and in any batch; with the statistics of a batch, those that the
/// batch had in training mode.
#[test]
fn test_mode_does_not_depend_on_the_batch() {
    for network in [Network::lenet1(), Network::shallow()] {
        let (vector, pixels) = (parameters(&network), images(12));
        let train = on_twelve(&network);
        let test = Mode::Test(&train.statistics);
        let all = forward(&network, &vector, &pixels, test).unwrap();
        assert_eq!(all, train);
        for image in 0..12 {
            let alone = forward(&network, &vector, &pixels[image * 784..(image + 1) * 784], test).unwrap();
            assert_eq!(alone.logits(), &train.logits()[image * 10..(image + 1) * 10]);
        }
        // In training mode the other images matter.
        let part = forward(&network, &vector, &pixels[..6 * 784], Mode::Train).unwrap();
        assert_ne!(part.logits(), &train.logits()[..60]);
    }
}

#[test]
fn cross_entropy_at_known_logits() {
    let close = |logits: &[f64], labels: &[u8], expected: f64| {
        let found = cross_entropy(logits, logits.len() / labels.len(), labels).unwrap();
        assert!((found - expected).abs() <= 1e-15 * expected.abs().max(1.0), "{found} is not {expected}");
    };
    close(&[3.7; 10], &[4], 10f64.ln());
    close(&[0.0; 20], &[0, 9], 10f64.ln());
    // Probabilities 1/4 and 3/4, and the mean over images.
    close(&[0.0, 3f64.ln()], &[1], (4.0f64 / 3.0).ln());
    close(&[0.0, 3f64.ln(), 0.0, 3f64.ln()], &[1, 0], ((4.0f64 / 3.0).ln() + 4f64.ln()) / 2.0);
    // Neither overflow nor a logarithm of zero.
    close(&[1e308, -1e307, 0.0], &[0], 0.0);
    close(&[1e300, 0.0], &[1], 1e300);
    close(&[-1e300, -1e300], &[0], 2f64.ln());
    close(&[1000.0, 1001.0], &[0], 1.0 + (1.0 + (-1.0f64).exp()).ln());
    assert_eq!(cross_entropy(&[f64::NEG_INFINITY, 0.0], 2, &[0]), Ok(f64::INFINITY));
    let total: f64 = log_softmax(&[0.3, -2.0, 5.0, 700.0, 710.0]).iter().map(|z| z.exp()).sum();
    assert!((total - 1.0).abs() < 1e-15);
}

#[test]
fn accuracy_counts_the_greatest_logit() {
    assert_eq!(predict(&[1.0, 3.0, 2.0]), Some(1));
    assert_eq!(predict(&[1.0, 3.0, 3.0]), Some(1), "the first in a tie");
    assert_eq!(predict(&[1.0, f64::NAN]), None);
    assert_eq!(predict(&[f64::NEG_INFINITY; 2]), Some(0));
    let logits = [1.0, 2.0, 2.0, 1.0, 0.0, 0.0, f64::NAN, 0.0];
    assert_eq!(accuracy(&logits, 2, &[1, 1, 0, 1]), Ok(0.5));
}

#[test]
fn data_that_do_not_fit_are_refused() {
    let network = Network::parse("conv 1x1, bn, dense 3, bn", Shape::Maps { maps: 1, height: 1, width: 2 }).unwrap();
    let vector = [0.1; 11];
    fn refused(network: &Network, vector: &[f64], images: &[f64], mode: Mode) -> String {
        forward(network, vector, images, mode).unwrap_err().to_string()
    }
    assert_eq!(refused(&network, &vector[1..], &[0.0; 4], Mode::Train), "10 parameters given, but the network has 11");
    for length in [0, 3] {
        let expected = format!("{length} pixel values are not a positive number of images of 2 values (1@1x2)");
        assert_eq!(refused(&network, &vector, &[0.0; 4][..length], Mode::Train), expected);
    }
    // One image of two pixels is enough for the maps of layer 2, not for the values of layer 4.
    assert_eq!(
        refused(&network, &vector, &[0.0; 2], Mode::Train),
        "layer 4 (bn): its statistics need at least 2 values per feature, so give at least 2 images"
    );
    assert_eq!(
        refused(&network, &vector, &[0.0; 2], Mode::Test(&[])),
        "statistics of 0 batch-norm layers given, but the network has 2"
    );
    let good = |channels| Statistics { mean: vec![0.0; channels], variance: vec![1.0; channels] };
    assert!(forward(&network, &vector, &[0.0; 2], Mode::Test(&[good(1), good(3)])).is_ok());
    let negative = Statistics { variance: vec![1.0, -1.0, 1.0], ..good(3) };
    let infinite = Statistics { mean: vec![1.0, f64::INFINITY, 1.0], ..good(3) };
    for wrong in [good(2), negative, infinite] {
        assert_eq!(
            refused(&network, &vector, &[0.0; 2], Mode::Test(&[good(1), wrong])),
            "statistics of layer 4 (bn) must be 3 finite means and 3 finite variances of at least 0"
        );
    }
    assert_eq!(
        cross_entropy(&[0.0; 6], 3, &[0, 3]).unwrap_err().to_string(),
        "label 3 of image 1 must be below 3, the number of the network's outputs"
    );
    for (logits, classes, labels) in [(6, 3, 1), (0, 3, 0), (2, 0, 2)] {
        let found = accuracy(&[0.0; 6][..logits], classes, &[0; 2][..labels]);
        assert_eq!(found, Err(ForwardError::Logits { logits, classes, labels }));
    }
}
