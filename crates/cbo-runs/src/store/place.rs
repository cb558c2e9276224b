//! Whether what is written to is still the file at its path. SQLite goes on writing to one that was deleted, and all of it would be lost.

use super::{StoreError, file};
use crate::files::{self, Fate, FileId};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of an open store.
pub struct Place {
    /// The file itself and its log, which holds what was committed last.
    files: Vec<(PathBuf, Option<FileId>)>,
}

impl Place {
    /// Of a store that was just opened.
    pub fn new(path: &Path) -> Self {
        let present = |path: PathBuf| fs::symlink_metadata(&path).ok().map(|found| (path, FileId::of(&found)));
        Self { files: [path.to_path_buf(), file::log(path)].into_iter().filter_map(present).collect() }
    }

    /// Whether all of them are still there.
    pub fn check(&self) -> Result<(), StoreError> {
        for (path, was) in &self.files {
            match files::fate(*was, fs::symlink_metadata(path).map(|found| FileId::of(&found))) {
                Fate::There => {}
                fate => return Err(StoreError::Gone { path: path.clone(), replaced: fate == Fate::Replaced }),
            }
        }
        Ok(())
    }
}
