//! Particle batches: a fresh random permutation, cut into pieces; one piece is evaluated per step.

use crate::noise::{Noise, Stream};

/// The particle batches of a run and where in them the run is.
#[derive(Clone, Debug)]
pub struct Batches {
    size: usize,
    order: Vec<u32>,
    /// Rounds begun before the current one; a round uses every particle once.
    round: u64,
    position: usize,
}

impl Batches {
    /// Batches of `size` out of `particles`, the first round drawn.
    pub fn new(seed: u64, particles: usize, size: usize) -> Self {
        let mut batches = Self { size, order: vec![0; particles], round: 0, position: 0 };
        batches.shuffle(seed);
        batches
    }

    /// The batches of a run that is in round `round`, `position` particles into it; `None` where no batch begins there.
    pub fn at(seed: u64, particles: usize, size: usize, round: u64, position: usize) -> Option<Self> {
        let begins = position.is_multiple_of(size) && position.checked_add(size)? <= particles;
        let mut batches = Self { size, order: vec![0; particles], round, position };
        batches.shuffle(seed);
        begins.then_some(batches)
    }

    /// Where in the batches the run is: the round, and the particles used in it.
    pub fn place(&self) -> (u64, usize) {
        (self.round, self.position)
    }

    /// The particles of the current batch.
    pub fn current(&self) -> &[u32] {
        &self.order[self.position..self.position + self.size]
    }

    /// The current round, from 0.
    pub fn round(&self) -> u64 {
        self.round
    }

    /// Goes to the next batch, in a new permutation where the old one is used up.
    pub fn next(&mut self, seed: u64) {
        self.position += self.size;
        if self.position + self.size > self.order.len() {
            self.restart(seed, self.order.len());
        }
    }

    /// Begins a new round among `particles` particles.
    pub(crate) fn restart(&mut self, seed: u64, particles: usize) {
        self.order.truncate(particles);
        (self.round, self.position) = (self.round + 1, 0);
        self.shuffle(seed);
    }

    /// A round's permutation depends on the seed and the round alone.
    fn shuffle(&mut self, seed: u64) {
        Noise::new(seed, Stream::Permutation, self.round).permute(&mut self.order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_uses_every_particle_once_and_rounds_differ() {
        let mut batches = Batches::new(3, 12, 4);
        let mut rounds = Vec::new();
        for round in 0..5 {
            let mut seen = Vec::new();
            for _ in 0..3 {
                assert_eq!(batches.round(), round);
                seen.extend_from_slice(batches.current());
                batches.next(3);
            }
            let mut sorted = seen.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..12).collect::<Vec<u32>>());
            rounds.push(seen);
        }
        assert!(rounds.windows(2).all(|w| w[0] != w[1]));
    }

    #[test]
    fn permutations_are_uniform() {
        // Each of 6 orders of 3 particles: Binomial(6000, 1/6), standard deviation 28.9; five of them.
        let mut counts = std::collections::HashMap::new();
        let mut batches = Batches::new(11, 3, 3);
        for _ in 0..6000 {
            *counts.entry(batches.current().to_vec()).or_insert(0i32) += 1;
            batches.next(11);
        }
        assert_eq!(counts.len(), 6);
        assert!(counts.values().all(|c| (c - 1000).abs() < 145), "{counts:?}");
    }
}
