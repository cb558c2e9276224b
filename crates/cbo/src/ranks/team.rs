//! What the ranks of a run do together, made of messages.

use super::tree::{Node, Sums, join, merge_subtrees};
use super::{Communicator, tell_all};
use crate::objective::EvalError;
use crate::report::{SolveError, StopReason};
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::ops::Range;
use std::sync::Arc;

/// Cuts of the blocks are multiples of a power of two, so that a range has few subtrees; a rank has room for this many of that power, at
/// least, so that none has much more than its share.
const GRAINS: usize = 64;

/// The ranks of a run, seen from one of them.
#[derive(Clone, Debug)]
pub(crate) struct Team(Arc<dyn Communicator>);

/// What the first rank asks of the others between two steps, while its observers look at the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Request {
    /// Nothing more: the run goes on, or ends.
    Done(Option<StopReason>),
    /// Whether the swarm is narrower than this.
    Narrow(f64),
    /// The sums for mean and variance.
    Moments,
    /// All positions.
    Positions,
    /// The energies of a round.
    Energies(usize),
    /// Everything that the coming steps depend on.
    State,
    /// An answer of the observer; the question follows.
    Question,
    /// The positions of so many particles, the first of the run.
    First(usize),
}

const REASONS: [StopReason; 9] = [
    StopReason::Steps,
    StopReason::Evaluations,
    StopReason::Seconds,
    StopReason::Target,
    StopReason::Diameter,
    StopReason::Stagnation,
    StopReason::Observer,
    StopReason::Failed,
    StopReason::Converged,
];

impl Request {
    fn to_words(self) -> [u64; 2] {
        match self {
            Self::Done(reason) => {
                [0, reason.and_then(|r| REASONS.iter().position(|other| *other == r)).map_or(0, |i| i as u64 + 1)]
            }
            Self::Narrow(limit) => [1, limit.to_bits()],
            Self::Moments => [2, 0],
            Self::Positions => [3, 0],
            Self::Energies(round) => [4, round as u64],
            Self::State => [5, 0],
            Self::Question => [6, 0],
            Self::First(count) => [7, count as u64],
        }
    }

    fn from_words([kind, detail]: [u64; 2]) -> Self {
        match kind {
            1 => Self::Narrow(f64::from_bits(detail)),
            2 => Self::Moments,
            3 => Self::Positions,
            4 => Self::Energies(detail as usize),
            5 => Self::State,
            6 => Self::Question,
            7 => Self::First(detail as usize),
            _ => Self::Done(detail.checked_sub(1).and_then(|i| REASONS.get(i as usize)).copied()),
        }
    }
}

/// Sums that travel between ranks.
pub(crate) trait Travelling: Sums + Sized {
    fn write(&self, to: &mut Writer);
    /// Sums of points of so many coordinates.
    fn read(dim: usize, from: &mut Reader<'_>) -> Result<Self, StateError>;
}

/// Where the block `rank * blocks / size` is, moved a little to where the tree has a large node.
fn cut(rank: usize, size: usize, blocks: usize) -> usize {
    if rank >= size {
        return blocks;
    }
    let grain = (blocks / (size * GRAINS)).max(1);
    let grain = 1 << grain.ilog2();
    // Rounded up, so that the first rank has the first block.
    let exact = (blocks as u128 * rank as u128).div_ceil(size as u128) as usize;
    ((exact + grain / 2) / grain * grain).min(blocks)
}

/// Which of `blocks` blocks a rank has.
pub fn blocks_of(rank: usize, size: usize, blocks: usize) -> Range<usize> {
    cut(rank, size, blocks)..cut(rank + 1, size, blocks)
}

impl Team {
    pub fn new(communicator: Arc<dyn Communicator>) -> Self {
        Self(communicator)
    }

    pub fn is_first(&self) -> bool {
        self.0.rank() == 0
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    /// The blocks of this rank.
    pub fn blocks(&self, blocks: usize) -> Range<usize> {
        blocks_of(self.0.rank(), self.size(), blocks)
    }

    /// Which of `count` things in blocks of `rows` are this rank's.
    pub fn share(&self, count: usize, rows: usize) -> Range<usize> {
        let blocks = self.blocks(count.div_ceil(rows));
        (blocks.start * rows).min(count)..(blocks.end * rows).min(count)
    }

    /// Whose such a thing is: the ends of the shares of all ranks, in order.
    pub fn ends(&self, count: usize, rows: usize) -> Vec<usize> {
        let blocks = count.div_ceil(rows);
        (1..=self.size()).map(|rank| (cut(rank, self.size(), blocks) * rows).min(count)).collect()
    }

    /// What each rank has for each other: `to[r]` goes to rank r. Returns what came from each.
    pub fn exchange(&self, mut to: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        let (rank, size) = (self.0.rank(), self.size());
        let mut from = vec![Vec::new(); size];
        from[rank] = std::mem::take(&mut to[rank]);
        for offset in 1..size {
            let (next, before) = ((rank + offset) % size, (rank + size - offset) % size);
            from[before] = self.0.swap(next, &to[next], before);
        }
        from
    }

    /// What each rank has, one after the other, at the first; nothing elsewhere.
    pub fn gather(&self, mine: Vec<u8>) -> Vec<Vec<u8>> {
        if !self.is_first() {
            self.0.send(0, &mine);
            return Vec::new();
        }
        std::iter::once(mine).chain((1..self.size()).map(|rank| self.0.receive(rank))).collect()
    }

    /// The numbers of all ranks, one after the other, on all of them.
    pub fn all_numbers<T: Scalar>(&self, numbers: &[T]) -> Vec<T> {
        let mut to = Writer::plain();
        to.numbers(numbers);
        let all = self.broadcast_all(self.gather(to.into_bytes()).concat());
        Reader::plain(&all).many(all.len() / size_of::<T>()).unwrap_or_default()
    }

    /// The bytes of the first rank, of which the others have as many.
    pub fn broadcast(&self, bytes: &mut [u8]) {
        self.0.broadcast(bytes);
    }

    /// The same where the others do not know how many there are.
    pub fn broadcast_all(&self, bytes: Vec<u8>) -> Vec<u8> {
        tell_all(&*self.0, bytes)
    }

    /// Tells the others what is asked of them; to be called by the first rank.
    pub fn ask(&self, request: Request) {
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&request.to_words().map(u64::to_le_bytes).concat());
        self.0.broadcast(&mut bytes);
    }

    /// What the first rank asks.
    pub fn asked(&self) -> Request {
        let mut bytes = [0; 16];
        self.0.broadcast(&mut bytes);
        let (words, _) = bytes.as_chunks::<8>();
        Request::from_words([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    /// Brings what the ranks have to the first, along a binary tree over them: a rank hands on what it has `joined` from those to its
    /// right. Returns whether this is where it all is.
    pub fn reduce<M>(
        &self,
        mine: &mut M,
        write: impl Fn(&M) -> Vec<u8>,
        mut joined: impl FnMut(&mut M, &[u8]),
    ) -> bool {
        let (rank, size) = (self.0.rank(), self.size());
        let mut distance = 1;
        while distance < size {
            if rank & distance != 0 {
                self.0.send(rank - distance, &write(mine));
                return false;
            }
            if rank + distance < size {
                joined(mine, &self.0.receive(rank + distance));
            }
            distance *= 2;
        }
        true
    }

    /// Merges the sums of all ranks' subtrees, which are returned at the first rank.
    pub fn merge<S: Travelling>(&self, alpha: f64, dim: usize, mut path: Vec<(Node, S)>) -> Option<S> {
        let write = |path: &Vec<(Node, S)>| {
            let mut to = Writer::plain();
            append_path(path, &mut to);
            to.into_bytes()
        };
        let all = self.reduce(&mut path, write, |path, bytes| join_path(alpha, dim, path, &mut Reader::plain(bytes)));
        all.then(|| merge_subtrees(alpha, path)).flatten()
    }

    /// Whether it holds on all ranks; on the first alone this is the answer.
    pub fn all(&self, holds: bool) -> bool {
        let mut holds = holds;
        self.reduce(&mut holds, |holds| vec![u8::from(*holds)], |holds, bytes| *holds &= bytes == [1]);
        holds
    }

    /// Begins on all ranks or on none.
    pub fn begin_together<R>(&self, begun: Result<R, SolveError>) -> Result<R, SolveError> {
        let said = begun.as_ref().err().map(|error| EvalError::new(error.to_string()));
        let mut fine = [u8::from(self.all(said.is_none()))];
        self.broadcast(&mut fine);
        if fine == [1] {
            return begun;
        }
        let first = self.first_error(said);
        Err(begun.err().unwrap_or_else(|| SolveError::Ranks { message: first.message }))
    }

    /// Of rows that some ranks have, that of the last one; no numbers if none has any.
    pub fn last_row<T: Scalar>(&self, row: &[T], dim: usize) -> Vec<T> {
        let mut to = Writer::plain();
        to.numbers(row);
        let all = self.gather(to.into_bytes());
        let last = all.into_iter().rev().find(|bytes| !bytes.is_empty()).unwrap_or_default();
        let last = self.broadcast_all(last);
        Reader::plain(&last).many(dim).unwrap_or_default()
    }

    /// What the first rank decides from the numbers of all ranks, one after the other.
    pub fn first_decides(&self, numbers: &[f64], decide: impl FnOnce(&[f64]) -> f64) -> f64 {
        let mut to = Writer::plain();
        to.numbers(numbers);
        let all = self.gather(to.into_bytes());
        let mut decided = [0; 8];
        if self.is_first() {
            let read = |bytes: &Vec<u8>| Reader::plain(bytes).many::<f64>(bytes.len() / 8).unwrap_or_default();
            decided = decide(&all.iter().flat_map(read).collect::<Vec<f64>>()).to_le_bytes();
        }
        self.broadcast(&mut decided);
        f64::from_le_bytes(decided)
    }

    /// Fails on all ranks if something failed on one.
    pub fn agree<R>(&self, outcome: Result<R, EvalError>) -> Result<R, EvalError> {
        let mut fine = [u8::from(self.all(outcome.is_ok()))];
        self.broadcast(&mut fine);
        if fine == [1] { outcome } else { Err(self.first_error(outcome.err())) }
    }

    /// The error of the first rank that has one, on all of them; to be called when one has.
    pub fn first_error(&self, mine: Option<EvalError>) -> EvalError {
        let mut to = Writer::plain();
        if let Some(error) = &mine {
            to.count(error.row.map_or(usize::MAX, |row| row));
            to.append(words(error).as_bytes());
        }
        let all = self.gather(to.into_bytes());
        let first = all.into_iter().find(|bytes| !bytes.is_empty()).unwrap_or_default();
        let first = self.broadcast_all(first);
        if let Some(mine) = mine.filter(|_| self.is_first()) {
            return mine; // with its cause
        }
        let mut from = Reader::plain(&first);
        let row = from.count().ok().filter(|row| *row != usize::MAX);
        EvalError { message: from.text(), row, source: None }
    }
}

/// An error and its causes in one sentence.
pub(in crate::ranks) fn words(error: &EvalError) -> String {
    let mut words = error.message.clone();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        words = format!("{words}: {cause}");
        source = cause.source();
    }
    words
}

/// Writes subtrees down.
pub(crate) fn append_path<S: Travelling>(path: &[(Node, S)], to: &mut Writer) {
    to.count(path.len());
    for (node, sums) in path {
        to.count(node.first);
        to.count(node.width);
        sums.write(to);
    }
}

/// Joins the subtrees that another rank sent, which lie to the right.
pub(crate) fn join_path<S: Travelling>(alpha: f64, dim: usize, path: &mut Vec<(Node, S)>, from: &mut Reader<'_>) {
    let count = from.count().unwrap_or(0);
    for _ in 0..count {
        let read = |from: &mut Reader<'_>| {
            let node = Node { first: from.count()?, width: from.count()? };
            Ok::<_, StateError>((node, S::read(dim, from)?))
        };
        // All ranks run the same program, which wrote them.
        let Ok((node, sums)) = read(from) else { return };
        join(alpha, path, node, sums);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_cover_everything_once_and_are_nearly_equal() {
        for size in 1..40 {
            for blocks in (0..300).chain([1000, 12_345, 1 << 20]) {
                let ends: Vec<usize> = (0..=size).map(|rank| cut(rank, size, blocks)).collect();
                assert!(ends[0] == 0 && ends[size] == blocks && ends.is_sorted(), "{size} ranks, {blocks} blocks");
                let most = ends.windows(2).map(|w| w[1] - w[0]).max().unwrap_or(0);
                let fair = blocks as f64 / size as f64;
                assert!(most as f64 <= (fair * (1.0 + 1.0 / 64.0)).max(fair + 1.0), "{size} ranks, {blocks}: {most}");
            }
        }
    }

    #[test]
    fn requests_arrive_as_they_were() {
        let mut all = vec![Request::Narrow(-0.5), Request::Moments, Request::Positions, Request::Energies(1)];
        all.extend([Request::State, Request::Question, Request::First(9)]);
        all.extend([None].into_iter().chain(REASONS.map(Some)).map(Request::Done));
        for request in all {
            assert_eq!(Request::from_words(request.to_words()), request);
        }
    }
}
