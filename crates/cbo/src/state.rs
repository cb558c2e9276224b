//! The state of a run as bytes: the same on every machine, with a version and a checksum.
//!
//! `CBOSTATE`, version, precision, method, dimension, seed, batch size, then the numbers of the state, then the CRC-32 of all that;
//! everything little-endian. A state of version 5 lacks the [columns](apart) of the particles, which are elsewhere.

pub(crate) mod apart;

use crate::answers::Known;
use crate::config::Plan;
use crate::method::Method;
use crate::report::SolveError;
use crate::simd::Scalar;
use apart::{Columns, Gap};
use std::fmt::Display;
use std::time::{Duration, Instant};

const MAGIC: &[u8; 8] = b"CBOSTATE";
const VERSION: u32 = 4;
/// The version of a state whose columns are elsewhere, and the newest.
const APART: u32 = 5;
/// Bytes of a word, zeros at its end included.
const WORD: usize = 16;
const _: () = {
    let mut i = 0;
    while i < Method::NAMES.len() {
        assert!(Method::NAMES[i].len() <= WORD);
        i += 1;
    }
};

/// Bytes from which a run cannot continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// These are other bytes.
    #[error("this is not the state of a run")]
    NotAState,
    /// Written by a newer program.
    #[error("the state has version {found}, but this program reads versions up to {APART}; use a newer one")]
    Version {
        /// The version of the bytes.
        found: u32,
    },
    /// Written by cbo 0.1.
    #[error(
        "the state was written by cbo 0.1, which added up in another order, so that its runs cannot be continued bit for bit; finish the \
         run with cbo 0.1, or start it again"
    )]
    Old,
    /// Bytes are missing or changed.
    #[error("the state is damaged: bytes are missing or have changed")]
    Damaged,
    /// The run that it belongs to had other settings.
    #[error("the state was saved with {field} = {saved}, but the run has {field} = {given}")]
    Differs {
        /// The setting.
        field: &'static str,
        /// As it was saved.
        saved: String,
        /// As it is now.
        given: String,
    },
    /// The solver, told the same values, went another way.
    #[error(
        "the state does not belong to this run: told the same values, it asks for other points than those evaluated; give it the bounds and \
         the start with which it was saved, and use the same version of cbo"
    )]
    Diverged,
    /// The columns of a state cannot be had from where they are.
    #[error("{0}")]
    Elsewhere(String),
    /// The run itself cannot begin.
    #[error(transparent)]
    Solve(#[from] SolveError),
}

impl StateError {
    pub(crate) fn differs(field: &'static str, saved: impl Display, given: impl Display) -> Self {
        Self::Differs { field, saved: saved.to_string(), given: given.to_string() }
    }
}

/// The time that a run has taken, pauses aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch {
    before: f64,
    since: Instant,
}

impl Stopwatch {
    pub fn start() -> Self {
        Self::start_from(0.0)
    }

    /// Continues after `seconds`.
    pub fn start_from(seconds: f64) -> Self {
        Self { before: seconds, since: Instant::now() }
    }

    pub fn seconds(&self) -> f64 {
        self.before + self.since.elapsed().as_secs_f64()
    }

    /// When this many seconds are over; never, if that is too far away to tell.
    pub fn end_of(&self, seconds: f64) -> Option<Instant> {
        let left = Duration::try_from_secs_f64((seconds - self.before).max(0.0)).ok()?;
        self.since.checked_add(left)
    }
}

/// Appends numbers to bytes.
pub struct Writer(Vec<u8>);

impl Writer {
    /// The bytes that say whose state follows.
    pub fn begin<T: Scalar>(plan: &Plan) -> Self {
        let mut writer = Self(MAGIC.to_vec());
        writer.0.extend(VERSION.to_le_bytes());
        writer.0.extend((size_of::<T>() as u32).to_le_bytes());
        writer.word(plan.config().method.name());
        identity(plan).into_iter().for_each(|(_, value)| writer.whole(value));
        writer
    }

    /// Bytes that say nothing of themselves: what ranks of a run tell each other.
    pub(crate) fn plain() -> Self {
        Self(Vec::new())
    }

    /// These bytes.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// Bytes that were written elsewhere.
    pub(crate) fn append(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    fn word(&mut self, word: &str) {
        let mut bytes = [0; WORD];
        bytes[..word.len()].copy_from_slice(word.as_bytes());
        self.0.extend(bytes);
    }

    /// Yes or no.
    pub fn flag(&mut self, flag: bool) {
        self.whole(u64::from(flag));
    }

    /// A whole number.
    pub fn whole(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// A number of things.
    pub fn count(&mut self, value: usize) {
        self.whole(value as u64);
    }

    /// Numbers, without how many they are.
    pub fn numbers<T: Scalar>(&mut self, values: &[T]) {
        let start = self.0.len();
        self.0.resize(start + size_of_val(values), 0);
        // In one piece, which the compiler copies as fast as memory allows.
        if size_of::<T>() == 4 {
            let places = self.0[start..].as_chunks_mut::<4>().0;
            places.iter_mut().zip(values).for_each(|(place, x)| *place = (x.to_f64() as f32).to_le_bytes());
        } else {
            let places = self.0[start..].as_chunks_mut::<8>().0;
            places.iter_mut().zip(values).for_each(|(place, x)| *place = x.to_f64().to_le_bytes());
        }
    }

    /// The energies and constraints of a round that is left half evaluated, if it is. A point whose evaluation failed is asked for
    /// again: what made it fail may have been mended by then.
    pub(crate) fn known<T: Scalar>(&mut self, known: Option<&Known<T>>) {
        let values = || known.into_iter().flat_map(Known::iter).filter(|(_, energy)| !energy.to_f64().is_nan());
        self.count(values().count());
        for (row, energy) in values() {
            self.count(row);
            self.numbers(&[energy]);
            self.numbers(known.map_or(&[], |known| known.constraints_of(row)));
        }
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// All bytes, with their checksum.
    pub fn end(mut self) -> Vec<u8> {
        let sum = crc32fast::hash(&self.0);
        self.0.extend(sum.to_le_bytes());
        self.0
    }
}

/// Reads numbers from bytes.
pub struct Reader<'a> {
    bytes: &'a [u8],
    version: u32,
    /// What follows the bytes, if that is elsewhere.
    gap: Option<Gap<'a>>,
}

impl<'a> Reader<'a> {
    /// Checks that `bytes` are whole and belong to a run with this plan.
    pub fn begin<T: Scalar>(plan: &Plan, bytes: &'a [u8]) -> Result<Self, StateError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(StateError::NotAState)?;
        let (version, _) = rest.split_first_chunk().ok_or(StateError::Damaged)?;
        // Before the checksum, whose place a newer version may have changed.
        let found = u32::from_le_bytes(*version);
        if found > APART {
            return Err(StateError::Version { found });
        }
        if found == 1 {
            return Err(StateError::Old);
        }
        let (body, sum) = bytes.split_last_chunk().ok_or(StateError::Damaged)?;
        if found == 0 || crc32fast::hash(body) != u32::from_le_bytes(*sum) {
            return Err(StateError::Damaged);
        }
        let mut reader = match found {
            APART => {
                let (before, gap) = Gap::of(body)?;
                Self { bytes: before, version: VERSION, gap: Some(gap) }
            }
            _ => Self { bytes: body, version: found, gap: None },
        };
        reader.bytes = reader.bytes.get(MAGIC.len() + 4..).ok_or(StateError::Damaged)?;
        let size = u32::from_le_bytes(*reader.chunk()?);
        if size as usize != size_of::<T>() {
            return Err(StateError::differs("precision", format!("f{}", 8 * u64::from(size)), T::NAME));
        }
        let (saved, given) = (reader.word()?, plan.config().method.name());
        if saved != given {
            return Err(StateError::differs("method", saved, given));
        }
        for (field, given) in identity(plan) {
            let saved = reader.whole()?;
            if saved != given {
                return Err(StateError::differs(field, saved, given));
            }
        }
        Ok(reader)
    }

    /// Bytes that say nothing of themselves.
    pub(crate) fn plain(bytes: &'a [u8]) -> Self {
        Self { bytes, version: VERSION, gap: None }
    }

    /// Where columns are to be had from, if they are elsewhere.
    pub(crate) fn with_columns(mut self, columns: Option<&'a dyn Columns>) -> Self {
        if let Some(gap) = &mut self.gap {
            gap.columns = columns;
        }
        self
    }

    /// Reads from elsewhere, if this is where bytes are missing.
    fn in_gap<R>(&mut self, read: impl FnOnce(&mut Gap<'a>) -> Result<R, StateError>) -> Option<Result<R, StateError>> {
        let gap = self.gap.as_mut().filter(|_| self.bytes.is_empty())?;
        let outcome = read(gap);
        if gap.is_over() {
            self.bytes = gap.after;
            self.gap = None;
        }
        Some(outcome)
    }

    /// All bytes that are left, as text.
    pub(crate) fn text(self) -> String {
        String::from_utf8_lossy(self.bytes).into_owned()
    }

    fn chunk<const N: usize>(&mut self) -> Result<&'a [u8; N], StateError> {
        let (chunk, rest) = self.bytes.split_first_chunk().ok_or(StateError::Damaged)?;
        self.bytes = rest;
        Ok(chunk)
    }

    fn word(&mut self) -> Result<String, StateError> {
        let word = String::from_utf8(self.chunk::<WORD>()?.to_vec()).map_err(|_| StateError::Damaged)?;
        let word = word.trim_end_matches('\0');
        if word.is_empty() || word.contains(|c: char| !c.is_ascii_lowercase() && c != '-') {
            return Err(StateError::Damaged);
        }
        Ok(word.into())
    }

    /// A whole number.
    pub fn whole(&mut self) -> Result<u64, StateError> {
        self.chunk().map(|bytes| u64::from_le_bytes(*bytes))
    }

    /// Yes or no.
    pub fn flag(&mut self) -> Result<bool, StateError> {
        match self.whole()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(StateError::Damaged),
        }
    }

    /// A number that was counted up to, with room to count further.
    pub fn tally(&mut self) -> Result<u64, StateError> {
        self.whole().and_then(|n| if n < 1 << 62 { Ok(n) } else { Err(StateError::Damaged) })
    }

    /// A number of things.
    pub fn count(&mut self) -> Result<usize, StateError> {
        usize::try_from(self.whole()?).map_err(|_| StateError::Damaged)
    }

    /// How many items of this many bytes follow.
    pub fn items(&mut self, bytes: usize) -> Result<usize, StateError> {
        self.count().and_then(|n| if n <= self.bytes.len() / bytes { Ok(n) } else { Err(StateError::Damaged) })
    }

    /// As many numbers as there is room for.
    pub fn numbers<T: Scalar>(&mut self, values: &mut [T]) -> Result<(), StateError> {
        if let Some(outcome) = self.in_gap(|gap| gap.numbers(values)) {
            return outcome;
        }
        let (bytes, rest) = self.bytes.split_at_checked(size_of_val(values)).ok_or(StateError::Damaged)?;
        self.bytes = rest;
        copy_numbers(bytes, values);
        Ok(())
    }

    /// Those of `all` numbers that are at `here`, for as many as there is room.
    pub(crate) fn part<T: Scalar>(
        &mut self,
        all: usize,
        here: std::ops::Range<usize>,
        values: &mut [T],
    ) -> Result<(), StateError> {
        self.skip::<T>(here.start)?;
        self.numbers(values)?;
        self.skip::<T>(all - here.end)
    }

    /// Leaves numbers out.
    fn skip<T>(&mut self, count: usize) -> Result<(), StateError> {
        let bytes = count.checked_mul(size_of::<T>()).ok_or(StateError::Damaged)?;
        if let Some(outcome) = self.in_gap(|gap| gap.skip(bytes as u64)) {
            return outcome;
        }
        self.bytes = self.bytes.get(bytes..).ok_or(StateError::Damaged)?;
        Ok(())
    }

    /// This many numbers. Memory is taken only for what is there.
    pub fn many<T: Scalar>(&mut self, count: usize) -> Result<Vec<T>, StateError> {
        if count > self.bytes.len() / size_of::<T>() {
            return Err(StateError::Damaged);
        }
        let mut values = vec![T::default(); count];
        self.numbers(&mut values).map(|()| values)
    }

    /// How many constraints the points have; as many as are `given`, if so. Versions before 4 know none.
    pub fn constraints(&mut self, given: Option<usize>) -> Result<usize, StateError> {
        let saved = if self.version < 4 { 0 } else { self.items(1)? };
        match given.filter(|given| *given != saved) {
            Some(given) => Err(StateError::differs("constraints", saved, given)),
            None => Ok(saved),
        }
    }

    /// The answers to a round that was left half evaluated: rows, energies and so many constraints. Version 2 knows no such rounds.
    pub fn known<T: Scalar>(&mut self, constraints: usize) -> Result<Vec<(usize, T, Vec<T>)>, StateError> {
        let size = size_of::<u64>() + (1 + constraints) * size_of::<T>();
        let count = if self.version == 2 { 0 } else { self.items(size)? };
        let mut one = || {
            let (row, mut energy, mut values) = (self.count()?, [T::default()], vec![T::default(); constraints]);
            self.numbers(&mut energy)?;
            self.numbers(&mut values).map(|()| (row, energy[0], values))
        };
        (0..count).map(|_| one()).collect()
    }

    /// Checks that nothing is left.
    pub fn end(self) -> Result<(), StateError> {
        if self.bytes.is_empty() && self.gap.is_none() { Ok(()) } else { Err(StateError::Damaged) }
    }
}

/// Numbers from as many bytes as they take.
fn copy_numbers<T: Scalar>(bytes: &[u8], values: &mut [T]) {
    if size_of::<T>() == 4 {
        let numbers = bytes.as_chunks::<4>().0.iter().map(|x| f64::from(f32::from_le_bytes(*x)));
        values.iter_mut().zip(numbers).for_each(|(value, x)| *value = T::from_f64(x));
    } else {
        let numbers = bytes.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x));
        values.iter_mut().zip(numbers).for_each(|(value, x)| *value = T::from_f64(x));
    }
}

/// What two runs must have in common for one to continue where the other was.
fn identity(plan: &Plan) -> [(&'static str, u64); 3] {
    let config = plan.config();
    [("dim", plan.dim() as u64), ("seed", config.seed), ("batch", config.batch.unwrap_or(0) as u64)]
}
