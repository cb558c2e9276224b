//! Training networks without gradients: the paper's machine learning experiment.
//!
//! A particle is a parameter vector, the objective the mean cross-entropy on one data batch after the other. Twice an epoch the
//! particle with the least loss on a fixed random sample of the training images is judged on the test images; of consensus hopping it
//! is the centre.
//!
//! ```
//! use cbo_lab::training::{self, Settings};
//! use cbo_problems::{mnist, nn::Network};
//! use std::ops::ControlFlow;
//!
//! let data = mnist::subset()?;
//! let settings = Settings { epochs: 2, batch_data: 50, ..Settings::paper(Network::shallow()) };
//! let trained = training::train(&settings, &data, |_| ControlFlow::Continue(()))?;
//! assert_eq!(trained.curve.len(), 5); // at the start and twice an epoch
//! assert!(trained.last().test_accuracy > 0.3); // guessing gives 0.1
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod findings;
mod judge;
mod settings;
#[cfg(test)]
mod tests;
mod trainer;

use cbo::ranks::{Communicator, Particles, farm, resume_on, solve_on};
use cbo::{CboConfig, Observer, Plan, RunReport, SolveError, StateError, StepReport};
use cbo_problems::mnist::{CLASSES, Dataset};
use cbo_problems::nn::fast::Workspace;
use cbo_problems::nn::reference::Mode;
use cbo_problems::nn::{BatchSizeError, CrossEntropy, ForwardError, Model, Order};
use findings::{Findings, Rhythm};
use judge::{Bench, Judge, Witness};
pub use settings::{Preset, Settings};
use std::ops::ControlFlow;
pub use trainer::{Helped, Processor, Sample, Trainer};

/// Training images on which particles are compared, unless there are fewer.
pub const SAMPLE: usize = 10_000;

/// The swarm at one time, as its reported particle shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Epochs done.
    pub epoch: f64,
    /// Steps done.
    pub step: u64,
    /// Mean cross-entropy on the training sample.
    pub loss: f64,
    /// Fraction of right answers there.
    pub train_accuracy: f64,
    /// Fraction of right answers on the test images, batch norm with the statistics of the training sample.
    pub test_accuracy: f64,
    /// The alpha of this step.
    pub alpha: f64,
    /// The sigma of this step.
    pub sigma: f64,
    /// Particles left.
    pub particles: usize,
    /// Seconds since the start.
    pub seconds: f64,
}

/// Where a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Epochs done.
    pub epoch: f64,
    /// The fraction of the run that is done, from 0 to 1.
    pub done: f64,
    /// Whether this is the last step.
    pub is_last: bool,
    /// The last point of the curve.
    pub latest: Option<Point>,
    /// Seconds since the start.
    pub seconds: f64,
    /// The step, as the engine sees it.
    pub at: &'a StepReport<'a, f32>,
    findings: &'a Findings,
    rhythm: Rhythm,
}

impl Progress<'_> {
    /// The points of the curve so far. A point that is there only because the run is ending now is not among them.
    pub fn curve(&self) -> &[Point] {
        &self.findings.curve
    }

    /// The run at this step, from which [`Training::resume`] continues bit for bit.
    pub fn save(&self) -> Saved {
        Saved { state: self.at.state(), findings: self.findings() }
    }

    /// What was found by now, the part of it that the engine does not know.
    pub fn findings(&self) -> Vec<u8> {
        self.findings.to_bytes(self.seconds, self.rhythm)
    }
}

/// A run at one step, as bytes that are the same on every machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// The state of the engine.
    pub state: Vec<u8>,
    /// What was found so far.
    pub findings: Vec<u8>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Trained {
    /// The reported points over time.
    pub curve: Vec<Point>,
    /// The network of the last of them.
    pub model: Model,
    /// Its answer to each test image.
    pub answers: Vec<Option<u8>>,
    /// Test images by true class (row) and answer (column).
    pub confusion: [[usize; CLASSES]; CLASSES],
    /// Whether the run was ended early.
    pub interrupted: bool,
    /// Steps at which the swarm was kicked.
    pub kicks: u64,
    /// Seconds that the run took.
    pub seconds: f64,
    /// Seconds of these spent on judging particles, twice an epoch.
    pub judging_seconds: f64,
    /// Forward passes of one image each that training took; those for judging do not count.
    pub image_evaluations: u64,
}

impl Trained {
    /// The last point.
    pub fn last(&self) -> Point {
        *self.curve.last().expect("a run reports its start")
    }

    /// The best accuracy on the test images at any time: not an honest estimate, since the test images chose it.
    pub fn best_test_accuracy(&self) -> f64 {
        self.curve.iter().map(|p| p.test_accuracy).fold(0.0, f64::max)
    }
}

/// Why a run could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainingError {
    /// Data batches that do not fit the data.
    #[error(transparent)]
    BatchSize(#[from] BatchSizeError),
    /// A network with too few outputs for the classes.
    #[error("the network has {classes} outputs; it needs one for each of the {CLASSES} classes")]
    Classes {
        /// Its outputs.
        classes: usize,
    },
    /// A network without anything to train.
    #[error("the network has no parameters; add a dense or conv layer")]
    NoParameters,
    /// A forward pass that cannot be made.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// The run failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// Bytes from which a run cannot be resumed.
    #[error(transparent)]
    State(#[from] StateError),
    /// Findings that cannot be read.
    #[error("the saved findings cannot be used: {0}")]
    Saved(&'static str),
    /// Findings of a run with epochs of another length.
    #[error(
        "the saved curve belongs to epochs of another number of steps; the images in a data batch, the particles and \
         how many of them are evaluated in a step must stay as they were"
    )]
    OtherEpochs,
    /// No threads.
    #[error("threads cannot be started: {0}")]
    Threads(String),
    /// Particles that could not be judged, on a device or on another rank.
    #[error("{0}")]
    Judging(String),
}

/// Trains a network; `watch` is told of every step and may end the run, which then reports the particles as they are.
pub fn train(
    settings: &Settings,
    data: &Dataset,
    watch: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send,
) -> Result<Trained, TrainingError> {
    Training::new(settings, data)?.run(watch)
}

/// A run that can begin or be resumed: its settings are valid.
///
/// ```
/// use cbo_lab::training::{Saved, Settings, Training};
/// use cbo_problems::{mnist, nn::Network};
/// use std::ops::ControlFlow;
///
/// let data = mnist::subset()?;
/// let settings = Settings { epochs: 1, batch_data: 100, ..Settings::paper(Network::shallow()) };
/// let whole = Training::new(&settings, &data)?.run(|_| ControlFlow::Continue(()))?;
/// let mut saved = Saved::default();
/// Training::new(&settings, &data)?.run(|progress| {
///     saved = progress.save();
///     if progress.at.step() == 70 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
/// })?;
/// let again = Training::new(&settings, &data)?.resume(&saved, |_| ControlFlow::Continue(()))?;
/// assert_eq!(again.model, whole.model);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Training<'a> {
    plan: Plan,
    objective: CrossEntropy<'a>,
    bench: Bench<'a>,
    rhythm: Rhythm,
    steps: u64,
}

impl<'a> Training<'a> {
    /// Checks that the settings are valid and fit the data.
    pub fn new(settings: &Settings, data: &'a Dataset) -> Result<Self, TrainingError> {
        let Settings { network, config, epochs, iterations, batch_data, shuffle } = settings;
        match (network.classes(), network.parameters()) {
            (classes, _) if classes != CLASSES => return Err(TrainingError::Classes { classes }),
            (_, 0) => return Err(TrainingError::NoParameters),
            _ => {}
        }
        let order = if *shuffle { Order::Shuffled { seed: config.seed } } else { Order::Sequential };
        let objective = CrossEntropy::new(network, &data.train, *batch_data, order)?;
        // One round of particle batches for each data batch.
        let round = (config.particles / config.batch.unwrap_or(config.particles).max(1)).max(1) as u64;
        let epoch_steps = objective.batches() * round;
        let steps = iterations.unwrap_or(epochs.saturating_mul(epoch_steps));
        let config = CboConfig { epoch_steps: Some(epoch_steps), steps: Some(steps), ..config.clone() };
        let plan = config.check(network.parameters()).map_err(SolveError::from)?;
        let bench = Bench::new(settings, data)?;
        // Too few images for batch normalisation are a wrong setting; better found before the run than in it.
        let first = bench.evaluator.batch(&data.train, &objective.images(0));
        bench.evaluator.evaluate(&vec![0.0; network.parameters()], &first, Mode::Train, &mut Workspace::default())?;
        Ok(Self { plan, objective, bench, rhythm: Rhythm { epoch_steps }, steps })
    }

    /// Trains from the beginning; `watch` is told of every step and may end the run, which then reports the particles as
    /// they are.
    pub fn run(self, watch: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send) -> Result<Trained, TrainingError> {
        self.run_on(&Processor, watch)
    }

    /// The same by another than the processor.
    pub fn run_on(
        mut self,
        trainer: &dyn Trainer,
        watch: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send,
    ) -> Result<Trained, TrainingError> {
        self.bench.judges_on(trainer, &self.plan)?;
        let begin = (Findings::default(), 0.0);
        let mut judge = Judge::new(self.bench, self.rhythm, self.steps, begin, watch);
        let run = trainer.solve(&self.plan, &self.objective, &mut judge)?;
        judge.finish(&run)
    }

    /// Continues where a run was saved, as if it had never stopped. The settings must be those of that run, apart from the
    /// epochs, of which there may be more, and the threads.
    pub fn resume(
        self,
        from: &Saved,
        watch: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send,
    ) -> Result<Trained, TrainingError> {
        self.resume_on(&Processor, from, watch)
    }

    /// The same by another than the processor, whoever saved it.
    pub fn resume_on(
        mut self,
        trainer: &dyn Trainer,
        from: &Saved,
        watch: impl FnMut(Progress<'_>) -> ControlFlow<()> + Send,
    ) -> Result<Trained, TrainingError> {
        self.bench.judges_on(trainer, &self.plan)?;
        let findings = Findings::from_bytes(&from.findings, self.rhythm)?;
        let mut judge = Judge::new(self.bench, self.rhythm, self.steps, findings, watch);
        let resumed = trainer.resume(&self.plan, &self.objective, &mut judge, &from.state);
        let run = resumed.map_err(|error| match error {
            StateError::Solve(error) => error.into(),
            other => TrainingError::State(other),
        })?;
        judge.finish(&run)
    }

    /// Evaluates networks for the first of several ranks, which [holds](Helped) the particles.
    pub fn help(&self, ranks: &dyn Communicator) {
        farm::help(ranks, &self.objective, self.plan.config().threads);
    }

    /// Takes part in the training of several ranks that [share the particles](Particles), as one of all but the first; from this state, if
    /// there is one. `other` answers what is asked of the particles that is not about their losses.
    pub fn take_part(
        self,
        particles: &Particles,
        from: Option<&[u8]>,
        other: impl Observer<f32> + Send,
    ) -> Result<RunReport<f32>, StateError> {
        let mut observer = (Witness(self.bench), other);
        match from {
            Some(state) => resume_on(particles, &self.plan, &self.objective, &mut observer, state),
            None => solve_on(particles, &self.plan, &self.objective, &mut observer).map_err(StateError::from),
        }
    }

    /// The checked settings of the dynamics.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// What is minimised.
    pub fn objective(&self) -> &CrossEntropy<'a> {
        &self.objective
    }

    /// Whether the particles fit into memory, spread over so many ranks: to be asked before a run begins to write anything.
    pub fn fits(&self, ranks: usize) -> Result<(), TrainingError> {
        let (particles, parameters) = (self.plan.config().particles.div_ceil(ranks.max(1)), self.plan.dim());
        Vec::<f32>::new().try_reserve_exact(particles.saturating_mul(parameters)).map_err(|_| {
            let bytes = 4 * particles as u128 * parameters as u128;
            TrainingError::Solve(SolveError::Memory { particles, bytes })
        })
    }

    /// Whether what was found so far belongs to such a run: to be asked before other ranks begin to resume it.
    pub fn continues(&self, from: &Saved) -> Result<(), TrainingError> {
        Findings::from_bytes(&from.findings, self.rhythm).map(|_| ())
    }

    /// Steps of the run.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Steps of an epoch.
    pub fn epoch_steps(&self) -> u64 {
        self.rhythm.epoch_steps
    }
}
