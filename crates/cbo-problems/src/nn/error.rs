//! What can be wrong with a network, its text, or the data given to it.

use super::layer::Layer;
use super::network::MAX_VALUES;
use super::shape::Shape;

/// A network that cannot be built; the message says at which layer, what was wrong, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NetworkError {
    /// No layers at all.
    #[error("the network has no layers; write for example `dense 10, relu, bn`")]
    NoLayers,
    /// An input shape without values, or with too many.
    #[error("the input {input} of the network must have from 1 to {MAX_VALUES} values")]
    Input {
        /// The shape.
        input: Shape,
    },
    /// A layer that does not fit what comes before it.
    #[error("layer {number} ({layer}) does not fit its input {input}: {misfit}")]
    Layer {
        /// The layer, from 1.
        number: usize,
        /// What it is.
        layer: Layer,
        /// The shape that reaches it.
        input: Shape,
        /// Why the two do not fit.
        misfit: Misfit,
    },
    /// A text that is not a network.
    #[error("network text, layer {number}, character {column}: {}{remedy}", quoted(word))]
    Text {
        /// The layer, from 1.
        number: usize,
        /// The character, from 1.
        column: usize,
        /// What is there; empty where something is missing.
        word: String,
        /// What is wrong with it and what would be right.
        remedy: String,
    },
}

fn quoted(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}` ") }
}

/// Why a layer does not fit the shape before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// A convolution or a pool on a flat list.
    #[error("it needs maps, so it must come before every dense layer")]
    NeedsMaps,
    /// A kernel larger than the maps.
    #[error("the {kernel}x{kernel} kernel is larger than the {height}x{width} maps; it may be at most {}", height.min(width))]
    Kernel {
        /// Height and width of the kernel.
        kernel: usize,
        /// Height of the maps.
        height: usize,
        /// Width of the maps.
        width: usize,
    },
    /// Maps that cannot be cut into squares of this size.
    #[error("{height}x{width} maps do not divide into squares of {size}x{size}; the size must divide height and width")]
    Pool {
        /// Height and width of a square.
        size: usize,
        /// Height of the maps.
        height: usize,
        /// Width of the maps.
        width: usize,
    },
    /// A size of zero.
    #[error("its sizes must be at least 1")]
    Zero,
    /// Outputs or parameters beyond the limit.
    #[error("it has {outputs} outputs and brings the parameters to {parameters}; each may be at most {MAX_VALUES}")]
    TooLarge {
        /// Values after the layer.
        outputs: usize,
        /// Parameters up to and including the layer.
        parameters: usize,
    },
}

/// Parameters, images, labels or statistics that do not fit a network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ForwardError {
    /// Too few or too many parameters.
    #[error("{length} parameters given, but the network has {parameters}")]
    Parameters {
        /// Number given.
        length: usize,
        /// Number needed.
        parameters: usize,
    },
    /// No images, or not a whole number of them.
    #[error("{length} pixel values are not a positive number of images of {values} values ({input})")]
    Images {
        /// Values given.
        length: usize,
        /// Values of one image.
        values: usize,
        /// The shape of one image.
        input: Shape,
    },
    /// Too few values in a batch for an unbiased variance.
    #[error("layer {number} (bn): its statistics need at least 2 values per feature, so give at least 2 images")]
    BatchTooSmall {
        /// The layer, from 1.
        number: usize,
    },
    /// Statistics of too few or too many layers.
    #[error("statistics of {given} batch-norm layers given, but the network has {needed}")]
    StatisticsCount {
        /// Number given.
        given: usize,
        /// Number needed.
        needed: usize,
    },
    /// Statistics of the wrong length, or with a mean or variance that cannot be one.
    #[error(
        "statistics of layer {number} (bn) must be {channels} finite means and {channels} finite variances of at least 0"
    )]
    Statistics {
        /// The layer, from 1.
        number: usize,
        /// The features or maps that it normalises.
        channels: usize,
    },
    /// Logits that are not a row of classes for each label.
    #[error("{logits} logits are not {classes} for each of {labels} labels; there must be at least 1 label")]
    Logits {
        /// Logits given.
        logits: usize,
        /// Classes.
        classes: usize,
        /// Labels given.
        labels: usize,
    },
    /// A label without a class.
    #[error("label {label} of image {image} must be below {classes}, the number of the network's outputs")]
    Label {
        /// The label.
        label: u8,
        /// The image, from 0.
        image: usize,
        /// The number of classes.
        classes: usize,
    },
}
