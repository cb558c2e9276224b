//! A state without the columns of the particles, for runs whose ranks keep those themselves.
//!
//! The columns are one row of bytes, as they are in the midst of a state in one piece: positions, energies, and what the method remembers,
//! each of all particles. A state that lacks them is written as version 5: before its checksum stand the place where they are missing and
//! how many bytes they have.

use super::{APART, MAGIC, Reader, StateError, VERSION, Writer, copy_numbers};
use crate::simd::Scalar;
use std::fmt::Debug;

/// Where the columns of the particles are.
pub trait Columns: Send + Sync + Debug {
    /// Reads the bytes from this one on; or says what is wrong, and with which file.
    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), String>;
}

/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Bytes that are missing, and what follows them.
pub(super) struct Gap<'a> {
    pub after: &'a [u8],
    pub columns: Option<&'a dyn Columns>,
    at: u64,
    length: u64,
}

impl<'a> Gap<'a> {
    /// What is before the gap of a state without its checksum, and the gap.
    pub fn of(body: &'a [u8]) -> Result<(&'a [u8], Self), StateError> {
        let (rest, length) = body.split_last_chunk().ok_or(StateError::Damaged)?;
        let (rest, place) = rest.split_last_chunk().ok_or(StateError::Damaged)?;
        let place = usize::try_from(u64::from_le_bytes(*place)).map_err(|_| StateError::Damaged)?;
        let (before, after) = rest.split_at_checked(place).ok_or(StateError::Damaged)?;
        Ok((before, Self { after, columns: None, at: 0, length: u64::from_le_bytes(*length) }))
    }

    pub fn is_over(&self) -> bool {
        self.at == self.length
    }

    fn take(&mut self, bytes: u64) -> Result<u64, StateError> {
        let from = self.at;
        self.at = from.checked_add(bytes).filter(|end| *end <= self.length).ok_or(StateError::Damaged)?;
        Ok(from)
    }

    pub fn skip(&mut self, bytes: u64) -> Result<(), StateError> {
        self.take(bytes).map(|_| ())
    }

    pub fn numbers<T: Scalar>(&mut self, values: &mut [T]) -> Result<(), StateError> {
        let missing = || StateError::Elsewhere("the particles of the state are in files of their own".into());
        let columns = self.columns.ok_or_else(missing)?;
        let mut bytes = vec![0; size_of_val(values).min(PIECE)];
        for values in values.chunks_mut(PIECE / size_of::<T>()) {
            let bytes = &mut bytes[..size_of_val(values)];
            columns.read(self.take(bytes.len() as u64)?, bytes).map_err(StateError::Elsewhere)?;
            copy_numbers(bytes, values);
        }
        Ok(())
    }
}

impl Writer {
    /// All bytes, with their checksum, of a state in which this many bytes are missing at a place.
    pub(crate) fn end_apart(mut self, place: usize, length: u64) -> Vec<u8> {
        self.0[MAGIC.len()..][..4].copy_from_slice(&APART.to_le_bytes());
        self.count(place);
        self.whole(length);
        self.end()
    }
}

/// Whether these bytes are a state whose columns are elsewhere.
pub fn is_apart(state: &[u8]) -> bool {
    state.strip_prefix(MAGIC).is_some_and(|rest| rest.starts_with(&APART.to_le_bytes()))
}

/// The state in one piece, as [`StepReport::state`](crate::StepReport::state) gives it. One that is in one piece stays as it is.
pub fn join_state(state: &[u8], columns: &dyn Columns) -> Result<Vec<u8>, StateError> {
    if !is_apart(state) {
        return Ok(state.to_vec());
    }
    let (body, sum) = state.split_last_chunk().ok_or(StateError::Damaged)?;
    if crc32fast::hash(body) != u32::from_le_bytes(*sum) {
        return Err(StateError::Damaged);
    }
    let (before, gap) = Gap::of(body)?;
    let length = usize::try_from(gap.length).map_err(|_| StateError::Damaged)?;
    let size = body.len().checked_add(length).ok_or(StateError::Damaged)?;
    // Before memory is taken for them: whether there are so many.
    if let Some(last) = gap.length.checked_sub(1) {
        columns.read(last, &mut [0]).map_err(StateError::Elsewhere)?;
    }
    let mut whole = Vec::new();
    let no_memory = |_| StateError::Elsewhere(format!("there is no memory for {length} bytes of particles"));
    whole.try_reserve_exact(size).map_err(no_memory)?;
    whole.extend(before);
    whole.get_mut(MAGIC.len()..MAGIC.len() + 4).ok_or(StateError::Damaged)?.copy_from_slice(&VERSION.to_le_bytes());
    whole.resize(before.len() + length, 0);
    columns.read(0, &mut whole[before.len()..]).map_err(StateError::Elsewhere)?;
    whole.extend(gap.after);
    Ok(Writer(whole).end())
}

impl Reader<'_> {
    /// Whether columns are to be read from elsewhere.
    pub(crate) fn is_apart(&self) -> bool {
        self.gap.is_some()
    }
}
