//! A run between two steps, and what the loop does with it.

mod compiled;
mod midway;
mod process;
mod saved;

pub use compiled::Runs;
pub(crate) use midway::Midway;
pub use process::Process;
pub(crate) use process::{tell, tell_midway};
pub use saved::forget_best;

use crate::answers::{Answers, Known, Limits, reaches};
use crate::backend::{Backend, Differences};
use crate::config::{DEFAULT_SHRINKAGE, Plan};
use crate::constraint::{self, Constraints, violation};
use crate::device::Place;
use crate::ensemble::Ensemble;
use crate::ledger::{Ledger, best_of};
use crate::method::{Decision, Method, Move, Sampling};
use crate::minimisers;
use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::ranks::{Answering, merge_range};
use crate::report::{Evaluated, RunReport, SolveError, StopReason};
use crate::schedule::Weighing;
use crate::simd::Scalar;
use crate::state::Stopwatch;
use std::sync::Arc;

/// What a run must know of its objective before it asks for anything.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nature {
    pub grouping: Grouping,
    /// Whether energies depend on the data batch.
    pub stochastic: bool,
    pub gradients: Gradients,
}

/// Where gradients come from, if a method needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gradients {
    /// The objective has them.
    Given,
    /// Differences of its energies.
    Differences,
    /// The caller evaluates, and gives energies alone.
    Nowhere,
}

impl Nature {
    pub fn of<T: Scalar>(objective: &dyn Objective<T>) -> Self {
        Self {
            grouping: objective.grouping(),
            stochastic: objective.is_stochastic(),
            gradients: if objective.has_gradients() { Gradients::Given } else { Gradients::Differences },
        }
    }

    /// Of an objective that the caller evaluates.
    pub fn elsewhere() -> Self {
        Self { grouping: Grouping::Together, stochastic: false, gradients: Gradients::Nowhere }
    }
}

/// What the particles agreed on in a step.
#[derive(Debug)]
pub struct Agreed {
    pub alpha: f64,
    pub sigma: f64,
    pub consensus: Vec<f64>,
    pub least: f64,
    pub effective_sample_size: f64,
    /// Whether consensus stalled, so that the coming move kicks the swarm.
    pub kicked: bool,
    /// The velocity of the consensus point, if the method gives it one.
    pub velocity: Vec<f64>,
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
            velocity: Vec::new(),
        }
    }
}

/// Everything that one step hands to the next.
#[derive(Debug)]
pub(crate) struct Run<T> {
    plan: Plan,
    backend: Box<dyn Backend<T>>,
    ledger: Ledger<T>,
    agreed: Agreed,
    /// The constraints of the particles, if there are any.
    constraints: Option<Constraints<T>>,
    /// The move that was decided and is not yet made. It stays in one place, from step to step.
    pending: Option<Box<Move>>,
    /// The move that was made last.
    made: Option<Box<Move>>,
    /// The round of evaluations that is asked for next.
    round: usize,
    /// What is known of it, if it is left half evaluated.
    midway: Option<Midway<T>>,
    /// Memory for the energies of a round.
    spare: Known<T>,
    nature: Nature,
    clock: Stopwatch,
}

impl<T: Scalar> Run<T> {
    /// A run at time 0, nothing evaluated. Its points have this many constraints.
    pub fn begin(plan: &Plan, nature: Nature, constraints: usize, place: Place<'_, T>) -> Result<Self, SolveError> {
        Ok(Self {
            constraints: Constraints::new(constraints, plan),
            ..Self::without_constraints(plan, nature, constraints > 0, place)?
        })
    }

    /// The same before it has a place for its constraints, which it is to have if it is `constrained`.
    fn without_constraints(
        plan: &Plan,
        nature: Nature,
        constrained: bool,
        place: Place<'_, T>,
    ) -> Result<Self, SolveError> {
        let clock = Stopwatch::start();
        let config = plan.config();
        let refuse = |remedy: &str| {
            let (value, remedy) = (config.method.to_string(), remedy.into());
            Err(crate::ConfigError { field: "method", value, remedy }.into())
        };
        if nature.stochastic && config.method.needs_one_objective() {
            return refuse("energies of other data are worth nothing to it; use method cbo");
        }
        if config.method.has_gradient() && nature.gradients == Gradients::Nowhere {
            return refuse("ask and tell is told no gradients; leave gradient and gradient-noise out");
        }
        if constrained && config.method == Method::Sampling(Sampling { law: true }) {
            return refuse("a law is not under constraints; let the function be infinite where they are violated");
        }
        if config.method.has_gradient() && constrained {
            return refuse("the gradient knows nothing of the constraints; leave gradient and gradient-noise out");
        }
        let backend = match place {
            Place::Processor => T::on_cpu(plan, nature.grouping, None)?,
            Place::Device(device, objective) => device.begin(plan, objective)?,
            Place::Told(device) => device.begin_told(plan)?,
        };
        let velocity = vec![0.0; if config.method.has_velocity() { plan.dim() } else { 0 }];
        let shrunk = plan.is_open_ended().then(|| backend.diameter() * DEFAULT_SHRINKAGE);
        Ok(Self {
            ledger: Ledger::new(plan.dim(), config.diameter.or(shrunk)),
            agreed: Agreed { velocity, ..Agreed::nothing(plan.dim()) },
            constraints: None,
            plan: plan.clone(),
            backend,
            pending: None,
            made: None,
            round: 0,
            midway: None,
            spare: Known::default(),
            nature,
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
        let one_by_one = objective.grouping() != Grouping::Blocks && !self.backend.asks_rows();
        if one_by_one || self.round > 0 || self.midway.is_some() {
            self.make_move();
            return self.evaluate_one_by_one(objective);
        }
        if self.constraints.is_some() {
            self.make_move();
            return self.evaluate_constrained(objective);
        }
        let (step, pending) = (self.ledger.step, self.pending.take());
        let outcome = self.backend.advance_and_evaluate(pending.as_deref(), step, self.weighing(), objective);
        self.agreed.alpha = outcome.map_err(|error| error.at_step(step))?;
        self.made = pending.or(self.made.take());
        self.ledger.evaluations += self.evaluations_of(step) - self.differences();
        self.differentiate(objective).map(|()| None)
    }

    /// The gradients at the positions, if the method needs them.
    fn differentiate(&mut self, objective: &dyn Objective<T>) -> Result<(), SolveError> {
        if self.plan.config().method.has_gradient() {
            let at = self.context();
            let outcome = self.backend.differentiate(at, objective);
            outcome.map_err(|source| SolveError::Evaluation { step: at.step, source })?;
            self.ledger.evaluations += self.differences();
        }
        Ok(())
    }

    /// Evaluations that these take in a step.
    fn differences(&self) -> u64 {
        let needed = self.plan.config().method.has_gradient() && self.nature.gradients == Gradients::Differences;
        if needed { Differences::evaluations(self.backend.count(), self.plan.dim()) } else { 0 }
    }

    fn make_move(&mut self) {
        if let Some(decided) = self.pending.take() {
            let step = self.ledger.step;
            // Only constraints need to know: positions on a device are copied for it.
            let before = self.constraints.as_ref().map_or(0, |_| self.backend.ensemble().len());
            self.backend.advance(&decided, step);
            self.made = Some(decided);
            if let Some(constraints) = &mut self.constraints {
                let left = (self.backend.ensemble().len(), self.backend.count());
                constraints.shrink(before, left, self.plan.config().seed, step);
            }
        }
    }

    /// Evaluates the particles of the step with their constraints, on all threads.
    fn evaluate_constrained(&mut self, objective: &dyn Objective<T>) -> Result<Option<StopReason>, SolveError> {
        let threads = self.backend.pool().map_or(1, |pool| pool.current_num_threads());
        loop {
            let (at, mut known) = (self.context(), self.nothing_known());
            let rows = self.backend.points(self.round);
            constraint::evaluate(objective, at, rows, known.slots(), threads)
                .map_err(|source| SolveError::Evaluation { step: at.step, source })?;
            let last = self.take(known.energies(), known.constraints());
            self.spare = known;
            if last {
                return Ok(None);
            }
        }
    }

    /// Room for the answers to a round.
    fn nothing_known(&mut self) -> Known<T> {
        let constraints = self.constraint_count();
        std::mem::take(&mut self.spare).nothing_of(self.backend.count(), constraints)
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
            let last = self.take(known.energies(), known.constraints());
            self.spare = known;
            if last {
                return self.differentiate(objective).map(|()| None);
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
            let (mut energy, mut constraints) = ([T::default()], vec![T::default(); self.constraint_count()]);
            let consensus = self.consensus();
            let rows = Rows::new(&consensus, self.plan.dim());
            let outcome = match constraints.len() {
                0 => objective.energies(self.context(), rows, &mut energy),
                _ => constraint::evaluate(objective, self.context(), rows, (&mut energy, &mut constraints), 1),
            };
            let outcome = self.backend.share_failure(outcome);
            outcome.map_err(|source| SolveError::Evaluation { step: self.ledger.step, source })?;
            Some((energy[0].to_f64(), violation(&constraints)))
        };
        let (report, told) = (self.summary(value, reason), self.midway.is_none());
        // Others have none, and their particles may be elsewhere.
        let minimisers = match self.plan.config().method {
            Method::Polarised(_) => minimisers::found(&self.plan, self.ensemble(), self.energies(), self.evaluated()),
            _ => Vec::new(),
        };
        let known = (!told || self.constraints.is_some()).then(|| self.energies().to_vec());
        let particles = self.backend.particles();
        let (ensemble, energies) = self.backend.into_parts();
        Ok(RunReport { ensemble, particles, energies: known.unwrap_or(energies), minimisers, ..report })
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
        let (step, config) = (self.ledger.step, self.plan.config());
        if config.method.weighs_ranks() { Weighing::Ranks } else { config.alpha.weighing(step, self.context().epoch) }
    }

    /// Evaluations that a step takes.
    fn evaluations_of(&self, step: u64) -> u64 {
        (self.backend.count() * self.plan.config().method.rounds(step)) as u64 + self.differences()
    }

    /// Whether an earlier round of this step has reached the target.
    fn has_reached(&self) -> bool {
        let Some(target) = self.plan.config().target.filter(|_| self.round > 0) else { return false };
        let reached = |round: usize| self.backend.energies(round).iter().any(|e| reaches(Some(target), *e, &[]));
        // With constraints, energies include the penalty, and the ledger knows what was told.
        if self.constraints.is_some() { self.ledger.reaches(target) } else { (0..self.round).any(reached) }
    }

    /// How far the consensus point moved in the maximum norm; infinite in the first step.
    fn moved(&self) -> f64 {
        let Some(made) = &self.made else { return f64::INFINITY };
        let distance = |(a, b): (&f64, &f64)| (a - b).abs();
        self.agreed.consensus.iter().zip(&made.centre).map(distance).fold(0.0, f64::max)
    }

    fn strict_error(&self) -> SolveError {
        let rounds = self.plan.config().method.rounds(self.ledger.step);
        let (row, energy) = self.backend.first_failure(rounds).unwrap_or((0, f64::NAN));
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
        self.plan.context(self.ledger.step, self.backend.round_of_batches())
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

    fn mean_of_squares(&self) -> f64 {
        self.backend.mean_of_squares()
    }

    fn spread(&self) -> f64 {
        self.backend.spread()
    }

    fn first_rows(&self, count: usize) -> Vec<T> {
        self.backend.first_rows(count)
    }

    fn particles(&self) -> usize {
        self.backend.particles()
    }

    fn confer(
        &self,
        decide: &mut dyn FnMut() -> Option<StopReason>,
        answer: &mut Answering<'_, T>,
    ) -> Option<StopReason> {
        self.backend.confer(decide, answer)
    }

    fn consult(&self, question: &[u8], answer: &mut Answering<'_, T>) -> Result<Vec<Vec<u8>>, EvalError> {
        self.backend.consult(question, answer)
    }

    fn energies(&self) -> &[T] {
        match (&self.midway, &self.constraints) {
            (Some(midway), _) if self.round == 0 => midway.known.energies(),
            (_, Some(constraints)) => &constraints.energies,
            _ => self.backend.energies(0),
        }
    }

    fn constraints(&self) -> &[T] {
        match (&self.midway, &self.constraints) {
            (Some(midway), _) if self.round == 0 => midway.known.constraints(),
            (_, constraints) => constraints.as_ref().map_or(&[], |constraints| &constraints.values),
        }
    }

    fn penalties(&self) -> &[f64] {
        self.constraints.as_ref().map_or(&[], |constraints| constraints.penalty.weights())
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.backend.evaluated()
    }

    fn save(&self, told: bool, seconds: f64) -> Vec<u8> {
        self.to_bytes(told, seconds)
    }

    fn save_apart(&self, told: bool, seconds: f64) -> Option<Vec<u8>> {
        self.to_bytes_apart(told, seconds)
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

    fn point_count(&self) -> usize {
        self.backend.count()
    }

    fn take_there(&mut self) -> Result<bool, SolveError> {
        let (step, weighing) = (self.ledger.step, self.weighing());
        let outcome = self.backend.weigh_there(weighing);
        self.agreed.alpha = outcome.map_err(|source| SolveError::Evaluation { step, source })?;
        self.ledger.evaluations += self.backend.count() as u64;
        Ok(true)
    }

    fn answers(&mut self) -> Answers<T> {
        let config = self.plan.config();
        let limits = Limits {
            deadline: config.max_seconds.and_then(|seconds| self.clock.end_of(seconds)),
            target: config.target,
            begun: self.ledger.evaluations > 0,
            reached: self.has_reached(),
        };
        let known = match self.midway.take() {
            Some(midway) => midway.known,
            None => self.nothing_known(),
        };
        Answers::new(known, limits)
    }

    fn pause(&mut self, known: Known<T>) {
        let mut ledger = self.ledger.clone();
        for round in 0..self.round {
            let energies = self.backend.energies(round);
            // That they were evaluated is counted already, and so is the best of them if there are constraints.
            ledger.evaluations -= energies.len() as u64;
            ledger.count(energies.iter().copied());
            if self.constraints.is_none() {
                let best = best_of(energies.iter().copied().enumerate(), |_| 0.0);
                note_best(&mut ledger, &*self.backend, round, self.nature.stochastic, best);
            }
        }
        ledger.count(known.iter().map(|(_, energy)| energy));
        let best = best_of(known.iter(), |row| violation(known.constraints_of(row)));
        note_best(&mut ledger, &*self.backend, self.round, self.nature.stochastic, best);
        self.midway = Some(Midway { known, ledger });
    }

    fn is_midway(&self) -> bool {
        self.midway.is_some()
    }

    /// Takes the energies of [`points`](Self::points). Tells whether they were the last of the step.
    fn take(&mut self, energies: &[T], constraints: &[T]) -> bool {
        self.midway = None;
        let (step, round) = (self.ledger.step, self.round);
        let last = round + 1 == self.plan.config().method.rounds(step);
        let weighing = last.then(|| self.weighing());
        let backend = &mut *self.backend;
        let alpha = match &mut self.constraints {
            None => backend.take(round, step, energies, weighing),
            Some(constrained) => {
                let count = constrained.count();
                let violated = |row: usize| violation(&constraints[row * count..(row + 1) * count]);
                let best = best_of(energies.iter().copied().enumerate(), violated);
                note_best(&mut self.ledger, backend, round, self.nature.stochastic, best);
                let take = |backend: &mut dyn Backend<T>, priced: &[T]| backend.take(round, step, priced, weighing);
                constrained.take(round, (energies, constraints), backend, take)
            }
        };
        self.ledger.evaluations += energies.len() as u64;
        self.agreed.alpha = alpha.unwrap_or(self.agreed.alpha);
        self.round = if last { 0 } else { round + 1 };
        last
    }

    /// The consensus point, from the sums of all blocks; and what the step spent and found.
    fn agree(&mut self) -> Result<(), SolveError> {
        let at = self.context();
        let config = self.plan.config();
        let sums = self.backend.sums();
        merge_range(self.agreed.alpha, 0..sums.len(), sums.len(), sums);
        let total = &sums[0];
        self.ledger.failed += total.failed;
        self.ledger.infeasible += total.infeasible;
        let found = total.consensus(&mut self.agreed.consensus);
        (self.agreed.least, self.agreed.effective_sample_size) = (total.least, total.effective_sample_size());
        let (failed, infeasible, place) = (total.failed, total.infeasible, (total.round, total.particle));
        // Energies of different data are not comparable: a new data batch starts again.
        let anew = self.nature.stochastic && at.data_batch != self.ledger.best_batch;
        match &mut self.constraints {
            // Their best point is noted without its penalty, when it is told.
            Some(constraints) => constraints.agree(self.agreed.alpha, &mut *self.backend),
            None if self.agreed.least < self.ledger.best.value || (anew && found.is_some()) => {
                let x = self.backend.row(place.0, place.1);
                self.ledger.improve(x, self.agreed.least, 0.0, at.data_batch);
            }
            None => {}
        }
        if config.strict && failed > 0 {
            return Err(self.strict_error());
        }
        if found.is_none() {
            let evaluated = self.evaluations_of(at.step);
            return Err(SolveError::NoFiniteEnergy { step: at.step, evaluated, failed, infeasible });
        }
        let Agreed { consensus, velocity, .. } = &mut self.agreed;
        config.method.agree(&self.plan, at.step, self.made.as_deref(), consensus, velocity);
        if let Some(point) = &config.freeze {
            self.agreed.consensus.copy_from_slice(point);
        }
        self.agreed.sigma = if config.method.has("sigma") { config.sigma.at(at.step, at.epoch) } else { 0.0 };
        self.agreed.kicked = config.kick.is_some_and(|tolerance| self.moved() < tolerance);
        Ok(())
    }

    fn stop(&self) -> Option<StopReason> {
        // The consensus point at the end takes one evaluation more.
        let next = self.ledger.evaluations + self.evaluations_of(self.ledger.step + 1) + 1;
        let spent = self.plan.config().max_evaluations.is_some_and(|max| next > max);
        self.ledger.stop(&self.plan, spent, || self.seconds(), |limit| self.backend.is_narrower_than(limit))
    }

    fn is_over(&self) -> bool {
        false
    }

    /// The next step begins with its move pending: towards the consensus point, with the noise of this step.
    fn decide(&mut self) {
        let Agreed { consensus, sigma, kicked, .. } = &self.agreed;
        let from = Decision { step: self.ledger.step, consensus, sigma: *sigma, kicked: *kicked };
        let config = self.plan.config();
        let mut decided = self.made.take().unwrap_or_default();
        config.method.decide(config, from, &mut decided);
        self.backend.prepare(&mut decided, self.agreed.alpha);
        self.pending = Some(decided);
        self.ledger.step += 1;
    }

    fn check_end(&self) -> Result<(), SolveError> {
        if self.midway.is_some() { self.ledger().check_end() } else { Ok(()) }
    }

    /// The report of the run, without the particles. The consensus point counts as evaluated if its value is given.
    fn summary(&self, consensus: Option<(f64, f64)>, stop: StopReason) -> RunReport<T> {
        let (config, ledger, evaluated) = (self.plan.config(), self.ledger(), consensus.is_some());
        let (value, violation) = consensus.unwrap_or((f64::NAN, f64::NAN));
        let violation = if self.constraints.is_some() { violation } else { 0.0 };
        let consensus = Evaluated { x: self.consensus(), value, violation };
        // A frozen point was given, not found.
        let found = config.freeze.is_none() && ledger.would_improve(value, violation);
        RunReport {
            best: if found { consensus.clone() } else { ledger.best.clone() },
            consensus,
            stop,
            message: ledger.message(&self.plan, stop) + &ledger.caveat(),
            steps: ledger.step,
            time: self.time(),
            evaluations: ledger.evaluations + u64::from(evaluated),
            failed_evaluations: ledger.failed,
            infeasible_evaluations: ledger.infeasible,
            alpha: self.agreed.alpha,
            sigma: self.agreed.sigma,
            ensemble: Ensemble::empty(self.plan.dim()),
            particles: 0,
            energies: Vec::new(),
            seed: config.seed,
            seconds: self.clock.seconds(),
            phases: Vec::new(),
            explanation: Vec::new(),
            covariance: None,
            minimisers: Vec::new(),
            penalties: self.penalties().to_vec(),
        }
    }
}

/// Notes the best of some points of a round in a ledger, if it is better than what that has.
fn note_best<T: Scalar>(
    ledger: &mut Ledger<T>,
    backend: &dyn Backend<T>,
    round: usize,
    stochastic: bool,
    best: Option<(usize, f64, f64)>,
) {
    let batch = backend.round_of_batches().unwrap_or(ledger.step);
    // Energies of different data are not comparable: a new data batch starts again.
    let anew = stochastic && batch != ledger.best_batch;
    if let Some((row, value, violation)) = best.filter(|best| anew || ledger.would_improve(best.1, best.2)) {
        ledger.improve(backend.row(round, row), value, violation, batch);
    }
}
