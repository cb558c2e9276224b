//! Compiled kernels in the user's cache, by a hash of what they were compiled from.

use sha2::{Digest, Sha256};
use std::path::PathBuf;
use std::{env, fs, io};

/// What was kept for `key`, if anything.
pub(crate) fn find(key: &[&str]) -> Option<Vec<u8>> {
    let bytes = fs::read(file(key)?).ok()?;
    // The first 32 bytes are the hash of the rest: a damaged file counts as none.
    let (sum, code) = bytes.split_at_checked(32)?;
    (Sha256::digest(code).as_slice() == sum).then(|| code.to_vec())
}

/// Keeps `code` for `key`. A cache that cannot be written is not an error: kernels are then compiled again.
pub(crate) fn keep(key: &[&str], code: &[u8]) {
    let Some(file) = file(key) else { return };
    let _ = write(&file, code);
}

fn write(file: &std::path::Path, code: &[u8]) -> io::Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    // Under another name first: another process may be reading.
    let beside = file.with_extension(std::process::id().to_string());
    let whole = [Sha256::digest(code).as_slice(), code].concat();
    let outcome = fs::write(&beside, whole).and_then(|()| fs::rename(&beside, file));
    if outcome.is_err() {
        let _ = fs::remove_file(&beside);
    }
    outcome
}

fn file(key: &[&str]) -> Option<PathBuf> {
    let given = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = given("XDG_CACHE_HOME").or_else(|| Some(given("HOME")?.join(".cache")))?;
    let mut hash = Sha256::new();
    for part in key {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let name: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(folder.join("cbo").join("kernels").join(name + ".cubin"))
}
