//! The part of all targets that is reached, over evaluations: the empirical distribution of the evaluations that targets take.

use crate::baselines::Draws;

/// Points of a curve in a decade of evaluations.
const IN_A_DECADE: u32 = 60;

/// Samples of the runs from which a band is made.
const SAMPLES: usize = 1000;

/// Whose random numbers these are: no baseline has so high a place.
const RESAMPLING: u64 = 0xff;

/// A curve at one number of evaluations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Evaluations.
    pub evaluations: u64,
    /// The part of the targets that is reached by then, of all runs.
    pub reached: f64,
    /// The lower end of the band.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

/// Numbers of evaluations from 1 to `budget`, evenly spaced by their logarithms.
pub fn grid(budget: u64) -> Vec<u64> {
    let decades = (budget as f64).log10();
    let steps = (decades * f64::from(IN_A_DECADE)).ceil().max(1.0) as u32;
    let at = |k: u32| libm::exp10(decades * f64::from(k) / f64::from(steps)).round() as u64;
    let mut grid: Vec<u64> = (0..=steps).map(|k| at(k).clamp(1, budget)).chain([budget]).collect();
    grid.dedup();
    grid
}

/// The curve of some runs, of which `reached` has the evaluations at which each target was reached. The band has 95 % of the curves of
/// 1000 samples of the runs, drawn with replacement: it says how much the curve owes to the choice of runs, at each number of evaluations by
/// itself.
pub fn curve(reached: &[&[Option<u64>]], budget: u64) -> Vec<Point> {
    let grid = grid(budget);
    // The part of the targets that each run has reached, for each number of evaluations.
    let part = |run: &[Option<u64>], evaluations: u64| {
        let done = run.iter().flatten().filter(|at| **at <= evaluations).count();
        done as f64 / run.len().max(1) as f64
    };
    let parts: Vec<Vec<f64>> = grid.iter().map(|n| reached.iter().map(|run| part(run, *n)).collect()).collect();
    let runs = reached.len().max(1) as f64;
    let mut samples: Vec<Vec<f64>> = vec![Vec::with_capacity(SAMPLES); grid.len()];
    let mut times = vec![0.0; reached.len()];
    let mut draws = Draws::new(0, RESAMPLING);
    for _ in 0..SAMPLES {
        // How often each run was drawn, the same for all points of the curve and for all curves.
        times.fill(0.0);
        (0..reached.len()).for_each(|_| times[draws.below(reached.len())] += 1.0);
        for (parts, means) in parts.iter().zip(&mut samples) {
            means.push(parts.iter().zip(&times).map(|(part, times)| part * times).sum::<f64>() / runs);
        }
    }
    let ends = |mut means: Vec<f64>| {
        means.sort_by(f64::total_cmp);
        let at = |share: f64| means[((SAMPLES - 1) as f64 * share).round() as usize];
        (at(0.025), at(0.975))
    };
    let all = grid.iter().zip(&parts).zip(samples);
    all.map(|((evaluations, parts), means)| {
        let (low, high) = ends(means);
        Point { evaluations: *evaluations, reached: parts.iter().sum::<f64>() / runs, low, high }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_has_all_small_numbers_and_the_budget() {
        let grid = grid(1000);
        assert_eq!((grid[..9].to_vec(), *grid.last().expect("some")), ((1..10).collect(), 1000));
        assert!(grid.windows(2).all(|pair| pair[0] < pair[1]) && grid.len() < 170, "{}", grid.len());
        assert_eq!(super::grid(1), [1]);
        assert_eq!(super::grid(2), [1, 2]);
        let large = super::grid(u64::MAX);
        assert!(large.windows(2).all(|pair| pair[0] < pair[1]) && large.len() < 1200);
    }

    #[test]
    fn a_curve_counts_targets() {
        let runs = [vec![Some(1), Some(3), None, None], vec![Some(2), Some(2), Some(3), Some(10)]];
        let reached: Vec<&[Option<u64>]> = runs.iter().map(Vec::as_slice).collect();
        let curve = curve(&reached, 10);
        let at = |n: u64| curve.iter().find(|point| point.evaluations == n).expect("on the grid");
        assert_eq!([1, 2, 3, 10].map(|n| at(n).reached), [0.125, 0.375, 0.625, 0.75]);
        // Of two runs, a sample has the first twice with probability 1/4, and the second likewise.
        assert_eq!((at(10).low, at(10).high), (0.5, 1.0));
        assert!(curve.iter().all(|point| point.low <= point.reached && point.reached <= point.high));
    }

    /// n runs of one target that half of them reach: the share of a sample is binomial, with the standard deviation 1 / (2 sqrt(n)). The
    /// ends of the band are quantiles of 1000 samples, whose own standard error is 0.084 of that, and steps of 1/n.
    #[test]
    fn the_band_is_as_wide_as_it_must_be() {
        let n = 400;
        let runs: Vec<Vec<Option<u64>>> = (0..n).map(|run| vec![(run % 2 == 0).then_some(5)]).collect();
        let reached: Vec<&[Option<u64>]> = runs.iter().map(Vec::as_slice).collect();
        let curve = curve(&reached, 100);
        let last = curve.last().expect("a point");
        let deviation = 0.5 / f64::from(n).sqrt();
        for (end, sign) in [(last.low, -1.0), (last.high, 1.0)] {
            let error = (end - (0.5 + sign * 1.96 * deviation)).abs();
            assert!(error < 4.0 * 0.084 * deviation + 1.0 / f64::from(n), "{end}");
        }
    }
}
