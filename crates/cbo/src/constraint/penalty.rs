//! The exact penalty and its weights.
//!
//! `E(x) + sum_j beta_j max(g_j(x), 0)` has the minimiser of E under the constraints `g_j(x) <= 0` if every beta_j is larger than the
//! Lagrange multiplier of its constraint, which nobody knows. So the weights begin as the ratio in which E and g_j vary among the first
//! points, and grow while a constraint is violated where the particles agree, by more than a bound that shrinks while it is not. This is
//! the strategy of Borghi, Herty and Pareschi 2023 (doi:10.1137/22M1471304), with a weight and a bound for each constraint.

use crate::simd::Scalar;

/// The factor by which a weight grows in a step.
const GROWTH: f64 = 1.5;
/// The factor by which the bound on a violation shrinks in a step.
const SHRINKAGE: f64 = 1.1;
/// The most that a weight grows in all.
const MOST: f64 = 1e30;
/// Beyond any count of what has grown.
const COUNTED: f64 = (1u64 << 53) as f64;

/// What violations cost.
#[derive(Clone, Debug)]
pub(crate) struct Penalty {
    /// What a violation of each constraint costs, per unit; all 0 until the first points are known.
    weights: Vec<f64>,
    /// What the weights were at first.
    first: Vec<f64>,
    /// Violations up to which weights stay as they are; infinite until there is something to agree on.
    bounds: Vec<f64>,
    /// How often a weight has grown.
    grown: u64,
}

impl Penalty {
    /// The penalty of this many constraints, before anything is evaluated.
    pub fn new(count: usize) -> Self {
        Self { weights: vec![0.0; count], first: vec![0.0; count], bounds: vec![f64::INFINITY; count], grown: 0 }
    }

    /// How many constraints there are.
    pub fn count(&self) -> usize {
        self.weights.len()
    }

    /// What a violation of each constraint costs, per unit.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How often a weight has grown.
    pub fn grown(&self) -> u64 {
        self.grown
    }

    /// Whether the weights are known.
    pub fn has_begun(&self) -> bool {
        self.weights.iter().all(|w| *w > 0.0)
    }

    /// Finds the first weights, from points that were evaluated: the interquartile range of the energies, in units of that of each
    /// constraint. `constraints` has as many numbers for each energy as there are constraints.
    pub fn begin<T: Scalar>(&mut self, energies: &[T], constraints: &[T]) {
        let count = self.count();
        let energy = range(energies.iter());
        let weight = |j: usize| {
            let weight = energy / range(constraints.iter().skip(j).step_by(count));
            if weight > 0.0 && weight.is_finite() { weight } else { 1.0 }
        };
        self.first = (0..count).map(weight).collect();
        self.weights.clone_from(&self.first);
    }

    /// The energy with what its violations cost.
    pub fn price<T: Scalar>(&self, energy: f64, constraints: &[T]) -> f64 {
        let mut sum = energy;
        for (weight, g) in self.weights.iter().zip(constraints) {
            let g = g.to_f64();
            // A constraint that is not a number makes the sum one that is none.
            if g > 0.0 || g.is_nan() {
                sum += weight * g;
            }
        }
        sum
    }

    /// Learns from the constraints at the point on which the particles agree. Tells whether a weight has changed.
    pub fn adapt(&mut self, agreed: &[f64]) -> bool {
        let before = self.grown;
        for (j, &g) in agreed.iter().enumerate() {
            let violation = g.max(0.0);
            let bound = &mut self.bounds[j];
            if *bound == f64::INFINITY {
                *bound = violation;
            } else if violation <= *bound {
                *bound /= SHRINKAGE;
            } else {
                self.raise(j);
            }
        }
        self.grown > before
    }

    /// Lets the weight of a constraint grow.
    pub fn raise(&mut self, j: usize) {
        let more = self.weights[j] * GROWTH;
        if self.weights[j] < MOST * self.first[j] && more.is_finite() {
            self.weights[j] = more;
            self.grown += 1;
        }
    }

    /// Everything that it consists of, as numbers.
    pub fn to_numbers(&self) -> Vec<f64> {
        [&self.weights[..], &self.first, &self.bounds, &[self.grown as f64]].concat()
    }

    /// The penalty of these numbers, if they are one.
    pub fn from_numbers(count: usize, numbers: &[f64]) -> Option<Self> {
        let (weights, rest) = numbers.split_at_checked(count)?;
        let (first, rest) = rest.split_at_checked(count)?;
        let (bounds, rest) = rest.split_at_checked(count)?;
        let &[grown] = rest else { return None };
        let fine = |x: &f64| *x >= 0.0 && x.is_finite();
        let is_whole = weights.iter().chain(first).all(fine)
            && bounds.iter().all(|b| *b >= 0.0)
            // With room to count further.
            && (0.0..COUNTED).contains(&grown);
        let own = |numbers: &[f64]| numbers.to_vec();
        is_whole.then(|| Self { weights: own(weights), first: own(first), bounds: own(bounds), grown: grown as u64 })
    }

    /// How many numbers [`to_numbers`](Self::to_numbers) gives.
    pub fn numbers_of(count: usize) -> usize {
        3 * count + 1
    }
}

/// The interquartile range of those that are numbers; their whole range if it is zero; 0 if that is zero too.
fn range<'a, T: Scalar>(numbers: impl Iterator<Item = &'a T>) -> f64 {
    let mut sorted: Vec<f64> = numbers.map(|x| x.to_f64()).filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    if n == 0 {
        return 0.0;
    }
    let quartiles = sorted[(3 * n / 4).min(n - 1)] - sorted[n / 4];
    if quartiles > 0.0 { quartiles } else { sorted[n - 1] - sorted[0] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_no_penalty_are_refused() {
        let grown = |grown: f64| Penalty::from_numbers(1, &[2.0, 1.0, f64::INFINITY, grown]);
        assert!(grown(7.0).is_some_and(|penalty| penalty.to_numbers()[3] == 7.0));
        // It is counted further.
        for wrong in [u64::MAX as f64, f64::MAX, f64::INFINITY, f64::NAN, -1.0] {
            assert!(grown(wrong).is_none(), "{wrong}");
        }
        assert!(Penalty::from_numbers(1, &[f64::INFINITY, 1.0, 1.0, 0.0]).is_none());
    }

    #[test]
    fn a_weight_stays_finite() {
        let mut penalty = Penalty::from_numbers(1, &[1e308, 1e308, 0.0, 0.0]).expect("a penalty");
        (0..3).for_each(|_| penalty.raise(0));
        let numbers = penalty.to_numbers();
        assert_eq!((numbers[0], numbers[3]), (1e308 * GROWTH, 1.0));
        assert!(Penalty::from_numbers(1, &numbers).is_some());
    }
}
