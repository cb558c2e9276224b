//! Initial laws: where the particles start.

use crate::noise::{Noise, Stream, scratch_len};
use crate::simd::Scalar;

/// A number for all coordinates, or one for each.
#[derive(Clone, Debug, PartialEq)]
pub enum Coordinates {
    /// The same for all.
    All(f64),
    /// One for each.
    Each(Vec<f64>),
}

impl Coordinates {
    /// The number for coordinate `k`.
    pub fn get(&self, k: usize) -> f64 {
        match self {
            Self::All(value) => *value,
            Self::Each(values) => values[k],
        }
    }

    /// How many numbers are given, if one for each coordinate.
    pub(crate) fn given(&self) -> Option<usize> {
        match self {
            Self::All(_) => None,
            Self::Each(values) => Some(values.len()),
        }
    }

    pub(crate) fn values(&self) -> &[f64] {
        match self {
            Self::All(value) => std::slice::from_ref(value),
            Self::Each(values) => values,
        }
    }
}

impl From<f64> for Coordinates {
    fn from(value: f64) -> Self {
        Self::All(value)
    }
}

impl From<Vec<f64>> for Coordinates {
    fn from(values: Vec<f64>) -> Self {
        Self::Each(values)
    }
}

/// The law of the initial positions.
#[derive(Clone, Debug, PartialEq)]
pub enum InitialLaw {
    /// Independent normals.
    Normal {
        /// Mean.
        mean: Coordinates,
        /// Variance (not standard deviation).
        variance: Coordinates,
    },
    /// Uniform in a box.
    Uniform {
        /// Lower ends.
        low: Coordinates,
        /// Upper ends.
        high: Coordinates,
    },
    /// These points, one after the other in one flat buffer.
    Points(Vec<f64>),
}

impl InitialLaw {
    /// The uniform law on `bounds`.
    pub fn uniform(bounds: &[(f64, f64)]) -> Self {
        Self::Uniform {
            low: Coordinates::Each(bounds.iter().map(|b| b.0).collect()),
            high: Coordinates::Each(bounds.iter().map(|b| b.1).collect()),
        }
    }

    /// The mean of each coordinate.
    pub(crate) fn means(&self, dim: usize) -> Vec<f64> {
        match self {
            Self::Normal { mean, .. } => (0..dim).map(|k| mean.get(k)).collect(),
            Self::Uniform { low, high } => (0..dim).map(|k| 0.5 * low.get(k) + 0.5 * high.get(k)).collect(),
            Self::Points(points) => {
                let mean = |k: usize| column(points, k, dim).sum::<f64>() / (points.len() / dim) as f64;
                (0..dim).map(mean).collect()
            }
        }
    }

    /// The standard deviation of coordinate `k` of `dim`; of points their sample deviation.
    pub(crate) fn deviation(&self, k: usize, dim: usize) -> f64 {
        match self {
            Self::Normal { variance, .. } => variance.get(k).sqrt(),
            Self::Uniform { low, high } => (high.get(k) - low.get(k)) / 12f64.sqrt(),
            Self::Points(points) => {
                let count = (points.len() / dim) as f64;
                let mean = column(points, k, dim).sum::<f64>() / count;
                let squares = column(points, k, dim).map(|x| (x - mean).powi(2)).sum::<f64>();
                (squares / (count - 1.0).max(1.0)).sqrt()
            }
        }
    }

    /// The standard deviation of each coordinate.
    pub(crate) fn deviations(&self, dim: usize) -> Vec<f64> {
        (0..dim).map(|k| self.deviation(k, dim)).collect()
    }

    /// The law itself, or for given points the normal law with their mean and their standard deviations.
    pub(crate) fn with_density(&self, dim: usize) -> Self {
        let Self::Points(points) = self else { return self.clone() };
        let count = (points.len() / dim) as f64;
        let mean = |k: usize| points.iter().skip(k).step_by(dim).sum::<f64>() / count;
        Self::Normal {
            mean: Coordinates::Each((0..dim).map(mean).collect()),
            variance: Coordinates::Each((0..dim).map(|k| self.deviation(k, dim).powi(2)).collect()),
        }
    }

    /// The logarithm of its density at a point; minus infinity where it has none.
    pub(crate) fn log_density<T: Scalar>(&self, point: &[T]) -> f64 {
        let each = point.iter().map(|x| x.to_f64()).enumerate();
        match self {
            Self::Normal { mean, variance } => each
                .map(|(k, x)| {
                    let (square, variance) = ((x - mean.get(k)).powi(2), variance.get(k));
                    if variance > 0.0 {
                        -0.5 * (square / variance + libm::log(std::f64::consts::TAU * variance))
                    } else {
                        f64::NEG_INFINITY
                    }
                })
                .sum(),
            Self::Uniform { low, high } => each
                .map(|(k, x)| {
                    let (low, high) = (low.get(k), high.get(k));
                    if (low..=high).contains(&x) { -libm::log(high - low) } else { f64::NEG_INFINITY }
                })
                .sum(),
            Self::Points(_) => f64::NEG_INFINITY,
        }
    }

    /// Fills `positions` with particles of `dim` coordinates each, of which this is the first.
    pub(crate) fn draw<T: Scalar>(&self, seed: u64, first: usize, dim: usize, positions: &mut [T]) {
        self.draw_at(seed, 0, first, dim, positions);
    }

    /// The same with other random numbers each time.
    pub(crate) fn draw_again<T: Scalar>(&self, seed: u64, time: u64, dim: usize, positions: &mut [T]) {
        self.draw_at(seed, time, 0, dim, positions);
    }

    fn draw_at<T: Scalar>(&self, seed: u64, time: u64, first: usize, dim: usize, positions: &mut [T]) {
        let noise = Noise::new(seed, Stream::Initial, time);
        let rows = (first..).zip(positions.chunks_exact_mut(dim));
        match self {
            Self::Normal { mean, variance } => {
                let mut normals = vec![T::default(); scratch_len(1, dim)];
                for (particle, row) in rows {
                    noise.fill_normals(particle as u32, 1, dim, &mut normals);
                    for (k, (x, z)) in row.iter_mut().zip(&normals).enumerate() {
                        *x = T::from_f64(mean.get(k) + variance.get(k).sqrt() * z.to_f64());
                    }
                }
            }
            Self::Uniform { low, high } => {
                for (particle, row) in rows {
                    for (block, xs) in row.chunks_mut(4).enumerate() {
                        let us = noise.uniforms(particle as u32, block as u32);
                        for (k, (x, u)) in (4 * block..).zip(xs.iter_mut().zip(us)) {
                            *x = T::from_f64(low.get(k) + (high.get(k) - low.get(k)) * u);
                        }
                    }
                }
            }
            Self::Points(points) => {
                for (x, &point) in positions.iter_mut().zip(&points[first * dim..]) {
                    *x = T::from_f64(point);
                }
            }
        }
    }
}

/// Coordinate `k` of points in one flat buffer.
fn column(points: &[f64], k: usize, dim: usize) -> impl Iterator<Item = f64> {
    points.iter().skip(k).step_by(dim).copied()
}
