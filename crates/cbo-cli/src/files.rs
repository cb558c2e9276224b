//! Output files: checked before a run, written whole or not at all.

use crate::error::CliError;
pub use cbo_runs::files::names;
use cbo_runs::files::{self, folder, temporary};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Makes `path` hold `contents`, whole or not at all.
pub fn write_whole(path: &Path, contents: &[u8]) -> Result<(), CliError> {
    files::write_whole(path, contents).map_err(|e| CliError::Failed(format!("cannot write {}: {e}", path.display())))
}

/// Finds out before a run whether `path` can be written after it.
pub fn check_file(path: &Path) -> Result<(), CliError> {
    // A rename would replace a device such as /dev/stdout, not write to it.
    if path.exists() && !path.is_file() {
        return Err(CliError::unwritable(path, &io::Error::other("it exists and is not a file")));
    }
    check_inside(folder(path)).map_err(|e| CliError::unwritable(path, &e))
}

fn check_inside(folder: &Path) -> io::Result<()> {
    let probe = temporary(&folder.join("probe"));
    File::create(&probe)?;
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
    check_inside(path).map_err(unwritable)
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
