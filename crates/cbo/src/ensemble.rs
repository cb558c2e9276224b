//! The swarm: N x d positions in one flat row-major buffer, and what can be measured of them.

use crate::backend::block_rows;
use crate::buffer::Buffer;
use crate::noise::{Noise, Stream};
use crate::objective::Rows;
use crate::ranks::{Node, Sums, Travelling, join, merge_subtrees};
use crate::simd::{Kernel, Scalar, Vector};
use crate::state::{Reader, StateError, Writer};
use rayon::prelude::*;

/// Coordinates whose squares are summed together, in eight lanes.
pub const SQUARES: usize = 2048;

fn sum_of_squares<T: Scalar>(block: &[T]) -> f64 {
    let mut lanes = [0.0; 8];
    let mut add = |lane: usize, x: &T| lanes[lane] += x.to_f64() * x.to_f64();
    let (full, rest) = block.as_chunks::<8>();
    for eight in full {
        (0..8).for_each(|lane| add(lane, &eight[lane]));
    }
    rest.iter().enumerate().for_each(|(lane, x)| add(lane, x));
    lanes.iter().sum()
}

/// N particles in d dimensions.
#[derive(Debug)]
pub struct Ensemble<T> {
    positions: Buffer<T>,
    dim: usize,
}

impl<T: Scalar> Clone for Ensemble<T> {
    fn clone(&self) -> Self {
        Self { positions: self.positions.clone(), dim: self.dim }
    }
}

impl<T: Scalar> Ensemble<T> {
    pub(crate) fn new(positions: Buffer<T>, dim: usize) -> Self {
        Self { positions, dim }
    }

    /// Particles at these rows.
    #[doc(hidden)]
    pub fn of_rows(rows: &[T], dim: usize) -> Self {
        let mut positions = Buffer::new(rows.len());
        positions.copy_from_slice(rows);
        Self::new(positions, dim)
    }

    /// No particles.
    pub(crate) fn empty(dim: usize) -> Self {
        Self::new(Buffer::new(0), dim)
    }

    /// Number of particles.
    pub fn len(&self) -> usize {
        self.positions.len() / self.dim
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// The positions, one particle per row.
    pub fn rows(&self) -> Rows<'_, T> {
        Rows::new(&self.positions, self.dim)
    }

    /// The first so many rows, or all there are.
    pub(crate) fn first_rows(&self, count: usize) -> Vec<T> {
        let rows = self.rows().as_slice();
        rows[..rows.len().min(count.saturating_mul(self.dim))].to_vec()
    }

    pub(crate) fn positions_mut(&mut self) -> &mut [T] {
        &mut self.positions
    }

    /// The mean position.
    pub fn mean(&self) -> Vec<f64> {
        self.moments().0
    }

    /// The variance of each coordinate (divided by N).
    pub fn variances(&self) -> Vec<f64> {
        self.moments().1
    }

    /// The mean of |V|^2. Its sum is that of blocks of coordinates, whatever the number of threads, so that it has the same bits everywhere.
    pub fn mean_of_squares(&self) -> f64 {
        let blocks: Vec<f64> = self.positions.par_chunks(SQUARES).map(sum_of_squares).collect();
        blocks.iter().sum::<f64>() / self.len() as f64
    }

    /// ||var(V)||_2 over the coordinates.
    pub(crate) fn variance_norm(&self) -> f64 {
        norm(&self.variances())
    }

    /// Mean and variance of each coordinate, in one pass: sums relative to the first particle, which lies in the swarm, so
    /// that little cancels.
    fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        let origin = self.origin();
        let sums = merge_subtrees(0.0, self.block_moments(0, &origin));
        sums.unwrap_or_else(|| MomentSums::nothing(self.dim)).moments(self.len(), &origin)
    }

    /// The first particle.
    pub(crate) fn origin(&self) -> Vec<f64> {
        self.positions.iter().take(self.dim).map(|x| x.to_f64()).collect()
    }

    /// The sums for mean and variance, relative to `origin`, of particles whose first block has this number: merged as far as the tree of
    /// the blocks allows without the others.
    pub(crate) fn block_moments(&self, first: usize, origin: &[f64]) -> Vec<(Node, MomentSums)> {
        let (mut path, mut spare) = (Vec::new(), None);
        for (block, rows) in self.positions.chunks(block_rows(self.dim) * self.dim).enumerate() {
            let mut sums: MomentSums = spare.take().unwrap_or_else(|| MomentSums::nothing(self.dim));
            sums.0.fill(0.0);
            sums.1.fill(0.0);
            T::moments(rows, origin, &mut sums.0, &mut sums.1);
            spare = join(0.0, &mut path, Node { first: first + block, width: 1 }, sums);
        }
        path
    }

    /// Half the mean squared distance to `point`: the functional V of the theory when `point` is the minimiser.
    pub fn half_mean_square(&self, point: &[f64]) -> f64 {
        let (mut sums, mut squares) = (vec![0.0; self.dim], vec![0.0; self.dim]);
        T::moments(&self.positions, point, &mut sums, &mut squares);
        0.5 * squares.iter().sum::<f64>() / self.len() as f64
    }

    /// The root mean square distance of the particles from their mean.
    pub fn spread(&self) -> f64 {
        self.variances().iter().sum::<f64>().sqrt()
    }

    /// The largest extent over the coordinates: the diameter in the maximum norm.
    pub fn diameter(&self) -> f64 {
        self.extent().map_or(0.0, |extent| extent.diameter())
    }

    /// The least and the greatest number of each coordinate; `None` if there are no particles.
    pub(crate) fn extent(&self) -> Option<Extent<T>> {
        let mut rows = self.rows().iter();
        let first = rows.next()?;
        let mut extent = Extent { low: first.to_vec(), high: first.to_vec() };
        rows.for_each(|row| extent.include(row, row));
        Some(extent)
    }

    /// Whether the [`diameter`](Self::diameter) is below `limit`; finds out at the first rows if the swarm is wide.
    pub fn is_narrower_than(&self, limit: f64) -> bool {
        let Some(first) = self.rows().iter().next() else { return limit > 0.0 };
        let far = |(x, y): (&T, &T)| (x.to_f64() - y.to_f64()).abs() >= limit;
        // Where none is far from the first, the diameter may still be twice as large.
        !self.rows().iter().any(|row| row.iter().zip(first).any(far)) && self.diameter() < limit
    }

    /// Keeps these particles, in their order.
    pub(crate) fn keep(&mut self, kept: &[usize]) {
        let dim = self.dim;
        for (to, &from) in kept.iter().enumerate() {
            self.positions.copy_within(from * dim..(from + 1) * dim, to * dim);
        }
        self.truncate(kept.len());
    }

    /// Keeps the first `particles` particles.
    pub(crate) fn truncate(&mut self, particles: usize) {
        self.positions.truncate(particles * self.dim);
    }
}

/// ||v||_2.
pub(crate) fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

/// The least and the greatest number of each coordinate.
#[derive(Clone, Debug)]
pub struct Extent<T> {
    /// The least.
    pub low: Vec<T>,
    /// The greatest.
    pub high: Vec<T>,
}

impl<T: Scalar> Extent<T> {
    /// Includes what extends from `low` to `high`.
    pub fn include(&mut self, low: &[T], high: &[T]) {
        for (l, x) in self.low.iter_mut().zip(low) {
            *l = if *x < *l { *x } else { *l };
        }
        for (h, x) in self.high.iter_mut().zip(high) {
            *h = if *x > *h { *x } else { *h };
        }
    }

    /// The largest of the extents.
    pub fn diameter(&self) -> f64 {
        self.low.iter().zip(&self.high).map(|(l, h)| h.to_f64() - l.to_f64()).fold(0.0, f64::max)
    }
}

/// Sums of offsets from an origin in each coordinate, and of their squares.
#[derive(Clone, Debug)]
pub(crate) struct MomentSums(Vec<f64>, Vec<f64>);

impl MomentSums {
    pub fn nothing(dim: usize) -> Self {
        Self(vec![0.0; dim], vec![0.0; dim])
    }

    /// Mean and variance of each coordinate of `count` particles.
    pub fn moments(self, count: usize, origin: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (count, Self(mut means, mut variances)) = (count as f64, self);
        for ((mean, variance), o) in means.iter_mut().zip(&mut variances).zip(origin) {
            let offset = *mean / count;
            let difference = *variance / count - offset * offset;
            // Rounding may make it negative; what is not a number stays so.
            (*mean, *variance) = (o + offset, if difference < 0.0 { 0.0 } else { difference });
        }
        (means, variances)
    }
}

impl Sums for MomentSums {
    fn add(&mut self, _alpha: f64, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(sum, other)| *sum += other);
        self.1.iter_mut().zip(&other.1).for_each(|(sum, other)| *sum += other);
    }
}

impl Travelling for MomentSums {
    fn write(&self, to: &mut Writer) {
        to.numbers(&self.0);
        to.numbers(&self.1);
    }

    fn read(dim: usize, from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut sums = Self::nothing(dim);
        from.numbers(&mut sums.0)?;
        from.numbers(&mut sums.1)?;
        Ok(sums)
    }
}

/// Which of `count` particles survive when so many of them do, drawn at random, in their old order.
pub(crate) fn survivors(count: usize, survivors: usize, seed: u64, step: u64) -> Vec<usize> {
    let noise = Noise::new(seed, Stream::Resampling, step);
    let mut wanted = survivors;
    let mut kept = Vec::with_capacity(survivors);
    // Selection sampling: each particle survives with probability (still wanted) / (still to be seen).
    for i in 0..count {
        if noise.below(i as u32, (count - i) as u64) < wanted as u64 {
            kept.push(i);
            wanted -= 1;
        }
    }
    kept
}

/// sums += rows - origin, and squares of that.
pub(crate) struct Moments<'a, T> {
    pub rows: &'a [T],
    pub origin: &'a [f64],
    pub sums: &'a mut [f64],
    pub squares: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Moments<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        for row in self.rows.chunks_exact(self.origin.len()) {
            // Plain Rust: the compiler vectorises it for the instruction set of this kernel.
            for (((x, o), sum), square) in row.iter().zip(self.origin).zip(&mut *self.sums).zip(&mut *self.squares) {
                let offset = x.to_f64() - o;
                *sum += offset;
                *square = offset.mul_add(offset, *square);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn swarm(values: &[f64], dim: usize) -> Ensemble<f64> {
        let mut positions = Buffer::new(values.len());
        positions.copy_from_slice(values);
        Ensemble::new(positions, dim)
    }

    #[test]
    fn statistics_of_a_small_swarm() {
        let swarm = swarm(&[0.0, 0.0, 2.0, 0.0, 1.0, 3.0], 2);
        assert_eq!(swarm.mean(), [1.0, 1.0]);
        assert!(swarm.variances().iter().zip([2.0 / 3.0, 2.0]).all(|(v, want)| (v - want).abs() < 1e-15));
        assert_eq!(swarm.diameter(), 3.0);
        assert!(swarm.is_narrower_than(3.1) && !swarm.is_narrower_than(3.0) && !swarm.is_narrower_than(0.0));
        assert!((swarm.spread() - (8.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!((swarm.half_mean_square(&[0.0, 0.0]) - 14.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn survivors_are_distinct_and_every_particle_has_the_same_chance() {
        let mut counts = [0u32; 20];
        for epoch in 0..4000 {
            let mut swarm = swarm(&(0..20).map(f64::from).collect::<Vec<_>>(), 1);
            swarm.keep(&survivors(20, 5, 7, epoch));
            let rows = swarm.rows().as_slice();
            assert_eq!(rows.len(), 5);
            assert!(rows.windows(2).all(|w| w[0] < w[1]));
            rows.iter().for_each(|&i| counts[i as usize] += 1);
        }
        // Binomial(4000, 1/4): standard deviation 27.4; five of them.
        assert!(counts.iter().all(|&c| (f64::from(c) - 1000.0).abs() < 137.0), "{counts:?}");
    }
}
