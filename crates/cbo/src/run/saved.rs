//! A run as bytes, and back.

use super::{Nature, Run};
use crate::config::Plan;
use crate::constraint::Constraints;
use crate::device::Place;
use crate::method::Move;
use crate::run::Process;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Stopwatch, Writer};

/// The state of a run that goes on with another objective: the same, but the best point so far is forgotten, because its value is not that
/// of the new one. Not for the methods that remember more of the old objective than that: `auto` and `memory`.
pub fn forget_best<T: Scalar>(plan: &Plan, state: &[u8]) -> Result<Vec<u8>, StateError> {
    T::forget_best(plan, state)
}

/// The same in one precision.
pub(super) fn without_best<T: Scalar>(plan: &Plan, state: &[u8]) -> Result<Vec<u8>, StateError> {
    let method = plan.config().method;
    if method.is_auto() || method.remembers() {
        return Err(StateError::differs("method", method, "cbo"));
    }
    let (mut run, told) = Run::<T>::load(plan, Nature::elsewhere(), None, Place::Processor, state)?;
    let ledger = &mut run.ledger;
    (ledger.best.value, ledger.best.violation, ledger.improved) = (f64::INFINITY, 0.0, ledger.step);
    Ok(run.to_bytes(told, run.clock.seconds()))
}

impl<T: Scalar> Run<T> {
    /// Everything that the coming steps depend on: whether the energies of this step are told, the seconds that the run took, what it
    /// agreed on, spent and found, and the particles.
    pub(super) fn to_bytes(&self, told: bool, seconds: f64) -> Vec<u8> {
        let mut to = self.head(told, seconds);
        self.backend.save(&mut to);
        if let Some(constraints) = &self.constraints {
            constraints.save(&mut to);
        }
        to.known(self.midway.as_ref().map(|midway| &midway.known));
        to.end()
    }

    /// The same without the columns of the particles, where ranks can keep those themselves: such a run has no constraints, and no step that
    /// is left half evaluated.
    pub(super) fn to_bytes_apart(&self, told: bool, seconds: f64) -> Option<Vec<u8>> {
        let mut to = self.head(told, seconds);
        let (place, length) = self.backend.save_apart(&mut to)?;
        to.known::<T>(None);
        Some(to.end_apart(place, length))
    }

    /// What comes before the particles.
    fn head(&self, told: bool, seconds: f64) -> Writer {
        let (agreed, ledger) = (&self.agreed, &self.ledger);
        let mut to = Writer::begin::<T>(&self.plan);
        to.count(self.constraint_count());
        [told, self.made.is_some(), agreed.kicked].into_iter().for_each(|flag| to.flag(flag));
        to.count(self.round);
        to.numbers(&[seconds, agreed.alpha, agreed.sigma, agreed.least, agreed.effective_sample_size]);
        to.numbers(&agreed.consensus);
        to.numbers(&agreed.velocity);
        if let Some(made) = &self.made {
            to.numbers(&made.centre);
        }
        to.numbers(&[ledger.best.value]);
        to.numbers(&ledger.best.x);
        if self.constraints.is_some() {
            to.numbers(&[ledger.best.violation]);
        }
        let counts =
            [ledger.step, ledger.best_batch, ledger.improved, ledger.evaluations, ledger.failed, ledger.infeasible];
        counts.into_iter().for_each(|n| to.whole(n));
        to
    }

    /// The run whose state was saved, and whether the energies of its step are told. It must have as many constraints as are given.
    pub fn load(
        plan: &Plan,
        nature: Nature,
        constraints: Option<usize>,
        place: Place<'_, T>,
        bytes: &[u8],
    ) -> Result<(Self, bool), StateError> {
        let columns = if let Place::Device(device, _) = &place { device.columns() } else { None };
        let mut from = Reader::begin::<T>(plan, bytes)?.with_columns(columns);
        let count = from.constraints(constraints)?;
        let (told, made, kicked) = (from.flag()?, from.flag()?, from.flag()?);
        let mut run = Self::without_constraints(plan, nature, count > 0, place)?;
        run.round = from.count()?;
        let mut numbers = [0.0; 5];
        from.numbers(&mut numbers)?;
        let agreed = &mut run.agreed;
        let seconds;
        [seconds, agreed.alpha, agreed.sigma, agreed.least, agreed.effective_sample_size] = numbers;
        agreed.kicked = kicked;
        from.numbers(&mut agreed.consensus)?;
        from.numbers(&mut agreed.velocity)?;
        if made {
            let mut centre = vec![0.0; plan.dim()];
            from.numbers(&mut centre)?;
            run.made = Some(Box::new(Move { centre, ..Move::default() }));
        }
        let ledger = &mut run.ledger;
        from.numbers(std::slice::from_mut(&mut ledger.best.value))?;
        from.numbers(&mut ledger.best.x)?;
        if count > 0 {
            from.numbers(std::slice::from_mut(&mut ledger.best.violation))?;
        }
        for n in [
            &mut ledger.step,
            &mut ledger.best_batch,
            &mut ledger.improved,
            &mut ledger.evaluations,
            &mut ledger.failed,
            &mut ledger.infeasible,
        ] {
            *n = from.tally()?;
        }
        let method = plan.config().method;
        let rounds = method.rounds(ledger.step);
        if run.round == 1 && rounds == 1 {
            return Err(StateError::differs("method", "a smooth memory in the midst of a step", method));
        }
        if ledger.improved > ledger.step || run.round >= rounds || (told && run.round > 0) {
            return Err(StateError::Damaged);
        }
        run.backend.load(&mut from, run.round)?;
        if count > 0 {
            let remembering = if method.remembers() { run.backend.ensemble().len() } else { 0 };
            run.constraints = Some(Constraints::load(count, &mut from, run.backend.count(), remembering)?);
        }
        let known = from.known(count)?;
        from.end()?;
        run.clock = Stopwatch::start_from(seconds);
        run.pause_at(told, &known)?;
        Ok((run, told))
    }
}
