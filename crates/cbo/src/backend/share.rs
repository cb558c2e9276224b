//! A rank's share of the particles of a run: who holds it, and which part of the run it is.

use super::{Backend, block_rows};
use crate::config::Plan;
use crate::consensus::alpha_for_sample_size;
use crate::ensemble::Extent;
use crate::objective::{EvalError, Grouping};
use crate::population::{Keeps, Part};
use crate::ranks::{Communicator, Team};
use crate::report::SolveError;
use crate::simd::Scalar;
use crate::state::Writer;
use std::ops::Range;
use std::sync::Arc;

/// The particles of a rank, wherever they are held. As a [`Backend`] it speaks of these alone: rows, energies and the places of both count
/// from the first that is here. Sums have the numbers that particles have in the run.
pub trait Share<T: Scalar>: Backend<T> {
    /// Of how many neighbouring blocks each of the [sums](Backend::sums) is: a power of two, up to the [grain](Seat::grain) of its seat.
    fn grain(&self) -> usize {
        1
    }

    /// Which part of the run is here.
    fn part(&self) -> &Part;

    /// How far its particles extend; `None` if it has none.
    fn extent(&self) -> Option<Extent<T>>;

    /// The columns as they are saved, one after the other: positions, energies, two rows that a method keeps, and the energies of the
    /// first of those. Those that the method does not keep are empty.
    fn columns(&self) -> [&[T]; 5];

    /// What is saved after them.
    fn save_rest(&self, to: &mut Writer);
}

/// What is here of the columns, with its place in bytes among those of all ranks, and how many bytes those have.
pub(super) fn pieces<'a, T: Scalar>(
    part: &Part,
    dim: usize,
    keeps: Keeps,
    columns: [&'a [T]; 5],
) -> (Vec<(u64, &'a [T])>, u64) {
    let Part { particles, all, places, .. } = part;
    let (row, rows) = (particles.start * dim, all * dim);
    let if_kept = |number: usize| if keeps.rows > number { rows } else { 0 };
    let remembered = if keeps.remembered { *all } else { 0 };
    let starts = [row, places.start, row, row, particles.start];
    let lengths = [rows, part.asked(), if_kept(0), if_kept(1), remembered];
    let (mut pieces, mut before) = (Vec::new(), 0);
    for ((here, start), length) in columns.into_iter().zip(starts).zip(lengths) {
        if !here.is_empty() {
            pieces.push(((size_of::<T>() * (before + start)) as u64, here));
        }
        before += length;
    }
    (pieces, (size_of::<T>() * before) as u64)
}

/// Where a rank sits in a run whose particles are spread: which of them are its own, and the others to talk to.
#[derive(Clone, Debug)]
pub struct Seat {
    pub(super) team: Team,
    part: Part,
    blocks: Range<usize>,
    all_blocks: usize,
    /// Whether the first rank is to have all particles at the end.
    pub(super) whole: bool,
}

impl Seat {
    pub(super) fn new(plan: &Plan, communicator: Arc<dyn Communicator>, whole: bool) -> Self {
        let (team, rows, config) = (Team::new(communicator), block_rows(plan.dim()), plan.config());
        let part = Part::of(Some(&team), config.particles, config.batch, rows);
        let all_blocks = config.particles.div_ceil(rows);
        Self { part, blocks: team.blocks(all_blocks), all_blocks, team, whole }
    }

    /// Which part of the run is here at its beginning.
    pub fn part(&self) -> &Part {
        &self.part
    }

    /// How many neighbouring blocks from the first one here, and from each that many further on, are a subtree of the tree of all blocks:
    /// a power of two. What lacks at the end of the run does not count.
    pub fn grain(&self) -> usize {
        let Range { start, end } = self.blocks;
        let at_end = if end == self.all_blocks { 0 } else { end };
        // Zero is a multiple of all.
        let divides = (start | at_end).trailing_zeros().min(self.all_blocks.next_power_of_two().trailing_zeros());
        1 << divides
    }

    /// Begins on all ranks or on none: to be called by all of them.
    pub fn begin_together<R>(&self, begun: Result<R, SolveError>) -> Result<R, SolveError> {
        self.team.begin_together(begun)
    }

    /// Fails on all ranks if something failed on one: to be called by all of them.
    pub fn agree<R>(&self, outcome: Result<R, EvalError>) -> Result<R, EvalError> {
        self.team.agree(outcome)
    }

    /// The same particles as the processor has them; to be called by all ranks.
    pub fn on_processor<T: Scalar>(&self, plan: &Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
        Ok(T::on_cpu(plan, Grouping::Blocks, Some(self))?)
    }

    /// The alpha at which the weights of the energies of all ranks, of which these are here, have an effective sample size of `fraction`; to be
    /// called by all of them. None of the energies is infinite or NaN.
    pub fn alpha_for(&self, fraction: f64, energies: &[f64]) -> f64 {
        self.team.first_decides(energies, |all| alpha_for_sample_size(fraction, all))
    }

    /// The numbers of all ranks, one after the other; to be called by all of them.
    pub fn all_numbers<T: Scalar>(&self, numbers: &[T]) -> Vec<T> {
        self.team.all_numbers(numbers)
    }

    /// The run, of which this is the share that is here.
    pub fn spread<T: Scalar>(self, plan: &Plan, share: Box<dyn Share<T>>) -> Box<dyn Backend<T>> {
        T::over_ranks(plan, self, share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CboConfig;
    use crate::ranks::{in_threads, subtrees};

    /// Sums of grains are those of nodes of the tree: ranges have the subtrees that they have block by block, and few grains.
    #[test]
    fn grains_are_subtrees() {
        for particles in [1usize, 64, 65, 1000, 2048, 4096, 5000, 64 * 700, 64 * 1024, 64 * 3001] {
            for size in 1..6 {
                let plan = CboConfig { particles, ..CboConfig::default() }.check(200).expect("settings");
                let seats = in_threads(size, |rank| Seat::new(&plan, rank, false));
                for seat in seats.iter().filter(|seat| !seat.blocks.is_empty()) {
                    let (Seat { blocks, all_blocks, .. }, grain) = (seat, seat.grain());
                    assert!(blocks.start.is_multiple_of(grain));
                    assert!(blocks.end.is_multiple_of(grain) || blocks.end == *all_blocks);
                    assert!(blocks.len().div_ceil(grain) <= 132, "{particles} on {size}: {blocks:?} by {grain}");
                    let coarse = blocks.start / grain..blocks.end.div_ceil(grain);
                    let fine: Vec<usize> = subtrees(blocks.clone(), *all_blocks).map(|node| node.first).collect();
                    let nodes = subtrees(coarse, all_blocks.div_ceil(grain));
                    assert_eq!(nodes.map(|node| node.first * grain).collect::<Vec<_>>(), fine);
                }
            }
        }
    }
}
