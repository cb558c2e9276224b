//! The constraints of a run of the loop: those of the particles evaluated in a step, and what the particles remember.

use super::{Penalty, defined};
use crate::backend::Backend;
use crate::config::Plan;
use crate::consensus::{least_of, weights_of};
use crate::ensemble::survivors;
use crate::objective::{EvalError, Objective, Rows, StepContext};
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use rayon::prelude::*;

/// Numbers of a round from which it is worth spreading it over threads.
const WORTH_THREADS: usize = 4096;

/// What one step hands to the next.
#[derive(Debug)]
pub(crate) struct Constraints<T> {
    pub penalty: Penalty,
    /// The energies of the particles evaluated in this step, without the penalty.
    pub energies: Vec<T>,
    /// Their constraints, one particle after the other.
    pub values: Vec<T>,
    /// Energies with the penalty.
    priced: Vec<T>,
    /// The energy and the constraints of the point that each particle remembers, if it does: prices change, and what is remembered must be
    /// priced again.
    remembered: Vec<T>,
    /// The constraints as the particles agree on them.
    agreed: Vec<f64>,
    /// Memory: the energies of what was remembered, and the weights of the particles.
    before: Vec<T>,
    doubles: Vec<f64>,
    weights: Vec<f64>,
}

impl<T: Scalar> Constraints<T> {
    /// This many constraints, if there are any, of a run with this many particles, of which so many are evaluated in a step.
    pub fn new(count: usize, plan: &Plan) -> Option<Self> {
        if count == 0 {
            return None;
        }
        let (all, batch) = (plan.config().particles, plan.batch_size());
        let remembered = if plan.config().method.remembers() { all * (1 + count) } else { 0 };
        let nothing = |count: usize| vec![T::from_f64(f64::NAN); count];
        Some(Self::of(Penalty::new(count), nothing(batch), nothing(batch * count), nothing(remembered)))
    }

    fn of(penalty: Penalty, energies: Vec<T>, values: Vec<T>, remembered: Vec<T>) -> Self {
        let agreed = vec![0.0; penalty.count()];
        let (priced, before, doubles, weights) = Default::default();
        Self { penalty, energies, values, priced, remembered, agreed, before, doubles, weights }
    }

    /// How many constraints there are.
    pub fn count(&self) -> usize {
        self.penalty.count()
    }

    /// Hands the energies of a round to the backend, with the penalty of its constraints, and returns what that does. The first of all
    /// make the weights of the penalty.
    pub fn take<R>(
        &mut self,
        round: usize,
        (energies, values): (&[T], &[T]),
        backend: &mut dyn Backend<T>,
        take: impl FnOnce(&mut dyn Backend<T>, &[T]) -> R,
    ) -> R {
        if !self.penalty.has_begun() {
            self.penalty.begin(energies, values);
        }
        let count = self.count();
        let price = |(energy, values): (&T, &[T])| price(&self.penalty, *energy, values);
        self.priced.clear();
        self.priced.extend(energies.iter().zip(values.chunks_exact(count)).map(price));
        if round == 0 {
            self.energies.clear();
            self.energies.extend_from_slice(energies);
            self.values.clear();
            self.values.extend_from_slice(values);
        }
        self.before.clear();
        self.before.extend_from_slice(backend.remembered());
        let taken = take(backend, &self.priced);
        if !self.before.is_empty() {
            self.remember(round, (energies, values), backend);
        }
        taken
    }

    /// Keeps the energies and constraints of what the particles remember, after those of a round were taken.
    fn remember(&mut self, round: usize, (energies, values): (&[T], &[T]), backend: &dyn Backend<T>) {
        let (count, particles, now) = (self.count(), backend.evaluated(), backend.remembered());
        for (row, (energy, values)) in energies.iter().zip(values.chunks_exact(count)).enumerate() {
            let particle = particles.map_or(row, |particles| particles[row] as usize);
            // Of the positions, those that the particle remembers from now on.
            if round > 0 || self.before[particle].to_f64().to_bits() != now[particle].to_f64().to_bits() {
                let kept = &mut self.remembered[particle * (1 + count)..(particle + 1) * (1 + count)];
                kept[0] = *energy;
                kept[1..].copy_from_slice(values);
            }
        }
    }

    /// Drops what is known of particles that are no longer there: of `before` this many are left, and so many are evaluated in a step.
    pub fn shrink(&mut self, before: usize, (after, evaluated): (usize, usize), seed: u64, step: u64) {
        self.energies.truncate(evaluated);
        self.values.truncate(evaluated * self.count());
        if self.remembered.is_empty() || before == after {
            return;
        }
        let width = 1 + self.count();
        for (to, from) in survivors(before, after, seed, step).into_iter().enumerate() {
            self.remembered.copy_within(from * width..(from + 1) * width, to * width);
        }
        self.remembered.truncate(after * width);
    }

    /// Learns from the constraints of the points that make the consensus point, weighted as it weighs them: that is where the particles
    /// agree, and exact for constraints that are affine. What particles remember is priced again if prices have changed.
    pub fn agree(&mut self, alpha: f64, backend: &mut dyn Backend<T>) {
        let (count, remembers) = (self.count(), !self.remembered.is_empty());
        let energies = if remembers { backend.remembered() } else { backend.energies(0) };
        self.doubles.clear();
        self.doubles.extend(energies.iter().map(|e| e.to_f64()));
        self.weights.clear();
        self.weights.resize(energies.len(), 0.0);
        let (mass, _) = weights_of(alpha, least_of(&self.doubles), &self.doubles, &mut self.weights);
        if mass == 0.0 {
            return;
        }
        // What is remembered has its energy before its constraints.
        let (known, width) = if remembers { (&self.remembered[1..], 1 + count) } else { (&self.values[..], count) };
        self.agreed.fill(0.0);
        for (weight, values) in self.weights.iter().zip(known.chunks(width)).filter(|(weight, _)| **weight > 0.0) {
            self.agreed.iter_mut().zip(values).for_each(|(sum, g)| *sum += weight * g.to_f64());
        }
        self.agreed.iter_mut().for_each(|sum| *sum /= mass);
        if self.penalty.adapt(&self.agreed) {
            let kept = self.remembered.chunks_exact(1 + count);
            for (value, kept) in backend.remembered_mut().iter_mut().zip(kept) {
                *value = price(&self.penalty, kept[0], &kept[1..]);
            }
        }
    }

    /// Everything that the coming steps depend on.
    pub fn save(&self, to: &mut Writer) {
        to.numbers(&self.penalty.to_numbers());
        to.numbers(&self.energies);
        to.numbers(&self.values);
        to.numbers(&self.remembered);
    }

    /// The same, of a run in which this many particles are evaluated in a step, and this many remember a point.
    pub fn load(count: usize, from: &mut Reader<'_>, evaluated: usize, remembering: usize) -> Result<Self, StateError> {
        let penalty =
            Penalty::from_numbers(count, &from.many(Penalty::numbers_of(count))?).ok_or(StateError::Damaged)?;
        let (energies, values) = (from.many(evaluated)?, from.many(evaluated.saturating_mul(count))?);
        Ok(Self::of(penalty, energies, values, from.many(remembering.saturating_mul(1 + count))?))
    }
}

/// The energy with the penalty, in the precision of the run. What is too large for that is no reason to have no weight.
fn price<T: Scalar>(penalty: &Penalty, energy: T, values: &[T]) -> T {
    let price = penalty.price(energy.to_f64(), values);
    let rounded = T::from_f64(price);
    let overflown = rounded.to_f64() == f64::INFINITY && price < f64::INFINITY;
    if overflown { T::from_f64(f64::from(f32::MAX)) } else { rounded }
}

/// Writes the energies and constraints of `rows`, piece by piece, on the `threads` of the pool on which this runs.
/// A point whose constraints are not numbers has no energy.
pub(crate) fn evaluate<T: Scalar>(
    objective: &(impl Objective<T> + ?Sized),
    at: StepContext,
    rows: Rows<'_, T>,
    (energies, constraints): (&mut [T], &mut [T]),
    threads: usize,
) -> Result<(), EvalError> {
    let (dim, count) = (rows.dim(), objective.constraints());
    let one = |points: &[T], energies: &mut [T], constraints: &mut [T]| {
        objective.energies_and_constraints(at, Rows::new(points, dim), energies, constraints)?;
        for (energy, constraints) in energies.iter_mut().zip(constraints.chunks_exact(count)) {
            *energy = defined(*energy, constraints);
        }
        Ok(())
    };
    if threads <= 1 || rows.len() < 2 || rows.as_slice().len() < WORTH_THREADS {
        return one(rows.as_slice(), energies, constraints);
    }
    let piece = rows.len().div_ceil(4 * threads);
    let pieces = rows.as_slice().par_chunks(piece * dim).zip(energies.par_chunks_mut(piece));
    let pieces = pieces.zip(constraints.par_chunks_mut(piece * count)).enumerate();
    // The error of the first row that has one, whoever comes across it first.
    let error = pieces.find_map_first(|(i, ((points, energies), constraints))| {
        one(points, energies, constraints).err().map(|error: EvalError| error.after(i * piece))
    });
    error.map_or(Ok(()), Err)
}
