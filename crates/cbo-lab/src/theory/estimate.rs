//! Heights around the minimiser found by search, for functions whose constants are not proved.
//!
//! On spheres of the maximum norm whose radii form a geometric sequence, the least and the largest value are sought among the
//! ends of the axes, corners and points of a low-discrepancy sequence, the best of which a descent improves. What
//! looks like a valley between spheres, and the best points of a sample of the whole domain, are improved without the
//! constraint and added. Nothing is random: the same problem gives the same numbers.
//!
//! The table serves to compare radii. Once R_0 is chosen, eta and E_inf are sought again, with more effort and at that very
//! radius: on its sphere, outside it, and as a quotient inside it.

use super::TheoryError;
use super::search::{Found, Search, cost, descend, norm};
use cbo_problems::Problem;
use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

/// Radii of the table, from the least to the largest part of the domain's reach.
const RADII: usize = 180;
const LEAST_PART: f64 = 1e-7;
const LARGEST_PART: f64 = 10.0;

/// About how many operations an estimate may cost.
const BUDGET: f64 = 4e9;

/// The same for one radius, and about how many searches share it at most.
const REFINEMENT: f64 = 2e9;
const DESCENTS: f64 = 150.0;

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
    /// The points of the low curve, and the distance within which they were sought.
    found: Arc<Vec<Found>>,
    limit: f64,
    /// Heights below this are rounding.
    trusted: f64,
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
    let evaluations = (BUDGET / (cost(problem) * RADII as f64)).clamp(64.0, 8000.0) as usize;
    let patience = evaluations / 8;
    let search = Search::new(problem, evaluations / 8);
    let ratio = (LARGEST_PART / LEAST_PART).powf(1.0 / (RADII - 1) as f64);
    let radii: Vec<f64> = (0..RADII).map(|i| LEAST_PART * reach * ratio.powi(i as i32)).collect();
    let extreme = |radius: f64, sign: f64| {
        let improved = search.sphere(radius, sign).into_iter().take(3).map(|f| search.along_sphere(&f, sign, patience));
        improved.min_by(|a, b| (sign * a.height).total_cmp(&(sign * b.height)))
    };
    let spheres: Vec<[Option<Found>; 2]> =
        radii.par_iter().map(|r| [1.0, -1.0].map(|sign| extreme(*r, sign))).collect();

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
    let sample = search.sample(evaluations);
    let seeds: Vec<&Found> = valleys(&spheres).into_iter().chain(&sample).collect();
    let (first, limit) = (low.first().0, LARGEST_PART * reach);
    let mut found: Vec<Found> = seeds.par_iter().map(|seed| search.between(seed, (0.0, limit), patience)).collect();
    found.extend(spheres.into_iter().filter_map(|[low, _]| low));
    found.retain(|f| f.radius >= first);
    found.sort_by(|a, b| a.radius.total_cmp(&b.radius));
    low.0 = found.iter().map(|f| (f.radius, f.height)).collect();
    match low.0.iter().find(|(_, height)| *height <= trusted) {
        Some((radius, _)) => {
            Err(fails(format!("{radius:.4} away from v* a point was found that is as low as the minimum")))
        }
        None => Ok(Table { low, high, nu, found: Arc::new(found), limit, trusted }),
    }
}

/// The best points of the spheres that are lower than both neighbours.
fn valleys(spheres: &[[Option<Found>; 2]]) -> Vec<&Found> {
    let height = |i: usize| spheres.get(i).and_then(|s| s[0].as_ref()).map_or(f64::INFINITY, |f| f.height);
    let is_valley = |i: &usize| height(*i) < height(i.wrapping_sub(1)) && height(*i) < height(i + 1);
    (1..spheres.len()).filter(is_valley).filter_map(|i| spheres[i][0].as_ref()).collect()
}

/// nu from the power with which the least values grow near v*. Powers close to a multiple of one half are rounded to
/// it.
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

    /// eta and E_inf at this radius, as low as they can be found.
    pub(super) fn refined(&self, problem: &Problem, r0: f64) -> (f64, f64) {
        let evaluations = REFINEMENT / cost(problem);
        let patience = (evaluations / DESCENTS).clamp(64.0, 20_000.0) as usize;
        let search = Search::new(problem, (0.1 * evaluations).clamp(64.0, 8000.0) as usize);
        let sphere: Vec<Found> =
            self.starts(&search, r0).par_iter().map(|f| search.along_sphere(f, 1.0, patience)).collect();

        let mut outside: Vec<&Found> = self.found.iter().filter(|f| f.radius >= r0).chain(&sphere).collect();
        outside.sort_by(|a, b| a.height.total_cmp(&b.height));
        let low: Vec<f64> =
            outside.par_iter().take(12).map(|f| search.between(f, (r0, self.limit), patience).height).collect();
        let far_field = low.into_iter().chain(outside.iter().map(|f| f.height)).fold(f64::INFINITY, f64::min);

        let quotient = |height: f64, radius: f64| height.powf(self.nu) / radius;
        let at = |x: &[f64]| match search.height(x) {
            height if height > self.trusted => quotient(height, norm(x)),
            _ => f64::INFINITY,
        };
        let mut inside: Vec<(f64, &Found)> = self
            .found
            .iter()
            .filter(|f| f.radius <= r0)
            .chain(&sphere)
            .map(|f| (quotient(f.height, f.radius), f))
            .collect();
        inside.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The lowest, and all not far inside: the least quotient may lie between them.
        let best = inside.iter().take(12).chain(inside.iter().skip(12).filter(|(_, f)| f.radius > 0.1 * r0));
        let best: Vec<_> = best.take(60).collect();
        let low: Vec<f64> =
            best.par_iter().map(|(_, f)| descend(f.offset.clone(), 0.1 * f.radius, r0, patience, at).1).collect();
        let eta = low.into_iter().chain(inside.iter().map(|(q, _)| *q)).fold(f64::INFINITY, f64::min);
        (eta, far_field)
    }

    /// Where descents on the sphere of radius r0 begin: its best points, the best of each face, and the points of the
    /// nearest spheres of the table, moved to this one.
    fn starts(&self, search: &Search, r0: f64) -> Vec<Found> {
        let mut begun = HashSet::new();
        let all = search.sphere(r0, 1.0);
        let face = |f: &Found| f.offset.iter().position(|x| x.abs() == r0).map(|k| (k, f.offset[k] > 0.0));
        let mut starts: Vec<Found> = Vec::new();
        for (i, point) in all.into_iter().enumerate() {
            let is_new = begun.len() < 64 && face(&point).is_some_and(|face| begun.insert(face));
            if i < 24 || is_new {
                starts.push(point);
            }
        }
        let near = self.found.iter().filter(|f| f.radius > r0 / 1.5 && f.radius < r0 * 1.5);
        starts.extend(near.take(24).map(|f| {
            // The largest coordinate becomes r0 exactly.
            let offset: Vec<f64> = f.offset.iter().map(|x| x / f.radius * r0).collect();
            Found { height: search.height(&offset), radius: r0, offset }
        }));
        starts
    }
}
