//! The particles of a run spread over ranks: each has a range of the blocks, and what a step exchanges are sums.

use super::contribution::{Contribution, moments_over};
use super::share::pieces;
use super::{Backend, Seat, Share, block_rows, first_failure};
use crate::answers::Answers;
use crate::config::Plan;
use crate::consensus::Partial;
use crate::ensemble::{Ensemble, Extent};
use crate::method::Move;
use crate::objective::{EvalError, Objective, Rows, StepContext};
use crate::population::Keeps;
use crate::ranks::{Answering, Here, Node, Request, Team, Travelling, merge_range, subtrees};
use crate::report::StopReason;
use crate::schedule::Weighing;
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What the first rank has asked the others for since the last step.
#[derive(Debug)]
struct Seen<T> {
    ensemble: OnceLock<Ensemble<T>>,
    energies: [OnceLock<Vec<T>>; 2],
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { ensemble: OnceLock::new(), energies: [OnceLock::new(), OnceLock::new()] }
    }
}

/// This rank's particles, and the others to talk to.
#[derive(Debug)]
pub(crate) struct Spread<T> {
    share: Box<dyn Share<T>>,
    team: Team,
    dim: usize,
    keeps: Keeps,
    /// Whether the first rank is to have all particles at the end.
    whole: bool,
    /// The sums of the step, merged.
    total: [Partial; 1],
    /// The position of its least energy.
    best: Vec<T>,
    /// The diameter at which the run ends, once it was asked for, and whether some rank was wider than that in this step.
    limit: Mutex<Option<f64>>,
    is_wide: bool,
    seen: Seen<T>,
}

impl<T: Scalar> Spread<T> {
    pub fn new(plan: &Plan, seat: Seat, share: Box<dyn Share<T>>) -> Self {
        Self {
            share,
            dim: plan.dim(),
            keeps: plan.config().method.keeps(),
            whole: seat.whole,
            total: [Partial::empty(plan.dim())],
            best: vec![T::default(); plan.dim()],
            limit: Mutex::new(None),
            is_wide: false,
            seen: Seen::default(),
            team: seat.team,
        }
    }

    fn limit(&self) -> Option<f64> {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What this rank contributes to the step that it has evaluated, if it could.
    fn contribution(&mut self, alpha: f64, has_failed: bool) -> Contribution<T> {
        let is_wide = self.limit().is_some_and(|limit| !self.is_narrow_here(limit));
        let (part, grain) = (self.share.part().clone(), self.share.grain());
        let rows = block_rows(self.dim) * grain;
        let (first, all) = (part.places.start / rows, part.asked().div_ceil(rows));
        let sums = self.share.sums();
        let range = first..first + sums.len();
        merge_range(alpha, range.clone(), all, sums);
        let whole = |node: Node| Node { first: node.first * grain, width: node.width * grain };
        let path: Vec<(Node, Partial)> =
            subtrees(range, all).map(|node| (whole(node), sums[node.first - first].clone())).collect();
        let mut found: Option<(f64, usize, usize)> = None;
        for (_, sums) in &path {
            if sums.least < found.map_or(f64::INFINITY, |found| found.0) {
                found = Some((sums.least, sums.round, sums.particle));
            }
        }
        let nothing = || vec![T::default(); self.dim];
        let best =
            found.map_or_else(nothing, |(_, round, place)| self.share.row(round, place - part.places.start).to_vec());
        Contribution { path, least: found.map_or(f64::INFINITY, |found| found.0), best, has_failed, is_wide }
    }

    /// Merges the sums of the step over all ranks, or fails on all of them.
    fn merge(&mut self, outcome: Result<f64, EvalError>) -> Result<f64, EvalError> {
        let (alpha, dim) = (*outcome.as_ref().unwrap_or(&0.0), self.dim);
        self.seen = Seen::default();
        let all = self.contribution(alpha, outcome.is_err());
        let bytes = all.exchanged(&self.team, alpha, dim);
        let mut from = Reader::plain(&bytes);
        let mut read = || -> Result<bool, StateError> {
            let has_failed = from.flag()?;
            self.is_wide = from.flag()?;
            from.numbers(&mut self.best)?;
            self.total = [Partial::read(dim, &mut from)?];
            Ok(has_failed)
        };
        match read() {
            Ok(false) => outcome,
            _ => Err(self.team.first_error(outcome.err())),
        }
    }

    /// Mean and variance of each coordinate over all ranks; all take part.
    fn moments(&self) -> (Vec<f64>, Vec<f64>) {
        moments_over(&self.team, self.share.ensemble(), self.share.part())
    }

    /// Whether the particles of this rank are narrower than that; so is a rank that has none.
    fn is_narrow_here(&self, limit: f64) -> bool {
        self.share.part().particles.is_empty() || self.share.is_narrower_than(limit)
    }

    /// The extent of the swarm at the first rank; all take part.
    fn extent(&self) -> Option<Extent<T>> {
        let write = |extent: &Option<Extent<T>>| {
            let mut to = Writer::plain();
            if let Some(extent) = extent {
                to.numbers(&extent.low);
                to.numbers(&extent.high);
            }
            to.into_bytes()
        };
        let mut all = self.share.extent();
        self.team.reduce(&mut all, write, |all, bytes| {
            let mut from = Reader::plain(bytes);
            let (low, high) = (from.many(self.dim), from.many(self.dim));
            if let (Ok(low), Ok(high)) = (low, high) {
                // A rank without particles hands on what it got.
                all.get_or_insert_with(|| Extent { low: low.clone(), high: high.clone() }).include(&low, &high);
            }
        });
        all
    }

    /// Whether the whole swarm is narrower, at the first rank; all take part.
    fn is_narrow_everywhere(&self, limit: f64) -> bool {
        *self.limit.lock().unwrap_or_else(PoisonError::into_inner) = Some(limit);
        self.extent().is_some_and(|extent| extent.diameter() < limit)
    }

    /// Numbers of all ranks, one after the other, at the first.
    fn gathered(&self, numbers: &[T]) -> Vec<T> {
        let mut to = Writer::plain();
        to.numbers(numbers);
        let read = |bytes: Vec<u8>| Reader::plain(&bytes).many::<T>(bytes.len() / size_of::<T>()).unwrap_or_default();
        self.team.gather(to.into_bytes()).into_iter().flat_map(read).collect()
    }

    /// Writes the state of all ranks, at the first.
    fn collect(&self, to: &mut Writer) {
        let columns = self.share.columns();
        if self.team.is_first() {
            to.count(self.share.part().all);
        }
        for column in columns {
            let mut own = Writer::plain();
            own.numbers(column);
            self.team.gather(own.into_bytes()).iter().for_each(|bytes| to.append(bytes));
        }
        if self.team.is_first() {
            self.share.save_rest(to);
        }
    }

    /// The columns of this rank among those of all.
    fn pieces(&self) -> (Vec<(u64, &[T])>, u64) {
        pieces(self.share.part(), self.dim, self.keeps, self.share.columns())
    }

    /// The particles of this rank.
    fn here(&self) -> Here<'_, T> {
        Here { first: self.share.part().particles.start, rows: self.share.ensemble().rows(), pieces: self.pieces().0 }
    }

    /// Those of this rank that are among the first of the run.
    fn first_here(&self, count: usize) -> &[T] {
        let here = &self.share.part().particles;
        &self.share.ensemble().rows().as_slice()[..(count.clamp(here.start, here.end) - here.start) * self.dim]
    }

    /// The answers of all ranks, at the first of them; all take part, and one that cannot answer fails on all.
    fn answers(&self, mine: Result<Vec<u8>, EvalError>) -> Result<Vec<Vec<u8>>, EvalError> {
        self.team.agree(mine).map(|mine| self.team.gather(mine))
    }

    /// Does what the first rank asks, until it asks no more.
    fn serve(&self, answer: &mut Answering<'_, T>) -> Option<StopReason> {
        loop {
            match self.team.asked() {
                Request::Done(reason) => return reason,
                Request::Narrow(limit) => {
                    self.is_narrow_everywhere(limit);
                }
                Request::Moments => {
                    self.moments();
                }
                Request::Positions => {
                    self.gathered(self.share.ensemble().rows().as_slice());
                }
                Request::Energies(round) => {
                    self.gathered(self.share.energies(round));
                }
                Request::State => self.collect(&mut Writer::plain()),
                Request::First(count) => {
                    self.gathered(self.first_here(count));
                }
                Request::Question => {
                    let question = self.team.broadcast_all(Vec::new());
                    // An error is told by the first rank.
                    let _ = self.answers(answer(&question, self.here()));
                }
            }
        }
    }
}

impl<T: Scalar> Backend<T> for Spread<T> {
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        objective: &dyn Objective<T>,
    ) -> Result<f64, EvalError> {
        let outcome = self.share.advance_and_evaluate(pending, step, weighing, objective);
        // All ranks know of such an error.
        if outcome.as_ref().is_err_and(|error| error.is_of_the_run()) { outcome } else { self.merge(outcome) }
    }

    fn asks_rows(&self) -> bool {
        true
    }

    fn advance(&mut self, pending: &Move, step: u64) {
        self.share.advance(pending, step);
    }

    fn prepare(&mut self, decided: &mut Move, alpha: f64) {
        self.share.prepare(decided, alpha);
    }

    fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        self.share.pool()
    }

    fn draw_ahead(&mut self, step: u64) {
        self.share.draw_ahead(step);
    }

    fn points(&self, round: usize) -> Rows<'_, T> {
        self.share.points(round)
    }

    fn take(&mut self, round: usize, step: u64, energies: &[T], weighing: Option<Weighing>) -> Option<f64> {
        self.share.take(round, step, energies, weighing)
    }

    fn ask(
        &mut self,
        _round: usize,
        _at: StepContext,
        _objective: &dyn Objective<T>,
        _answers: &Answers<T>,
    ) -> Result<(), EvalError> {
        Err(EvalError::new("particles on several ranks are evaluated in blocks"))
    }

    fn differentiate(&mut self, at: StepContext, objective: &dyn Objective<T>) -> Result<(), EvalError> {
        let outcome = self.share.differentiate(at, objective);
        self.team.agree(outcome)
    }

    fn sums(&mut self) -> &mut [Partial] {
        &mut self.total
    }

    fn count(&self) -> usize {
        self.share.part().asked()
    }

    /// The best one: the others are elsewhere.
    fn row(&self, _round: usize, _place: usize) -> &[T] {
        &self.best
    }

    fn diameter(&self) -> f64 {
        let mut bytes = self.extent().map_or(0.0, |extent| extent.diameter()).to_le_bytes();
        self.team.broadcast(&mut bytes);
        f64::from_le_bytes(bytes)
    }

    fn spread(&self) -> f64 {
        self.team.ask(Request::Moments);
        self.moments().1.iter().sum::<f64>().sqrt()
    }

    fn particles(&self) -> usize {
        self.share.part().all
    }

    fn is_narrower_than(&self, limit: f64) -> bool {
        if self.is_wide && self.limit() == Some(limit) {
            return false;
        }
        self.team.ask(Request::Narrow(limit));
        self.is_narrow_everywhere(limit)
    }

    fn confer(
        &self,
        decide: &mut dyn FnMut() -> Option<StopReason>,
        answer: &mut Answering<'_, T>,
    ) -> Option<StopReason> {
        if !self.team.is_first() {
            return self.serve(answer);
        }
        let decided = decide();
        self.team.ask(Request::Done(decided));
        decided
    }

    fn consult(&self, question: &[u8], answer: &mut Answering<'_, T>) -> Result<Vec<Vec<u8>>, EvalError> {
        self.team.ask(Request::Question);
        self.team.broadcast_all(question.to_vec());
        self.answers(answer(question, self.here()))
    }

    fn share_failure(&self, outcome: Result<(), EvalError>) -> Result<(), EvalError> {
        self.team.agree(outcome)
    }

    fn first_failure(&self, rounds: usize) -> Option<(usize, f64)> {
        // All ranks are asked for it, because all know of the failure.
        let own = first_failure((0..rounds).map(|round| self.share.energies(round)));
        let mut to = Writer::plain();
        if let Some((row, energy)) = own {
            to.count(row + self.share.part().places.start);
            to.numbers(&[energy]);
        }
        let first = self.team.gather(to.into_bytes()).into_iter().find(|bytes| !bytes.is_empty());
        let first = self.team.broadcast_all(first.unwrap_or_default());
        let mut from = Reader::plain(&first);
        let mut energy = [0.0];
        let row = from.count().ok()?;
        from.numbers(&mut energy).ok().map(|()| (row, energy[0]))
    }

    fn first_rows(&self, count: usize) -> Vec<T> {
        self.team.ask(Request::First(count));
        self.gathered(self.first_here(count))
    }

    /// At the first rank all positions, elsewhere those that are here.
    fn ensemble(&self) -> &Ensemble<T> {
        let own = self.share.ensemble();
        if !self.team.is_first() {
            return own;
        }
        self.seen.ensemble.get_or_init(|| {
            self.team.ask(Request::Positions);
            Ensemble::of_rows(&self.gathered(own.rows().as_slice()), self.dim)
        })
    }

    /// At the first rank all energies, elsewhere those that are here.
    fn energies(&self, round: usize) -> &[T] {
        let own = self.share.energies(round);
        if !self.team.is_first() {
            return own;
        }
        self.seen.energies[round.min(1)].get_or_init(|| {
            self.team.ask(Request::Energies(round));
            self.gathered(own)
        })
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.share.evaluated()
    }

    fn round_of_batches(&self) -> Option<u64> {
        self.share.round_of_batches()
    }

    fn remembered(&self) -> &[T] {
        self.share.remembered()
    }

    fn remembered_mut(&mut self) -> &mut [T] {
        self.share.remembered_mut()
    }

    fn save(&self, to: &mut Writer) {
        self.team.ask(Request::State);
        self.collect(to);
    }

    fn save_apart(&self, to: &mut Writer) -> Option<(usize, u64)> {
        to.count(self.share.part().all);
        let place = to.len();
        self.share.save_rest(to);
        Some((place, self.pieces().1))
    }

    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError> {
        self.seen = Seen::default();
        self.share.load(from, rounds)
    }

    fn into_parts(self: Box<Self>) -> (Ensemble<T>, Vec<T>) {
        let Self { team, whole, dim, .. } = &*self;
        if !whole {
            return self.share.into_parts();
        }
        let energies = self.gathered(self.share.energies(0));
        let positions = self.gathered(self.share.ensemble().rows().as_slice());
        if team.is_first() { (Ensemble::of_rows(&positions, *dim), energies) } else { self.share.into_parts() }
    }
}
