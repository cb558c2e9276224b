//! A run between two steps, and what the loop does with it.

mod midway;
mod process;
mod saved;

pub(crate) use midway::Midway;
pub(crate) use process::{Process, tell, tell_midway};
pub use saved::forget_best;

use crate::answers::{Answers, Known, Limits, reaches};
use crate::backend::Backend;
use crate::config::{DEFAULT_SHRINKAGE, Plan};
use crate::ensemble::Ensemble;
use crate::ledger::Ledger;
use crate::method::{Decision, Move};
use crate::objective::{Grouping, Objective, Rows, StepContext};
use crate::ranks::{Alone, Ranks};
use crate::report::{Evaluated, RunReport, SolveError, StopReason};
use crate::schedule::Weighing;
use crate::simd::Scalar;
use crate::state::Stopwatch;
use std::sync::Arc;

/// What the particles agreed on in a step.
#[derive(Debug)]
pub(crate) struct Agreed {
    pub alpha: f64,
    pub sigma: f64,
    pub consensus: Vec<f64>,
    pub least: f64,
    pub effective_sample_size: f64,
    /// Whether consensus stalled, so that the coming move kicks the swarm.
    pub kicked: bool,
}

impl Agreed {
    /// Before the first step.
    pub fn nothing(dim: usize) -> Self {
        Self {
            alpha: 0.0,
            sigma: 0.0,
            consensus: vec![0.0; dim],
            least: f64::INFINITY,
            effective_sample_size: 0.0,
            kicked: false,
        }
    }
}

/// Everything that one step hands to the next.
#[derive(Debug)]
pub(crate) struct Run<T> {
    plan: Plan,
    backend: Box<dyn Backend<T>>,
    ranks: Box<dyn Ranks>,
    ledger: Ledger<T>,
    agreed: Agreed,
    /// The move that was decided and is not yet made.
    pending: Option<Move>,
    /// The move that was made last.
    made: Option<Move>,
    /// The round of evaluations that is asked for next.
    round: usize,
    /// What is known of it, if it is left half evaluated.
    midway: Option<Midway<T>>,
    /// Memory for the energies of a round.
    spare: Known<T>,
    /// Whether energies depend on the data batch.
    stochastic: bool,
    clock: Stopwatch,
}

impl<T: Scalar> Run<T> {
    /// A run at time 0, nothing evaluated.
    pub fn begin(plan: &Plan, grouping: Grouping, stochastic: bool) -> Result<Self, SolveError> {
        let clock = Stopwatch::start();
        let config = plan.config();
        if stochastic && config.method.remembers() {
            let remedy = "remembered energies are worth nothing where the data change; use method cbo".into();
            return Err(crate::ConfigError { field: "method", value: config.method.to_string(), remedy }.into());
        }
        let backend = T::on_cpu(plan, grouping)?;
        let shrunk = plan.is_open_ended().then(|| backend.ensemble().diameter() * DEFAULT_SHRINKAGE);
        Ok(Self {
            ledger: Ledger::new(plan.dim(), config.diameter.or(shrunk)),
            agreed: Agreed::nothing(plan.dim()),
            plan: plan.clone(),
            backend,
            ranks: Box::new(Alone),
            pending: None,
            made: None,
            round: 0,
            midway: None,
            spare: Known::default(),
            stochastic,
            clock,
        })
    }

    /// The threads of the run, if there are several.
    pub fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        self.backend.pool()
    }

    /// Makes the pending move, if there is one, then evaluates and weighs the particles of the step. If the run ends before all of
    /// them are evaluated, says why.
    pub fn advance_and_evaluate(&mut self, objective: &dyn Objective<T>) -> Result<Option<StopReason>, SolveError> {
        if objective.grouping() != Grouping::Blocks || self.round > 0 || self.midway.is_some() {
            self.make_move();
            return self.evaluate_one_by_one(objective);
        }
        let (step, pending) = (self.ledger.step, self.pending.take());
        let outcome = self.backend.advance_and_evaluate(pending.as_ref(), step, self.weighing(), objective);
        self.agreed.alpha = outcome.map_err(|source| SolveError::Evaluation { step, source })?;
        self.made = pending.or(self.made.take());
        self.ledger.evaluations += self.evaluations_of(step);
        Ok(None)
    }

    fn make_move(&mut self) {
        if let Some(decided) = self.pending.take() {
            self.backend.advance(&decided, self.ledger.step);
            self.made = Some(decided);
        }
    }

    /// Round by round, as long as the answers are not enough.
    fn evaluate_one_by_one(&mut self, objective: &dyn Objective<T>) -> Result<Option<StopReason>, SolveError> {
        loop {
            let (at, answers) = (self.context(), self.answers());
            let outcome = self.backend.ask(self.round, at, objective, &answers);
            let (reason, known) = (answers.reason(), answers.into_known());
            if outcome.is_err() || !known.is_whole() {
                self.pause(known);
                outcome.map_err(|source| SolveError::Evaluation { step: at.step, source })?;
                return Ok(Some(reason.unwrap_or(StopReason::Observer)));
            }
            let last = self.take(known.energies());
            self.spare = known;
            if last {
                return Ok(None);
            }
        }
    }

    /// Ends the run: evaluates the consensus point once, unless there is no time for it, and sums everything up.
    pub fn end(self, objective: &dyn Objective<T>, reason: StopReason) -> Result<RunReport<T>, SolveError> {
        self.check_end()?;
        let at_once = matches!(reason, StopReason::Seconds | StopReason::Target | StopReason::Observer);
        let value = if self.midway.is_some() || (at_once && objective.grouping() != Grouping::Blocks) {
            None
        } else {
            let mut energy = [T::default()];
            objective
                .energies(self.context(), Rows::new(&self.consensus(), self.plan.dim()), &mut energy)
                .map_err(|source| SolveError::Evaluation { step: self.ledger.step, source })?;
            Some(energy[0].to_f64())
        };
        let (report, told) = (self.summary(value, reason), self.midway.is_none());
        let known = if told { Vec::new() } else { self.energies().to_vec() };
        let (ensemble, energies) = self.backend.into_parts();
        Ok(RunReport { ensemble, energies: if told { energies } else { known }, ..report })
    }

    /// The consensus point in the precision of the run; in a first step that is left half evaluated the best point so far.
    fn consensus(&self) -> Vec<T> {
        if self.made.is_none()
            && let Some(midway) = &self.midway
        {
            return midway.ledger.best.x.clone();
        }
        self.landed()
    }

    fn weighing(&self) -> Weighing {
        let step = self.ledger.step;
        self.plan.config().alpha.weighing(step, self.context().epoch)
    }

    /// Evaluations that a step takes.
    fn evaluations_of(&self, step: u64) -> u64 {
        (self.backend.count() * self.plan.config().method.rounds(step)) as u64
    }

    /// Counts energies of a round of a step that is left half evaluated.
    fn count(&self, ledger: &mut Ledger<T>, round: usize, energies: impl Iterator<Item = (usize, T)>) {
        let batch = self.context().data_batch;
        let anew = self.stochastic && batch != ledger.best_batch;
        if let Some((row, value)) = ledger.count(energies).filter(|(_, value)| *value < ledger.best.value || anew) {
            ledger.improve(self.backend.row(round, row), value, batch);
        }
    }

    /// How far the consensus point moved in the maximum norm; infinite in the first step.
    fn moved(&self) -> f64 {
        let Some(made) = &self.made else { return f64::INFINITY };
        let distance = |(a, b): (&f64, &f64)| (a - b).abs();
        self.agreed.consensus.iter().zip(&made.centre).map(distance).fold(0.0, f64::max)
    }

    fn strict_error(&self) -> SolveError {
        let failed = |e: &T| e.to_f64().is_nan() || e.to_f64() == f64::NEG_INFINITY;
        let rounds = (0..self.plan.config().method.rounds(self.ledger.step)).map(|round| self.backend.energies(round));
        let first = |energies: &[T]| energies.iter().position(failed).map(|row| (row, energies[row].to_f64()));
        let (row, energy) = rounds.filter_map(first).next().unwrap_or((0, f64::NAN));
        let particle = self.backend.evaluated().map_or(row, |particles| particles[row] as usize);
        SolveError::Strict { step: self.ledger.step, particle, energy }
    }
}

impl<T: Scalar> Process<T> for Run<T> {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn ledger(&self) -> &Ledger<T> {
        self.midway.as_ref().map_or(&self.ledger, |midway| &midway.ledger)
    }

    fn agreed(&self) -> &Agreed {
        &self.agreed
    }

    fn context(&self) -> StepContext {
        self.plan.context(self.ledger.step, self.backend.data_batch())
    }

    fn time(&self) -> f64 {
        self.ledger.step as f64 * self.plan.config().dt
    }

    fn seconds(&self) -> f64 {
        self.clock.seconds()
    }

    fn ensemble(&self) -> &Ensemble<T> {
        self.backend.ensemble()
    }

    fn energies(&self) -> &[T] {
        match &self.midway {
            Some(midway) if self.round == 0 => midway.known.energies(),
            _ => self.backend.energies(0),
        }
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.backend.evaluated()
    }

    fn save(&self, told: bool, seconds: f64) -> Vec<u8> {
        self.to_bytes(told, seconds)
    }

    /// Makes the pending move at once, for the caller to evaluate.
    fn settle(&mut self) {
        self.make_move();
        self.backend.draw_ahead(self.ledger.step);
    }

    /// The points that the caller is to evaluate.
    fn points(&self) -> Rows<'_, T> {
        self.backend.points(self.round)
    }

    fn answers(&mut self) -> Answers<T> {
        let config = self.plan.config();
        let limits = Limits {
            deadline: config.max_seconds.and_then(|seconds| self.clock.end_of(seconds)),
            target: config.target,
            begun: self.ledger.evaluations > 0,
            reached: (0..self.round)
                .any(|round| self.backend.energies(round).iter().any(|e| reaches(config.target, *e))),
        };
        let known = match self.midway.take() {
            Some(midway) => midway.known,
            None => std::mem::take(&mut self.spare).nothing_of(self.backend.count()),
        };
        Answers::new(known, limits)
    }

    fn pause(&mut self, known: Known<T>) {
        let mut ledger = self.ledger.clone();
        for round in 0..self.round {
            let energies = self.backend.energies(round);
            // That they were evaluated is counted already.
            ledger.evaluations -= energies.len() as u64;
            self.count(&mut ledger, round, energies.iter().copied().enumerate());
        }
        self.count(&mut ledger, self.round, known.iter());
        self.midway = Some(Midway { known, ledger });
    }

    fn is_midway(&self) -> bool {
        self.midway.is_some()
    }

    /// Takes the energies of [`points`](Self::points). Tells whether they were the last of the step.
    fn take(&mut self, energies: &[T]) -> bool {
        self.midway = None;
        let step = self.ledger.step;
        let last = self.round + 1 == self.plan.config().method.rounds(step);
        let weighing = last.then(|| self.weighing());
        let alpha = self.backend.take(self.round, step, energies, weighing);
        self.ledger.evaluations += energies.len() as u64;
        self.agreed.alpha = alpha.unwrap_or(self.agreed.alpha);
        self.round = if last { 0 } else { self.round + 1 };
        last
    }

    /// The consensus point, from the sums of all blocks on all ranks; and what the step spent and found.
    fn agree(&mut self) -> Result<(), SolveError> {
        let at = self.context();
        let config = self.plan.config();
        let total = self.ranks.merge(self.agreed.alpha, self.backend.sums());
        self.ledger.failed += total.failed;
        self.ledger.infeasible += total.infeasible;
        let found = total.consensus(&mut self.agreed.consensus);
        (self.agreed.least, self.agreed.effective_sample_size) = (total.least, total.effective_sample_size());
        let (failed, infeasible, place) = (total.failed, total.infeasible, (total.round, total.particle));
        // Energies of different data are not comparable: a new data batch starts again.
        let anew = self.stochastic && at.data_batch != self.ledger.best_batch;
        if self.agreed.least < self.ledger.best.value || (anew && found.is_some()) {
            let x = self.backend.row(place.0, place.1);
            self.ledger.improve(x, self.agreed.least, at.data_batch);
        }
        if config.strict && failed > 0 {
            return Err(self.strict_error());
        }
        if found.is_none() {
            let evaluated = self.evaluations_of(at.step);
            return Err(SolveError::NoFiniteEnergy { step: at.step, evaluated, failed, infeasible });
        }
        if let Some(point) = &config.freeze {
            self.agreed.consensus.copy_from_slice(point);
        }
        self.agreed.sigma = config.sigma.at(at.step, at.epoch);
        self.agreed.kicked = config.kick.is_some_and(|tolerance| self.moved() < tolerance);
        Ok(())
    }

    fn stop(&self, seconds: f64) -> Option<StopReason> {
        // The consensus point at the end takes one evaluation more.
        let next = self.ledger.evaluations + self.evaluations_of(self.ledger.step + 1) + 1;
        let spent = self.plan.config().max_evaluations.is_some_and(|max| next > max);
        self.ledger.stop(&self.plan, spent, seconds, |limit| self.backend.is_narrower_than(limit))
    }

    fn is_over(&self) -> bool {
        false
    }

    /// The next step begins with its move pending: towards the consensus point, with the noise of this step.
    fn decide(&mut self) {
        let Agreed { consensus, sigma, kicked, .. } = &self.agreed;
        let from = Decision { step: self.ledger.step, consensus, sigma: *sigma, kicked: *kicked };
        let config = self.plan.config();
        let mut decided = config.method.decide(config, from, self.made.take().unwrap_or_default());
        self.backend.prepare(&mut decided, self.agreed.alpha);
        self.pending = Some(decided);
        self.ledger.step += 1;
    }

    fn check_end(&self) -> Result<(), SolveError> {
        if self.midway.is_some() { self.ledger().check_end() } else { Ok(()) }
    }

    /// The report of the run, without the particles. The consensus point counts as evaluated if its value is given.
    fn summary(&self, consensus_value: Option<f64>, stop: StopReason) -> RunReport<T> {
        let (config, ledger) = (self.plan.config(), self.ledger());
        let consensus = Evaluated { x: self.consensus(), value: consensus_value.unwrap_or(f64::NAN) };
        // A frozen point was given, not found.
        let found = config.freeze.is_none() && consensus.value < ledger.best.value;
        RunReport {
            best: if found { consensus.clone() } else { ledger.best.clone() },
            consensus,
            stop,
            message: ledger.message(&self.plan, stop),
            steps: ledger.step,
            time: self.time(),
            evaluations: ledger.evaluations + u64::from(consensus_value.is_some()),
            failed_evaluations: ledger.failed,
            infeasible_evaluations: ledger.infeasible,
            alpha: self.agreed.alpha,
            sigma: self.agreed.sigma,
            ensemble: Ensemble::empty(self.plan.dim()),
            energies: Vec::new(),
            seed: config.seed,
            seconds: self.clock.seconds(),
            phases: Vec::new(),
            explanation: Vec::new(),
            covariance: None,
        }
    }
}
