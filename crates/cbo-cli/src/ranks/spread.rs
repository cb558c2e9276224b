//! A run as the first of several ranks has it.

use super::{Assignment, Keeping, Kind, kind_of, lead, several};
use crate::device::Ready;
use crate::error::CliError;
use crate::minimize::task::Task;
use cbo::ranks::farm::{Schedule, Shared};
use cbo::{Objective, Scalar};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::folder::Folder;
use cbo_runs::parts::Scribe;

/// What is spread: particles, evaluations, or nothing that the engine knows of. Dropping it lets the others go.
pub struct Spread<'a, T> {
    particles: Option<Ready>,
    points: Option<Shared<'a, T>>,
    keeping: Keeping,
}

impl<'a, T: Scalar> Spread<'a, T> {
    /// Tells the other ranks, if there are any, to take part in a task, kept in a folder if there is one, from a checkpoint of it; `whole` if
    /// all particles are needed at the end. Each computes on its own `device`.
    pub fn lead(
        task: &Task,
        schedule: Option<Schedule>,
        whole: bool,
        kept: (Option<&Folder>, Option<&Checkpoint>),
        device: &Ready,
        objective: &'a dyn Objective<T>,
    ) -> Result<Self, CliError> {
        let mut spread = Self { particles: None, points: None, keeping: Keeping::default() };
        if let Some(ranks) = several() {
            let kind = kind_of(task, schedule)?;
            let bytes = (size_of::<T>() * task.config().particles.saturating_mul(task.dim())) as u64;
            let assignment = Assignment::new(task, kind, whole).on(device.spec());
            spread.keeping = lead(assignment, Vec::new(), kept, bytes)?;
            match kind {
                Kind::Particles => spread.particles = Some(device.on_ranks(spread.keeping.particles(ranks, whole))),
                Kind::Points => {
                    let threads = task.config().threads;
                    spread.points = Some(Shared::new(ranks.clone(), objective, threads, schedule.unwrap_or_default()));
                }
                Kind::Program => (), // its objective knows of the ranks
            }
        }
        Ok(spread)
    }

    /// The state of a checkpoint, as the ranks resume from it.
    pub fn state<'s>(&'s self, from: &'s Checkpoint) -> &'s [u8] {
        if several().is_some() { &self.keeping.state } else { &from.state }
    }

    /// Who writes the particles, if all ranks do.
    pub fn scribe(&mut self) -> Option<Scribe> {
        self.keeping.scribe.take()
    }

    /// Where the particles are, if they are on several ranks.
    pub fn device(&self) -> Option<&Ready> {
        self.particles.as_ref()
    }

    /// The objective, if its evaluations are spread.
    pub fn objective(&self) -> Option<&dyn Objective<T>> {
        self.points.as_ref().map(|points| points as &dyn Objective<T>)
    }
}
