//! The figures of the paper as numbers: measured beside expected. Their parameters and expected numbers are those of the
//! files in `experiments/`.

pub mod fig1a;
pub mod fig1b;
pub mod fig2;
pub mod fig3;
pub mod fig4;

use serde::de::DeserializeOwned;

/// Why a figure could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FigureError {
    /// A file of `experiments/` is not as the program expects it: a bug, ruled out by the tests.
    #[error("experiments/{name}.toml: {message}")]
    Experiment {
        /// The figure.
        name: &'static str,
        /// What is wrong.
        message: String,
    },
    /// The particles could not be run.
    #[error(transparent)]
    Solve(#[from] cbo::SolveError),
    /// The function does not exist.
    #[error(transparent)]
    Problem(#[from] cbo_problems::ProblemError),
    /// The user ended it.
    #[error("interrupted")]
    Interrupted,
}

pub(crate) fn experiment<T: DeserializeOwned>(name: &'static str, text: &str) -> Result<T, FigureError> {
    toml::from_str(text).map_err(|e| FigureError::Experiment { name, message: e.to_string() })
}
