//! Method `memory`: what particles remember, and steps whose weights are those of remembered points.

use super::launch::{Route, Work};
use super::layout::laid_out;
use super::{OnDevice, Seen};
use crate::machine::{Fault, Grid, Kernel, Kind, Machine, Memory, bytes_of_words};
use crate::source::Shape;
use cbo::device::{Backend, Move, Remembers, Weighing};
use cbo::{Ensemble, Partial, Plan, Rows, Scalar};
use std::sync::Arc;

/// What the kernel `remember` does, as it has it.
#[derive(Clone, Copy, Debug)]
enum Task {
    First,
    Hard,
    Smooth,
    BringBack,
}

/// What the particles remember, on the device.
#[derive(Debug)]
pub(super) struct Remembered {
    how: Remembers,
    /// Points, as positions lie, and their energies.
    pub points: Memory,
    pub values: Memory,
    /// The energies of those that are evaluated in a step, if there are batches.
    gathered: Option<Memory>,
}

/// Bytes that it takes for so many particles.
pub(crate) fn bytes<T>(shape: Shape, particles: usize) -> u64 {
    (shape.room(particles) * shape.dim + 2 * particles) as u64 * size_of::<T>() as u64
}

impl Remembered {
    pub fn new<T: Scalar>(
        plan: &Plan,
        machine: &Arc<dyn Machine>,
        (shape, particles): (Shape, usize),
        how: Remembers,
    ) -> Result<Self, Fault> {
        let memory = |bytes: usize| Memory::new(machine, bytes, Kind::Device);
        Ok(Self {
            how,
            points: memory(shape.room(particles) * shape.dim * size_of::<T>())?,
            values: Memory::of(machine, &vec![T::from_f64(f64::INFINITY); particles])?,
            gathered: plan.config().batch.map(|size| memory(size * size_of::<T>())).transpose()?,
        })
    }

    /// The energies of those that are evaluated in a step.
    fn weighed(&self) -> &Memory {
        self.gathered.as_ref().unwrap_or(&self.values)
    }
}

impl<T: Scalar> OnDevice<T> {
    /// All particles remember where they begin.
    pub(super) fn remember_start(&self) -> Result<(), Fault> {
        let Some(remembered) = &self.remembered else { return Ok(()) };
        let bytes = self.shape.room(self.particles) * self.shape.dim * size_of::<T>();
        // SAFETY: both have room for so many bytes, and stay for as long as the run.
        unsafe { self.machine.copy(remembered.points.address(), self.here().positions.address(), bytes) }?;
        self.machine.wait()
    }

    /// The same of a run that was saved.
    pub(super) fn load_remembered(&self, from: &dyn Backend<T>) -> Result<(), Fault> {
        let Some(remembered) = &self.remembered else { return Ok(()) };
        let points = Rows::new(from.remembered_points(), self.shape.dim);
        remembered
            .points
            .upload(&laid_out(self.shape, points))
            .and_then(|()| remembered.values.upload(from.remembered()))
    }

    /// A step whose particles remember: their positions are evaluated, what they remember follows, and that is weighed.
    pub(super) fn step_of_memory(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        how: Remembers,
    ) -> Result<f64, Fault> {
        let again = !how.is_hard && step > 0;
        let begun = self.begin_memory(pending, step, weighing, again);
        let alpha = match weighing.alpha() {
            Some(alpha) => alpha,
            None => {
                self.settled(begun.as_ref().map(|_| ()).map_err(Clone::clone))?;
                self.alpha_of_remembered(weighing)
            }
        };
        let surveyed = begun?;
        if weighing.alpha().is_none() {
            self.launch_remembered(Work { alpha: Some(alpha), ..Work::default() })?;
        }
        self.collect_both(surveyed, again)?;
        Ok(alpha)
    }

    /// Evaluates positions, and what is remembered if that is evaluated `again`, and weighs that if alpha is known. Returns the launch
    /// that looked at the positions.
    fn begin_memory(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        again: bool,
    ) -> Result<u64, Fault> {
        let pending = match pending {
            Some(decided) if self.batches.is_some() => {
                self.move_all(decided)?;
                None
            }
            pending => pending,
        };
        self.send_chosen()?;
        // The sums of this are looked at for the least energy and the failures alone, so most weights may be zero.
        self.begin_step(pending, Work { evaluates: true, alpha: Some(f64::INFINITY), ..Work::default() })?;
        let surveyed = self.launches;
        self.remember(match (step, again) {
            (0, _) => Task::First,
            (_, true) => Task::Smooth,
            _ => Task::Hard,
        })?;
        if again || weighing.alpha().is_some() {
            self.launch_remembered(Work { evaluates: again, alpha: weighing.alpha(), ..Work::default() })?;
            self.bring_back(again)?;
        }
        Ok(surveyed)
    }

    /// Takes the sums of positions, then those of remembered points, and adds them up.
    fn collect_both(&mut self, surveyed: u64, again: bool) -> Result<(), Fault> {
        let mut positions = Vec::with_capacity(self.sums.len());
        self.collect(surveyed)?;
        positions.extend_from_slice(&self.sums);
        let (best, best_at, extent) = (self.best.clone(), self.best_at, self.extent);
        let (slot, launch) = (self.slot_of_remembered(), self.launches);
        let mut least = f64::INFINITY;
        let mut is_remembered = false;
        for (node, positions) in positions.iter().enumerate() {
            self.collect_node(slot, launch, node)?;
            let is_point = add_survey(&mut self.sums[node], positions, self.shape.rows, again);
            if self.sums[node].least < least {
                (least, is_remembered) = (self.sums[node].least, is_point);
                if is_point {
                    self.take_best(node);
                }
            }
        }
        if !is_remembered {
            (self.best, self.best_at) = (best, best_at);
        }
        self.extent = extent;
        Ok(())
    }

    /// What the particles remember follows the energies of the step.
    fn remember(&mut self, task: Task) -> Result<(), Fault> {
        let Seen { points, values, weighed, .. } = &mut self.seen;
        points.take();
        values.take();
        weighed.take();
        let Some(Remembered { how, points, values, gathered, .. }) = &self.remembered else { return Ok(()) };
        // As `RememberArgs` in `memory.cuh`.
        let args = [
            self.here().positions.address(),
            self.here().energies.address(),
            points.address(),
            values.address(),
            gathered.as_ref().map_or(0, Memory::address),
            self.batches.as_ref().map_or(0, |batches| batches.chosen.address()),
            self.count_here() as u64,
            self.particles as u64,
            how.share.to_bits(),
            how.lean.to_bits(),
            how.beta.to_bits(),
            task as u64,
        ];
        let grid: Grid = self.grid(self.shape.blocks(self.count_here()));
        self.launch_all(Kernel::Remember, grid, &bytes_of_words(&args))
    }

    /// Energies of remembered points that were evaluated, if they were, are those of their particles.
    fn bring_back(&mut self, evaluated: bool) -> Result<(), Fault> {
        if evaluated && self.batches.is_some() { self.remember(Task::BringBack) } else { Ok(()) }
    }

    /// Launches work on what the particles remember.
    fn launch_remembered(&mut self, work: Work) -> Result<(), Fault> {
        let Some(remembered) = &self.remembered else { return Ok(()) };
        let (points, energies) = (remembered.points.address(), remembered.weighed().address());
        self.launches += 1;
        let route = Route {
            from: points,
            to: points,
            energies,
            result: self.slot_of_remembered(),
            launch: self.launches,
            particles: self.count_here(),
        };
        self.launch_on(None, work, route)
    }

    /// Where the device writes the sums of what the particles remember: beside those of steps.
    fn slot_of_remembered(&self) -> u64 {
        self.slot(2)
    }

    /// The alpha of the weights of remembered points, for a sample size.
    fn alpha_of_remembered(&self, weighing: Weighing) -> f64 {
        let Weighing::SampleSize(fraction) = weighing else { return f64::NAN };
        self.alpha_for(fraction, &self.remembered_here())
    }

    /// The energies that the particles evaluated in the step remember.
    pub(super) fn remembered_here(&self) -> Vec<T> {
        let values = self.all_remembered();
        match &self.batches {
            Some(chosen) => chosen.batches.current().iter().map(|&particle| values[particle as usize]).collect(),
            None => values.to_vec(),
        }
    }

    /// The energies that all particles remember.
    pub(super) fn all_remembered(&self) -> &[T] {
        self.seen.values.get_or_init(|| {
            let Some(remembered) = &self.remembered else { return Vec::new() };
            let mut values = vec![T::from_f64(f64::NAN); self.particles];
            if let Err(fault) = remembered.values.download(&mut values) {
                self.note(fault);
            }
            values
        })
    }

    /// The points that all particles remember.
    pub(super) fn remembered_rows(&self) -> &Ensemble<T> {
        self.seen.points.get_or_init(|| match &self.remembered {
            Some(remembered) => self.copied(&remembered.points),
            None => Ensemble::of_rows(&[], self.shape.dim),
        })
    }
}

/// Adds to the sums of remembered points what was seen of the positions of the step. Says whether the least energy is that of a remembered
/// point, which counts only if it was evaluated `again`: as in the engine the first block that has the least energy, and in that the positions.
fn add_survey(sums: &mut Partial, positions: &Partial, rows: usize, again: bool) -> bool {
    let is_before = || sums.particle / rows < positions.particle / rows;
    let is_least = again && (sums.least < positions.least || (sums.least == positions.least && is_before()));
    if is_least {
        sums.round = 1;
    } else {
        (sums.least, sums.particle, sums.round) = (positions.least, positions.particle, 0);
    }
    if again {
        (sums.failed, sums.infeasible) = (sums.failed + positions.failed, sums.infeasible + positions.infeasible);
    } else {
        (sums.failed, sums.infeasible) = (positions.failed, positions.infeasible);
    }
    is_least
}

#[cfg(test)]
mod tests {
    use super::*;
    use cbo::noise::{Noise, Stream};

    const ROWS: usize = 4;

    /// The first of the least numbers of a round of a block, and where it is.
    fn least(numbers: &[f64]) -> Option<(f64, usize)> {
        let finite = numbers.iter().copied().enumerate().filter(|(_, e)| e.is_finite());
        finite.fold(None, |found, (i, e)| if found.is_none_or(|(least, _)| e < least) { Some((e, i)) } else { found })
    }

    /// The sums of some rounds, block by block and one round after the other, as the engine adds them up.
    fn plain(rounds: &[(usize, &[f64])]) -> Partial {
        let mut total = Partial::empty(1);
        for block in 0..rounds[0].1.len() / ROWS {
            let mut sums = Partial::empty(1);
            sums.particle = block * ROWS;
            for (round, energies) in rounds {
                let energies = &energies[block * ROWS..][..ROWS];
                sums.failed += energies.iter().filter(|e| e.is_nan()).count() as u64;
                if let Some((e, i)) = least(energies).filter(|(e, _)| *e < sums.least) {
                    (sums.least, sums.particle, sums.round) = (e, block * ROWS + i, *round);
                }
            }
            total.merge(1.0, &sums);
        }
        total
    }

    /// Few different energies, so that most are tied, in two rounds that are surveyed one after the other.
    #[test]
    fn two_surveys_are_added_as_the_engine_adds_them_block_by_block() {
        let noise = Noise::new(9, Stream::Problem, 0);
        let mut of_points = 0;
        for case in 0..2000 {
            let energy = |at: u32| match (noise.uniforms(case, at)[0] * 5.0) as u32 {
                0 => f64::NAN,
                e => f64::from(e),
            };
            let [first, second] = [0, 100].map(|from| (from..from + 12).map(energy).collect::<Vec<_>>());
            let expected = plain(&[(0, &first), (1, &second)]);
            let mut sums = plain(&[(0, &second)]);
            let is_point = add_survey(&mut sums, &plain(&[(0, &first)]), ROWS, true);
            let of = |sums: &Partial| (sums.least, sums.particle, sums.round, sums.failed);
            assert_eq!(of(&sums), of(&expected), "{first:?}, {second:?}");
            assert_eq!(is_point, expected.round == 1);
            of_points += u32::from(is_point);
            let mut sums = plain(&[(0, &second)]);
            assert!(!add_survey(&mut sums, &plain(&[(0, &first)]), ROWS, false));
            assert_eq!(of(&sums), of(&plain(&[(0, &first)])));
        }
        assert!((100..1900).contains(&of_points), "{of_points}");
    }
}
