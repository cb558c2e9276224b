//! What is copied from the device because somebody looks at it.

use super::OnDevice;
use super::layout::rows;
use crate::machine::{Fault, Memory};
use cbo::{Ensemble, Scalar};
use std::sync::{Mutex, OnceLock};

/// What was copied since the last move, and what went wrong with it.
#[derive(Debug)]
pub(super) struct Seen<T> {
    pub ensemble: OnceLock<Ensemble<T>>,
    pub energies: OnceLock<Vec<T>>,
    pub points: OnceLock<Ensemble<T>>,
    pub values: OnceLock<Vec<T>>,
    pub weighed: OnceLock<Vec<T>>,
    pub fault: Mutex<Option<Fault>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self {
            ensemble: OnceLock::new(),
            energies: OnceLock::new(),
            points: OnceLock::new(),
            values: OnceLock::new(),
            weighed: OnceLock::new(),
            fault: Mutex::new(None),
        }
    }
}

impl<T: Scalar> OnDevice<T> {
    /// How many particles the step evaluates.
    pub(super) fn count_here(&self) -> usize {
        self.batches.as_ref().map_or(self.particles, |chosen| chosen.batches.current().len())
    }

    /// The energies of those.
    pub(super) fn energies_here(&self) -> &[T] {
        self.seen.energies.get_or_init(|| {
            let mut energies = vec![T::from_f64(f64::NAN); self.count_here()];
            if let Err(fault) = self.here().energies.download(&mut energies) {
                self.note(fault);
            }
            energies
        })
    }

    /// The points of all particles that lie there.
    pub(super) fn copied(&self, points: &Memory) -> Ensemble<T> {
        let mut numbers = vec![T::from_f64(f64::NAN); self.shape.room(self.particles) * self.shape.dim];
        if let Err(fault) = points.download(&mut numbers) {
            self.note(fault);
        }
        Ensemble::of_rows(&rows(self.shape, self.particles, &numbers), self.shape.dim)
    }
}
