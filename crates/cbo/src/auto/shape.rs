//! The shape of the particles: a root of their covariance, full or diagonal.

use super::linear::{add_squares, cholesky, multiply_lower, multiply_triangular, solve_lower};

/// Up to this dimension all covariances are learnt.
const FULL: usize = 100;

/// A matrix A with `A A' = C`.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// The Cholesky factor of C, by columns.
    Full(Vec<f64>),
    /// The deviations of the coordinates, which are taken to be independent (Ros and Hansen 2008, doi:10.1007/978-3-540-87700-4_30).
    Diagonal(Vec<f64>),
}

impl Shape {
    /// The identity.
    pub fn new(dim: usize) -> Self {
        if dim > FULL {
            return Self::Diagonal(vec![1.0; dim]);
        }
        let mut factor = vec![0.0; dim * dim];
        (0..dim).for_each(|k| factor[k * dim + k] = 1.0);
        Self::Full(factor)
    }

    /// How much faster than a full shape this one may learn.
    pub fn speed(&self) -> f64 {
        match self {
            Self::Full(_) => 1.0,
            Self::Diagonal(deviations) => (deviations.len() as f64 + 2.0) / 3.0,
        }
    }

    /// `A z` for each row z.
    pub fn multiply(&self, rows: &[f64], to: &mut [f64]) {
        match self {
            Self::Full(factor) => multiply_lower(factor.len().isqrt(), factor, rows, to),
            Self::Diagonal(deviations) => {
                let all = deviations.iter().cycle();
                to.iter_mut().zip(rows).zip(all).for_each(|((y, z), deviation)| *y = deviation * z);
            }
        }
    }

    /// Replaces each row y by the solution z of `A z = y`.
    pub fn solve(&self, rows: &mut [f64]) {
        match self {
            Self::Full(factor) => solve_lower(factor.len().isqrt(), factor, rows),
            Self::Diagonal(deviations) => rows.iter_mut().zip(deviations.iter().cycle()).for_each(|(y, d)| *y /= d),
        }
    }

    /// `C <- A M A'` with `M = identity + sum w z z'` over the rows. Tells whether M is positive definite; if not, nothing changes.
    pub fn learn(&mut self, identity: f64, rows: &[f64], weights: &[f64]) -> bool {
        match self {
            Self::Full(factor) => {
                let dim = factor.len().isqrt();
                let mut matrix = vec![0.0; dim * dim];
                (0..dim).for_each(|k| matrix[k * dim + k] = identity);
                add_squares(dim, &mut matrix, rows, weights);
                let definite = cholesky(dim, &mut matrix);
                if definite {
                    multiply_triangular(dim, factor, &matrix);
                }
                definite
            }
            Self::Diagonal(deviations) => {
                let mut squares = vec![identity; deviations.len()];
                for (row, w) in rows.chunks_exact(deviations.len()).zip(weights) {
                    squares.iter_mut().zip(row).for_each(|(s, z)| *s += w * z * z);
                }
                let definite = squares.iter().all(|s| *s > 0.0 && s.is_finite());
                if definite {
                    deviations.iter_mut().zip(&squares).for_each(|(d, s)| *d *= s.sqrt());
                }
                definite
            }
        }
    }

    /// The square roots of the diagonal of C.
    pub fn deviations(&self, to: &mut [f64]) {
        match self {
            Self::Full(factor) => {
                let dim = to.len();
                to.fill(0.0);
                for j in 0..dim {
                    to[j..].iter_mut().zip(&factor[j * dim + j..]).for_each(|(sum, a)| *sum += a * a);
                }
                to.iter_mut().for_each(|v| *v = v.sqrt());
            }
            Self::Diagonal(deviations) => to.copy_from_slice(deviations),
        }
    }

    /// A rough lower bound of the condition number of C.
    pub fn condition(&self) -> f64 {
        let (low, high) = match self {
            Self::Full(factor) => extremes(factor.iter().step_by(factor.len().isqrt() + 1)),
            Self::Diagonal(deviations) => extremes(deviations.iter()),
        };
        (high / low).powi(2)
    }

    /// C, row by row, if all of it is known.
    pub fn covariance(&self) -> Option<Vec<f64>> {
        let Self::Full(factor) = self else { return None };
        let dim = factor.len().isqrt();
        let entry = |i: usize, j: usize| (0..=i.min(j)).map(|k| factor[k * dim + i] * factor[k * dim + j]).sum();
        Some((0..dim * dim).map(|at| entry(at / dim, at % dim)).collect())
    }
}

fn extremes<'a>(values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), v| (low.min(*v), high.max(*v)))
}
