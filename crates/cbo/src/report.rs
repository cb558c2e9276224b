//! The reports of a step and of a run.

use crate::auto::Phase;
use crate::config::ConfigError;
use crate::ensemble::Ensemble;
use crate::minimisers::Minimiser;
use crate::numbers::grouped;
use crate::objective::EvalError;
use crate::ranks::Answering;
use crate::run::Process;
use crate::simd::Scalar;
use std::cell::OnceCell;

/// A point and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated<T> {
    /// The point.
    pub x: Vec<T>,
    /// Its value.
    pub value: f64,
    /// How far the worst of its constraints is violated; 0 if it meets all of them, or if there are none.
    pub violation: f64,
}

impl<T> Evaluated<T> {
    /// Whether it meets its constraints.
    pub fn is_feasible(&self) -> bool {
        self.violation == 0.0
    }
}

/// One step, as observers see it: energies, consensus and positions belong to the same time.
#[derive(Debug)]
pub struct StepReport<'a, T> {
    run: &'a dyn Process<T>,
    /// Once somebody asks: reading the clock takes as long as moving a few particles.
    seconds: OnceCell<f64>,
}

impl<'a, T: Scalar> StepReport<'a, T> {
    pub(crate) fn new(run: &'a dyn Process<T>) -> Self {
        Self { run, seconds: OnceCell::new() }
    }

    /// The step, from 0; for [`auto`](crate::Method::Auto) the round of evaluations.
    pub fn step(&self) -> u64 {
        self.run.ledger().step
    }

    /// `step * dt`; 0 for [`auto`](crate::Method::Auto).
    pub fn time(&self) -> f64 {
        self.run.time()
    }

    /// The epoch, from 0.
    pub fn epoch(&self) -> u64 {
        self.run.context().epoch
    }

    /// The alpha used, as chosen by the schedule.
    pub fn alpha(&self) -> f64 {
        self.run.agreed().alpha
    }

    /// The sigma of the coming move; for [`auto`](crate::Method::Auto) the size of its particles' steps, relative to the box.
    pub fn sigma(&self) -> f64 {
        self.run.agreed().sigma
    }

    /// The consensus point.
    pub fn consensus(&self) -> &'a [f64] {
        &self.run.agreed().consensus
    }

    /// The positions; for [`auto`](crate::Method::Auto) the points of the round.
    pub fn ensemble(&self) -> &'a Ensemble<T> {
        self.run.ensemble()
    }

    /// The positions of the first so many particles, one after the other: the numbers of fewer, if there are fewer. Of particles on several
    /// ranks no others are sent.
    pub fn first_rows(&self, count: usize) -> Vec<T> {
        self.run.first_rows(count)
    }

    /// How many particles there are; none is copied for it.
    pub fn particles(&self) -> usize {
        self.run.particles()
    }

    /// What is said of the particles without bringing them to one place: `answer` says it of those that are here, and where they are on
    /// several ranks, the [observers](crate::Observer::answer) of the others are asked the same question. Returns all answers, in the order
    /// of the particles. If one of them fails, there is none.
    pub fn consult(&self, question: &[u8], answer: &mut Answering<'_, T>) -> Result<Vec<Vec<u8>>, EvalError> {
        self.run.consult(question, answer)
    }

    /// The mean of |V|^2: [`Ensemble::mean_of_squares`]. Of particles on a device nothing else is copied for it.
    pub fn mean_of_squares(&self) -> f64 {
        self.run.mean_of_squares()
    }

    /// The root mean square distance of the particles from their mean. Where particles are on a device or on several ranks, this takes less
    /// than to look at all [positions](Self::ensemble).
    pub fn spread(&self) -> f64 {
        self.run.spread()
    }

    /// The energies of the particles evaluated in this step, as the objective gave them.
    pub fn energies(&self) -> &'a [T] {
        self.run.energies()
    }

    /// Their constraints, one particle after the other, as the objective gave them; none if there are none.
    pub fn constraints(&self) -> &'a [T] {
        self.run.constraints()
    }

    /// What a violation of each constraint costs in the coming step, per unit.
    pub fn penalties(&self) -> &'a [f64] {
        self.run.penalties()
    }

    /// Which particles these are; all, in order, if `None`.
    pub fn evaluated(&self) -> Option<&'a [u32]> {
        self.run.evaluated()
    }

    /// The least energy of this step, with the penalty of its constraints.
    pub fn least(&self) -> f64 {
        self.run.agreed().least
    }

    /// Effective sample size of the weights.
    pub fn effective_sample_size(&self) -> f64 {
        self.run.agreed().effective_sample_size
    }

    /// The best point ever evaluated (on this data batch, if the objective is stochastic): of those that meet all constraints the one with
    /// the least value, or, as long as there is none, the one that violates them least. If [`auto`](crate::Method::Auto) found noise, its
    /// value is the mean of its evaluations.
    pub fn best(&self) -> &'a Evaluated<T> {
        &self.run.ledger().best
    }

    /// Evaluations so far.
    pub fn evaluations(&self) -> u64 {
        self.run.ledger().evaluations
    }

    /// Evaluations without a value so far.
    pub fn failed_evaluations(&self) -> u64 {
        self.run.ledger().failed
    }

    /// Points with an infinite energy so far. Those that violate a constraint are not among them.
    pub fn infeasible_evaluations(&self) -> u64 {
        self.run.ledger().infeasible
    }

    /// Whether the swarm is about to be kicked, because consensus stalled.
    pub fn kicked(&self) -> bool {
        self.run.agreed().kicked
    }

    /// Seconds since the start.
    pub fn seconds(&self) -> f64 {
        *self.seconds.get_or_init(|| self.run.seconds())
    }

    /// The run so far, as if it had ended for this reason. The value of the consensus point is NaN, because it was not evaluated, and the
    /// swarm is left out.
    pub fn report(&self, stop: StopReason) -> RunReport<T> {
        self.run.summary(None, stop)
    }

    /// The state of the run as bytes, from which [`resume`](crate::resume) or [`AskTell::load`](crate::AskTell::load) continue bit for bit.
    pub fn state(&self) -> Vec<u8> {
        self.run.save(!self.run.is_midway(), self.seconds())
    }

    /// The state without the columns of the particles, where these are on several ranks: what it lacks, each rank has
    /// [here](crate::ranks::Here::pieces), so that nothing is brought to one place. [`Particles`](crate::ranks::Particles) resume from it,
    /// and [`join_state`](crate::ranks::join_state) makes it one that anything resumes from.
    pub fn state_apart(&self) -> Option<Vec<u8>> {
        self.run.save_apart(!self.run.is_midway(), self.seconds())
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
    /// The run could not go on, because of an error.
    Failed,
    /// The solver saw that nothing more is to be gained.
    Converged,
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
            Self::Failed => "failed",
            Self::Converged => "converged",
        }
    }
}

impl std::fmt::Display for StopReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunReport<T> {
    pub(crate) best: Evaluated<T>,
    pub(crate) consensus: Evaluated<T>,
    pub(crate) stop: StopReason,
    pub(crate) message: String,
    pub(crate) steps: u64,
    pub(crate) time: f64,
    pub(crate) evaluations: u64,
    pub(crate) failed_evaluations: u64,
    pub(crate) infeasible_evaluations: u64,
    pub(crate) alpha: f64,
    pub(crate) sigma: f64,
    pub(crate) ensemble: Ensemble<T>,
    pub(crate) particles: usize,
    pub(crate) energies: Vec<T>,
    pub(crate) seed: u64,
    pub(crate) seconds: f64,
    pub(crate) phases: Vec<Phase>,
    pub(crate) explanation: Vec<String>,
    pub(crate) covariance: Option<Vec<f64>>,
    pub(crate) minimisers: Vec<Minimiser<T>>,
    pub(crate) penalties: Vec<f64>,
}

impl<T> RunReport<T> {
    /// The best point ever evaluated (on the last data batch, if the objective is stochastic): of those that meet all constraints the one
    /// with the least value, or, if there is none, the one that violates them least. If [`auto`](crate::Method::Auto) found noise, its
    /// value is the mean of its evaluations.
    pub fn best(&self) -> &Evaluated<T> {
        &self.best
    }

    /// Whether the best point meets all constraints.
    pub fn is_feasible(&self) -> bool {
        self.best.is_feasible()
    }

    /// What a violation of each constraint cost at the end, per unit; none if there are no constraints.
    pub fn penalties(&self) -> &[f64] {
        &self.penalties
    }

    /// The consensus point at the end, and its value: evaluated once, or NaN if it was not, as with [`auto`](crate::Method::Auto).
    pub fn consensus(&self) -> &Evaluated<T> {
        &self.consensus
    }

    /// Why the run ended.
    pub fn stop(&self) -> StopReason {
        self.stop
    }

    /// Why it did, in a sentence.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The phases of [`auto`](crate::Method::Auto), in their order; none for other methods.
    pub fn phases(&self) -> &[Phase] {
        &self.phases
    }

    /// What [`auto`](crate::Method::Auto) saw and why it did what it did, in sentences; none for other methods.
    pub fn explanation(&self) -> &[String] {
        &self.explanation
    }

    /// The covariance of the coordinates at the minimum, row by row, up to a factor: the inverse of the curvature. Only
    /// [`auto`](crate::Method::Auto) may know it.
    pub fn covariance(&self) -> Option<&[f64]> {
        self.covariance.as_deref()
    }

    /// The minimisers that a [polarised](crate::Method::Polarised) swarm found, the best first: from each particle one goes to the best
    /// particle within the width of the kernel, and on from there until none there is better. A minimiser has at least two particles and
    /// one in a hundred of the swarm. None for other methods.
    pub fn minimisers(&self) -> &[Minimiser<T>] {
        &self.minimisers
    }

    /// Steps taken.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// `steps * dt`.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// Evaluations, that of the consensus point included.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Evaluations without a value.
    pub fn failed_evaluations(&self) -> u64 {
        self.failed_evaluations
    }

    /// Points with an infinite energy. Those that violate a constraint are not among them.
    pub fn infeasible_evaluations(&self) -> u64 {
        self.infeasible_evaluations
    }

    /// The last alpha used.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// The last sigma used.
    pub fn sigma(&self) -> f64 {
        self.sigma
    }

    /// How many particles the swarm has at the end; 0 for [`auto`](crate::Method::Auto), which has none.
    pub fn particles(&self) -> usize {
        self.particles
    }

    /// The swarm at the end.
    pub fn ensemble(&self) -> &Ensemble<T> {
        &self.ensemble
    }

    /// The energies of the particles evaluated in the last step.
    pub fn energies(&self) -> &[T] {
        &self.energies
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Seconds that the run took.
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    /// The swarm at the end and the energies of the particles evaluated last, without a copy.
    pub fn into_population(self) -> (Ensemble<T>, Vec<T>) {
        (self.ensemble, self.energies)
    }
}

/// Why a run could not continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SolveError {
    /// A setting is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The objective gave up.
    #[error("step {step}: the objective failed")]
    Evaluation {
        /// The step.
        step: u64,
        /// What it said.
        source: EvalError,
    },
    /// Nothing to agree on.
    #[error(
        "step {step}: none of the {} points evaluated has a finite energy ({} failed, {} infeasible); \
         start where the objective is defined, or bound the search",
        grouped(*evaluated), grouped(*failed), grouped(*infeasible)
    )]
    NoFiniteEnergy {
        /// The step.
        step: u64,
        /// Points evaluated in it.
        evaluated: u64,
        /// How many had no value.
        failed: u64,
        /// How many were infeasible.
        infeasible: u64,
    },
    /// Nothing to draw from.
    #[error(
        "step {step}: the weighted particles do not vary in all directions, so that there is no law to draw from; use more particles"
    )]
    Degenerate {
        /// The step.
        step: u64,
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
    /// Another rank could not begin, or go on.
    #[error("a rank cannot take part: {message}")]
    Ranks {
        /// What it said.
        message: String,
    },
    /// The positions do not fit into memory.
    #[error("particles = {particles}: {bytes} bytes for them cannot be allocated; use fewer particles or f32")]
    Memory {
        /// Number of particles.
        particles: usize,
        /// Bytes needed.
        bytes: u128,
    },
}
