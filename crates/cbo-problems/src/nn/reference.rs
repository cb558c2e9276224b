//! A slow, obvious forward pass in double precision: what fast code is tested against.
//!
//! Images and the values between layers are sample-major: image after image, within an image map after map, within a map
//! row after row. One parameter vector, one batch, plain loops over the formulas of [`Layer`]. A NaN among the values
//! stays a NaN: a failed evaluation is never hidden by a ReLU or a maximum.

use super::error::ForwardError;
use super::layer::Layer;
use super::network::{Network, Stage};
use super::shape::Shape;
use super::statistics::{EPSILON, Statistics};

/// Where batch normalisation takes its statistics from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mode<'a> {
    /// From the batch itself.
    Train,
    /// Given, one for each batch-norm layer in order: [`Forward::statistics`] of a training sample. An image's values
    /// then do not depend on the others in the batch.
    Test(&'a [Statistics]),
}

/// All that a forward pass computes.
#[derive(Clone, Debug, PartialEq)]
pub struct Forward {
    /// Values after each layer, for all images.
    pub outputs: Vec<Vec<f64>>,
    /// What each batch-norm layer used, in order.
    pub statistics: Vec<Statistics>,
    /// Number of classes.
    pub classes: usize,
}

impl Forward {
    /// Values after the last layer: a row of classes for each image.
    pub fn logits(&self) -> &[f64] {
        self.outputs.last().map_or(&[], Vec::as_slice)
    }

    /// The mean cross-entropy; see [`cross_entropy`].
    pub fn cross_entropy(&self, labels: &[u8]) -> Result<f64, ForwardError> {
        cross_entropy(self.logits(), self.classes, labels)
    }

    /// The fraction of images whose class is the label; see [`accuracy`].
    pub fn accuracy(&self, labels: &[u8]) -> Result<f64, ForwardError> {
        accuracy(self.logits(), self.classes, labels)
    }
}

/// Takes images through a network.
pub fn forward(network: &Network, parameters: &[f64], images: &[f64], mode: Mode) -> Result<Forward, ForwardError> {
    network.check_parameters(parameters.len())?;
    network.image_count(images.len())?;
    if let Mode::Test(given) = mode {
        network.check_statistics(given)?;
    }
    let mut forward = Forward { outputs: Vec::new(), statistics: Vec::new(), classes: network.classes() };
    for (place, stage) in network.stages().iter().enumerate() {
        let input = if place == 0 { images } else { &forward.outputs[place - 1] };
        let (weights, biases) = (&parameters[stage.weights.clone()], &parameters[stage.biases.clone()]);
        let output = match stage.layer {
            Layer::Dense { .. } => each_image(input, stage, |image| dense(image, weights, biases)),
            Layer::Conv { kernel, shared, .. } => {
                each_image(input, stage, |image| convolution(image, stage.input, weights, biases, kernel, shared))
            }
            // Not `max`, which would turn a NaN into 0.
            Layer::Relu => input.iter().map(|&x| if x < 0.0 { 0.0 } else { x }).collect(),
            Layer::MaxPool { size } => each_image(input, stage, |image| max_pool(image, stage.input, size)),
            Layer::BatchNorm => {
                let used = match mode {
                    Mode::Train => {
                        statistics(input, stage.input).ok_or(ForwardError::BatchTooSmall { number: place + 1 })?
                    }
                    Mode::Test(given) => given[forward.statistics.len()].clone(),
                };
                let output = normalise(input, stage.input, &used);
                forward.statistics.push(used);
                output
            }
        };
        forward.outputs.push(output);
    }
    Ok(forward)
}

/// Applies a function to each image and joins the results.
fn each_image(input: &[f64], stage: &Stage, apply: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    input.chunks_exact(stage.input.values()).flat_map(apply).collect()
}

/// `W x + b`.
fn dense(image: &[f64], weights: &[f64], biases: &[f64]) -> Vec<f64> {
    let rows = weights.chunks_exact(image.len());
    rows.zip(biases).map(|(row, bias)| bias + row.iter().zip(image).map(|(w, x)| w * x).sum::<f64>()).collect()
}

fn convolution(image: &[f64], shape: Shape, weights: &[f64], biases: &[f64], kernel: usize, shared: bool) -> Vec<f64> {
    let (inputs, height, width) = sides(shape);
    let plane = |map: usize, kernel_plane: usize, row: usize, column: usize| {
        let mut sum = 0.0;
        for i in 0..kernel {
            for j in 0..kernel {
                let pixel = image[(map * height + row + i) * width + column + j];
                sum += weights[(kernel_plane * kernel + i) * kernel + j] * pixel;
            }
        }
        sum
    };
    // Which input maps meet which kernel, output map by output map.
    let maps: Vec<(Vec<usize>, usize)> = if shared {
        (0..inputs).flat_map(|input| (0..biases.len()).map(move |k| (vec![input], k))).collect()
    } else {
        (0..biases.len()).map(|k| ((0..inputs).collect(), k)).collect()
    };
    let mut output = Vec::new();
    for (sources, k) in &maps {
        for row in 0..=height - kernel {
            for column in 0..=width - kernel {
                let planes = sources.iter().enumerate().map(|(s, &map)| plane(map, k * sources.len() + s, row, column));
                output.push(biases[*k] + planes.sum::<f64>());
            }
        }
    }
    output
}

fn max_pool(image: &[f64], shape: Shape, size: usize) -> Vec<f64> {
    let (maps, height, width) = sides(shape);
    let mut output = Vec::new();
    for map in 0..maps {
        for row in (0..height).step_by(size) {
            for column in (0..width).step_by(size) {
                let mut greatest = f64::NEG_INFINITY;
                for i in 0..size {
                    for j in 0..size {
                        let pixel = image[(map * height + row + i) * width + column + j];
                        // Once NaN, no comparison holds and it stays.
                        if pixel > greatest || pixel.is_nan() {
                            greatest = pixel;
                        }
                    }
                }
                output.push(greatest);
            }
        }
    }
    output
}

/// Maps, height and width; a flat list counts as maps of one pixel.
fn sides(shape: Shape) -> (usize, usize, usize) {
    match shape {
        Shape::Maps { maps, height, width } => (maps, height, width),
        Shape::Flat(values) => (values, 1, 1),
    }
}

/// Mean and unbiased variance of each channel; none if a channel has fewer than two values.
fn statistics(input: &[f64], shape: Shape) -> Option<Statistics> {
    let count = input.len() / shape.channels();
    if count < 2 {
        return None;
    }
    let (mut mean, mut variance) = (Vec::new(), Vec::new());
    for channel in 0..shape.channels() {
        let values: Vec<f64> =
            input.chunks_exact(shape.area()).skip(channel).step_by(shape.channels()).flatten().copied().collect();
        let centre = values.iter().sum::<f64>() / count as f64;
        mean.push(centre);
        variance.push(values.iter().map(|x| (x - centre) * (x - centre)).sum::<f64>() / (count - 1) as f64);
    }
    Some(Statistics { mean, variance })
}

/// `(x - mean) / sqrt(variance + EPSILON)`, channel by channel.
fn normalise(input: &[f64], shape: Shape, with: &Statistics) -> Vec<f64> {
    let channel = |place: usize| place / shape.area() % shape.channels();
    let scaled = |(place, x): (usize, &f64)| {
        let channel = channel(place);
        (x - with.mean[channel]) / (with.variance[channel] + EPSILON).sqrt()
    };
    input.iter().enumerate().map(scaled).collect()
}

/// Logarithm of the softmax of one image's logits, `z_k - log sum_j exp(z_j)`.
///
/// The largest logit is subtracted first, so large logits do not overflow; NaN or +infinity among them makes NaN.
pub fn log_softmax(logits: &[f64]) -> Vec<f64> {
    let greatest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logits.iter().map(|z| (z - greatest).exp()).sum();
    logits.iter().map(|z| z - greatest - sum.ln()).collect()
}

/// The paper's loss: minus the mean over the images of the log-softmax at the label.
pub fn cross_entropy(logits: &[f64], classes: usize, labels: &[u8]) -> Result<f64, ForwardError> {
    check_labels(logits, classes, labels)?;
    let rows = logits.chunks_exact(classes).zip(labels);
    let total: f64 = rows.map(|(row, &label)| -log_softmax(row)[usize::from(label)]).sum();
    Ok(total / labels.len() as f64)
}

/// The fraction of images whose predicted class is the label.
pub fn accuracy(logits: &[f64], classes: usize, labels: &[u8]) -> Result<f64, ForwardError> {
    check_labels(logits, classes, labels)?;
    let rows = logits.chunks_exact(classes).zip(labels);
    let right = rows.filter(|(row, label)| predict(row) == Some(usize::from(**label))).count();
    Ok(right as f64 / labels.len() as f64)
}

/// The class with the greatest logit, the first of them in a tie; none if a logit is NaN, which then counts as wrong.
pub fn predict(logits: &[f64]) -> Option<usize> {
    if logits.iter().any(|z| z.is_nan()) {
        return None;
    }
    (0..logits.len()).reduce(|best, class| if logits[class] > logits[best] { class } else { best })
}

fn check_labels(logits: &[f64], classes: usize, labels: &[u8]) -> Result<(), ForwardError> {
    if classes == 0 || labels.is_empty() || labels.len().checked_mul(classes) != Some(logits.len()) {
        return Err(ForwardError::Logits { logits: logits.len(), classes, labels: labels.len() });
    }
    match labels.iter().position(|&label| usize::from(label) >= classes) {
        Some(image) => Err(ForwardError::Label { label: labels[image], image, classes }),
        None => Ok(()),
    }
}
