//! Tests of paired runs: whether the difference between two methods is more than chance.
//!
//! Runs of two methods with the same number have the same problem and the same start, so that their difference owes nothing to those. All
//! probabilities are of both sides.

use std::cmp::Ordering;

/// Up to this many pairs the signed rank test is exact.
const EXACT: usize = 200;

/// The probability of Wilcoxon's signed rank test (1945, doi:10.2307/3001968) that differences as lopsided as these come from chance.
/// Differences of zero (and those that are no numbers) are left out, equal ones share their ranks. Exact up to 200 differences: the
/// distribution over all signs; beyond, by the normal distribution.
///
/// ```
/// // The 1024 signs of ten ranks: 25 have a sum of 8 at most, and as many one of 47 at least.
/// let p = cbo_lab::compare::paired::signed_rank(&[-1.0, -7.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 9.0, 10.0]);
/// assert!((p - 50.0 / 1024.0).abs() < 1e-12);
/// ```
pub fn signed_rank(differences: &[f64]) -> f64 {
    let ranked = ranked(differences);
    if ranked.is_empty() {
        return 1.0;
    }
    let ranks: Vec<usize> = ranked.iter().map(|(rank, _)| *rank).collect();
    let positive: usize = ranked.iter().filter(|(_, up)| *up).map(|(rank, _)| rank).sum();
    let smaller = positive.min(ranks.iter().sum::<usize>() - positive);
    let one_side = if ranks.len() <= EXACT { exact(&ranks, smaller) } else { normal(&ranks, smaller) };
    (2.0 * one_side).min(1.0)
}

/// Which of two methods has the lower values, by the sum of signed ranks of the differences between the first and the second.
pub fn lower(differences: &[f64]) -> Ordering {
    let signed = ranked(differences).into_iter().map(|(rank, up)| if up { rank as i64 } else { -(rank as i64) });
    signed.sum::<i64>().cmp(&0)
}

/// Twice the rank of each difference by its size, and whether it is positive. Twice, because shared ranks may be halves.
fn ranked(differences: &[f64]) -> Vec<(usize, bool)> {
    let counts = differences.iter().filter(|d| **d != 0.0 && !d.is_nan());
    let mut sizes: Vec<(f64, bool)> = counts.map(|d| (d.abs(), *d > 0.0)).collect();
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut ranked: Vec<(usize, bool)> = Vec::with_capacity(sizes.len());
    for group in sizes.chunk_by(|a, b| a.0 == b.0) {
        let shared = 2 * ranked.len() + group.len() + 1;
        ranked.extend(group.iter().map(|(_, up)| (shared, *up)));
    }
    ranked
}

/// The probability that random signs give positive ranks a sum of `most` at the most.
fn exact(ranks: &[usize], most: usize) -> f64 {
    let mut chances = vec![0.0; most + 1];
    chances[0] = 1.0;
    for &rank in ranks {
        for sum in (0..=most).rev() {
            let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
            chances[sum] = 0.5 * (chances[sum] + with);
        }
    }
    chances.iter().sum()
}

/// The same by the normal distribution, with half a step for continuity.
fn normal(ranks: &[usize], most: usize) -> f64 {
    let mean = 0.5 * ranks.iter().sum::<usize>() as f64;
    let variance = 0.25 * ranks.iter().map(|rank| (rank * rank) as f64).sum::<f64>();
    // Ranks count twice: a step is 2.
    0.5 * libm::erfc((mean - most as f64 - 1.0) / (2.0 * variance).sqrt())
}

/// The probability of McNemar's exact test (1947, doi:10.1007/BF02295996): of runs in which only one of two methods succeeded, `first`
/// times the first and `second` times the second.
///
/// ```
/// let p = cbo_lab::compare::paired::mcnemar(10, 2);
/// assert!((p - 2.0 * (1.0 + 12.0 + 66.0) / 4096.0).abs() < 1e-12);
/// ```
pub fn mcnemar(first: u64, second: u64) -> f64 {
    let (n, least) = (first + second, first.min(second));
    // Binomial probabilities by their logarithms: there may be thousands of runs.
    let log_choose =
        |k: u64| libm::lgamma((n + 1) as f64) - libm::lgamma((k + 1) as f64) - libm::lgamma((n - k + 1) as f64);
    let half = n as f64 * std::f64::consts::LN_2;
    let one_side: f64 = (0..=least).map(|k| libm::exp(log_choose(k) - half)).sum();
    (2.0 * one_side).min(1.0)
}

/// Corrects probabilities for their number as Holm does (1979): the least is multiplied by their number, the next by one less, and so on;
/// none becomes less than one before it. Then the chance that any is below 0.05 where there is no difference is 0.05 at most.
///
/// ```
/// let mut p = [0.01, 0.04, 0.03, 0.005];
/// cbo_lab::compare::paired::holm(&mut p);
/// assert_eq!(p.map(|p| (1000.0 * p).round()), [30.0, 60.0, 60.0, 20.0]);
/// ```
pub fn holm(probabilities: &mut [f64]) {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut before = 0.0f64;
    for (place, index) in order.iter().enumerate() {
        let factor = (probabilities.len() - place) as f64;
        before = before.max((factor * probabilities[*index]).min(1.0));
        probabilities[*index] = before;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All signs of the same sizes, one by one.
    fn enumerated(differences: &[f64]) -> f64 {
        let kept: Vec<f64> = differences.iter().copied().filter(|d| *d != 0.0).collect();
        let rank = |x: f64| {
            let below = kept.iter().filter(|y| y.abs() < x.abs()).count() as f64;
            let same = kept.iter().filter(|y| y.abs() == x.abs()).count() as f64;
            below + (same + 1.0) / 2.0
        };
        let ranks: Vec<f64> = kept.iter().map(|x| rank(*x)).collect();
        let total: f64 = ranks.iter().sum();
        let lopsided = |positive: f64| (positive - total / 2.0).abs();
        let seen = lopsided(kept.iter().zip(&ranks).filter(|(d, _)| **d > 0.0).map(|(_, r)| r).sum());
        let all = 1u32 << kept.len();
        let sum = |signs: u32| (0..kept.len()).filter(|k| signs >> k & 1 == 1).map(|k| ranks[k]).sum::<f64>();
        (0..all).filter(|signs| lopsided(sum(*signs)) >= seen - 1e-9).count() as f64 / f64::from(all)
    }

    #[test]
    fn the_exact_test_is_the_count_of_all_signs() {
        let cases: [&[f64]; 6] = [
            &[1.0, 2.0, 3.0, 4.0, 5.0],
            &[1.0, -1.0, 1.0, 1.0, 2.0, 2.0, -3.0],
            &[0.0, 0.0, 3.0, -2.0],
            &[2.0; 11],
            &[f64::INFINITY, 1.0, 2.0, f64::INFINITY, -1.0],
            &[0.3, -0.1, 0.4, -0.1, 0.5, 0.9, -0.2, 0.6, 0.5, 0.3, -0.9, 0.8],
        ];
        for case in cases {
            let (got, want) = (signed_rank(case), enumerated(case));
            assert!((got - want).abs() < 1e-12, "{case:?}: {got}, not {want}");
        }
        assert_eq!([signed_rank(&[]), signed_rank(&[0.0, f64::NAN])], [1.0, 1.0]);
        assert_eq!(signed_rank(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
    }

    /// Sums of 150 ranks, from the middle to a probability of 0.001, where the tail of the normal distribution is too heavy by some per cent.
    #[test]
    fn the_normal_distribution_is_near_the_exact_one() {
        let ranks: Vec<usize> = (1..=150).map(|k| 2 * k).collect();
        for most in [8000, 9000, 10000, 11000] {
            let (exact, near) = (exact(&ranks, most), normal(&ranks, most));
            assert!((near / exact - 1.0).abs() < 0.1, "{most}: {near}, not {exact}");
        }
    }

    #[test]
    fn successes_that_differ() {
        assert_eq!([mcnemar(0, 0), mcnemar(3, 3)], [1.0, 1.0]);
        assert!((mcnemar(0, 6) - 2.0 / 64.0).abs() < 1e-12);
        assert_eq!(mcnemar(2, 10), mcnemar(10, 2));
        assert!(mcnemar(4000, 6000) < 1e-80);
    }

    #[test]
    fn corrections_never_lower_a_probability() {
        let mut p = [0.5, 0.9, 0.5];
        holm(&mut p);
        assert_eq!(p, [1.0, 1.0, 1.0]);
        let mut p = [0.02];
        holm(&mut p);
        assert_eq!(p, [0.02]);
        holm(&mut []);
    }

    #[test]
    fn the_lower_one_is_told() {
        assert_eq!(lower(&[-1.0, -2.0, 0.5]), Ordering::Less);
        assert_eq!(lower(&[1.0, -1.0]), Ordering::Equal);
        assert_eq!(lower(&[f64::INFINITY, -2.0, -1.0]), Ordering::Equal);
        assert_eq!(lower(&[f64::NAN, 1.0]), Ordering::Greater);
    }
}
