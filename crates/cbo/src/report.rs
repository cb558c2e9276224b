//! What is told of a step and of a run.

use crate::config::ConfigError;
use crate::ensemble::Ensemble;
use crate::objective::EvalError;
use crate::simd::Scalar;
use crate::swarm::Swarm;

/// A point and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated<T> {
    /// The point.
    pub x: Vec<T>,
    /// Its value.
    pub value: f64,
}

/// One step, as observers see it: energies, consensus and positions belong to the same time.
#[derive(Debug)]
pub struct StepReport<'a, T> {
    /// The step, from 0.
    pub step: u64,
    /// `step * dt`.
    pub time: f64,
    /// The epoch, from 0.
    pub epoch: u64,
    /// The alpha used, as chosen by the schedule.
    pub alpha: f64,
    /// The sigma of the coming move.
    pub sigma: f64,
    /// The consensus point.
    pub consensus: &'a [f64],
    /// The positions.
    pub ensemble: &'a Ensemble<T>,
    /// The energies of the particles evaluated in this step.
    pub energies: &'a [T],
    /// Which particles these are; all, in order, if `None`.
    pub evaluated: Option<&'a [u32]>,
    /// The least energy of this step.
    pub least: f64,
    /// Effective sample size of the weights.
    pub effective_sample_size: f64,
    /// The best point ever evaluated (on this data batch, if the objective is stochastic).
    pub best: &'a Evaluated<T>,
    /// Evaluations so far.
    pub evaluations: u64,
    /// Evaluations without a value so far.
    pub failed_evaluations: u64,
    /// Infeasible points so far.
    pub infeasible_evaluations: u64,
    /// Whether the swarm is about to be kicked, because consensus stalled.
    pub kicked: bool,
    /// Seconds since the start.
    pub seconds: f64,
    pub(crate) swarm: &'a Swarm<T>,
}

impl<T: Scalar> StepReport<'_, T> {
    /// The state of the run as bytes, from which [`resume`](crate::resume) or [`AskTell::load`](crate::AskTell::load) go on bit by bit.
    pub fn state(&self) -> Vec<u8> {
        self.swarm.save(true, self.seconds)
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StopReason {
    /// The number of steps, or the time horizon, is reached.
    Steps,
    /// Another step would exceed the evaluations allowed.
    Evaluations,
    /// The wall time is used up.
    Seconds,
    /// The target value was found.
    Target,
    /// The swarm is smaller than the diameter asked for.
    Diameter,
    /// The best value no longer improves.
    Stagnation,
    /// An observer asked for it.
    Observer,
}

impl StopReason {
    /// A short name, as in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Steps => "steps",
            Self::Evaluations => "evaluations",
            Self::Seconds => "seconds",
            Self::Target => "target",
            Self::Diameter => "diameter",
            Self::Stagnation => "stagnation",
            Self::Observer => "observer",
        }
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunReport<T> {
    /// The best point ever evaluated (on the last data batch, if the objective is stochastic).
    pub best: Evaluated<T>,
    /// The consensus point at the end and its value, evaluated once.
    pub consensus: Evaluated<T>,
    /// Why the run ended.
    pub stop: StopReason,
    /// Steps taken.
    pub steps: u64,
    /// `steps * dt`.
    pub time: f64,
    /// Evaluations, that of the consensus point included.
    pub evaluations: u64,
    /// Evaluations without a value.
    pub failed_evaluations: u64,
    /// Infeasible points.
    pub infeasible_evaluations: u64,
    /// The last alpha used.
    pub alpha: f64,
    /// The last sigma used.
    pub sigma: f64,
    /// The swarm at the end.
    pub ensemble: Ensemble<T>,
    /// The energies of the particles evaluated in the last step.
    pub energies: Vec<T>,
    /// The seed.
    pub seed: u64,
    /// Seconds that the run took.
    pub seconds: f64,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The objective gave up.
    #[error("step {step}: {source}")]
    Evaluation {
        /// The step.
        step: u64,
        /// What it said.
        source: EvalError,
    },
    /// Nothing to agree on.
    #[error(
        "step {step}: none of the {evaluated} particles evaluated has a finite energy ({failed} failed, {infeasible} infeasible); \
         start where the objective is defined, or bound the search"
    )]
    NoFiniteEnergy {
        /// The step.
        step: u64,
        /// Particles evaluated in it.
        evaluated: usize,
        /// How many had no value.
        failed: u64,
        /// How many were infeasible.
        infeasible: u64,
    },
    /// A failed evaluation in a strict run.
    #[error("step {step}, particle {particle}: the energy is {energy}, and the run is strict")]
    Strict {
        /// The step.
        step: u64,
        /// The particle.
        particle: usize,
        /// What came back.
        energy: f64,
    },
    /// The threads could not be started.
    #[error("threads = {threads}: {message}")]
    Threads {
        /// How many were asked for.
        threads: usize,
        /// What the system said.
        message: String,
    },
    /// The positions do not fit into memory.
    #[error("particles = {particles}: {bytes} bytes of positions cannot be allocated; use fewer particles or f32")]
    Memory {
        /// Number of particles.
        particles: usize,
        /// Bytes needed.
        bytes: u128,
    },
}
