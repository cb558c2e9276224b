//! A folder that is held open: its files are reached through it, not by its path, where another folder may be by now.

use super::{Entry, FileId, For};
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::retry_on_intr;
use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A folder that is held open.
#[derive(Debug)]
pub struct Handle(File);

impl Handle {
    /// Opens a folder.
    pub fn new(path: &Path) -> io::Result<Self> {
        OpenOptions::new().read(true).custom_flags(libc::O_DIRECTORY).open(path).map(Self)
    }

    /// The folder as something to lock, where that is possible.
    pub fn itself(&self) -> Option<&File> {
        Some(&self.0)
    }

    /// Which folder it is.
    pub fn id(&self) -> io::Result<Option<FileId>> {
        Ok(FileId::of(&self.0.metadata()?))
    }

    /// What has this name in it; a link is not followed.
    pub fn look(&self, name: impl AsRef<Path>) -> io::Result<Entry> {
        let found = statat(&self.0, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)?;
        let id = FileId { device: found.st_dev as _, number: found.st_ino as _ };
        Ok(Entry { id: Some(id), is_link: FileType::from_raw_mode(found.st_mode).is_symlink() })
    }

    /// Opens a file, not through a link. One that would keep whoever opens it waiting, such as a pipe, does not.
    pub(super) fn open(&self, name: &Path, purpose: For) -> io::Result<File> {
        let how = match purpose {
            For::Reading => OFlags::RDONLY,
            For::Adding => OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE,
            For::Changing => OFlags::RDWR | OFlags::CREATE,
            For::Making => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        };
        let how = how | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(0o666);
        Ok(retry_on_intr(|| openat(&self.0, name, how, mode))?.into())
    }

    /// Gives a file in it another name in it.
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        Ok(renameat(&self.0, from.as_ref(), &self.0, to.as_ref())?)
    }

    /// Removes a file.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        Ok(unlinkat(&self.0, name.as_ref(), AtFlags::empty())?)
    }

    /// Makes a folder in it.
    pub fn make_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        Ok(mkdirat(&self.0, name.as_ref(), Mode::from_raw_mode(0o777))?)
    }

    /// The names in it.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_os_string());
            }
        }
        Ok(names)
    }

    /// Makes renames in it last.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_all()
    }
}
