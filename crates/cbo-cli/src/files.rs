//! Output files: checked before a run, written whole or not at all.

use crate::error::CliError;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The name under which a file is written before it gets its own.
fn temporary(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

/// The folder that `path` lies in.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes `path` hold `contents`: written beside it, synced, then renamed, so that nobody ever sees half a file.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), CliError> {
    let beside = temporary(path);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&beside, path)).and_then(|()| sync(folder(path))).map_err(|e| {
        // The first fault is the one to tell of.
        let _ = fs::remove_file(&beside);
        CliError::Failed(format!("cannot write {}: {e}", path.display()))
    })
}

/// Makes a rename in `folder` last.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Finds out before a run whether `path` can be written after it.
pub fn check_file(path: &Path) -> Result<(), CliError> {
    // A rename would replace a device such as /dev/stdout, not write to it.
    if path.exists() && !path.is_file() {
        return Err(CliError::unwritable(path, &io::Error::other("it is there and is no file")));
    }
    check_inside(folder(path)).map_err(|e| CliError::unwritable(path, &e))
}

fn check_inside(folder: &Path) -> io::Result<()> {
    let probe = temporary(&folder.join("probe"));
    File::create(&probe)?;
    fs::remove_file(&probe)
}

/// Creates the folder `path` if need be, and finds out whether files can be written there. A folder that is not empty must
/// hold `what`, as `is_ours` tells from the names in it.
pub fn check_folder(path: &Path, what: &str, is_ours: fn(&[String]) -> bool) -> Result<(), CliError> {
    let unwritable = |e: io::Error| CliError::unwritable(path, &e);
    if path.exists() {
        let names = names(path).map_err(unwritable)?;
        if !names.is_empty() && !is_ours(&names) {
            let more = if names.len() > 3 { format!(" and {} more", names.len() - 3) } else { String::new() };
            let some = names[..names.len().min(3)].join(", ");
            let remedy = format!("holds {some}{more} and is not {what}; choose an empty or a new folder");
            return Err(CliError::setting("folder", path.display(), remedy));
        }
    } else {
        fs::create_dir_all(path).map_err(unwritable)?;
    }
    check_inside(path).map_err(unwritable)
}

/// What lies in a folder, in order.
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
        check_file(&path).expect("writable");
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }

    #[test]
    fn a_folder_of_something_else_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("config.toml"), "").expect("a file");
        let ours = |names: &[String]| names == ["config.toml"];
        check_folder(folder.path(), "a run", ours).expect("only ours");
        fs::write(folder.path().join("thesis.tex"), "").expect("a file");
        let error = check_folder(folder.path(), "a run", ours).unwrap_err();
        assert_eq!(error.code(), 2);
        assert!(format!("{error:?}").contains("thesis.tex"));
    }
}
