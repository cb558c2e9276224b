//! Where an output goes: to the file that its path leads to, or through a device, a pipe or stdout.

use cbo_runs::files::{folder, write_whole};
use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Links that are followed one after the other, at most; as the system does.
const MOST_LINKS: usize = 40;

/// Where an output goes.
#[derive(Debug, PartialEq, Eq)]
pub enum Place {
    /// A file, existing or not, itself no link. It is written beside and renamed.
    File(PathBuf),
    /// A device or a pipe, which is written to: a rename would replace it.
    Stream(PathBuf),
    /// Where the result goes too.
    Stdout,
    /// Where messages go.
    Stderr,
}

/// What tells whether two paths lead to the same file.
#[derive(Debug, PartialEq, Eq)]
pub enum Identity {
    /// The device and the number of a file that exists.
    #[cfg(unix)]
    Number(u64, u64),
    /// Where a file is, or will be.
    Path(PathBuf),
}

impl Place {
    /// Where `path` leads to.
    pub fn of(path: &Path) -> io::Result<Self> {
        let text = path.as_os_str().as_encoded_bytes();
        if path.file_name().is_none() || text.ends_with(b"/") || text.ends_with(b"/.") {
            return Err(io::Error::other("it names a folder, not a file"));
        }
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(io::Error::other("it exists and is not a file")),
            // Before files: whoever sends both there wants both, and a new file would not be where the result goes.
            Ok(found) if is_open_as(&found, &io::stdout()) => Ok(Self::Stdout),
            Ok(found) if is_open_as(&found, &io::stderr()) => Ok(Self::Stderr),
            Ok(found) if found.is_file() => path.canonicalize().map(Self::File),
            Ok(found) if is_stream(&found) => Ok(Self::Stream(path.into())),
            Ok(_) => Err(io::Error::other("it exists and is not a file")),
            Err(e) if e.kind() == ErrorKind::NotFound => new_file(path).map(Self::File),
            Err(e) => Err(e),
        }
    }

    /// Whether it can be written, as far as can be known.
    pub fn check(&self) -> io::Result<()> {
        match self {
            Self::File(path) => super::probe(path),
            _ => Ok(()),
        }
    }

    /// Writes there.
    pub fn write(&self, contents: &[u8]) -> io::Result<()> {
        fn all(mut to: impl Write, contents: &[u8]) -> io::Result<()> {
            to.write_all(contents)?;
            to.flush()
        }
        match self {
            Self::File(path) => write_whole(path, contents),
            Self::Stream(path) => all(OpenOptions::new().write(true).open(path)?, contents),
            Self::Stdout => all(io::stdout().lock(), contents),
            Self::Stderr => all(io::stderr().lock(), contents),
        }
    }

    /// What it is; none for a device, to which many may write.
    pub fn identity(&self) -> Option<Identity> {
        match self {
            Self::File(path) | Self::Stream(path) => identity(path),
            Self::Stdout | Self::Stderr => None,
        }
    }
}

/// What the file at `path` is, or will be.
pub fn identity(path: &Path) -> Option<Identity> {
    #[cfg(unix)]
    if let Ok(found) = fs::metadata(path) {
        use std::os::unix::fs::{FileTypeExt, MetadataExt};
        return (!found.file_type().is_char_device()).then(|| Identity::Number(found.dev(), found.ino()));
    }
    #[cfg(not(unix))]
    if let Ok(found) = path.canonicalize() {
        return Some(Identity::Path(found));
    }
    let path = new_file(path).ok()?;
    Some(Identity::Path(folder(&path).canonicalize().ok()?.join(path.file_name()?)))
}

/// The file that will be created at `path`, which leads to none yet: links may lead to where it will be.
fn new_file(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("its links lead to each other"))
}

/// Whether this is what a stream of this process has open.
#[cfg(unix)]
fn is_open_as(found: &Metadata, stream: &impl std::os::fd::AsFd) -> bool {
    use std::os::unix::fs::MetadataExt;
    let open = stream.as_fd().try_clone_to_owned().and_then(|fd| fs::File::from(fd).metadata());
    open.is_ok_and(|open| (open.dev(), open.ino()) == (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn is_open_as<S>(_: &Metadata, _: &S) -> bool {
    false
}

/// Whether this is something to write to and not to replace. A disk, or a socket, is neither.
#[cfg(unix)]
fn is_stream(found: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_char_device() || found.file_type().is_fifo()
}

#[cfg(not(unix))]
fn is_stream(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_are_followed_and_stay() {
        let here = tempfile::tempdir().expect("a folder");
        let at = |name: &str| here.path().join(name);
        fs::create_dir(at("data")).expect("a folder");
        symlink("data/real.csv", at("second")).expect("a link");
        symlink("second", at("first")).expect("a link");
        // To a file that is not there yet, then to one that is.
        for contents in [b"1", b"2"] {
            Place::of(&at("first")).and_then(|place| place.check().and(place.write(contents))).expect("written");
            assert_eq!(fs::read(at("data/real.csv")).expect("a file"), contents);
            assert_eq!(cbo_runs::files::names(&at("data")).expect("names"), ["real.csv"], "nothing is left beside it");
        }
        assert!(at("first").is_symlink() && at("second").is_symlink());
        assert_eq!(identity(&at("first")), identity(&at("data/../data/real.csv")));
        symlink("b", at("a")).and_then(|()| symlink("a", at("b"))).expect("links");
        Place::of(&at("a")).expect_err("a circle");
    }

    #[test]
    fn what_is_not_a_file_is_written_through_or_refused() {
        let here = tempfile::tempdir().expect("a folder");
        assert_eq!(Place::of(Path::new("/dev/full")).expect("a device"), Place::Stream("/dev/full".into()));
        assert!(Place::Stream("/dev/full".into()).write(b"x").is_err());
        let folder = here.path().to_path_buf();
        let _socket = std::os::unix::net::UnixListener::bind(folder.join("socket")).expect("a socket");
        for wrong in [folder.clone(), folder.join("socket"), folder.join("new.png/"), folder.join("new/."), "".into()] {
            Place::of(&wrong).expect_err("not a file");
        }
    }
}
