//! What the observers of all ranks are asked about their particles.

use crate::objective::{EvalError, Rows};

/// The particles of a rank, as its observer sees them when the first rank [asks](crate::StepReport::consult).
#[derive(Clone, Debug)]
pub struct Here<'a, T> {
    /// The first of them, by its number in the run.
    pub first: usize,
    /// Their positions.
    pub rows: Rows<'a, T>,
    /// What belongs to them of the columns that a state [without columns](crate::StepReport::state_apart) lacks: places in bytes, and the
    /// numbers from there on. Nothing where there is no such state.
    pub pieces: Vec<(u64, &'a [T])>,
}

/// Answers such a question for the particles that are here.
pub type Answering<'a, T> = dyn FnMut(&[u8], Here<'_, T>) -> Result<Vec<u8>, EvalError> + 'a;
