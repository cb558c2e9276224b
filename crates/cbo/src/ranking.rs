//! Weights by rank: what counts is the order of the energies, not their sizes.

use crate::simd::Scalar;

/// The ranks of some energies as weights, and memory to find them.
#[derive(Debug, Default)]
pub(crate) struct Ranking {
    order: Vec<u32>,
    weights: Vec<f64>,
}

impl Ranking {
    /// Room for this many energies.
    pub fn with_room(count: usize) -> Self {
        Self { order: Vec::with_capacity(count), weights: Vec::with_capacity(count) }
    }

    /// Of n finite energies that of rank r, from 0 for the least, gets the weight `(n - 1) / 2 - r`: half of the weights are positive, the
    /// others their negatives, and all are multiples of 1/2, so that their sums are exact. Equal energies share the mean of their weights;
    /// energies that are not finite get none.
    pub fn weights<T: Scalar>(&mut self, energies: &[T]) -> &[f64] {
        let Self { order, weights } = self;
        weights.clear();
        weights.resize(energies.len(), 0.0);
        order.clear();
        let finite = (0..energies.len() as u32).filter(|&i| energies[i as usize].to_f64().is_finite());
        order.extend(finite);
        let energy = |i: u32| energies[i as usize].to_f64();
        order.sort_unstable_by(|&a, &b| energy(a).total_cmp(&energy(b)));
        let middle = 0.5 * order.len().saturating_sub(1) as f64;
        let mut first = 0;
        for tied in order.chunk_by(|&a, &b| energy(a) == energy(b)) {
            let rank = first as f64 + 0.5 * (tied.len() - 1) as f64;
            tied.iter().for_each(|&i| weights[i as usize] = middle - rank);
            first += tied.len();
        }
        weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_energy_has_the_greatest_weight() {
        let mut ranking = Ranking::with_room(5);
        assert_eq!(ranking.weights(&[3.0, -1.0, 7.0, 0.0]), [-0.5, 1.5, -1.5, 0.5]);
        assert_eq!(ranking.weights(&[2.0f32, 1.0, 3.0]), [0.0, 1.0, -1.0]);
        assert_eq!(ranking.weights(&[5.0]), [0.0]);
        assert!(ranking.weights::<f64>(&[]).is_empty());
    }

    #[test]
    fn ties_share_and_failures_count_nowhere() {
        let mut ranking = Ranking::default();
        assert_eq!(ranking.weights(&[4.0, 4.0, 4.0]), [0.0; 3]);
        assert_eq!(ranking.weights(&[1.0, 2.0, 2.0, 9.0]), [1.5, 0.0, 0.0, -1.5]);
        assert_eq!(ranking.weights(&[0.0, -0.0, 1.0]), [0.5, 0.5, -1.0]);
        let failed = [f64::NAN, 1.0, f64::INFINITY, 0.0, f64::NEG_INFINITY];
        assert_eq!(ranking.weights(&failed), [0.0, -0.5, 0.0, 0.5, 0.0]);
        assert_eq!(ranking.weights(&[f64::NAN, f64::INFINITY]), [0.0; 2]);
    }
}
