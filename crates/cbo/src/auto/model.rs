//! A quadratic model of the function around the particles (lq-CMA-ES, Hansen 2019, doi:10.1145/3321707.3321842).

use super::linear::{add_squares, cholesky, dot, solve_lower, solve_lower_transposed, square};

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
    /// Symmetric, both halves.
    pub curvature: Vec<f64>,
}

impl Model {
    /// Fits points, the best first, with their values. `None` if that cannot be done.
    pub fn fit(kind: Kind, dim: usize, points: &[f64], values: &[f64]) -> Option<Self> {
        let terms = kind.terms(dim);
        let count = values.len();
        let scale = values[count - 1] - values[0];
        if !(scale > 0.0 && scale.is_finite()) {
            return None;
        }
        let mut rows = vec![0.0; count * terms];
        let mut weights = Vec::with_capacity(count);
        let mut right = vec![0.0; terms];
        for (i, (row, point)) in rows.chunks_exact_mut(terms).zip(points.chunks_exact(dim)).enumerate() {
            fill(kind, point, row);
            let weight = 20.0 - 19.0 * i as f64 / (count.max(2) - 1) as f64;
            weights.push(weight);
            let value = weight * (values[i] - values[0]) / scale;
            right.iter_mut().zip(&*row).for_each(|(r, x)| *r += value * x);
        }
        let mut gram = vec![0.0; terms * terms];
        add_squares(terms, &mut gram, &rows, &weights);
        let trace: f64 = (0..terms).map(|k| gram[k * terms + k]).sum();
        let ridge = 1e-9 * trace / terms as f64;
        (0..terms).for_each(|k| gram[k * terms + k] += ridge);
        if !cholesky(terms, &mut gram) {
            return None;
        }
        solve_lower(terms, &gram, &mut right);
        solve_lower_transposed(terms, &gram, &mut right);
        if right.iter().any(|v| !v.is_finite()) {
            return None;
        }
        right.iter_mut().for_each(|v| *v *= scale);
        let mut curvature = vec![0.0; dim * dim];
        match kind {
            Kind::Linear => {}
            Kind::Diagonal => (0..dim).for_each(|k| curvature[k * dim + k] = 2.0 * right[1 + dim + k]),
            Kind::Full => {
                let mut at = 1 + dim;
                for i in 0..dim {
                    for j in i..dim {
                        let value = right[at];
                        curvature[i * dim + j] += value;
                        curvature[j * dim + i] += value;
                        at += 1;
                    }
                }
            }
        }
        Some(Self { kind, constant: right[0] + values[0], gradient: right[1..=dim].to_vec(), curvature })
    }

    pub fn predict(&self, point: &[f64]) -> f64 {
        let dim = point.len();
        let linear = self.constant + dot(&self.gradient, point);
        match self.kind {
            Kind::Linear => linear,
            Kind::Diagonal => {
                linear + 0.5 * (0..dim).map(|k| self.curvature[k * dim + k] * point[k] * point[k]).sum::<f64>()
            }
            Kind::Full => {
                let rows = self.curvature.chunks_exact(dim).zip(point);
                linear + 0.5 * rows.map(|(row, x)| x * dot(row, point)).sum::<f64>()
            }
        }
    }

    /// The minimiser in the ball of this radius around 0: `(curvature + mu) w = -gradient` with the least mu >= 0 for which it is one.
    pub fn minimiser(&self, radius: f64) -> Option<Vec<f64>> {
        let dim = self.gradient.len();
        let solve = |mu: f64| {
            let mut matrix = self.curvature.clone();
            (0..dim).for_each(|k| matrix[k * dim + k] += mu);
            cholesky(dim, &mut matrix).then(|| {
                let mut w: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
                solve_lower(dim, &matrix, &mut w);
                solve_lower_transposed(dim, &matrix, &mut w);
                w
            })
        };
        let inside = |w: &Vec<f64>| square(w) <= radius * radius && w.iter().all(|v| v.is_finite());
        if let Some(w) = solve(0.0).filter(inside) {
            return Some(w);
        }
        let size = square(&self.gradient).sqrt() / radius
            + self.curvature.chunks_exact(dim).map(|r| r.iter().map(|v| v.abs()).sum::<f64>()).fold(0.0, f64::max);
        if !(size > 0.0 && size.is_finite()) {
            return None;
        }
        let (mut low, mut high) = (0.0, 2.0 * size);
        let mut found = solve(high).filter(inside)?;
        for _ in 0..40 {
            let middle = 0.5 * (low + high);
            match solve(middle).filter(inside) {
                Some(w) => {
                    let done = square(&w) > 0.98 * radius * radius;
                    (found, high) = (w, middle);
                    if done {
                        break;
                    }
                }
                None => low = middle,
            }
        }
        Some(found)
    }
}

/// The terms of a model at a point.
fn fill(kind: Kind, point: &[f64], row: &mut [f64]) {
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
