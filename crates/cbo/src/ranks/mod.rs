//! One run over several ranks: processes, on one machine or on many, that work on it together.
//!
//! Sums of blocks of particles merge along a fixed tree ([`merge_range`], [`merge_subtrees`]), so that the bits of a run do not depend on
//! how its blocks are spread. Who carries messages between ranks is a [`Communicator`]: the crate `cbo-mpi` has one, and [`in_threads`]
//! another, for tests and for simulations of many ranks in one process.
//!
//! There are two ways to spread a run:
//!
//! - its particles ([`Particles`]): each rank holds, moves and evaluates its own blocks, and a step exchanges sums alone. For swarms that
//!   outgrow a machine, and objectives that take microseconds.
//! - its evaluations ([`farm`]): the first rank holds the run and hands out the points of a step. For objectives that take long, and for
//!   all methods.
//!
//! ```
//! use cbo::ranks::{Particles, in_threads, solve_on};
//! use cbo::{CboConfig, from_fn, solve};
//!
//! let sphere = from_fn(16, |x: &[f64]| x.iter().map(|v| v * v).sum());
//! let config = CboConfig { particles: 1000, steps: Some(10), ..CboConfig::default() };
//! let alone = solve(&config, &sphere, &mut ())?;
//! let ranks = in_threads(3, |rank| solve_on(&Particles::new(rank), &config, &sphere, &mut ()));
//! for run in ranks {
//!     assert_eq!(run?.best(), alone.best());
//! }
//! # Ok::<(), cbo::SolveError>(())
//! ```

mod check;
pub mod farm;
mod here;
mod team;
mod threads;
mod tree;

pub use crate::backend::{Particles, rehearse};
pub use crate::device::{resume_on, solve_on};
pub use crate::state::apart::{Columns, is_apart, join_state};
pub use check::{Disagreement, agree_on};
pub use here::{Answering, Here};
pub use team::blocks_of;
pub(crate) use team::{Request, Team, Travelling, append_path, join_path};
pub use threads::{InThreads, in_threads};
pub use tree::{Node, Sums, join, merge_range, merge_subtrees, subtrees};

use std::fmt::Debug;

/// Carries messages between the ranks of a run. Messages from one rank to another arrive in their order.
///
/// A communicator does not fail: where a rank is gone, the launcher ends all others.
pub trait Communicator: Send + Sync + Debug {
    /// Which rank this is, from 0.
    fn rank(&self) -> usize;
    /// How many there are.
    fn size(&self) -> usize;
    /// Sends a message that [`receive`](Self::receive) of the other rank waits for.
    fn send(&self, to: usize, bytes: &[u8]);
    /// The next message that a rank sends here.
    fn receive(&self, from: usize) -> Vec<u8>;
    /// Sends and receives, such that a ring of ranks that all do so does not wait for itself.
    fn swap(&self, to: usize, bytes: &[u8], from: usize) -> Vec<u8>;
    /// Hands the bytes of rank 0 to all, who have as many.
    fn broadcast(&self, bytes: &mut [u8]);
    /// Sends a message that [`poll`](Self::poll) of the other rank may find, apart from those that are waited for.
    fn post(&self, to: usize, bytes: &[u8]);
    /// Such a message from any rank, if there is one.
    fn poll(&self) -> Option<(usize, Vec<u8>)>;
}

/// Hands the bytes of rank 0 to all, who need not know how many they are; to be called by all.
pub fn tell_all(communicator: &dyn Communicator, mut bytes: Vec<u8>) -> Vec<u8> {
    let mut length = (bytes.len() as u64).to_le_bytes();
    communicator.broadcast(&mut length);
    bytes.resize(u64::from_le_bytes(length) as usize, 0);
    communicator.broadcast(&mut bytes);
    bytes
}
