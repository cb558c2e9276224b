//! The evaluation of a round: on the calling thread, or spread over threads that start when they are first needed.

use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::report::SolveError;
use crate::simd::Scalar;
use rayon::prelude::*;

/// Numbers of a round from which it is worth waking threads for a cheap objective.
const WORTH_THREADS: usize = 4096;

/// The threads of a run.
#[derive(Debug)]
pub(super) struct Threads {
    count: usize,
    pool: Option<rayon::ThreadPool>,
}

impl Threads {
    /// `count` threads, or one per core if 0; none is started yet.
    pub fn new(count: usize) -> Self {
        Self { count, pool: None }
    }

    /// Writes the energies of `rows` to `out`.
    pub fn evaluate<T: Scalar>(
        &mut self,
        objective: &(impl Objective<T> + ?Sized),
        at: StepContext,
        rows: Rows<'_, T>,
        out: &mut [T],
    ) -> Result<(), SolveError> {
        let failed = |source| SolveError::Evaluation { step: at.step, source };
        let spread = match objective.grouping() {
            Grouping::Together => false,
            Grouping::Single => rows.len() > 1,
            Grouping::Blocks => rows.len() > 1 && rows.as_slice().len() >= WORTH_THREADS,
        };
        let threads = match self.count {
            0 => std::thread::available_parallelism().map_or(1, |n| n.get()),
            count => count,
        };
        let single = objective.grouping() == Grouping::Single;
        if !spread || threads == 1 {
            let piece = if single { 1 } else { rows.len().max(1) };
            return in_pieces(objective, at, rows, out, piece).map_err(failed);
        }
        let piece = if single { 1 } else { rows.len().div_ceil(4 * threads) };
        let pool = match self.pool.take() {
            Some(pool) => pool,
            None => rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .map_err(|e| SolveError::Threads { threads: self.count, message: e.to_string() })?,
        };
        let pool = self.pool.insert(pool);
        let pieces = rows.as_slice().par_chunks(piece * rows.dim()).zip(out.par_chunks_mut(piece)).enumerate();
        let error = pool.install(|| {
            // The error of the first row that has one, whoever comes across it first.
            pieces.find_map_first(|(i, (piece_rows, out))| {
                let outcome = objective.energies(at, Rows::new(piece_rows, rows.dim()), out);
                outcome.err().map(|error| error.after(i * piece))
            })
        });
        error.map_or(Ok(()), |error| Err(failed(error)))
    }
}

/// One call after the other, each with `piece` rows at most.
fn in_pieces<T: Scalar>(
    objective: &(impl Objective<T> + ?Sized),
    at: StepContext,
    rows: Rows<'_, T>,
    out: &mut [T],
    piece: usize,
) -> Result<(), EvalError> {
    let pieces = rows.as_slice().chunks(piece * rows.dim()).zip(out.chunks_mut(piece));
    for (i, (piece_rows, out)) in pieces.enumerate() {
        objective.energies(at, Rows::new(piece_rows, rows.dim()), out).map_err(|error| error.after(i * piece))?;
    }
    Ok(())
}
