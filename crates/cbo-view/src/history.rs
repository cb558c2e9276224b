//! The steps of a run as columns: from its track, or, of runs of earlier versions, from its checkpoint or its history.

use crate::csv::Table;
use crate::read;
use cbo_runs::checkpoint::{self, HISTORY};
use cbo_runs::folder::{CHECKPOINT, STEPS};
use cbo_runs::track::Track;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Bytes and rows of a history at most.
const BYTES: usize = 1 << 23;
const ROWS: usize = 16_384;

/// Points of a small curve at most.
const SMALL: usize = 64;

/// Columns of numbers, all of one length; what is not finite is null in JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct History {
    /// By name.
    pub columns: BTreeMap<String, Vec<f64>>,
    /// Steps from one row to the next.
    pub spacing: u64,
    /// The columns that are infinite somewhere, as alpha is by default, which null does not tell.
    pub infinite: Vec<String>,
}

impl History {
    /// The steps of the run in a folder.
    pub fn of(folder: &Path) -> Self {
        Self::of_track(folder).or_else(|| Self::of_text(folder)).unwrap_or_default()
    }

    fn new(columns: BTreeMap<String, Vec<f64>>) -> Self {
        let is_infinite = |(_, column): &(&String, &Vec<f64>)| column.iter().any(|number| number.is_infinite());
        let infinite = columns.iter().filter(is_infinite).map(|(name, _)| name.clone()).collect();
        Self { spacing: spacing(&columns), columns, infinite }
    }

    fn of_track(folder: &Path) -> Option<Self> {
        let track = Track::read(&folder.join(STEPS), BYTES).filter(|track| !track.is_empty())?;
        let column = |name: &String| Some((name.clone(), track.column(name)?));
        Some(Self::new(track.head.wide.iter().filter_map(column).collect()))
    }

    fn of_text(folder: &Path) -> Option<Self> {
        let kept = || checkpoint::section(&folder.join(CHECKPOINT), HISTORY, BYTES as u64);
        let written = || read::bytes(&folder.join("history.csv"), BYTES as u64);
        let text = kept().filter(|kept| !kept.is_empty()).or_else(written)?;
        let table = Table::read(&String::from_utf8_lossy(&text), ROWS);
        let shown = |name: &&String| !name.starts_with("consensus_");
        let column = |name: &String| Some((name.clone(), table.numbers(name)?));
        Some(Self::new(table.names().iter().filter(shown).filter_map(column).collect()))
    }

    /// The rows after a step, if the rows are still as far apart; all of them otherwise.
    pub fn after(mut self, step: f64, spacing: u64) -> Self {
        let first = self.columns.get("step").map_or(0, |steps| steps.partition_point(|s| *s <= step));
        if spacing == self.spacing && first > 0 {
            self.columns.values_mut().for_each(|column| drop(column.drain(..first)));
        }
        self
    }

    /// A few of the best values, evenly spaced over the evaluations.
    pub fn small(&self) -> Vec<(f64, f64)> {
        let (Some(evaluations), Some(best)) = (self.columns.get("evaluations"), self.columns.get("best")) else {
            return Vec::new();
        };
        let all: Vec<(f64, f64)> =
            evaluations.iter().copied().zip(best.iter().copied()).filter(|(_, best)| best.is_finite()).collect();
        let every = all.len().div_ceil(SMALL).max(1);
        let last = all.len().checked_sub(1).filter(|last| last % every != 0).map(|last| all[last]);
        all.iter().step_by(every).copied().chain(last).collect()
    }
}

fn spacing(columns: &BTreeMap<String, Vec<f64>>) -> u64 {
    match columns.get("step").map(Vec::as_slice) {
        Some([first, second, ..]) => (second - first) as u64,
        _ => 1,
    }
}
