//! Many short runs, made by somebody who makes many of them at once: a GPU, or the lanes of a processor's vectors.

use crate::compare::{Contestant, Trial};
use crate::success::{Judge, Outcome};
use cbo::device::{Errand, Fleet, Made};
use cbo::{CboConfig, Objective, Scalar, SolveError};
use cbo_problems::Problem;
use rayon::prelude::*;
use std::sync::Arc;

/// Runs that are made together where all their improvements are kept.
const TOGETHER_LOGGED: usize = 1 << 10;

/// Settings of a run, and its problem; neighbours that have the same should share it.
pub type Run = (CboConfig, Arc<Problem>);

/// The outcomes of `count` runs, of which `run` gives the settings and the problem: as [`outcome`](crate::success::outcome) judges each.
/// `watch` is told now and then which part is done; if it says that enough is done, only those are there that were made by then.
pub fn outcomes<T: Scalar, E: From<SolveError> + Send>(
    fleet: &dyn Fleet<T>,
    count: usize,
    run: impl Fn(usize) -> Result<Run, E> + Sync,
    judge: Judge,
    watch: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<Outcome>, E>
where
    Problem: Objective<T>,
{
    let mut all = Vec::new();
    each_outcome(fleet, count, run, judge, watch, |_, outcome| all.push(outcome))?;
    Ok(all)
}

/// The same, but the number of each run and its outcome go to `take`, and are not kept.
pub fn each_outcome<T: Scalar, E: From<SolveError> + Send>(
    fleet: &dyn Fleet<T>,
    count: usize,
    run: impl Fn(usize) -> Result<Run, E> + Sync,
    judge: Judge,
    watch: &(dyn Fn(f64) -> bool + Sync),
    mut take: impl FnMut(usize, Outcome),
) -> Result<(), E>
where
    Problem: Objective<T>,
{
    let judged = |(config, problem): &Run, made: Made<T>| Outcome::of(config, problem, made.end, judge);
    many(fleet, (count, fleet.together()), run, false, watch, judged, |first, outcomes| {
        let numbered = (first..).zip(outcomes).filter_map(|(number, outcome)| Some((number, outcome?)));
        numbered.for_each(|(number, outcome)| take(number, outcome));
    })
}

/// The same runs as trials of the contestant `cbo`, with their histories, as [`trial`](crate::compare::trial) makes each: the first ones, if
/// enough is done.
pub fn trials<T: Scalar, E: From<SolveError> + Send>(
    fleet: &dyn Fleet<T>,
    count: usize,
    run: impl Fn(usize) -> Result<Run, E> + Sync,
    judge: Judge,
    watch: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<Trial>, E>
where
    Problem: Objective<T>,
{
    let run = |k: usize| run(k).map(|(config, problem)| (Contestant::limited(&config, problem.dim()), problem));
    let judged = |(config, problem): &Run, made: Made<T>| Trial::of(config, problem, made, judge);
    let mut all = Vec::new();
    many(fleet, (count, fleet.together().min(TOGETHER_LOGGED)), run, true, watch, judged, |_, trials| {
        all.extend(trials.into_iter().map_while(|trial| trial));
    })?;
    Ok(all)
}

fn many<T: Scalar, R: Send, E: From<SolveError> + Send>(
    fleet: &dyn Fleet<T>,
    (count, together): (usize, usize),
    run: impl Fn(usize) -> Result<Run, E> + Sync,
    logged: bool,
    watch: &(dyn Fn(f64) -> bool + Sync),
    judged: impl Fn(&Run, Made<T>) -> R + Sync,
    mut take: impl FnMut(usize, Vec<Option<R>>),
) -> Result<(), E>
where
    Problem: Objective<T>,
{
    for first in (0..count).step_by(together) {
        let runs: Vec<Run> =
            (first..count.min(first + together)).into_par_iter().map(&run).collect::<Result<_, E>>()?;
        let errands: Vec<Errand<'_, T>> = runs
            .par_iter()
            .map(|(config, problem)| {
                let plan = config.check(problem.dim()).map_err(SolveError::from)?;
                Ok(Errand { plan, objective: &**problem as &dyn Objective<T> })
            })
            .collect::<Result<_, SolveError>>()?;
        let part = |share: f64| watch((first as f64 + share * runs.len() as f64) / count as f64);
        let made = fleet.solve_some(&errands, logged, &part)?;
        let given_up = made.iter().any(Option::is_none);
        take(first, runs.par_iter().zip(made).map(|(run, made)| made.map(|made| judged(run, made))).collect());
        if given_up {
            break;
        }
    }
    Ok(())
}
