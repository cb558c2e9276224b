//! Batches of particles: all move, and some of them are evaluated.

use super::OnDevice;
use super::launch::Work;
use crate::machine::{Fault, Kind, Machine, Memory, bytes_of_short_words};
use cbo::device::{Backend, Batches, Move, Weighing};
use cbo::{CboConfig, Scalar};
use std::sync::Arc;

/// Which particles are evaluated, on the device and, on its way there, here.
#[derive(Debug)]
pub(super) struct Chosen {
    pub batches: Batches,
    sent: Memory,
    pub chosen: Memory,
}

impl Chosen {
    /// The first batch of so many particles.
    pub fn new(config: &CboConfig, machine: &Arc<dyn Machine>, size: usize) -> Result<Self, Fault> {
        Ok(Self {
            batches: Batches::new(config.seed, config.particles, size),
            sent: Memory::new(machine, size * 4, Kind::Shared)?,
            chosen: Memory::new(machine, size * 4, Kind::Device)?,
        })
    }
}

impl<T: Scalar> OnDevice<T> {
    /// A step of which a batch of particles is evaluated: first all move.
    pub(super) fn step_of_batch(&mut self, pending: Option<&Move>, weighing: Weighing) -> Result<f64, Fault> {
        if let Some(decided) = pending {
            self.move_all(decided)?;
        }
        self.send_chosen()?;
        self.begin_step(None, Work { evaluates: true, alpha: weighing.alpha(), ..Work::default() })?;
        match weighing.alpha() {
            Some(alpha) => self.collect(self.launches).map(|()| alpha),
            None => self.weigh(weighing),
        }
    }

    /// Moves all particles, and goes to the next batch.
    pub(super) fn move_all(&mut self, decided: &Move) -> Result<(), Fault> {
        self.begin_step(Some(decided), Work::default())?;
        if let Some(Chosen { batches, .. }) = &mut self.batches {
            batches.next(self.plan.config().seed);
        }
        Ok(())
    }

    /// Sends which particles are evaluated. Nothing is on its way there: the last step was waited for.
    pub(super) fn send_chosen(&self) -> Result<(), Fault> {
        let Some(Chosen { batches, sent, chosen }) = &self.batches else { return Ok(()) };
        sent.put(0, &bytes_of_short_words(batches.current()));
        self.machine.send(chosen.address(), sent.address(), batches.current().len() * 4)
    }
}

/// The batches of a run, where those of another have come to.
pub(crate) fn same_batches<T>(config: &CboConfig, other: &dyn Backend<T>) -> Option<Batches> {
    let (round, size) = (other.round_of_batches()?, other.count());
    let first = other.evaluated()?.first().copied();
    let at = |position| Batches::at(config.seed, config.particles, size, round, position);
    let mut places = (0..config.particles).step_by(size).filter_map(at);
    places.find(|batches| batches.current().first().copied() == first)
}
