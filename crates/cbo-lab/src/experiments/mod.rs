//! Experiments of the method's authors as numbers: many short runs, spread over all cores. Their parameters are those of the files in
//! `experiments/`.
//!
//! Run r of every cell has the seed `seed + r`, so that neighbouring cells differ by their setting and not by luck.

pub mod canyon;
pub mod landscape;
pub mod phase;
pub mod sensing;
pub mod truncation;

use crate::figures::FigureError;
use crate::fleet;
use crate::success::{Judge, Rate};
use cbo::device::Fleet;
use cbo::{CboConfig, Coordinates, InitialLaw, Objective, Scalar, SolveError, solve};
use cbo_problems::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// How an experiment is run.
#[derive(Clone, Copy)]
pub struct Session<'a> {
    /// Fewer cells and runs, for a first look.
    pub quick: bool,
    /// The seed of the first run of each cell.
    pub seed: u64,
    /// Told now and then which part is done; says whether to go on.
    pub watch: &'a (dyn Fn(f64) -> bool + Sync),
}

/// What a file of `experiments/` holds.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment<P, S> {
    /// What all runs have.
    pub parameters: P,
    /// How many runs, and of which settings.
    pub full: S,
    /// Fewer of them.
    pub quick: S,
}

/// Values of a setting, evenly spread.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Range {
    /// The first.
    pub from: f64,
    /// The last.
    pub to: f64,
    /// How many.
    pub count: usize,
}

impl Range {
    /// All of them.
    pub fn values(&self) -> Vec<f64> {
        let steps = self.count.saturating_sub(1).max(1) as f64;
        // Without the noise of rounding in their last digits.
        let tidy = |v: f64| (v * 1e9).round() / 1e9;
        (0..self.count).map(|k| tidy(self.from + (self.to - self.from) * k as f64 / steps)).collect()
    }
}

/// A setting that an experiment varies.
#[derive(Clone, Debug, Serialize)]
pub struct Axis {
    /// Its name.
    pub name: &'static str,
    /// Its values.
    pub values: Vec<f64>,
}

/// Success rates over two settings.
#[derive(Clone, Debug, Serialize)]
pub struct Grid {
    /// The setting that varies along a row.
    pub x: Axis,
    /// The setting that varies from row to row.
    pub y: Axis,
    /// Runs in each cell.
    pub runs: u64,
    /// Successes in each cell, row by row.
    pub successes: Vec<u64>,
}

impl Grid {
    /// Counts the successes of `run` for each pair of values and each seed. Results do not depend on the number of threads.
    pub fn measure(
        (x, y): (Axis, Axis),
        runs: u64,
        session: &Session<'_>,
        run: impl Fn(f64, f64, u64) -> Result<bool, SolveError> + Sync,
    ) -> Result<Self, FigureError> {
        let (columns, cells) = (x.values.len(), x.values.len() * y.values.len());
        let all = cells as u64 * runs;
        let done = AtomicU64::new(0);
        let successes: Vec<AtomicU64> = (0..cells).map(|_| AtomicU64::new(0)).collect();
        (0..all).into_par_iter().try_for_each(|k| {
            if !(session.watch)(done.fetch_add(1, Ordering::Relaxed) as f64 / all as f64) {
                return Err(FigureError::Interrupted);
            }
            // The last rows are often the longest runs: they begin first.
            let (place, number) = (cells - 1 - (k / runs) as usize, k % runs);
            let (x, y) = (x.values[place % columns], y.values[place / columns]);
            let success = run(x, y, session.seed.wrapping_add(number))?;
            successes[place].fetch_add(u64::from(success), Ordering::Relaxed);
            Ok(())
        })?;
        Ok(Self { x, y, runs, successes: successes.into_iter().map(AtomicU64::into_inner).collect() })
    }

    /// The same where `fleet` makes the runs, many at once: `config` gives the settings for two values and a seed, and a run is a
    /// success if its consensus point ends nearer than `tolerance` to a minimiser.
    fn measure_at_once<T: Scalar>(
        (x, y): (Axis, Axis),
        runs: u64,
        session: &Session<'_>,
        fleet: &dyn Fleet<T>,
        (problem, tolerance): (Problem, f64),
        config: impl Fn(f64, f64, u64) -> CboConfig + Sync,
    ) -> Result<Self, FigureError>
    where
        Problem: Objective<T>,
    {
        let (columns, cells) = (x.values.len(), x.values.len() * y.values.len());
        let (all, problem) = (cells.saturating_mul(runs as usize), Arc::new(problem));
        let run = |k: usize| {
            let (place, number) = (k / runs as usize, k as u64 % runs);
            let (x, y) = (x.values[place % columns], y.values[place / columns]);
            Ok::<_, FigureError>((config(x, y, session.seed.wrapping_add(number)), problem.clone()))
        };
        let (mut made, mut successes) = (0, vec![0; cells]);
        fleet::each_outcome(fleet, all, run, Judge::Consensus, session.watch, |number, outcome| {
            made += 1;
            successes[number / runs as usize] += u64::from(outcome.is_success(tolerance));
        })?;
        if made < all {
            return Err(FigureError::Interrupted);
        }
        Ok(Self { x, y, runs, successes })
    }

    /// The rate of a cell.
    pub fn rate(&self, column: usize, row: usize) -> Rate {
        Rate::of(self.successes[row * self.x.values.len() + column], self.runs)
    }

    /// The cells of a row.
    pub fn row(&self, row: usize) -> impl Iterator<Item = Rate> + '_ {
        (0..self.x.values.len()).map(move |column| self.rate(column, row))
    }

    /// One line per cell: both settings, successes, runs, rate, and its 95 % Wilson interval.
    pub fn csv(&self) -> String {
        let mut lines = format!("{},{},successes,runs,rate,low,high\n", self.x.name, self.y.name);
        for (j, y) in self.y.values.iter().enumerate() {
            for (x, rate) in self.x.values.iter().zip(self.row(j)) {
                let Rate { successes, runs, rate, low, high } = rate;
                lines += &format!("{x},{y},{successes},{runs},{rate},{low},{high}\n");
            }
        }
        lines
    }
}

/// Whether the consensus point of a run ends nearer than `tolerance` to a minimiser, in the maximum norm: the authors' criterion. A run
/// whose particles all went astray has failed.
fn finds<T: Scalar>(config: &CboConfig, problem: &Problem, tolerance: f64) -> Result<bool, SolveError>
where
    Problem: Objective<T>,
{
    match solve::<T>(config, problem, &mut ()) {
        Ok(report) => {
            let consensus: Vec<f64> = report.consensus().x.iter().map(|x| x.to_f64()).collect();
            Ok(problem.distance_to_minimiser(&consensus) < tolerance)
        }
        Err(SolveError::NoFiniteEnergy { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// A swarm smaller than this stays where it is to the precision of any picture: the rest of its time is not run.
const COLLAPSED: f64 = 1e-12;

/// What all runs of an experiment have in common.
fn short_run(mean: f64, variance: f64) -> CboConfig {
    CboConfig {
        init: InitialLaw::Normal { mean: Coordinates::All(mean), variance: Coordinates::All(variance) },
        diameter: Some(COLLAPSED),
        threads: 1,
        ..CboConfig::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_the_numbers_that_people_write() {
        let range = Range { from: 0.4, to: 32.0, count: 80 };
        assert_eq!((range.values()[1], range.values()[79]), (0.8, 32.0));
        assert_eq!(Range { from: 2.0, to: 2.0, count: 1 }.values(), [2.0]);
    }

    #[test]
    fn cells_are_in_their_places_and_a_session_can_be_ended() {
        let axes = || {
            let axis = |name, values: &[f64]| Axis { name, values: values.to_vec() };
            (axis("a", &[1.0, 2.0, 3.0]), axis("b", &[10.0, 20.0]))
        };
        let session = Session { quick: true, seed: 5, watch: &|_| true };
        let grid = Grid::measure(axes(), 4, &session, |x, y, seed| Ok(x * y > 20.0 + seed as f64)).expect("a grid");
        assert_eq!(grid.successes, [0, 0, 4, 0, 4, 4]); // 30 > 20 + 5 .. 8; 20 is not
        assert!(grid.csv().starts_with("a,b,successes,runs,rate,low,high\n1,10,0,4,0,0,0.48"), "{}", grid.csv());
        let ended = Session { watch: &|_| false, ..session };
        let outcome = Grid::measure(axes(), 4, &ended, |_, _, _| Ok(true));
        assert!(matches!(outcome, Err(FigureError::Interrupted)));
    }
}
