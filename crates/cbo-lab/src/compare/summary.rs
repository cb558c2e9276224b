//! The statistics of a comparison: a row for each method, a test for each pair, a curve for each method.

use super::curves::{self, Point};
use super::paired::{holm, lower, mcnemar, signed_rank};
use super::recorder::Improvement;
use super::targets::Targets;
use super::trial::{Judged, Trial};
use crate::success::{Rate, median};
use std::cmp::Ordering;

/// A difference counts that has at most this probability by chance, after correction.
pub const SIGNIFICANT: f64 = 0.05;

/// When a run is a success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Goal {
    /// Its point is nearer to a minimiser than this, in the maximum norm.
    Distance {
        /// The distance.
        tolerance: f64,
    },
    /// Its value is less than this above the minimum.
    Height {
        /// The difference.
        tolerance: f64,
        /// The least value.
        minimum: f64,
    },
}

impl Goal {
    fn holds(&self, distance: f64, value: f64) -> bool {
        match self {
            Self::Distance { tolerance } => distance < *tolerance,
            Self::Height { tolerance, minimum } => value - minimum < *tolerance,
        }
    }

    /// The evaluation from which on the best point was one that meets the goal, if the last one does.
    fn reached(&self, improvements: &[Improvement]) -> Option<u64> {
        let meets = |improvement: &&Improvement| self.holds(improvement.distance, improvement.value);
        improvements.iter().rev().take_while(meets).last().map(|improvement| improvement.evaluation)
    }
}

/// What is kept of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Its seed.
    pub seed: u64,
    /// Whether it met the goal.
    pub success: bool,
    /// The evaluations after which it did.
    pub success_at: Option<u64>,
    /// The value of the point by which it is judged; infinite if the run could not continue.
    pub value: f64,
    /// The distance of that point to the nearest minimiser; infinite if the run could not continue, NaN where none is known.
    pub distance: f64,
    /// Evaluations spent.
    pub evaluations: u64,
    /// The evaluation at which each target was reached.
    pub reached: Vec<Option<u64>>,
    /// Whether it ended as it should.
    pub finished: bool,
}

impl Measured {
    /// What is kept of a run.
    pub fn of(run: &Judged<'_>, goal: &Goal, targets: &Targets) -> Self {
        let success = goal.holds(run.distance, run.value);
        let success_at = if run.at_its_end { Some(run.evaluations) } else { goal.reached(run.improvements) };
        Self {
            seed: run.seed,
            success,
            success_at: success_at.filter(|_| success),
            // A consensus point may have no value.
            value: if run.value.is_nan() { f64::INFINITY } else { run.value },
            distance: run.distance,
            evaluations: run.evaluations,
            reached: targets.reached(run.improvements),
            finished: run.finished,
        }
    }
}

/// The runs of one method on one problem, in the order of their seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The method.
    pub name: String,
    /// Its runs.
    pub runs: Vec<Measured>,
}

impl Entry {
    /// The entry of some trials.
    pub fn new(name: &str, trials: &[Trial], goal: &Goal, targets: &Targets) -> Self {
        let runs = trials.iter().map(|trial| Measured::of(&trial.judged(), goal, targets)).collect();
        Self { name: name.to_string(), runs }
    }
}

/// One method on one problem.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Row {
    /// The method.
    pub name: String,
    /// Its successes.
    pub rate: Rate,
    /// The median of the evaluations that its successful runs took to their success.
    pub median_evaluations: Option<f64>,
    /// The expected number of evaluations to a success if runs are repeated until one succeeds: those spent, divided by the successes.
    /// Infinite without any.
    pub expected_evaluations: f64,
    /// The median of the values of all runs.
    pub median_value: f64,
    /// The part of all targets that its runs reached.
    pub targets: f64,
    /// Methods whose values are higher, beyond chance.
    pub better_than: usize,
    /// Methods whose values are lower, beyond chance.
    pub worse_than: usize,
    /// Runs that could not continue.
    pub failed: u64,
}

/// Two methods on one problem.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Pair {
    /// The first method, by its place.
    pub first: usize,
    /// The second.
    pub second: usize,
    /// Which has the lower values: `Less` for the first.
    pub lower: Ordering,
    /// The probability of the values' difference by chance, corrected for the number of pairs.
    pub value_p: f64,
    /// Runs in which only the first succeeded, and only the second.
    pub only: (u64, u64),
    /// The probability of the difference in success by chance, corrected for the number of pairs.
    pub success_p: f64,
}

/// A comparison on one problem. Everything is in the order of the entries.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Comparison {
    /// A row for each method.
    pub rows: Vec<Row>,
    /// A test for each two of them.
    pub pairs: Vec<Pair>,
    /// A curve for each method.
    pub curves: Vec<Vec<Point>>,
}

impl Comparison {
    /// Compares runs of equal numbers with each other, of `budget` evaluations at most.
    ///
    /// # Panics
    /// If there are no runs, or not equally many of each method.
    pub fn of(entries: &[Entry], targets: &Targets, budget: u64) -> Self {
        let runs = entries.first().map_or(0, |entry| entry.runs.len());
        assert!(runs > 0 && entries.iter().all(|entry| entry.runs.len() == runs), "runs are compared in pairs");
        let pairs = pairs(entries, targets);
        let beats = |pair: &Pair, place: usize, other: Ordering| {
            let sign = if pair.first == place { pair.lower } else { pair.lower.reverse() };
            (pair.first == place || pair.second == place) && sign == other && pair.value_p <= SIGNIFICANT
        };
        let count = |place: usize, sign| pairs.iter().filter(|pair| beats(pair, place, sign)).count();
        let rows = entries.iter().enumerate().map(|(place, entry)| Row {
            better_than: count(place, Ordering::Less),
            worse_than: count(place, Ordering::Greater),
            ..row(entry)
        });
        let reached = |entry: &Entry| {
            let runs: Vec<&[Option<u64>]> = entry.runs.iter().map(|run| run.reached.as_slice()).collect();
            curves::curve(&runs, budget)
        };
        Self { rows: rows.collect(), curves: entries.iter().map(reached).collect(), pairs }
    }

    /// The places of the methods, the best first: by successes, then by the evaluations expected to one, then by the median value.
    pub fn ranking(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.rows.len()).collect();
        let key = |place: usize| &self.rows[place];
        places.sort_by(|a, b| {
            let (a, b) = (key(*a), key(*b));
            let value = || a.median_value.total_cmp(&b.median_value);
            let evaluations = || a.expected_evaluations.total_cmp(&b.expected_evaluations);
            b.rate.successes.cmp(&a.rate.successes).then_with(evaluations).then_with(value)
        });
        places
    }
}

fn row(entry: &Entry) -> Row {
    let runs = &entry.runs;
    let successes = runs.iter().filter(|run| run.success).count() as u64;
    let spent: f64 = runs.iter().map(|run| run.success_at.unwrap_or(run.evaluations) as f64).sum();
    let targets: usize = runs.iter().map(|run| run.reached.len()).sum();
    let reached: usize = runs.iter().map(|run| run.reached.iter().flatten().count()).sum();
    Row {
        name: entry.name.clone(),
        rate: Rate::of(successes, runs.len() as u64),
        median_evaluations: median(runs.iter().filter_map(|run| run.success_at).map(|n| n as f64)),
        expected_evaluations: if successes > 0 { spent / successes as f64 } else { f64::INFINITY },
        median_value: median(runs.iter().map(|run| run.value)).unwrap_or(f64::INFINITY),
        targets: reached as f64 / targets.max(1) as f64,
        better_than: 0,
        worse_than: 0,
        failed: runs.iter().filter(|run| !run.finished).count() as u64,
    }
}

/// All pairs, corrected for their number.
fn pairs(entries: &[Entry], targets: &Targets) -> Vec<Pair> {
    // Below the last target all values are the same: there is no merit in rounding errors.
    let height = |value: f64| (value - targets.minimum).max(targets.last());
    let mut pairs = Vec::new();
    for second in 1..entries.len() {
        for first in 0..second {
            let both = || entries[first].runs.iter().zip(&entries[second].runs);
            let differences: Vec<f64> = both().map(|(a, b)| height(a.value) - height(b.value)).collect();
            let only = |x: bool, y: bool| both().filter(|(a, b)| (a.success, b.success) == (x, y)).count() as u64;
            let only = (only(true, false), only(false, true));
            pairs.push(Pair {
                first,
                second,
                lower: lower(&differences),
                value_p: signed_rank(&differences),
                only,
                success_p: mcnemar(only.0, only.1),
            });
        }
    }
    let mut values: Vec<f64> = pairs.iter().map(|pair| pair.value_p).collect();
    let mut successes: Vec<f64> = pairs.iter().map(|pair| pair.success_p).collect();
    holm(&mut values);
    holm(&mut successes);
    for (pair, (value, success)) in pairs.iter_mut().zip(values.into_iter().zip(successes)) {
        (pair.value_p, pair.success_p) = (value, success);
    }
    pairs
}
