//! Statistics of batch normalisation.

use super::error::ForwardError;
use super::layer::Layer;
use super::network::Network;

/// What batch normalisation adds to a variance before taking its root.
pub const EPSILON: f64 = 1e-4;

/// Mean and variance of each channel before one batch-norm layer.
///
/// A channel is a map, or one value of a flat list. Both are taken over the images of a batch, and over the pixels of the
/// map; the variance is the unbiased one (divided by the number of values less one). In training they come from the
/// step's own batch. At test time they are given: a training sample goes through the network in training mode once, and
/// the statistics on the way, those of a later layer after the earlier layers' normalisation, are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    /// The mean of each channel.
    pub mean: Vec<f64>,
    /// The unbiased variance of each channel.
    pub variance: Vec<f64>,
}

impl Network {
    /// Number of batch-norm layers, each of which needs [`Statistics`] at test time.
    pub fn batch_norms(&self) -> usize {
        self.stages().iter().filter(|stage| stage.layer == Layer::BatchNorm).count()
    }

    /// Whether these can be the statistics of the network's batch-norm layers, in order.
    pub fn check_statistics(&self, statistics: &[Statistics]) -> Result<(), ForwardError> {
        let needed = self.batch_norms();
        if statistics.len() != needed {
            return Err(ForwardError::StatisticsCount { given: statistics.len(), needed });
        }
        let norms = self.stages().iter().enumerate().filter(|(_, stage)| stage.layer == Layer::BatchNorm);
        for ((place, stage), given) in norms.zip(statistics) {
            let channels = stage.input.channels();
            let lengths = given.mean.len() == channels && given.variance.len() == channels;
            let means = given.mean.iter().all(|mean| mean.is_finite());
            let variances = given.variance.iter().all(|variance| variance.is_finite() && *variance >= 0.0);
            if !(lengths && means && variances) {
                return Err(ForwardError::Statistics { number: place + 1, channels });
            }
        }
        Ok(())
    }
}
