//! What a rank contributes to a step, and how the contributions of all ranks come together.

use super::block_rows;
use crate::consensus::Partial;
use crate::ensemble::{Ensemble, MomentSums};
use crate::population::Part;
use crate::ranks::{Communicator, Node, Team, Travelling, append_path, join_path, merge_subtrees};
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::sync::Arc;

/// What a rank contributes to a step.
pub(super) struct Contribution<T> {
    pub path: Vec<(Node, Partial)>,
    pub least: f64,
    pub best: Vec<T>,
    pub has_failed: bool,
    pub is_wide: bool,
}

impl<T: Scalar> Contribution<T> {
    fn write(&self) -> Vec<u8> {
        let mut to = Writer::plain();
        to.flag(self.has_failed);
        to.flag(self.is_wide);
        to.numbers(&[self.least]);
        to.numbers(&self.best);
        append_path(&self.path, &mut to);
        to.into_bytes()
    }

    /// What all ranks contribute together, as bytes: to the first along a tree of them, and from there to all.
    pub fn exchanged(self, team: &Team, alpha: f64, dim: usize) -> Vec<u8> {
        let mut all = self;
        team.reduce(&mut all, Self::write, |all, bytes| {
            // The others run the same program.
            all.has_failed |= all.join(alpha, dim, bytes).is_err();
        });
        let mut to = Writer::plain();
        to.flag(all.has_failed);
        to.flag(all.is_wide);
        to.numbers(&all.best);
        merge_subtrees(alpha, all.path).unwrap_or_else(|| Partial::empty(dim)).write(&mut to);
        let mut bytes = to.into_bytes();
        team.broadcast(&mut bytes);
        bytes
    }

    /// Takes in what another rank contributes, whose blocks lie to the right.
    fn join(&mut self, alpha: f64, dim: usize, bytes: &[u8]) -> Result<(), StateError> {
        let mut from = Reader::plain(bytes);
        self.has_failed |= from.flag()?;
        self.is_wide |= from.flag()?;
        let (mut least, mut best) = ([0.0], vec![T::default(); dim]);
        from.numbers(&mut least)?;
        from.numbers(&mut best)?;
        if least[0] < self.least {
            (self.least, self.best) = (least[0], best);
        }
        join_path(alpha, dim, &mut self.path, &mut from);
        Ok(())
    }
}

/// The exchange of a step in `dim` dimensions, to measure what it takes: each rank contributes so many subtrees, and nothing is in them. All
/// ranks must call it. Returns the bytes that a rank sends, and those that it gets.
pub fn rehearse(communicator: &Arc<dyn Communicator>, dim: usize, subtrees: usize) -> (usize, usize) {
    let first = subtrees * communicator.rank();
    // Nodes that do not merge with each other, as at the end of a tree.
    let node = |i: usize| (Node { first: 2 * (first + i) + 1, width: 1 }, Partial::empty(dim));
    let path = (0..subtrees).map(node).collect();
    let mine = Contribution { path, least: f64::INFINITY, best: vec![0.0; dim], has_failed: false, is_wide: false };
    let sent = mine.write().len();
    (sent, mine.exchanged(&Team::new(communicator.clone()), 1.0, dim).len())
}

/// Mean and variance of each coordinate over all ranks, on the first of them; all take part.
pub(crate) fn moments_over<T: Scalar>(team: &Team, ensemble: &Ensemble<T>, part: &Part) -> (Vec<f64>, Vec<f64>) {
    let dim = ensemble.dim();
    let mut bytes = vec![0; 8 * dim];
    let mut to = Writer::plain();
    to.numbers(&ensemble.origin());
    if team.is_first() {
        bytes = to.into_bytes();
    }
    team.broadcast(&mut bytes);
    let mut origin = vec![0.0; dim];
    let _ = Reader::plain(&bytes).numbers(&mut origin);
    let first = part.particles.start / block_rows(dim);
    let merged = team.merge(0.0, dim, ensemble.block_moments(first, &origin));
    let mut to = Writer::plain();
    merged.unwrap_or_else(|| MomentSums::nothing(dim)).write(&mut to);
    let mut bytes = to.into_bytes();
    team.broadcast(&mut bytes);
    let sums = MomentSums::read(dim, &mut Reader::plain(&bytes)).unwrap_or_else(|_| MomentSums::nothing(dim));
    sums.moments(part.all, &origin)
}
