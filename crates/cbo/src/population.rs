//! What is known of each particle, column by column: position, energy, and what the method remembers.

mod part;
mod spread;

pub use part::Part;

use crate::batch::Batches;
use crate::buffer::Buffer;
use crate::ensemble::{Ensemble, survivors};
use crate::objective::{EvalError, Rows};
use crate::ranks::Team;
use crate::simd::Scalar;

/// What a method keeps of each particle besides its position; empty where it keeps nothing.
#[derive(Debug)]
pub(crate) struct Kept<T> {
    /// A point, or another row of as many numbers.
    pub points: Buffer<T>,
    /// Another such row.
    pub more: Buffer<T>,
    /// The energy of the point, if it is one that the particle remembers.
    pub values: Vec<T>,
}

/// How much that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Keeps {
    /// Rows of as many numbers as a position: none, one or two.
    pub rows: usize,
    /// Whether the first of them is a point that is remembered with its energy.
    pub remembered: bool,
}

/// The particles of a run, or that part of them which is here. In a step all of them are evaluated, or the batch whose columns are copied
/// together in `gathered`.
#[derive(Debug)]
pub(crate) struct Population<T> {
    /// The positions of all particles here.
    pub ensemble: Ensemble<T>,
    /// What is remembered of them.
    pub kept: Kept<T>,
    /// The energies of the particles evaluated here in this step.
    pub energies: Vec<T>,
    /// Which particles of the run are evaluated in this step, if not all.
    pub batches: Option<Batches>,
    /// Which part of the run is here.
    pub part: Part,
    /// The ranks that have the other parts.
    pub team: Option<Team>,
    keeps: Keeps,
    gathered: Gathered<T>,
}

#[derive(Debug)]
struct Gathered<T> {
    positions: Buffer<T>,
    kept: Kept<T>,
}

/// The columns of the particles evaluated in a step.
#[derive(Default)]
pub(crate) struct Columns<'a, T> {
    pub rows: &'a mut [T],
    pub energies: &'a mut [T],
    pub points: &'a mut [T],
    pub more: &'a mut [T],
    pub values: &'a mut [T],
}

impl<T> Columns<'_, T> {
    /// The points of a round of evaluations, and the place of their energies.
    pub fn asked(&mut self, round: usize) -> (&mut [T], &mut [T]) {
        if round == 0 { (self.rows, self.energies) } else { (self.points, self.values) }
    }
}

impl<T: Scalar> Kept<T> {
    /// Room for what is kept of this many particles, whose energies are not yet known, or `None` if there is no memory for it.
    fn try_new(particles: usize, dim: usize, keeps: Keeps) -> Option<Self> {
        let row = |number: usize| Buffer::try_new(if keeps.rows > number { particles * dim } else { 0 });
        let values = vec![T::from_f64(f64::INFINITY); if keeps.remembered { particles } else { 0 }];
        Some(Self { points: row(0)?, more: row(1)?, values })
    }

    fn truncate(&mut self, particles: usize, dim: usize) {
        self.points.truncate(particles * dim);
        self.more.truncate(particles * dim);
        self.values.truncate(particles);
    }
}

impl<T: Scalar> Population<T> {
    /// The particles at `positions`, which are this part of a run, not yet evaluated; `None` if there is no memory for the rest.
    pub fn new(
        positions: Buffer<T>,
        dim: usize,
        batches: Option<Batches>,
        keeps: Keeps,
        (part, team): (Part, Option<Team>),
    ) -> Option<Self> {
        let ensemble = Ensemble::new(positions, dim);
        let gathered = if batches.is_some() { part.places.len() } else { 0 };
        let mut kept = Kept::try_new(ensemble.len(), dim, keeps)?;
        if keeps.remembered {
            kept.points.copy_from_slice(ensemble.rows().as_slice());
        }
        // Only what is remembered is asked for with the positions.
        let together = if keeps.remembered { Keeps { rows: 1, ..keeps } } else { Keeps::default() };
        Some(Self {
            kept,
            energies: vec![T::default(); part.places.len()],
            batches,
            gathered: Gathered {
                positions: Buffer::try_new(gathered * dim)?,
                kept: Kept::try_new(gathered, dim, together)?,
            },
            ensemble,
            part,
            team,
            keeps,
        })
    }

    /// The particles of the run that are evaluated in this step, if not all.
    pub fn evaluated(&self) -> Option<&[u32]> {
        self.batches.as_ref().map(Batches::current)
    }

    /// The columns of the particles evaluated in this step.
    pub fn columns(&mut self) -> Columns<'_, T> {
        let energies = &mut self.energies[..];
        let (rows, kept) = match self.batches {
            Some(_) => (&mut self.gathered.positions[..], &mut self.gathered.kept),
            None => (self.ensemble.positions_mut(), &mut self.kept),
        };
        Columns { rows, energies, points: &mut kept.points, more: &mut kept.more, values: &mut kept.values }
    }

    /// The points that the objective is asked for in a round of this step: the positions, then what is remembered.
    pub fn points(&self, round: usize) -> Rows<'_, T> {
        let dim = self.ensemble.dim();
        match (self.batches.is_some(), round) {
            (false, 0) => self.ensemble.rows(),
            (false, _) => Rows::new(&self.kept.points, dim),
            (true, 0) => Rows::new(&self.gathered.positions, dim),
            (true, _) => Rows::new(&self.gathered.kept.points, dim),
        }
    }

    /// Their energies.
    pub fn energies_of(&self, round: usize) -> &[T] {
        match (self.batches.is_some(), round) {
            (_, 0) => &self.energies,
            (false, _) => &self.kept.values,
            (true, _) => &self.gathered.kept.values,
        }
    }

    /// Whether every particle is nearer than `limit` to the point that is kept of it, in the maximum norm.
    pub fn is_nearer_than(&self, limit: f64) -> bool {
        let near = |(x, y): (&T, &T)| (x.to_f64() - y.to_f64()).abs() < limit;
        self.ensemble.rows().as_slice().iter().zip(&*self.kept.points).all(near)
    }

    /// Copies the columns of the current batch together.
    pub fn gather(&mut self) {
        if let Some(team) = self.team.clone() {
            return self.gather_from(&team);
        }
        let Some(batches) = &self.batches else { return };
        let dim = self.ensemble.dim();
        let (all, kept) = (self.ensemble.rows(), &mut self.gathered.kept);
        for (i, &particle) in batches.current().iter().enumerate() {
            let particle = particle as usize;
            self.gathered.positions[i * dim..][..dim].copy_from_slice(all.row(particle));
            if !kept.values.is_empty() {
                kept.points[i * dim..][..dim].copy_from_slice(&self.kept.points[particle * dim..][..dim]);
                kept.values[i] = self.kept.values[particle];
            }
        }
    }

    /// Brings back what is remembered of the current batch.
    pub fn scatter(&mut self) {
        if let Some(team) = self.team.clone() {
            return self.scatter_to(&team);
        }
        let Some(batches) = self.batches.as_ref().filter(|_| self.keeps.remembered) else { return };
        let dim = self.ensemble.dim();
        let from = &self.gathered.kept;
        for (i, &particle) in batches.current().iter().enumerate() {
            let particle = particle as usize;
            self.kept.points[particle * dim..][..dim].copy_from_slice(&from.points[i * dim..][..dim]);
            self.kept.values[particle] = from.values[i];
        }
    }

    /// Keeps `count` particles of the run drawn at random, in their old order. On several ranks it fails on all of them if one has no memory.
    pub fn reduce(&mut self, count: usize, seed: u64, step: u64) -> Result<(), EvalError> {
        let kept = survivors(self.part.all, count, seed, step);
        let here = kept.partition_point(|i| *i < self.part.particles.start)
            ..kept.partition_point(|i| *i < self.part.particles.end);
        let own: Vec<usize> = kept[here.clone()].iter().map(|i| i - self.part.particles.start).collect();
        self.keep(&own);
        if let Some(batches) = &mut self.batches {
            batches.restart(seed, count);
        }
        match self.team.clone() {
            Some(team) => self.spread_anew(&team, here, count),
            None => {
                self.take_part(Part::whole(count, self.part.batch));
                Ok(())
            }
        }
    }

    /// Keeps these of the particles here, in their order.
    fn keep(&mut self, own: &[usize]) {
        let dim = self.ensemble.dim();
        self.ensemble.keep(own);
        let Kept { points, more, values } = &mut self.kept;
        for (to, &from) in own.iter().enumerate() {
            for rows in [&mut *points, &mut *more] {
                if !rows.is_empty() {
                    rows.copy_within(from * dim..(from + 1) * dim, to * dim);
                }
            }
            if !values.is_empty() {
                values[to] = values[from];
            }
        }
        self.kept.truncate(own.len(), dim);
    }

    /// Becomes this part, which has no more particles than there are.
    fn take_part(&mut self, part: Part) {
        self.ensemble.truncate(part.particles.len());
        self.kept.truncate(part.particles.len(), self.ensemble.dim());
        self.energies.resize(part.places.len(), T::default());
        self.part = part;
    }

    /// Makes room for a run of `all` particles, which are no more than there were. On several ranks it fails on all of them if one has none.
    pub fn fit(&mut self, all: usize, rows: usize) -> Result<(), EvalError> {
        let part = Part::of(self.team.as_ref(), all, self.part.batch, rows);
        let count = part.particles.len();
        let room = (count > self.ensemble.len()).then(|| self.room_for(count)).transpose();
        let room = match &self.team {
            Some(team) => team.agree(room)?,
            None => room?,
        };
        if let Some(room) = room {
            (self.ensemble, self.kept) = room;
        }
        self.take_part(part);
        Ok(())
    }
}
