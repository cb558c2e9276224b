//! Consensus hopping with an adapted covariance: the particles of a step are drawn around the consensus point m with covariance `s^2 C`,
//! the next m is their consensus with rank weights, C learns from their weighted second moments and s from the path of m. This is
//! CMA-ES with negative weights (Hansen 2016, arXiv:1604.00772), with the Cholesky factor of C in place of its root.

use super::shape::Shape;
use crate::matrix::linear::square;
use libm::{exp, log};

/// Weights and rates for a population of `lambda` in `dim` dimensions.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// The weight of each rank, the best first; the positive ones sum to 1, the others are negative.
    pub weights: Vec<f64>,
    /// How many are positive.
    pub parents: usize,
    pub effective: f64,
    step: f64,
    damping: f64,
    path: f64,
    one: f64,
    many: f64,
}

impl Rates {
    /// `speed` says how much faster than a full covariance the shape may learn.
    pub fn new(dim: usize, lambda: usize, speed: f64) -> Self {
        let (d, l) = (dim as f64, lambda as f64);
        let raw: Vec<f64> = (1..=lambda).map(|i| log((l + 1.0) / 2.0) - log(i as f64)).collect();
        let (plus, minus): (Vec<f64>, Vec<f64>) = raw.iter().partition(|w| **w > 0.0);
        let sum: f64 = plus.iter().sum();
        let effective = sum * sum / plus.iter().map(|w| w * w).sum::<f64>();
        let one = (speed * 2.0 / ((d + 1.3).powi(2) + effective)).min(0.5);
        let many =
            (1.0 - one).min(speed * 2.0 * (0.25 + effective - 2.0 + 1.0 / effective) / ((d + 2.0).powi(2) + effective));
        let minus_sum: f64 = -minus.iter().sum::<f64>();
        let minus_effective = minus_sum * minus_sum / minus.iter().map(|w| w * w).sum::<f64>().max(f64::MIN_POSITIVE);
        let negative = (1.0 + one / many)
            .min(1.0 + 2.0 * minus_effective / (effective + 2.0))
            .min((1.0 - one - many) / (d * many))
            .max(0.0);
        let weigh = |w: f64| if w > 0.0 { w / sum } else { negative * w / minus_sum.max(f64::MIN_POSITIVE) };
        let step = (effective + 2.0) / (d + effective + 5.0);
        Self {
            weights: raw.into_iter().map(weigh).collect(),
            parents: plus.len(),
            effective,
            step,
            damping: 1.0 + step + 2.0 * (((effective - 1.0) / (d + 1.0)).sqrt() - 1.0).max(0.0),
            path: (4.0 + effective / d) / (d + 4.0 + 2.0 * effective / d),
            one,
            many,
        }
    }
}

/// Mean, step size and covariance of the particles, and the paths from which they learn.
#[derive(Clone, Debug)]
pub(super) struct Core {
    pub mean: Vec<f64>,
    pub step: f64,
    /// A root of C.
    pub shape: Shape,
    /// The path of m in units of the particles' spread.
    step_path: Vec<f64>,
    /// The path of m in units of s.
    path: Vec<f64>,
    pub rates: Rates,
    pub generation: u64,
    /// Square roots of the diagonal of C.
    pub deviations: Vec<f64>,
}

impl Core {
    pub fn new(mean: Vec<f64>, step: f64, lambda: usize) -> Self {
        let dim = mean.len();
        let shape = Shape::new(dim);
        let rates = Rates::new(dim, lambda, shape.speed());
        Self {
            step,
            shape,
            step_path: vec![0.0; dim],
            path: vec![0.0; dim],
            rates,
            generation: 0,
            deviations: vec![1.0; dim],
            mean,
        }
    }

    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// Has `lambda` particles from now on.
    pub fn populate(&mut self, lambda: usize) {
        self.rates = Rates::new(self.dim(), lambda, self.shape.speed());
    }

    /// Turns rows of standard normals into points.
    pub fn points(&self, normals: &[f64], to: &mut Vec<f64>) {
        let dim = self.dim();
        to.resize(normals.len(), 0.0);
        self.shape.multiply(normals, to);
        for point in to.chunks_exact_mut(dim) {
            point.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = m + self.step * *x);
        }
    }

    /// Turns points into the coordinates in which the particles are standard normal.
    pub fn whiten(&self, points: &mut [f64]) {
        let dim = self.dim();
        for point in points.chunks_exact_mut(dim) {
            point.iter_mut().zip(&self.mean).for_each(|(x, m)| *x = (*x - m) / self.step);
        }
        self.shape.solve(points);
    }

    /// The largest deviation of a coordinate.
    pub fn widest(&self) -> f64 {
        self.step * self.deviations.iter().copied().fold(0.0, f64::max)
    }

    /// Moves the mean to the other side of a wall, beyond which every value is that of its mirror image, so that nothing else changes. From
    /// beyond it the mean would be drawn away from the box by the values and back to the wall by the penalty. In many dimensions this
    /// happens to some coordinate all the time; in few the mean comes back, and is left where it is.
    pub fn mirror(&mut self, k: usize, wall: f64) {
        if self.shape.mirror(k) {
            self.mean[k] = 2.0 * wall - self.mean[k];
            self.path[k] = -self.path[k];
            self.step_path[k] = -self.step_path[k];
        }
    }

    /// Learns from the particles: rows of standard normals (whitened points), the best first. The covariance stays as it is if it is not
    /// `shaping`.
    pub fn update(&mut self, ranked: &[f64], flat: bool, shaping: bool) {
        let dim = self.dim();
        let (d, rates) = (dim as f64, self.rates.clone());
        self.generation += 1;
        // The consensus of the particles, in their own coordinates, then in ours.
        let mut consensus = vec![0.0; dim];
        for (z, w) in ranked.chunks_exact(dim).zip(&rates.weights[..rates.parents]) {
            consensus.iter_mut().zip(z).for_each(|(c, z)| *c += w * z);
        }
        let mut moved = vec![0.0; dim];
        self.shape.multiply(&consensus, &mut moved);
        self.mean.iter_mut().zip(&moved).for_each(|(m, y)| *m += self.step * y);
        // The paths.
        let keep = 1.0 - rates.step;
        let push = (rates.step * (2.0 - rates.step) * rates.effective).sqrt();
        self.step_path.iter_mut().zip(&consensus).for_each(|(p, c)| *p = keep * *p + push * c);
        let squared = square(&self.step_path);
        let expected = d * (1.0 - libm::pow(keep, 2.0 * self.generation as f64));
        let steady = squared / expected < 2.0 + 4.0 / (d + 1.0);
        let push = if steady { (rates.path * (2.0 - rates.path) * rates.effective).sqrt() } else { 0.0 };
        self.path.iter_mut().zip(&moved).for_each(|(p, y)| *p = (1.0 - rates.path) * *p + push * y);
        if shaping {
            self.learn_shape(&rates, ranked, steady);
        }
        // The step size.
        let chi = d.sqrt() * (1.0 - 1.0 / (4.0 * d) + 1.0 / (21.0 * d * d));
        let mut change = (rates.step / rates.damping * (squared.sqrt() / chi - 1.0)).min(1.0);
        if flat {
            change = 0.2 + rates.step / rates.damping;
        }
        self.step *= exp(change);
        self.balance();
    }

    /// The covariance: `C <- A M A'` with M near the identity.
    fn learn_shape(&mut self, rates: &Rates, ranked: &[f64], steady: bool) {
        let dim = self.dim();
        let unsteady = if steady { 0.0 } else { rates.one * rates.path * (2.0 - rates.path) };
        let sum: f64 = rates.weights.iter().sum();
        let identity = 1.0 - rates.one - rates.many * sum + unsteady;
        let mut rows = self.path.clone();
        self.shape.solve(&mut rows);
        rows.extend_from_slice(ranked);
        let weigh = |(z, w): (&[f64], &f64)| {
            let scale = if *w < 0.0 { (dim as f64 / square(z).max(1e-300)).min(10.0) } else { 1.0 };
            rates.many * w * scale
        };
        let learnt = ranked.chunks_exact(dim).zip(&rates.weights).map(weigh);
        let weights: Vec<f64> = std::iter::once(rates.one).chain(learnt).collect();
        if !self.shape.learn(identity, &rows, &weights) {
            // Without the negative weights it always works.
            let count = 1 + rates.parents;
            self.shape.learn(1.0 - rates.one - rates.many, &rows[..count * dim], &weights[..count]);
        }
        self.shape.deviations(&mut self.deviations);
    }

    /// Only `s A` matters: in a long run A may grow while s shrinks, and neither should leave the range of numbers. Powers of 2 change no
    /// digit.
    fn balance(&mut self) {
        const FAR: f64 = (1u64 << 40) as f64;
        let widest = self.deviations.iter().copied().fold(0.0, f64::max);
        let factor = if widest > FAR {
            1.0 / FAR
        } else if widest < 1.0 / FAR {
            FAR
        } else {
            return;
        };
        self.shape.scale(factor);
        self.step /= factor;
        self.path.iter_mut().chain(&mut self.deviations).for_each(|v| *v *= factor);
    }
}

#[cfg(test)]
mod tests;
