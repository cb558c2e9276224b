//! Particles that go from rank to rank: the batch of a step, and all of them where a swarm has shrunk.

use super::{Kept, Part, Population};
use crate::backend::block_rows;
use crate::buffer::Buffer;
use crate::ensemble::Ensemble;
use crate::objective::EvalError;
use crate::ranks::Team;
use crate::report::SolveError;
use crate::simd::Scalar;
use crate::state::{Reader, Writer};
use std::ops::Range;

/// Which rank has a thing, by where the shares of the ranks end.
fn owner(ends: &[usize], thing: usize) -> usize {
    ends.partition_point(|end| *end <= thing)
}

/// Messages that are written one for each rank, and their bytes.
fn letters(size: usize) -> Vec<Writer> {
    (0..size).map(|_| Writer::plain()).collect()
}

impl<T: Scalar> Population<T> {
    /// Whose each particle of the run is, and whose each place of the batch.
    fn ends(&self, team: &Team) -> (Vec<usize>, Vec<usize>) {
        let rows = block_rows(self.ensemble.dim());
        (team.ends(self.part.all, rows), team.ends(self.part.asked(), rows))
    }

    /// Copies the columns of that part of the current batch together which is evaluated here. Every rank goes through the whole batch: it
    /// sends what it has to where it is evaluated.
    pub(super) fn gather_from(&mut self, team: &Team) {
        let Some(batches) = &self.batches else { return };
        let ((of_particles, of_places), dim) = (self.ends(team), self.ensemble.dim());
        let Part { particles, places, .. } = &self.part;
        let (order, mut to, remembers) = (batches.current(), letters(of_particles.len()), self.keeps.remembered);
        for (place, particle) in order.iter().map(|&particle| particle as usize).enumerate() {
            if particles.contains(&particle) {
                let (own, to) = (particle - particles.start, &mut to[owner(&of_places, place)]);
                to.numbers(self.ensemble.rows().row(own));
                if remembers {
                    to.numbers(&self.kept.points[own * dim..][..dim]);
                    to.numbers(&self.kept.values[own..=own]);
                }
            }
        }
        let from = team.exchange(to.into_iter().map(Writer::into_bytes).collect());
        let mut from: Vec<Reader<'_>> = from.iter().map(|bytes| Reader::plain(bytes)).collect();
        for (i, &particle) in order[places.clone()].iter().enumerate() {
            let from = &mut from[owner(&of_particles, particle as usize)];
            // All ranks went through the same batch, so that nothing is missing.
            let _ = from.numbers(&mut self.gathered.positions[i * dim..][..dim]);
            if remembers {
                let _ = from.numbers(&mut self.gathered.kept.points[i * dim..][..dim]);
                let _ = from.numbers(&mut self.gathered.kept.values[i..=i]);
            }
        }
    }

    /// Brings back what is remembered of the current batch.
    pub(super) fn scatter_to(&mut self, team: &Team) {
        let Some(batches) = self.batches.as_ref().filter(|_| self.keeps.remembered) else { return };
        let ((of_particles, of_places), dim) = (self.ends(team), self.ensemble.dim());
        let Part { particles, places, .. } = &self.part;
        let (order, mut to) = (batches.current(), letters(of_particles.len()));
        for (i, &particle) in order[places.clone()].iter().enumerate() {
            let (gathered, to) = (&self.gathered.kept, &mut to[owner(&of_particles, particle as usize)]);
            to.numbers(&gathered.points[i * dim..][..dim]);
            to.numbers(&gathered.values[i..=i]);
        }
        let from = team.exchange(to.into_iter().map(Writer::into_bytes).collect());
        let mut from: Vec<Reader<'_>> = from.iter().map(|bytes| Reader::plain(bytes)).collect();
        for (place, particle) in order.iter().map(|&particle| particle as usize).enumerate() {
            if particles.contains(&particle) {
                let (own, from) = (particle - particles.start, &mut from[owner(&of_places, place)]);
                let _ = from.numbers(&mut self.kept.points[own * dim..][..dim]);
                let _ = from.numbers(&mut self.kept.values[own..=own]);
            }
        }
    }

    /// Spreads a run that has shrunk to `all` particles over the ranks, equally again. Those here have the new numbers `here`. Fails on all
    /// ranks if one has no memory for its own.
    pub(super) fn spread_anew(&mut self, team: &Team, here: Range<usize>, all: usize) -> Result<(), EvalError> {
        let (dim, rows) = (self.ensemble.dim(), block_rows(self.ensemble.dim()));
        let room = team.agree(self.room_for(team.share(all, rows).len()))?;
        let ends = team.ends(all, rows);
        let mut to = letters(ends.len());
        let mut start = 0;
        for (end, to) in ends.iter().zip(&mut to) {
            let own = |new: usize| new.clamp(here.start, here.end) - here.start;
            let sent = own(start)..own(*end);
            to.count(sent.len());
            to.numbers(&self.ensemble.rows().as_slice()[sent.start * dim..sent.end * dim]);
            for column in [&self.kept.points, &self.kept.more] {
                if !column.is_empty() {
                    to.numbers(&column[sent.start * dim..sent.end * dim]);
                }
            }
            if !self.kept.values.is_empty() {
                to.numbers(&self.kept.values[sent.clone()]);
            }
            start = *end;
        }
        let from = team.exchange(to.into_iter().map(Writer::into_bytes).collect());
        (self.ensemble, self.kept) = room;
        let mut filled = 0;
        for bytes in &from {
            let mut from = Reader::plain(bytes);
            let count = from.count().unwrap_or(0);
            let _ = from.numbers(&mut self.ensemble.positions_mut()[filled * dim..(filled + count) * dim]);
            for column in [&mut self.kept.points, &mut self.kept.more] {
                if !column.is_empty() {
                    let _ = from.numbers(&mut column[filled * dim..(filled + count) * dim]);
                }
            }
            if !self.kept.values.is_empty() {
                let _ = from.numbers(&mut self.kept.values[filled..filled + count]);
            }
            filled += count;
        }
        self.take_part(Part::of(Some(team), all, self.part.batch, rows));
        Ok(())
    }

    /// Room for so many particles here, whose columns are to be written.
    pub(super) fn room_for(&self, particles: usize) -> Result<(Ensemble<T>, Kept<T>), EvalError> {
        let (dim, keeps) = (self.ensemble.dim(), self.keeps);
        let room = || {
            let positions = Buffer::try_new(particles.checked_mul(dim)?)?;
            Some((Ensemble::new(positions, dim), Kept::try_new(particles, dim, keeps)?))
        };
        room().ok_or_else(|| {
            let bytes = (1 + keeps.rows as u128) * particles as u128 * dim as u128 * size_of::<T>() as u128;
            EvalError::new(SolveError::Memory { particles, bytes }.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::population::{Keeps, Part, Population};

    #[test]
    fn room_that_there_is_not_is_an_error_that_names_its_size() {
        let keeps = Keeps { rows: 1, remembered: true };
        let part = (Part::whole(2, None), None);
        let population = Population::<f64>::new(crate::buffer::Buffer::new(6), 3, None, keeps, part).expect("memory");
        let (ensemble, kept) = population.room_for(5).expect("memory");
        assert_eq!((ensemble.len(), kept.points.len(), kept.values.len()), (5, 15, 5));
        for particles in [1 << 50, usize::MAX] {
            let said = population.room_for(particles).expect_err("no memory").message;
            assert!(said.contains(&particles.to_string()), "{said}");
        }
    }
}
