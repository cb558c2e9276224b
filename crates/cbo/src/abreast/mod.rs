//! Many small runs abreast: one in each lane of a vector, each with the bits that it has alone.
//!
//! A small swarm alone leaves a processor waiting: its steps are short, and in its weighted sum each particle waits for the one before. Runs
//! that differ in their numbers only take all their steps together, and nothing has to be exchanged between lanes.

mod group;
mod kernels;
mod lane;

use crate::config::{ConfigError, Plan};
use crate::device::{Errand, Fleet, Made};
use crate::method::{Diffusion, Method};
use crate::objective::{Grouping, Objective};
use crate::report::SolveError;
use crate::schedule::Alpha;
use crate::simd::Scalar;
use group::Group;
use rayon::prelude::*;
use std::any::TypeId;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// A function of the points of several runs at once: number k of point p of the run in lane l is at `(p * dim + k) * lanes + l`, where there
/// are as many lanes as vectors have.
pub trait Abreast<T>: Sync {
    /// What it is: functions of the same type and name are the same, but for [`moved`](Self::moved).
    fn identity(&self) -> (TypeId, &str);

    /// What is taken from the coordinates of a point, and what is then added to them, before it is evaluated: each run may have its own.
    fn moved(&self) -> Option<[&[T]; 2]> {
        None
    }

    /// How many points of a run are evaluated in one call, counted from the first of a block; all of a block if `None`.
    fn points_per_call(&self) -> Option<usize> {
        None
    }

    /// Writes the energy of point p of lane l to `energies[p * lanes + l]`.
    fn energies(&self, points: &[T], energies: &mut [T]);
}

/// This machine's processor as one that makes many runs at once, on the threads of the pool that calls it: those that [suit](Self::suits),
/// which takes less time than one after the other where there are [enough](Self::pays).
#[derive(Clone, Copy, Debug, Default)]
pub struct Processor;

impl Processor {
    /// Whether a run can be one of several abreast.
    pub fn suits<T: Scalar>(plan: &Plan, objective: &dyn Objective<T>) -> bool {
        let config = plan.config();
        let moves_plainly = config.method == Method::Cbo
            && config.diffusion == Diffusion::Anisotropic
            && config.truncation().is_none()
            && config.kick.is_none()
            && config.freeze.is_none();
        let weighs_all = config.batch.is_none()
            && config.reduction.is_none()
            && !matches!(config.alpha, Alpha::EffectiveSampleSize(_));
        // Those of all lanes stay in the second-level cache.
        let is_small = config.particles * plan.dim() <= MOST_COORDINATES;
        let is_judged_by_steps = config.max_seconds.is_none() && !config.strict;
        let is_plain =
            objective.grouping() == Grouping::Blocks && !objective.is_stochastic() && objective.constraints() == 0;
        moves_plainly && weighs_all && is_small && is_judged_by_steps && is_plain && objective.abreast().is_some()
    }

    /// Whether so many runs that are alike fill the lanes of all threads of this pool well enough.
    pub fn pays<T: Scalar>(runs: usize) -> bool {
        runs >= lanes::<T>() * rayon::current_num_threads()
    }
}

/// The most coordinates of a swarm that is made abreast with others.
const MOST_COORDINATES: usize = 1 << 13;

/// Lanes of a vector, on every instruction set.
const fn lanes<T>() -> usize {
    64 / size_of::<T>()
}

impl<T: Scalar> Fleet<T> for Processor {
    fn together(&self) -> usize {
        16 * lanes::<T>() * rayon::current_num_threads()
    }

    fn solve_many(
        &self,
        runs: &[Errand<'_, T>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Option<Vec<Made<T>>>, SolveError> {
        Ok(self.solve_some(runs, logged, watch)?.into_iter().collect())
    }

    fn solve_some(
        &self,
        runs: &[Errand<'_, T>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Vec<Option<Made<T>>>, SolveError> {
        if let Some(other) = runs.iter().find(|run| !Self::suits(&run.plan, run.objective)) {
            let (value, remedy) = (other.plan.config().method.to_string(), "this run must be made by itself".into());
            return Err(ConfigError { field: "method", value, remedy }.into());
        }
        T::abreast(runs, logged, watch)
    }
}

/// Makes the runs on the threads of the pool that calls this, until somebody ends them.
pub(crate) fn solve_some<T: Scalar>(
    runs: &[Errand<'_, T>],
    logged: bool,
    watch: &(dyn Fn(f64) -> bool + Sync),
) -> Result<Vec<Option<Made<T>>>, SolveError> {
    let queues: Vec<Queue> = groups(runs).into_iter().map(Queue::of).collect();
    let (done, given_up) = (AtomicUsize::new(0), AtomicBool::new(false));
    let goes_on = || {
        if !watch(done.load(Ordering::Relaxed) as f64 / runs.len() as f64) {
            given_up.store(true, Ordering::Relaxed);
        }
        !given_up.load(Ordering::Relaxed)
    };
    let work = |_: usize| {
        let mut mine = Vec::new();
        for queue in queues.iter().take_while(|_| !given_up.load(Ordering::Relaxed)) {
            let Some(mut group) = Group::begin(runs, logged, queue) else { continue };
            while !group.is_done() && goes_on() {
                let before = mine.len();
                // The others need not go on after an error.
                group.some_steps(&mut mine).inspect_err(|_| given_up.store(true, Ordering::Relaxed))?;
                done.fetch_add(mine.len() - before, Ordering::Relaxed);
            }
        }
        Ok::<Vec<(usize, Made<T>)>, SolveError>(mine)
    };
    let parts: Vec<_> = (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).map(work).collect();
    let mut all: Vec<Option<Made<T>>> = runs.iter().map(|_| None).collect();
    for part in parts {
        for (place, made) in part? {
            all[place] = Some(made);
        }
    }
    Ok(all)
}

/// The places of runs that are alike, each of which somebody takes.
struct Queue {
    places: Vec<usize>,
    next: AtomicUsize,
}

impl Queue {
    fn of(places: Vec<usize>) -> Self {
        Self { places, next: AtomicUsize::new(0) }
    }

    fn take(&self) -> Option<usize> {
        self.places.get(self.next.fetch_add(1, Ordering::Relaxed)).copied()
    }
}

/// The places of runs of the same function, wherever it was moved, with as many particles in the same box; the last, which often take longest,
/// first.
fn groups<T: Scalar>(runs: &[Errand<'_, T>]) -> Vec<Vec<usize>> {
    let identity = |place: usize| runs[place].objective.abreast().map(Abreast::identity);
    let mut order: Vec<usize> = (0..runs.len()).rev().collect();
    order.sort_by(|a, b| {
        let key = |place: usize| (std::cmp::Reverse(runs[place].plan.config().particles), identity(place));
        key(*a).cmp(&key(*b))
    });
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for place in order {
        match groups.last_mut().filter(|group| are_alike(&runs[group[0]], &runs[place])) {
            Some(group) => group.push(place),
            None => groups.push(vec![place]),
        }
    }
    groups
}

fn are_alike<T: Scalar>(one: &Errand<'_, T>, other: &Errand<'_, T>) -> bool {
    let function = |run: &Errand<'_, T>| {
        let function = run.objective.abreast()?;
        Some((
            function.identity().0,
            function.identity().1.to_string(),
            function.points_per_call(),
            function.moved().is_some(),
        ))
    };
    let (config, others) = (one.plan.config(), other.plan.config());
    (one.plan.dim(), config.particles) == (other.plan.dim(), others.particles)
        && (&config.bounds, config.bound_handling) == (&others.bounds, others.bound_handling)
        && function(one) == function(other)
}
