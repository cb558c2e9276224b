//! Reading files of others: never through links, never more than is reasonable.

use cbo_runs::files;
use serde_json::Value;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::time::UNIX_EPOCH;

/// Bytes of a text file at most.
const MOST: u64 = 1 << 25;

/// All of a file; nothing if it is too large or cannot be read.
pub fn bytes(path: &Path, most: u64) -> Option<Vec<u8>> {
    let file = files::open_own(path).ok()?;
    let mut contents = Vec::new();
    file.take(most + 1).read_to_end(&mut contents).ok()?;
    (contents.len() as u64 <= most).then_some(contents)
}

/// All of a text file; what is not UTF-8 is replaced.
pub fn text(path: &Path) -> Option<String> {
    bytes(path, MOST).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The last lines of a text file, at most `most` of them.
pub fn last_lines(path: &Path, most: usize) -> Vec<String> {
    let read = || {
        let mut file = files::open_own(path).ok()?;
        let length = file.metadata().ok()?.len();
        let start = length.saturating_sub(1 << 16);
        file.seek(SeekFrom::Start(start)).ok()?;
        let mut contents = Vec::new();
        file.take(1 << 16).read_to_end(&mut contents).ok()?;
        let text = String::from_utf8_lossy(&contents).into_owned();
        let lines: Vec<String> = text.lines().skip(usize::from(start > 0)).map(String::from).collect();
        Some(lines[lines.len().saturating_sub(most)..].to_vec())
    };
    read().unwrap_or_default()
}

/// A JSON file.
pub fn json(path: &Path) -> Option<Value> {
    serde_json::from_slice(&bytes(path, MOST)?).ok()
}

/// Whether there is a file of this path, not a link.
pub fn is_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file())
}

/// Length and time of the last change of a file, in milliseconds since 1970: another pair is another content.
pub fn stamp(path: &Path) -> (u64, u64) {
    let Ok(found) = fs::symlink_metadata(path) else { return (0, 0) };
    let time = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    (found.len(), time.map_or(0, |time| time.as_millis() as u64))
}
