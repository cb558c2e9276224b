//! A run as the first of several ranks has it.

use super::{Assignment, Kind, kind_of, lead, several};
use crate::device::Ready;
use crate::error::CliError;
use crate::minimize::task::Task;
use cbo::ranks::Particles;
use cbo::ranks::farm::{Schedule, Shared};
use cbo::{Objective, Scalar};

/// What is spread: particles, evaluations, or nothing that the engine knows of. Dropping it lets the others go.
pub struct Spread<'a, T> {
    particles: Option<Ready>,
    points: Option<Shared<'a, T>>,
}

impl<'a, T: Scalar> Spread<'a, T> {
    /// Tells the other ranks, if there are any, to take part in a task from this state; `whole` if all particles are needed at the end.
    pub fn lead(
        task: &Task,
        schedule: Option<Schedule>,
        whole: bool,
        state: &[u8],
        objective: &'a dyn Objective<T>,
    ) -> Result<Self, CliError> {
        let (mut particles, mut points) = (None, None);
        if let Some(ranks) = several() {
            let kind = kind_of(task, schedule)?;
            lead(&Assignment::new(task, kind, whole, state))?;
            match kind {
                Kind::Particles => particles = Some(Ready::Ranks(Particles::new(ranks.clone()).whole(whole))),
                Kind::Points => {
                    let threads = task.config().threads;
                    points = Some(Shared::new(ranks.clone(), objective, threads, schedule.unwrap_or_default()));
                }
                Kind::Program => (), // its objective knows of the ranks
            }
        }
        Ok(Self { particles, points })
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
