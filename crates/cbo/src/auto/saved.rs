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
    /// Their constraints.
    constraints: Vec<T>,
    /// The evaluations allowed, each with the evaluations after which they were.
    budgets: Vec<(u64, u64)>,
    /// A sum of the bits of all points asked for.
    points: u64,
}

impl<T: Scalar> Told<T> {
    /// Nothing told, and this many evaluations allowed.
    pub fn new(budget: u64) -> Self {
        Self {
            energies: Vec::new(),
            constraints: Vec::new(),
            budgets: vec![(0, budget)],
            points: 0xcbf2_9ce4_8422_2325,
        }
    }

    /// Notes a round: the points asked for, their energies and their constraints.
    pub fn note(&mut self, points: &[f64], energies: &[T], constraints: &[T]) {
        // FNV-1a, a number at a time.
        let add = |sum: u64, x: &f64| (sum ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3);
        self.points = points.iter().fold(self.points, add);
        self.energies.extend_from_slice(energies);
        self.constraints.extend_from_slice(constraints);
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
        to.count(self.constraint_count());
        [told, is_local(&self.plan)].into_iter().for_each(|flag| to.flag(flag));
        to.numbers(&[seconds]);
        to.whole(self.told.points);
        to.count(self.told.budgets.len());
        self.told.budgets.iter().for_each(|(after, budget)| [after, budget].into_iter().for_each(|n| to.whole(*n)));
        to.count(self.told.energies.len());
        to.numbers(&self.told.energies);
        to.numbers(&self.told.constraints);
        to.known(self.midway.as_ref().map(|midway| &midway.known));
        to.end()
    }

    /// The run whose state was saved, and whether the energies of its round are told. The objective is not asked: a new solver is told
    /// what the old one was. It must have as many constraints as are given.
    pub fn load(
        plan: &Plan,
        stochastic: bool,
        constraints: Option<usize>,
        bytes: &[u8],
    ) -> Result<(Self, bool), StateError> {
        let mut from = Reader::begin::<T>(plan, bytes)?;
        let width = from.constraints(constraints)?;
        let (told, local) = (from.flag()?, from.flag()?);
        if local != is_local(plan) {
            return Err(StateError::differs("method", Method::Auto(Auto { local }), plan.config().method));
        }
        let mut seconds = [0.0];
        from.numbers(&mut seconds)?;
        let sum = from.whole()?;
        let count = from.items(2 * size_of::<u64>())?;
        let budgets = (0..count).map(|_| Ok((from.whole()?, from.whole()?))).collect::<Result<Vec<_>, StateError>>()?;
        let mut energies = vec![T::default(); from.items((1 + width) * size_of::<T>())?];
        from.numbers(&mut energies)?;
        let mut constraints = vec![T::default(); energies.len() * width];
        from.numbers(&mut constraints)?;
        let known = from.known(width)?;
        from.end()?;
        let Some(&(0, first)) = budgets.first() else { return Err(StateError::Damaged) };
        if told && energies.is_empty() {
            return Err(StateError::Damaged);
        }
        let mut run = Self::begin_with(plan, stochastic, first, width)?;
        run.repeat(&energies, &constraints, &budgets[1..], told)?;
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

    /// Tells the solver `energies` and constraints, and the evaluations it was allowed from then on. The last round is left if it is `told`.
    fn repeat(
        &mut self,
        energies: &[T],
        constraints: &[T],
        budgets: &[(u64, u64)],
        told: bool,
    ) -> Result<(), StateError> {
        let count = self.constraint_count();
        let (mut energies, mut constraints, mut budgets) = (energies, constraints, budgets.iter().peekable());
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
            let (now_constraints, later_constraints) = constraints.split_at(round * count);
            self.take(now, now_constraints);
            self.note();
            (energies, constraints) = (later, later_constraints);
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
