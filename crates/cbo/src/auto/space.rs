//! The unit box in which the solver works, and the user's coordinates.

use crate::bounds::{BoundHandling, reflect};
use crate::config::Plan;
use crate::initial::InitialLaw;

/// How many standard deviations of a normal start make the side of the unit box.
const SIDE: f64 = 5.0;

/// The map between the unit box and the user's coordinates, coordinate by coordinate: `x = offset + width u`.
#[derive(Debug)]
pub(super) struct Space {
    offset: Vec<f64>,
    width: Vec<f64>,
    /// Walls, in u; infinite where there are none.
    walls: Vec<(f64, f64)>,
    bounds: Vec<(f64, f64)>,
    /// The box in which runs start, in u.
    pub start: Vec<(f64, f64)>,
    /// Where the first run starts, if the user said so.
    pub first: Option<Vec<f64>>,
}

impl Space {
    /// The space of a plan. A `local` run starts in the middle of a box, if the user gave no point.
    pub fn new(plan: &Plan, local: bool) -> Self {
        let (config, dim) = (plan.config(), plan.dim());
        let kept = config.bounds.as_ref().filter(|_| config.bound_handling != BoundHandling::None);
        let bounds = kept.cloned().unwrap_or_else(|| vec![(f64::NEG_INFINITY, f64::INFINITY); dim]);
        // Where the user would start: a box, and perhaps a point.
        let (boxed, first): (Vec<(f64, f64)>, Option<Vec<f64>>) = match &config.init {
            InitialLaw::Uniform { low, high } => ((0..dim).map(|k| (low.get(k), high.get(k))).collect(), None),
            InitialLaw::Normal { mean, variance } => {
                let boxed = (0..dim).map(|k| around(mean.get(k), variance.get(k), bounds[k])).collect();
                (boxed, Some((0..dim).map(|k| mean.get(k)).collect()))
            }
            InitialLaw::Points(points) => {
                let (mean, variance) = moments(points, dim);
                ((0..dim).map(|k| around(mean[k], variance[k], bounds[k])).collect(), Some(mean))
            }
        };
        let first = first.or_else(|| local.then(|| boxed.iter().map(|(low, high)| 0.5 * low + 0.5 * high).collect()));
        let (mut offset, mut width, mut walls, mut start) = (vec![], vec![], vec![], vec![]);
        for (k, (&(low, high), &(from, to))) in bounds.iter().zip(&boxed).enumerate() {
            let (from, to) = (from.max(low), to.min(high));
            let (from, to) = if from < to { (from, to) } else { nearby(boxed[k], (low, high)) };
            let whole = low.is_finite() && high.is_finite() && (high - low).is_finite();
            let (at, side) = if whole { (low, high - low) } else { (from, to - from) };
            offset.push(at);
            width.push(side);
            walls.push(((low - at) / side, (high - at) / side));
            start.push(((from - at) / side, (to - at) / side));
        }
        let space = Self { offset, width, walls, bounds, start, first: None };
        let first = first.map(|x| {
            (0..dim)
                .map(|k| ((x[k] - space.offset[k]) / space.width[k]).clamp(space.walls[k].0, space.walls[k].1))
                .collect()
        });
        Self { first, ..space }
    }

    pub fn dim(&self) -> usize {
        self.offset.len()
    }

    /// The user's coordinates of `u`, never outside the bounds.
    pub fn to_user(&self, u: &[f64], x: &mut [f64]) {
        for (k, x) in x.iter_mut().enumerate() {
            let (low, high) = self.bounds[k];
            *x = (self.offset[k] + self.width[k] * u[k]).max(low).min(high);
        }
    }

    /// The width of the unit box in the user's coordinates.
    pub fn width(&self) -> &[f64] {
        &self.width
    }

    /// Whether coordinate `k` has walls on both sides.
    pub fn is_between_walls(&self, k: usize) -> bool {
        self.walls[k].0.is_finite() && self.walls[k].1.is_finite()
    }

    pub fn walls(&self, k: usize) -> (f64, f64) {
        self.walls[k]
    }

    /// The ends between which a line along coordinate `k` is searched.
    pub fn line(&self, k: usize) -> (f64, f64) {
        let (low, high) = self.walls[k];
        let (from, to) = self.start[k];
        (if low.is_finite() { low } else { from }, if high.is_finite() { high } else { to })
    }

    /// Coordinate `k` reflected at its walls.
    pub fn reflected(&self, k: usize, u: f64) -> f64 {
        let (low, high) = self.walls[k];
        reflect(u, low, high)
    }
}

/// Mean and variance of each coordinate of some points.
fn moments(points: &[f64], dim: usize) -> (Vec<f64>, Vec<f64>) {
    let count = (points.len() / dim) as f64;
    let column = |k: usize| points.iter().skip(k).step_by(dim);
    let mean: Vec<f64> = (0..dim).map(|k| column(k).map(|x| x / count).sum()).collect();
    let variance = (0..dim).map(|k| column(k).map(|x| (x - mean[k]).powi(2) / count).sum()).collect();
    (mean, variance)
}

/// The interval in which runs start around a point. Without a spread it is as wide as the bounds or, where one of them is missing, as
/// the point is large, at least 1.
fn around(mean: f64, variance: f64, (low, high): (f64, f64)) -> (f64, f64) {
    let half = match 0.5 * (high - low) {
        _ if variance > 0.0 => 0.5 * SIDE * variance.sqrt().min(f64::MAX / (4.0 * SIDE)),
        half if half.is_finite() => half,
        _ => 0.5 * mean.abs().max(1.0),
    };
    ((mean - half).max(f64::MIN / 4.0), (mean + half).min(f64::MAX / 4.0))
}

/// A box inside the bounds for a start that lies outside them.
fn nearby(boxed: (f64, f64), (low, high): (f64, f64)) -> (f64, f64) {
    let side = (boxed.1 - boxed.0).max(f64::MIN_POSITIVE);
    match (low.is_finite(), high.is_finite()) {
        (true, true) => (low, high),
        (true, false) => (low, low + side),
        (false, true) => (high - side, high),
        (false, false) => boxed,
    }
}
