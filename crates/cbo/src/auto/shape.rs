//! The shape of the particles: a root of their covariance, full or with a few axes.

mod low_rank;

use crate::matrix::cholesky::cholesky;
use crate::matrix::linear::{dot, multiply_lower, multiply_triangular, solve_lower};
use crate::matrix::symmetric::add_squares;
use low_rank::LowRank;

/// Up to this dimension all covariances are learnt.
pub(super) const FULL: usize = 100;

/// A matrix A with `A A' = C`.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// The Cholesky factor of C, by columns, with zeros above the diagonal.
    Full(Vec<f64>),
    /// A few axes beside the deviations of the coordinates.
    LowRank(LowRank),
}

impl Shape {
    /// The identity.
    pub fn new(dim: usize) -> Self {
        if dim > FULL {
            return Self::LowRank(LowRank::new(dim));
        }
        let mut factor = vec![0.0; dim * dim];
        (0..dim).for_each(|k| factor[k * dim + k] = 1.0);
        Self::Full(factor)
    }

    /// How much faster than a full shape this one may learn. The rates of a diagonal (Ros and Hansen 2008,
    /// doi:10.1007/978-3-540-87700-4_30) suit a few axes, too.
    pub fn speed(&self) -> f64 {
        match self {
            Self::Full(_) => 1.0,
            Self::LowRank(shape) => (shape.dim() as f64 + 2.0) / 3.0,
        }
    }

    /// `A z` for each row z.
    pub fn multiply(&self, rows: &[f64], to: &mut [f64]) {
        match self {
            Self::Full(factor) => multiply_lower(factor.len().isqrt(), factor, rows, to),
            Self::LowRank(shape) => shape.multiply(rows, to),
        }
    }

    /// Replaces each row y by the solution z of `A z = y`.
    pub fn solve(&self, rows: &mut [f64]) {
        match self {
            Self::Full(factor) => solve_lower(factor.len().isqrt(), factor, rows),
            Self::LowRank(shape) => shape.solve(rows),
        }
    }

    /// `A^-1`, as the full shape that it is. `None` where A has only a few axes, with which equations are solved as fast.
    pub fn inverse(&self) -> Option<Self> {
        let Self::Full(factor) = self else { return None };
        let dim = factor.len().isqrt();
        let mut columns = vec![0.0; dim * dim];
        (0..dim).for_each(|k| columns[k * dim + k] = 1.0);
        solve_lower(dim, factor, &mut columns);
        Some(Self::Full(columns))
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
            Self::LowRank(shape) => shape.learn(identity, rows, weights),
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
            Self::LowRank(shape) => shape.deviations(to),
        }
    }

    /// `A <- F A F` with an F that changes the sign of coordinate `k`. Tells whether this form can.
    pub fn mirror(&mut self, k: usize) -> bool {
        match self {
            Self::Full(_) => false,
            Self::LowRank(shape) => {
                shape.mirror(k);
                true
            }
        }
    }

    /// `A <- factor A`.
    pub fn scale(&mut self, factor: f64) {
        match self {
            Self::Full(entries) => entries.iter_mut().for_each(|a| *a *= factor),
            Self::LowRank(shape) => shape.scale(factor),
        }
    }

    /// A rough lower bound of the condition number of C.
    pub fn condition(&self) -> f64 {
        match self {
            Self::Full(factor) => {
                let (low, high) = extremes(factor.iter().step_by(factor.len().isqrt() + 1));
                (high / low).powi(2)
            }
            Self::LowRank(shape) => shape.condition(),
        }
    }

    /// `A H^-1 A'`, row by row, for a symmetric positive definite H (the identity if it is not given). `None` where A has only a few
    /// axes, since then it does not show how all coordinates act together, or where H is not positive definite.
    pub fn covariance(&self, curvature: Option<&[f64]>) -> Option<Vec<f64>> {
        let Self::Full(factor) = self else { return None };
        let dim = factor.len().isqrt();
        let mut rows: Vec<f64> = (0..dim * dim)
            .map(|at| if at % dim > at / dim { 0.0 } else { factor[at % dim * dim + at / dim] })
            .collect();
        if let Some(curvature) = curvature {
            let mut root = curvature.to_vec();
            if !cholesky(dim, &mut root) {
                return None;
            }
            solve_lower(dim, &root, &mut rows);
        }
        let row = |i: usize| &rows[i * dim..(i + 1) * dim];
        Some((0..dim * dim).map(|at| dot(row(at / dim), row(at % dim))).collect())
    }
}

fn extremes<'a>(values: impl Iterator<Item = &'a f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, 0.0), |(low, high), v| (low.min(*v), high.max(*v)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covariance_is_the_inverse_of_the_curvature() {
        // A = [2 0; 1 3] and H = [2 1; 1 4] with inverse [4 -1; -1 2] / 7.
        let shape = Shape::Full(vec![2.0, 1.0, 0.0, 3.0]);
        let found = shape.covariance(Some(&[2.0, 1.0, 1.0, 4.0])).expect("positive definite");
        let wanted = [16.0, 2.0, 2.0, 16.0].map(|v| v / 7.0);
        assert!(found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-14), "{found:?}");
        assert_eq!(shape.covariance(None).expect("full"), [4.0, 2.0, 2.0, 10.0]);
        assert_eq!(shape.covariance(Some(&[1.0, 2.0, 2.0, 1.0])), None);
    }
}
