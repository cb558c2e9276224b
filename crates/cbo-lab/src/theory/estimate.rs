//! Heights around the minimiser found by search, for functions whose constants are not proved.
//!
//! On spheres of the maximum norm whose radii form a geometric sequence, the least and the largest value are sought among the
//! ends of the axes, corners and points of a low-discrepancy sequence, the best of which a compass search improves. What
//! looks like a valley between spheres, and the best points of a sample of the whole domain, are improved without the
//! constraint and added. Nothing is random: the same problem gives the same numbers.

use super::TheoryError;
use cbo::{Objective, Rows, StepContext};
use cbo_problems::Problem;
use rayon::prelude::*;

/// Radii of the table, from the least to the largest part of the domain's reach.
const RADII: usize = 180;
const LEAST_PART: f64 = 1e-7;
const LARGEST_PART: f64 = 10.0;

/// Arithmetic that an estimate may cost, in operations, about.
const BUDGET: f64 = 4e9;

/// Values this far above the minimum, relative to its size, are more than rounding.
const TRUSTED: f64 = 1e-9;

/// Least and largest heights by radius.
#[derive(Clone, Debug)]
pub struct Table {
    /// The least E - E_min on the sphere.
    low: Curve,
    /// The largest in the ball.
    high: Curve,
    nu: f64,
}

/// Radii and heights, from the first that is more than rounding; interpolated on logarithmic axes.
#[derive(Clone, Debug)]
struct Curve(Vec<(f64, f64)>);

impl Curve {
    fn new(points: impl Iterator<Item = (f64, f64)>, trusted: f64) -> Option<Self> {
        let points: Vec<_> = points.skip_while(|(_, height)| *height <= trusted).collect();
        (!points.is_empty()).then_some(Self(points))
    }

    fn first(&self) -> (f64, f64) {
        self.0[0]
    }

    /// The power with which it begins.
    fn power(&self) -> f64 {
        let (radius, height) = self.first();
        let (other, above) = self.0.iter().copied().find(|(r, _)| *r > 4.0 * radius).unwrap_or((radius, height));
        (above / height).ln() / (other / radius).ln()
    }

    /// The height at this radius; before the first one by the power given.
    fn at(&self, r: f64, power: f64) -> f64 {
        let next = self.0.partition_point(|(radius, _)| *radius <= r);
        let (Some(last), true) = (next.checked_sub(1), next < self.0.len()) else {
            let (radius, height) = self.0[next.saturating_sub(1)];
            return height * (r / radius).powf(power);
        };
        let ((a, low), (b, high)) = (self.0[last], self.0[next]);
        if a == b || !(low.is_finite() && high.is_finite()) {
            return low.max(high);
        }
        let share = (r / a).ln() / (b / a).ln();
        low.powf(1.0 - share) * high.powf(share)
    }
}

/// The table of `problem`, whose domain reaches this far from the minimiser.
pub fn table(problem: &Problem, reach: f64) -> Result<Table, TheoryError> {
    let fails = |why: String| TheoryError::new("objective", problem.name(), format!("assumption A2 fails: {why}"));
    let search = Search::new(problem);
    let ratio = (LARGEST_PART / LEAST_PART).powf(1.0 / (RADII - 1) as f64);
    let radii: Vec<f64> = (0..RADII).map(|i| LEAST_PART * reach * ratio.powi(i as i32)).collect();
    let spheres: Vec<[Option<Found>; 2]> =
        radii.par_iter().map(|r| [1.0, -1.0].map(|sign| search.sphere(*r, sign))).collect();

    let trusted = TRUSTED * (1.0 + problem.minimum().abs());
    let lows = spheres.iter().filter_map(|[low, _]| low.as_ref()).map(|f| (f.radius, f.height));
    let mut top = 0.0f64;
    let highs = radii.iter().zip(&spheres).map(|(radius, [_, high])| {
        top = top.max(high.as_ref().map_or(f64::INFINITY, |f| f.height));
        (*radius, top)
    });
    let (Some(mut low), Some(high)) = (Curve::new(lows, trusted), Curve::new(highs, trusted)) else {
        return Err(fails("the function is flat around v*".into()));
    };
    let nu = exponent(low.power());
    let seeds: Vec<&Found> = valleys(&spheres).into_iter().chain(&search.domain).collect();
    let polished: Vec<Found> = seeds.par_iter().map(|seed| search.free(seed, reach)).collect();
    let first = low.first().0;
    low.0.extend(polished.iter().filter(|f| f.radius > first).map(|f| (f.radius, f.height)));
    low.0.sort_by(|a, b| a.0.total_cmp(&b.0));
    match low.0.iter().find(|(_, height)| *height <= trusted) {
        Some((radius, _)) => {
            Err(fails(format!("{radius:.4} away from v* a point was found that is as low as the minimum")))
        }
        None => Ok(Table { low, high, nu }),
    }
}

/// The best points of the spheres that are lower than both neighbours.
fn valleys(spheres: &[[Option<Found>; 2]]) -> Vec<&Found> {
    let height = |i: usize| spheres.get(i).and_then(|s| s[0].as_ref()).map_or(f64::INFINITY, |f| f.height);
    let is_valley = |i: &usize| height(*i) < height(i.wrapping_sub(1)) && height(*i) < height(i + 1);
    (1..spheres.len()).filter(is_valley).filter_map(|i| spheres[i][0].as_ref()).collect()
}

/// nu from the power with which the least values grow near v*. Powers that are nearly halves of whole numbers are taken to be
/// so.
fn exponent(power: f64) -> f64 {
    let rounded = (2.0 * power).round() / 2.0;
    let power = if (power - rounded).abs() < 0.1 { rounded } else { power };
    if power.is_finite() && power >= 0.5 { 1.0 / power } else { 0.5 }
}

impl Table {
    pub(super) fn nu(&self) -> f64 {
        self.nu
    }

    pub(super) fn least_radius(&self) -> f64 {
        self.low.first().0
    }

    pub(super) fn eta(&self, r0: f64) -> f64 {
        let quotient = |s: f64, low: f64| low.powf(self.nu) / s;
        let inside = self.low.0.iter().take_while(|(s, _)| *s <= r0).map(|(s, low)| quotient(*s, *low));
        inside.fold(quotient(r0, self.lowest(r0)), f64::min)
    }

    pub(super) fn far_field(&self, r0: f64) -> f64 {
        let outside = self.low.0.iter().filter(|(s, _)| *s >= r0).map(|(_, low)| *low);
        outside.fold(self.lowest(r0), f64::min)
    }

    pub(super) fn highest(&self, r: f64) -> f64 {
        self.high.at(r, self.leading_power())
    }

    pub(super) fn leading_power(&self) -> f64 {
        let power = self.high.power();
        if power.is_finite() && power > 0.0 { power } else { 1.0 / self.nu }
    }

    fn lowest(&self, s: f64) -> f64 {
        self.low.at(s, 1.0 / self.nu)
    }
}

/// A point and its height, E - E_min.
#[derive(Clone, Debug)]
struct Found {
    /// v - v*.
    offset: Vec<f64>,
    /// Its maximum norm.
    radius: f64,
    height: f64,
}

/// The search in one problem.
struct Search<'a> {
    problem: &'a Problem,
    /// Directions on the unit sphere of the maximum norm, each with a coordinate of size 1.
    directions: Vec<Vec<f64>>,
    /// Evaluations that one compass search may take.
    patience: usize,
    /// The best points of a sample of the domain.
    domain: Vec<Found>,
}

impl<'a> Search<'a> {
    fn new(problem: &'a Problem) -> Self {
        let dim = problem.dim();
        let d = dim as f64;
        let cost = 20.0 * d + if problem.rotation().is_some() { 2.0 * d * d } else { 0.0 };
        let evaluations = (BUDGET / (cost * RADII as f64)).clamp(64.0, 8000.0) as usize;
        let mut search = Self {
            problem,
            directions: turned(directions(dim, evaluations / 8), problem),
            patience: evaluations / 8,
            domain: Vec::new(),
        };
        search.domain = search.sample(evaluations);
        search
    }

    fn height(&self, offset: &[f64]) -> f64 {
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

    /// The least (`sign` 1) or the largest (-1) height on the sphere of this radius; `None` where all are infinite.
    fn sphere(&self, radius: f64, sign: f64) -> Option<Found> {
        let offsets: Vec<Vec<f64>> = self.directions.iter().map(|u| u.iter().map(|x| x * radius).collect()).collect();
        let heights = self.heights(&offsets);
        if sign < 0.0 && heights.iter().any(|h| h.is_infinite()) {
            return None;
        }
        let mut order: Vec<usize> = (0..heights.len()).filter(|i| heights[*i].is_finite()).collect();
        order.sort_by(|a, b| (sign * heights[*a]).total_cmp(&(sign * heights[*b])));
        let improved = order.iter().take(3).map(|&i| {
            let face = self.directions[i].iter().position(|x| x.abs() == 1.0);
            let (offset, height) =
                self.compass(offsets[i].clone(), radius, sign, |k, x| Some(k) != face && x.abs() <= radius);
            Found { offset, radius, height }
        });
        improved.min_by(|a, b| (sign * a.height).total_cmp(&(sign * b.height)))
    }

    /// The valley into which a point leads, without staying on its sphere.
    fn free(&self, from: &Found, reach: f64) -> Found {
        let (offset, height) =
            self.compass(from.offset.clone(), 0.1 * from.radius, 1.0, |_, x| x.abs() <= LARGEST_PART * reach);
        let radius = offset.iter().fold(0.0f64, |far, x| far.max(x.abs()));
        Found { offset, radius, height }
    }

    /// The best points of a sample of the domain.
    fn sample(&self, count: usize) -> Vec<Found> {
        let (domain, start) = (self.problem.domain(), &self.problem.minimisers()[0]);
        let offset = |u: &Vec<f64>| {
            u.iter().enumerate().map(|(k, u)| domain[k].0 + u * (domain[k].1 - domain[k].0) - start[k]).collect()
        };
        let offsets: Vec<Vec<f64>> = sequence(self.problem.dim(), count).iter().map(offset).collect();
        let heights = self.heights(&offsets);
        let mut order: Vec<usize> = (0..count).filter(|i| heights[*i].is_finite()).collect();
        order.sort_by(|a, b| heights[*a].total_cmp(&heights[*b]));
        let found = |i: &usize| Found {
            offset: offsets[*i].clone(),
            radius: offsets[*i].iter().fold(0.0f64, |far, x| far.max(x.abs())),
            height: heights[*i],
        };
        order.iter().take(16).map(found).collect()
    }

    /// Compass search: a step in each coordinate and direction that `admits` allows, halved when none improves.
    fn compass(&self, mut x: Vec<f64>, step: f64, sign: f64, admits: impl Fn(usize, f64) -> bool) -> (Vec<f64>, f64) {
        let (mut best, mut step, mut left) = (self.height(&x), step, self.patience);
        let least_step = step * 1e-12;
        while step > least_step && left > 0 {
            let mut improved = false;
            for k in 0..x.len() {
                for move_by in [step, -step] {
                    let old = x[k];
                    if !admits(k, old + move_by) || left == 0 {
                        continue;
                    }
                    x[k] = old + move_by;
                    left -= 1;
                    let height = self.height(&x);
                    if sign * height < sign * best && height.is_finite() {
                        (best, improved) = (height, true);
                        break;
                    }
                    x[k] = old;
                }
            }
            if !improved {
                step *= 0.5;
            }
        }
        (x, best)
    }
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
    for (i, mut u) in sequence(dim, count.saturating_sub(all.len()).max(8)).into_iter().enumerate() {
        u.iter_mut().for_each(|x| *x = 2.0 * *x - 1.0);
        if i % 4 == 0 {
            u.iter_mut().for_each(|x| *x = x.signum());
        } else {
            u[i / 2 % dim] = if i % 2 == 0 { 1.0 } else { -1.0 };
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
            let norm = image.iter().fold(0.0f64, |far, x| far.max(x.abs()));
            image.iter().map(|x| x / norm).collect()
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
