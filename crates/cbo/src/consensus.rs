//! Energies to weights to mergeable partial sums to the consensus point.
//!
//! With `w_i = exp(-alpha (E(V^i) - E_min))` the consensus point is `v_a = sum_i w_i V^i / sum_i w_i`. Energies are always
//! shifted by the least one *and* the sum is divided by the sum of the shifted weights, so that ties at any energy and any
//! alpha, infinity included, give the plain average of the tied points.

use crate::ranks::Travelling;
use crate::simd::{self, Scalar};
use crate::state::{Reader, StateError, Writer};
use crate::weights::{Least, SampleSize, Weights};

/// What one block of particles contributes to a step: a monoid under [`merge`](Self::merge).
///
/// The same merge serves blocks, threads and, with the sums sent over a wire, devices and machines.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Partial {
    /// The least finite energy evaluated, +infinity if there is none.
    pub least: f64,
    /// The particle that has it.
    pub particle: usize,
    /// In which round of evaluations: 0 for the positions, 1 for what the particles remember.
    pub round: usize,
    /// Evaluations without a value (NaN or minus infinity).
    pub failed: u64,
    /// Infeasible points (plus infinity).
    pub infeasible: u64,
    /// The least finite energy weighed, to which the weights are relative; +infinity if there is none.
    pub shift: f64,
    /// Sum of the weights.
    pub mass: f64,
    /// Sum of their squares.
    pub mass_of_squares: f64,
    /// Sum of weight times position.
    pub moment: Vec<f64>,
}

impl Partial {
    /// The contribution of no particle at all.
    pub fn empty(dim: usize) -> Self {
        Self {
            least: f64::INFINITY,
            particle: 0,
            round: 0,
            failed: 0,
            infeasible: 0,
            shift: f64::INFINITY,
            mass: 0.0,
            mass_of_squares: 0.0,
            moment: vec![0.0; dim],
        }
    }

    /// Looks at the energies of a block that begins with particle `first`: their least and the failures among them. Round 0 starts again.
    pub(crate) fn survey(&mut self, first: usize, round: usize, energies: &[f64]) {
        self.see(first, round, Survey::of(energies));
    }

    /// The same, and writes the energies in double precision.
    pub(crate) fn survey_doubled<T: Scalar>(
        &mut self,
        first: usize,
        round: usize,
        energies: &[T],
        doubles: &mut [f64],
    ) {
        let least = T::doubled(energies, doubles);
        self.see(first, round, Survey::with(least, doubles));
    }

    fn see(&mut self, first: usize, round: usize, seen: Survey) {
        if round == 0 {
            (self.least, self.particle, self.round, self.failed, self.infeasible) = (f64::INFINITY, first, 0, 0, 0);
        }
        (self.failed, self.infeasible) = (self.failed + seen.failed, self.infeasible + seen.infeasible);
        if seen.least < self.least {
            (self.least, self.particle, self.round) = (seen.least, first + seen.place, round);
        }
    }

    /// Weighs a block: mass, mass of squares and moment. `weights` is scratch of the length of `energies`, the least of which is `shift`.
    pub(crate) fn weigh<T: Scalar>(
        &mut self,
        alpha: f64,
        shift: f64,
        rows: &[T],
        energies: &[f64],
        weights: &mut [f64],
    ) {
        self.shift = shift;
        self.moment.fill(0.0);
        (self.mass, self.mass_of_squares) = (0.0, 0.0);
        if shift < f64::INFINITY {
            (self.mass, self.mass_of_squares) = T::weigh(alpha, shift, energies, weights, rows, &mut self.moment);
        }
    }

    /// The same with weights that are given, of either sign, and zero where an energy is not finite. They are relative to nothing.
    pub(crate) fn weigh_by<T: Scalar>(&mut self, weights: &[f64], rows: &[T]) {
        self.masses_by(weights);
        self.moment.fill(0.0);
        T::moment(rows, weights, &mut self.moment);
    }

    /// Of these sums, those that need no positions.
    pub(crate) fn masses_by(&mut self, weights: &[f64]) {
        self.shift = if self.least == f64::INFINITY { f64::INFINITY } else { 0.0 };
        self.mass = weights.iter().map(|w| w.abs()).sum();
        self.mass_of_squares = weights.iter().map(|w| w * w).sum();
    }

    /// Adds what `other` contributes.
    pub fn merge(&mut self, alpha: f64, other: &Self) {
        self.failed += other.failed;
        self.infeasible += other.infeasible;
        if other.least < self.least {
            (self.least, self.particle, self.round) = (other.least, other.particle, other.round);
        }
        if other.shift == f64::INFINITY {
            return;
        }
        let shift = self.shift.min(other.shift);
        let mine = if self.shift == f64::INFINITY { 0.0 } else { weight(alpha, self.shift - shift) };
        let theirs = weight(alpha, other.shift - shift);
        self.shift = shift;
        self.mass = mine * self.mass + theirs * other.mass;
        self.mass_of_squares = mine * mine * self.mass_of_squares + theirs * theirs * other.mass_of_squares;
        if theirs > 0.0 || mine != 1.0 {
            for (m, o) in self.moment.iter_mut().zip(&other.moment) {
                *m = mine * *m + theirs * o;
            }
        }
    }

    /// Writes the consensus point, or, of weights that add up to nothing, the direction to it. `None` if no particle has a finite energy.
    pub fn consensus(&self, point: &mut [f64]) -> Option<()> {
        if self.shift == f64::INFINITY {
            return None;
        }
        for (p, m) in point.iter_mut().zip(&self.moment) {
            // Energies that are all the same give no direction.
            *p = if self.mass == 0.0 { 0.0 } else { m / self.mass };
        }
        Some(())
    }

    /// Effective sample size `(sum w)^2 / sum w^2`, between 1 and the number of particles.
    pub fn effective_sample_size(&self) -> f64 {
        self.mass * self.mass / self.mass_of_squares
    }
}

impl Travelling for Partial {
    fn write(&self, to: &mut Writer) {
        for count in [self.particle as u64, self.round as u64, self.failed, self.infeasible] {
            to.whole(count);
        }
        to.numbers(&[self.least, self.shift, self.mass, self.mass_of_squares]);
        to.numbers(&self.moment);
    }

    fn read(dim: usize, from: &mut Reader<'_>) -> Result<Self, StateError> {
        let mut sums = Self::empty(dim);
        (sums.particle, sums.round) = (from.count()?, from.count()?);
        (sums.failed, sums.infeasible) = (from.whole()?, from.whole()?);
        let mut numbers = [0.0; 4];
        from.numbers(&mut numbers)?;
        [sums.least, sums.shift, sums.mass, sums.mass_of_squares] = numbers;
        from.numbers(&mut sums.moment)?;
        Ok(sums)
    }
}

/// What some energies are like.
struct Survey {
    least: f64,
    place: usize,
    failed: u64,
    infeasible: u64,
}

impl Survey {
    fn of(energies: &[f64]) -> Self {
        Self::with(simd::run(Least(energies)), energies)
    }

    /// If the least of them and its place are known.
    fn with(least: Option<(f64, usize)>, energies: &[f64]) -> Self {
        if let Some((least, place)) = least {
            return Self { least, place, failed: 0, infeasible: 0 };
        }
        let mut seen = Self { least: f64::INFINITY, place: 0, failed: 0, infeasible: 0 };
        for (i, &energy) in energies.iter().enumerate() {
            if energy == f64::INFINITY {
                seen.infeasible += 1;
            } else if !energy.is_finite() {
                seen.failed += 1;
            } else if energy < seen.least {
                (seen.least, seen.place) = (energy, i);
            }
        }
        seen
    }
}

/// The least finite energy, +infinity if there is none.
pub(crate) fn least_of(energies: &[f64]) -> f64 {
    Survey::of(energies).least
}

/// Writes the weights, and returns their sum and that of their squares.
pub(crate) fn weights_of(alpha: f64, shift: f64, energies: &[f64], weights: &mut [f64]) -> (f64, f64) {
    if shift == f64::INFINITY {
        return (0.0, 0.0);
    }
    simd::run(Weights { alpha, least: shift, energies, weights })
}

/// exp(-alpha gap), with 1 at gap 0 also for infinite alpha.
fn weight(alpha: f64, gap: f64) -> f64 {
    if gap == 0.0 { 1.0 } else { simd::exp_of(-alpha * gap) }
}

/// The alpha at which the effective sample size of the finite `energies` is `fraction` of their number, by bisection
/// in log alpha.
///
/// Returns infinity when ties at the least energy alone are that many or more: no alpha brings the effective
/// size below the number of ties.
pub fn alpha_for_sample_size(fraction: f64, energies: &[f64]) -> f64 {
    let kept: Vec<f64>;
    let (energies, least) = match simd::run(Least(energies)) {
        Some((least, _)) => (energies, least),
        None => {
            kept = energies.iter().copied().filter(|e| e.is_finite()).collect();
            (&kept[..], kept.iter().copied().fold(f64::INFINITY, f64::min))
        }
    };
    let count = energies.len() as f64;
    let wanted = (fraction * count).max(1.0);
    let (mut ties, mut gaps) = (0.0, 0.0);
    for e in energies {
        ties += f64::from(*e == least);
        gaps += e - least;
    }
    if ties >= wanted || count == 0.0 {
        return f64::INFINITY;
    }
    // Bracket, starting from the scale on which the mean gap has weight 1/e.
    let size = |log_alpha: f64| simd::run(SampleSize { alpha: simd::exp_of(log_alpha), least, energies });
    let start = simd::ln_of(count / gaps);
    let (mut low, mut high) = (start, start);
    if size(start) > wanted {
        while size(high) > wanted && high - start < 1000.0 {
            (low, high) = (high, high + 4.0);
        }
    } else {
        while size(low) < wanted && start - low < 1000.0 {
            (low, high) = (low - 4.0, low);
        }
    }
    // Alpha to one part in 2^12: far finer than the choice of the fraction.
    while high - low > 2e-4 {
        let middle = 0.5 * (low + high);
        if size(middle) > wanted { low = middle } else { high = middle }
    }
    simd::exp_of(0.5 * (low + high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Blocks of `block` rows, surveyed, weighed and merged in index order.
    fn consensus_in_blocks(alpha: f64, positions: &[f64], dim: usize, energies: &[f64], block: usize) -> Partial {
        let mut total = Partial::empty(dim);
        let mut weights = vec![0.0; block];
        for (b, e) in energies.chunks(block).enumerate() {
            let mut partial = Partial::empty(dim);
            partial.survey(b * block, 0, e);
            let rows = &positions[b * block * dim..(b * block + e.len()) * dim];
            partial.weigh(alpha, partial.least, rows, e, &mut weights[..e.len()]);
            total.merge(alpha, &partial);
        }
        total
    }

    fn point(partial: &Partial) -> Vec<f64> {
        let mut x = vec![0.0; partial.moment.len()];
        partial.consensus(&mut x).expect("a finite energy");
        x
    }

    #[test]
    fn ties_at_a_high_energy_and_huge_alpha_give_the_average() {
        for alpha in [1e15, f64::INFINITY] {
            for block in [1, 2, 3] {
                let total = consensus_in_blocks(alpha, &[1.0, 2.0, 9.0], 1, &[80.0, 80.0, 81.0], block);
                assert_eq!(point(&total), [1.5], "alpha {alpha}, blocks of {block}");
                assert_eq!(total.effective_sample_size(), 2.0);
            }
        }
    }

    #[test]
    fn small_alpha_gives_the_mean_and_infinite_alpha_the_least() {
        let positions = [1.0, 5.0, -3.0, 0.5];
        let energies = [3.0, 1.0, 2.0, 7.0];
        let mean = point(&consensus_in_blocks(1e-13, &positions, 1, &energies, 4))[0];
        assert!((mean - 0.875).abs() < 1e-12, "{mean}");
        assert_eq!(point(&consensus_in_blocks(f64::INFINITY, &positions, 1, &energies, 4)), [5.0]);
    }

    #[test]
    fn non_finite_energies_have_no_weight_and_are_counted() {
        let energies = [f64::NAN, 1.0, f64::INFINITY, f64::NEG_INFINITY, 1.0];
        for block in [1, 2, 5] {
            let total = consensus_in_blocks(50.0, &[1e9, 2.0, 1e9, 1e9, 4.0], 1, &energies, block);
            assert_eq!(point(&total), [3.0]);
            assert_eq!((total.failed, total.infeasible), (2, 1));
        }
        let none = consensus_in_blocks(50.0, &[1.0, 2.0], 1, &[f64::NAN, f64::INFINITY], 1);
        assert!(none.consensus(&mut [0.0]).is_none());
    }

    /// Energies and positions of a small swarm, with failures among them.
    fn swarms() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
        let energy = prop_oneof![8 => -50.0..50.0f64, 1 => Just(f64::NAN), 1 => Just(f64::INFINITY)];
        prop::collection::vec((energy, -10.0..10.0f64, -10.0..10.0f64), 1..60)
            .prop_map(|rows| rows.into_iter().map(|(e, x, y)| (e, [x, y])).unzip::<_, _, Vec<_>, Vec<_>>())
            .prop_map(|(energies, points)| (energies, points.concat()))
            .prop_filter("a finite energy", |(energies, _)| energies.iter().any(|e| e.is_finite()))
    }

    /// The formula, summed in the plainest way.
    fn plain(alpha: f64, positions: &[f64], energies: &[f64]) -> [f64; 2] {
        let least = energies.iter().copied().filter(|e| e.is_finite()).fold(f64::INFINITY, f64::min);
        let (mut mass, mut moment) = (0.0, [0.0; 2]);
        for (e, x) in energies.iter().zip(positions.chunks(2)).filter(|(e, _)| e.is_finite()) {
            let w = (-alpha * (e - least)).exp();
            mass += w;
            moment = [moment[0] + w * x[0], moment[1] + w * x[1]];
        }
        moment.map(|m| m / mass)
    }

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12 * 10.0)
    }

    proptest! {
        #[test]
        fn any_blocking_gives_the_plain_weighted_mean((energies, positions) in swarms(), alpha in 1e-3..100.0f64, block in 1usize..30) {
            let found = point(&consensus_in_blocks(alpha, &positions, 2, &energies, block));
            prop_assert!(close(&found, &plain(alpha, &positions, &energies)));
        }

        #[test]
        fn a_shift_of_the_energies_changes_nothing((energies, positions) in swarms(), alpha in 1e-3..10.0f64) {
            // Rounded so that the shifted energies are exact.
            let rounded: Vec<f64> = energies.iter().map(|e| (e * 1024.0).round() / 1024.0).collect();
            let shifted: Vec<f64> = rounded.iter().map(|e| e + 65536.0).collect();
            let (a, b) = (
                consensus_in_blocks(alpha, &positions, 2, &rounded, 16),
                consensus_in_blocks(alpha, &positions, 2, &shifted, 16),
            );
            prop_assert_eq!(point(&a), point(&b));
            prop_assert_eq!(a.effective_sample_size(), b.effective_sample_size());
        }

        #[test]
        fn merging_in_another_order_differs_by_rounding_only((energies, positions) in swarms(), alpha in 1e-3..100.0f64) {
            let mut partials: Vec<Partial> = energies
                .chunks(7)
                .zip(positions.chunks(14))
                .map(|(e, x)| consensus_in_blocks(alpha, x, 2, e, 7))
                .collect();
            let merged = |partials: &[Partial]| {
                let mut total = Partial::empty(2);
                partials.iter().for_each(|p| total.merge(alpha, p));
                total
            };
            let forwards = merged(&partials);
            partials.reverse();
            let backwards = merged(&partials);
            prop_assert!(close(&point(&forwards), &point(&backwards)));
            prop_assert_eq!((forwards.failed, forwards.infeasible), (backwards.failed, backwards.infeasible));
        }

        #[test]
        fn permuting_the_particles_changes_rounding_only((energies, positions) in swarms(), alpha in 1e-3..100.0f64, by in 0usize..60) {
            let by = by % energies.len();
            let (mut e, mut x) = (energies.clone(), positions.clone());
            e.rotate_left(by);
            x.rotate_left(2 * by);
            let (a, b) = (consensus_in_blocks(alpha, &positions, 2, &energies, 16), consensus_in_blocks(alpha, &x, 2, &e, 16));
            prop_assert!(close(&point(&a), &point(&b)));
        }
    }

    #[test]
    fn sample_size_bisection_meets_its_target() {
        let energies: Vec<f64> = (0..1000).map(|i| (f64::from(i) * 0.37).sin() * 40.0 + 1e6).collect();
        for fraction in [0.01, 0.1, 0.5, 0.9] {
            let alpha = alpha_for_sample_size(fraction, &energies);
            let (least, _) = simd::run(Least(&energies)).expect("finite energies");
            let size = simd::run(SampleSize { alpha, least, energies: &energies });
            assert!((size / (1000.0 * fraction) - 1.0).abs() < 1e-3, "{fraction}: {size}");
        }
        assert_eq!(alpha_for_sample_size(0.5, &[2.0; 10]), f64::INFINITY);
        let with_failures = [energies.as_slice(), &[f64::NAN, f64::INFINITY]].concat();
        assert_eq!(alpha_for_sample_size(0.1, &with_failures), alpha_for_sample_size(0.1, &energies));
    }
}
