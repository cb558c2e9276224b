//! Layers: the closed set of them, the shape that each gives for an input shape, and the tensors it needs.

use super::error::Misfit;
use super::shape::Shape;
use std::fmt;

/// One layer of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layer {
    /// `y = W x + b`; maps are flattened first, map after map, each row after row.
    Dense {
        /// Number of outputs.
        outputs: usize,
    },
    /// Cross-correlation with square kernels, stride 1, no padding, plus a bias per kernel:
    /// `y[r][c] = b + sum_{i,j} K[i][j] x[r + i][c + j]`.
    Conv {
        /// Number of kernels; without sharing, the number of output maps.
        maps: usize,
        /// Height and width of a kernel.
        kernel: usize,
        /// Whether the same kernels run over each input map on its own, as in the paper's second convolution. Every
        /// input map then gives `maps` output maps: output `i * maps + k` is kernel k on input i. Otherwise each kernel
        /// has one plane per input map and an output map is the sum over them.
        shared: bool,
    },
    /// `max(x, 0)`.
    Relu,
    /// The maximum over squares that do not overlap.
    MaxPool {
        /// Height and width of a square; it divides height and width of the maps.
        size: usize,
    },
    /// `(x - mean) / sqrt(variance + EPSILON)` per map, or per value of a flat list; no trainable part.
    /// See [`Statistics`](super::Statistics).
    BatchNorm,
}

impl Layer {
    /// The shape after this layer.
    pub fn output(self, input: Shape) -> Result<Shape, Misfit> {
        match self {
            Self::Dense { outputs: 0 } | Self::Conv { maps: 0, .. } | Self::Conv { kernel: 0, .. } => Err(Misfit::Zero),
            Self::MaxPool { size: 0 } => Err(Misfit::Zero),
            Self::Dense { outputs } => Ok(Shape::Flat(outputs)),
            Self::Relu | Self::BatchNorm => Ok(input),
            Self::Conv { maps, kernel, shared } => {
                let Shape::Maps { maps: inputs, height, width } = input else { return Err(Misfit::NeedsMaps) };
                if kernel > height || kernel > width {
                    return Err(Misfit::Kernel { kernel, height, width });
                }
                let maps = if shared { inputs.saturating_mul(maps) } else { maps };
                Ok(Shape::Maps { maps, height: height - kernel + 1, width: width - kernel + 1 })
            }
            Self::MaxPool { size } => {
                let Shape::Maps { maps, height, width } = input else { return Err(Misfit::NeedsMaps) };
                if !height.is_multiple_of(size) || !width.is_multiple_of(size) {
                    return Err(Misfit::Pool { size, height, width });
                }
                Ok(Shape::Maps { maps, height: height / size, width: width / size })
            }
        }
    }

    /// The shape of the weights, if the layer has any; its biases are as many as the first entry.
    ///
    /// The order of the entries is PyTorch's: `[outputs, inputs]` for a dense layer, `[maps, input maps, kernel, kernel]`
    /// for a convolution, where shared kernels have one input map. The last index runs fastest.
    pub fn weight_shape(self, input: Shape) -> Option<Vec<usize>> {
        match self {
            Self::Dense { outputs } => Some(vec![outputs, input.values()]),
            Self::Conv { maps, kernel, shared: true } => Some(vec![maps, 1, kernel, kernel]),
            Self::Conv { maps, kernel, shared: false } => Some(vec![maps, input.channels(), kernel, kernel]),
            Self::Relu | Self::MaxPool { .. } | Self::BatchNorm => None,
        }
    }

    /// The word for this kind of layer in network texts and tensor names.
    pub fn word(self) -> &'static str {
        match self {
            Self::Dense { .. } => "dense",
            Self::Conv { .. } => "conv",
            Self::Relu => "relu",
            Self::MaxPool { .. } => "pool",
            Self::BatchNorm => "bn",
        }
    }
}

/// The text that [`Network::parse`](super::Network::parse) reads, such as `conv 3x5 shared`.
impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())?;
        match self {
            Self::Dense { outputs } => write!(f, " {outputs}"),
            Self::Conv { maps, kernel, shared } => {
                write!(f, " {maps}x{kernel}{}", if *shared { " shared" } else { "" })
            }
            Self::MaxPool { size } => write!(f, " {size}"),
            Self::Relu | Self::BatchNorm => Ok(()),
        }
    }
}
