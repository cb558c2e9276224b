//! One run of the [core](super::core) from one start, with a [model](super::model) that saves evaluations.

mod amid;
mod ends;

pub(super) use ends::End;

use super::core::Core;
use super::curvature::inverse_curvature;
use super::desk::Desk;
use super::model::{Frame, Kind, kendall};
use super::noise::{self, Blur};
use super::random::Random;
use super::regression::{Regression, Sample};
use crate::matrix::linear::square;
use std::collections::VecDeque;

/// How a run begins.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub core: Core,
    pub lambda: usize,
    /// Whether a model is used.
    pub model: bool,
    /// Whether the run is given up when it will not reach the best value so far.
    pub race: bool,
    pub first: bool,
    /// Which run it is, from 1.
    pub number: u64,
    /// The evaluations after which it ends when noise hides the differences of its particles.
    pub most: u64,
}

/// Kendall's tau from which on a model is believed.
const GOOD: f64 = 0.85;
/// Failures of the largest model in a row from which on it is doubtful.
const DOUBT: u32 = 4;
/// The most generations in a row without a model, as a power of two.
const MOST_SKIPPED: u32 = 5;
/// The least part of the particles that is evaluated in every other generation where no model has products of coordinates.
const TRUE: f64 = 1.0 / 3.0;
/// Particles for each coordinate where a full model has just held: those that are not evaluated cost next to nothing, and the more there are,
/// the better is the one that is.
const FORESEEN: f64 = 1.2;
/// The largest deviation of a coordinate between two walls.
const WIDEST: f64 = 0.6;
/// Below this width the particles are in one basin.
const LOCAL: f64 = 0.01;
/// Above this width rounding does not disturb the curvature.
const RESOLVED: f64 = 1e-6;

/// A run and what it has seen.
pub(super) struct Descent<'a> {
    pub(super) desk: &'a Desk,
    random: Random,
    start: Start,
    pub core: Core,
    /// The particles of this generation.
    lambda: usize,
    /// Evaluated points, the oldest first, and their values.
    pub(super) points: VecDeque<Sample>,
    numbered: u64,
    /// The number of points when one was last equal to one of the 39 before it.
    tied: Option<u64>,
    keep: usize,
    /// The best value of this run, and where.
    pub best: (Vec<f64>, f64),
    /// What that value consists of, if there are constraints.
    pub(super) best_parts: Vec<f64>,
    /// The same of the points from which no price was learnt yet, and what those before agreed on.
    pub(super) told: Vec<Vec<f64>>,
    pub(super) agreed: Vec<(f64, f64)>,
    spent: u64,
    /// Where the model expects the minimum.
    guess: Option<Vec<f64>>,
    pub model: Option<Regression>,
    most: Kind,
    /// Generations to go without a model, and failures of the largest one so far.
    skip: u32,
    failures: u32,
    /// Interquartile ranges of the last generations.
    ranges: VecDeque<f64>,
    /// The best value of each generation.
    bests: Vec<f64>,
    /// For stagnation: an entry for each lambda evaluations.
    trail: Vec<(f64, f64)>,
    trail_spent: u64,
    /// The inverse of the curvature, and how wide the particles were when it was found.
    inverse: Option<(Vec<f64>, f64)>,
    /// Generations with the largest model, and those in which it was good enough.
    pub tried: (u32, u32),
    /// Whether a model spared evaluations in the last generation.
    held: bool,
    /// The best value before this run, and what it consists of.
    pub(super) rival: (Vec<f64>, f64),
    blur: Blur,
}

impl<'a> Descent<'a> {
    pub fn new(desk: &'a Desk, random: Random, start: Start) -> Self {
        let dim = start.core.dim();
        let most = if dim <= super::FULL_MODEL { Kind::Full } else { Kind::Diagonal };
        // In many dimensions a model costs more than it saves.
        let start = Start { model: start.model && dim <= super::ANY_MODEL, ..start };
        let keep = if start.model { 2 * most.terms(dim) } else { 0 };
        Self {
            core: start.core.clone(),
            lambda: start.lambda,
            points: VecDeque::new(),
            numbered: 0,
            tied: None,
            keep: keep.max(start.lambda).max(40),
            best: (start.core.mean.clone(), f64::INFINITY),
            best_parts: Vec::new(),
            told: Vec::new(),
            agreed: Vec::new(),
            spent: 0,
            guess: None,
            model: None,
            most,
            skip: 0,
            failures: 0,
            ranges: VecDeque::new(),
            bests: Vec::new(),
            trail: Vec::new(),
            trail_spent: 0,
            inverse: None,
            tried: (0, 0),
            held: false,
            rival: (desk.best_parts(), desk.best()),
            blur: Blur::default(),
            desk,
            random,
            start,
        }
    }

    fn dim(&self) -> usize {
        self.core.dim()
    }

    /// The usual particles of a generation.
    pub fn lambda(&self) -> usize {
        self.start.lambda
    }

    pub fn spent(&self) -> u64 {
        self.spent
    }

    pub async fn run(&mut self) -> End {
        loop {
            self.generation().await;
            self.adapt_prices();
            if let Some(end) = self.amid_noise().await.or_else(|| self.end()) {
                return end;
            }
        }
    }

    /// Forgets the values of the generations so far, which are no longer comparable to those to come.
    pub(super) fn forget_values(&mut self) {
        self.ranges.clear();
        self.bests.clear();
        self.trail.clear();
    }

    /// Leaves the inverse of the curvature on the desk, as it was when values still differed by more than rounding.
    pub fn leave_covariance(&self) {
        if let Some((inverse, _)) = &self.inverse {
            self.desk.with(|sheet| sheet.covariance = Some((inverse.clone(), self.best.0.clone())));
        }
    }

    /// The inverse of the curvature: from the last points if there are enough of them, else from the covariance of the particles, whose
    /// values are on average half the dimension above the least in units in which it is that inverse.
    fn inverse_curvature(&self, values: &[f64]) -> Option<Vec<f64>> {
        let Core { step, shape, .. } = &self.core;
        let (best, least) = self.best.clone();
        let frame = Frame::new(best, *step, shape.clone());
        if self.kind() == Some(Kind::Full)
            && let Some(inverse) = inverse_curvature(&frame, least, self.points.iter())
        {
            return Some(inverse);
        }
        let rise = values.iter().map(|v| v - least).sum::<f64>() / values.len() as f64;
        let factor = step * step * self.dim() as f64 / (2.0 * rise);
        let covariance = shape.covariance(None).filter(|_| factor.is_finite())?;
        Some(covariance.into_iter().map(|c| factor * c).collect())
    }

    /// Has more particles as long as a model foresees most of their values.
    fn populate(&mut self) {
        let usual = self.start.lambda;
        let foreseen = if self.held && self.most == Kind::Full { (FORESEEN * self.dim() as f64) as usize } else { 0 };
        let lambda = usual.max(foreseen);
        if lambda != self.lambda {
            self.lambda = lambda;
            self.core.populate(lambda);
        }
    }

    /// Draws particles, evaluates as many as needed, and lets the core learn.
    async fn generation(&mut self) {
        self.populate();
        let (dim, lambda) = (self.dim(), self.lambda);
        let mut normals = Vec::new();
        self.random.normals(lambda, dim, &mut normals);
        let mut drawn = Vec::new();
        self.core.points(&normals, &mut drawn);
        if let Some(guess) = self.guess.take() {
            let last = (lambda - 1) * dim;
            drawn[last..].copy_from_slice(&guess);
            normals[last..].copy_from_slice(&guess);
            self.core.whiten(&mut normals[last..]);
            let length = square(&normals[last..]).sqrt();
            let most = (dim as f64).sqrt() + 2.0 * dim as f64 / (dim as f64 + 2.0);
            if length > most {
                normals[last..].iter_mut().for_each(|z| *z *= most / length);
            }
        }
        let (inside, outside) = self.reflect(&drawn);
        let gamma = median(self.ranges.iter().copied());
        let penalty: Vec<f64> = outside.iter().map(|o| o * gamma).collect();
        let mut values = vec![f64::NAN; lambda];
        let (mut modelled, mut shaping) = (false, true);
        let kind = if self.start.model && self.skip == 0 { self.kind() } else { None };
        self.skip = self.skip.saturating_sub(1);
        if let Some(kind) = kind {
            if self.model.as_ref().is_none_or(|m| m.kind != kind) {
                self.refit(kind);
            }
            let width = self.desk.width();
            // A model without products leads the mean in every other generation, but from its values alone the shape would never learn
            // how coordinates act together.
            let alone = self.most != Kind::Full && self.core.generation % 2 == 1;
            // A model that failed again and again is tried once for all particles together.
            let doubtful = kind == self.most && self.failures >= DOUBT;
            let mut k = (1 + (0.02 * lambda as f64).max(4.0 - self.points.len() as f64).max(0.0) as usize).max(width);
            if self.most != Kind::Full && !alone {
                k = k.max((TRUE * lambda as f64).ceil() as usize);
            }
            if doubtful {
                k = lambda;
            }
            loop {
                let mut order: Vec<usize> = (0..lambda).filter(|&i| values[i].is_nan()).collect();
                if let Some(predicted) = self.predict(&inside) {
                    order.sort_by(|&i, &j| (predicted[i] + penalty[i]).total_cmp(&(predicted[j] + penalty[j])));
                }
                let done = lambda - order.len();
                // No fewer than a round should have, and no fewer left for the next.
                let count = k.saturating_sub(done).max(width).min(order.len());
                let count = if order.len() - count < width { order.len() } else { count };
                self.evaluate(&inside, &order[..count], &mut values).await;
                let done = done + count;
                if done == lambda {
                    break;
                }
                let recent = 15.max((1.2 * done as f64).min(0.75 * lambda as f64) as usize).min(self.points.len());
                self.refit(kind);
                // A model of feasible points knows nothing of infeasible ones.
                if values.iter().all(|v| !v.is_infinite())
                    && self.tau(recent) >= GOOD
                    && let Some(predicted) = self.predict(&inside)
                {
                    // The model's values for the rest, shifted so that its least is the least true one.
                    let least_true = values.iter().copied().fold(f64::INFINITY, f64::min);
                    let least_model = predicted.iter().copied().fold(f64::INFINITY, f64::min);
                    for i in 0..lambda {
                        if values[i].is_nan() {
                            values[i] = predicted[i] + (least_true - least_model).max(0.0);
                        }
                    }
                    modelled = true;
                    break;
                }
                k = (1.5 * k as f64).ceil() as usize;
            }
            shaping = !(alone && modelled);
            if doubtful {
                self.refit(kind);
                modelled = self.tau(15.max(3 * lambda / 4)) >= GOOD;
            }
            if kind == self.most {
                self.tried.0 += 1;
                self.tried.1 += u32::from(modelled);
                if modelled {
                    self.failures = 0;
                } else {
                    self.skip = (1 << self.failures.min(MOST_SKIPPED)) - 1;
                    self.failures += 1;
                }
            }
            if modelled || !doubtful {
                let radius = (dim as f64).sqrt();
                self.guess = self.model.as_mut().and_then(|m| m.minimiser(&self.core, radius));
            }
        } else {
            let all: Vec<usize> = (0..lambda).collect();
            self.evaluate(&inside, &all, &mut values).await;
        }
        self.held = modelled;
        self.learn(&normals, values, &penalty, shaping);
    }

    /// Ranks the particles and updates the core, with its shape or without.
    fn learn(&mut self, normals: &[f64], values: Vec<f64>, penalty: &[f64], shaping: bool) {
        let (dim, lambda) = (self.dim(), self.lambda);
        let ranked: Vec<f64> = values.iter().zip(penalty).map(|(v, p)| v + p).collect();
        let mut order: Vec<usize> = (0..lambda).collect();
        order.sort_by(|&i, &j| ranked[i].total_cmp(&ranked[j]));
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.len() >= 4 {
            let n = sorted.len();
            self.ranges.push_back(sorted[3 * n / 4] - sorted[n / 4]);
            if self.ranges.len() > 20 + 3 * dim / lambda {
                self.ranges.pop_front();
            }
        }
        self.blur.note(&sorted);
        // Each time the particles are a tenth as wide, but not where rounding is as large as what the curvature says.
        let differ = sorted.len() == lambda && sorted[lambda - 1] - sorted[0] > 1e-9 * sorted[0].abs();
        let width = self.core.widest();
        let narrower = self.inverse.as_ref().map_or(width < LOCAL, |(_, at)| width > RESOLVED && width < 0.1 * at);
        // Nobody asks for the curvature at another minimum than the best.
        let leads = self.best.1 <= self.desk.best();
        if narrower && leads && differ && self.blur.is_clear(noise::variance(self.desk)) {
            self.inverse = self.inverse_curvature(&values).map(|found| (found, width)).or_else(|| self.inverse.take());
        }
        let rows = joined(order.iter().map(|&i| &normals[i * dim..(i + 1) * dim]));
        let other = ((0.1 + lambda as f64 / 4.0) as usize + 2).min(lambda - 1);
        let flat = ranked[order[0]] == ranked[order[other]];
        self.core.update(&rows, flat, shaping);
        // The particles should not be wider than the box, nor the mean far outside it.
        let between = self.desk.with(|sheet| {
            let deviations = self.core.deviations.iter().enumerate();
            let walled = deviations.filter(|(k, _)| sheet.space.is_between_walls(*k)).map(|(_, deviation)| *deviation);
            self.core.step * walled.fold(0.0, f64::max)
        });
        if between > WIDEST {
            self.core.step *= WIDEST / between;
        }
        self.desk.with(|sheet| {
            for k in 0..dim {
                let (low, high) = sheet.space.walls(k);
                let m = self.core.mean[k];
                if m < low {
                    self.core.mirror(k, low);
                } else if m > high {
                    self.core.mirror(k, high);
                }
                self.core.mean[k] = self.core.mean[k].clamp(low - 0.5, high + 0.5);
            }
        });
        self.desk.with(|sheet| {
            sheet.consensus.copy_from_slice(&self.core.mean);
            (sheet.step, sheet.effective) = (self.core.widest(), self.core.rates.effective);
        });
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        self.bests.push(least);
        if self.spent >= self.trail_spent + lambda as u64 || self.trail.is_empty() {
            self.trail_spent = self.spent;
            let middle = sorted.get(sorted.len() / 2).copied().unwrap_or(f64::INFINITY);
            self.trail.push((least, middle));
        }
    }

    async fn evaluate(&mut self, inside: &[f64], which: &[usize], values: &mut [f64]) {
        let dim = self.dim();
        let points = joined(which.iter().map(|&i| &inside[i * dim..(i + 1) * dim]));
        let (answers, parts) = self.desk.evaluate_parts(&points).await;
        self.spent += answers.len() as u64;
        let width = parts.len() / answers.len();
        for (n, (&i, value)) in which.iter().zip(answers).enumerate() {
            values[i] = value;
            let point = &inside[i * dim..(i + 1) * dim];
            let parts = parts[n * width..(n + 1) * width].to_vec();
            if value < self.best.1 {
                self.best = (point.to_vec(), value);
                self.best_parts.clone_from(&parts);
            }
            if !parts.is_empty() {
                self.told.push(parts.clone());
            }
            if value.is_finite() {
                if self.points.len() == self.keep {
                    self.points.pop_front();
                }
                let mut last = self.points.iter().rev().take(ends::LAST - 1);
                // Prices may become equal later.
                if !parts.is_empty() || last.any(|sample| sample.value == value) {
                    self.tied = Some(self.numbered);
                }
                self.points.push_back(Sample { number: self.numbered, point: point.to_vec(), value, parts });
                self.numbered += 1;
            }
        }
    }

    /// Points reflected into the box, and how far outside they were, in squared deviations.
    fn reflect(&self, drawn: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let dim = self.dim();
        let mut inside = drawn.to_vec();
        let outside = self.desk.with(|sheet| {
            let reflect = |point: &mut [f64]| {
                let mut sum = 0.0;
                for (k, x) in point.iter_mut().enumerate() {
                    let reflected = sheet.space.reflected(k, *x);
                    sum += ((*x - reflected) / (self.core.step * self.core.deviations[k])).powi(2);
                    *x = reflected;
                }
                sum / dim as f64
            };
            inside.chunks_exact_mut(dim).map(reflect).collect()
        });
        (inside, outside)
    }

    fn kind(&self) -> Option<Kind> {
        Kind::for_points(self.points.len(), self.dim(), self.most)
    }

    fn refit(&mut self, kind: Kind) {
        if let Some(model) = &mut self.model
            && model.kind == kind
            && model.update(&self.points, self.lambda)
        {
            return;
        }
        let Core { mean, step, shape, .. } = &self.core;
        let frame = Frame::new(mean.clone(), *step, shape.clone());
        self.model = Regression::new(kind, frame, &self.points, self.lambda, self.model.take());
    }

    fn predict(&mut self, points: &[f64]) -> Option<&[f64]> {
        self.model.as_mut().map(|model| model.predict(points))
    }

    /// How well the model orders the last points.
    fn tau(&self, recent: usize) -> f64 {
        self.model.as_ref().map_or(0.0, |model| {
            let (predicted, values) = model.recent(recent);
            kendall(&predicted, &values)
        })
    }
}

/// Rows of the same length, one after the other.
pub(super) fn joined<'a>(mut rows: impl Iterator<Item = &'a [f64]>) -> Vec<f64> {
    let mut all = Vec::new();
    if let Some(first) = rows.next() {
        all.reserve_exact(first.len() * (1 + rows.size_hint().0));
        all.extend_from_slice(first);
        rows.for_each(|row| all.extend_from_slice(row));
    }
    all
}

/// The median of some numbers; 0 of none.
pub(super) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}
