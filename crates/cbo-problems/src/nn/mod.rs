//! Neural networks as data: a list of layers, the shapes between them, and the order of the parameters in a particle.
//!
//! A [`Network`] is what a particle of the MNIST experiment parametrises: the particle's coordinates are the weights and
//! biases of the layers, in the order that [`Network`] documents and [`Network::tensors`] lists. Networks are written
//! and read as short texts:
//!
//! ```
//! use cbo_problems::nn::{Network, Shape};
//!
//! let network = Network::parse("conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn", Shape::DIGIT)?;
//! assert_eq!(network.parameters(), 104 + 5770);
//! assert_eq!(network.tensors()[0].to_string(), "conv1.weight [4,1,5,5]");
//! assert_eq!(network.to_string(), "conv 4x5, relu, bn, pool 2, bn, dense 10, relu, bn");
//! assert_eq!(Network::lenet1().parameters(), 2112);
//!
//! let error = Network::parse("conv 4x5, relu, pool 5, dense 10", Shape::DIGIT).unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "layer 3 (pool 5) does not fit its input 4@24x24: 24x24 maps do not divide into squares of 5x5; \
//!      the size must divide height and width"
//! );
//! # Ok::<(), cbo_problems::nn::NetworkError>(())
//! ```
//!
//! The softmax at the end of a classifier is not a layer: the loss contains it, because the logarithm of a softmax is safe
//! from overflow only when both are computed together. The last layer's values are the logits.
//!
//! [`mod@reference`] evaluates a network slowly and obviously; it is what fast code is tested against.

mod error;
pub mod fast;
mod layer;
mod model;
mod network;
mod objective;
mod parse;
pub mod reference;
mod shape;
mod statistics;

pub use error::{ForwardError, Misfit, NetworkError};
pub use layer::Layer;
pub use model::{Model, ModelError};
pub use network::{MAX_VALUES, Network, Stage, Tensor};
pub use objective::{BatchSizeError, CrossEntropy, Order, Sequence};
pub use shape::Shape;
pub use statistics::{EPSILON, Statistics};
