//! Files that appear whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The ending of the names under which files are written before they get their own.
const TEMPORARY: &str = ".tmp";

/// The name under which a file is written before it gets its own.
pub fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
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

/// Makes `path` hold `contents`: written beside it, synced, then renamed, so that nobody ever sees half a file.
pub fn write_whole(path: &Path, contents: &[u8]) -> io::Result<()> {
    write_beside(path, contents, |beside| fs::rename(beside, path))
}

/// Makes `path` hold `contents` and `previous` what `path` held before. Whenever this is cut off, one of the two is whole.
pub fn write_keeping(path: &Path, previous: &Path, contents: &[u8]) -> io::Result<()> {
    write_beside(path, contents, |beside| {
        match fs::rename(path, previous) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        fs::rename(beside, path)
    })
}

/// Writes and syncs a file beside `path`, which `rename` then gives its name.
fn write_beside(path: &Path, contents: &[u8], rename: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let beside = temporary(path);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    written.and_then(|()| rename(&beside)).and_then(|()| sync(folder(path))).inspect_err(|_| {
        // The first fault is the one to tell of.
        let _ = fs::remove_file(&beside);
    })
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
