//! A quadratic model of the function around the particles (lq-CMA-ES, Hansen 2019, doi:10.1145/3321707.3321842).

use super::linear::{add_squares, cholesky, dot, solve_lower, solve_lower_transposed, square};
use super::shape::Shape;
use std::collections::BTreeMap;

/// A regression is begun anew when so many points for each term were added,
const RENEWAL: f64 = 1.6;
/// or when the points are so much wider or narrower than its coordinates, squared.
const DRIFT: f64 = 16.0;
/// What is added to the diagonal, relative to its mean.
const RIDGE: f64 = 1e-9;

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

/// The coordinates of a model: those in which the particles were standard normal when it was begun.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub mean: Vec<f64>,
    pub step: f64,
    pub shape: Shape,
}

impl Frame {
    /// Turns points into these coordinates.
    pub fn enter(&self, points: &mut [f64]) {
        let dim = self.mean.len();
        for point in points.chunks_exact_mut(dim) {
            point.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = (*x - m) / self.step);
        }
        self.shape.solve(points);
    }

    /// The point with these coordinates.
    pub fn leave(&self, w: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; w.len()];
        self.shape.multiply(w, &mut x);
        x.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = m + self.step * *x);
        x
    }
}

/// A point with its value, known by its number.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub number: u64,
    pub point: Vec<f64>,
    pub value: f64,
}

#[derive(Debug)]
struct Entry {
    row: Vec<f64>,
    weight: f64,
    target: f64,
}

/// Weighted least squares for a model, kept up to date as points come and go.
#[derive(Debug)]
pub(super) struct Regression {
    pub kind: Kind,
    pub frame: Frame,
    /// The value that is zero here, and the difference that is one.
    zero: f64,
    scale: f64,
    /// The points in the sums, by number.
    entries: BTreeMap<u64, Entry>,
    /// Sums of weighted products of the terms, and of terms with values.
    gram: Vec<f64>,
    right: Vec<f64>,
    /// Points added since it was begun.
    added: usize,
    pub model: Option<Model>,
}

impl Regression {
    /// A regression without points.
    pub fn new(kind: Kind, frame: Frame, zero: f64, scale: f64) -> Self {
        let terms = kind.terms(frame.mean.len());
        Self {
            kind,
            frame,
            zero,
            scale,
            entries: BTreeMap::new(),
            gram: vec![0.0; terms * terms],
            right: vec![0.0; terms],
            added: 0,
            model: None,
        }
    }

    /// Whether it should be begun anew: the coordinates fit no longer.
    pub fn is_old(&self, recent: &[f64]) -> bool {
        if self.added as f64 > RENEWAL * self.right.len() as f64 {
            return true;
        }
        let mut recent = recent.to_vec();
        self.frame.enter(&mut recent);
        let size = square(&recent) / recent.len().max(1) as f64;
        !(1.0 / DRIFT..=DRIFT).contains(&size)
    }

    /// Fits these samples, the best first.
    pub fn fit(&mut self, samples: &[&Sample]) {
        let dim = self.frame.mean.len();
        let terms = self.right.len();
        let count = samples.len();
        let (mut rows, mut weights): (Vec<f64>, Vec<f64>) = (Vec::new(), Vec::new());
        let mut kept: BTreeMap<u64, Entry> = BTreeMap::new();
        let old = std::mem::take(&mut self.entries);
        let mut change = |row: &[f64], weight: f64, target: f64| {
            rows.extend_from_slice(row);
            weights.push(weight);
            self.right.iter_mut().zip(row).for_each(|(r, x)| *r += weight * target * x);
        };
        let mut old = old;
        for (i, sample) in samples.iter().enumerate() {
            let weight = 20.0 - 19.0 * i as f64 / (count.max(2) - 1) as f64;
            let mut entry = match old.remove(&sample.number) {
                Some(entry) => entry,
                None => {
                    let mut point = sample.point.clone();
                    self.frame.enter(&mut point);
                    let mut row = vec![0.0; terms];
                    fill(self.kind, &point, &mut row);
                    self.added += 1;
                    Entry { row, weight: 0.0, target: (sample.value - self.zero) / self.scale }
                }
            };
            // Weights need not be exact.
            if (entry.weight - weight).abs() > 0.25 * weight {
                change(&entry.row, weight - entry.weight, entry.target);
                entry.weight = weight;
            }
            kept.insert(sample.number, entry);
        }
        for entry in old.values() {
            change(&entry.row, -entry.weight, entry.target);
        }
        self.entries = kept;
        add_squares(terms, &mut self.gram, &rows, &weights);
        self.model = self.solve(dim);
    }

    fn solve(&self, dim: usize) -> Option<Model> {
        let terms = self.right.len();
        let mut gram = self.gram.clone();
        let trace: f64 = (0..terms).map(|k| gram[k * terms + k]).sum();
        let ridge = RIDGE * trace / terms as f64;
        (0..terms).for_each(|k| gram[k * terms + k] += ridge);
        if !cholesky(terms, &mut gram) {
            return None;
        }
        let mut right = self.right.clone();
        solve_lower(terms, &gram, &mut right);
        solve_lower_transposed(terms, &gram, &mut right);
        if right.iter().any(|v| !v.is_finite()) {
            return None;
        }
        right.iter_mut().for_each(|v| *v *= self.scale);
        let mut curvature = vec![0.0; dim * dim];
        match self.kind {
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
        Some(Model { kind: self.kind, constant: right[0] + self.zero, gradient: right[1..=dim].to_vec(), curvature })
    }

    /// The model's values at points.
    pub fn predict(&self, points: &[f64]) -> Option<Vec<f64>> {
        let model = self.model.as_ref()?;
        let mut white = points.to_vec();
        self.frame.enter(&mut white);
        Some(white.chunks_exact(self.frame.mean.len()).map(|w| model.predict(w)).collect())
    }

    /// Where the model expects the minimum, within this distance of `centre` in the coordinates of the model.
    pub fn minimiser(&self, centre: &[f64], radius: f64) -> Option<Vec<f64>> {
        let mut w = centre.to_vec();
        self.frame.enter(&mut w);
        let step = self.model.as_ref()?.around(&w).minimiser(radius)?;
        w.iter_mut().zip(step).for_each(|(w, s)| *w += s);
        Some(self.frame.leave(&w))
    }
}

impl Model {
    /// The same model in coordinates whose origin is `w`.
    fn around(&self, w: &[f64]) -> Self {
        let dim = w.len();
        let rows = self.curvature.chunks_exact(dim).map(|row| dot(row, w));
        let gradient = self.gradient.iter().zip(rows).map(|(g, c)| g + c).collect();
        Self { gradient, constant: self.predict(w), ..self.clone() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::random::Random;

    /// Samples of `f` at normal points, the best first.
    fn samples(dim: usize, count: usize, f: impl Fn(&[f64]) -> f64) -> Vec<Sample> {
        let mut points = Vec::new();
        Random::new(5, 0).normals(count, dim, &mut points);
        let sample = |(number, x): (usize, &[f64])| Sample { number: number as u64, point: x.to_vec(), value: f(x) };
        let mut samples: Vec<Sample> = points.chunks_exact(dim).enumerate().map(sample).collect();
        samples.sort_by(|a, b| a.value.total_cmp(&b.value));
        samples
    }

    fn identity(dim: usize) -> Frame {
        Frame { mean: vec![0.3; dim], step: 2.0, shape: Shape::new(dim) }
    }

    fn quadratic(x: &[f64]) -> f64 {
        let square = |k: usize| (x[k] - 0.5 * x[(k + 1) % x.len()] - 0.1 * k as f64).powi(2);
        7.0 + (0..x.len()).map(|k| (k + 1) as f64 * square(k)).sum::<f64>()
    }

    #[test]
    fn a_quadratic_function_is_reproduced() {
        for dim in [1, 3, 8, 20] {
            let all = samples(dim, 2 * Kind::Full.terms(dim), quadratic);
            let mut fit =
                Regression::new(Kind::Full, identity(dim), all[0].value, all[all.len() - 1].value - all[0].value);
            fit.fit(&all.iter().collect::<Vec<_>>());
            let probe = samples(dim, 5, quadratic);
            for sample in &probe {
                let predicted = fit.predict(&sample.point).expect("a model")[0];
                assert!(
                    (predicted - sample.value).abs() < 1e-5 * sample.value,
                    "{predicted} instead of {} in {dim} dimensions",
                    sample.value
                );
            }
        }
    }
}
