//! Weighted least squares for a [model](super::model), kept up to date as points come and go: the inverse of the normal equations'
//! matrix changes by a rank of one with each point, and the coefficients with it (recursive least squares).

use super::core::Core;
use super::descent::{joined, median};
use super::model::{Frame, Kind, Model, fill};
use crate::buffer::Buffer;
use crate::matrix::cholesky::cholesky;
use crate::matrix::linear::{axpy_to, dot, solve_lower, solve_lower_transposed, square};
use crate::matrix::quadratic::{Equation, normal_equations};
use crate::matrix::symmetric::{add_squares, inverse, symmetric_times};
use std::collections::VecDeque;

/// A regression is begun anew when so many points for each term were added,
const RENEWAL: f64 = 1.0;
/// or when the points are so much wider or narrower than its coordinates, squared,
const DRIFT: f64 = 100.0;
/// or when so many changes for each term are to be made at once.
const UPHEAVAL: f64 = 1.0;
/// What is added to the diagonal, relative to its mean.
const RIDGE: f64 = 1e-10;
/// The logarithm of the weight of the best point; the worst one has the weight 1. It is large because the function is quadratic only
/// near its minimum: points further away say what those close by leave open.
const HEAVIEST: f64 = 9.0;
/// Among few points weights fall more slowly: by a factor of e over so many ranks.
const RANKS: f64 = 6.0;
/// By which factor a weight may be too large or too small before it is changed.
const TOLERANCE: f64 = 2.0;
/// A point is not taken out if less than this is left of what is known of some term.
const LEAST: f64 = 1e-6;
/// An error of the model is small if it is at most this part of how much its values differ,
const FORESEEN: f64 = 0.1;
/// and as long as errors are small so many points may wait.
const PATIENCE: usize = 4;
/// Numbers in a cache line, and in a vector.
const LINE: usize = 8;
/// Changes of the inverse that are made in one pass over it.
const AT_ONCE: usize = 8;

/// A point with its value, known by its number.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub number: u64,
    pub point: Vec<f64>,
    pub value: f64,
    /// What the value consists of, if there are constraints.
    pub parts: Vec<f64>,
}

/// A sample in the regression.
#[derive(Debug)]
struct Entry {
    /// In the coordinates of the model.
    point: Vec<f64>,
    value: f64,
    /// 0 if it is not in the sums.
    weight: f64,
}

#[derive(Debug)]
pub(super) struct Regression {
    pub kind: Kind,
    pub frame: Frame,
    pub model: Model,
    /// The value that is zero here, and the difference that is one.
    zero: f64,
    scale: f64,
    /// The last points, the oldest first, and its number; before them there may be some that are still to be taken out.
    entries: VecDeque<Entry>,
    oldest: u64,
    /// Their numbers, the best first.
    order: Vec<u64>,
    /// Memory for points to come.
    spare: Vec<Vec<f64>>,
    /// The Cholesky factor of the matrix, as it was when the equations were solved.
    factor: Buffer<f64>,
    /// The lower half of the inverse of the matrix, by columns, without those changes `gain direction direction'` that are still to
    /// be added.
    inverse: Buffer<f64>,
    directions: Buffer<f64>,
    gains: Vec<f64>,
    /// Room for the rows of points whose weights change, and for their products with the inverse.
    scratch: Buffer<f64>,
    /// Of all terms, and zeros up to the end of a vector, so that each column of a matrix begins on a cache line.
    coefficients: Vec<f64>,
    /// Points added since it was begun.
    added: usize,
    /// The points whose values were asked for last, and the same in the coordinates of the model.
    asked: (Vec<f64>, Vec<f64>),
    /// The model's values at these points, unless it has changed since.
    predicted: Vec<f64>,
    /// How much better than the median of these values the least one is.
    range: f64,
    /// Points that were taken in since all were weighed.
    waiting: usize,
    /// Whether the model did not change since its minimiser inside the trust region was found.
    told: bool,
    /// Where the search for the next minimiser begins.
    start: f64,
}

/// Whether a step ends well inside the ball of this radius: then it is the minimiser, wherever the ball is.
fn is_inside(step: &[f64], radius: f64) -> bool {
    square(step).sqrt() < 0.9 * radius
}

/// How many of the last points a model of `terms` looks at.
fn window(terms: usize, lambda: usize) -> usize {
    (2 * terms).max(lambda)
}

/// How many of `count` points count: not the worst quarter, if there are enough.
fn kept(count: usize, terms: usize) -> usize {
    (count - count / 4).max(terms + 2).min(count)
}

/// The weights of `count` points, the best first.
fn weights(count: usize, terms: usize) -> impl Iterator<Item = f64> {
    let kept = kept(count, terms);
    let heaviest = HEAVIEST.min(kept as f64 / RANKS);
    let next = libm::exp(-heaviest / kept as f64);
    let weights = std::iter::successors(Some(libm::exp(heaviest)), move |weight| Some(weight * next));
    weights.take(kept).chain(std::iter::repeat(0.0)).take(count)
}

impl Regression {
    /// Fits the last points. `None` if their values do not differ, or the equations have no solution. The memory of the regression `before`
    /// is used again.
    pub fn new(
        kind: Kind,
        frame: Frame,
        points: &VecDeque<Sample>,
        lambda: usize,
        before: Option<Self>,
    ) -> Option<Self> {
        let dim = frame.mean.len();
        let terms = kind.terms(dim);
        let count = window(terms, lambda).min(points.len());
        let last = points.iter().skip(points.len() - count);
        let mut order: Vec<(f64, u64)> = last.map(|sample| (sample.value, sample.number)).collect();
        let oldest = order.first()?.1;
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (zero, scale) = (order[0].0, order[kept(count, terms) - 1].0 - order[0].0);
        if !(scale > 0.0 && scale.is_finite()) {
            return None;
        }
        let order = order.into_iter().map(|(_, number)| number).collect();
        let (mut factor, mut spare) = (Buffer::new(0), Vec::new());
        if let Some(before) = before {
            factor = before.factor;
            spare = before.entries.into_iter().map(|entry| entry.point).collect();
        }
        let mut new = Self {
            kind,
            model: Model::new(kind, dim, &vec![0.0; terms]),
            frame,
            zero,
            scale,
            entries: VecDeque::new(),
            oldest,
            order,
            spare,
            factor,
            inverse: Buffer::new(0),
            directions: Buffer::new(0),
            gains: Vec::new(),
            scratch: Buffer::new(0),
            coefficients: vec![0.0; terms.next_multiple_of(LINE)],
            added: 0,
            asked: (Vec::new(), Vec::new()),
            predicted: Vec::new(),
            range: 0.0,
            waiting: 0,
            told: false,
            start: 0.0,
        };
        new.enter(points.iter().skip(points.len() - count));
        new.solve().then_some(new)
    }

    fn terms(&self) -> usize {
        self.kind.terms(self.frame.mean.len())
    }

    /// Takes points in, without any weight.
    fn enter<'a>(&mut self, samples: impl Iterator<Item = &'a Sample> + Clone) {
        let mut points = joined(samples.clone().map(|sample| sample.point.as_slice()));
        self.frame.enter(&mut points);
        for (sample, point) in samples.zip(points.chunks_exact(self.frame.mean.len())) {
            let mut room = self.spare.pop().unwrap_or_default();
            point.clone_into(&mut room);
            self.entries.push_back(Entry { point: room, value: (sample.value - self.zero) / self.scale, weight: 0.0 });
        }
    }

    fn get(&mut self, number: u64) -> &mut Entry {
        &mut self.entries[(number - self.oldest) as usize]
    }

    /// Weighs all points and solves the equations from scratch.
    fn solve(&mut self) -> bool {
        let (terms, width) = (self.terms(), self.coefficients.len());
        let count = self.order.len();
        for (number, weight) in self.order.clone().into_iter().zip(weights(count, terms)) {
            self.get(number).weight = weight;
        }
        let equations = self.entries.iter().filter(|entry| entry.weight > 0.0);
        let equations =
            equations.map(|Entry { point, value, weight }| Equation { point, value: *value, weight: *weight });
        let mut right = vec![0.0; width];
        let mut matrix = std::mem::replace(&mut self.factor, Buffer::new(0));
        if matrix.len() != width * width {
            matrix = Buffer::new(width * width);
        }
        if self.kind == Kind::Full {
            normal_equations(self.frame.mean.len(), width, equations, &mut matrix, &mut right);
        } else {
            let weights: Vec<f64> = equations.clone().map(|equation| equation.weight).collect();
            let mut rows = Buffer::new(weights.len() * width);
            for (equation, row) in equations.zip(rows.chunks_exact_mut(width)) {
                fill(self.kind, equation.point, row);
                axpy_to(equation.weight * equation.value, row, &mut right);
            }
            matrix.fill(0.0);
            add_squares(width, &mut matrix, &rows, &weights);
        }
        let ridge = RIDGE * (0..terms).map(|k| matrix[k * width + k]).sum::<f64>() / terms as f64;
        (0..terms).for_each(|k| matrix[k * width + k] += ridge);
        (terms..width).for_each(|k| matrix[k * width + k] = 1.0);
        if !cholesky(width, &mut matrix) {
            return false;
        }
        solve_lower(width, &matrix, &mut right);
        solve_lower_transposed(width, &matrix, &mut right);
        self.coefficients = right;
        self.factor = matrix;
        self.read_off()
    }

    /// Takes in the points that are new, drops those that are too old, and weighs all by their ranks. Tells whether that worked; if
    /// not, it should be begun anew. As long as the model foresees the values of new points they may wait, since they would hardly change it.
    pub fn update(&mut self, points: &VecDeque<Sample>, lambda: usize) -> bool {
        let terms = self.terms();
        let count = window(terms, lambda).min(points.len());
        let newest = self.oldest + self.entries.len() as u64;
        let first = points[points.len() - count].number;
        if first > newest {
            return false;
        }
        // Those that come last are the new ones.
        let new = points.iter().rev().take_while(|sample| sample.number >= newest).count();
        self.enter(points.iter().skip(points.len() - new));
        self.added += new;
        for number in newest..newest + new as u64 {
            let entries = &self.entries;
            let value = entries[(number - self.oldest) as usize].value;
            let at = self.order.partition_point(|n| entries[(n - self.oldest) as usize].value <= value);
            self.order.insert(at, number);
        }
        self.waiting += new;
        if self.waiting <= PATIENCE && self.foresaw(new) {
            return true;
        }
        self.waiting = 0;
        self.weigh(first, count)
    }

    /// Whether the model's errors at the last `count` points are small, compared to how much its values at the points asked for differ.
    fn foresaw(&self, count: usize) -> bool {
        let (predicted, values) = self.recent(count);
        let error = |(p, v): (&f64, &f64)| ((p - self.zero) / self.scale - v).abs() * self.scale;
        predicted.iter().zip(&values).map(error).all(|error| error <= FORESEEN * self.range)
    }

    /// Weighs all points from number `first` on, `count` of them, by their ranks, and drops those before.
    fn weigh(&mut self, first: u64, count: usize) -> bool {
        let terms = self.terms();
        self.order.retain(|&number| number >= first);
        // As better points come, all weights fall. Only their ratios matter, so most may stay as they are.
        let at = |number: &u64| (number - self.oldest) as usize;
        let ranked: Vec<(usize, f64)> = self.order.iter().map(at).zip(weights(count, terms)).collect();
        let ratios = ranked.iter().map(|&(at, weight)| self.entries[at].weight / weight);
        let unit = median(ratios.filter(|ratio| *ratio > 0.0 && ratio.is_finite()));
        let is_off = |&(at, weight): &(usize, f64)| match self.entries[at].weight {
            0.0 => weight > 0.0,
            now => !(1.0 / TOLERANCE..TOLERANCE).contains(&(now / weight)),
        };
        let old = (self.oldest..first).map(|number| (at(&number), 0.0));
        let mut changes: Vec<(usize, f64)> =
            old.chain(ranked.iter().map(|&(at, weight)| (at, unit * weight))).filter(is_off).collect();
        // Points that should no longer count hardly did before, and wait for each other.
        if changes.iter().filter(|(_, weight)| *weight == 0.0).count() < AT_ONCE {
            changes.retain(|(_, weight)| *weight > 0.0);
        }
        if self.is_old() || changes.len() as f64 > UPHEAVAL * terms as f64 {
            return false;
        }
        // What is added first: nothing is lost before.
        let (more, less): (Vec<_>, Vec<_>) = changes.into_iter().partition(|&(at, w)| w > self.entries[at].weight);
        let changes: Vec<(usize, f64)> = more.into_iter().chain(less).collect();
        changes.chunks(AT_ONCE).for_each(|changes| self.change(changes));
        while self.oldest < first && self.entries.front().is_some_and(|entry| entry.weight == 0.0) {
            self.entries.pop_front();
            self.oldest += 1;
        }
        self.read_off()
    }

    /// Gives points other weights. One without which the equations would hardly have a solution stays as it is.
    fn change(&mut self, changes: &[(usize, f64)]) {
        let width = self.coefficients.len();
        if self.inverse.is_empty() {
            self.inverse = inverse(width, &self.factor);
            self.directions = Buffer::new(2 * AT_ONCE * width);
            self.scratch = Buffer::new(2 * AT_ONCE * width);
        }
        let (rows, directions) = self.scratch.split_at_mut(AT_ONCE * width);
        let (rows, directions) = (&mut rows[..changes.len() * width], &mut directions[..changes.len() * width]);
        for (&(at, _), row) in changes.iter().zip(rows.chunks_exact_mut(width)) {
            fill(self.kind, &self.entries[at].point, row);
        }
        symmetric_times(width, &self.inverse, rows, directions);
        let directions = directions.chunks_exact_mut(width).zip(rows.chunks_exact(width));
        for (&(at, weight), (direction, row)) in changes.iter().zip(directions) {
            let entry = &mut self.entries[at];
            for (earlier, gain) in self.directions.chunks_exact(width).zip(&self.gains) {
                axpy_to(gain * dot(row, earlier), earlier, direction);
            }
            let difference = weight - entry.weight;
            let left = 1.0 + difference * dot(row, direction);
            if !(left > LEAST && left.is_finite()) {
                continue;
            }
            entry.weight = weight;
            let gain = difference / left;
            let error = entry.value - dot(row, &self.coefficients);
            axpy_to(gain * error, direction, &mut self.coefficients);
            let known = self.gains.len() * width;
            self.directions[known..known + width].copy_from_slice(direction);
            self.gains.push(-gain);
        }
        if self.gains.len() >= AT_ONCE {
            let directions = &self.directions[..self.gains.len() * width];
            add_squares(width, &mut self.inverse, directions, &self.gains);
            self.gains.clear();
        }
    }

    /// Whether it should be begun anew: the coordinates fit no longer.
    fn is_old(&self) -> bool {
        let dim = self.frame.mean.len();
        let recent = self.entries.iter().rev().take(10);
        let size = recent.clone().map(|entry| square(&entry.point)).sum::<f64>() / (recent.len() * dim) as f64;
        self.added as f64 > RENEWAL * self.terms() as f64 || !(1.0 / DRIFT..=DRIFT).contains(&size)
    }

    /// The model with these coefficients.
    fn read_off(&mut self) -> bool {
        self.told = false;
        self.predicted.clear();
        let mut coefficients: Vec<f64> = self.coefficients.iter().map(|c| c * self.scale).collect();
        coefficients[0] += self.zero;
        self.model = Model::new(self.kind, self.frame.mean.len(), &coefficients);
        coefficients.iter().all(|c| c.is_finite())
    }

    /// The model's values at points.
    pub fn predict(&mut self, points: &[f64]) -> &[f64] {
        if self.asked.0 != points {
            self.asked = (points.to_vec(), points.to_vec());
            self.frame.enter(&mut self.asked.1);
            self.predicted.clear();
        }
        if self.predicted.is_empty() {
            self.predicted = self.model.predict(&self.asked.1);
            let least = self.predicted.iter().copied().fold(f64::INFINITY, f64::min);
            self.range = median(self.predicted.iter().copied()) - least;
        }
        &self.predicted
    }

    /// The model's values at the last `count` points, and the true ones up to a constant and a positive factor.
    pub fn recent(&self, count: usize) -> (Vec<f64>, Vec<f64>) {
        let last = || self.entries.iter().rev().take(count);
        let points = joined(last().map(|entry| entry.point.as_slice()));
        (self.model.predict(&points), last().map(|entry| entry.value).collect())
    }

    /// Where the model expects the minimum, within this distance of the mean of `core` in units of its spread. Nothing if that was told
    /// before.
    pub fn minimiser(&mut self, core: &Core, radius: f64) -> Option<Vec<f64>> {
        if self.told {
            return None;
        }
        let dim = self.frame.mean.len();
        let mut w = core.mean.clone();
        self.frame.enter(&mut w);
        let near = self.model.seen_from(&w);
        let scale = core.step / self.frame.step;
        if self.kind != Kind::Full {
            // The shape hardly changes while such a model holds, and in its own coordinates it is solved at once.
            let step = near.minimiser(radius * scale, &mut self.start)?;
            self.told = is_inside(&step, radius * scale);
            return Some(self.frame.leave(&w.iter().zip(step).map(|(w, s)| w + s).collect::<Vec<f64>>()));
        }
        // Points one deviation of the particles along each axis.
        let mut axes = vec![0.0; dim * dim];
        let mut units = vec![0.0; dim * dim];
        (0..dim).for_each(|k| units[k * dim + k] = scale);
        core.shape.multiply(&units, &mut axes);
        self.frame.turn(&mut axes);
        let step = near.along(&axes).minimiser(radius, &mut self.start)?;
        self.told = is_inside(&step, radius);
        let mut point = Vec::new();
        core.points(&step, &mut point);
        Some(point)
    }
}

#[cfg(test)]
mod tests;
