//! How far the consensus point can be from the minimiser (Proposition 1 of the paper, the quantitative Laplace
//! principle): for every r in (0, R_0] and q > 0 with `q + E_r <= E_inf`,
//!
//! `|v_a - v*| <= sqrt d (q + E_r)^nu / eta + sqrt d exp(-alpha q) / rho(B_r) int |v - v*| drho`.
//!
//! Here it is minimised over q and r for the empirical measure of a cloud. Between two particles' distances the mass of
//! B_r does not change while E_r grows: only the distances themselves have to be tried for r. For given r the best q is
//! known up to a root of a monotone function.

use super::assumptions::Assumptions;
use cbo::Scalar;

/// Radii that are tried for a large cloud, in each of two rounds.
const RADII: usize = 96;

/// A cloud as the proposition sees it: distances to v*.
#[derive(Clone, Debug, PartialEq)]
pub struct Distances {
    /// Distances in the maximum norm of the particles within `reach`, ascending.
    near: Vec<f64>,
    /// Number of all particles.
    count: usize,
    /// The mean Euclidean distance.
    mean: f64,
}

/// The bound and where it is attained.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaplaceBound {
    /// The bound for `|v_a - v*|`.
    pub value: f64,
    /// The best q; 0 stands for the limit from above.
    pub q: f64,
    /// The best r; 0 stands for the limit from above (a particle sits on v*).
    pub r: f64,
    /// The mass of B_r.
    pub mass: f64,
}

impl Distances {
    /// Measures `points`; of those farther than `reach` in the maximum norm only the mean counts.
    pub fn new<'a, T: Scalar>(points: impl Iterator<Item = &'a [T]>, minimiser: &[f64], reach: f64) -> Self {
        let (mut near, mut count, mut sum) = (Vec::new(), 0usize, 0.0);
        for point in points {
            let (mut far, mut squares) = (0.0, 0.0);
            for (v, m) in point.iter().zip(minimiser) {
                let x = (v.to_f64() - m).abs();
                far = if x > far { x } else { far };
                squares += x * x;
            }
            // What is not a number is far away, like infinity.
            if far <= reach && !f64::is_nan(squares) {
                near.push(far);
            }
            sum += squares.sqrt();
            count += 1;
        }
        near.sort_unstable_by(f64::total_cmp);
        Self { near, count, mean: sum / count as f64 }
    }

    /// The share of the particles within `r` (at most the reach) of v* in the maximum norm.
    pub fn mass(&self, r: f64) -> f64 {
        self.near.partition_point(|&x| x <= r) as f64 / self.count as f64
    }

    /// `int |v - v*| drho`.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Proposition 1's bound, minimised over q and r. `None` if no pair is admissible: no particle is so close to v*
    /// that the energies of the box around v* that reaches it stay below E_inf, so that the proposition is silent.
    ///
    /// For large clouds only some 200 radii are tried; the bound is still valid, just not quite the least.
    ///
    /// `error` is how far the computed energies, which made the consensus point, may be from the true ones. With it the
    /// proposition's proof gives the same bound with `E_r + 2 error` in place of E_r: particles in B_r have computed
    /// energies of at most E_r + error, and those above q + E_r + 2 error have computed ones above q + E_r + error.
    pub fn laplace_bound(&self, assumptions: &Assumptions, alpha: f64, dim: usize, error: f64) -> Option<LaplaceBound> {
        let within = self.near.partition_point(|&x| x <= assumptions.r0);
        let trial = |rank: usize| self.bound_at(self.near[rank], assumptions, alpha, dim, error);
        let best_of = |ranks: &[usize]| {
            let found = ranks.iter().filter_map(|&rank| trial(rank).map(|bound| (rank, bound)));
            found.min_by(|a, b| a.1.value.total_cmp(&b.1.value))
        };
        let ranks = spread(within);
        let (rank, first) = best_of(&ranks)?;
        // Between the neighbours of the best one there may be a better one.
        let place = ranks.partition_point(|&other| other < rank);
        let (from, to) = (ranks[place.saturating_sub(1)], ranks[(place + 1).min(ranks.len() - 1)]);
        let stride = ((to - from) / RADII).max(1);
        let between: Vec<usize> = (from..=to).step_by(stride).collect();
        let second = best_of(&between).map(|(_, bound)| bound);
        second.filter(|bound| bound.value < first.value).or(Some(first))
    }

    /// The bound for one r, with the best q.
    fn bound_at(&self, r: f64, assumptions: &Assumptions, alpha: f64, dim: usize, error: f64) -> Option<LaplaceBound> {
        let highest = 2.0 * error + if r > 0.0 { assumptions.highest(r) } else { 0.0 };
        let mass = self.mass(r);
        let root = (dim as f64).sqrt();
        let terms =
            Terms { factor: root / assumptions.eta, nu: assumptions.nu, highest, tail: root * self.mean / mass, alpha };
        let room = assumptions.far_field - highest;
        if !(room > 0.0 && mass > 0.0) {
            return None;
        }
        let q = terms.best_q(room);
        Some(LaplaceBound { value: terms.at(q), q, r, mass })
    }
}

/// Up to [`RADII`] ranks below `count`, the first and the last among them, evenly spread in the logarithm: the bound
/// depends on the logarithm of the mass.
fn spread(count: usize) -> Vec<usize> {
    if count <= RADII {
        return (0..count).collect();
    }
    let last = (RADII - 1) as f64;
    let mut ranks: Vec<usize> =
        (0..RADII).map(|i| ((count as f64).powf(i as f64 / last).round() as usize).clamp(1, count) - 1).collect();
    ranks.dedup();
    ranks
}

/// The bound as a function of q: `factor (q + highest)^nu + tail exp(-alpha q)`.
#[derive(Clone, Copy, Debug)]
struct Terms {
    factor: f64,
    nu: f64,
    highest: f64,
    tail: f64,
    alpha: f64,
}

impl Terms {
    fn at(&self, q: f64) -> f64 {
        // With alpha = infinity the second term vanishes for every q > 0, and q = 0 stands for the limit.
        let tail = if self.alpha == f64::INFINITY { 0.0 } else { self.tail * (-self.alpha * q).exp() };
        self.factor * (q + self.highest).powf(self.nu) + tail
    }

    /// The q in [0, room] where the bound is least, 0 meaning the limit from above.
    ///
    /// With h = `highest` the derivative has the sign of `-g(q)`, where
    /// `g(q) = log(tail alpha) - alpha q - log(factor nu) - (nu - 1) log(q + h)` and `g' = -alpha + (1 - nu)/(q + h)`:
    /// g falls from the turning point `(1 - nu)/alpha - h` on, and rises before it. So the bound has at most one local
    /// minimum inside, behind the turning point, where g falls through 0.
    fn best_q(&self, room: f64) -> f64 {
        if self.alpha == f64::INFINITY || self.tail == 0.0 {
            return 0.0;
        }
        let constant = self.tail.ln() + self.alpha.ln() - self.factor.ln() - self.nu.ln();
        let g = |q: f64| constant - self.alpha * q - (self.nu - 1.0) * (q + self.highest).ln();
        let turn = ((1.0 - self.nu) / self.alpha - self.highest).max(0.0);
        let inside = if turn >= room || g(room) >= 0.0 {
            room
        } else {
            // In log q, since q may be as small as 1e-15 or 1e-300. An error of q is squared in the bound.
            let (mut low, mut high) = (turn.max(f64::MIN_POSITIVE).ln(), room.ln());
            while high - low > 1e-9 {
                let middle = 0.5 * (low + high);
                if g(middle.exp()) > 0.0 { low = middle } else { high = middle }
            }
            high.exp().min(room)
        };
        [room, 0.0].into_iter().fold(inside, |best, q| if self.at(q) < self.at(best) { q } else { best })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The best q against a fine grid in log q, over settings that cover each branch.
    #[test]
    fn the_best_q_beats_a_fine_grid() {
        let mut checked = 0;
        for nu in [0.25, 0.5, 1.0, 2.0] {
            for highest in [0.0, 1e-12, 1e-3, 0.3] {
                for tail in [1e-6, 1.0, 1e5] {
                    for alpha in [1e-3, 1.0, 50.0, 1e4, 1e15] {
                        let terms = Terms { factor: 0.3, nu, highest, tail, alpha };
                        for room in [1e-9, 0.05, 0.9] {
                            let best = terms.best_q(room);
                            assert!((0.0..=room).contains(&best), "{terms:?}: q = {best}");
                            let grid = (0..=20_000).map(|i| room * (-f64::from(i) * 0.003).exp());
                            let least = grid.chain([0.0]).map(|q| terms.at(q)).fold(f64::INFINITY, f64::min);
                            // The grid may be worse than the root, never better except for rounding.
                            let value = terms.at(best);
                            assert!(value <= least * (1.0 + 1e-12), "{terms:?}, room {room}: {value} above {least}");
                            checked += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(checked, 4 * 4 * 3 * 5 * 3);
    }

    #[test]
    fn with_infinite_alpha_only_the_first_term_is_left() {
        let terms = Terms { factor: 2.0, nu: 0.5, highest: 0.04, tail: 1e9, alpha: f64::INFINITY };
        assert_eq!(terms.best_q(0.5), 0.0);
        assert!((terms.at(0.0) - 0.4).abs() < 1e-15);
    }

    #[test]
    fn ranks_are_spread_from_the_first_to_the_last() {
        assert!(spread(0).is_empty());
        assert_eq!(spread(3), [0, 1, 2]);
        let ranks = spread(320_000);
        assert!(ranks.len() > 60 && ranks.len() <= RADII);
        assert!(ranks.windows(2).all(|w| w[0] < w[1]));
        assert_eq!((ranks[0], ranks[1], *ranks.last().expect("ranks")), (0, 1, 319_999));
    }
}
