//! The objective of training: mean cross-entropy of a network on the data batch of the step.

use super::error::ForwardError;
use super::fast::{Batch, Evaluator, Workspaces};
use super::network::Network;
use super::reference::Mode;
use crate::mnist::Labelled;
use cbo::noise::{Noise, Stream};
use cbo::{EvalError, Grouping, Objective, Rows, StepContext};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// In which order an epoch goes through the training images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the file, the same in every epoch (as in the paper).
    Sequential,
    /// In a new random order each epoch, which belongs to this seed. Images that do not fill a batch at its end are left out.
    Shuffled {
        /// The seed.
        seed: u64,
    },
}

/// A batch size that does not divide the training images, which it must unless they are shuffled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("batch_data = {size}: must divide the number of training images, {images}; {nearest} does")]
pub struct BatchSizeError {
    /// The size asked for.
    pub size: usize,
    /// How many images there are.
    pub images: usize,
    /// A size near it that would do.
    pub nearest: usize,
}

/// Mean cross-entropy of a network on one data batch after the other; a particle is a parameter vector.
///
/// Data batch b of [`StepContext`] is batch `b mod batches` of epoch `b / batches`: the choice depends on nothing else, so a run can
/// be repeated from anywhere. Batch normalisation uses the batch's own statistics.
///
/// ```
/// use cbo::{CboConfig, Objective};
/// use cbo_problems::mnist;
/// use cbo_problems::nn::{CrossEntropy, Network, Order};
///
/// let data = mnist::subset()?;
/// let objective = CrossEntropy::new(&Network::lenet1(), &data.train, 50, Order::Sequential)?;
/// assert_eq!((objective.dim(), objective.batches()), (2112, 20));
///
/// let error = CrossEntropy::new(&Network::lenet1(), &data.train, 60, Order::Sequential).unwrap_err();
/// assert_eq!(error.to_string(), "batch_data = 60: must divide the number of training images, 1000; 50 does");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CrossEntropy<'a> {
    evaluator: Evaluator,
    data: &'a Labelled,
    size: usize,
    /// The batch in use, so that it is laid out once, not for each particle.
    current: Mutex<Current>,
    workspaces: Workspaces,
}

#[derive(Debug)]
struct Current {
    number: Option<u64>,
    batch: Arc<Batch>,
    sequence: Sequence,
}

/// The images of one data batch after the other.
#[derive(Clone, Debug)]
pub struct Sequence {
    order: Order,
    size: usize,
    /// The epoch whose order is known.
    epoch: Option<u64>,
    images: Vec<u32>,
}

impl Sequence {
    fn new(images: usize, size: usize, order: Order) -> Self {
        Self { order, size, epoch: None, images: (0..images as u32).collect() }
    }

    /// Data batches in an epoch.
    fn batches(&self) -> u64 {
        (self.images.len() / self.size) as u64
    }

    /// The images of data batch `number`, counted over all epochs.
    pub fn batch(&mut self, number: u64) -> &[u32] {
        let epoch = number / self.batches();
        if let Order::Shuffled { seed } = self.order
            && self.epoch != Some(epoch)
        {
            Noise::new(seed, Stream::Problem, epoch).permute(&mut self.images);
            self.epoch = Some(epoch);
        }
        let first = (number % self.batches()) as usize * self.size;
        &self.images[first..first + self.size]
    }
}

/// The largest divisor of `images` that is at most `size`.
fn divisor_below(images: usize, size: usize) -> usize {
    (1..=size.min(images)).rev().find(|n| images.is_multiple_of(*n)).unwrap_or(1)
}

impl<'a> CrossEntropy<'a> {
    /// The training of `network` on `data` in batches of `size` images.
    pub fn new(network: &Network, data: &'a Labelled, size: usize, order: Order) -> Result<Self, BatchSizeError> {
        let images = data.count();
        let shuffled = matches!(order, Order::Shuffled { .. });
        if size == 0 || size > images || !(shuffled || images.is_multiple_of(size)) {
            return Err(BatchSizeError { size, images, nearest: divisor_below(images, size) });
        }
        let evaluator = Evaluator::new(network);
        let batch = Arc::new(evaluator.batch(data, &[]));
        let current = Current { number: None, batch, sequence: Sequence::new(images, size, order) };
        Ok(Self { evaluator, data, size, current: Mutex::new(current), workspaces: Workspaces::default() })
    }

    /// The largest size up to `size` that fits the images of `data`.
    pub fn fitting_size(data: &Labelled, size: usize, shuffled: bool) -> usize {
        if shuffled { size.min(data.count()) } else { divisor_below(data.count(), size) }
    }

    /// The network, prepared.
    pub fn evaluator(&self) -> &Evaluator {
        &self.evaluator
    }

    /// The images that it is trained on.
    pub fn data(&self) -> &'a Labelled {
        self.data
    }

    /// Images in a data batch.
    pub fn batch_size(&self) -> usize {
        self.size
    }

    /// Data batches in an epoch.
    pub fn batches(&self) -> u64 {
        (self.data.count() / self.size) as u64
    }

    /// The images of data batch `number`, counted over all epochs.
    pub fn images(&self, number: u64) -> Vec<usize> {
        self.current().sequence.batch(number).iter().map(|&i| i as usize).collect()
    }

    /// The images of all data batches.
    pub fn sequence(&self) -> Sequence {
        self.current().sequence.clone()
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        // The number is set last: what a thread that panicked left behind is made again.
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn batch(&self, number: u64) -> Arc<Batch> {
        let mut current = self.current();
        if current.number != Some(number) {
            current.number = None;
            let indices: Vec<usize> = current.sequence.batch(number).iter().map(|&i| i as usize).collect();
            current.batch = Arc::new(self.evaluator.batch(self.data, &indices));
            current.number = Some(number);
        }
        current.batch.clone()
    }
}

impl Objective<f32> for CrossEntropy<'_> {
    fn dim(&self) -> usize {
        self.evaluator.network().parameters()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, f32>, out: &mut [f32]) -> Result<(), EvalError> {
        let batch = self.batch(at.data_batch);
        self.workspaces.lend(|workspace| {
            for (index, (row, energy)) in rows.iter().zip(out).enumerate() {
                let outcome = self.evaluator.evaluate(row, &batch, Mode::Train, workspace);
                let failed = |e: ForwardError| EvalError { row: Some(index), ..EvalError::new(e.to_string()) };
                *energy = outcome.map_err(failed)?.loss as f32;
            }
            Ok(())
        })
    }

    fn grouping(&self) -> Grouping {
        Grouping::Single
    }

    fn is_stochastic(&self) -> bool {
        true
    }
}
