//! The sums of a step, as the device has written them down.

use super::OnDevice;
use crate::machine::Fault;
use cbo::Scalar;

impl<T: Scalar> OnDevice<T> {
    /// Takes the sums of a launch, when they are there.
    pub(super) fn collect(&mut self, launch: u64) -> Result<(), Fault> {
        self.collect_at(self.slot(launch % 2), launch)
    }

    /// The same from this place.
    fn collect_at(&mut self, slot: u64, launch: u64) -> Result<(), Fault> {
        let mut least = f64::INFINITY;
        self.extent = 0.0;
        for node in 0..self.sums.len() {
            self.collect_node(slot, launch, node)?;
            if node == 0 || self.sums[node].least < least {
                least = self.sums[node].least;
                self.take_best(node);
            }
        }
        Ok(())
    }

    /// Takes the sums of one grain, of which the words are then here.
    pub(super) fn collect_node(&mut self, slot: u64, launch: u64, node: usize) -> Result<(), Fault> {
        let written = 2 * self.shape.stride() + self.shape.dim * size_of::<T>() / 4;
        let from = slot + (node * self.words.len() * 8) as u64;
        self.machine.wait_for(from, launch as u32, &mut self.words[..written])?;
        let fields = &self.words[..2 * self.shape.stride()];
        let number = |at: usize| f64::from_bits(u64::from(fields[2 * at + 1]) << 32 | u64::from(fields[2 * at]));
        let sums = &mut self.sums[node];
        [sums.least, sums.shift, sums.mass, sums.mass_of_squares] = [0, 4, 5, 6].map(number);
        (sums.particle, sums.failed, sums.infeasible) =
            (self.first + number(1) as usize, number(2) as u64, number(3) as u64);
        sums.round = 0;
        self.extent = self.extent.max(number(7));
        for (k, moment) in sums.moment.iter_mut().enumerate() {
            *moment = number(8 + k);
        }
        Ok(())
    }

    /// Takes the best position of the grain whose words are here.
    pub(super) fn take_best(&mut self, node: usize) {
        self.best_at = (self.sums[node].round, self.sums[node].particle - self.first);
        let best = &self.words[2 * self.shape.stride()..];
        for (x, words) in self.best.iter_mut().zip(best.chunks_exact(size_of::<T>() / 4)) {
            *x = match *words {
                [low, high] => T::from_f64(f64::from_bits(u64::from(high) << 32 | u64::from(low))),
                _ => T::from_f64(f32::from_bits(words[0]).into()),
            };
        }
    }
}
