//! What can be wrong with a model or its file.

use super::super::error::{ForwardError, NetworkError};

/// A model that cannot be written or read; the message names the file and the tensor, what was found, and what would be
/// right.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Parameters or statistics that do not fit the network.
    #[error("the parts of the model do not fit")]
    Parts(#[from] ForwardError),
    /// A parameter that is infinite or not a number.
    #[error("the model cannot be written: parameter {index} is {value}; it must be finite")]
    Parameter {
        /// Its place, from 0.
        index: usize,
        /// Its value.
        value: f32,
    },
    /// A note whose key the program needs for itself.
    #[error("the model cannot be written: a note has the key `{key}`; `format` and keys from `cbo.` are reserved")]
    Note {
        /// The key.
        key: String,
    },
    /// Bytes that are not a safetensors file, or not all of one.
    #[error("`{file}` is not a whole safetensors file: {reason}; give a model that cbo wrote")]
    Format {
        /// The file.
        file: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Missing metadata.
    #[error("`{file}` has no `{key}` in its metadata; give a model that cbo wrote")]
    NoMetadata {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
    },
    /// Metadata of the program that mean nothing to it.
    #[error("`{file}` has {key} = {found} in its metadata; {remedy}")]
    Metadata {
        /// The file.
        file: String,
        /// The key, shortened if it is long.
        key: String,
        /// The value, quoted and shortened if it is long.
        found: String,
        /// What would be right.
        remedy: &'static str,
    },
    /// A network text that does not parse, or whose layers do not fit.
    #[error("`{file}` has a faulty cbo.network in its metadata: {fault}")]
    Network {
        /// The file.
        file: String,
        /// What is wrong with it.
        fault: NetworkError,
    },
    /// A tensor that the network needs and the file lacks.
    #[error("`{file}` has no tensor `{tensor}`, but its network needs it with the shape {shape}")]
    NoTensor {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// Its shape, such as `[4,1,5,5]`.
        shape: String,
    },
    /// A tensor that the network does not have.
    #[error("`{file}` has a tensor {tensor} that its network does not have; the network has {known}")]
    Unknown {
        /// The file.
        file: String,
        /// The tensor, quoted and shortened if it is long.
        tensor: String,
        /// The tensors of the network.
        known: String,
    },
    /// A tensor of another shape.
    #[error("`{file}` has the tensor `{tensor}` with the shape {found}; its network needs {shape}")]
    Shape {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The shape in the file.
        found: String,
        /// The shape that would be right.
        shape: String,
    },
    /// A tensor of another type of numbers.
    #[error("`{file}` has the tensor `{tensor}` in {found}; it must be {wanted}")]
    Dtype {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The type in the file.
        found: String,
        /// The types that would be right.
        wanted: &'static str,
    },
    /// A number that no model can have.
    #[error("`{file}` has {value} at place {index} of the tensor `{tensor}`; it must be {wanted}")]
    Value {
        /// The file.
        file: String,
        /// The tensor.
        tensor: String,
        /// The place in it, from 0, the last index fastest.
        index: usize,
        /// The number.
        value: f64,
        /// What would be right.
        wanted: &'static str,
    },
}
