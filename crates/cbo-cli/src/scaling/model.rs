//! The time of a step on many ranks, from that of one and from the network.

use super::measure::{DIM, DIMS, PARTICLES};
use cbo::device::block_rows;
use cbo::ranks::{blocks_of, subtrees};
use serde::Serialize;

/// Ranks for which the table is made.
pub const RANKS: [usize; 4] = [1, 10, 100, 1_000];

/// What lies between ranks.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Network {
    /// Seconds that a message takes, however short.
    pub latency: f64,
    /// Bytes in a second.
    pub bandwidth: f64,
    /// By which part the slowest rank is slower than the mean.
    pub imbalance: f64,
}

/// The model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Seconds of a step for each coordinate of each particle of a rank.
    pub coordinate: f64,
    /// The network.
    pub network: Network,
}

/// One row of the table: a step in `dim` dimensions with as many particles on each rank.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Dimensions.
    pub dim: usize,
    /// Particles on each rank: as many coordinates in each row.
    pub particles: usize,
    /// Ranks.
    pub ranks: usize,
    /// Subtrees that a rank sends at most.
    pub subtrees: usize,
    /// Seconds of computation, of the slowest rank.
    pub compute: f64,
    /// Seconds of exchange.
    pub exchange: f64,
    /// Seconds of one rank alone.
    pub alone: f64,
}

impl Row {
    /// How much of the time of one rank alone it takes.
    pub fn efficiency(&self) -> f64 {
        self.alone / (self.compute + self.exchange)
    }
}

impl Model {
    /// All rows.
    pub fn rows(&self) -> Vec<Row> {
        DIMS.iter().flat_map(|dim| RANKS.map(|ranks| self.row(*dim, ranks))).collect()
    }

    fn row(&self, dim: usize, ranks: usize) -> Row {
        let rows = block_rows(dim);
        let particles = (PARTICLES * DIM / dim).next_multiple_of(rows);
        let blocks = particles / rows * ranks;
        let alone = self.coordinate * (particles * dim) as f64;
        let shares = (0..ranks).map(|rank| blocks_of(rank, ranks, blocks));
        let most = shares.clone().map(|share| share.len()).max().unwrap_or(0) as f64 / (blocks / ranks) as f64;
        let subtrees = shares.map(|share| subtrees(share, blocks).count()).max().unwrap_or(1);
        let Network { latency, bandwidth, imbalance } = self.network;
        // Flags, counters and the best point; and of each subtree the same with its sums.
        let sent = 8.0 * ((3 + dim) + 1 + subtrees * (dim + 10)) as f64;
        let got = 8.0 * (2 + dim + dim + 8) as f64;
        let rounds = (ranks as f64).log2().ceil();
        // Up, down, and what the first rank decides.
        let exchange = rounds * (3.0 * latency + (sent + got) / bandwidth);
        let behind = if ranks > 1 { imbalance } else { 0.0 };
        Row { dim, particles, ranks, subtrees, compute: alone * most * (1.0 + behind), exchange, alone }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_ranks_take_longer_and_one_takes_nothing_more() {
        let network = Network { latency: 2e-6, bandwidth: 1e10, imbalance: 0.02 };
        let rows = Model { coordinate: 1e-9, network }.rows();
        for of_dim in rows.chunks(RANKS.len()) {
            assert_eq!((of_dim[0].exchange, of_dim[0].efficiency()), (0.0, 1.0));
            assert!(of_dim.windows(2).all(|pair| pair[1].exchange > pair[0].exchange), "{of_dim:?}");
            assert!(of_dim.iter().all(|row| row.subtrees <= 14), "{of_dim:?}");
        }
        // 10 rounds of 3 messages of 2 microseconds, and bytes that hardly count.
        assert!((rows[3].exchange - 60e-6).abs() < 20e-6, "{:?}", rows[3]);
    }
}
