//! Trained networks as the bytes of a safetensors file, which PyTorch code can load.

mod error;
mod read;

pub use error::ModelError;

use super::error::ForwardError;
use super::layer::Layer;
use super::network::Network;
use super::shape::Shape;
use super::statistics::{EPSILON, Statistics};
use std::collections::BTreeMap;
use std::fmt::Write;

/// A trained network: what is needed to classify images, always with the same result.
///
/// # The file
///
/// The bytes are a [safetensors](https://github.com/huggingface/safetensors) file. Its tensors are
///
/// - those of [`Network::tensors`], by their names and shapes, as F32: `conv1.weight`, `conv1.bias`, `dense1.weight`;
/// - for the batch-norm layers in order `bn1.running_mean`, `bn1.running_var`, `bn2.running_mean` and so on, as F64.
///
/// The statistics are F64 because evaluation uses them in this precision: a model that is read evaluates to the same
/// bits as the one that was written. PyTorch converts them when they are copied into a module. F32 statistics and
/// PyTorch's `num_batches_tracked` are accepted too, so that a model may come back from there.
///
/// The metadata has the network's text as `cbo.network`, its input as `cbo.input` (`28x28`, `4@12x12` for several
/// maps, `192` for a flat list), [`EPSILON`] as `cbo.epsilon`, `pt` as `format`, and the notes. Equal models make equal
/// bytes.
///
/// ```
/// use cbo_problems::nn::{Model, Network, Shape};
///
/// let network = Network::parse("pool 14, dense 2", Shape::DIGIT)?;
/// let parameters = vec![0.5; network.parameters()];
/// let notes = [("seed".to_string(), "7".to_string())].into();
/// let model = Model { network, parameters, statistics: vec![], notes };
///
/// let bytes = model.to_bytes()?;
/// assert_eq!(Model::from_bytes(&bytes, "model.safetensors")?, model);
///
/// let error = Model::from_bytes(&bytes[..bytes.len() - 1], "model.safetensors").unwrap_err();
/// assert!(error.to_string().starts_with("`model.safetensors` is not a whole safetensors file"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The layers.
    pub network: Network,
    /// Weights and biases, in the order that [`Network`] documents; all finite.
    pub parameters: Vec<f32>,
    /// What the batch-norm layers normalise with, in order.
    pub statistics: Vec<Statistics>,
    /// What a reader may want to know, such as seed, epochs and test accuracy. Keys that start with `cbo.`, and the key
    /// `format`, belong to the program.
    pub notes: BTreeMap<String, String>,
}

/// Metadata keys of the program.
const NETWORK: &str = "cbo.network";
const INPUT: &str = "cbo.input";
const EPSILON_KEY: &str = "cbo.epsilon";
const FORMAT: &str = "format";

/// Whether a metadata key is the program's, so that no note can have it.
fn reserved(key: &str) -> bool {
    key.starts_with("cbo.") || key == FORMAT
}

impl Model {
    /// The bytes of a safetensors file. Fails if the parts do not fit one another.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        self.check()?;
        if let Some((index, &value)) = self.parameters.iter().enumerate().find(|(_, value)| !value.is_finite()) {
            return Err(ModelError::Parameter { index, value });
        }
        if let Some(key) = self.notes.keys().find(|key| reserved(key)) {
            return Err(ModelError::Note { key: key.clone() });
        }
        let mut metadata = self.notes.clone();
        metadata.insert(FORMAT.into(), "pt".into());
        metadata.insert(NETWORK.into(), self.network.to_string());
        metadata.insert(INPUT.into(), input_text(self.network.input()));
        metadata.insert(EPSILON_KEY.into(), format!("{EPSILON:e}"));

        // The format's own writer puts metadata in random order; this one makes equal bytes of equal models. Numbers of
        // eight bytes go first, so that all are aligned.
        let mut header = String::from("{\"__metadata__\":{");
        for (place, (key, value)) in metadata.iter().enumerate() {
            header += if place == 0 { "" } else { "," };
            json_string(&mut header, key);
            header.push(':');
            json_string(&mut header, value);
        }
        header.push('}');
        let mut data = Vec::new();
        for (norm, statistics) in norms(&self.network).zip(&self.statistics) {
            for (name, values) in [(norm.mean, &statistics.mean), (norm.variance, &statistics.variance)] {
                let start = data.len();
                data.extend(values.iter().flat_map(|value| value.to_le_bytes()));
                json_tensor(&mut header, &name, "F64", &[norm.channels], start, data.len());
            }
        }
        for tensor in self.network.tensors() {
            let start = data.len();
            data.extend(self.parameters[tensor.range].iter().flat_map(|value| value.to_le_bytes()));
            json_tensor(&mut header, &tensor.name, "F32", &tensor.shape, start, data.len());
        }
        header.push('}');
        // Spaces after the header bring the data to a multiple of eight.
        header.extend(std::iter::repeat_n(' ', header.len().next_multiple_of(8) - header.len()));

        let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
        bytes.extend(header.into_bytes());
        bytes.extend(data);
        Ok(bytes)
    }

    /// A model from the bytes of a safetensors file; messages call it by the name. Any bytes are safe to give: memory
    /// grows with their number, never with what they say.
    pub fn from_bytes(bytes: &[u8], name: &str) -> Result<Self, ModelError> {
        read::model(bytes, name)
    }

    /// Whether the parts fit one another.
    fn check(&self) -> Result<(), ForwardError> {
        self.network.check_parameters(self.parameters.len())?;
        self.network.check_statistics(&self.statistics)
    }
}

/// A batch-norm layer: the names of its tensors and their length.
struct Norm {
    mean: String,
    variance: String,
    channels: usize,
}

fn norms(network: &Network) -> impl Iterator<Item = Norm> + '_ {
    let layers = network.stages().iter().filter(|stage| stage.layer == Layer::BatchNorm);
    layers.zip(1..).map(|(stage, number)| Norm {
        mean: format!("bn{number}.running_mean"),
        variance: format!("bn{number}.running_var"),
        channels: stage.input.channels(),
    })
}

/// `28x28` for one map, `4@12x12` for several, `192` for a flat list.
fn input_text(input: Shape) -> String {
    match input {
        Shape::Maps { maps: 1, height, width } => format!("{height}x{width}"),
        Shape::Maps { maps, height, width } => format!("{maps}@{height}x{width}"),
        Shape::Flat(values) => values.to_string(),
    }
}

/// Adds `,"name":{...}`, a tensor's entry in the header.
fn json_tensor(header: &mut String, name: &str, dtype: &str, shape: &[usize], start: usize, end: usize) {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    header.push(',');
    json_string(header, name);
    *header += &format!(r#":{{"dtype":"{dtype}","shape":[{}],"data_offsets":[{start},{end}]}}"#, lengths.join(","));
}

/// Adds a text as JSON writes it.
fn json_string(header: &mut String, text: &str) {
    header.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => header.extend(['\\', c]),
            // Writing to a string cannot fail.
            c if c.is_control() => {
                let _ = write!(header, "\\u{:04x}", u32::from(c));
            }
            c => header.push(c),
        }
    }
    header.push('"');
}
