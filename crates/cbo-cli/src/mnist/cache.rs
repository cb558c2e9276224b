//! The user's cache folder, where fetched data sets are.

use crate::error::CliError;
use std::ffi::OsString;
use std::path::PathBuf;

/// The variable that names the cache folder itself, on every system.
pub const VARIABLE: &str = "CBO_CACHE";

/// The folder under which each data set has its own: `$CBO_CACHE`, or `cbo` in the system's cache folder.
pub fn folder() -> Result<PathBuf, CliError> {
    let remedy = format!("no home folder is known to hold the files; give `--to DIR`, or set {VARIABLE} to a folder");
    choose(std::env::consts::OS, |name| std::env::var_os(name)).ok_or(CliError::Usage(remedy))
}

/// The cache folder on a system with these variables.
fn choose(system: &str, variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(own) = folder(VARIABLE) {
        return Some(own);
    }
    let home = || folder("HOME");
    let caches = match system {
        "windows" => folder("LOCALAPPDATA"),
        "macos" => home().map(|home| home.join("Library/Caches")),
        // By the XDG specification a relative path there does not count.
        _ => folder("XDG_CACHE_HOME").filter(|path| path.is_absolute()).or_else(|| Some(home()?.join(".cache"))),
    };
    Some(caches?.join("cbo"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(system: &str, variables: &[(&str, &str)]) -> Option<PathBuf> {
        choose(system, |name| variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.into()))
    }

    #[test]
    fn each_system_has_its_cache_folder() {
        let home = ("HOME", "/home/ada");
        assert_eq!(at("linux", &[home]), Some("/home/ada/.cache/cbo".into()));
        assert_eq!(at("linux", &[home, ("XDG_CACHE_HOME", "/var/ada")]), Some("/var/ada/cbo".into()));
        assert_eq!(at("linux", &[home, ("XDG_CACHE_HOME", "")]), Some("/home/ada/.cache/cbo".into()));
        assert_eq!(at("linux", &[home, ("XDG_CACHE_HOME", "relative")]), Some("/home/ada/.cache/cbo".into()));
        assert_eq!(at("macos", &[home]), Some("/home/ada/Library/Caches/cbo".into()));
        assert_eq!(at("windows", &[("LOCALAPPDATA", "/local")]), Some("/local/cbo".into()));
        assert_eq!(at("linux", &[home, (VARIABLE, "mine")]), Some("mine".into()));
        assert_eq!(at("linux", &[]), None);
    }
}
