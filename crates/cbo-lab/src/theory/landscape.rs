//! Heights around the minimiser, by distance in the maximum norm: all that assumption A2 and `E_r` depend on.
//!
//! With `low(s)` the least value of E - E_min where `||v - v*||_inf = s`, the sharp constants of A2 are
//! `eta = inf_{0 < s <= R_0} low(s)^nu / s` and `E_inf = inf_{s > R_0} low(s)`, and `E_r` is the largest value in the closed
//! ball of radius r. The paper asks for `E_inf < E(v) - E_min`; its proofs use only `<=`, so the infimum itself will do.
//!
//! For a sum `E - E_min = sum_k e_k(x_k)` of functions `e_k >= 0` that vanish at 0, the least value on the sphere of radius s
//! has one coordinate at s or -s and all others at 0: `low(s) = min_k min(e_k(s), e_k(-s))`. The largest value in the ball is
//! the sum of the largest ones of each coordinate. A function of `|x|_2` alone takes on the sphere of radius s the values of
//! the distances from s to s sqrt(d). In both cases the constants are those of functions of one variable, found in closed
//! form or by bisection of a derivative: exact.

use super::estimate::{self, Table};
use super::{Basis, TheoryError};
use cbo_problems::Problem;
use std::f64::consts::{PI, TAU};

/// Heights of a function around its minimiser.
#[derive(Clone, Debug)]
pub struct Landscape {
    shape: Shape,
    /// The exponent nu of A2.
    pub nu: f64,
    /// Whether the heights are proved or estimated.
    pub basis: Basis,
    /// The radii R_0 that are admitted, least and largest.
    pub range: (f64, f64),
}

#[derive(Clone, Debug)]
enum Shape {
    Powers(Vec<Term>),
    Ripples(Ripples),
    Quartic { start: f64, dim: f64 },
    Rings { root: f64 },
    Table(Table),
}

/// Coordinates with the same power: `e_k(x) = w_k |x|^power`. Powers ascend, and where there are several, all weights are 1.
#[derive(Clone, Copy, Debug)]
struct Term {
    power: f64,
    least_weight: f64,
    total_weight: f64,
}

/// Radii below this fraction of the domain are not admitted: values there are lost in rounding.
const LEAST_PART: f64 = 1e-9;

/// More dimensions than these are not searched: it would take minutes and find little.
const MOST_SEARCHED: usize = 10_000;
const MOST_ROTATED: usize = 500;

impl Landscape {
    /// The heights of `problem`: exact where they are proved, else estimated.
    ///
    /// An error if assumption A2 fails whatever the radius: several minimisers, or one at the edge of the domain.
    pub fn new(problem: &Problem) -> Result<Self, TheoryError> {
        let range = range_of(problem)?;
        Ok(match exact(problem) {
            Some((shape, nu)) => Self { shape, nu, basis: Basis::Exact, range },
            None => Self::estimated(problem)?,
        })
    }

    /// The heights found by search, even where exact ones are known.
    pub fn estimated(problem: &Problem) -> Result<Self, TheoryError> {
        let range = range_of(problem)?;
        let most = if problem.rotation().is_some() { MOST_ROTATED } else { MOST_SEARCHED };
        if problem.dim() > most {
            let remedy =
                format!("the constants of A2 are not known here, and searching for them is limited to at most {most}");
            return Err(TheoryError::new("dim", problem.dim(), remedy));
        }
        let table = estimate::table(problem, reach(problem))?;
        // What lies below the least trusted radius is extrapolated; a ball that small would rest on nothing else.
        let range = (range.0.max(table.least_radius()), range.1);
        Ok(Self { nu: table.nu(), shape: Shape::Table(table), basis: Basis::Estimate, range })
    }

    /// The largest eta with which A2 holds in the ball of radius `r0`.
    pub fn eta(&self, r0: f64) -> f64 {
        match &self.shape {
            // The exponents power nu - 1 are not positive: the quotient is least at the edge, and monotone in the power.
            Shape::Powers(terms) => {
                least(ends(terms).map(|t| t.least_weight.powf(self.nu) * r0.powf(t.power * self.nu - 1.0)))
            }
            // 1 + 2 A (sin(pi s) / s)^2 falls until s = 1, where it is 1, its least value.
            Shape::Ripples(ripples) => ripples.at(r0.min(1.0)).sqrt() / r0.min(1.0),
            // The parabola e(s) / s^2 is least at its vertex, -2 start.
            Shape::Quartic { start, .. } => quotient(*start, r0.min(-2.0 * start)).sqrt(),
            // 2 sin(pi r)^2 + r / 10 >= r / 10 >= s / 10, with equality in the limit r -> 0 along an axis.
            Shape::Rings { .. } => 0.1,
            Shape::Table(table) => table.eta(r0),
        }
    }

    /// The largest E_inf with which A2 holds outside the ball of radius `r0`.
    pub fn far_field(&self, r0: f64) -> f64 {
        match &self.shape {
            Shape::Powers(terms) => least(ends(terms).map(|t| t.least_weight * r0.powf(t.power))),
            Shape::Ripples(ripples) => ripples.least_beyond(r0),
            Shape::Quartic { start, .. } => {
                let second = 0.5 * (-3.0 * start + (32.0 - 3.0 * start * start).sqrt());
                let edge = quartic(*start, r0);
                if r0 <= second { edge.min(quartic(*start, second)) } else { edge }
            }
            Shape::Rings { .. } => rings_least_beyond(r0),
            Shape::Table(table) => table.far_field(r0),
        }
    }

    /// eta and E_inf at the radius `r0`, where they are estimates found with more effort than by trying many radii.
    pub fn refined(&self, problem: &Problem, r0: f64) -> (f64, f64) {
        match &self.shape {
            Shape::Table(table) => table.refined(problem, r0),
            _ => (self.eta(r0), self.far_field(r0)),
        }
    }

    /// `E_r`: the largest E - E_min in the closed ball of radius `r` in the maximum norm.
    pub fn highest(&self, r: f64) -> f64 {
        match &self.shape {
            Shape::Powers(terms) => {
                // Below 1 the powers fall, and soon do not count.
                let mut sum = 0.0;
                for term in terms {
                    let height = term.total_weight * r.powf(term.power);
                    sum += height;
                    if r < 1.0 && height < 1e-20 * sum {
                        break;
                    }
                }
                sum
            }
            Shape::Ripples(ripples) => ripples.dim * ripples.largest_within(r),
            // The side towards which it rises faster, e(-r), has the largest value.
            Shape::Quartic { start, dim } => dim * quartic(*start, -r),
            Shape::Rings { root } => rings_largest_within(r * root),
            Shape::Table(table) => table.highest(r),
        }
    }

    /// The power with which `E_r` begins: `E_r / r^power` tends to a positive number as r tends to 0.
    pub fn leading_power(&self) -> f64 {
        match &self.shape {
            Shape::Powers(terms) => terms[0].power,
            Shape::Ripples(_) | Shape::Quartic { .. } => 2.0,
            Shape::Rings { .. } => 1.0,
            Shape::Table(table) => table.leading_power(),
        }
    }
}

/// The least and the largest power, between which everything is monotone.
fn ends(terms: &[Term]) -> impl Iterator<Item = &Term> {
    terms.first().into_iter().chain(terms.last())
}

fn least(values: impl Iterator<Item = f64>) -> f64 {
    values.fold(f64::INFINITY, f64::min)
}

/// The largest distance from the minimiser to an edge of the domain, in a coordinate.
fn reach(problem: &Problem) -> f64 {
    edges(problem).fold(0.0, |far, (low, high)| far.max(low.abs()).max(high.abs()))
}

/// Signed distances from the minimiser to the lower and upper edge of the domain, by coordinate.
fn edges(problem: &Problem) -> impl Iterator<Item = (f64, f64)> + '_ {
    problem.domain().iter().zip(&problem.minimisers()[0]).map(|((low, high), v)| (low - v, high - v))
}

/// The admitted radii.
fn range_of(problem: &Problem) -> Result<(f64, f64), TheoryError> {
    let fails = |why: String| Err(TheoryError::new("objective", problem.name(), format!("assumption A2 fails: {why}")));
    if let Some(other) = another_minimiser(problem) {
        return fails(format!(
            "the function has more than one minimiser (another lies at distance {other:.4} of v*, in the maximum norm), \
             and the theorem needs exactly one"
        ));
    }
    let reach = reach(problem);
    if !problem.confined() {
        return Ok((LEAST_PART * reach, reach));
    }
    let nearest = least(edges(problem).map(|(low, high)| (-low).min(high)));
    // A rotation turns the domain of a confined function; a ball in every position is a Euclidean one.
    let turned = if problem.rotation().is_some() { (problem.dim() as f64).sqrt() } else { 1.0 };
    if nearest <= LEAST_PART * reach {
        return fails(
            "the minimiser lies at the edge of the domain, outside which the function is infinite, so that no ball \
                      around v* has a finite largest value"
                .into(),
        );
    }
    Ok((LEAST_PART * reach, nearest / turned))
}

/// The distance of another minimiser, if there is one. From a point t away from v* no other minimiser may be nearer than t.
fn another_minimiser(problem: &Problem) -> Option<f64> {
    let all = problem.minimisers();
    let from_first = |m: &[f64]| m.iter().zip(&all[0]).fold(0.0f64, |far, (a, b)| far.max((a - b).abs()));
    if let Some(other) = all.get(1) {
        return Some(from_first(other));
    }
    let reach = reach(problem);
    for part in [0.3, 1.0, 3.0] {
        for k in 0..problem.dim().min(16) {
            for sign in [-1.0, 1.0] {
                let mut x = all[0].clone();
                x[k] += sign * part * reach;
                let distance = (x[k] - all[0][k]).abs();
                let found = problem.distance_to_minimiser(&x);
                if found < distance * (1.0 - 1e-9) {
                    return Some(distance - found);
                }
            }
        }
    }
    None
}

/// The shape and nu of the functions for which A2 is proved.
fn exact(problem: &Problem) -> Option<(Shape, f64)> {
    // A function of the user's own may have the name of another.
    let listed = cbo_problems::find(problem.name()).is_ok_and(|info| info == *problem.info());
    let name = problem.name();
    let turned = problem.rotation().is_some() && !matches!(name, "sphere" | "salomon");
    if !listed || turned {
        return None;
    }
    let dim = problem.dim();
    let d = dim as f64;
    let quadratic =
        |least_weight, total_weight| Some((Shape::Powers(vec![Term { power: 2.0, least_weight, total_weight }]), 0.5));
    match name {
        "sphere" => quadratic(1.0, d),
        "sum-of-squares" => quadratic(1.0, 0.5 * d * (d + 1.0)),
        "ellipsoid" => {
            // The last weight is the condition number, unless it is also the first.
            let (height, step) = height_at(problem, dim - 1, 1.0);
            let condition = height / (step * step);
            let ratio = if dim > 1 { condition.powf(1.0 / (d - 1.0)) } else { 1.0 };
            quadratic(1.0, (0..dim).fold((0.0, 1.0), |(sum, w), _| (sum + w, w * ratio)).0)
        }
        "different-powers" => {
            let term = |k: usize| Term { power: (k + 2) as f64, least_weight: 1.0, total_weight: 1.0 };
            Some((Shape::Powers((0..dim).map(term).collect()), 1.0 / (d + 1.0)))
        }
        "rastrigin" => {
            let (height, step) = height_at(problem, 0, 0.5);
            let amplitude = 0.5 * (height - step * step) / (PI * step).sin().powi(2);
            Some((Shape::Ripples(Ripples { amplitude: amplitude.max(0.0), dim: d }), 0.5))
        }
        "styblinski-tang" => Some((Shape::Quartic { start: -2.903534027771177, dim: d }, 0.5)),
        "salomon" => Some((Shape::Rings { root: d.sqrt() }, 1.0)),
        _ => None,
    }
}

/// E - E_min one step away from the minimiser along an axis, and that step as it is after rounding.
fn height_at(problem: &Problem, k: usize, step: f64) -> (f64, f64) {
    let mut x = problem.minimisers()[0].clone();
    let start = x[k];
    x[k] += step;
    (problem.value(&x) - problem.minimum(), x[k] - start)
}

/// Rastrigin's coordinate, `e(s) = s^2 + 2 A sin(pi s)^2`. It is even, and `e(s + 1) = e(s) + 2 s + 1`: for s >= 0 the least
/// value beyond s is taken before s + 1, and the largest below s after s - 1.
#[derive(Clone, Copy, Debug)]
struct Ripples {
    amplitude: f64,
    dim: f64,
}

impl Ripples {
    fn at(&self, s: f64) -> f64 {
        s * s + 2.0 * self.amplitude * (PI * s).sin().powi(2)
    }

    fn slope(&self, s: f64) -> f64 {
        2.0 * s + TAU * self.amplitude * (TAU * s).sin()
    }

    /// The local maximum and the local minimum between j - 1/2 and j, if there are any. The slope is positive at both ends;
    /// it falls up to the inflection `cos(2 pi s) = -1/(2 pi^2 A)` and rises after it.
    fn extrema(&self, j: f64) -> Option<(f64, f64)> {
        let cosine = -1.0 / (2.0 * PI * PI * self.amplitude);
        if !(cosine >= -1.0 && j > 0.0) {
            return None;
        }
        let turn = j - cosine.acos() / TAU;
        let (from, to) = (bisect(j - 0.5, turn, |s| self.slope(s) > 0.0), bisect(turn, j, |s| self.slope(s) < 0.0));
        (self.slope(turn) < 0.0).then_some((from, to))
    }

    fn least_beyond(&self, r: f64) -> f64 {
        let wells = (0..3).filter_map(|i| self.extrema(r.floor() + f64::from(i))).map(|(_, s)| s).filter(|s| *s >= r);
        least(wells.map(|s| self.at(s))).min(self.at(r))
    }

    fn largest_within(&self, r: f64) -> f64 {
        let peaks = (0..3).filter_map(|i| self.extrema(r.ceil() - f64::from(i))).map(|(s, _)| s).filter(|s| *s <= r);
        peaks.map(|s| self.at(s)).fold(self.at(r), f64::max)
    }
}

/// The place between `low` and `high` where `before` turns from true to false.
pub(super) fn bisect(mut low: f64, mut high: f64, before: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return low;
        }
        if before(middle) { low = middle } else { high = middle }
    }
}

/// Styblinski-Tang's coordinate about its minimiser x0: `e(s) = s^2 (s^2/2 + 2 x0 s + 3 x0^2 - 8)`. The second minimum is
/// where `s^2 + 3 x0 s + 3 x0^2 - 8 = 0`.
fn quartic(start: f64, s: f64) -> f64 {
    s * s * quotient(start, s)
}

fn quotient(start: f64, s: f64) -> f64 {
    (0.5 * s + 2.0 * start) * s + 3.0 * start * start - 8.0
}

/// Salomon's function of the Euclidean distance, `g(r) = 2 sin(pi r)^2 + r / 10`, for which `g(r + 1) = g(r) + 1/10`.
fn rings(r: f64) -> f64 {
    2.0 * (PI * r).sin().powi(2) + 0.1 * r
}

/// Where `g' = 1/10 + 2 pi sin(2 pi r)` vanishes: this far below the whole numbers (minima), above the halves (maxima).
fn rings_offset() -> f64 {
    (0.1 / TAU).asin() / TAU
}

fn rings_least_beyond(r: f64) -> f64 {
    let wells = (0..3).map(|i| r.floor() + f64::from(i) - rings_offset()).filter(|s| *s >= r);
    least(wells.map(rings)).min(rings(r))
}

fn rings_largest_within(r: f64) -> f64 {
    let peaks = (0..3).map(|i| r.ceil() - f64::from(i) + 0.5 + rings_offset()).filter(|s| *s <= r && *s > 0.0);
    peaks.map(rings).fold(rings(r), f64::max)
}
