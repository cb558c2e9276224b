//! A run as bytes, and back: what the solver was told, from which a new one finds its way.

use super::run::Run;
use super::{Auto, budget};
use crate::config::Plan;
use crate::method::Method;
use crate::run::Process;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Stopwatch, Writer};

/// What a solver was told, and when.
#[derive(Debug)]
pub(super) struct Told<T> {
    /// The energies of all points asked for, in their order.
    energies: Vec<T>,
    /// The evaluations allowed, each with the evaluations after which they were.
    budgets: Vec<(u64, u64)>,
    /// A sum of the bits of all points asked for.
    points: u64,
}

impl<T: Scalar> Told<T> {
    /// Nothing told, and this many evaluations allowed.
    pub fn new(budget: u64) -> Self {
        Self { energies: Vec::new(), budgets: vec![(0, budget)], points: 0xcbf2_9ce4_8422_2325 }
    }

    /// Notes a round: the points asked for, and their energies.
    pub fn note(&mut self, points: &[f64], energies: &[T]) {
        // FNV-1a, a number at a time.
        let add = |sum: u64, x: &f64| (sum ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3);
        self.points = points.iter().fold(self.points, add);
        self.energies.extend_from_slice(energies);
    }
}

/// Whether only the start is polished.
fn is_local(plan: &Plan) -> bool {
    matches!(plan.config().method, Method::Auto(Auto { local: true }))
}

impl<T: Scalar> Run<T> {
    /// Everything that a new solver needs to come to the same place, and whether the energies of its round are told.
    pub(super) fn to_bytes(&self, told: bool, seconds: f64) -> Vec<u8> {
        let mut to = Writer::begin::<T>(&self.plan);
        [told, is_local(&self.plan)].into_iter().for_each(|flag| to.flag(flag));
        to.numbers(&[seconds]);
        to.whole(self.told.points);
        to.count(self.told.budgets.len());
        self.told.budgets.iter().for_each(|(after, budget)| [after, budget].into_iter().for_each(|n| to.whole(*n)));
        to.count(self.told.energies.len());
        to.numbers(&self.told.energies);
        to.known(self.midway.as_ref().map(|midway| &midway.known));
        to.end()
    }

    /// The run whose state was saved, and whether the energies of its round are told. The objective is not asked: a new solver is told
    /// what the old one was.
    pub fn load(plan: &Plan, stochastic: bool, bytes: &[u8]) -> Result<(Self, bool), StateError> {
        let mut from = Reader::begin::<T>(plan, bytes)?;
        let (told, local) = (from.flag()?, from.flag()?);
        if local != is_local(plan) {
            return Err(StateError::differs("method", Method::Auto(Auto { local }), plan.config().method));
        }
        let mut seconds = [0.0];
        from.numbers(&mut seconds)?;
        let sum = from.whole()?;
        let count = from.items(2 * size_of::<u64>())?;
        let budgets = (0..count).map(|_| Ok((from.whole()?, from.whole()?))).collect::<Result<Vec<_>, StateError>>()?;
        let mut energies = vec![T::default(); from.items(size_of::<T>())?];
        from.numbers(&mut energies)?;
        let known = from.known()?;
        from.end()?;
        let Some(&(0, first)) = budgets.first() else { return Err(StateError::Damaged) };
        if told && energies.is_empty() {
            return Err(StateError::Damaged);
        }
        let mut run = Self::begin_with(plan, stochastic, first)?;
        run.repeat(&energies, &budgets[1..], told)?;
        if run.told.points != sum {
            return Err(StateError::Diverged);
        }
        let budget = budget(plan);
        if run.told.budgets.last().is_none_or(|last| last.1 != budget) {
            run.allow(budget);
        }
        if !told {
            run.settle();
        }
        run.clock = Stopwatch::start_from(seconds[0]);
        run.pause_at(told, &known)?;
        Ok((run, told))
    }

    /// Tells the solver `energies`, and the evaluations it was allowed from then on. The last round is left if it is `told`.
    fn repeat(&mut self, energies: &[T], budgets: &[(u64, u64)], told: bool) -> Result<(), StateError> {
        let (mut energies, mut budgets) = (energies, budgets.iter().peekable());
        loop {
            while let Some((_, budget)) = budgets.next_if(|(after, _)| *after == self.ledger.evaluations) {
                self.allow(*budget);
            }
            if energies.is_empty() {
                return if budgets.next().is_none() { Ok(()) } else { Err(StateError::Damaged) };
            }
            self.settle();
            let round = self.points().len();
            let (now, later) = energies.split_at_checked(round).ok_or(StateError::Diverged)?;
            if round == 0 {
                return Err(StateError::Diverged);
            }
            self.take(now);
            self.note();
            energies = later;
            if !(energies.is_empty() && told) {
                self.decide();
            }
        }
    }

    /// Allows the solver this many evaluations from now on.
    fn allow(&mut self, budget: u64) {
        self.told.budgets.push((self.ledger.evaluations, budget));
        self.solver.allow(budget);
    }
}
