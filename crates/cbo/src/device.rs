//! The seam for devices: what a backend in another crate is made of, and how a run is put on it.
//!
//! Not for users, and free to change: `cbo-cuda` makes what is described here, and `cbo-lab` uses its [`Fleet`].

pub use crate::abreast::{Abreast, Processor};
pub use crate::backend::{Backend, Seat, Share, block_rows};
pub use crate::batch::Batches;
pub use crate::ensemble::{Extent, SQUARES};
pub use crate::method::{Move, Remembers};
pub use crate::population::Part;
pub use crate::schedule::Weighing;
pub use crate::state::{Reader, Writer};

use crate::config::{CboConfig, Plan, Settings};
use crate::consensus::{Partial, alpha_for_sample_size, weights_of};
use crate::method::{Decision, Method};
use crate::objective::{Grouping, Objective, Rows};
use crate::observer::Observer;
use crate::ranking::Ranking;
use crate::ranks::Columns;
use crate::report::{Evaluated, RunReport, SolveError, StopReason};
use crate::simd::Scalar;
use crate::state::StateError;

/// Where runs can be held besides in this machine's memory.
pub trait Device<T>: Sync {
    /// The particles of a run at time 0, to be moved and evaluated there; or why that cannot be.
    fn begin(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError>;

    /// Where the columns of a [state that lacks them](crate::StepReport::state_apart) are.
    fn columns(&self) -> Option<&dyn Columns> {
        None
    }

    /// Why the tuning-free solver, which asks for a few points at a time, is not there.
    fn without_auto(&self) -> crate::ConfigError {
        let remedy = "runs on the processor alone; use method cbo on a device".into();
        crate::ConfigError { field: "method", value: "auto".into(), remedy }
    }

    /// The same for a caller who evaluates, by ask and tell; none can unless said otherwise.
    fn begin_told(&self, plan: &Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
        let (value, remedy) = (plan.config().method.to_string(), "ask and tell is not on this device".into());
        Err(crate::ConfigError { field: "method", value, remedy }.into())
    }
}

/// Where a run is held.
pub(crate) enum Place<'a, T> {
    /// By this machine's processor.
    Processor,
    /// By a device, which compiles the objective.
    Device(&'a dyn Device<T>, &'a dyn Objective<T>),
    /// By a device, for a caller who evaluates.
    Told(&'a dyn Device<T>),
}

impl<'a, T: Scalar> Place<'a, T> {
    pub fn of(device: Option<&'a dyn Device<T>>, objective: &'a dyn Objective<T>) -> Self {
        device.map_or(Self::Processor, |device| Self::Device(device, objective))
    }

    /// For a caller who evaluates.
    pub fn told(device: Option<&'a dyn Device<T>>) -> Self {
        device.map_or(Self::Processor, Self::Told)
    }
}

/// [`solve`](crate::solve) on a device.
pub fn solve_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
) -> Result<RunReport<T>, SolveError> {
    T::solve(&settings.plan(objective.dim())?, objective, observer, Some(device))
}

/// [`resume`](crate::resume) on a device.
pub fn resume_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    T::resume(&settings.plan(objective.dim()).map_err(SolveError::from)?, objective, observer, Some(device), state)
}

/// The particles of a run at time 0 in this machine's memory: where a device has them from.
pub fn on_processor<T: Scalar>(plan: &Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
    Ok(T::on_cpu(plan, Grouping::Blocks, None)?)
}

/// How the particles of a run remember, if they do.
pub fn remembers(config: &CboConfig) -> Option<Remembers> {
    if let Method::Memory(memory) = config.method { memory.how(config.dt) } else { None }
}

/// The deviations of the initial law, with which particles that hop are drawn.
pub fn widths(plan: &Plan) -> Vec<f64> {
    plan.config().init.deviations(plan.dim())
}

/// Weighs the particles of a step whose energies are known, for a device that has their positions.
#[derive(Debug, Default)]
pub struct Weigher {
    ranking: Ranking,
    energies: Vec<f64>,
    weights: Vec<f64>,
}

impl Weigher {
    /// Weights by the order of the energies.
    pub fn ranks<T: Scalar>(&mut self, energies: &[T]) -> &[f64] {
        self.ranking.weights(energies)
    }

    /// Writes all sums of blocks of `rows` particles but the moments. Returns the alpha of the weights, and the weights, from which the
    /// device makes the moments: in each block and coordinate the sum of weight times position, particle by particle, without those of
    /// weight zero.
    pub fn weigh<T: Scalar>(
        &mut self,
        weighing: Weighing,
        energies: &[T],
        rows: usize,
        sums: &mut [Partial],
    ) -> (f64, &[f64]) {
        let Self { ranking, energies: doubles, weights } = self;
        doubles.clear();
        doubles.extend(energies.iter().map(|e| e.to_f64()));
        for ((block, sums), energies) in sums.iter_mut().enumerate().zip(doubles.chunks(rows)) {
            sums.survey(block * rows, 0, energies);
        }
        let alpha = match weighing {
            Weighing::Alpha(alpha) => alpha,
            Weighing::SampleSize(fraction) => {
                let finite: Vec<f64> = doubles.iter().copied().filter(|e| e.is_finite()).collect();
                alpha_for_sample_size(fraction, &finite)
            }
            Weighing::Ranks => {
                let weights = ranking.weights(energies);
                sums.iter_mut().zip(weights.chunks(rows)).for_each(|(sums, weights)| sums.masses_by(weights));
                return (f64::NAN, weights);
            }
        };
        weights.clear();
        weights.resize(doubles.len(), 0.0);
        for (sums, (energies, weights)) in sums.iter_mut().zip(doubles.chunks(rows).zip(weights.chunks_mut(rows))) {
            sums.shift = sums.least;
            (sums.mass, sums.mass_of_squares) = weights_of(alpha, sums.shift, energies, weights);
            // The processor leaves eight of them out together.
            for eight in weights.chunks_mut(8) {
                if eight.iter().all(|w| *w < f64::MIN_POSITIVE) {
                    eight.fill(0.0);
                }
            }
        }
        (alpha, weights)
    }
}

/// Who makes many small runs at once, each with the bits that it has alone.
pub trait Fleet<T>: Sync {
    /// Runs that are worth preparing together.
    fn together(&self) -> usize {
        1 << 15
    }

    /// Makes all runs, and notes how each improved if that is `logged`. `watch` is told now and then which part is done; if it says that
    /// enough is done, there is no result. A run that could not continue is a result; an error is a setting that no run can have here, or
    /// a fault of the device.
    fn solve_many(
        &self,
        runs: &[Errand<'_, T>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Option<Vec<Made<T>>>, SolveError>;

    /// The same, but if enough is done, with the runs that were made by then.
    fn solve_some(
        &self,
        runs: &[Errand<'_, T>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Vec<Option<Made<T>>>, SolveError> {
        Ok(match self.solve_many(runs, logged, watch)? {
            Some(made) => made.into_iter().map(Some).collect(),
            None => runs.iter().map(|_| None).collect(),
        })
    }
}

/// One of many runs.
#[derive(Clone)]
pub struct Errand<'a, T> {
    /// Its settings.
    pub plan: Plan,
    /// What it minimises.
    pub objective: &'a dyn Objective<T>,
}

/// One of many runs that was made.
#[derive(Debug)]
pub struct Made<T> {
    /// How it ended, or why it could not continue.
    pub end: Result<Ended<T>, SolveError>,
    /// Evaluations, also of a run that could not continue.
    pub evaluations: u64,
    /// Points better than all before, if that was logged: the number of the evaluation, from 1, and the point with its value.
    pub improvements: Vec<(u64, Evaluated<T>)>,
}

/// How one of many runs ended: what [`RunReport`] says of it, without its particles.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended<T> {
    /// The best point ever evaluated.
    pub best: Evaluated<T>,
    /// The consensus point at the end, and its value.
    pub consensus: Evaluated<T>,
    /// Why it ended.
    pub stop: StopReason,
    /// Steps taken.
    pub steps: u64,
    /// Evaluations, that of the consensus point included.
    pub evaluations: u64,
    /// Evaluations without a value.
    pub failed: u64,
    /// Points with an infinite energy.
    pub infeasible: u64,
}

/// What is known of a step before it is taken: how its particles are weighed, and the move after it, but for its centre. The move is kicked,
/// so that it says how strongly.
pub fn decided_beforehand(plan: &Plan, step: u64) -> (Weighing, Move) {
    let (config, at) = (plan.config(), plan.context(step, None));
    let from = Decision { step, consensus: &[], sigma: config.sigma.at(step, at.epoch), kicked: true };
    let mut decided = Move::default();
    config.method.decide(config, from, &mut decided);
    (config.alpha.weighing(step, at.epoch), decided)
}

impl<T: Scalar> Made<T> {
    /// A run whose steps were taken elsewhere, and which has spent so many evaluations: evaluates its consensus point, as
    /// [`solve`](crate::solve) does. An error is one of this evaluation.
    pub fn of(
        Errand { plan, objective }: &Errand<'_, T>,
        end: Result<Ended<T>, SolveError>,
        mut evaluations: u64,
        mut improvements: Vec<(u64, Evaluated<T>)>,
    ) -> Result<Self, SolveError> {
        let mut ended = match end {
            Ok(ended) => ended,
            Err(error) => return Ok(Self { end: Err(error), evaluations, improvements }),
        };
        let (step, mut energy) = (ended.steps, [T::default()]);
        let point = Rows::new(&ended.consensus.x, plan.dim());
        let outcome = objective.energies(plan.context(step, None), point, &mut energy);
        outcome.map_err(|source| SolveError::Evaluation { step, source })?;
        evaluations += 1;
        (ended.evaluations, ended.consensus.value) = (evaluations, energy[0].to_f64());
        let value = ended.consensus.value;
        // A frozen point was given, not found.
        if plan.config().freeze.is_none() && value < ended.best.value {
            ended.best = ended.consensus.clone();
        }
        if improvements.last().is_some_and(|(_, last)| value < last.value && value.is_finite()) {
            improvements.push((evaluations, ended.consensus.clone()));
        }
        Ok(Self { end: Ok(ended), evaluations, improvements })
    }
}
