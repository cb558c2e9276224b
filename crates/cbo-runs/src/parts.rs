//! The particles of a checkpoint in files of their own: each rank of a run writes those that it has.
//!
//! A checkpoint that has such parts lists them in a section of its own: their names, sizes and CRC-32, and which bytes of the engine's
//! [columns](cbo::ranks::Columns) they hold. Parts have names that no other checkpoint uses, and are there before the checkpoint is: that is
//! what makes the whole count, by one renaming. Parts of no checkpoint are removed when the next one is there.

use crate::checkpoint::Checkpoint;
use crate::files::{self, Handle};
use crate::folder::{FolderError, unreadable};
use cbo::ranks::{Columns, Here, is_apart, join_state};
use cbo::{EvalError, Observer, Scalar, StateError, StepReport};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

/// The section that lists the parts.
pub const PARTS: &str = "parts";

/// Numbers that are written at once, and bytes that are read.
const NUMBERS: usize = 1 << 16;
const BYTES: usize = 1 << 20;

/// A file with some of the columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Part {
    file: String,
    bytes: u64,
    crc32: u32,
    /// Where in the columns its bytes belong, one piece after the other, and how many they are.
    pieces: Vec<(u64, u64)>,
}

/// The files with the columns of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts(Vec<Part>);

/// The name of a part: of a checkpoint that no other is like, and of a rank.
fn name_of(token: &str, rank: usize) -> String {
    format!("checkpoint.{token}.{rank}.part")
}

/// Whether this is the name of a part.
pub fn is_part(name: &str) -> bool {
    let inner = name.strip_prefix("checkpoint.").and_then(|name| name.strip_suffix(".part"));
    let Some((token, rank)) = inner.and_then(|inner| inner.split_once('.')) else { return false };
    let token = token.len() == 16 && token.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
    token && !rank.is_empty() && rank.bytes().all(|b| b.is_ascii_digit())
}

impl Parts {
    /// Those of a checkpoint, if it has any; or what is wrong with their list.
    pub fn of(checkpoint: &Checkpoint) -> Result<Option<Self>, String> {
        checkpoint.more.get(PARTS).map(|list| Self::from_json(list)).transpose()
    }

    /// A list of parts, whose pieces are all columns, once.
    pub fn from_json(list: &[u8]) -> Result<Self, String> {
        let wrong = |_: ()| "the list of its parts is damaged".to_string();
        let parts: Vec<Part> = serde_json::from_slice(list).map_err(|_| wrong(()))?;
        let sum = |part: &Part| part.pieces.iter().try_fold(0u64, |sum, piece| sum.checked_add(piece.1));
        let fits = |part: &Part| is_part(&part.file) && sum(part) == Some(part.bytes);
        let mut pieces: Vec<(u64, u64)> = parts.iter().flat_map(|part| part.pieces.iter().copied()).collect();
        pieces.sort_unstable();
        let end = pieces.iter().try_fold(0u64, |end, (at, length)| end.checked_add(*length).filter(|_| *at == end));
        if parts.iter().all(fits) && end.is_some() { Ok(Self(parts)) } else { Err(wrong(())) }
    }

    fn to_json(&self) -> Vec<u8> {
        // Words and whole numbers are always JSON.
        serde_json::to_vec(&self.0).unwrap_or_default()
    }

    /// The names of the files.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|part| part.file.as_str())
    }

    /// What is wrong with one of the files, if something is: whether it is there and as long as it was; if `thorough`, also whether it holds
    /// what was written. A file that cannot be read says nothing of what it holds: that is an error.
    pub fn fault(&self, folder: &Path, thorough: bool) -> Result<Option<String>, FolderError> {
        for part in &self.0 {
            let path = folder.join(&part.file);
            let fault = match part.check(&path, thorough) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Some("is missing".into()),
                checked => checked.map_err(unreadable(&path))?,
            };
            if let Some(fault) = fault {
                return Ok(Some(format!("{} {fault}", part.file)));
            }
        }
        Ok(None)
    }
}

impl Part {
    fn check(&self, path: &Path, thorough: bool) -> io::Result<Option<String>> {
        let mut file = files::open_own(path)?;
        let found = file.metadata()?.len();
        if found != self.bytes {
            return Ok(Some(format!("has {found} bytes, and {} were written", self.bytes)));
        }
        let whole = !thorough || checksum(&mut file)? == self.crc32;
        Ok((!whole).then(|| "is damaged: its checksum is wrong".into()))
    }
}

fn checksum(file: &mut File) -> io::Result<u32> {
    let (mut hash, mut buffer) = (crc32fast::Hasher::new(), vec![0; BYTES]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hash.finalize()),
            n => hash.update(&buffer[..n]),
        }
    }
}

/// The columns in the files of a folder.
#[derive(Debug)]
pub struct InFiles {
    folder: PathBuf,
    /// Where each piece is in the columns, how long it is, and in which file from which byte on it is.
    pieces: Vec<(u64, u64, String, u64)>,
}

impl InFiles {
    /// Those parts, in that folder.
    pub fn new(folder: &Path, parts: &Parts) -> Self {
        let mut pieces = Vec::new();
        for part in &parts.0 {
            let mut before = 0;
            for (at, length) in &part.pieces {
                pieces.push((*at, *length, part.file.clone(), before));
                before += length;
            }
        }
        pieces.sort_unstable();
        Self { folder: folder.into(), pieces }
    }
}

impl Columns for InFiles {
    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), String> {
        let (mut from, mut rest) = (from, to);
        while !rest.is_empty() {
            let after = self.pieces.partition_point(|piece| piece.0 <= from);
            let piece = after.checked_sub(1).map(|index| &self.pieces[index]);
            // The list has all columns; the state may ask for more, if it is of another checkpoint.
            let Some((at, length, file, before)) = piece.filter(|piece| from - piece.0 < piece.1) else {
                return Err("the parts of the checkpoint are not those of its state".into());
            };
            let path = self.folder.join(file);
            let here = usize::try_from(length - (from - at)).unwrap_or(usize::MAX).min(rest.len());
            let (now, later) = rest.split_at_mut(here);
            let read = files::open_own(&path).and_then(|mut file| {
                file.seek(SeekFrom::Start(before + (from - at)))?;
                file.read_exact(now)
            });
            read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
            (from, rest) = (from + here as u64, later);
        }
        Ok(())
    }
}

/// A checkpoint whose state is in one piece, from one whose particles are in files of `folder`. One that has none stays as it is.
pub fn joined(checkpoint: Checkpoint, folder: &Path) -> Result<Checkpoint, StateError> {
    let parts = Parts::of(&checkpoint).map_err(StateError::Elsewhere)?;
    let Some(parts) = parts.filter(|_| is_apart(&checkpoint.state)) else { return Ok(checkpoint) };
    let state = join_state(&checkpoint.state, &InFiles::new(folder, &parts))?;
    let mut more = checkpoint.more;
    more.remove(PARTS);
    Ok(Checkpoint { state, more, ..checkpoint })
}

/// Writes the part of a rank, and on the first rank has all others write theirs.
#[derive(Debug)]
pub struct Scribe {
    folder: PathBuf,
    handle: Handle,
    rank: usize,
}

/// What no other checkpoint of the folder has in the names of its parts, even if clocks are coarse.
fn token() -> String {
    static BEFORE: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos() as u64);
    let token = now.wrapping_add(BEFORE.fetch_add(1, Relaxed)) ^ u64::from(std::process::id()) << 48;
    format!("{token:016x}")
}

/// The question that a scribe answers by writing its part; the token of the checkpoint follows.
const KEEP: &[u8] = b"keep particles ";

impl Scribe {
    /// That of a rank, in the folder of the run.
    pub fn new(folder: &Path, rank: usize) -> io::Result<Self> {
        Ok(Self { folder: folder.into(), handle: Handle::new(folder)?, rank })
    }

    /// The state of a run at a step without the particles, and the list of the parts that all ranks have written; or what could not be
    /// written, on whichever rank.
    fn keep<T: Scalar>(&self, step: &StepReport<'_, T>) -> Result<(Vec<u8>, Vec<u8>), String> {
        let state = step.state_apart().ok_or("the particles are not on several ranks")?;
        let question = [KEEP, token().as_bytes()].concat();
        let answers = step.consult(&question, &mut |question, here| self.written(question, &here));
        let answers = answers.map_err(|error| error.message)?;
        let parts: Result<Vec<Part>, _> = answers.iter().map(|answer| serde_json::from_slice(answer)).collect();
        let list = Parts(parts.map_err(|error| error.to_string())?).to_json();
        Parts::from_json(&list)?;
        Ok((state, list))
    }

    fn written<T: Scalar>(&self, question: &[u8], here: &Here<'_, T>) -> Result<Vec<u8>, EvalError> {
        let token = String::from_utf8_lossy(question.strip_prefix(KEEP).unwrap_or_default());
        let name = name_of(&token, self.rank);
        let part = self.write(&name, here).map_err(|error| {
            EvalError::new(format!("cannot write {} on rank {}: {error}", self.folder.join(&name).display(), self.rank))
        })?;
        Ok(serde_json::to_vec(&part).unwrap_or_default())
    }

    fn write<T: Scalar>(&self, name: &str, here: &Here<'_, T>) -> io::Result<Part> {
        let (mut hash, mut buffer) = (crc32fast::Hasher::new(), Vec::new());
        let mut pieces = Vec::new();
        self.handle.write_piecewise(name, |file| {
            for (at, numbers) in &here.pieces {
                pieces.push((*at, size_of_val(*numbers) as u64));
                for numbers in numbers.chunks(NUMBERS) {
                    buffer.clear();
                    append(numbers, &mut buffer);
                    hash.update(&buffer);
                    file.write_all(&buffer)?;
                }
            }
            Ok(())
        })?;
        let bytes = pieces.iter().map(|piece: &(u64, u64)| piece.1).sum();
        Ok(Part { file: name.into(), bytes, crc32: hash.finalize(), pieces })
    }
}

impl Checkpoint {
    /// Takes the state of a run at a step: in one piece, or with the particles in parts that a scribe has all ranks write.
    pub fn take_state<T: Scalar>(
        &mut self,
        step: &StepReport<'_, T>,
        scribe: Option<&Scribe>,
    ) -> Result<(), FolderError> {
        let Some(scribe) = scribe else {
            self.state = step.state();
            return Ok(());
        };
        let (state, list) = scribe.keep(step).map_err(FolderError::Parts)?;
        self.state = state;
        self.more.insert(PARTS.into(), list);
        Ok(())
    }
}

/// Numbers as bytes, as a state has them.
fn append<T: Scalar>(numbers: &[T], to: &mut Vec<u8>) {
    match size_of::<T>() {
        4 => numbers.iter().for_each(|x| to.extend((x.to_f64() as f32).to_le_bytes())),
        _ => numbers.iter().for_each(|x| to.extend(x.to_f64().to_le_bytes())),
    }
}

impl<T: Scalar> Observer<T> for Scribe {
    fn observe(&mut self, _: &StepReport<'_, T>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, T>) -> Option<Result<Vec<u8>, EvalError>> {
        question.starts_with(KEEP).then(|| self.written(question, &here))
    }
}

#[cfg(test)]
mod tests;
