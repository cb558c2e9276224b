//! A quadratic model of the function around the particles (lq-CMA-ES, Hansen 2019, doi:10.1145/3321707.3321842).

use super::shape::Shape;
use crate::matrix::cholesky::cholesky;
use crate::matrix::linear::{dot, multiply_rows_by, solve_lower, solve_lower_transposed, square};

/// How many terms a model has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Linear,
    Diagonal,
    Full,
}

impl Kind {
    pub fn terms(self, dim: usize) -> usize {
        match self {
            Self::Linear => dim + 1,
            Self::Diagonal => 2 * dim + 1,
            Self::Full => (dim + 1) * (dim + 2) / 2,
        }
    }

    /// The largest model for so many points, among those allowed.
    pub fn for_points(points: usize, dim: usize, most: Self) -> Option<Self> {
        let enough = |kind: &Self| *kind <= most && points as f64 >= 1.1 * kind.terms(dim) as f64;
        [Self::Full, Self::Diagonal, Self::Linear].into_iter().find(enough)
    }
}

/// `constant + gradient' w + w' curvature w / 2` in coordinates w.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub kind: Kind,
    constant: f64,
    gradient: Vec<f64>,
    /// Symmetric, both halves; the diagonal alone if the model is not full.
    pub curvature: Vec<f64>,
}

/// The coordinates of a model: those in which the particles were standard normal when it was begun.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub mean: Vec<f64>,
    pub step: f64,
    pub shape: Shape,
    /// The inverse of the shape, since many points enter.
    inverse: Option<Shape>,
}

impl Frame {
    pub fn new(mean: Vec<f64>, step: f64, shape: Shape) -> Self {
        Self { inverse: shape.inverse(), mean, step, shape }
    }

    /// Turns points into these coordinates.
    pub fn enter(&self, points: &mut [f64]) {
        let (dim, factor) = (self.mean.len(), 1.0 / self.step);
        for point in points.chunks_exact_mut(dim) {
            point.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = (*x - m) * factor);
        }
        self.turn(points);
    }

    /// Turns differences of points, in units of the step, into these coordinates.
    pub fn turn(&self, rows: &mut [f64]) {
        match &self.inverse {
            Some(inverse) => {
                let from = rows.to_vec();
                inverse.multiply(&from, rows);
            }
            None => self.shape.solve(rows),
        }
    }

    /// The point with these coordinates.
    pub fn leave(&self, point: &[f64]) -> Vec<f64> {
        let mut to = vec![0.0; point.len()];
        self.shape.multiply(point, &mut to);
        to.iter().zip(&self.mean).map(|(x, m)| m + self.step * x).collect()
    }
}

impl Model {
    /// The model with these coefficients, in the order of [`fill`].
    pub fn new(kind: Kind, dim: usize, coefficients: &[f64]) -> Self {
        let (linear, squares) = coefficients.split_at(1 + dim);
        let curvature = match kind {
            Kind::Linear => vec![0.0; dim],
            Kind::Diagonal => squares[..dim].iter().map(|c| 2.0 * c).collect(),
            Kind::Full => {
                let mut curvature = vec![0.0; dim * dim];
                let pairs = (0..dim).flat_map(|i| (i..dim).map(move |j| (i, j)));
                for ((i, j), value) in pairs.zip(squares) {
                    curvature[i * dim + j] += value;
                    curvature[j * dim + i] += value;
                }
                curvature
            }
        };
        Self { kind, constant: linear[0], gradient: linear[1..].to_vec(), curvature }
    }

    /// The curvature times each of some vectors.
    fn bend(&self, rows: &[f64]) -> Vec<f64> {
        let dim = self.gradient.len();
        if self.kind == Kind::Full {
            let mut bent = vec![0.0; rows.len()];
            multiply_rows_by(dim, &self.curvature, rows, &mut bent);
            return bent;
        }
        rows.chunks_exact(dim).flat_map(|row| row.iter().zip(&self.curvature).map(|(v, c)| c * v)).collect()
    }

    /// The same model in coordinates whose origin is `w`.
    pub fn seen_from(&self, w: &[f64]) -> Self {
        let bent = self.bend(w);
        let constant = self.constant + dot(&self.gradient, w) + 0.5 * dot(&bent, w);
        let gradient = bent.iter().zip(&self.gradient).map(|(c, g)| c + g).collect();
        Self { kind: self.kind, constant, gradient, curvature: self.curvature.clone() }
    }

    /// The same full model in coordinates whose axes are the rows of `axes`.
    pub fn along(&self, axes: &[f64]) -> Self {
        let dim = self.gradient.len();
        let mut curvature = vec![0.0; dim * dim];
        let turned: Vec<f64> = (0..dim * dim).map(|at| axes[at % dim * dim + at / dim]).collect();
        multiply_rows_by(dim, &turned, &self.bend(axes), &mut curvature);
        let gradient = axes.chunks_exact(dim).map(|axis| dot(axis, &self.gradient)).collect();
        Self { kind: self.kind, constant: self.constant, gradient, curvature }
    }

    /// The values at some points.
    pub fn predict(&self, points: &[f64]) -> Vec<f64> {
        let dim = self.gradient.len();
        if self.kind != Kind::Full {
            let value = |point: &[f64]| {
                let terms = point.iter().zip(&self.gradient).zip(&self.curvature);
                self.constant + terms.map(|((x, g), c)| (0.5 * c * x + g) * x).sum::<f64>()
            };
            return points.chunks_exact(dim).map(value).collect();
        }
        let mut slopes = self.bend(points);
        for slope in slopes.chunks_exact_mut(dim) {
            slope.iter_mut().zip(&self.gradient).for_each(|(s, g)| *s = 0.5 * *s + g);
        }
        let pairs = points.chunks_exact(dim).zip(slopes.chunks_exact(dim));
        pairs.map(|(point, slope)| self.constant + dot(slope, point)).collect()
    }

    /// The solution w of `(curvature + mu) w = -gradient`. `None` if the matrix, of which a factor is left in `factor`, is not positive
    /// definite.
    fn solve(&self, mu: f64, factor: &mut Vec<f64>) -> Option<Vec<f64>> {
        let mut w: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        factor.clone_from(&self.curvature);
        if self.kind != Kind::Full {
            factor.iter_mut().for_each(|c| *c += mu);
            w.iter_mut().zip(factor.iter()).for_each(|(w, c)| *w /= c);
            return factor.iter().all(|c| *c > 0.0).then_some(w);
        }
        let dim = w.len();
        (0..dim).for_each(|k| factor[k * dim + k] += mu);
        if !cholesky(dim, factor) {
            return None;
        }
        solve_lower(dim, factor, &mut w);
        solve_lower_transposed(dim, factor, &mut w);
        Some(w)
    }

    /// `w' (curvature + mu)^-1 w` with the factor that [`solve`](Self::solve) left.
    fn slope(&self, w: &[f64], factor: &[f64]) -> f64 {
        if self.kind != Kind::Full {
            return w.iter().zip(factor).map(|(w, c)| w * w / c).sum();
        }
        let mut half = w.to_vec();
        solve_lower(w.len(), factor, &mut half);
        square(&half)
    }

    /// The minimiser in the ball of this radius around 0: `(curvature + mu) w = -gradient` with the least mu >= 0 for which it is one, by
    /// Newton's method for `1 / |w(mu)|` between bounds (Moré and Sorensen 1983, doi:10.1137/0904038). `start` is the mu to begin with, as a
    /// part of the size of the model: 0, or what the search before left there.
    pub fn minimiser(&self, radius: f64, start: &mut f64) -> Option<Vec<f64>> {
        let row = self.curvature.len() / self.gradient.len();
        let rows = self.curvature.chunks_exact(row);
        let size = square(&self.gradient).sqrt() / radius
            + rows.map(|row| row.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let (mut low, mut high, mut mu) = (0.0, 2.0 * size, *start * size);
        let (mut found, mut zero, mut factor) = (None, false, Vec::new());
        for _ in 0..40 {
            zero |= mu == 0.0;
            let Some(w) = self.solve(mu, &mut factor) else {
                low = mu;
                mu = 0.5 * (low + high);
                continue;
            };
            let length = square(&w).sqrt();
            if !length.is_finite() {
                return found;
            }
            if length <= radius {
                *start = mu / size;
                if mu == 0.0 || length > 0.99 * radius {
                    return Some(w);
                }
                high = mu;
            } else {
                low = mu;
            }
            let slope = self.slope(&w, &factor);
            if length <= radius {
                found = Some(w);
            }
            // A little less than the radius, so that the step ends inside.
            let aim = 0.995 * radius;
            let next = mu + length * length / slope * (length - aim) / aim;
            mu = if next > low && next < high {
                next
            } else if next <= 0.0 && !zero {
                0.0
            } else {
                0.5 * (low + high)
            };
        }
        found
    }
}

/// The terms of a model at a point.
pub(super) fn fill(kind: Kind, point: &[f64], row: &mut [f64]) {
    let dim = point.len();
    row[0] = 1.0;
    row[1..=dim].copy_from_slice(point);
    match kind {
        Kind::Linear => {}
        Kind::Diagonal => row[1 + dim..].iter_mut().zip(point).for_each(|(r, x)| *r = x * x),
        Kind::Full => {
            let mut rest = &mut row[1 + dim..];
            for i in 0..dim {
                let (head, tail) = rest.split_at_mut(dim - i);
                head.iter_mut().zip(&point[i..]).for_each(|(r, x)| *r = point[i] * x);
                rest = tail;
            }
        }
    }
}

/// Kendall's rank correlation of two lists.
pub(super) fn kendall(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len();
    if n < 2 {
        return 0.0;
    }
    let mut sum = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            let sign = |x: f64| {
                if x > 0.0 {
                    1.0
                } else if x < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            };
            sum += sign(a[i] - a[j]) * sign(b[i] - b[j]);
        }
    }
    2.0 * sum / (n * (n - 1)) as f64
}
