//! The seam for devices: what a backend in another crate is made of, and how a run is put on it.
//!
//! Not for users, and free to change: `cbo-cuda` is its one user.

pub use crate::backend::{Backend, block_rows};
pub use crate::batch::Batches;
pub use crate::method::Move;
pub use crate::schedule::Weighing;
pub use crate::state::{Reader, Writer};

use crate::config::Settings;
use crate::consensus::{Partial, alpha_for_sample_size, weights_of};
use crate::objective::{Grouping, Objective};
use crate::observer::Observer;
use crate::ranking::Ranking;
use crate::report::{RunReport, SolveError};
use crate::simd::Scalar;
use crate::state::StateError;

/// Where runs can be held besides in this machine's memory.
pub trait Device<T>: Sync {
    /// The particles of a run at time 0, to be moved and evaluated there; or why that cannot be.
    fn begin(&self, plan: &crate::Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError>;
}

/// Where a run is held.
pub(crate) enum Place<'a, T> {
    /// By this machine's processor.
    Processor,
    /// By a device, which compiles the objective.
    Device(&'a dyn Device<T>, &'a dyn Objective<T>),
}

impl<'a, T: Scalar> Place<'a, T> {
    pub fn of(device: Option<&'a dyn Device<T>>, objective: &'a dyn Objective<T>) -> Self {
        device.map_or(Self::Processor, |device| Self::Device(device, objective))
    }
}

/// [`solve`](crate::solve) on a device.
pub fn solve_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
) -> Result<RunReport<T>, SolveError> {
    T::solve(&settings.plan(objective.dim())?, objective, observer, Some(device))
}

/// [`resume`](crate::resume) on a device.
pub fn resume_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    T::resume(&settings.plan(objective.dim()).map_err(SolveError::from)?, objective, observer, Some(device), state)
}

/// The particles of a run at time 0 in this machine's memory: where a device has them from.
pub fn on_processor<T: Scalar>(plan: &crate::Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
    T::on_cpu(plan, Grouping::Blocks)
}

/// Weighs the particles of a step whose energies are known, for a device that has their positions.
#[derive(Debug, Default)]
pub struct Weigher {
    ranking: Ranking,
    energies: Vec<f64>,
    weights: Vec<f64>,
}

impl Weigher {
    /// Writes all sums of blocks of `rows` particles but the moments. Returns the alpha of the weights, and the weights, from which the
    /// device makes the moments: in each block and coordinate the sum of weight times position, particle by particle, without those of
    /// weight zero.
    pub fn weigh<T: Scalar>(
        &mut self,
        weighing: Weighing,
        energies: &[T],
        rows: usize,
        sums: &mut [Partial],
    ) -> (f64, &[f64]) {
        let Self { ranking, energies: doubles, weights } = self;
        doubles.clear();
        doubles.extend(energies.iter().map(|e| e.to_f64()));
        for ((block, sums), energies) in sums.iter_mut().enumerate().zip(doubles.chunks(rows)) {
            sums.survey(block * rows, 0, energies);
        }
        let alpha = match weighing {
            Weighing::Alpha(alpha) => alpha,
            Weighing::SampleSize(fraction) => {
                let finite: Vec<f64> = doubles.iter().copied().filter(|e| e.is_finite()).collect();
                alpha_for_sample_size(fraction, &finite)
            }
            Weighing::Ranks => {
                let weights = ranking.weights(energies);
                sums.iter_mut().zip(weights.chunks(rows)).for_each(|(sums, weights)| sums.masses_by(weights));
                return (f64::NAN, weights);
            }
        };
        weights.clear();
        weights.resize(doubles.len(), 0.0);
        for (sums, (energies, weights)) in sums.iter_mut().zip(doubles.chunks(rows).zip(weights.chunks_mut(rows))) {
            sums.shift = sums.least;
            (sums.mass, sums.mass_of_squares) = weights_of(alpha, sums.shift, energies, weights);
            // The processor leaves eight of them out together.
            for eight in weights.chunks_mut(8) {
                if eight.iter().all(|w| *w < f64::MIN_POSITIVE) {
                    eight.fill(0.0);
                }
            }
        }
        (alpha, weights)
    }
}
