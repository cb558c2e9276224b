//! The fast forward pass: one data batch, many parameter vectors, single precision, one SIMD lane per image.
//!
//! Images lie side by side in the lanes ([`Batch`]), so that every multiplication serves 16 images and nothing is ever
//! shuffled. A network is cut into blocks `linear, relu, bn, pool, bn`, each of which is one pass over memory:
//!
//! - batch normalisation is never carried out: a positive scale and an offset per channel wait until the next linear layer
//!   takes them into its weights. A maximum does not affect them, so the pool comes first;
//! - pixels that are zero in all images of a tile are left out of the first layer: `x + w 0 = x`.
//!
//! Everything is a sum in a fixed order, so the result does not depend on threads or on the instruction set.

mod affine;
mod batch;
mod block;
mod linear;
mod loss;

pub use batch::Batch;
pub use block::Block;
pub use linear::Geometry;
pub use loss::Outcome;

use super::error::ForwardError;
use super::network::Network;
use super::reference::Mode;
use super::statistics::Statistics;
use affine::Affine;
use cbo::simd::{self, InstructionSet};
use std::sync::{Mutex, PoisonError};

/// A network prepared for fast evaluation.
///
/// ```
/// use cbo_problems::mnist;
/// use cbo_problems::nn::fast::{Evaluator, Workspace};
/// use cbo_problems::nn::reference::Mode;
/// use cbo_problems::nn::Network;
///
/// let data = mnist::subset()?;
/// let evaluator = Evaluator::new(&Network::shallow());
/// let first: Vec<usize> = (0..60).collect();
/// let batch = evaluator.batch(&data.train, &first);
/// let outcome = evaluator.evaluate(&[0.0; 7850], &batch, Mode::Train, &mut Workspace::default())?;
/// assert!((outcome.loss - 10f64.ln()).abs() < 1e-6); // no knowledge: ten classes, all as likely
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Evaluator {
    network: Network,
    blocks: Vec<Block>,
    set: InstructionSet,
}

/// Memory between two layers, used again and again.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    input: Vec<f32>,
    output: Vec<f32>,
    weights: Vec<f32>,
    statistics: Vec<Statistics>,
    predictions: Vec<Option<u8>>,
}

impl Workspace {
    /// What each batch-norm layer used in the last evaluation, in order.
    pub fn statistics(&self) -> &[Statistics] {
        &self.statistics
    }

    /// The class with the greatest logit for each image of the last evaluation; none if a logit is NaN.
    pub fn predictions(&self) -> &[Option<u8>] {
        &self.predictions
    }
}

/// Workspaces for as many threads as ask at a time.
#[derive(Debug, Default)]
pub struct Workspaces(Mutex<Vec<Workspace>>);

impl Workspaces {
    /// Calls `work` with a workspace that nobody else has.
    pub fn lend<R>(&self, work: impl FnOnce(&mut Workspace) -> R) -> R {
        // Between calls the list is whole, even if a thread panicked.
        let list = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workspace = list().pop().unwrap_or_default();
        let result = work(&mut workspace);
        list().push(workspace);
        result
    }
}

impl Evaluator {
    /// Prepares a network.
    pub fn new(network: &Network) -> Self {
        Self::on(simd::current(), network)
    }

    /// Prepares a network for a chosen instruction set (for tests and benchmarks).
    pub fn on(set: InstructionSet, network: &Network) -> Self {
        Self { network: network.clone(), blocks: block::cut(network), set }
    }

    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The blocks into which it is cut.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Mean cross-entropy and number of right answers of a network with these parameters.
    ///
    /// In training mode batch normalisation takes its statistics from this batch, in test mode they are given;
    /// `workspace` keeps those used. Parameters that are not finite, or so large that sums overflow, give a loss of NaN.
    pub fn evaluate(
        &self,
        parameters: &[f32],
        batch: &Batch,
        mode: Mode,
        workspace: &mut Workspace,
    ) -> Result<Outcome, ForwardError> {
        self.network.check_parameters(parameters.len())?;
        if let Mode::Test(given) = mode {
            self.network.check_statistics(given)?;
        }
        let Workspace { input, output, weights, statistics, predictions } = workspace;
        statistics.clear();
        // The first layer leaves out zero pixels, and with them a weight that is not finite.
        if !all_finite(parameters) {
            return Ok(failed(batch, predictions));
        }
        let mut affine = Affine::identity(self.network.input());
        for (place, block) in self.blocks.iter().enumerate() {
            let first = place == 0;
            let source = if first { batch.pixels() } else { &input[..] };
            let needed = batch.padded_len() * block.pooled.values();
            if output.len() < needed {
                output.resize(needed, 0.0);
            }
            let pass = block::Pass { set: self.set, block, batch, first, parameters, weights, mode, statistics };
            pass.run(source, &mut output[..needed], &mut affine)?;
            std::mem::swap(input, output);
        }
        // Sums that overflowed; a variance without bounds would make all answers the same, and the loss harmless.
        if self.network.check_statistics(statistics).is_err() {
            return Ok(failed(batch, predictions));
        }
        Ok(loss::judge(self.set, input, &affine, self.network.classes(), batch, predictions))
    }
}

/// An evaluation without a value.
fn failed(batch: &Batch, predictions: &mut Vec<Option<u8>>) -> Outcome {
    predictions.clear();
    predictions.resize(batch.len(), None);
    Outcome { loss: f64::NAN, right: 0, count: batch.len() }
}

/// Written so that it becomes SIMD: the exponents of infinities and NaN are the largest.
fn all_finite(values: &[f32]) -> bool {
    values.iter().fold(0, |most, x| most.max(x.to_bits() & 0x7fff_ffff)) < f32::INFINITY.to_bits()
}
