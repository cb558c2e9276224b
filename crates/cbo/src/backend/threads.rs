//! Threads as an argument: the same blocks of particles, worked off by one thread or by many.

use super::tiles::Scratch;
use crate::consensus::Partial;
use crate::population::Columns;
use crate::report::SolveError;
use crate::simd::Scalar;
use rayon::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// Coordinates below which a pass is not worth waking threads for.
const WORTH_THREADS: usize = 16384;

/// What a pass does, which decides whether it is worth waking threads for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effort {
    /// Noise and moves.
    Move,
    /// Sums, or moves whose noise is drawn.
    Sum,
    /// Evaluations of an objective that says it is costly.
    Costly,
}

impl Effort {
    /// Coordinates below which a thread outside the pool is done before the pool has woken up.
    fn worth_waking(self) -> usize {
        match self {
            Self::Move => 1 << 16,
            Self::Sum => 1 << 19,
            Self::Costly => 0,
        }
    }
}

/// Consecutive particles with what belongs to them. Columns for which a pass has no use are empty.
pub(crate) struct Blocks<'a, T> {
    /// The first particle.
    pub first: usize,
    /// Positions, `dim` numbers per particle.
    pub rows: &'a mut [T],
    /// One energy per particle.
    pub energies: &'a mut [T],
    /// What the method keeps of each particle: a point or another row, a second one, and the energy of a point that is remembered.
    pub points: &'a mut [T],
    pub more: &'a mut [T],
    pub values: &'a mut [T],
    /// One sum per block.
    pub sums: &'a mut [Partial],
    /// Particles in a block; the last may have fewer.
    block_rows: usize,
    /// Coordinates of a particle.
    dim: usize,
}

impl<'a, T> Blocks<'a, T> {
    /// The particles with these columns, in blocks of `block_rows`.
    pub fn of(columns: Columns<'a, T>, sums: &'a mut [Partial], block_rows: usize, dim: usize) -> Self {
        let Columns { rows, energies, points, more, values } = columns;
        Self { first: 0, rows, energies, points, more, values, sums, block_rows, dim }
    }

    /// The same particles, of which this is the first.
    pub fn starting_at(self, first: usize) -> Self {
        Self { first, ..self }
    }

    /// The points of a round of evaluations, and the place of their energies.
    pub fn asked(&mut self, round: usize) -> (&[T], &mut [T]) {
        if round == 0 { (self.rows, self.energies) } else { (self.points, self.values) }
    }

    fn are_several(&self) -> bool {
        self.rows.len() > self.block_rows * self.dim
    }

    fn count(&self) -> usize {
        (self.rows.len() / self.dim).div_ceil(self.block_rows)
    }

    fn split_at(self, blocks: usize) -> (Self, Self) {
        fn cut<T>(column: &mut [T], at: usize) -> (&mut [T], &mut [T]) {
            column.split_at_mut(at.min(column.len()))
        }
        let particles = blocks * self.block_rows;
        let Self { first, block_rows, dim, .. } = self;
        let (rows, later_rows) = cut(self.rows, particles * dim);
        let (energies, later_energies) = cut(self.energies, particles);
        let (points, later_points) = cut(self.points, particles * dim);
        let (more, later_more) = cut(self.more, particles * dim);
        let (values, later_values) = cut(self.values, particles);
        let (sums, later_sums) = cut(self.sums, blocks);
        (
            Self { first, rows, energies, points, more, values, sums, block_rows, dim },
            Self {
                first: first + particles,
                rows: later_rows,
                energies: later_energies,
                points: later_points,
                more: later_more,
                values: later_values,
                sums: later_sums,
                block_rows,
                dim,
            },
        )
    }
}

/// The threads of a run, each with scratch of its own.
#[derive(Debug)]
pub(crate) struct Crew<T> {
    pool: Option<Arc<rayon::ThreadPool>>,
    scratch: Vec<Mutex<Scratch<T>>>,
}

impl<T: Scalar> Crew<T> {
    /// `threads` threads, or one per core if 0. A run whose `largest` pass has few coordinates gets one, unless `costly`.
    pub fn new(
        threads: usize,
        costly: bool,
        largest: usize,
        scratch: impl Fn() -> Scratch<T>,
    ) -> Result<Self, SolveError> {
        let wanted = if threads == 0 { std::thread::available_parallelism().map_or(1, |n| n.get()) } else { threads };
        let count = if costly || largest >= WORTH_THREADS { wanted } else { 1 };
        let pool = match count {
            1 => None,
            _ => {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(count).build();
                Some(Arc::new(pool.map_err(|e| SolveError::Threads { threads, message: e.to_string() })?))
            }
        };
        // One for each thread of the pool, and one for a thread outside that takes part.
        let scratch = (0..=count).map(|_| Mutex::new(scratch())).collect();
        Ok(Self { pool, scratch })
    }

    /// The threads themselves. A loop that runs on one of them hands work to the others without waiting for anyone to wake up.
    pub fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        self.pool.clone()
    }

    /// Calls `work` with every block once: in order on this thread, or in runs of blocks spread over the threads.
    pub fn each<E: Send>(
        &mut self,
        blocks: Blocks<'_, T>,
        effort: Effort,
        work: impl Fn(Blocks<'_, T>, &mut Scratch<T>) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        if blocks.rows.is_empty() {
            return Ok(()); // a rank may have none
        }
        let one_by_one = |mut blocks: Blocks<'_, T>, scratch: &mut Scratch<T>| {
            while blocks.are_several() {
                let (block, rest) = blocks.split_at(1);
                work(block, scratch)?;
                blocks = rest;
            }
            work(blocks, scratch)
        };
        // Nothing in a scratch outlives a block: poison does not matter.
        let Some(pool) = &self.pool else {
            return one_by_one(blocks, self.scratch[0].get_mut().unwrap_or_else(PoisonError::into_inner));
        };
        // Only one thread at a time uses it.
        let locked = |index: usize| self.scratch[index].lock().unwrap_or_else(PoisonError::into_inner);
        let threads = pool.current_num_threads();
        let grain = (blocks.count() / (8 * threads)).max(1);
        let leaf =
            |blocks: Blocks<'_, T>| one_by_one(blocks, &mut locked(pool.current_thread_index().unwrap_or(threads)));
        if pool.current_thread_index().is_some() {
            return spread(blocks, grain, &leaf);
        }
        if blocks.rows.len() < effort.worth_waking() {
            return leaf(blocks);
        }
        // The pool may be asleep, and waking it takes a while: the calling thread begins at once, and whoever is free
        // takes the next piece.
        let (left, outcome) = (Mutex::new(Some(blocks)), Mutex::new(Ok(())));
        let take_part = || {
            while let Some(piece) = next_piece(&left, grain) {
                let done = leaf(piece);
                if done.is_err() {
                    *outcome.lock().unwrap_or_else(PoisonError::into_inner) = done;
                }
            }
        };
        pool.in_place_scope(|scope| {
            (1..threads).for_each(|_| scope.spawn(|_| take_part()));
            take_part();
        });
        outcome.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` once with the number of each piece of two columns and its numbers; pieces have the sizes given, the last may have
    /// fewer. In order on this thread, or spread over the threads if that is `worth` it.
    pub fn pieces<A: Send, B: Send, E: Send>(
        &self,
        worth: bool,
        (first, size): (&mut [A], usize),
        (second, other_size): (&mut [B], usize),
        work: impl Fn(usize, &mut [A], &mut [B]) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        match self.pool.as_ref().filter(|_| worth) {
            None => {
                let mut pieces = first.chunks_mut(size).zip(second.chunks_mut(other_size)).enumerate();
                pieces.try_for_each(|(number, (a, b))| work(number, a, b))
            }
            Some(pool) => pool.install(|| {
                let pieces = first.par_chunks_mut(size).zip(second.par_chunks_mut(other_size)).enumerate();
                pieces.try_for_each(|(number, (a, b))| work(number, a, b))
            }),
        }
    }
}

/// Takes up to `grain` of the blocks that are left.
fn next_piece<'a, T>(left: &Mutex<Option<Blocks<'a, T>>>, grain: usize) -> Option<Blocks<'a, T>> {
    let mut left = left.lock().unwrap_or_else(PoisonError::into_inner);
    let blocks = left.take()?;
    if blocks.count() <= grain {
        return Some(blocks);
    }
    let (piece, rest) = blocks.split_at(grain);
    *left = Some(rest);
    Some(piece)
}

/// Halves the blocks until `grain` are left, the halves in parallel.
fn spread<T: Scalar, E: Send>(
    blocks: Blocks<'_, T>,
    grain: usize,
    leaf: &(impl Fn(Blocks<'_, T>) -> Result<(), E> + Sync),
) -> Result<(), E> {
    let count = blocks.count();
    if count <= grain {
        return leaf(blocks);
    }
    let (left, right) = blocks.split_at(count / 2);
    let (a, b) = rayon::join(|| spread(left, grain, leaf), || spread(right, grain, leaf));
    a.and(b)
}
