//! A run of the solver: rounds of evaluations, with all that a run counts, keeps and reports.

use super::evaluate::Threads;
use super::saved::Told;
use super::{Solver, budget};
use crate::answers::{Answers, Known, Limits};
use crate::buffer::Buffer;
use crate::config::{ConfigError, Plan};
use crate::constraint::violation;
use crate::ensemble::Ensemble;
use crate::ledger::{Ledger, best_of};
use crate::numbers::grouped;
use crate::objective::{Objective, Rows, StepContext};
use crate::observer::Observer;
use crate::report::{Evaluated, RunReport, SolveError, StepReport, StopReason};
use crate::run::{Agreed, Midway, Process, tell, tell_midway};
use crate::simd::Scalar;
use crate::state::{StateError, Stopwatch};

/// Everything that one round hands to the next.
#[derive(Debug)]
pub(crate) struct Run<T> {
    pub(super) plan: Plan,
    pub(super) solver: Solver,
    pub(super) ledger: Ledger<T>,
    agreed: Agreed,
    /// The points of the round, and their energies.
    points: Ensemble<T>,
    energies: Vec<T>,
    /// Their constraints.
    constraints: Vec<T>,
    /// What violations of them cost.
    penalties: Vec<f64>,
    /// What is known of these, if the round is left half evaluated.
    pub(super) midway: Option<Midway<T>>,
    /// What the solver was told.
    pub(super) told: Told<T>,
    threads: Threads,
    pub(super) clock: Stopwatch,
}

/// [`solve`](crate::solve) with this method.
pub(crate) fn solve<T: Scalar>(
    plan: &Plan,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
) -> Result<RunReport<T>, SolveError> {
    follow(Run::begin(plan, objective.is_stochastic(), objective.constraints())?, objective, observer)
}

/// [`resume`](crate::resume) with this method.
pub(crate) fn resume<T: Scalar>(
    plan: &Plan,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    let (mut run, told) = Run::load(plan, objective.is_stochastic(), Some(objective.constraints()), state)?;
    if told {
        // Its observers were told of this round before it was saved.
        if let Some(reason) = tell(&run, &mut ()) {
            return Ok(run.end(reason)?);
        }
        run.decide();
    }
    Ok(follow(run, objective, observer)?)
}

/// Round after round.
fn follow<T: Scalar>(
    mut run: Run<T>,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
) -> Result<RunReport<T>, SolveError> {
    match to_its_end(&mut run, objective, observer) {
        Ok(reason) => run.end(reason),
        Err(error) => {
            observer.failed(&StepReport::new(&run), &error);
            Err(error)
        }
    }
}

/// The loop itself.
fn to_its_end<T: Scalar>(
    run: &mut Run<T>,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
) -> Result<StopReason, SolveError> {
    loop {
        run.settle(); // the points that the solver asks for
        if let Some(reason) = run.evaluate(objective)? {
            return Ok(tell_midway(run, observer, reason)); // E(x) of some, because the run ends here
        }
        run.agree()?; // the solver is told, and reasons
        if let Some(reason) = tell(run, observer) {
            return Ok(reason);
        }
        run.decide();
    }
}

impl<T: Scalar> Run<T> {
    /// A run at its beginning, nothing evaluated. Its points have this many constraints.
    pub fn begin(plan: &Plan, stochastic: bool, constraints: usize) -> Result<Self, SolveError> {
        Self::begin_with(plan, stochastic, budget(plan), constraints)
    }

    /// The same, with the evaluations that its first solver was allowed.
    pub(super) fn begin_with(
        plan: &Plan,
        stochastic: bool,
        budget: u64,
        constraints: usize,
    ) -> Result<Self, SolveError> {
        let clock = Stopwatch::start();
        let config = plan.config();
        if stochastic {
            let remedy = "values of different data cannot be compared; use method cbo".into();
            return Err(ConfigError { field: "method", value: config.method.to_string(), remedy }.into());
        }
        let mut run = Self {
            solver: Solver::with(plan, budget, config.batch.unwrap_or(1), constraints),
            ledger: Ledger::new(plan.dim(), None),
            agreed: Agreed { alpha: f64::INFINITY, ..Agreed::nothing(plan.dim()) },
            points: Ensemble::empty(plan.dim()),
            energies: Vec::new(),
            constraints: Vec::new(),
            penalties: vec![0.0; constraints],
            midway: None,
            told: Told::new(budget),
            threads: Threads::new(config.threads),
            clock,
            plan: plan.clone(),
        };
        run.look();
        Ok(run)
    }

    /// Evaluates the points of the round. If the run ends before all of them are evaluated, says why.
    fn evaluate(&mut self, objective: &dyn Objective<T>) -> Result<Option<StopReason>, SolveError> {
        let (at, rows) = (self.context(), self.points.rows());
        if self.midway.is_none() && self.threads.takes_all_at_once(objective, self.plan.config().max_seconds.is_some())
        {
            self.threads.evaluate(objective, at, rows, (&mut self.energies, &mut self.constraints))?;
            self.ledger.evaluations += self.energies.len() as u64;
            return Ok(None);
        }
        let answers = self.answers();
        let outcome = self.threads.ask(objective, at, self.points.rows(), &answers);
        let (reason, known) = (answers.reason(), answers.into_known());
        if outcome.is_err() || !known.is_whole() {
            self.pause(known);
            return outcome.map(|()| Some(reason.unwrap_or(StopReason::Observer)));
        }
        self.take(known.energies(), known.constraints());
        Ok(None)
    }

    /// Counts the energies of the round and tells them to the solver. Gives the first that failed.
    pub(super) fn note(&mut self) -> Option<(usize, f64)> {
        let values: Vec<f64> = self.energies.iter().map(|e| e.to_f64()).collect();
        let mut failed = None;
        self.agreed.least = f64::INFINITY;
        for (row, &value) in values.iter().enumerate() {
            if value.is_nan() || value == f64::NEG_INFINITY {
                self.ledger.failed += 1;
                failed = failed.or(Some((row, value)));
                continue;
            }
            self.ledger.infeasible += u64::from(value == f64::INFINITY);
            self.agreed.least = self.agreed.least.min(value);
        }
        let violated = |row: usize| violation(of_row(&self.constraints, self.penalties.len(), row));
        let best = best_of(self.energies.iter().copied().enumerate(), violated);
        if let Some((row, value, violation)) = best
            && self.ledger.would_improve(value, violation)
            && !self.solver.is_noisy()
        {
            self.ledger.improve(self.points.rows().row(row), value, violation, 0);
        }
        let constraints: Vec<f64> = self.constraints.iter().map(|g| g.to_f64()).collect();
        self.told.note(self.solver.ask(), &self.energies, &self.constraints);
        self.solver.tell_constrained(&values, &constraints);
        if self.solver.is_noisy() {
            self.follow_best();
        }
        self.look();
        failed
    }

    /// The best point of a noisy function is the solver's choice.
    fn follow_best(&mut self) {
        let mut x = vec![0.0; self.plan.dim()];
        let (value, doubt, violation) = self.solver.incumbent(&mut x);
        let ledger = &mut self.ledger;
        if ledger.would_improve(value + doubt, violation) {
            ledger.improved = ledger.step;
        }
        ledger.best = Evaluated { x: x.into_iter().map(T::from_f64).collect(), value, violation };
        ledger.doubt = doubt;
    }

    /// What the solver has agreed on.
    fn look(&mut self) {
        let agreed = &mut self.agreed;
        (agreed.sigma, agreed.effective_sample_size) = self.solver.consensus(&mut agreed.consensus);
        self.penalties = self.solver.penalties();
    }

    /// Ends the run.
    fn end(self, reason: StopReason) -> Result<RunReport<T>, SolveError> {
        self.check_end()?;
        let report = self.summary(None, reason);
        let energies = self.energies().to_vec();
        Ok(RunReport { ensemble: self.points, energies, ..report })
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
        StepContext { step: self.ledger.step, ..StepContext::default() }
    }

    fn time(&self) -> f64 {
        0.0
    }

    fn seconds(&self) -> f64 {
        self.clock.seconds()
    }

    fn ensemble(&self) -> &Ensemble<T> {
        &self.points
    }

    fn energies(&self) -> &[T] {
        self.midway.as_ref().map_or(&self.energies, |midway| midway.known.energies())
    }

    fn constraints(&self) -> &[T] {
        self.midway.as_ref().map_or(&self.constraints, |midway| midway.known.constraints())
    }

    fn penalties(&self) -> &[f64] {
        &self.penalties
    }

    fn evaluated(&self) -> Option<&[u32]> {
        None
    }

    fn save(&self, told: bool, seconds: f64) -> Vec<u8> {
        self.to_bytes(told, seconds)
    }

    fn settle(&mut self) {
        let asked = self.solver.ask();
        let mut points = Buffer::new(asked.len());
        points.iter_mut().zip(asked).for_each(|(x, &u)| *x = T::from_f64(u));
        self.points = Ensemble::new(points, self.plan.dim());
        self.energies.clear();
        self.energies.resize(self.points.len(), T::from_f64(f64::NAN));
        self.constraints.clear();
        self.constraints.resize(self.points.len() * self.penalties.len(), T::from_f64(f64::NAN));
    }

    fn points(&self) -> Rows<'_, T> {
        self.points.rows()
    }

    fn answers(&mut self) -> Answers<T> {
        let config = self.plan.config();
        let limits = Limits {
            deadline: config.max_seconds.and_then(|seconds| self.clock.end_of(seconds)),
            // One value of a noisy function says little.
            target: config.target.filter(|_| !self.solver.is_noisy()),
            begun: self.ledger.evaluations > 0,
            reached: false,
        };
        let nothing = || Known::default().nothing_of(self.points.len(), self.penalties.len());
        Answers::new(self.midway.take().map_or_else(nothing, |midway| midway.known), limits)
    }

    fn pause(&mut self, known: Known<T>) {
        let mut ledger = self.ledger.clone();
        ledger.count(known.iter().map(|(_, energy)| energy));
        let best = best_of(known.iter(), |row| violation(known.constraints_of(row)));
        if let Some((row, value, violation)) = best
            && ledger.would_improve(value, violation)
            && !self.solver.is_noisy()
        {
            ledger.improve(self.points.rows().row(row), value, violation, 0);
        }
        self.midway = Some(Midway { known, ledger });
    }

    fn is_midway(&self) -> bool {
        self.midway.is_some()
    }

    fn take(&mut self, energies: &[T], constraints: &[T]) -> bool {
        self.midway = None;
        self.energies.copy_from_slice(energies);
        self.constraints.copy_from_slice(constraints);
        self.ledger.evaluations += energies.len() as u64;
        true
    }

    fn agree(&mut self) -> Result<(), SolveError> {
        let step = self.ledger.step;
        match self.note() {
            Some((particle, energy)) if self.plan.config().strict => Err(SolveError::Strict { step, particle, energy }),
            _ => Ok(()),
        }
    }

    fn stop(&self) -> Option<StopReason> {
        let over = self.solver.ask().is_empty();
        match self.ledger.stop(&self.plan, over, || self.seconds(), |_| false) {
            Some(StopReason::Evaluations) if self.solver.is_done() => Some(StopReason::Converged),
            reason => reason,
        }
    }

    fn is_over(&self) -> bool {
        self.solver.ask().is_empty()
    }

    fn decide(&mut self) {
        self.ledger.step += 1;
    }

    fn check_end(&self) -> Result<(), SolveError> {
        self.ledger().check_end()
    }

    fn summary(&self, consensus: Option<(f64, f64)>, stop: StopReason) -> RunReport<T> {
        let (ledger, evaluated) = (self.ledger(), consensus.is_some());
        let x = self.agreed.consensus.iter().map(|&x| T::from_f64(x)).collect();
        let (value, violation) = consensus.unwrap_or((f64::NAN, f64::NAN));
        let violation = if self.penalties.is_empty() { 0.0 } else { violation };
        let consensus = Evaluated { x, value, violation };
        let message = match stop {
            StopReason::Converged => self.solver.verdict(),
            StopReason::Evaluations if self.plan.config().max_evaluations.is_none() => Some(format!(
                "The {} evaluations of a run without a limit are spent, {} for each coordinate.",
                grouped(ledger.evaluations),
                grouped(super::MOST_EVALUATIONS)
            )),
            _ => None,
        };
        RunReport {
            best: if ledger.would_improve(value, violation) && !self.solver.is_noisy() {
                consensus.clone()
            } else {
                ledger.best.clone()
            },
            consensus,
            stop,
            message: message.unwrap_or_else(|| ledger.message(&self.plan, stop)) + &ledger.caveat(),
            steps: ledger.step,
            time: 0.0,
            evaluations: ledger.evaluations + u64::from(evaluated),
            failed_evaluations: ledger.failed,
            infeasible_evaluations: ledger.infeasible,
            alpha: self.agreed.alpha,
            sigma: self.agreed.sigma,
            ensemble: Ensemble::empty(self.plan.dim()),
            particles: 0,
            energies: Vec::new(),
            seed: self.plan.config().seed,
            seconds: self.clock.seconds(),
            phases: self.solver.phases(),
            explanation: self.solver.sentences(),
            covariance: self.solver.covariance(),
            minimisers: Vec::new(),
            penalties: self.penalties.clone(),
        }
    }
}

/// The constraints of a row, of so many in each.
fn of_row<T>(constraints: &[T], count: usize, row: usize) -> &[T] {
    &constraints[row * count..(row + 1) * count]
}
