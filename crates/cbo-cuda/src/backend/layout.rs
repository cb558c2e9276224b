//! Rows of particles, and how they lie on a device.

use crate::source::{GROUP, Shape};
use cbo::{Rows, Scalar};
use rayon::prelude::*;

/// Rows as they lie on the device.
pub(super) fn laid_out<T: Scalar>(shape: Shape, rows: Rows<'_, T>) -> Vec<T> {
    let (count, dim) = (rows.len(), shape.dim);
    let mut numbers = vec![T::default(); shape.room(count) * dim];
    // A piece is a coordinate of all particles, or a group of them.
    numbers.par_chunks_mut(if shape.grouped { GROUP * dim } else { count }).enumerate().for_each(|(piece, numbers)| {
        let (first, coordinates) = if shape.grouped { (piece * GROUP, 0..dim) } else { (0, piece..piece + 1) };
        let wide = if shape.grouped { GROUP } else { count };
        for (k, numbers) in coordinates.zip(numbers.chunks_exact_mut(wide)) {
            for (i, x) in (first..count).zip(numbers) {
                *x = rows.row(i)[k];
            }
        }
    });
    numbers
}

/// The rows of so many particles, of what lies on the device.
pub(super) fn rows<T: Scalar>(shape: Shape, particles: usize, numbers: &[T]) -> Vec<T> {
    let mut rows = vec![T::default(); particles * shape.dim];
    rows.par_chunks_mut(GROUP * shape.dim).enumerate().for_each(|(group, rows)| {
        for (i, row) in (group * GROUP..).zip(rows.chunks_exact_mut(shape.dim)) {
            for (k, x) in row.iter_mut().enumerate() {
                *x = numbers[shape.place(particles, i, k)];
            }
        }
    });
    rows
}
