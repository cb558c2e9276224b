//! Targets: values that runs are to reach, from that of a random point down to the minimum.

use super::recorder::Improvement;
use super::trial::cloud;
use crate::success::median;
use cbo::CboConfig;
use cbo_problems::Problem;

/// Decades from the first target to the last.
const DECADES: i32 = 8;

/// Targets in a decade.
const IN_A_DECADE: i32 = 5;

/// Points of which the height of a typical point is known.
const POINTS: usize = 300;

/// Heights above the minimum, falling: `scale 10^0, scale 10^-0.2, ..., scale 10^-8`.
#[derive(Clone, Debug, PartialEq)]
pub struct Targets {
    /// The least value.
    pub minimum: f64,
    /// The first height: what a typical initial point has.
    pub scale: f64,
    /// All heights.
    pub heights: Vec<f64>,
}

impl Targets {
    /// Targets above `minimum` from the height `scale` on, which is 1 where it makes no sense.
    pub fn new(minimum: f64, scale: f64) -> Self {
        let scale = if scale > 0.0 && scale.is_finite() { scale } else { 1.0 };
        let height = |k: i32| scale * libm::exp10(-f64::from(k) / f64::from(IN_A_DECADE));
        Self { minimum, scale, heights: (0..=DECADES * IN_A_DECADE).map(height).collect() }
    }

    /// The targets of a problem: the scale is the median height of 300 initial points.
    pub fn of(problem: &Problem, config: &CboConfig) -> Self {
        let points = cloud::<f64>(config, problem.dim(), POINTS).unwrap_or_default();
        let heights = points.chunks_exact(problem.dim()).map(|x| problem.value(x) - problem.minimum());
        let scale = median(heights.filter(|height| height.is_finite())).unwrap_or(1.0);
        Self::new(problem.minimum(), scale)
    }

    /// The evaluation at which each target was reached, if it was.
    pub fn reached(&self, improvements: &[Improvement]) -> Vec<Option<u64>> {
        let mut next = improvements.iter().peekable();
        let reach = |height: &f64| {
            while next.next_if(|improvement| improvement.value - self.minimum > *height).is_some() {}
            next.peek().map(|improvement| improvement.evaluation)
        };
        self.heights.iter().map(reach).collect()
    }

    /// The last of the heights: below it a problem counts as solved.
    pub fn last(&self) -> f64 {
        self.heights.last().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_reached_by_the_first_value_that_is_low_enough() {
        let targets = Targets::new(-2.0, 10.0);
        assert_eq!((targets.heights.len(), targets.heights[0], targets.heights[5]), (41, 10.0, 1.0));
        assert!((targets.last() / 1e-7 - 1.0).abs() < 1e-14);
        let improvement = |evaluation, value| Improvement { evaluation, value, distance: 0.0 };
        // Heights 50, 10, 0.5 and 0.
        let reached = targets.reached(&[improvement(1, 48.0), improvement(5, 8.0), improvement(9, -1.5)]);
        assert_eq!((reached[0], reached[1], reached[6], reached[7]), (Some(5), Some(9), Some(9), None));
        assert_eq!(targets.reached(&[improvement(3, -2.0)]), vec![Some(3); 41]);
        assert_eq!(targets.reached(&[]), vec![None; 41]);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Targets::new(0.0, scale).scale, 1.0);
        }
    }

    /// The sphere in [-5.12, 5.12]^d: the height of a uniform point has the mean d 5.12^2 / 3 and nearly that median in 100 dimensions.
    #[test]
    fn the_scale_is_the_height_of_a_typical_point() {
        let sphere = Problem::named("sphere", 100).expect("a problem");
        let init = cbo::InitialLaw::uniform(sphere.domain());
        let scale = Targets::of(&sphere, &CboConfig { init, ..CboConfig::default() }).scale;
        assert!((scale / (100.0 * 5.12f64.powi(2) / 3.0) - 1.0).abs() < 0.03, "{scale}");
    }
}
