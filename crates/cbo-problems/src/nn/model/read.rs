//! Reading a model: nothing in the bytes is trusted before it is checked.

use super::super::network::Network;
use super::super::shape::Shape;
use super::super::statistics::{EPSILON, Statistics};
use super::{EPSILON_KEY, FORMAT, INPUT, Model, ModelError, NETWORK, norms, reserved};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};
use std::collections::{BTreeMap, BTreeSet};

pub(super) fn model(bytes: &[u8], file: &str) -> Result<Model, ModelError> {
    let source = Source::new(bytes, file)?;
    let network = source.network()?;
    let mut known = BTreeSet::new();
    let mut statistics = Vec::new();
    for norm in norms(&network) {
        let mean = source.numbers(&norm.mean, &[norm.channels], Use::Mean)?;
        let variance = source.numbers(&norm.variance, &[norm.channels], Use::Variance)?;
        statistics.push(Statistics { mean, variance });
        known.extend([norm.mean, norm.variance]);
    }
    let mut parameters = Vec::new();
    for tensor in network.tensors() {
        // Exact: they were F32 in the file.
        parameters
            .extend(source.numbers(&tensor.name, &tensor.shape, Use::Parameter)?.iter().map(|&value| value as f32));
        known.insert(tensor.name);
    }
    source.no_tensors_but(&known)?;
    let notes = source.notes()?;
    let model = Model { network, parameters, statistics, notes };
    model.check()?;
    Ok(model)
}

/// A tensor that PyTorch keeps with batch normalisation and that evaluation has no use for.
const PYTORCHS_COUNT: &str = ".num_batches_tracked";

/// What a tensor's numbers are for, which decides what they may be.
#[derive(Clone, Copy, PartialEq)]
enum Use {
    Parameter,
    Mean,
    Variance,
}

/// A safetensors file and its name.
struct Source<'a> {
    file: &'a str,
    metadata: BTreeMap<String, String>,
    tensors: SafeTensors<'a>,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8], file: &'a str) -> Result<Self, ModelError> {
        let fault = |reason| ModelError::Format { file: file.into(), reason };
        if let Some(number) = number_beyond(bytes) {
            return Err(fault(format!(
                "its header has the number {number}, but it is only {} bytes long",
                bytes.len()
            )));
        }
        let damage = |error| fault(reason(error, bytes.len()));
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(damage)?;
        let metadata = header.metadata().iter().flatten().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self { file, metadata, tensors: SafeTensors::deserialize(bytes).map_err(damage)? })
    }

    fn entry(&self, key: &'static str) -> Result<&str, ModelError> {
        let found = self.metadata.get(key).map(String::as_str);
        found.ok_or_else(|| ModelError::NoMetadata { file: self.file.into(), key })
    }

    fn refused(&self, key: &str, found: &str, remedy: &'static str) -> ModelError {
        ModelError::Metadata { file: self.file.into(), key: short(key), found: quoted(found), remedy }
    }

    fn network(&self) -> Result<Network, ModelError> {
        let epsilon = self.entry(EPSILON_KEY)?;
        if epsilon.parse() != Ok(EPSILON) {
            return Err(self.refused(EPSILON_KEY, epsilon, "batch normalisation here uses 1e-4"));
        }
        let text = self.entry(INPUT)?;
        let input = input(text).ok_or_else(|| {
            self.refused(INPUT, text, "an input is `28x28`, `4@12x12` for several maps, or `192` for a list")
        })?;
        let network = Network::parse(self.entry(NETWORK)?, input);
        network.map_err(|fault| ModelError::Network { file: self.file.into(), fault })
    }

    /// The metadata that are not the program's.
    fn notes(&self) -> Result<BTreeMap<String, String>, ModelError> {
        let unknown = |key: &str| reserved(key) && ![NETWORK, INPUT, EPSILON_KEY, FORMAT].contains(&key);
        if let Some((key, value)) = self.metadata.iter().find(|(key, _)| unknown(key)) {
            return Err(self.refused(key, value, "this version does not know it, so a newer one may be needed"));
        }
        Ok(self.metadata.iter().filter(|(key, _)| !reserved(key)).map(|(k, v)| (k.clone(), v.clone())).collect())
    }

    /// The numbers of a tensor that the network needs.
    fn numbers(&self, tensor: &str, shape: &[usize], purpose: Use) -> Result<Vec<f64>, ModelError> {
        let (file, name) = (|| self.file.to_string(), || tensor.to_string());
        let Ok(view) = self.tensors.tensor(tensor) else {
            return Err(ModelError::NoTensor { file: file(), tensor: name(), shape: list(shape) });
        };
        let numbers = match view.dtype() {
            Dtype::F32 => four(&view),
            Dtype::F64 if purpose != Use::Parameter => eight(&view),
            found => {
                let wanted = if purpose == Use::Parameter { "F32" } else { "F64 or F32" };
                return Err(ModelError::Dtype { file: file(), tensor: name(), found: found.to_string(), wanted });
            }
        };
        if view.shape() != shape {
            let (found, shape) = (list(view.shape()), list(shape));
            return Err(ModelError::Shape { file: file(), tensor: name(), found, shape });
        }
        let right = |value: f64| value.is_finite() && (purpose != Use::Variance || value >= 0.0);
        if let Some((index, &value)) = numbers.iter().enumerate().find(|&(_, &value)| !right(value)) {
            let wanted = if purpose == Use::Variance { "finite and at least 0" } else { "finite" };
            return Err(ModelError::Value { file: file(), tensor: name(), index, value, wanted });
        }
        Ok(numbers)
    }

    /// A tensor that the network does not have is more likely a mistake than something to ignore.
    fn no_tensors_but(&self, known: &BTreeSet<String>) -> Result<(), ModelError> {
        let mut names = self.tensors.names();
        names.sort_unstable();
        match names.into_iter().find(|name| !known.contains(*name) && !name.ends_with(PYTORCHS_COUNT)) {
            None => Ok(()),
            Some(name) => Err(ModelError::Unknown {
                file: self.file.into(),
                tensor: quoted(name),
                known: if known.is_empty() {
                    "none".into()
                } else {
                    short(&known.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
                },
            }),
        }
    }
}

fn four(view: &TensorView) -> Vec<f64> {
    view.data().as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes).into()).collect()
}

fn eight(view: &TensorView) -> Vec<f64> {
    view.data().as_chunks().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect()
}

/// The shape that [`input_text`](super::input_text) writes.
fn input(text: &str) -> Option<Shape> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    if let Some(values) = number(text) {
        return Some(Shape::Flat(values));
    }
    let (maps, sides) = text.split_once('@').unwrap_or(("1", text));
    let (height, width) = sides.split_once('x')?;
    Some(Shape::Maps { maps: number(maps)?, height: number(height)?, width: number(width)? })
}

/// A number in the header, outside its texts, that is greater than the number of bytes, as no length or offset can
/// be. The reader of the format adds such numbers without checking, and an overflow would end a debug build.
fn number_beyond(bytes: &[u8]) -> Option<String> {
    let (length, rest) = bytes.split_first_chunk()?;
    let end = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let header = rest.get(..end)?;
    let (mut text, mut escaped, mut start) = (false, false, None);
    for (place, &byte) in header.iter().enumerate() {
        if !text && byte.is_ascii_digit() {
            start = start.or(Some(place));
            continue;
        }
        if let Some(start) = start.take() {
            let digits = str::from_utf8(&header[start..place]).ok()?;
            if digits.parse().map_or(true, |number: usize| number > bytes.len()) {
                return Some(short(digits));
            }
        }
        (text, escaped) = match byte {
            b'"' if !escaped => (!text, false),
            b'\\' => (text, !escaped),
            _ => (text, false),
        };
    }
    None
}

/// What the reader of the format says, in words for a user.
fn reason(error: SafeTensorError, length: usize) -> String {
    match error {
        SafeTensorError::HeaderTooSmall => format!("it has {length} bytes, too few for a header"),
        SafeTensorError::HeaderTooLarge | SafeTensorError::InvalidHeaderLength => {
            format!("its first 8 bytes promise a header that is longer than its {length} bytes")
        }
        SafeTensorError::MetadataIncompleteBuffer => {
            format!("its {length} bytes are fewer or more than its header promises")
        }
        SafeTensorError::InvalidOffset(tensor) => format!("the place of the tensor {} is wrong", quoted(&tensor)),
        SafeTensorError::TensorInvalidInfo => "a tensor's shape does not fit its bytes".into(),
        SafeTensorError::InvalidHeaderDeserialization(error) => {
            format!("its header is faulty ({})", short(&error.to_string()))
        }
        other => format!("it is faulty ({})", short(&other.to_string())),
    }
}

/// `[4,1,5,5]`.
fn list(shape: &[usize]) -> String {
    let lengths: Vec<String> = shape.iter().map(usize::to_string).collect();
    short(&format!("[{}]", lengths.join(",")))
}

fn quoted(text: &str) -> String {
    format!("`{}`", short(text))
}

/// A text for one line of a message: its beginning if it is long, control characters escaped.
fn short(text: &str) -> String {
    let end = text.char_indices().nth(100).map_or(text.len(), |(end, _)| end);
    let shown =
        if text.contains(char::is_control) { text[..end].escape_debug().to_string() } else { text[..end].into() };
    if end < text.len() { shown + "..." } else { shown }
}
