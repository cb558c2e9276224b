//! How a command ends when it does not succeed: exit code and message.

use crate::{interrupt, text};
use std::error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// Why a command ended early.
#[derive(Debug)]
pub enum CliError {
    /// The user asked for something impossible: exit code 2.
    Usage(String),
    /// The same, about a character of a text: exit code 2.
    Pointed {
        /// What is wrong.
        message: String,
        /// The text.
        line: String,
        /// How many characters are before the one that is wrong.
        place: usize,
    },
    /// Something failed underway: exit code 1.
    Failed(String),
    /// The command line could not be read (code 2), or help was asked for (code 0).
    Clap(clap::Error),
    /// Nobody reads the output any more: no message is needed.
    ClosedOutput,
    /// Ctrl-C, SIGTERM or SIGHUP, with all already said: exit code 130, 143 or 129.
    Interrupted,
}

impl CliError {
    /// A usage error about one setting: what it is, its value, what would be right.
    pub fn setting(field: &str, value: impl fmt::Display, remedy: impl fmt::Display) -> Self {
        Self::Usage(format!("{field} = {value}: {remedy}"))
    }

    /// A usage error that a library found.
    pub fn usage(error: &dyn Error) -> Self {
        Self::Usage(told(error))
    }

    /// A failure that a library met.
    pub fn failed(error: &dyn Error) -> Self {
        Self::Failed(told(error))
    }

    /// An output that cannot be written, found before the run.
    pub fn unwritable(path: &Path, error: &io::Error) -> Self {
        Self::Usage(format!("cannot write {}: {error}; choose a place that can be written to", path.display()))
    }

    /// The exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(_) | Self::Pointed { .. } => 2,
            Self::Failed(_) => 1,
            Self::Clap(error) => u8::try_from(error.exit_code()).unwrap_or(2),
            Self::ClosedOutput => 0,
            Self::Interrupted => interrupt::code(),
        }
    }

    /// Says on stderr what happened (help goes to stdout).
    pub fn print(&self) {
        use std::io::Write;
        match self {
            Self::Usage(message) | Self::Failed(message) => {
                // A closed stderr leaves nobody to tell.
                let _ = writeln!(io::stderr(), "error: {}", text::one_line(message));
            }
            Self::Pointed { message, line, place } => {
                let (message, line) = (text::one_line(message), text::one_line(line));
                let _ = writeln!(io::stderr(), "error: {message}\n  {line}\n  {}^", " ".repeat(*place));
            }
            Self::Clap(error) => {
                let _ = error.print();
            }
            Self::ClosedOutput | Self::Interrupted => (),
        }
    }
}

/// An error and its causes in one sentence. An error does not repeat what its source says.
pub fn told(error: &dyn Error) -> String {
    std::iter::successors(Some(error), |error| (*error).source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

impl From<clap::Error> for CliError {
    fn from(error: clap::Error) -> Self {
        Self::Clap(error)
    }
}

/// Writes to stdout; a reader that went away is not a failure.
pub fn print(text: &str) -> Result<(), CliError> {
    use std::io::Write;
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(CliError::ClosedOutput),
        Err(e) => Err(CliError::Failed(format!("cannot write to stdout: {e}"))),
    }
}
