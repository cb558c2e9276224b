//! The evaluation of a round: on the calling thread, or spread over threads that start when they are first needed.

use crate::answers::Answers;
use crate::constraint;
use crate::objective::{Grouping, Objective, Rows, StepContext};
use crate::report::SolveError;
use crate::simd::Scalar;
use rayon::prelude::*;
use std::time::Instant;

/// Numbers of a round from which it is worth waking threads for a cheap objective.
const WORTH_THREADS: usize = 4096;

/// Seconds of an evaluation from which each is a piece of its own, between which the run may end.
const SLOW: f64 = 1e-3;

/// The threads of a run.
#[derive(Debug)]
pub(super) struct Threads {
    count: usize,
    pool: Option<rayon::ThreadPool>,
    /// Seconds of an evaluation in the last round; none yet.
    pace: Option<f64>,
}

impl Threads {
    /// `count` threads, or one per core if 0; none is started yet.
    pub fn new(count: usize) -> Self {
        Self { count, pool: None, pace: None }
    }

    /// Whether a round is one piece, because its evaluations are cheap. Those of an objective that does not say are, unless time is
    /// limited and they were seen to be slow.
    pub fn takes_all_at_once<T: Scalar>(&self, objective: &dyn Objective<T>, is_limited: bool) -> bool {
        objective.grouping() == Grouping::Blocks && !(is_limited && self.pace.is_none_or(|pace| pace > SLOW))
    }

    /// Writes the energies of `rows`, whose evaluations are cheap, and their constraints to `out`.
    pub fn evaluate<T: Scalar>(
        &mut self,
        objective: &dyn Objective<T>,
        at: StepContext,
        rows: Rows<'_, T>,
        (out, constraints): (&mut [T], &mut [T]),
    ) -> Result<(), SolveError> {
        let start = Instant::now();
        let failed = |source| SolveError::Evaluation { step: at.step, source };
        let constrained = !constraints.is_empty();
        let is_worth_it = rows.len() > 1 && rows.as_slice().len() >= WORTH_THREADS;
        let Some(pool) = self.pool_if(is_worth_it)? else {
            let outcome = match constrained {
                true => constraint::evaluate(objective, at, rows, (out, constraints), 1),
                false => objective.energies(at, rows, out),
            };
            self.pace = Some(start.elapsed().as_secs_f64() / rows.len().max(1) as f64);
            return outcome.map_err(failed);
        };
        if constrained {
            let threads = pool.current_num_threads();
            let work = || constraint::evaluate(objective, at, rows, (out, constraints), threads);
            return pool.install(work).map_err(failed);
        }
        let piece = rows.len().div_ceil(4 * pool.current_num_threads());
        let pieces = rows.as_slice().par_chunks(piece * rows.dim()).zip(out.par_chunks_mut(piece)).enumerate();
        let error = pool.install(|| {
            // The error of the first row that has one, whoever comes across it first.
            pieces.find_map_first(|(i, (piece_rows, out))| {
                let outcome = objective.energies(at, Rows::new(piece_rows, rows.dim()), out);
                outcome.err().map(|error| error.after(i * piece))
            })
        });
        error.map_or(Ok(()), |source| Err(failed(source)))
    }

    /// Asks for energies of `rows` that are not known, one by one, until the answers are enough.
    pub fn ask<T: Scalar>(
        &mut self,
        objective: &dyn Objective<T>,
        at: StepContext,
        rows: Rows<'_, T>,
        answers: &Answers<T>,
    ) -> Result<(), SolveError> {
        let failed = |source| SolveError::Evaluation { step: at.step, source };
        if objective.grouping() == Grouping::Together {
            return answers.ask_together(objective, at, rows).map_err(failed);
        }
        let start = Instant::now();
        let one = |(row, point)| answers.ask_single(objective, at, row, point).err();
        let error = match self.pool_if(objective.grouping() == Grouping::Single && rows.len() > 1)? {
            Some(pool) => {
                pool.install(|| rows.as_slice().par_chunks(rows.dim()).enumerate().with_max_len(1).find_map_first(one))
            }
            None => rows.iter().enumerate().find_map(one),
        };
        self.pace = Some(start.elapsed().as_secs_f64() / rows.len().max(1) as f64);
        error.map_or(Ok(()), |error| Err(failed(error)))
    }

    /// The threads, started if they are `wanted` and there are to be several.
    fn pool_if(&mut self, wanted: bool) -> Result<Option<&rayon::ThreadPool>, SolveError> {
        if !wanted {
            return Ok(None);
        }
        if self.count == 0 {
            // Asked once: files of the system are read for it.
            self.count = std::thread::available_parallelism().map_or(1, |n| n.get());
        }
        if self.count == 1 {
            return Ok(None);
        }
        if self.pool.is_none() {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(self.count).build();
            self.pool = Some(pool.map_err(|e| SolveError::Threads { threads: self.count, message: e.to_string() })?);
        }
        Ok(self.pool.as_ref())
    }
}
