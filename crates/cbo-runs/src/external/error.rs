//! What can be wrong with an external objective.

/// Why points cannot be evaluated. A failed evaluation is not an error: see [`Outcome`](super::Outcome).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExternalError {
    /// A setting is wrong.
    #[error("{field} = {value}: {remedy}")]
    Setting {
        /// The field: `command`, `protocol`, `workers` or `timeout`.
        field: &'static str,
        /// Its value.
        value: String,
        /// What is wrong with it, and what would be right.
        remedy: String,
    },
    /// The system refuses a thread or a pipe.
    #[error("worker {worker} of {workers} cannot be started: {error}; use fewer workers")]
    Threads {
        /// The worker, from 1.
        worker: usize,
        /// How many were asked for.
        workers: usize,
        /// What the system says.
        error: std::io::Error,
    },
    /// [`kill_all`](super::kill_all) was called, or the caller has stopped the evaluation.
    #[error("the evaluation was stopped")]
    Stopped,
    /// Another rank could not evaluate.
    #[error("on another rank: {0}")]
    Elsewhere(String),
    /// Not available on this system.
    #[error("programs as objectives need a Unix system, such as Linux or macOS")]
    Unsupported,
}

impl ExternalError {
    /// The setting that is to blame.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Setting { field, .. } => field,
            Self::Threads { .. } => "workers",
            Self::Stopped | Self::Elsewhere(_) | Self::Unsupported => "command",
        }
    }

    pub(super) fn setting(field: &'static str, value: impl ToString, remedy: impl Into<String>) -> Self {
        Self::Setting { field, value: value.to_string(), remedy: remedy.into() }
    }

    pub(super) fn command(text: &str, remedy: impl Into<String>) -> Self {
        Self::Setting { field: "command", value: format!("\"{text}\""), remedy: remedy.into() }
    }
}
