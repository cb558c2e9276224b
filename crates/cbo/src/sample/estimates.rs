//! What weighted draws tell of their law.

use crate::backend::Crew;
use crate::objective::Rows;
use crate::simd::Scalar;
use std::convert::Infallible;

/// Draws from a law, and estimates from them with standard errors.
///
/// With normalised weights w the mean is `m = sum w x`, the covariance `sum w (x - m)(x - m)' / (1 - sum w^2)`, and the square of the
/// standard error of a weighted mean of numbers f is `sum w^2 (f - sum w f)^2`.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    points: Vec<T>,
    energies: Vec<T>,
    weights: Vec<f64>,
    mean: Vec<f64>,
    mean_errors: Vec<f64>,
    covariance: Vec<f64>,
    covariance_errors: Vec<f64>,
    log_normaliser: f64,
    log_normaliser_error: f64,
    effective_sample_size: f64,
    evaluations: u64,
    failed: u64,
    /// The points that equal weights take, in their order.
    chosen: Vec<usize>,
}

impl<T: Scalar> Sample<T> {
    /// Draws with the logarithms of their weights, `start` in (0, 1) for the choice of equal ones, and how many were evaluated and failed.
    /// `None` if no draw has a weight.
    pub(super) fn new(
        points: Vec<T>,
        energies: Vec<T>,
        logs: &[f64],
        start: f64,
        (evaluations, failed): (u64, u64),
        crew: &Crew<T>,
    ) -> Option<Self> {
        let count = logs.len() as f64;
        let dim = points.len() / logs.len().max(1);
        let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !top.is_finite() {
            return None;
        }
        let mut weights: Vec<f64> = logs.iter().map(|log| libm::exp(log - top)).collect();
        let mass: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= mass);
        let squares: f64 = weights.iter().map(|w| w * w).sum();
        let log_normaliser = top + libm::log(mass / count);
        // The relative variance of the weights, each of which has mean 1 / count.
        let relative = weights.iter().map(|w| (count * w - 1.0).powi(2)).sum::<f64>() / (count - 1.0).max(1.0);
        let rows = || points.chunks_exact(dim).zip(&weights).filter(|(_, w)| **w > 0.0);
        let (mut mean, mut mean_errors) = (vec![0.0; dim], vec![0.0; dim]);
        for (row, w) in rows() {
            mean.iter_mut().zip(row).for_each(|(m, x)| *m += w * x.to_f64());
        }
        for (row, w) in rows() {
            let offsets = row.iter().zip(&mean).map(|(x, m)| x.to_f64() - m);
            mean_errors.iter_mut().zip(offsets).for_each(|(error, x)| *error += (w * x).powi(2));
        }
        mean_errors.iter_mut().for_each(|error| *error = error.sqrt());
        let (mut covariance, mut covariance_errors) = (vec![0.0; dim * dim], vec![0.0; dim * dim]);
        let done: Result<(), Infallible> =
            crew.pieces(true, (&mut covariance, dim), (&mut covariance_errors, dim), |j, products, errors| {
                let centred = |row: &[T], k: usize| row[k].to_f64() - mean[k];
                for (row, w) in rows() {
                    let x = w * centred(row, j);
                    (0..dim).for_each(|k| products[k] += x * centred(row, k));
                }
                for (row, w) in rows() {
                    let x = centred(row, j);
                    (0..dim).for_each(|k| errors[k] += (w * (x * centred(row, k) - products[k])).powi(2));
                }
                // What a mean of the same draws takes away.
                let unbiased = 1.0 / (1.0 - squares).max(f64::EPSILON);
                products.iter_mut().for_each(|product| *product *= unbiased);
                errors.iter_mut().for_each(|error| *error = error.sqrt() * unbiased);
                Ok(())
            });
        let Ok(()) = done;
        Some(Self {
            chosen: equal_weights(&weights, weights.len(), start),
            mean,
            mean_errors,
            covariance,
            covariance_errors,
            log_normaliser,
            log_normaliser_error: (relative / count).sqrt(),
            effective_sample_size: 1.0 / squares,
            evaluations,
            failed,
            points,
            energies,
            weights,
        })
    }

    /// The points that were drawn, one per row.
    pub fn points(&self) -> Rows<'_, T> {
        Rows::new(&self.points, self.mean.len())
    }

    /// Their energies; infinite for points outside the bounds.
    pub fn energies(&self) -> &[T] {
        &self.energies
    }

    /// Their weights, which sum up to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// As many draws of equal weight, row after row: each point as often as its weight says, up to rounding (systematic resampling).
    pub fn draws(&self) -> Vec<T> {
        let dim = self.mean.len();
        self.chosen.iter().flat_map(|&point| &self.points[point * dim..(point + 1) * dim]).copied().collect()
    }

    /// The mean of the law.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The standard errors of the mean.
    pub fn mean_errors(&self) -> &[f64] {
        &self.mean_errors
    }

    /// The covariance of the law, row by row.
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// The standard errors of the covariance, entry by entry.
    pub fn covariance_errors(&self) -> &[f64] {
        &self.covariance_errors
    }

    /// The logarithm of the integral of `exp(-E)`, over the bounds if there are any.
    pub fn log_normaliser(&self) -> f64 {
        self.log_normaliser
    }

    /// Its standard error.
    pub fn log_normaliser_error(&self) -> f64 {
        self.log_normaliser_error
    }

    /// How many independent draws from the law the weighted ones are worth: `1 / sum w^2`.
    pub fn effective_sample_size(&self) -> f64 {
        self.effective_sample_size
    }

    /// Evaluations that the draws took.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Those without a value. Their points count as outside the law.
    pub fn failed_evaluations(&self) -> u64 {
        self.failed
    }
}

/// This many numbers of weights, each as often as the weight says: those at `(start + i) / count` of the mass, in their order.
pub(super) fn equal_weights(weights: &[f64], count: usize, start: f64) -> Vec<usize> {
    let mut chosen = Vec::with_capacity(count);
    let mut below = 0.0;
    for (number, weight) in weights.iter().enumerate() {
        below += weight;
        while chosen.len() < count && (start + chosen.len() as f64) / (count as f64) < below {
            chosen.push(number);
        }
    }
    // Rounding may have lost the last.
    let last = weights.iter().rposition(|weight| *weight > 0.0).unwrap_or(0);
    chosen.resize(count, last);
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_of_equal_weight_are_as_many_as_their_weight_says() {
        let weights = [0.5, 0.0, 0.3, 0.2, 0.0];
        for start in [0.01, 0.5, 0.99] {
            let chosen = equal_weights(&weights, 5, start);
            assert_eq!(chosen.len(), 5);
            for (number, weight) in weights.iter().enumerate() {
                let times = chosen.iter().filter(|c| **c == number).count() as f64;
                assert!((times - 5.0 * weight).abs() < 1.0, "{number}: {times} times");
            }
        }
        assert_eq!(equal_weights(&[1.0 / 3.0; 3], 3, 1.0 - 1e-9), [0, 1, 2]);
    }
}
