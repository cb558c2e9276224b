//! A folder whose files are reached by its path, where the system has no other way.

use super::{Entry, FileId, For};
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// A folder.
#[derive(Debug)]
pub struct Handle(PathBuf);

impl Handle {
    /// Of a folder that is there.
    pub fn new(path: &Path) -> io::Result<Self> {
        fs::read_dir(path).map(|_| Self(path.into()))
    }

    /// The folder as something to lock, where that is possible.
    pub fn itself(&self) -> Option<&File> {
        None
    }

    /// Which folder it is.
    pub fn id(&self) -> io::Result<Option<FileId>> {
        Ok(FileId::of(&fs::metadata(&self.0)?))
    }

    /// What has this name in it; a link is not followed.
    pub fn look(&self, name: impl AsRef<Path>) -> io::Result<Entry> {
        let found = fs::symlink_metadata(self.0.join(name))?;
        Ok(Entry { id: FileId::of(&found), is_link: found.is_symlink() })
    }

    /// Opens a file.
    pub(super) fn open(&self, name: &Path, purpose: For) -> io::Result<File> {
        let mut how = OpenOptions::new();
        match purpose {
            For::Reading => how.read(true),
            For::Adding => how.append(true).create(true),
            For::Changing => how.read(true).write(true).create(true).truncate(false),
            For::Making => how.write(true).create_new(true),
        };
        how.open(self.0.join(name))
    }

    /// Gives a file in it another name in it.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes a file.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Makes a folder in it.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        fs::create_dir(self.0.join(name))
    }

    /// The names in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        fs::read_dir(&self.0)?.map(|entry| entry.map(|entry| entry.file_name())).collect()
    }

    /// Makes renames in it last; there is nothing to do.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}
