//! Who does the work: owns the columns of the particles, moves them, evaluates them and sums them up, block by block.

mod ahead;
mod contribution;
mod cpu;
mod differences;
mod isotropic;
mod kernels;
mod particles;
mod share;
mod spread;
mod threads;
mod tiles;

pub(crate) use ahead::Ahead;
pub use contribution::rehearse;
pub(crate) use cpu::Cpu;
pub use cpu::block_rows;
pub(crate) use differences::Differences;
pub(crate) use isotropic::{isotropic, isotropic_apart};
pub use kernels::Kernels;
pub use particles::Particles;
pub use share::{Seat, Share};
pub(crate) use spread::Spread;
pub(crate) use threads::Crew;
pub(crate) use tiles::{Scratch, TILE, fill, settle, tile_rows, update};

use crate::answers::Answers;
use crate::consensus::Partial;
use crate::ensemble::Ensemble;
use crate::method::Move;
use crate::objective::{EvalError, Objective, Rows, StepContext};
use crate::ranks::{Answering, Here};
use crate::report::StopReason;
use crate::schedule::Weighing;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::sync::Arc;

/// What the loop asks of whoever holds the particles. Energies, sums and positions belong to the same step until the next move.
pub trait Backend<T>: Send + std::fmt::Debug {
    /// Makes the pending move, if there is one, then evaluates the particles of the step and sums them up, for an objective that is asked
    /// for blocks, or for rows by a backend that [does so itself](Self::asks_rows). Returns the alpha of the weights.
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        objective: &dyn Objective<T>,
    ) -> Result<f64, EvalError>;

    /// Whether it asks a costly objective for single rows itself, because others do the same elsewhere: a step is never left half evaluated.
    fn asks_rows(&self) -> bool {
        false
    }

    /// Makes a move, where the caller evaluates.
    fn advance(&mut self, pending: &Move, step: u64);

    /// Completes a move with what only a look at all particles of the step can tell, for methods that need it.
    fn prepare(&mut self, decided: &mut Move, alpha: f64);

    /// The threads, if there are several.
    fn pool(&self) -> Option<Arc<rayon::ThreadPool>>;

    /// Draws noise of the coming move while the caller evaluates.
    fn draw_ahead(&mut self, step: u64);

    /// The points of a round of evaluations.
    fn points(&self, round: usize) -> Rows<'_, T>;

    /// Takes the energies of [`points`](Self::points), which the caller evaluated. With those of the last round it is told how to weigh,
    /// and returns the alpha of the weights.
    fn take(&mut self, round: usize, step: u64, energies: &[T], weighing: Option<Weighing>) -> Option<f64>;

    /// Weighs the particles of the step by energies that the caller has written to where this backend keeps them, if it lends that memory.
    /// Returns the alpha of the weights.
    fn weigh_there(&mut self, _weighing: Weighing) -> Result<f64, EvalError> {
        Err(EvalError::new("the particles are on no device"))
    }

    /// Asks the objective for those energies of [`points`](Self::points) that are not known, until the answers are enough.
    fn ask(
        &mut self,
        round: usize,
        at: StepContext,
        objective: &dyn Objective<T>,
        answers: &Answers<T>,
    ) -> Result<(), EvalError>;

    /// Keeps the gradients at the positions, for a method that needs them.
    fn differentiate(&mut self, at: StepContext, objective: &dyn Objective<T>) -> Result<(), EvalError>;

    /// The sums of the blocks.
    fn sums(&mut self) -> &mut [Partial];

    /// How many particles the step evaluates.
    fn count(&self) -> usize;

    /// One point of a round of evaluations.
    fn row(&self, round: usize, place: usize) -> &[T];

    /// Whether the diameter of the swarm is below `limit`.
    fn is_narrower_than(&self, limit: f64) -> bool;

    /// The diameter of the swarm at time 0.
    fn diameter(&self) -> f64
    where
        T: Scalar,
    {
        self.ensemble().diameter()
    }

    /// The root mean square distance of the particles from their mean.
    fn spread(&self) -> f64
    where
        T: Scalar,
    {
        self.ensemble().spread()
    }

    /// How many particles there are.
    fn particles(&self) -> usize
    where
        T: Scalar,
    {
        self.ensemble().len()
    }

    /// Lets the first of several ranks decide whether the run ends; the others tell it what it asks meanwhile, and `answer` its questions.
    /// One alone decides.
    fn confer(
        &self,
        decide: &mut dyn FnMut() -> Option<StopReason>,
        _answer: &mut Answering<'_, T>,
    ) -> Option<StopReason> {
        decide()
    }

    /// What all ranks answer to a question of the first, in their order; one alone answers itself.
    fn consult(&self, question: &[u8], answer: &mut Answering<'_, T>) -> Result<Vec<Vec<u8>>, EvalError>
    where
        T: Scalar,
    {
        Ok(vec![answer(question, Here { first: 0, rows: self.ensemble().rows(), pieces: Vec::new() })?])
    }

    /// What came of an evaluation that each of several ranks makes: it fails on all of them if it fails on one.
    fn share_failure(&self, outcome: Result<(), EvalError>) -> Result<(), EvalError> {
        outcome
    }

    /// The first evaluation that has no value in these rounds of the step: its row and what came back.
    fn first_failure(&self, rounds: usize) -> Option<(usize, f64)>
    where
        T: Scalar,
    {
        first_failure((0..rounds).map(|round| self.energies(round)))
    }

    /// The positions of the first so many particles.
    fn first_rows(&self, count: usize) -> Vec<T>
    where
        T: Scalar,
    {
        self.ensemble().first_rows(count)
    }

    /// The positions of all particles.
    fn ensemble(&self) -> &Ensemble<T>;

    /// The mean of the squares of the positions: [`Ensemble::mean_of_squares`].
    fn mean_of_squares(&self) -> f64
    where
        T: Scalar,
    {
        self.ensemble().mean_of_squares()
    }

    /// The energies of the particles evaluated, in a round of evaluations.
    fn energies(&self, round: usize) -> &[T];

    /// Which particles these are, if not all.
    fn evaluated(&self) -> Option<&[u32]>;

    /// The round of particle batches, from 0, if there are batches.
    fn round_of_batches(&self) -> Option<u64>;

    /// The points that all particles remember, row by row; none if they remember nothing.
    fn remembered_points(&self) -> &[T] {
        &[]
    }

    /// The energies of the points that all particles remember; none if they remember nothing.
    fn remembered(&self) -> &[T];

    /// The same, to be changed between two steps.
    fn remembered_mut(&mut self) -> &mut [T];

    /// Writes down everything that the coming steps depend on.
    fn save(&self, to: &mut Writer);

    /// Writes down the same without the columns of the particles, where ranks can keep those themselves; says where they are missing, and
    /// how many bytes they have.
    fn save_apart(&self, _to: &mut Writer) -> Option<(usize, u64)> {
        None
    }

    /// Restores a run of the same plan, in a step of which this many rounds of energies were told.
    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError>;

    /// Gives the particles and the energies away.
    fn into_parts(self: Box<Self>) -> (Ensemble<T>, Vec<T>);
}

/// The first of some energies that is no value, and its row.
fn first_failure<'a, T: Scalar>(mut rounds: impl Iterator<Item = &'a [T]>) -> Option<(usize, f64)> {
    let failed = |e: &T| e.to_f64().is_nan() || e.to_f64() == f64::NEG_INFINITY;
    rounds.find_map(|energies| energies.iter().position(failed).map(|row| (row, energies[row].to_f64())))
}
