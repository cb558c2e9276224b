//! The tree along which the sums of blocks merge, over however many machines the blocks are spread.
//!
//! Blocks of particles have a global index. Their sums merge along a fixed binary tree over it: a node of width w holds the blocks
//! `i w .. (i + 1) w`, and is its left half merged with its right half; a half without blocks adds nothing. Floating-point sums depend on
//! their order, and the tree fixes it: a machine that holds a range of the blocks merges the whole subtrees in it ([`merge_range`]), at
//! most 2 log2(blocks) of them, and whoever has the subtrees of all ranges gets the same bits ([`merge_subtrees`]) as one machine alone.

use crate::consensus::Partial;
use std::ops::Range;

/// Sums of blocks that merge.
pub trait Sums {
    /// Adds what `other` contributes, under weights of this alpha if there are any.
    fn add(&mut self, alpha: f64, other: &Self);
}

impl Sums for Partial {
    fn add(&mut self, alpha: f64, other: &Self) {
        self.merge(alpha, other);
    }
}

/// A node of the tree, by the blocks that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its first block, a multiple of the width.
    pub first: usize,
    /// How many blocks it has room for, a power of two.
    pub width: usize,
}

/// Merges `sums`, those of the blocks in `range` out of `blocks` in all, as far as the tree allows without the others. The merged sums of
/// the [`subtrees`] are then in the places of their first blocks.
pub fn merge_range(alpha: f64, range: Range<usize>, blocks: usize, sums: &mut [Partial]) {
    for node in subtrees(range.clone(), blocks) {
        let end = (node.first + node.width).min(range.end);
        merge_node(alpha, node.width, &mut sums[node.first - range.start..end - range.start]);
    }
}

/// Merges the sums of a node's blocks into the first: those of the left half, of the right half, and then both.
fn merge_node(alpha: f64, width: usize, sums: &mut [Partial]) {
    let half = width / 2;
    if sums.len() > half && half > 0 {
        let (left, right) = sums.split_at_mut(half);
        merge_node(alpha, half, left);
        merge_node(alpha, half, right);
        left[0].merge(alpha, &right[0]);
    } else if half > 0 {
        merge_node(alpha, half, sums);
    }
}

/// The largest nodes of the tree over `blocks` blocks whose blocks all lie in `range`, from left to right.
pub fn subtrees(range: Range<usize>, blocks: usize) -> impl Iterator<Item = Node> {
    let mut first = range.start;
    std::iter::from_fn(move || {
        if first >= range.end {
            return None;
        }
        let fits = |width: usize| first.is_multiple_of(width) && (first + width).min(blocks) <= range.end;
        let mut width = 1;
        while first + width < range.end && fits(2 * width) {
            width *= 2;
        }
        let node = Node { first, width };
        first += width;
        Some(node)
    })
}

/// Adds a node at the right end of a range of the tree, and merges what that makes whole. Returns sums that are no longer needed, if there
/// are any: their memory may be.
pub fn join<S: Sums>(alpha: f64, path: &mut Vec<(Node, S)>, node: Node, sums: S) -> Option<S> {
    path.push((node, sums));
    let mut spare = None;
    while let [.., (left, _), (right, _)] = path[..]
        && left.width == right.width
        && left.first.is_multiple_of(2 * left.width)
    {
        spare = merge_last(alpha, path);
    }
    spare
}

/// Merges the subtrees of all ranges, given from left to right, into one; `None` if there are none.
pub fn merge_subtrees<S: Sums>(alpha: f64, all: impl IntoIterator<Item = (Node, S)>) -> Option<S> {
    let mut path: Vec<(Node, S)> = Vec::new();
    for (node, sums) in all {
        join(alpha, &mut path, node, sums);
    }
    // What is left lacks right halves, or lies in one.
    while path.len() > 1 {
        merge_last(alpha, &mut path);
    }
    path.pop().map(|(_, sums)| sums)
}

/// Merges the last two, and returns the memory of the second.
fn merge_last<S: Sums>(alpha: f64, path: &mut Vec<(Node, S)>) -> Option<S> {
    let (_, right) = path.pop()?;
    let (node, left) = path.last_mut()?;
    left.add(alpha, &right);
    node.width *= 2;
    Some(right)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, Stream};

    const ALPHA: f64 = 3.0;

    /// Sums of `blocks` blocks whose order of merging shows in the last bits; some have no finite energy.
    fn sums(blocks: usize) -> Vec<Partial> {
        let noise = Noise::new(5, Stream::Problem, blocks as u64);
        let block = |b: usize| {
            let [least, mass, x, y] = noise.uniforms(b as u32, 0);
            let mut partial = Partial::empty(2);
            partial.failed = b as u64;
            if x > 0.1 {
                (partial.least, partial.particle, partial.shift) = (least, b, least);
                (partial.mass, partial.mass_of_squares, partial.moment) = (1.0 + mass, 1.0 + mass * mass, vec![x, -y]);
            }
            partial
        };
        (0..blocks).map(block).collect()
    }

    /// The tree, written down as it is defined.
    fn tree(node: Node, sums: &[Partial]) -> Option<Partial> {
        if node.first >= sums.len() {
            return None;
        }
        if node.width == 1 {
            return Some(sums[node.first].clone());
        }
        let half = node.width / 2;
        let left = tree(Node { first: node.first, width: half }, sums);
        match (left, tree(Node { first: node.first + half, width: half }, sums)) {
            (Some(mut left), Some(right)) => {
                left.merge(ALPHA, &right);
                Some(left)
            }
            (left, _) => left,
        }
    }

    /// The sums of ranges that end at `ends`, each merged by itself and then together.
    fn cut(ends: &[usize], all: &[Partial]) -> Partial {
        let mut sent = Vec::new();
        let mut start = 0;
        for &end in ends {
            let mut own = all[start..end].to_vec();
            merge_range(ALPHA, start..end, all.len(), &mut own);
            let nodes: Vec<Node> = subtrees(start..end, all.len()).collect();
            let most = 2 * usize::BITS - 2 * all.len().leading_zeros();
            assert!(nodes.len() <= most.max(1) as usize, "{start}..{end} of {}: {nodes:?}", all.len());
            sent.extend(nodes.into_iter().map(|node| (node, own[node.first - start].clone())));
            start = end;
        }
        merge_subtrees(ALPHA, sent).expect("blocks")
    }

    #[test]
    fn every_cut_into_ranges_gives_the_bits_of_the_tree() {
        for blocks in 1..=200usize {
            let all = sums(blocks);
            let whole = tree(Node { first: 0, width: blocks.next_power_of_two() }, &all).expect("a block");
            let mut alone = all.clone();
            merge_range(ALPHA, 0..blocks, blocks, &mut alone);
            assert_eq!(alone[0], whole, "{blocks} blocks");
            assert_eq!(cut(&(1..=blocks).collect::<Vec<_>>(), &all), whole, "{blocks} blocks, one by one");
            for first in 1..blocks {
                assert_eq!(cut(&[first, blocks], &all), whole, "{blocks} blocks, cut at {first}");
                for second in (first + 1..blocks).step_by(1 + blocks / 40) {
                    assert_eq!(cut(&[first, second, blocks], &all), whole, "{blocks} blocks, cut at {first}, {second}");
                }
            }
            let noise = Noise::new(6, Stream::Problem, 0);
            for try_ in 0..20 {
                let ends = (1..blocks).filter(|&b| noise.below(b as u32, 1 << 40) >> try_ & 1 == 1).chain([blocks]);
                assert_eq!(cut(&ends.collect::<Vec<_>>(), &all), whole, "{blocks} blocks, cut at random, {try_}");
            }
        }
    }

    #[test]
    fn every_cut_of_few_blocks_without_exception() {
        for blocks in 1..=12usize {
            let all = sums(blocks);
            let whole = tree(Node { first: 0, width: blocks.next_power_of_two() }, &all).expect("a block");
            for cuts in 0..1usize << (blocks - 1) {
                let ends = (1..blocks).filter(|b| cuts >> (b - 1) & 1 == 1).chain([blocks]);
                assert_eq!(cut(&ends.collect::<Vec<_>>(), &all), whole, "{blocks} blocks, {cuts:b}");
            }
        }
    }

    #[test]
    fn the_order_of_merging_shows() {
        let all = sums(100);
        let mut fold = Partial::empty(2);
        all.iter().for_each(|sums| fold.merge(ALPHA, sums));
        assert_ne!(fold, cut(&[100], &all));
    }
}
