//! Files that appear whole or not at all.

#[cfg(unix)]
mod at;
#[cfg(not(unix))]
mod by_path;

#[cfg(unix)]
pub use at::Handle;
#[cfg(not(unix))]
pub use by_path::Handle;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The ending of the names under which files are written before they get their own.
const TEMPORARY: &str = ".tmp";

/// Bytes of a file's own name in its temporary one at most: a name that the system takes must not become too long for it.
const LONGEST: usize = 200;

/// What is wrong with a link in the place of one of our own files.
const LINK: &str = "it is a symbolic link, and files of a run are not opened through links; remove the link";

/// The path under which a file is written before it gets its own.
pub fn temporary(path: &Path) -> PathBuf {
    path.with_file_name(temporary_name(path.file_name().unwrap_or_default()))
}

/// The name of that file.
fn temporary_name(name: &OsStr) -> OsString {
    let name = name.to_string_lossy();
    let end = (0..=LONGEST).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    format!(".{}.{}{TEMPORARY}", &name[..end], std::process::id()).into()
}

/// Whether a file of this name was left behind by a program that died while it wrote.
pub fn is_temporary(name: &str) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(TEMPORARY));
    let process = inner.and_then(|inner| inner.rsplit_once('.')).map(|(_, process)| process);
    process.is_some_and(|process| !process.is_empty() && process.bytes().all(|b| b.is_ascii_digit()))
}

/// The folder that `path` is in.
pub fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether `path` itself is a symbolic link, wherever that leads.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink())
}

/// What tells a file or folder from all others, whatever its name: two with the same are one. Nothing where the system has no such numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// Of what was looked at.
    #[cfg(unix)]
    pub fn of(found: &fs::Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        Some(Self { device: found.dev(), number: found.ino() })
    }

    /// Of what was looked at.
    #[cfg(not(unix))]
    pub fn of(_found: &fs::Metadata) -> Option<Self> {
        None
    }
}

/// What has become of something that was at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is there.
    There,
    /// Nothing is there.
    Gone,
    /// Something else is there.
    Replaced,
}

/// What has become of what had the identity `was` when it was at a path, as `now` finds it. A look that fails otherwise says nothing.
pub fn fate(was: Option<FileId>, now: io::Result<Option<FileId>>) -> Fate {
    match now {
        Err(e) if e.kind() == ErrorKind::NotFound => Fate::Gone,
        Ok(now) if was.is_some() && now != was => Fate::Replaced,
        _ => Fate::There,
    }
}

/// What has a name in a folder.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Which file or folder it is.
    pub id: Option<FileId>,
    /// Whether it is a symbolic link.
    pub is_link: bool,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum For {
    /// It must be there.
    Reading,
    /// Writing at its end; it is created if needed.
    Adding,
    /// Reading and writing what it holds; it is created if needed.
    Changing,
    /// Writing; it must not be there.
    Making,
}

impl Handle {
    /// Opens one of our own files: never through a link, and nothing but a file.
    pub fn open_own(&self, name: &str, purpose: For) -> io::Result<File> {
        self.refuse_link(name.as_ref())?;
        // Between the look and the opening a link may appear: the system refuses it.
        self.open(name.as_ref(), purpose).and_then(only_a_file)
    }

    /// What one of our own files holds.
    pub fn read_own(&self, name: &str) -> io::Result<Vec<u8>> {
        self.open_own(name, For::Reading).and_then(all_of)
    }

    /// Makes the file `name` hold `contents`: written beside it, synced, then renamed, so that nobody ever sees half a file. A link is
    /// refused.
    pub fn write_whole(&self, name: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
        let name = name.as_ref();
        self.write_beside(name, |file| file.write_all(contents), true, |beside| self.rename(beside, name))
    }

    /// The same without waiting for the disk, for files that are only looked at: after a power cut they may be gone.
    pub fn write_loosely(&self, name: impl AsRef<Path>, contents: &[u8]) -> io::Result<()> {
        let name = name.as_ref();
        self.write_beside(name, |file| file.write_all(contents), false, |beside| self.rename(beside, name))
    }

    /// Makes the file `name` hold what is written to it piece by piece, in the same way.
    pub fn write_piecewise(
        &self,
        name: impl AsRef<Path>,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let name = name.as_ref();
        self.write_beside(name, write, true, |beside| self.rename(beside, name))
    }

    /// Makes `name` hold `contents` and `previous` what `name` held before. Whenever this is cut off, one of the two is whole.
    pub fn write_keeping(&self, name: &str, previous: &str, contents: &[u8]) -> io::Result<()> {
        self.write_beside(
            name.as_ref(),
            |file| file.write_all(contents),
            true,
            |beside| {
                match self.rename(name, previous) {
                    Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
                    _ => {}
                }
                self.rename(beside, name)
            },
        )
    }

    /// Writes a file beside `name`, and syncs it if that is asked for; `rename` then gives it its name.
    fn write_beside(
        &self,
        name: &Path,
        write: impl FnOnce(&mut File) -> io::Result<()>,
        synced: bool,
        rename: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        self.refuse_link(name)?;
        let beside = PathBuf::from(temporary_name(name.as_os_str()));
        let written = self.make(&beside).and_then(|mut file| {
            write(&mut file)?;
            if synced { file.sync_all() } else { Ok(()) }
        });
        let sync = || if synced { self.sync() } else { Ok(()) };
        written.and_then(|()| rename(&beside)).and_then(|()| sync()).inspect_err(|_| {
            // The first fault is the one to tell of.
            let _ = self.remove(&beside);
        })
    }

    /// A file that was not there before, in the place of one that a dead process of the same number has left.
    fn make(&self, name: &Path) -> io::Result<File> {
        match self.open(name, For::Making) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                self.remove(name)?;
                self.open(name, For::Making)
            }
            made => made,
        }
    }

    fn refuse_link(&self, name: &Path) -> io::Result<()> {
        if self.look(name).is_ok_and(|found| found.is_link) { Err(io::Error::other(LINK)) } else { Ok(()) }
    }
}

/// Opens one of our own files for a look, by its path: never through a link, and nothing but a file. A pipe, for example, would keep whoever
/// opens it waiting.
pub fn open_own(path: &Path) -> io::Result<File> {
    if is_link(path) {
        return Err(io::Error::other(LINK));
    }
    let mut how = OpenOptions::new();
    // Between the look and the opening a link may appear: the system refuses it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut how, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    how.read(true).open(path).and_then(only_a_file)
}

/// What one of our own files holds.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    open_own(path).and_then(all_of)
}

fn only_a_file(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

fn all_of(mut file: File) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    file.read_to_end(&mut contents)?;
    Ok(contents)
}

/// Makes `path` hold `contents`, as [`Handle::write_whole`] does in the folder that it is in.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    Handle::new(folder(path))?.write_whole(path.file_name().unwrap_or_default(), contents)
}

/// A file that was not there before, in the place of one that a dead process of the same number has left.
pub fn create_new(path: &Path) -> io::Result<File> {
    Handle::new(folder(path))?.make(path.file_name().unwrap_or_default().as_ref())
}

/// The names in a folder, in order.
pub fn names(folder: &Path) -> io::Result<Vec<String>> {
    let name = |entry: io::Result<fs::DirEntry>| entry.map(|e| e.file_name().to_string_lossy().into_owned());
    let mut names = fs::read_dir(folder)?.map(name).collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_whole_and_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("result.json");
        write_whole(&path, b"old").expect("first");
        write_whole(&path, b"new").expect("second");
        assert_eq!(fs::read(&path).expect("the file"), b"new");
        assert_eq!(names(folder.path()).expect("the folder"), ["result.json"]);
    }

    #[test]
    fn a_name_that_the_system_takes_is_not_too_long_for_us() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ä".repeat(127));
        write_whole(&path, b"new").expect("255 bytes are a name");
        assert_eq!(names(folder.path()).expect("the folder").len(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn nothing_is_opened_or_written_through_a_link() {
        let folder = tempfile::tempdir().expect("a folder");
        let (other, link) = (folder.path().join("other"), folder.path().join("link"));
        std::os::unix::fs::symlink(&other, &link).expect("a link");
        // To nowhere, and to a file.
        for _ in 0..2 {
            let handle = Handle::new(folder.path()).expect("a folder");
            let opened = [For::Reading, For::Adding, For::Changing].map(|how| handle.open_own("link", how).map(drop));
            for error in opened.into_iter().chain([read_own(&link).map(drop), write_whole(&link, b"")]) {
                assert!(error.expect_err("a link").to_string().contains("symbolic link"));
            }
            // Nor through one in the place of the temporary file.
            let path = folder.path().join("result");
            std::os::unix::fs::symlink(&other, temporary(&path)).expect("a link");
            write_whole(&path, b"result").expect("written");
            assert!(is_link(&link) && !is_link(&path));
            assert_eq!(fs::read(&other).unwrap_or(b"mine".into()), b"mine");
            fs::write(&other, "mine").expect("a file");
        }
    }

    #[test]
    fn files_of_others_are_not_temporary() {
        assert!(is_temporary(".checkpoint.cbo.4711.tmp") && is_temporary(".x.1.tmp"));
        for name in [".notes.tmp", "a.1.tmp", ".tmp", "..tmp", ".a.b.tmp", ".a.12b.tmp", ".a.1.tmp2"] {
            assert!(!is_temporary(name), "{name}");
        }
    }

    #[test]
    fn the_file_before_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let handle = Handle::new(folder.path()).expect("a folder");
        for text in ["1", "2", "3"] {
            handle.write_keeping("a", "b", text.as_bytes()).expect("written");
        }
        assert_eq!(handle.read_own("a").expect("the file"), b"3");
        assert_eq!(handle.read_own("b").expect("the one before"), b"2");
        assert_eq!(names(folder.path()).expect("the folder"), ["a", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_handle_is_of_the_folder_and_not_of_its_path() {
        let place = tempfile::tempdir().expect("a folder");
        let (path, moved) = (place.path().join("run"), place.path().join("moved"));
        fs::create_dir(&path).expect("a folder");
        let handle = Handle::new(&path).expect("a folder");
        fs::rename(&path, &moved).expect("moved");
        fs::create_dir(&path).expect("another folder");
        fs::write(path.join("theirs"), "").expect("a file");
        handle.write_whole("a", b"1").expect("written");
        handle.write_keeping("a", "b", b"2").expect("written");
        handle.open_own("log", For::Adding).and_then(|mut log| writeln!(log, "a word")).expect("written");
        handle.make_folder("replaced").and_then(|()| handle.rename("b", "replaced/b")).expect("moved");
        assert!(handle.remove("theirs").is_err() && handle.look("theirs").is_err());
        assert_eq!(names(&path).expect("the other folder"), ["theirs"]);
        assert_eq!(names(&moved).expect("the folder"), ["a", "log", "replaced"]);
        assert_eq!(handle.names().expect("names").len(), 3);
        assert_eq!(handle.read_own("a").expect("a file"), b"2");
    }
}
