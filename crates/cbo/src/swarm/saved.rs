//! A swarm as bytes, and back.

use super::{Swarm, merge};
use crate::batch::Batches;
use crate::config::Plan;
use crate::objective::Grouping;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::sync::Arc;

impl<T: Scalar> Swarm<T> {
    /// The state as bytes: whether the energies of its points are told, the seconds that the run took, and the swarm.
    pub fn save(&self, told: bool, seconds: f64) -> Vec<u8> {
        let mut to = Writer::begin::<T>(&self.plan);
        to.whole(u64::from(told));
        to.numbers(&[seconds]);
        self.write(&mut to);
        to.end()
    }

    /// The swarm whose state was saved, whether it was told its energies, and the seconds it took.
    pub fn load(plan: &Arc<Plan>, grouping: Grouping, bytes: &[u8]) -> Result<(Self, bool, f64), StateError> {
        let mut from = Reader::begin::<T>(plan, bytes)?;
        let told = from.flag()?;
        let mut seconds = [0.0];
        from.numbers(&mut seconds)?;
        let mut swarm = Self::begin(plan, grouping)?;
        swarm.read(&mut from)?;
        from.end()?;
        if told {
            swarm.weigh_again();
        }
        Ok((swarm, told, seconds[0]))
    }

    /// Writes down everything that the coming steps depend on.
    fn write(&self, to: &mut Writer) {
        to.count(self.ensemble.len());
        to.numbers(self.ensemble.rows().as_slice());
        to.numbers(&self.energies);
        to.numbers(&self.consensus);
        to.numbers(&self.previous);
        to.numbers(&self.best.x);
        let done_below = self.done_below.unwrap_or(f64::NAN);
        to.numbers(&[self.best.value, self.alpha, self.sigma, self.variance, done_below]);
        let (round, position) = self.batches.as_ref().map_or((0, 0), Batches::place);
        let counts = [self.step, self.best_batch, self.improved, self.evaluations, self.failed, self.infeasible];
        counts.into_iter().chain([round, position as u64, u64::from(self.kicked)]).for_each(|n| to.whole(n));
    }

    /// Goes where a run was that had the same plan.
    fn read(&mut self, from: &mut Reader<'_>) -> Result<(), StateError> {
        let plan = self.plan.clone();
        let particles = from.count()?;
        if particles == 0 || particles > plan.config.particles {
            return Err(StateError::differs("particles", particles, plan.config.particles));
        }
        self.shrink(particles);
        from.numbers(self.ensemble.positions_mut())?;
        from.numbers(&mut self.energies)?;
        from.numbers(&mut self.consensus)?;
        from.numbers(&mut self.previous)?;
        from.numbers(&mut self.best.x)?;
        let mut values = [0.0; 5];
        from.numbers(&mut values)?;
        // When the swarm is done follows from the plan and the first positions, which are there again.
        let [best, alpha, sigma, variance, _done_below] = values;
        (self.best.value, self.alpha, self.sigma, self.variance) = (best, alpha, sigma, variance);
        for n in [
            &mut self.step,
            &mut self.best_batch,
            &mut self.improved,
            &mut self.evaluations,
            &mut self.failed,
            &mut self.infeasible,
        ] {
            *n = from.tally()?;
        }
        let (round, position) = (from.tally()?, from.count()?);
        self.kicked = from.flag()?;
        if self.improved > self.step {
            return Err(StateError::Damaged);
        }
        if let Some(size) = plan.config.batch {
            let batches = Batches::at(plan.config.seed, particles, size, round, position);
            self.batches = Some(batches.ok_or(StateError::Damaged)?);
        }
        self.gather();
        Ok(())
    }

    /// Finds again what follows from positions, energies and alpha.
    fn weigh_again(&mut self) {
        self.survey_and_weigh(Some(self.alpha));
        merge(self.alpha, &self.partials, &mut self.total);
    }
}
