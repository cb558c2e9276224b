//! What a run was like on its way, as a file that grows during it and stays small: evenly spaced steps, a record of numbers each.
//!
//! | bytes | hold |
//! |---|---|
//! | 8 | `CBOTRK\r\n` |
//! | 4 | version, little-endian like all numbers |
//! | 4 | length of the head |
//! | the head | JSON ([`Head`]), filled up with spaces to a multiple of 8 bytes |
//! | each record | the wide numbers (8 bytes each), then the narrow ones (4 bytes each) |
//!
//! All records have one length, so that one that was cut off is seen as such. The first wide number is the step. When the file is full,
//! every second record is dropped and the distance between them doubles. A file that cannot be written stops nothing: a track is for
//! looking at.

use crate::files;
use crate::folder::Folder;
use cbo::Scalar;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"CBOTRK\r\n";

/// The version that is written, and the newest that can be read.
pub const VERSION: u32 = 1;

/// The longest head that is read.
const LONGEST_HEAD: usize = 1 << 22;

/// How long records wait at least and at most to be written together. In between it is a multiple of the time that writing took, so that
/// a slow disk, or a file that has to be written anew, takes little of the run's time.
const LEAST_WAIT: Duration = Duration::from_millis(20);
const MOST_WAIT: Duration = Duration::from_millis(400);
const SHARE: u32 = 20;

/// What the records hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// The names of the wide numbers; the first is `step`.
    pub wide: Vec<String>,
    /// How many narrow numbers follow.
    pub narrow: usize,
    /// What else is to be known.
    #[serde(default)]
    pub about: Value,
}

impl Head {
    /// Bytes of a record.
    pub fn size(&self) -> usize {
        8 * self.wide.len() + 4 * self.narrow
    }

    /// The beginning of the file.
    fn to_bytes(&self) -> Vec<u8> {
        // Strings, numbers and what is JSON already are always JSON.
        let mut text = serde_json::to_vec(self).unwrap_or_default();
        text.resize(text.len().next_multiple_of(8), b' ');
        let mut bytes = MAGIC.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text);
        bytes
    }
}

/// A track as it was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Track {
    /// What the records hold.
    pub head: Head,
    /// The records, each of [`Head::size`] bytes.
    pub records: Vec<u8>,
}

impl Track {
    /// How many records a track has, without reading them. `None` if it is none.
    pub fn count(path: &Path) -> Option<u64> {
        let mut file = files::open_own(path).ok()?;
        let head = Self::read_head(&mut file)?;
        let start = file.stream_position().ok()?;
        file.metadata().ok()?.len().saturating_sub(start).checked_div(head.size() as u64)
    }

    /// Reads a track, with up to `most` bytes of records; the rest is left out. `None` if it is none.
    pub fn read(path: &Path, most: usize) -> Option<Self> {
        let mut file = files::open_own(path).ok()?;
        let head = Self::read_head(&mut file)?;
        let size = head.size();
        if size > most {
            return None;
        }
        let mut records = Vec::new();
        file.take((most - most % size) as u64).read_to_end(&mut records).ok()?;
        records.truncate(records.len() - records.len() % size);
        Some(Self { head, records })
    }

    /// Reads what the records hold; they follow in the file.
    fn read_head(file: &mut File) -> Option<Head> {
        let mut start = [0; 16];
        file.read_exact(&mut start).ok()?;
        let mut rest = start.strip_prefix(MAGIC)?;
        let mut number = || rest.split_off(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
        let (version, length) = (number()?, number()? as usize);
        if !(1..=VERSION).contains(&version) || length > LONGEST_HEAD || length % 8 != 0 {
            return None;
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text).ok()?;
        let head: Head = serde_json::from_slice(&text).ok()?;
        // Sizes that make no sense, of a file that is not ours, must not overflow.
        head.narrow.checked_mul(4)?.checked_add(head.wide.len().checked_mul(8)?)?;
        Some(head).filter(|head| !head.wide.is_empty())
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records.len().checked_div(self.head.size()).unwrap_or(0)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// The steps of the records.
    pub fn steps(&self) -> impl Iterator<Item = u64> {
        self.records.chunks_exact(self.head.size().max(1)).map(step_of)
    }

    /// The step of the last record.
    pub fn last(&self) -> Option<u64> {
        self.records.rchunks_exact(self.head.size().max(1)).next().map(step_of)
    }

    /// A column of wide numbers, by its name.
    pub fn column(&self, name: &str) -> Option<Vec<f64>> {
        let place = 8 * self.head.wide.iter().position(|wide| wide == name)?;
        let number = |record: &[u8]| record[place..].first_chunk().map_or(f64::NAN, |bytes| f64::from_le_bytes(*bytes));
        Some(self.records.chunks_exact(self.head.size()).map(number).collect())
    }

    /// The whole file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.head.to_bytes();
        bytes.extend(&self.records);
        bytes
    }

    /// Keeps the records whose step `keep` wants.
    pub fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        let size = self.head.size().max(1);
        let mut end = 0;
        for start in (0..self.records.len()).step_by(size) {
            if keep(step_of(&self.records[start..])) {
                self.records.copy_within(start..start + size, end);
                end += size;
            }
        }
        self.records.truncate(end);
    }
}

fn step_of(record: &[u8]) -> u64 {
    record.first_chunk().map_or(0, |bytes| f64::from_le_bytes(*bytes) as u64)
}

/// Numbers that can be kept as narrow ones. Implemented here, for each precision by itself, so that whoever records a run need not be
/// compiled for speed.
pub trait Narrow: Scalar {
    /// Adds numbers to the narrow ones of a record.
    fn narrow(numbers: &[Self], to: &mut Vec<u8>);
}

impl Narrow for f32 {
    fn narrow(numbers: &[Self], to: &mut Vec<u8>) {
        to.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
    }
}

impl Narrow for f64 {
    fn narrow(numbers: &[Self], to: &mut Vec<u8>) {
        to.reserve(4 * numbers.len());
        for number in numbers {
            to.extend_from_slice(&(*number as f32).to_le_bytes());
        }
    }
}

/// Writes the track of a run.
#[derive(Debug)]
pub struct Recorder {
    name: &'static str,
    capacity: usize,
    spacing: u64,
    track: Track,
    /// Bytes of the records that are in the file already.
    written: usize,
    /// None before the first record, and after a fault.
    file: Option<File>,
    /// When the next records are to be written.
    next: Option<Instant>,
}

impl Recorder {
    /// Continues the track `name` of a run that is at `step`, or begins one of at most `capacity` records (at least 2). Nothing is written
    /// yet.
    pub fn new(folder: &Folder, name: &'static str, head: Head, capacity: usize, step: Option<u64>) -> Self {
        let most = head.size().saturating_mul(capacity);
        let before = step.and_then(|step| Some((step, Track::read(&folder.file(name), most)?)));
        let track = match before {
            Some((step, mut before)) if before.head == head => {
                before.retain(|s| s <= step);
                before
            }
            _ => Track { head, records: Vec::new() },
        };
        let spacing = {
            let mut steps = track.steps();
            let two = steps.next().zip(steps.next());
            two.map_or(1, |(first, second)| second.saturating_sub(first).max(1))
        };
        Self { name, capacity: capacity.max(2), spacing, track, written: usize::MAX, file: None, next: None }
    }

    /// Whether this step is to be kept: one that is there already, because the run has taken it before, is not.
    pub fn wants(&self, step: u64) -> bool {
        step.is_multiple_of(self.spacing) && self.track.last().is_none_or(|last| last < step)
    }

    /// Keeps a step; there must be as many numbers as the head says, the narrow ones as [`Narrow::narrow`] gives them.
    pub fn keep(&mut self, folder: &Folder, wide: &[f64], narrow: &[u8]) {
        if self.track.len() >= self.capacity {
            self.spacing *= 2;
            let spacing = self.spacing;
            self.track.retain(|step| step.is_multiple_of(spacing));
            self.written = usize::MAX;
        }
        let before = self.track.records.len();
        wide.iter().for_each(|number| self.track.records.extend(number.to_le_bytes()));
        self.track.records.extend_from_slice(narrow);
        if self.track.records.len() - before != self.track.head.size() {
            self.track.records.truncate(before);
            return;
        }
        if self.next.is_none_or(|next| Instant::now() >= next) {
            self.flush(folder);
        }
    }

    /// Writes what waits. After a fault, the whole file is written again with the next record.
    pub fn flush(&mut self, folder: &Folder) {
        let start = Instant::now();
        let outcome = if self.written == usize::MAX { self.write_all(folder) } else { self.append() };
        self.written = if outcome.is_ok() { self.track.records.len() } else { usize::MAX };
        let wait = (start.elapsed() * SHARE).clamp(LEAST_WAIT, MOST_WAIT);
        self.next = Some(Instant::now() + wait);
    }

    fn write_all(&mut self, folder: &Folder) -> io::Result<()> {
        self.file = None;
        folder.write_loosely(self.name, &self.track.to_bytes()).map_err(io::Error::other)?;
        self.file = Some(folder.add_to(self.name)?);
        Ok(())
    }

    fn append(&mut self) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(&self.track.records[self.written..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        Head { wide: vec!["step".into(), "best".into()], narrow: 3, about: Value::from("x") }
    }

    fn keep(recorder: &mut Recorder, folder: &Folder, steps: std::ops::Range<u64>) {
        for step in steps {
            if recorder.wants(step) {
                let mut narrow = Vec::new();
                f32::narrow(&[1.0], &mut narrow);
                f64::narrow(&[2.0, step as f64], &mut narrow);
                recorder.keep(folder, &[step as f64, -0.5], &narrow);
            }
        }
        recorder.flush(folder);
    }

    #[test]
    fn a_track_stays_small_and_reads_back_and_continues() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(place.path(), false).expect("a folder");
        let mut recorder = Recorder::new(&folder, "x.track", head(), 8, None);
        keep(&mut recorder, &folder, 0..50);
        let path = place.path().join("x.track");
        let track = Track::read(&path, 1 << 20).expect("a track");
        assert_eq!(track.steps().collect::<Vec<_>>(), [0, 8, 16, 24, 32, 40, 48]);
        assert_eq!(track.column("best").expect("a column"), [-0.5; 7]);
        assert_eq!((track.head.clone(), track.column("worst")), (head(), None));
        assert_eq!((Track::count(&path), Track::count(place.path())), (Some(7), None));
        assert_eq!(std::fs::read(&path).expect("a file"), track.to_bytes());
        // A resumed run takes the steps after its checkpoint again, and ends with the same file as one that was not cut off.
        for first in [30, 31, 32, 33] {
            let mut again = Recorder::new(&folder, "x.track", head(), 8, Some(32));
            keep(&mut again, &folder, first..50);
            assert_eq!(Track::read(&path, 1 << 20).expect("a track"), track, "{first}");
        }
        let other = Head { narrow: 4, ..head() };
        assert!(Recorder::new(&folder, "x.track", other, 8, Some(30)).track.is_empty(), "another run's");
        assert_eq!(Track::read(&path, 3 * head().size() + 5).expect("a part").len(), 3);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_written_later() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(place.path(), false).expect("a folder");
        let path = place.path().join("x.track");
        // A folder in its place cannot be replaced.
        std::fs::create_dir_all(path.join("full")).expect("a folder");
        let mut recorder = Recorder::new(&folder, "x.track", head(), 8, None);
        keep(&mut recorder, &folder, 0..3);
        std::fs::remove_dir_all(&path).expect("removed");
        keep(&mut recorder, &folder, 3..5);
        assert_eq!(Track::read(&path, 1 << 20).expect("a track").len(), 5);
    }

    #[test]
    fn whatever_is_cut_off_or_wrong_is_no_record_and_no_panic() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(place.path(), false).expect("a folder");
        let mut recorder = Recorder::new(&folder, "x.track", head(), 8, None);
        keep(&mut recorder, &folder, 0..3);
        let path = place.path().join("x.track");
        let bytes = std::fs::read(&path).expect("a file");
        for length in 0..bytes.len() {
            std::fs::write(&path, &bytes[..length]).expect("a file");
            assert!(Track::read(&path, 1 << 20).is_none_or(|track| track.len() < 3), "{length}");
        }
        for place in 0..64 {
            let mut wrong = bytes.clone();
            wrong[place] ^= 0x55;
            std::fs::write(&path, &wrong).expect("a file");
            let _ = Track::read(&path, 1 << 20);
        }
        let huge = br#"{"wide":["step"],"narrow":18446744073709551615}     "#;
        let mut wrong = [&MAGIC[..], &1u32.to_le_bytes(), &(huge.len() as u32 / 8 * 8).to_le_bytes()].concat();
        wrong.extend(huge);
        std::fs::write(&path, &wrong).expect("a file");
        assert!(Track::read(&path, 1 << 20).is_none());
    }
}
