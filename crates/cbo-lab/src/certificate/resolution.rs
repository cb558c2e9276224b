//! Where rounding takes over from a function: the error of the computed energies near the minimiser.
//!
//! Proposition 1 compares energies that tend to the minimum. Many functions compute them as small differences of large
//! numbers; below the error of these the consensus point is chosen by rounding, about which the proposition says
//! nothing.

use cbo::{Objective, Rows, Scalar, StepContext};
use cbo_problems::Problem;

/// Points on a short piece of a ray from v*, a hundredth of the distance to v* apart.
const PIECE: usize = 9;

/// An energy is lost in rounding where its second differences on such a piece are more than this fraction of it. For a
/// smooth function they are about 1e-4 of it.
const LOST: f64 = 0.01;

/// The error of the energies of `problem` near its first minimiser, in this precision; 0 if they are exact down to v*.
pub fn of<T: Scalar>(problem: &Problem) -> f64
where
    Problem: Objective<T>,
{
    let (minimiser, minimum) = (&problem.minimisers()[0], problem.minimum());
    let reach = problem.domain().iter().fold(0.0f64, |most, (low, high)| most.max(high - low));
    let epsilon = if T::NAME == f32::NAME { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let mut points: Vec<T> = minimiser.iter().map(|&x| T::from_f64(x)).collect();
    let rays = rays(problem.dim());
    for decade in -20..=-3 {
        for ray in &rays {
            for i in 0..PIECE {
                let length = reach * 10f64.powi(decade) * (1.0 + 0.01 * i as f64);
                points.extend(minimiser.iter().zip(ray).map(|(x, u)| T::from_f64(x + length * u)));
            }
        }
    }
    let mut energies = vec![T::default(); points.len() / problem.dim()];
    if problem.energies(StepContext::default(), Rows::new(&points, problem.dim()), &mut energies).is_err() {
        return 0.0;
    }
    let heights: Vec<f64> = energies.iter().map(|e| e.to_f64() - minimum).collect();
    let lost = heights[1..].chunks_exact(PIECE).flat_map(|piece| {
        let largest = piece.iter().fold(0.0f64, |most, h| most.max(h.abs()));
        let bends = piece.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).abs());
        bends.filter(move |bend| *bend > LOST * largest)
    });
    // At the edge of a confined function's domain energies may be infinite.
    let errors = lost.chain([heights[0].abs(), epsilon * minimum.abs()]).filter(|error| error.is_finite());
    // From a few samples, so with room for the worst of many particles.
    4.0 * errors.fold(0.0, f64::max)
}

/// Directions of length 1 in the maximum norm that favour no coordinate.
fn rays(dim: usize) -> [Vec<f64>; 4] {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let ray = |seed: f64| (0..dim).map(move |k| 2.0 * f64::fract(seed + golden * (k + 1) as f64) - 1.0);
    [0.1, 0.35, 0.6, 0.85].map(|seed| {
        let most = ray(seed).fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        ray(seed).map(|x| x / most).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cancels_is_found_and_what_does_not_is_not() {
        let error = |name: &str, dim: usize| of::<f64>(&Problem::named(name, dim).expect("a function"));
        for name in ["sphere", "rastrigin", "salomon", "zakharov"] {
            for dim in [1, 4, 30] {
                assert_eq!(error(name, dim), 0.0, "{name}");
            }
        }
        // Differences of numbers near 20 and near 1676, whose last digits are 3.6e-15 and 2.3e-13.
        assert!((1e-15..1e-13).contains(&error("ackley", 4)), "{}", error("ackley", 4));
        assert!((1e-13..1e-11).contains(&error("schwefel", 4)), "{}", error("schwefel", 4));
        // Single precision, and a minimiser that it cannot represent.
        let shifted = Problem::builder("sphere").dim(2).shift(0.3).build().expect("a problem");
        assert!((1e-17..1e-12).contains(&of::<f32>(&shifted)), "{}", of::<f32>(&shifted));
    }
}
