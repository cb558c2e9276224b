//! Random words that nobody can guess.

use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Bytes of a secret.
const BYTES: usize = 32;

/// Random bytes of the system.
fn random() -> io::Result<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|e| io::Error::other(e.to_string()))?;
    Ok(bytes)
}

/// A new word.
pub fn word() -> io::Result<String> {
    Ok(hexadecimal(&random()?))
}

/// The secret in a file that only its owner can read, made if needed; a new one that is not kept if that cannot be.
pub fn kept(path: Option<&Path>) -> io::Result<[u8; BYTES]> {
    let kept = path.and_then(|path| read(path).or_else(|| make(path).ok()));
    kept.map_or_else(random, Ok)
}

fn read(path: &Path) -> Option<[u8; BYTES]> {
    let file = File::open(path).ok().filter(|file| file.metadata().is_ok_and(|found| is_private(&found)))?;
    let mut bytes = Vec::new();
    file.take(BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
    bytes.try_into().ok()
}

#[cfg(unix)]
fn is_private(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.is_file() && found.permissions().mode() & 0o077 == 0
}

#[cfg(not(unix))]
fn is_private(found: &fs::Metadata) -> bool {
    found.is_file()
}

fn make(path: &Path) -> io::Result<[u8; BYTES]> {
    let secret = random()?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    // One that others could read, or that is damaged, is replaced.
    let _ = fs::remove_file(path);
    let mut how = OpenOptions::new();
    how.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut how, 0o600);
    how.open(path)?.write_all(&secret)?;
    Ok(secret)
}

/// A word that follows from a secret, which it does not tell.
pub fn derived(secret: &[u8], purpose: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(secret);
    hash.update(purpose.as_bytes());
    hexadecimal(&hash.finalize())
}

/// Whether two words are the same, in a time that does not tell how much of them is.
pub fn same(a: &str, b: &str) -> bool {
    let sums = [a, b].map(|word| Sha256::digest(word.as_bytes()));
    sums[0].iter().zip(sums[1].iter()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_kept_for_its_owner_alone() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("cbo/view.key");
        let first = kept(Some(&path)).expect("a secret");
        assert_eq!(kept(Some(&path)).expect("a secret"), first);
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
        // One that others may have read is no secret.
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("set");
        assert_ne!(kept(Some(&path)).expect("a secret"), first);
        assert_ne!(kept(None).expect("a secret"), kept(None).expect("a secret"));
        assert!(same("ab", "ab") && !same("ab", "ac") && !same("ab", "abc"));
    }
}
