//! Constraints: which points count, what a violation costs, and how a function gets constraints.
//!
//! A point has to meet `g_j(x) <= 0` for every j. Particles are weighed by the exact penalty `E(x) + sum_j beta_j max(g_j(x), 0)`, whose
//! weights beta grow while the swarm agrees on a point that violates a constraint ([`Penalty`]); the best point that meets all of them is
//! kept apart (`ledger.rs`). Everything between, the methods and the backends, sees one energy for each particle, as ever.

mod constrained;
mod penalty;
mod run;

pub use constrained::Constrained;
pub(crate) use penalty::Penalty;
pub(crate) use run::{Constraints, evaluate};

use crate::simd::Scalar;

/// How far the worst of the constraints is violated; 0 if all are met, NaN if one is not a number.
pub(crate) fn violation<T: Scalar>(constraints: &[T]) -> f64 {
    let larger = |worst: f64, g: &T| {
        let g = g.to_f64();
        // Not f64::max, which would ignore NaN.
        if g > worst || g.is_nan() { g } else { worst }
    };
    constraints.iter().fold(0.0, larger)
}

/// The energy of a point whose constraints are these: failed if one of them is not a number.
pub(crate) fn defined<T: Scalar>(energy: T, constraints: &[T]) -> T {
    if violation(constraints).is_nan() { T::from_f64(f64::NAN) } else { energy }
}

/// Whether a point is better than another, given how far each violates its constraints and its value: less violation first, then the
/// lower value.
pub(crate) fn is_better(one: (f64, f64), other: (f64, f64)) -> bool {
    one.0 < other.0 || (one.0 == other.0 && one.1 < other.1)
}
