//! Noise drawn ahead: while the caller evaluates the points of a step, idle threads draw the normals of its move.
//!
//! Noise depends on where it is used, not on when it was drawn, so nothing changes but the time that the move takes.

use super::tiles::{TILE, tile_rows};
use crate::buffer::Buffer;
use crate::noise::{Noise, Stream, scratch_len};
use crate::simd::Scalar;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Coordinates of a swarm above which normals are not kept: they would need as much memory as the positions.
const MOST: usize = 1 << 22;

/// No step.
const NONE: u64 = u64::MAX;

/// The normals of a move, tile by tile.
#[derive(Debug)]
pub struct Ahead<T> {
    seed: u64,
    dim: usize,
    particles: usize,
    tiles: Vec<Mutex<Tile<T>>>,
    /// The step whose normals are being drawn.
    step: AtomicU64,
    /// The next tile to be drawn.
    next: AtomicUsize,
}

#[derive(Debug)]
struct Tile<T> {
    /// The step whose normals these are.
    step: u64,
    normals: Buffer<T>,
}

impl<T: Scalar> Ahead<T> {
    /// Room for the normals of a swarm, or nothing if it is too large for that.
    pub(crate) fn new(seed: u64, dim: usize, particles: usize) -> Option<Arc<Self>> {
        if dim > TILE || particles * dim > MOST {
            return None;
        }
        let rows = tile_rows(dim);
        let tile = || Some(Mutex::new(Tile { step: NONE, normals: Buffer::try_new(scratch_len(rows, dim))? }));
        let tiles = (0..particles.div_ceil(rows)).map(|_| tile()).collect::<Option<_>>()?;
        Some(Arc::new(Self { seed, dim, particles, tiles, step: AtomicU64::new(NONE), next: AtomicUsize::new(0) }))
    }

    /// Lets all but one of the pool's threads draw the normals of `step`.
    pub(crate) fn begin(self: &Arc<Self>, step: u64, pool: &rayon::ThreadPool) {
        self.next.store(0, Ordering::SeqCst);
        self.step.store(step, Ordering::SeqCst);
        for _ in 1..pool.current_num_threads() {
            let ahead = self.clone();
            pool.spawn(move || ahead.work(step));
        }
    }

    /// Nothing more is drawn: what is missing is drawn by whoever needs it. Says whether most of it is there.
    pub(crate) fn end(&self) -> bool {
        self.step.store(NONE, Ordering::SeqCst);
        2 * self.next.load(Ordering::SeqCst) > self.tiles.len()
    }

    /// The normals of the tile that begins with particle `first`, if those of `step` were drawn.
    pub(crate) fn drawn(&self, first: usize, step: u64) -> Option<Drawn<'_, T>> {
        let tile = self.tiles.get(first / tile_rows(self.dim))?.lock().unwrap_or_else(PoisonError::into_inner);
        (tile.step == step).then_some(Drawn(tile))
    }

    fn work(&self, step: u64) {
        let rows = tile_rows(self.dim);
        let noise = Noise::new(self.seed, Stream::Diffusion, step);
        while self.step.load(Ordering::SeqCst) == step {
            let index = self.next.fetch_add(1, Ordering::SeqCst);
            let Some(tile) = self.tiles.get(index) else { return };
            let mut tile = tile.lock().unwrap_or_else(PoisonError::into_inner);
            let first = index * rows;
            tile.step = NONE;
            T::draw(noise, first, rows.min(self.particles - first), self.dim, &mut tile.normals);
            tile.step = step;
        }
    }
}

/// The normals of a tile.
pub(crate) struct Drawn<'a, T>(MutexGuard<'a, Tile<T>>);

impl<T> Drawn<'_, T> {
    pub fn normals(&mut self) -> &mut [T] {
        // The isotropic move of short rows uses the place as scratch.
        self.0.step = NONE;
        &mut self.0.normals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Kernels;

    fn wait_until_drawn(ahead: &Ahead<f64>, step: u64) {
        for index in 0..ahead.tiles.len() {
            while ahead.drawn(index * tile_rows(ahead.dim), step).is_none() {
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn normals_are_those_of_the_step_and_are_used_once() {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (dim, particles) = (10, 1000);
        let ahead = Ahead::<f64>::new(7, dim, particles).unwrap();
        for step in [0, 1, 5] {
            ahead.begin(step, &pool);
            wait_until_drawn(&ahead, step);
            ahead.end();
            let rows = tile_rows(dim);
            let mut expected = vec![0.0; scratch_len(rows, dim)];
            for first in (0..particles).step_by(rows) {
                let count = rows.min(particles - first);
                f64::draw(Noise::new(7, Stream::Diffusion, step), first, count, dim, &mut expected);
                assert!(ahead.drawn(first, step + 1).is_none());
                let mut drawn = ahead.drawn(first, step).unwrap();
                assert_eq!(drawn.normals()[..count * dim], expected[..count * dim]);
                drop(drawn);
                assert!(ahead.drawn(first, step).is_none());
            }
        }
    }

    #[test]
    fn swarms_too_large_for_it_have_none() {
        assert!(Ahead::<f64>::new(0, TILE + 1, 10).is_none());
        assert!(Ahead::<f64>::new(0, 1024, MOST / 1024 + 1).is_none());
        assert!(Ahead::<f64>::new(0, 1024, MOST / 1024).is_some());
    }
}
