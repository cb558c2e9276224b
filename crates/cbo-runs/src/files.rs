//! Files that appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

/// The ending of the names under which files are written before they get their own.
const TEMPORARY: &str = ".tmp";

/// Bytes of a file's own name in its temporary one at most: a name that the system takes must not become too long for it.
const LONGEST: usize = 200;

/// What is wrong with a link in the place of one of our own files.
const LINK: &str = "it is a symbolic link, and files of a run are not opened through links; remove the link";

/// The name under which a file is written before it gets its own.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let end = (0..=LONGEST).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    let name = &name[..end];
    path.with_file_name(format!(".{name}.{}{TEMPORARY}", std::process::id()))
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
pub fn fate(was: Option<FileId>, now: io::Result<fs::Metadata>) -> Fate {
    match now {
        Err(e) if e.kind() == ErrorKind::NotFound => Fate::Gone,
        Ok(found) if was.is_some() && FileId::of(&found) != was => Fate::Replaced,
        _ => Fate::There,
    }
}

/// Opens one of our own files: never through a link, and nothing but a file. A pipe, for example, would keep whoever opens it waiting.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    if is_link(path) {
        return Err(io::Error::other(LINK));
    }
    // Between the look and the opening a link may appear: the system refuses it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(options, libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// What one of our own files holds.
pub fn read_own(path: &Path) -> io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    open_own(path, OpenOptions::new().read(true))?.read_to_end(&mut contents)?;
    Ok(contents)
}

/// Makes `path` hold `contents`: written beside it, synced, then renamed, so that nobody ever sees half a file. A link is refused.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_beside(path, contents, |beside| fs::rename(beside, path))
}

/// Makes `path` hold `contents` and `previous` what `path` held before. Whenever this is cut off, one of the two is whole.
pub fn write_keeping(path: &Path, previous: &Path, contents: &[u8]) -> io::Result<()> {
    write_beside(path, contents, |beside| {
        match fs::rename(path, previous) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        fs::rename(beside, path)
    })
}

/// Writes and syncs a file beside `path`, which `rename` then gives its name.
fn write_beside(path: &Path, contents: &[u8], rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    if is_link(path) {
        return Err(io::Error::other(LINK));
    }
    let beside = temporary(path);
    let written = create_new(&beside).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    written.and_then(|()| rename(&beside)).and_then(|()| sync(folder(path))).inspect_err(|_| {
        // The first fault is the one to tell of.
        let _ = fs::remove_file(&beside);
    })
}

/// A file that was not there before, in the place of one that a dead process of the same number has left.
pub fn create_new(path: &Path) -> io::Result<File> {
    match File::create_new(path) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            File::create_new(path)
        }
        created => created,
    }
}

/// Makes a rename in `folder` last.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
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
            let create = || OpenOptions::new().append(true).create(true).clone();
            for error in [open_own(&link, &mut create()).map(drop), read_own(&link).map(drop), write_whole(&link, b"")]
            {
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
        let (path, previous) = (folder.path().join("a"), folder.path().join("b"));
        for text in ["1", "2", "3"] {
            write_keeping(&path, &previous, text.as_bytes()).expect("written");
        }
        assert_eq!(fs::read(&path).expect("the file"), b"3");
        assert_eq!(fs::read(&previous).expect("the one before"), b"2");
        assert_eq!(names(folder.path()).expect("the folder"), ["a", "b"]);
    }
}
