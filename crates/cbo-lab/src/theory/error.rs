//! What the theorem cannot be applied to.

use super::words;

/// A setting that the theorem does not admit: which one, its value, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {remedy}")]
pub struct TheoryError {
    /// The setting, as a key such as `epsilon-ratio`.
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be right, or why nothing would.
    pub remedy: String,
}

impl TheoryError {
    /// An error about one setting.
    pub fn new(field: &'static str, value: impl ToString, remedy: impl Into<String>) -> Self {
        Self { field, value: value.to_string(), remedy: remedy.into() }
    }

    /// An error about a number: the whole of it, but never hundreds of digits.
    pub fn number(field: &'static str, value: f64, remedy: impl Into<String>) -> Self {
        Self::new(field, words::exactly(value), remedy)
    }
}
