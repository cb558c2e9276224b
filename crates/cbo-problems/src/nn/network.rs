//! Networks: layers whose shapes fit, and the place of each parameter.

use super::error::{ForwardError, Misfit, NetworkError};
use super::layer::Layer;
use super::parse;
use super::shape::Shape;
use std::fmt;
use std::ops::Range;

/// The most parameters a network may have, and the most values between two layers for one image.
pub const MAX_VALUES: usize = 1 << 24;

/// A list of layers whose shapes fit one another.
///
/// # Order of the parameters
///
/// The parameters are one vector, the coordinates of a particle. Layer by layer in order, each dense layer and each
/// convolution has first its weights, then its biases; other layers have none. Weights are in row-major order, the last
/// index fastest:
///
/// - dense: `weight[output][input]`, then `bias[output]`; inputs that are maps count as `[map][row][column]`;
/// - convolution: `weight[map][input map][row][column]`, then `bias[map]`;
/// - shared convolution: `weight[kernel][0][row][column]`, then `bias[kernel]`; its output map `i * kernels + k` is
///   kernel k on input map i.
///
/// [`tensors`](Self::tensors) lists the pieces by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    input: Shape,
    stages: Vec<Stage>,
}

/// A layer in its network: the shapes around it and its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The layer.
    pub layer: Layer,
    /// The shape before it.
    pub input: Shape,
    /// The shape after it.
    pub output: Shape,
    /// Its weights in the parameter vector; empty if it has none.
    pub weights: Range<usize>,
    /// Its biases, right after the weights.
    pub biases: Range<usize>,
}

/// A named piece of the parameter vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The kind of layer, its number among its kind from 1, and the part: `conv1.weight`, `dense1.bias`.
    pub name: String,
    /// The lengths of its indices, the last of which runs fastest.
    pub shape: Vec<usize>,
    /// Its place in the parameter vector.
    pub range: Range<usize>,
}

impl Network {
    /// Puts layers after an input shape; fails at the first layer that does not fit.
    pub fn new(input: Shape, layers: impl IntoIterator<Item = Layer>) -> Result<Self, NetworkError> {
        if !(1..=MAX_VALUES).contains(&input.values()) {
            return Err(NetworkError::Input { input });
        }
        let mut stages: Vec<Stage> = Vec::new();
        for layer in layers {
            let (shape, start) = stages.last().map_or((input, 0), |last| (last.output, last.biases.end));
            let stage = Stage::new(layer, shape, start).map_err(|misfit| NetworkError::Layer {
                number: stages.len() + 1,
                layer,
                input: shape,
                misfit,
            })?;
            stages.push(stage);
        }
        if stages.is_empty() { Err(NetworkError::NoLayers) } else { Ok(Self { input, stages }) }
    }

    /// Reads a network from a text such as `conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn`, or from the name
    /// `shallow` or `lenet1`.
    ///
    /// Layers are separated by commas (or `;`, `->`, line ends): `dense OUTPUTS`, `conv MAPSxKERNEL` with `shared` if the
    /// kernels are the same for every input map, `pool SIZE`, `relu`, `bn`. Case, spaces and the order of the words
    /// within a layer do not matter; `4@5x5` is another way to write `4x5`. A `softmax` at the end is allowed and adds
    /// nothing, since the loss contains it.
    pub fn parse(text: &str, input: Shape) -> Result<Self, NetworkError> {
        Self::new(input, parse::layers(text)?)
    }

    /// The paper's shallow network: 784 pixels, 10 outputs, 7850 parameters.
    pub fn shallow() -> Self {
        Self::on_digits(&Self::SHALLOW)
    }

    /// The paper's convolutional network, similar to LeNet-1: 104 + 78 + 1930 = 2112 parameters.
    ///
    /// Its second convolution shares three kernels over the four maps that it receives.
    pub fn lenet1() -> Self {
        Self::on_digits(&Self::LENET1)
    }

    pub(super) const SHALLOW: [Layer; 3] = [Layer::Dense { outputs: 10 }, Layer::Relu, Layer::BatchNorm];

    pub(super) const LENET1: [Layer; 13] = [
        Layer::Conv { maps: 4, kernel: 5, shared: false },
        Layer::Relu,
        Layer::BatchNorm,
        Layer::MaxPool { size: 2 },
        Layer::BatchNorm,
        Layer::Conv { maps: 3, kernel: 5, shared: true },
        Layer::Relu,
        Layer::BatchNorm,
        Layer::MaxPool { size: 2 },
        Layer::BatchNorm,
        Layer::Dense { outputs: 10 },
        Layer::Relu,
        Layer::BatchNorm,
    ];

    fn on_digits(layers: &[Layer]) -> Self {
        Self::new(Shape::DIGIT, layers.iter().copied()).expect("the paper's networks fit MNIST digits")
    }

    /// The shape of one image.
    pub fn input(&self) -> Shape {
        self.input
    }

    /// The shape after the last layer; its values are the logits of the classes.
    pub fn output(&self) -> Shape {
        self.stages.last().map_or(self.input, |last| last.output)
    }

    /// Number of classes: the values after the last layer.
    pub fn classes(&self) -> usize {
        self.output().values()
    }

    /// Number of parameters: the dimension of a particle.
    pub fn parameters(&self) -> usize {
        self.stages.last().map_or(0, |last| last.biases.end)
    }

    /// The layers in order, each with its shapes and the place of its parameters.
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// The layers in order.
    pub fn layers(&self) -> impl Iterator<Item = Layer> + '_ {
        self.stages.iter().map(|stage| stage.layer)
    }

    /// The named pieces of the parameter vector, in its order; together they are all of it.
    pub fn tensors(&self) -> Vec<Tensor> {
        let mut tensors = Vec::new();
        let (mut convs, mut denses) = (0, 0);
        for stage in &self.stages {
            let Some(shape) = stage.layer.weight_shape(stage.input) else { continue };
            let number = if matches!(stage.layer, Layer::Dense { .. }) { &mut denses } else { &mut convs };
            *number += 1;
            let name = |part: &str| format!("{}{number}.{part}", stage.layer.word());
            let bias = Tensor { name: name("bias"), shape: vec![shape[0]], range: stage.biases.clone() };
            tensors.push(Tensor { name: name("weight"), shape, range: stage.weights.clone() });
            tensors.push(bias);
        }
        tensors
    }

    /// Number of images in this many pixel values.
    pub fn image_count(&self, length: usize) -> Result<usize, ForwardError> {
        let values = self.input.values();
        if length == 0 || !length.is_multiple_of(values) {
            return Err(ForwardError::Images { length, values, input: self.input });
        }
        Ok(length / values)
    }

    /// Whether a vector of this length can be the parameters.
    pub fn check_parameters(&self, length: usize) -> Result<(), ForwardError> {
        let parameters = self.parameters();
        if length == parameters { Ok(()) } else { Err(ForwardError::Parameters { length, parameters }) }
    }
}

impl Stage {
    /// A layer after `input`, its parameters from `start` on.
    fn new(layer: Layer, input: Shape, start: usize) -> Result<Self, Misfit> {
        let output = layer.output(input)?;
        let (weights, biases) = layer.weight_shape(input).map_or((0, 0), |shape| {
            // Saturating: the limit below refuses what is too large for a usize too.
            (shape.iter().fold(1usize, |product, length| product.saturating_mul(*length)), shape[0])
        });
        let (outputs, middle) = (output.values(), start.saturating_add(weights));
        let parameters = middle.saturating_add(biases);
        if outputs > MAX_VALUES || parameters > MAX_VALUES {
            return Err(Misfit::TooLarge { outputs, parameters });
        }
        Ok(Self { layer, input, output, weights: start..middle, biases: middle..parameters })
    }
}

/// The text that [`Network::parse`] reads.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, layer) in self.layers().enumerate() {
            write!(f, "{}{layer}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

/// Name and shape: `conv1.weight [4,1,5,5]`.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths: Vec<String> = self.shape.iter().map(usize::to_string).collect();
        write!(f, "{} [{}]", self.name, lengths.join(","))
    }
}
