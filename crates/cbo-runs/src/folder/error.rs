//! Why a run folder cannot be used.

use super::{CONFIG, LOG};
use crate::checkpoint::CheckpointError;
use std::io;
use std::path::{Path, PathBuf};

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// There is nothing.
    #[error("there is no folder {}", .0.display())]
    Missing(PathBuf),
    /// There is something else.
    #[error("{} is not a run folder, with {CONFIG} and {LOG}", .0.display())]
    NotARun(PathBuf),
    /// There is a run already.
    #[error("{} already holds a run", .0.display())]
    Occupied(PathBuf),
    /// There is something else, which is not ours to replace.
    #[error("folder = {}: holds {names} and is not a run folder; choose an empty or a new folder", .folder.display())]
    Foreign {
        /// The folder.
        folder: PathBuf,
        /// Some of what is in it.
        names: String,
    },
    /// Another process is at work there.
    #[error("{} is in use by another cbo{holder}; wait until it is done, or choose another folder", .folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
        /// Which one, as far as known.
        holder: String,
    },
    /// No checkpoint can be read.
    #[error("{} has no checkpoint to resume from{}", .folder.display(), if .why.is_empty() { String::new() } else { format!(" ({why})") })]
    NoCheckpoint {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with those that are there; empty if there are none.
        why: String,
    },
    /// Written by a later cbo.
    #[error("{} cannot be used: {error}", .path.display())]
    Newer {
        /// The checkpoint.
        path: PathBuf,
        /// What is known about it.
        error: CheckpointError,
    },
    /// A link in the place of one of its files.
    #[error("{} is a symbolic link, and files of a run are not opened through links; put the file itself there", .0.display())]
    Link(PathBuf),
    /// The folder was taken away during the run.
    #[error(
        "{} {} during the run, and nothing more is written there; if it was moved, resume the run where it is now, from its last \
         checkpoint",
        .folder.display(),
        if *.replaced { "was replaced by another folder" } else { "was deleted or moved away" }
    )]
    Gone {
        /// The folder.
        folder: PathBuf,
        /// Whether there is another one in its place.
        replaced: bool,
    },
    /// The lock was taken away during the run, and the file system has no other.
    #[error(
        "{} was removed or replaced during the run, so that another cbo may be at work in the folder, and nothing more is written \
         there; resume the run from its last checkpoint",
        .0.display()
    )]
    Unlocked(PathBuf),
    /// Particles that a rank could not write.
    #[error("{0}")]
    Parts(String),
    /// Files cannot be read.
    #[error("cannot read {}: {error}", .path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Files cannot be written.
    #[error("cannot write {}: {error}; {}", .path.display(), remedy(.error))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// What a user can do about a file or folder.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room",
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => "choose a place that can be written to",
        _ => "check it, or choose another place",
    }
}

pub(super) fn fault(path: &Path) -> impl Fn(io::Error) -> FolderError + '_ {
    move |error| FolderError::Io { path: path.to_path_buf(), error }
}

pub(crate) fn unreadable(path: &Path) -> impl Fn(io::Error) -> FolderError + '_ {
    move |error| FolderError::Unreadable { path: path.to_path_buf(), error }
}
