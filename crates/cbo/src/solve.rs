//! The loop.

use crate::auto::Auto;
use crate::bounds::BoundHandling;
use crate::config::{CboConfig, Plan, Settings};
use crate::device::Place;
use crate::initial::InitialLaw;
use crate::method::Method;
use crate::objective::{EvalError, Grouping, Objective, from_fn};
use crate::observer::Observer;
use crate::report::{RunReport, SolveError, StepReport, StopReason};
use crate::run::{Nature, Process, Run, tell, tell_midway};
use crate::simd::Scalar;
use crate::state::StateError;

/// Minimises `objective` under `settings`, a [`CboConfig`] or a checked [`Plan`](crate::Plan), telling `observer` of each step.
///
/// In each step the energies of the particles (or of a batch of them) give the consensus point
/// `v_a = sum_i V^i w_i / sum_i w_i`, `w_i = exp(-alpha E(V^i))`, and every particle moves by
/// `dV = -lambda (V - v_a) dt + sigma D(V - v_a) dB`: this is the method [`cbo`](crate::Method::Cbo). The method
/// [`auto`](crate::Method::Auto) needs no settings and has a loop of its own.
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
/// assert!((run.best().x[0] - 1.0).abs() < 1e-3 && (run.best().x[1] + 0.5).abs() < 1e-3);
/// assert!(history.records().len() <= 100);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub fn solve<T: Scalar>(
    settings: impl Settings,
    objective: &impl Objective<T>,
    observer: &mut (impl Observer<T> + Send),
) -> Result<RunReport<T>, SolveError> {
    T::solve(&settings.plan(objective.dim())?, objective, observer, None)
}

/// Continues a run of [`solve`] from its [state](crate::StepReport::state), as if it had never stopped. `settings` may allow it more steps,
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
///     if step.step() == 20 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// let again = resume(&config, &sphere, &mut (), &state)?;
/// assert_eq!(again.best(), whole.best());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn resume<T: Scalar>(
    settings: impl Settings,
    objective: &impl Objective<T>,
    observer: &mut (impl Observer<T> + Send),
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    T::resume(&settings.plan(objective.dim()).map_err(SolveError::from)?, objective, observer, None, state)
}

/// [`solve`] with the methods of the loop.
pub(crate) fn solve_loop<T: Scalar>(
    plan: &Plan,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
    place: Place<'_, T>,
) -> Result<RunReport<T>, SolveError> {
    let run = Run::begin(plan, Nature::of(objective), objective.constraints(), place)?;
    on_its_threads(run, objective, |run| follow(run, objective, observer))
}

/// [`resume`] with the methods of the loop.
pub(crate) fn resume_loop<T: Scalar>(
    plan: &Plan,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
    place: Place<'_, T>,
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    let (run, told) = Run::load(plan, Nature::of(objective), Some(objective.constraints()), place, state)?;
    let ended = on_its_threads(run, objective, |mut run: Run<T>| {
        if told {
            // Its observers were told of this step before it was saved.
            if let Some(reason) = tell(&run, &mut ()) {
                return run.end(objective, reason);
            }
            run.decide();
        }
        follow(run, objective, observer)
    });
    Ok(ended?)
}

/// Follows a run to its end, whatever that is.
fn follow<T: Scalar>(
    mut run: Run<T>,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
) -> Result<RunReport<T>, SolveError> {
    match steps(&mut run, objective, observer) {
        Ok(reason) => run.end(objective, reason), // E(v_a), and the report
        Err(error) => {
            let mut tell = || {
                observer.failed(&StepReport::new(&run), &error);
                None
            };
            run.confer(&mut tell, &mut |_, _| Err(EvalError::new("the run has failed")));
            Err(error)
        }
    }
}

/// The loop itself. Formulas are those of the method `cbo`; others sum and move in their own way.
fn steps<T: Scalar>(
    run: &mut Run<T>,
    objective: &dyn Objective<T>,
    observer: &mut dyn Observer<T>,
) -> Result<StopReason, SolveError> {
    loop {
        // The pending move, if there is one: V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi; then E(V).
        if let Some(reason) = run.advance_and_evaluate(objective)? {
            return Ok(tell_midway(run, observer, reason)); // no time for E(V) of all particles
        }
        run.agree()?; // v_a = sum w V / sum w with w = exp(-alpha E), from the sums of all blocks
        if let Some(reason) = tell(run, observer) {
            return Ok(reason);
        }
        run.decide(); // the next move, which is now pending: towards v_a, with the noise of this step
    }
}

/// Does `work` on one of the threads of the run, from which it hands work to the others without waiting for anyone to wake up.
fn on_its_threads<T: Scalar, R: Send>(
    run: Run<T>,
    objective: &dyn Objective<T>,
    work: impl FnOnce(Run<T>) -> R + Send,
) -> R {
    match run.pool() {
        Some(pool) if objective.grouping() != Grouping::Together => pool.install(|| work(run)),
        _ => work(run),
    }
}

/// Minimises a function of one point in a box: the short way, by the method [`auto`](crate::Method::Auto), which needs no settings.
///
/// ```
/// let rosenbrock = |x: &[f64]| (1.0 - x[0]).powi(2) + 100.0 * (x[1] - x[0] * x[0]).powi(2);
/// let run = cbo::minimize(rosenbrock, &[(-2.0, 2.0); 2])?;
/// assert!(run.best().value < 1e-3);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub fn minimize(function: impl Fn(&[f64]) -> f64 + Sync, bounds: &[(f64, f64)]) -> Result<RunReport<f64>, SolveError> {
    let config = CboConfig {
        method: Method::Auto(Auto::default()),
        init: InitialLaw::uniform(bounds),
        bounds: Some(bounds.to_vec()),
        bound_handling: BoundHandling::Reflect,
        ..CboConfig::default()
    };
    solve(&config, &from_fn(bounds.len(), function), &mut ())
}
