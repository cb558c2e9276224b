//! The shape of the particles: a root of their covariance, full or diagonal.

use super::linear::{add_squares, cholesky, dot, multiply_lower, multiply_triangular, solve_lower};

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

    /// `A H^-1 A'`, row by row, for a symmetric positive definite H (the identity if it is not given). `None` where A is diagonal, since
    /// then it does not show how coordinates act together, or where H is not positive definite.
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

    #[test]
    fn a_diagonal_shape_learns_as_the_diagonal_of_a_full_one() {
        let (mut full, mut diagonal) = (Shape::new(2), Shape::Diagonal(vec![1.0; 2]));
        let rows = [1.5, 0.0, 0.0, -0.5];
        assert!(full.learn(0.7, &rows, &[0.2, -0.1]) && diagonal.learn(0.7, &rows, &[0.2, -0.1]));
        let (mut a, mut b) = ([0.0; 2], [0.0; 2]);
        full.deviations(&mut a);
        diagonal.deviations(&mut b);
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15));
        assert!(!diagonal.learn(0.1, &rows, &[0.0, -1.0]), "a variance below zero is refused");
    }
}
