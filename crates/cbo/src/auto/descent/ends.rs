//! When a run is over, and why.

use super::{Descent, LOCAL, median};
use crate::auto::model::Kind;
use crate::auto::noise;
use crate::auto::regression::Sample;

/// After so many failures in a row of the full model in a wide first run the function is rugged,
const FAILURES: u32 = 4;
/// which matters if so many evaluations for each coordinate are left.
const AMPLE: f64 = 300.0;
/// A run is over when its best values differ by so many units in the last place.
const FLAT: f64 = 100.0;
/// Values that differ by fewer units in the last place may be equal by rounding.
const ROUNDING: f64 = 1e3;
/// Below this width a run may be given up: wider ones may be between the ripples of a function.
const RACE: f64 = 1e-3;

/// Of so many last points equal values are looked for.
pub(super) const LAST: usize = 40;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::auto) enum End {
    /// Values no longer differ.
    Flat,
    /// The particles are as close as numbers allow.
    Narrow,
    Condition,
    Stagnation,
    /// It will not reach the best value so far.
    Race,
    /// Different points have equal values.
    Plateau,
    /// The model does not hold while the particles are wide apart.
    Rugged,
    /// Noise hides the differences of the particles.
    Hidden,
    /// The last evaluations are for the best point of a noisy function.
    Last,
}

impl End {
    /// The reason as a sentence without its full stop.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::Flat => "its values no longer differ",
            Self::Narrow => "its particles are as close together as numbers allow",
            Self::Condition => "the shape of its particles is as thin as numbers allow",
            Self::Stagnation => "it no longer improved",
            Self::Race => "it would not have reached the best value",
            Self::Plateau => "different points have equal values",
            Self::Hidden => "noise hides the differences between its particles",
            Self::Last => "the last evaluations are for the best point",
            Self::Rugged => "no quadratic model holds while the particles are far apart",
        }
    }
}

impl Descent<'_> {
    /// Whether the run is over.
    pub(super) fn end(&self) -> Option<End> {
        let (dim, lambda) = (self.dim() as f64, self.lambda as f64);
        if self.core.widest() < 1e-11 {
            return Some(End::Narrow);
        }
        if self.core.shape.condition() > 1e14 {
            return Some(End::Condition);
        }
        let window = 10 + (30.0 * dim / lambda).ceil() as usize;
        if self.bests.len() > window {
            let last = &self.bests[self.bests.len() - window..];
            let (low, high) = last.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            if high - low <= FLAT * f64::EPSILON * low.abs() || low.is_infinite() {
                return Some(End::Flat);
            }
        }
        if self.stagnates() {
            return Some(End::Stagnation);
        }
        // A run does not race against its own mean, which is better than its particles.
        let leads = noise::holder(self.desk) == Some(self.start.number);
        if self.start.race && !leads && self.is_lost() {
            return Some(End::Race);
        }
        let wide = self.core.widest() > LOCAL;
        if self.start.first
            && self.most == Kind::Full
            && self.failures >= FAILURES
            && wide
            && self.desk.left() as f64 > AMPLE * dim
        {
            return Some(End::Rugged);
        }
        if self.start.model && self.has_ties() {
            return Some(End::Plateau);
        }
        None
    }

    fn stagnates(&self) -> bool {
        let (dim, lambda) = (self.dim() as f64, self.lambda as f64);
        let n = self.trail.len();
        let window = ((120.0 + 30.0 * dim / lambda) as usize).max(n / 5);
        if n < window {
            return false;
        }
        let last = &self.trail[n - window..];
        let part = 3 * window / 10;
        let better = |pick: fn(&(f64, f64)) -> f64| {
            median(last[window - part..].iter().map(pick)) < median(last[..part].iter().map(pick))
        };
        !better(|t| t.0) && !better(|t| t.1)
    }

    /// Whether the gains of the last generations, extrapolated, do not reach the best value of the other runs.
    fn is_lost(&self) -> bool {
        let n = self.bests.len();
        let window = (n / 4).max(10);
        if n < 3 * window || self.core.widest() > RACE {
            return false;
        }
        let middle = |from: usize| self.bests[from..from + window].iter().copied().fold(f64::INFINITY, f64::min);
        let (a, b, c) = (middle(n - 3 * window), middle(n - 2 * window), middle(n - window));
        let (earlier, later) = (a - b, b - c);
        if later >= 0.95 * earlier && later > 0.0 {
            return false;
        }
        let ratio = (later / earlier).clamp(0.0, 0.95);
        let limit = c - later.max(0.0) * ratio / (1.0 - ratio);
        limit - 0.5 * later.max(0.0) > self.rival.1
    }

    /// Equal values among the better of the last points, at distinct places.
    fn has_ties(&self) -> bool {
        let n = self.points.len();
        if n < LAST || self.tied.is_none_or(|tied| self.numbered - tied > LAST as u64) {
            return false;
        }
        let mut last: Vec<&Sample> = self.points.iter().skip(n - LAST).collect();
        last.sort_by(|a, b| a.value.total_cmp(&b.value));
        let widest = self.core.widest();
        // Near a minimum values are equal by rounding; then others are almost equal.
        let small = |p: &[&Sample]| p[1].value - p[0].value <= ROUNDING * f64::EPSILON * p[0].value.abs();
        let almost = last[..20].windows(2).any(|p| p[1].value > p[0].value && small(p));
        if almost || last[0].value == last[19].value && widest < LOCAL {
            return false;
        }
        let far = |a: &Sample, b: &Sample| a.point.iter().zip(&b.point).any(|(x, y)| (x - y).abs() > 0.03 * widest);
        let tied = |t: &[&Sample]| t[0].value == t[2].value && far(t[0], t[1]) && far(t[1], t[2]) && far(t[0], t[2]);
        last[..20].windows(3).any(tied) && widest > 1e-6
    }
}
