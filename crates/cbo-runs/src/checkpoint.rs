//! The state of a run as a file: a few named sections, versioned and checksummed, the same on every machine.
//!
//! | bytes | hold |
//! |---|---|
//! | 8 | `CBORUN\r\n` |
//! | 4 | version, little-endian like all numbers |
//! | 4 | number of sections |
//! | each section | length of the name (4), name, length of the contents (8), contents |
//! | 4 | CRC-32 of everything before |
//!
//! The section `summary` is JSON ([`Summary`]); `state` is what the engine gave ([`cbo::StepReport::state`]); `history` is the CSV
//! file that the run writes at its end, so far; others belong to whoever wrote them.

use crate::files;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

const MAGIC: &[u8; 8] = b"CBORUN\r\n";

/// The version that is written, and the newest that can be read.
pub const VERSION: u32 = 1;

/// The section of the summary.
const SUMMARY: &str = "summary";

/// The section of the engine's state.
const STATE: &str = "state";

/// The section of the history, as CSV.
pub const HISTORY: &str = "history";

/// Why bytes are not a checkpoint that can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckpointError {
    /// Something else.
    #[error("it is not a cbo checkpoint")]
    NotOne,
    /// Written by a later version.
    #[error("it has version {found}, and this cbo reads versions up to {VERSION}; use a newer cbo")]
    Newer {
        /// Its version.
        found: u32,
    },
    /// Bits are missing or wrong.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
}

/// What a checkpoint says about its run in words and numbers, for people and for `cbo runs`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The command: `minimize` or `mnist`.
    pub kind: String,
    /// The version of cbo that wrote it.
    pub cbo: String,
    /// What is minimised, in words.
    pub objective: String,
    /// Number of coordinates.
    pub dim: usize,
    /// Steps taken.
    pub step: u64,
    /// Evaluations spent.
    pub evaluations: u64,
    /// Those without a value.
    pub failed_evaluations: u64,
    /// The best value; nothing before the first.
    pub best: Option<f64>,
    /// How far its point violates its constraints, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub violation: Option<f64>,
    /// Where it is.
    pub x: Vec<f64>,
    /// Seconds that the run has taken so far.
    pub seconds: f64,
    /// Why the run ended, if it did: a stop reason, or `interrupt`.
    pub stop: Option<String>,
    /// Every setting of the run, as its flag would read it.
    pub settings: BTreeMap<String, String>,
    /// The keys of those that are not the defaults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<String>,
    /// The files that an external objective consists of, and their SHA-256.
    pub files: BTreeMap<String, String>,
    /// The name of the run in its store of evaluations; empty without one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
}

/// A run at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checkpoint {
    /// What it says about the run.
    pub summary: Summary,
    /// The engine's state.
    pub state: Vec<u8>,
    /// Further sections.
    pub more: BTreeMap<String, Vec<u8>>,
}

impl Checkpoint {
    /// The checkpoint as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        // A struct of numbers and strings with string keys is always JSON; numbers that are not finite become null.
        let summary = serde_json::to_vec(&self.summary).unwrap_or_default();
        let own = [(SUMMARY, &summary), (STATE, &self.state)];
        let sections = || own.iter().copied().chain(self.more.iter().map(|(name, bytes)| (name.as_str(), bytes)));
        let size = sections().map(|(name, bytes)| name.len() + bytes.len() + 12).sum::<usize>();
        let mut to = Vec::with_capacity(size + 20);
        to.extend(MAGIC);
        to.extend(VERSION.to_le_bytes());
        to.extend((sections().count() as u32).to_le_bytes());
        for (name, bytes) in sections() {
            to.extend((name.len() as u32).to_le_bytes());
            to.extend(name.as_bytes());
            to.extend((bytes.len() as u64).to_le_bytes());
            to.extend(bytes);
        }
        to.extend(crc32fast::hash(&to).to_le_bytes());
        to
    }

    /// The checkpoint in these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, CheckpointError> {
        use CheckpointError::{Damaged, Newer, NotOne};
        let mut rest = bytes.strip_prefix(MAGIC).ok_or(NotOne)?;
        let version = u32::from_le_bytes(take(&mut rest)?);
        match version {
            0 => return Err(Damaged("there is no version 0")),
            1..=VERSION => {}
            found => return Err(Newer { found }),
        }
        let body = bytes.len().checked_sub(4).filter(|body| *body >= 16).ok_or(Damaged("it is cut off"))?;
        let mut sum = &bytes[body..];
        if u32::from_le_bytes(take(&mut sum)?) != crc32fast::hash(&bytes[..body]) {
            return Err(Damaged("its checksum is wrong"));
        }
        let mut rest = &bytes[12..body];
        let mut sections = BTreeMap::new();
        for _ in 0..u32::from_le_bytes(take(&mut rest)?) {
            let length = u64::from(u32::from_le_bytes(take(&mut rest)?));
            let name =
                String::from_utf8(part(&mut rest, length)?.to_vec()).map_err(|_| Damaged("a name is not text"))?;
            let length = u64::from_le_bytes(take(&mut rest)?);
            if sections.insert(name, part(&mut rest, length)?.to_vec()).is_some() {
                return Err(Damaged("a section occurs twice"));
            }
        }
        if !rest.is_empty() {
            return Err(Damaged("there is more than its sections"));
        }
        let mut section = |name| sections.remove(name).ok_or(Damaged("a section is missing"));
        let (summary, state) = (section(SUMMARY)?, section(STATE)?);
        let summary = serde_json::from_slice(&summary).map_err(|_| Damaged("its summary cannot be read"))?;
        Ok(Self { summary, state, more: sections })
    }
}

/// Reads one section of a file, and of the rest only where it is: not the state, which may be large, and not the checksum. For those who
/// watch; a run resumes from what [`Checkpoint::from_bytes`] has verified. `None` if there is none of at most `most` bytes.
pub fn section(path: &Path, wanted: &str, most: u64) -> Option<Vec<u8>> {
    let mut file = files::open_own(path).ok()?;
    let mut start = [0; 16];
    file.read_exact(&mut start).ok()?;
    let mut rest = start.strip_prefix(MAGIC)?;
    let version = u32::from_le_bytes(take(&mut rest).ok()?);
    let count = u32::from_le_bytes(take(&mut rest).ok()?);
    if !(1..=VERSION).contains(&version) {
        return None;
    }
    let longest = 1 << 10;
    for _ in 0..count.min(1 << 10) {
        let mut length = [0; 4];
        file.read_exact(&mut length).ok()?;
        let mut name = vec![0; usize::try_from(u32::from_le_bytes(length)).ok().filter(|length| *length < longest)?];
        file.read_exact(&mut name).ok()?;
        let mut length = [0; 8];
        file.read_exact(&mut length).ok()?;
        let length = u64::from_le_bytes(length);
        if name == wanted.as_bytes() {
            let mut contents = Vec::new();
            file.take(length.min(most)).read_to_end(&mut contents).ok()?;
            return (length <= most && contents.len() as u64 == length).then_some(contents);
        }
        file.seek(SeekFrom::Current(i64::try_from(length).ok()?)).ok()?;
    }
    None
}

/// What the checkpoint in a file says about its run, read in the same way.
pub fn peek(path: &Path) -> Option<Summary> {
    serde_json::from_slice(&section(path, SUMMARY, 1 << 26)?).ok()
}

/// The next bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], CheckpointError> {
    let (first, more) = rest.split_first_chunk().ok_or(CheckpointError::Damaged("it is cut off"))?;
    *rest = more;
    Ok(*first)
}

/// The next `length` bytes.
fn part<'a>(rest: &mut &'a [u8], length: u64) -> Result<&'a [u8], CheckpointError> {
    let length = usize::try_from(length).ok();
    let (part, more) =
        length.and_then(|n| rest.split_at_checked(n)).ok_or(CheckpointError::Damaged("it is cut off"))?;
    *rest = more;
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checkpoint {
        let summary = Summary {
            kind: "minimize".into(),
            objective: "sphere".into(),
            dim: 2,
            step: 3,
            best: Some(0.1),
            x: vec![0.1, 1e-300],
            settings: [("sigma".to_string(), "0.7".to_string())].into(),
            ..Summary::default()
        };
        let more = [("history".to_string(), vec![1, 2, 3]), ("film".to_string(), vec![])].into();
        Checkpoint { summary, state: vec![7; 50], more }
    }

    #[test]
    fn bytes_read_back() {
        let checkpoint = example();
        assert_eq!(Checkpoint::from_bytes(&checkpoint.to_bytes()).expect("ours"), checkpoint);
    }

    #[test]
    fn a_section_is_found_without_the_rest() {
        let place = tempfile::tempdir().expect("a folder");
        let path = place.path().join("checkpoint.cbo");
        let bytes = example().to_bytes();
        std::fs::write(&path, &bytes).expect("a file");
        assert_eq!(peek(&path), Some(example().summary));
        assert_eq!(section(&path, "history", 3), Some(vec![1, 2, 3]));
        assert_eq!((section(&path, "history", 2), section(&path, "other", 9)), (None, None));
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).expect("a file");
            let _ = (peek(&path), section(&path, "history", 3), section(&path, "other", 9));
        }
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = example().to_bytes();
        for length in 0..bytes.len() {
            Checkpoint::from_bytes(&bytes[..length]).expect_err("cut off");
        }
        for bit in 0..8 * bytes.len() {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            Checkpoint::from_bytes(&flipped).expect_err("a flipped bit");
        }
        let mut longer = bytes.clone();
        longer.push(0);
        Checkpoint::from_bytes(&longer).expect_err("too long");
    }

    #[test]
    fn right_checksums_do_not_help_wrong_contents() {
        let sealed = |mut bytes: Vec<u8>| {
            bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
            Checkpoint::from_bytes(&bytes)
        };
        let head = |version: u32, count: u32| [&MAGIC[..], &version.to_le_bytes(), &count.to_le_bytes()].concat();
        assert_eq!(sealed(head(2, 0)), Err(CheckpointError::Newer { found: 2 }));
        sealed(head(1, 0)).expect_err("no summary");
        sealed(head(1, u32::MAX)).expect_err("no sections");
        sealed([head(1, 1), vec![255; 4]].concat()).expect_err("a name without end");
        sealed([head(1, 1), vec![0; 4], vec![255; 8]].concat()).expect_err("contents without end");
        assert_eq!(Checkpoint::from_bytes(b"PNG"), Err(CheckpointError::NotOne));
    }
}
