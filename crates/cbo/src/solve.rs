//! The loop.

use crate::bounds::BoundHandling;
use crate::config::{CboConfig, Plan};
use crate::initial::InitialLaw;
use crate::objective::{Grouping, Objective, Rows, from_fn};
use crate::observer::Observer;
use crate::report::{Evaluated, RunReport, SolveError, StepReport, StopReason};
use crate::simd::Scalar;
use crate::state::{StateError, Stopwatch};
use crate::swarm::Swarm;
use std::sync::Arc;

/// Minimises `objective` under `config`, telling `observer` of each step.
///
/// In each step the energies of the particles (or of a batch of them) give the consensus point
/// `v_a = sum_i V^i w_i / sum_i w_i`, `w_i = exp(-alpha E(V^i))`, and every particle moves by
/// `dV = -lambda (V - v_a) dt + sigma D(V - v_a) dB`.
///
/// With several threads the observer is told on one of them, unless the objective wants all rows in one call
/// ([`Grouping::Together`]): then everything is called from the calling thread.
///
/// ```
/// use cbo::{CboConfig, History, from_fn, solve};
///
/// let objective = from_fn(2, |x: &[f64]| (x[0] - 1.0).powi(2) + (x[1] + 0.5).powi(2));
/// let mut history = History::new(100);
/// let run = solve(&CboConfig { seed: 7, ..CboConfig::default() }, &objective, &mut history)?;
/// assert!((run.best.x[0] - 1.0).abs() < 1e-3 && (run.best.x[1] + 0.5).abs() < 1e-3);
/// assert!(history.records().len() <= 100);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub fn solve<T: Scalar>(
    config: &CboConfig,
    objective: &impl Objective<T>,
    observer: &mut (impl Observer<T> + Send),
) -> Result<RunReport<T>, SolveError> {
    let clock = Stopwatch::start();
    let plan = Arc::new(config.check(objective.dim())?);
    let swarm = Swarm::begin(&plan, objective.grouping())?;
    on_its_threads(swarm, objective, |swarm| run(&plan, swarm, objective, observer, clock))
}

/// Goes on with a run of [`solve`] from its [state](StepReport::state), as if it had never stopped. `config` may allow it more steps,
/// evaluations or seconds than it had.
///
/// ```
/// use cbo::{CboConfig, StepReport, from_fn, resume, solve};
/// use std::ops::ControlFlow;
///
/// let sphere = from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum());
/// let config = CboConfig { steps: Some(50), ..CboConfig::default() };
/// let whole = solve(&config, &sphere, &mut ())?;
/// let mut state = Vec::new();
/// solve(&config, &sphere, &mut |step: &StepReport<'_, f64>| {
///     state = step.state();
///     if step.step == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// let again = resume(&config, &sphere, &mut (), &state)?;
/// assert_eq!(again.best, whole.best);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resume<T: Scalar>(
    config: &CboConfig,
    objective: &impl Objective<T>,
    observer: &mut (impl Observer<T> + Send),
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    let plan = Arc::new(config.check(objective.dim()).map_err(SolveError::from)?);
    let (swarm, told, seconds) = Swarm::load(&plan, objective.grouping(), state)?;
    if !told {
        return Err(StateError::NotTold);
    }
    let clock = Stopwatch::start_from(seconds);
    let ended = on_its_threads(swarm, objective, |mut swarm| {
        if let Some(reason) = stop(&plan, &swarm, &mut (), seconds) {
            return finish(&plan, swarm, objective, reason, clock);
        }
        swarm.depart();
        run(&plan, swarm, objective, observer, clock)
    });
    Ok(ended?)
}

/// The loop itself.
fn run<T: Scalar>(
    plan: &Plan,
    mut swarm: Swarm<T>,
    objective: &impl Objective<T>,
    observer: &mut impl Observer<T>,
    clock: Stopwatch,
) -> Result<RunReport<T>, SolveError> {
    loop {
        swarm.evaluate(objective)?; // V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi from step 1 on; then E(V)
        swarm.agree(objective.is_stochastic())?; // v_a = sum w V / sum w
        if let Some(reason) = stop(plan, &swarm, observer, clock.seconds()) {
            return finish(plan, swarm, objective, reason, clock);
        }
        swarm.depart(); // X = V - v_a, and the noise of this step
    }
}

/// Does `work` on one of the threads of the run, from where it hands work to the others without waiting for anyone to wake up.
fn on_its_threads<T: Scalar, R: Send>(
    swarm: Swarm<T>,
    objective: &impl Objective<T>,
    work: impl FnOnce(Swarm<T>) -> R + Send,
) -> R {
    match swarm.pool() {
        Some(pool) if objective.grouping() != Grouping::Together => pool.install(|| work(swarm)),
        _ => work(swarm),
    }
}

/// Minimises a function of one point in a box: the short way, with default settings.
///
/// ```
/// let rosenbrock = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
/// let run = cbo::minimize(rosenbrock, &[(-2.0, 2.0); 2])?;
/// assert!(run.best.value < 1e-3);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub fn minimize(function: impl Fn(&[f64]) -> f64 + Sync, bounds: &[(f64, f64)]) -> Result<RunReport<f64>, SolveError> {
    let config = CboConfig {
        init: InitialLaw::uniform(bounds),
        bounds: Some(bounds.to_vec()),
        bound_handling: BoundHandling::Reflect,
        ..CboConfig::default()
    };
    solve(&config, &from_fn(bounds.len(), function), &mut ())
}

/// Tells the observer, and decides whether this step is the last.
pub(crate) fn stop<T: Scalar>(
    plan: &Plan,
    swarm: &Swarm<T>,
    observer: &mut impl Observer<T>,
    seconds: f64,
) -> Option<StopReason> {
    let config = &plan.config;
    let report = StepReport {
        step: swarm.step,
        time: swarm.step as f64 * config.dt,
        epoch: swarm.context().epoch,
        alpha: swarm.alpha,
        sigma: swarm.sigma,
        consensus: &swarm.consensus,
        ensemble: &swarm.ensemble,
        energies: &swarm.energies,
        evaluated: swarm.batches.as_ref().map(|b| b.current()),
        least: swarm.total.least,
        effective_sample_size: swarm.total.effective_sample_size(),
        best: &swarm.best,
        evaluations: swarm.evaluations,
        failed_evaluations: swarm.failed,
        infeasible_evaluations: swarm.infeasible,
        kicked: swarm.kicked,
        seconds,
        swarm,
    };
    let next = swarm.evaluations + swarm.energies.len() as u64 + 1;
    let reasons = [
        (observer.observe(&report).is_break(), StopReason::Observer),
        (config.target.is_some_and(|target| swarm.best.value <= target), StopReason::Target),
        (plan.last_step.is_some_and(|last| swarm.step >= last), StopReason::Steps),
        (config.max_evaluations.is_some_and(|max| next > max), StopReason::Evaluations),
        (config.stagnation.is_some_and(|n| swarm.step - swarm.improved >= n), StopReason::Stagnation),
        (swarm.done_below.is_some_and(|d| swarm.ensemble.is_narrower_than(d)), StopReason::Diameter),
        (config.max_seconds.is_some_and(|max| seconds >= max), StopReason::Seconds),
    ];
    let reason = reasons.into_iter().find_map(|(holds, reason)| holds.then_some(reason));
    if let Some(reason) = reason {
        observer.ended(&report, reason);
    }
    reason
}

/// Evaluates the consensus point once and sums the run up.
fn finish<T: Scalar>(
    plan: &Plan,
    swarm: Swarm<T>,
    objective: &impl Objective<T>,
    stop: StopReason,
    clock: Stopwatch,
) -> Result<RunReport<T>, SolveError> {
    let x: Vec<T> = swarm.consensus.iter().map(|&x| T::from_f64(x)).collect();
    let mut energy = [T::default()];
    objective
        .energies(swarm.context(), Rows::new(&x, plan.dim), &mut energy)
        .map_err(|source| SolveError::Evaluation { step: swarm.step, source })?;
    let consensus = Evaluated { x, value: energy[0].to_f64() };
    // A frozen point was given, not found.
    let found = plan.config.freeze.is_none() && consensus.value < swarm.best.value;
    Ok(RunReport {
        best: if found { consensus.clone() } else { swarm.best },
        consensus,
        stop,
        steps: swarm.step,
        time: swarm.step as f64 * plan.config.dt,
        evaluations: swarm.evaluations + 1,
        failed_evaluations: swarm.failed,
        infeasible_evaluations: swarm.infeasible,
        alpha: swarm.alpha,
        sigma: swarm.sigma,
        ensemble: swarm.ensemble,
        energies: swarm.energies,
        seed: plan.config.seed,
        seconds: clock.seconds(),
    })
}
