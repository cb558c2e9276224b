//! A covariance that is diagonal except for a few axes (VkD-CMA: Akimoto and Hansen 2016, doi:10.1145/2908812.2908863).

use crate::auto::eigen::eigen;
use crate::auto::rows::{combine, products, stretch};
use crate::matrix::cholesky::cholesky;
use crate::matrix::linear::{dot, solve_lower_transposed};

/// How many axes are learnt.
const RANK: usize = 10;
/// Rows from which it learns at once, so that its own time for each does not grow with their number.
const AT_ONCE: usize = 48;
/// Keeps rows that depend on each other from spoiling the inner products.
const RIDGE: f64 = 1e-12;

/// `C = D (1 + sum s v v') D` with a diagonal D and orthonormal axes v.
#[derive(Clone, Debug)]
pub(in crate::auto) struct LowRank {
    /// The diagonal of D.
    scales: Vec<f64>,
    /// The axes v, one after the other.
    axes: Vec<f64>,
    /// The variances s beyond 1 along them; more than -1.
    beyond: Vec<f64>,
}

impl LowRank {
    /// The identity.
    pub fn new(dim: usize) -> Self {
        Self { scales: vec![1.0; dim], axes: Vec::new(), beyond: Vec::new() }
    }

    pub fn dim(&self) -> usize {
        self.scales.len()
    }

    /// `(1 + sum (sqrt(1 + s) - 1) v v') z` for each row z.
    fn stretched(&self, rows: &[f64], to: &mut [f64]) {
        let factors: Vec<f64> = self.beyond.iter().map(|s| (1.0 + s).sqrt() - 1.0).collect();
        stretch(self.dim(), &self.axes, &factors, rows, to);
    }

    /// `A z` for each row z.
    pub fn multiply(&self, rows: &[f64], to: &mut [f64]) {
        self.stretched(rows, to);
        for y in to.chunks_exact_mut(self.dim()) {
            y.iter_mut().zip(&self.scales).for_each(|(y, scale)| *y *= scale);
        }
    }

    /// Replaces each row y by the solution z of `A z = y`.
    pub fn solve(&self, rows: &mut [f64]) {
        for y in rows.chunks_exact_mut(self.dim()) {
            y.iter_mut().zip(&self.scales).for_each(|(y, scale)| *y /= scale);
        }
        let factors: Vec<f64> = self.beyond.iter().map(|s| 1.0 / (1.0 + s).sqrt() - 1.0).collect();
        let from = rows.to_vec();
        stretch(self.dim(), &self.axes, &factors, &from, rows);
    }

    /// `C <- A M A'` with `M = identity + sum w z z'`, as nearly as the axes allow. If M is not positive definite, nothing changes.
    pub fn learn(&mut self, identity: f64, rows: &[f64], weights: &[f64]) -> bool {
        let dim = self.dim();
        let mut rows_in_scales = vec![0.0; rows.len()];
        self.stretched(rows, &mut rows_in_scales);
        let mut next = Self { scales: vec![1.0; dim], ..self.clone() };
        let mut identity = identity;
        for (rows, weights) in rows_in_scales.chunks_mut(AT_ONCE * dim).zip(weights.chunks(AT_ONCE)) {
            for row in rows.chunks_exact_mut(dim) {
                row.iter_mut().zip(&next.scales).for_each(|(y, scale)| *y /= scale);
            }
            if !next.absorb(identity, rows, weights) {
                return false;
            }
            identity = 1.0;
        }
        next.scales.iter_mut().zip(&self.scales).for_each(|(new, old)| *new *= old);
        *self = next;
        true
    }

    /// `1 + sum s v v' <- identity (1 + sum s v v') + sum w y y'`: the largest eigenvalues keep their axes, the others get their mean, and D
    /// makes the diagonal right.
    fn absorb(&mut self, identity: f64, rows: &[f64], weights: &[f64]) -> bool {
        let dim = self.dim();
        let all = [&self.axes[..], rows].concat();
        let factors: Vec<f64> = self.beyond.iter().map(|s| identity * s).chain(weights.iter().copied()).collect();
        let count = factors.len();
        // The rows are L Q with orthonormal rows of Q, so the sum over them is Q' (L' W L) Q.
        let mut root = products(dim, &all);
        (0..count).for_each(|i| root[i * count + i] *= 1.0 + RIDGE);
        if !cholesky(count, &mut root) {
            return false;
        }
        let mut small = vec![0.0; count * count];
        for j in 0..count {
            let weighted: Vec<f64> = root[j * count..].iter().zip(&factors).map(|(l, w)| l * w).collect();
            for i in j..count {
                small[j * count + i] = dot(&root[i * count + i..(i + 1) * count], &weighted[i..]);
            }
        }
        let (values, vectors) = eigen(count, &small);
        let rank = RANK.min(count);
        let rest = values[..count - rank].iter().sum::<f64>() / (dim - rank) as f64;
        if !(identity + values[0] > 0.0 && identity + rest > 0.0) {
            return false;
        }
        let mut coefficients = vectors[(count - rank) * count..].to_vec();
        coefficients.chunks_exact_mut(count).for_each(|c| solve_lower_transposed(count, &root, c));
        let mut axes = vec![0.0; rank * dim];
        combine(dim, &coefficients, &all, &mut axes);
        let beyond: Vec<f64> = values[count - rank..].iter().map(|v| (v - rest) / (identity + rest)).collect();
        let (wanted, have) = (diagonal(identity, &all, &factors, dim), diagonal(1.0, &axes, &beyond, dim));
        let change: Vec<f64> = wanted.iter().zip(&have).map(|(wanted, have)| wanted / have).collect();
        let definite = change.iter().all(|c| *c > 0.0 && c.is_finite());
        if definite {
            self.scales.iter_mut().zip(&change).for_each(|(scale, c)| *scale *= c.sqrt());
            (self.axes, self.beyond) = (axes, beyond);
        }
        definite
    }

    /// The square roots of the diagonal of C.
    pub fn deviations(&self, to: &mut [f64]) {
        let variances = diagonal(1.0, &self.axes, &self.beyond, self.dim());
        to.iter_mut().zip(&self.scales).zip(variances).for_each(|((to, scale), v)| *to = scale * v.sqrt());
    }

    /// Changes the sign of coordinate `k`.
    pub fn mirror(&mut self, k: usize) {
        let dim = self.dim();
        self.axes.iter_mut().skip(k).step_by(dim).for_each(|v| *v = -*v);
    }

    /// `A <- factor A`.
    pub fn scale(&mut self, factor: f64) {
        self.scales.iter_mut().for_each(|scale| *scale *= factor);
    }

    /// A rough lower bound of the condition number of C.
    pub fn condition(&self) -> f64 {
        let (low, high) = super::extremes(self.scales.iter());
        let along = self.beyond.iter().fold((1.0f64, 1.0f64), |(l, h), s| (l.min(1.0 + s), h.max(1.0 + s)));
        (high / low).powi(2).max(along.1 / along.0)
    }
}

/// The diagonal of `identity + sum w y y'`.
fn diagonal(identity: f64, rows: &[f64], weights: &[f64], dim: usize) -> Vec<f64> {
    let mut sums = vec![identity; dim];
    for (row, w) in rows.chunks_exact(dim).zip(weights) {
        sums.iter_mut().zip(row).for_each(|(sum, y)| *sum += w * y * y);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::random::Random;

    fn random_rows(seed: u64, rows: usize, dim: usize) -> Vec<f64> {
        let mut to = Vec::new();
        Random::new(seed, 0).normals(rows, dim, &mut to);
        to
    }

    /// The matrix C, multiplied out: `A A'` from the images of the unit vectors.
    fn dense(shape: &LowRank) -> Vec<f64> {
        let dim = shape.dim();
        let unit: Vec<f64> = (0..dim * dim).map(|at| f64::from(u8::from(at / dim == at % dim))).collect();
        let mut columns = vec![0.0; dim * dim];
        shape.multiply(&unit, &mut columns);
        let entry = |i: usize, j: usize| columns.chunks_exact(dim).map(|c| c[i] * c[j]).sum::<f64>();
        (0..dim * dim).map(|at| entry(at / dim, at % dim)).collect()
    }

    #[test]
    fn what_fits_into_the_axes_is_learnt_as_by_a_full_matrix() {
        let dim = 30;
        let mut shape = LowRank::new(dim);
        let rows = random_rows(1, 6, dim);
        let weights = [0.3, 0.2, 0.1, 0.05, 0.02, 0.01];
        assert!(shape.learn(0.7, &rows, &weights));
        let found = dense(&shape);
        for i in 0..dim {
            for j in 0..dim {
                let sum: f64 = rows.chunks_exact(dim).zip(weights).map(|(z, w)| w * z[i] * z[j]).sum();
                let wanted = sum + if i == j { 0.7 } else { 0.0 };
                assert!((found[i * dim + j] - wanted).abs() < 1e-9, "entry ({i}, {j})");
            }
        }
    }

    #[test]
    fn the_diagonal_is_learnt_whatever_fits_into_the_axes() {
        let dim = 30;
        let (mut shape, mut at_once) = (LowRank::new(dim), 0.0f64);
        for seed in 0..5 {
            let before = shape.clone();
            // Of both signs, and more than it learns from at once.
            let rows = random_rows(seed, AT_ONCE + 9, dim);
            let weights: Vec<f64> = (0..AT_ONCE + 9).map(|i| 0.02 - 0.0005 * i as f64).collect();
            assert!(shape.learn(0.9, &rows, &weights));
            let mut moved = vec![0.0; rows.len()];
            before.multiply(&rows, &mut moved);
            let old = dense(&before);
            let wanted = diagonal(0.0, &moved, &weights, dim);
            let mut deviations = vec![0.0; dim];
            shape.deviations(&mut deviations);
            let matrix = dense(&shape);
            for k in 0..dim {
                let wanted = wanted[k] + 0.9 * old[k * dim + k];
                at_once = at_once.max((deviations[k].powi(2) / wanted - 1.0).abs());
                assert!((matrix[k * dim + k] / deviations[k].powi(2) - 1.0).abs() < 1e-12);
            }
        }
        assert!(at_once < 1e-10, "{at_once}");
    }

    #[test]
    fn a_system_is_solved() {
        let dim = 101;
        let mut shape = LowRank::new(dim);
        assert!(shape.learn(0.5, &random_rows(1, 20, dim), &[0.1; 20]));
        let z = random_rows(2, 3, dim);
        let mut y = vec![0.0; 3 * dim];
        shape.multiply(&z, &mut y);
        shape.solve(&mut y);
        assert!(y.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-11));
        let before = dense(&shape);
        assert!(!shape.learn(0.1, &z, &[0.0, -1.0, 0.0]), "a variance below zero is refused");
        assert_eq!(dense(&shape), before);
    }

    #[test]
    fn the_mirror_image_of_a_row_goes_to_that_of_its_image() {
        let dim = 30;
        let mut shape = LowRank::new(dim);
        assert!(shape.learn(0.5, &random_rows(1, 20, dim), &[0.1; 20]));
        let mut z = random_rows(2, 1, dim);
        let (mut y, mut image) = (vec![0.0; dim], vec![0.0; dim]);
        shape.multiply(&z, &mut y);
        shape.mirror(7);
        (z[7], y[7]) = (-z[7], -y[7]);
        shape.multiply(&z, &mut image);
        assert_eq!(image, y);
    }

    #[test]
    fn the_long_axis_of_a_cigar_is_learnt() {
        let dim = 120;
        let mut shape = LowRank::new(dim);
        let axis = vec![1.0 / (dim as f64).sqrt(); dim];
        for seed in 0..60 {
            // Draws with variance 10 000 along the axis and 1 elsewhere, as the shape sees them.
            let mut rows = random_rows(seed, 40, dim);
            for row in rows.chunks_exact_mut(dim) {
                let along = dot(row, &axis);
                row.iter_mut().zip(&axis).for_each(|(y, a)| *y += 99.0 * along * a);
            }
            shape.solve(&mut rows);
            assert!(shape.learn(0.9, &rows, &[0.1 / 40.0; 40]));
        }
        let mut y = vec![0.0; dim];
        shape.multiply(&axis, &mut y);
        let along = dot(&y, &axis);
        assert!((70.0..140.0).contains(&along), "{along}");
        assert!((dot(&y, &y) - along * along).sqrt() < 0.1 * along);
    }
}
