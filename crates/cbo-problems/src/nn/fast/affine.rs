//! The scale and offset that batch normalisation leaves behind, waiting for the next linear layer.

use crate::nn::shape::Shape;
use crate::nn::statistics::{EPSILON, Statistics};

/// `scale x + offset`, one pair per channel; the scales are positive.
#[derive(Clone, Debug)]
pub struct Affine {
    pub scale: Vec<f64>,
    pub offset: Vec<f64>,
}

impl Affine {
    pub fn identity(shape: Shape) -> Self {
        Self { scale: vec![1.0; shape.channels()], offset: vec![0.0; shape.channels()] }
    }

    /// For values that were stored minus their channels' shifts, which move from the sums into the offset.
    pub fn unshift(sums: &mut [Sums]) -> Self {
        let offset = sums.iter_mut().map(|s| f64::from(std::mem::take(&mut s.shift))).collect();
        Self { scale: vec![1.0; sums.len()], offset }
    }

    pub fn is_identity(&self) -> bool {
        self.scale.iter().all(|s| *s == 1.0) && self.offset.iter().all(|o| *o == 0.0)
    }

    /// The statistics of `scale x + offset` from those of x.
    pub fn statistics(&self, of_x: &Statistics) -> Statistics {
        let pairs = || self.scale.iter().zip(&self.offset);
        Statistics {
            mean: pairs().zip(&of_x.mean).map(|((s, o), m)| s * m + o).collect(),
            variance: pairs().zip(&of_x.variance).map(|((s, _), v)| s * s * v).collect(),
        }
    }

    /// Appends `(y - mean) / sqrt(variance + EPSILON)`.
    pub fn normalise(&mut self, with: &Statistics) {
        let pairs = self.scale.iter_mut().zip(&mut self.offset);
        for ((scale, offset), (mean, variance)) in pairs.zip(with.mean.iter().zip(&with.variance)) {
            let root = (variance + EPSILON).sqrt();
            *scale /= root;
            *offset = (*offset - mean) / root;
        }
    }
}

/// Sums over the values of one channel, each minus a shift that keeps them small: a channel that is the same for all images
/// becomes exactly zero, which normalisation then cannot blow up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    pub shift: f32,
    pub sum: f64,
    pub squares: f64,
}

/// Mean and unbiased variance of each channel from its sums over `count` values (at least 2).
pub fn statistics(channels: &[Sums], count: usize) -> Statistics {
    let count = count as f64;
    let mean = |s: &Sums| f64::from(s.shift) + s.sum / count;
    // Not `max`, which would turn a NaN into 0.
    let positive = |v: f64| if v < 0.0 { 0.0 } else { v };
    let variance = |s: &Sums| positive((s.squares - s.sum * s.sum / count) / (count - 1.0));
    Statistics { mean: channels.iter().map(mean).collect(), variance: channels.iter().map(variance).collect() }
}
