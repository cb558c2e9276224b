//! Which part of a run is on this rank.

use crate::ranks::Team;
use std::ops::Range;

/// The particles of a run that are here, and the places of a step's evaluations that are: the same, unless there are batches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The particles that are here, by their number in the run.
    pub particles: Range<usize>,
    /// All particles of the run.
    pub all: usize,
    /// Which of those evaluated in a step are evaluated here, by their place among them.
    pub places: Range<usize>,
    /// The size of a batch, if there are batches.
    pub batch: Option<usize>,
}

impl Part {
    /// All of a run.
    pub fn whole(all: usize, batch: Option<usize>) -> Self {
        Self { particles: 0..all, all, places: 0..batch.unwrap_or(all), batch }
    }

    /// What this rank has of it, in blocks of so many rows.
    pub(crate) fn of(team: Option<&Team>, all: usize, batch: Option<usize>, rows: usize) -> Self {
        let Some(team) = team else { return Self::whole(all, batch) };
        let particles = team.share(all, rows);
        let places = batch.map_or_else(|| particles.clone(), |batch| team.share(batch, rows));
        Self { particles, all, places, batch }
    }

    /// How many particles are evaluated in a step, on all ranks.
    pub fn asked(&self) -> usize {
        self.batch.unwrap_or(self.all)
    }
}
