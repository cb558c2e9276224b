//! A run that is left within a step.

use crate::answers::Known;
use crate::ledger::Ledger;

/// Some energies of a round are known, others are not.
#[derive(Debug)]
pub(crate) struct Midway<T> {
    pub known: Known<T>,
    /// What the run has spent and found, these energies included. Its own ledger counts whole rounds, so that a run that goes on counts
    /// none twice.
    pub ledger: Ledger<T>,
}
