//! Differential evolution, DE/rand/1/bin.
//!
//! - formula: for each member x a mutant `y = a + F (b - c)` of three others; the trial point takes each coordinate of y with probability
//!   CR, and one at least; it replaces x if it is not worse
//! - source: Storn and Price 1997, doi:10.1023/A:1008202821328
//! - settings: F = 0.5, CR = 0.9, population 10 d, as in the source, but 100 at most, as is usual since Brest et al. 2006,
//!   doi:10.1109/TEVC.2006.872133

use super::Kind;
use super::search::{Over, Search};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "de",
    title: "differential evolution",
    source: "Storn and Price 1997, doi:10.1023/A:1008202821328",
    settings: &[
        Setting::count("population", "size of the population", Usual::OfDim(usual, "10 d, at most 100"), 4.0),
        Setting::number("F", "weight of the difference", 0.5, 0.0, 2.0),
        Setting::number("CR", "probability that a coordinate is the mutant's", 0.9, 0.0, 1.0),
    ],
    search,
};

fn usual(dim: usize) -> usize {
    dim.saturating_mul(10).min(100)
}

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (size, weight, crossover) = (values.count("population"), values.number("F"), values.number("CR"));
    let dim = search.dim();
    let mut population = search.begin(size)?;
    loop {
        let mut trials = Vec::with_capacity(size);
        for i in 0..size {
            let [a, b, c] = others(i, size, |bound| search.draws.below(bound));
            let certain = search.draws.below(dim);
            let mut x = population[i].x.clone();
            for (k, x) in x.iter_mut().enumerate() {
                if search.draws.happens(crossover) || k == certain {
                    let difference = population[b].x[k] - population[c].x[k];
                    *x = search.inside(k, population[a].x[k] + weight * difference);
                }
            }
            trials.push(x);
        }
        for (member, trial) in population.iter_mut().zip(search.round(trials)?) {
            if trial.value <= member.value {
                *member = trial;
            }
        }
    }
}

/// Three different numbers below `size`, none of them `i`.
fn others(i: usize, size: usize, mut below: impl FnMut(usize) -> usize) -> [usize; 3] {
    let mut taken = [i, size, size, size];
    for place in 1..4 {
        // The numbers that are left, in order: skip those that are taken.
        let mut chosen = below(size - place);
        let mut before = taken[..place].to_vec();
        before.sort_unstable();
        for taken in before {
            chosen += usize::from(taken <= chosen);
        }
        taken[place] = chosen;
    }
    [taken[1], taken[2], taken[3]]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_triples_of_others_occur_equally_often() {
        let mut counts = std::collections::BTreeMap::new();
        for (a, b, c) in (0..4).flat_map(|a| (0..3).flat_map(move |b| (0..2).map(move |c| (a, b, c)))) {
            let mut answers = [a, b, c].into_iter();
            let triple = others(2, 5, |_| answers.next().expect("three questions"));
            assert!(!triple.contains(&2) && triple.iter().all(|n| *n < 5), "{triple:?}");
            *counts.entry(triple).or_insert(0) += 1;
        }
        assert!(counts.len() == 24 && counts.values().all(|n| *n == 1), "{counts:?}");
    }
}
