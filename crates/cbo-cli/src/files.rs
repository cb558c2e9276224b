//! Output files: checked before a run, written whole or not at all, and never in the place of something else.

pub mod place;
pub mod uses;

use crate::error::CliError;
pub use cbo_runs::files::names;
use cbo_runs::files::{create_new, temporary};
use cbo_runs::folder::{Folder, FolderError};
use place::Place;
use std::fs;
use std::io;
use std::path::Path;

fn failed(path: &Path) -> impl Fn(io::Error) -> CliError + '_ {
    move |e| CliError::Failed(format!("cannot write {}: {e}", path.display()))
}

/// Makes what `path` leads to hold `contents`, whole or not at all; devices and pipes are written to as they are.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), CliError> {
    Place::of(path).and_then(|place| place.write(contents)).map_err(failed(path))
}

/// The same for a file of a run folder, where no link is followed.
pub fn write_own(folder: &Folder, name: &str, contents: &[u8]) -> Result<(), CliError> {
    folder.write(name, contents).map_err(|error| match error {
        FolderError::Io { path, error } => failed(&path)(error),
        error => CliError::failed(&error),
    })
}

/// Finds out before a run whether `path` can be written after it.
pub fn check_file(path: &Path) -> Result<(), CliError> {
    Place::of(path).and_then(|place| place.check()).map_err(|e| CliError::unwritable(path, &e))
}

/// Whether a file can be written in the place of `path`.
fn probe(path: &Path) -> io::Result<()> {
    let probe = temporary(path);
    create_new(&probe)?;
    fs::remove_file(&probe)
}

/// Creates the folder `path` if needed, and finds out whether files can be written there. A folder that is not empty must
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
    probe(&path.join("probe")).map_err(unwritable)
}

#[cfg(test)]
mod tests {
    use super::*;

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
