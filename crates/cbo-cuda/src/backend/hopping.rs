//! Method `hopping`: the deviations with which particles are drawn, and weights by rank, which the processor finds.

use super::OnDevice;
use super::launch::Work;
use super::layout::laid_out;
use crate::machine::{Fault, Kind, Machine, Memory};
use cbo::device::{Weigher, widths};
use cbo::{Hopping, HoppingStart, HoppingWeights, Plan, Scalar, SolveError};
use std::sync::Arc;

/// What it has on the device, and here.
#[derive(Debug)]
pub(super) struct Hops {
    pub widths: Memory,
    /// Weights by rank, if particles have those.
    pub given: Option<Memory>,
    weigher: Weigher,
    /// Whether all particles begin around one point.
    begins_at_point: bool,
}

impl Hops {
    /// For so many particles.
    pub fn new<T: Scalar>(
        plan: &Plan,
        machine: &Arc<dyn Machine>,
        hopping: Hopping,
        particles: usize,
    ) -> Result<Self, Fault> {
        let widths: Vec<T> = widths(plan).into_iter().map(T::from_f64).collect();
        let given = || Memory::new(machine, particles * 8, Kind::Device);
        Ok(Self {
            widths: Memory::of(machine, &widths)?,
            given: (hopping.weights == HoppingWeights::Ranks).then(given).transpose()?,
            weigher: Weigher::default(),
            begins_at_point: hopping.start == HoppingStart::Point,
        })
    }
}

impl<T: Scalar> OnDevice<T> {
    /// The particles of time 0 as the processor draws them, where not all of them have the initial law.
    pub(super) fn begin_at_point(&self) -> Result<(), SolveError> {
        if !self.hops.as_ref().is_some_and(|hops| hops.begins_at_point) {
            return Ok(());
        }
        let start = self.on_processor()?;
        let uploaded = self.here().positions.upload(&laid_out(self.shape, start.ensemble().rows()));
        uploaded.map_err(|fault| crate::refuse("device", self.machine.name(), fault.0))
    }

    /// Weighs the particles of the step by the order of their energies.
    pub(super) fn weigh_ranks(&mut self) -> Result<f64, Fault> {
        let mut hops = self.hops.take();
        if let Some(Hops { given: Some(given), weigher, .. }) = &mut hops {
            match &self.seat {
                Some(seat) => {
                    let all = seat.all_numbers(self.energies_here());
                    given.upload(&weigher.ranks(&all)[self.first..][..self.particles])?;
                }
                None => given.upload(weigher.ranks(self.energies_here()))?,
            }
        }
        self.hops = hops;
        self.begin_step(None, Work { alpha: Some(f64::NAN), ..Work::default() })?;
        self.collect(self.launches)?;
        Ok(f64::NAN)
    }
}
