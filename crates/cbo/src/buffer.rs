//! A buffer that begins on a cache line, so that no vector load or store straddles two.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// Bytes in a cache line, and in the widest vector.
const LINE: usize = 64;

/// Numbers in memory, the first of them on a cache line.
pub struct Buffer<T> {
    values: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Copy + Default> Buffer<T> {
    /// `len` zeros, or `None` if there is no memory for them.
    pub fn try_new(len: usize) -> Option<Self> {
        let spare = LINE / size_of::<T>();
        let mut values = Vec::new();
        values.try_reserve_exact(len.checked_add(spare)?).ok()?;
        values.resize(len + spare, T::default());
        let start = values.as_ptr().align_offset(LINE).min(spare);
        Some(Self { values, start, len })
    }

    /// `len` zeros.
    pub fn new(len: usize) -> Self {
        Self::try_new(len).expect("memory for a small buffer")
    }

    /// Forgets what lies beyond `len`.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }
}

impl<T: Copy + Default> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        // A new allocation has another start, so the numbers are copied, not the vector.
        let mut copy = Self::new(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl<T> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers", self.len)
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.values[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.values[self.start..self.start + self.len]
    }
}
