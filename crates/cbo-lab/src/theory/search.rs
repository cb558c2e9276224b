//! Search for low and high points around the minimiser: starts spread evenly, and a descent without derivatives.

use cbo::{Objective, Rows, StepContext};
use cbo_problems::Problem;

/// A point and its height, E - E_min.
#[derive(Clone, Debug)]
pub struct Found {
    /// v - v*.
    pub offset: Vec<f64>,
    /// Its maximum norm.
    pub radius: f64,
    /// The height.
    pub height: f64,
}

/// The maximum norm.
pub fn norm(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |far, x| far.max(x.abs()))
}

/// The search in one problem.
pub struct Search<'a> {
    problem: &'a Problem,
    /// Directions on the unit sphere of the maximum norm, each with a coordinate of size 1.
    directions: Vec<Vec<f64>>,
}

/// About how many operations one value costs.
pub fn cost(problem: &Problem) -> f64 {
    let d = problem.dim() as f64;
    20.0 * d + if problem.rotation().is_some() { 2.0 * d * d } else { 0.0 }
}

impl<'a> Search<'a> {
    /// A search with about this many directions.
    pub fn new(problem: &'a Problem, count: usize) -> Self {
        Self { problem, directions: turned(directions(problem.dim(), count), problem) }
    }

    /// E - E_min; infinite where it is not a number.
    pub fn height(&self, offset: &[f64]) -> f64 {
        let point: Vec<f64> = self.problem.minimisers()[0].iter().zip(offset).map(|(v, x)| v + x).collect();
        let value = self.problem.value(&point) - self.problem.minimum();
        if value.is_nan() { f64::INFINITY } else { value }
    }

    /// The heights of many points, on vectors.
    fn heights(&self, offsets: &[Vec<f64>]) -> Vec<f64> {
        let start = &self.problem.minimisers()[0];
        let points: Vec<f64> = offsets.iter().flat_map(|o| o.iter().zip(start).map(|(x, v)| v + x)).collect();
        let mut out = vec![0.0; offsets.len()];
        let rows = Rows::new(&points, self.problem.dim());
        if self.problem.energies(StepContext::default(), rows, &mut out).is_err() {
            return vec![f64::INFINITY; offsets.len()];
        }
        out.iter().map(|e| if e.is_nan() { f64::INFINITY } else { e - self.problem.minimum() }).collect()
    }

    /// The points in all directions at this radius that have the least (`sign` 1) or largest (-1) heights, best first; none
    /// if a largest one is sought and infinite.
    pub fn sphere(&self, radius: f64, sign: f64) -> Vec<Found> {
        let offsets: Vec<Vec<f64>> = self.directions.iter().map(|u| u.iter().map(|x| x * radius).collect()).collect();
        let heights = self.heights(&offsets);
        if sign < 0.0 && heights.iter().any(|h| h.is_infinite()) {
            return Vec::new();
        }
        let points = offsets.into_iter().zip(heights).filter(|(_, height)| height.is_finite());
        let mut all: Vec<Found> = points.map(|(offset, height)| Found { offset, radius, height }).collect();
        all.sort_by(|a, b| (sign * a.height).total_cmp(&(sign * b.height)));
        all
    }

    /// Descends (`sign` 1) or climbs (-1) on the sphere of the maximum norm on which `from` lies, including across its edges.
    pub fn along_sphere(&self, from: &Found, sign: f64, patience: usize) -> Found {
        let radius = from.radius;
        let cost = |x: &[f64]| if norm(x) == radius { sign * self.height(x) } else { f64::INFINITY };
        let (offset, value) = descend(from.offset.clone(), radius, radius, patience, cost);
        Found { offset, radius, height: sign * value }
    }

    /// The valley into which a point leads, no nearer to v* than `least` and no further than `largest`.
    pub fn between(&self, from: &Found, (least, largest): (f64, f64), patience: usize) -> Found {
        let cost = |x: &[f64]| if norm(x) >= least { self.height(x) } else { f64::INFINITY };
        let (offset, height) = descend(from.offset.clone(), 0.1 * from.radius, largest, patience, cost);
        Found { radius: norm(&offset), offset, height }
    }

    /// The best points of a sample of the domain.
    pub fn sample(&self, count: usize) -> Vec<Found> {
        let (domain, start) = (self.problem.domain(), &self.problem.minimisers()[0]);
        let offset = |u: &Vec<f64>| {
            u.iter().enumerate().map(|(k, u)| domain[k].0 + u * (domain[k].1 - domain[k].0) - start[k]).collect()
        };
        let offsets: Vec<Vec<f64>> = sequence(self.problem.dim(), count).iter().map(offset).collect();
        let heights = self.heights(&offsets);
        let mut order: Vec<usize> = (0..count).filter(|i| heights[*i].is_finite()).collect();
        order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
        let found = |i: &usize| Found { offset: offsets[*i].clone(), radius: norm(&offsets[*i]), height: heights[*i] };
        order.iter().take(16).map(found).collect()
    }
}

/// Search by pattern moves (Hooke and Jeeves): a step in each coordinate and direction within [-bound, bound], then once more
/// by all of them together, which follows valleys; halved when nothing improves. Where `cost` is infinite it does not go.
pub fn descend(
    mut x: Vec<f64>,
    mut step: f64,
    bound: f64,
    patience: usize,
    cost: impl Fn(&[f64]) -> f64,
) -> (Vec<f64>, f64) {
    let (mut best, mut left, least_step) = (cost(&x), patience, step * 1e-12);
    while step > least_step && left > 0 {
        let before = x.clone();
        for k in 0..x.len() {
            for move_by in [step, -step] {
                let old = x[k];
                let new = (old + move_by).clamp(-bound, bound);
                if new == old || left == 0 {
                    continue;
                }
                x[k] = new;
                left -= 1;
                let value = cost(&x);
                if value < best {
                    best = value;
                    break;
                }
                x[k] = old;
            }
        }
        if x == before {
            step *= 0.5;
            continue;
        }
        while left > 0 {
            let further: Vec<f64> = x.iter().zip(&before).map(|(x, b)| (2.0 * x - b).clamp(-bound, bound)).collect();
            left -= 1;
            let value = cost(&further);
            if value < best {
                (x, best) = (further, value);
            } else {
                break;
            }
        }
    }
    (x, best)
}

/// About `count` directions on the unit sphere of the maximum norm: ends of axes, corners, and a sequence in between.
fn directions(dim: usize, count: usize) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    for k in (0..dim).step_by((8 * dim).div_ceil(count).max(1)) {
        for end in [-1.0, 1.0] {
            let mut u = vec![0.0; dim];
            u[k] = end;
            all.push(u);
        }
    }
    // Every fourth a corner, the others on all faces in turn.
    for (i, mut u) in sequence(dim, count.saturating_sub(all.len()).max(8)).into_iter().enumerate() {
        u.iter_mut().for_each(|x| *x = 2.0 * *x - 1.0);
        if i % 4 == 0 {
            u.iter_mut().for_each(|x| *x = x.signum());
        } else {
            let face = i - i / 4 - 1;
            u[face / 2 % dim] = if face % 2 == 0 { 1.0 } else { -1.0 };
        }
        all.push(u);
    }
    all
}

/// The directions, and for a rotated function also the first of them (axes and corners) as the rotation leaves them: along
/// these a rotated function looks like the original one along the axes.
fn turned(mut all: Vec<Vec<f64>>, problem: &Problem) -> Vec<Vec<f64>> {
    if let Some(rotation) = problem.rotation() {
        let count = all.len().min(2 * problem.dim());
        let few = all.iter().take(count).chain(all.iter().skip(count).step_by(4));
        let image = |u: &Vec<f64>| {
            let image = rotation.apply_inverse(u);
            let size = norm(&image);
            image.iter().map(|x| x / size).collect()
        };
        let more: Vec<Vec<f64>> = few.map(image).collect();
        all.extend(more);
    }
    all
}

/// Points in the unit cube: multiples of the powers of 1/g modulo 1, with g^(dim + 1) = g + 1, which are evenly spread.
fn sequence(dim: usize, count: usize) -> Vec<Vec<f64>> {
    let mut g = 2.0f64;
    for _ in 0..64 {
        g = (1.0 + g).powf(1.0 / (dim as f64 + 1.0));
    }
    let steps: Vec<f64> = (1..=dim).map(|k| g.powi(-(k as i32))).collect();
    (1..=count).map(|i| steps.iter().map(|s| (0.5 + i as f64 * s).fract()).collect()).collect()
}
