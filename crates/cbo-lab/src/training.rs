//! Training networks without gradients: the paper's machine learning experiment.
//!
//! A particle is a parameter vector, the objective the mean cross-entropy on one data batch after the other. Twice an epoch the
//! particle with the least loss on a fixed random sample of the training images is taken out and judged on the test images.
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

use cbo::noise::{Noise, Stream};
use cbo::{
    Alpha, CboConfig, Clock, Coordinates, Ensemble, Geometric, InitialLaw, Observer, Sigma, SolveError, StepReport,
    solve,
};
use cbo_problems::mnist::{CLASSES, Dataset};
use cbo_problems::nn::fast::{Batch, Evaluator, Outcome, Workspace, Workspaces};
use cbo_problems::nn::reference::Mode;
use cbo_problems::nn::{BatchSizeError, CrossEntropy, ForwardError, Model, Network, Order, Statistics};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// Training images on which particles are compared, unless there are fewer.
pub const SAMPLE: usize = 10_000;

/// Everything that decides a training run, apart from the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The network.
    pub network: Network,
    /// The dynamics. `epoch_steps`, `steps` and the other limits are ours to set.
    pub config: CboConfig,
    /// Times that the training images are gone through.
    pub epochs: u64,
    /// Images in a data batch, a divisor of their number.
    pub batch_data: usize,
    /// Whether each epoch takes the images in a new random order.
    pub shuffle: bool,
}

impl Settings {
    /// The paper's setting: 100 particles, of which 10 are evaluated a step and all move, on 60 images; alpha doubles and
    /// sigma falls like 1 / log2 with each epoch; a kick where consensus stalls.
    pub fn paper(network: Network) -> Self {
        let config = CboConfig {
            particles: 100,
            batch: Some(10),
            dt: 0.1,
            lambda: 1.0,
            sigma: Sigma::Logarithmic { start: 0.4f64.sqrt(), clock: Clock::Epoch },
            alpha: Alpha::Geometric(Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch }),
            init: InitialLaw::Normal { mean: Coordinates::All(0.0), variance: Coordinates::All(1.0) },
            kick: Some(1e-5),
            ..CboConfig::default()
        };
        Self { network, config, epochs: 30, batch_data: 60, shuffle: false }
    }

    /// The fewest epochs to a good LeNet-1, found by experiment; see the guide. More particles and as many evaluations a step make
    /// longer rounds, on 300 images each; alpha keeps three of ten particles in the mean, whatever the loss; the kick comes
    /// before the swarm has shrunk to nothing.
    pub fn best(network: Network) -> Self {
        let paper = Self::paper(network);
        let config =
            CboConfig { particles: 400, alpha: Alpha::EffectiveSampleSize(0.3), kick: Some(5e-3), ..paper.config };
        Self { config, epochs: 12, batch_data: 300, ..paper }
    }
}

/// Settings with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// The paper's.
    #[default]
    Paper,
    /// Found by experiment: the fewest epochs to a LeNet-1 of 97.5 %.
    Best,
}

impl Preset {
    /// The settings for a network.
    pub fn settings(self, network: Network) -> Settings {
        match self {
            Self::Paper => Settings::paper(network),
            Self::Best => Settings::best(network),
        }
    }
}

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
pub struct Progress {
    /// Epochs done.
    pub epoch: f64,
    /// The part of the run that is done, from 0 to 1.
    pub done: f64,
    /// The last point of the curve.
    pub latest: Option<Point>,
    /// Seconds since the start.
    pub seconds: f64,
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
    /// No threads.
    #[error("threads cannot be started: {0}")]
    Threads(String),
}

/// Trains a network; `watch` is told of every step and may end the run, which then reports the particles as they are.
pub fn train(
    settings: &Settings,
    data: &Dataset,
    watch: impl FnMut(Progress) -> ControlFlow<()> + Send,
) -> Result<Trained, TrainingError> {
    let Settings { network, epochs, batch_data, .. } = settings;
    match (network.classes(), network.parameters()) {
        (classes, _) if classes != CLASSES => return Err(TrainingError::Classes { classes }),
        (_, 0) => return Err(TrainingError::NoParameters),
        _ => {}
    }
    let order = if settings.shuffle { Order::Shuffled { seed: settings.config.seed } } else { Order::Sequential };
    let objective = CrossEntropy::new(network, &data.train, *batch_data, order)?;
    let config = &settings.config;
    // One round of particle batches for each data batch.
    let round = (config.particles / config.batch.unwrap_or(config.particles).max(1)).max(1) as u64;
    let epoch_steps = objective.batches() * round;
    let steps = epochs.saturating_mul(epoch_steps);
    let config = CboConfig { epoch_steps: Some(epoch_steps), steps: Some(steps), ..config.clone() };
    config.check(network.parameters()).map_err(SolveError::from)?;
    let mut judge = Judge::new(settings, data, (epoch_steps, steps), watch)?;
    // Too few images for batch normalisation are a wrong setting; better found before the run than in it.
    let first = judge.evaluator.batch(&data.train, &objective.images(0));
    judge.evaluator.evaluate(&vec![0.0; network.parameters()], &first, Mode::Train, &mut Workspace::default())?;
    solve(&config, &objective, &mut judge)?;
    judge.finish()
}

/// Watches a run and judges its particles twice an epoch.
struct Judge<'a, W> {
    data: &'a Dataset,
    evaluator: Evaluator,
    sample: Batch,
    test: Batch,
    pool: rayon::ThreadPool,
    workspaces: Workspaces,
    epoch_steps: u64,
    steps: u64,
    watch: W,
    curve: Vec<Point>,
    reported: Option<Reported>,
    fault: Option<ForwardError>,
    interrupted: bool,
    kicks: u64,
    clock: Instant,
    judging_seconds: f64,
}

/// A particle and what is known of it.
struct Reported {
    parameters: Vec<f32>,
    statistics: Vec<Statistics>,
    answers: Vec<Option<u8>>,
}

impl<'a, W: FnMut(Progress) -> ControlFlow<()>> Judge<'a, W> {
    fn new(
        settings: &Settings,
        data: &'a Dataset,
        (epoch_steps, steps): (u64, u64),
        watch: W,
    ) -> Result<Self, TrainingError> {
        let evaluator = Evaluator::new(&settings.network);
        let mut images: Vec<u32> = vec![0; data.train.count()];
        // A time that no epoch reaches, so that the sample is independent of the order of the batches.
        Noise::new(settings.config.seed, Stream::Problem, 1 << 40).permute(&mut images);
        let sample: Vec<usize> = images.iter().take(SAMPLE).map(|&i| i as usize).collect();
        let all: Vec<usize> = (0..data.test.count()).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.config.threads).build();
        Ok(Self {
            data,
            sample: evaluator.batch(&data.train, &sample),
            test: evaluator.batch(&data.test, &all),
            evaluator,
            pool: pool.map_err(|e| TrainingError::Threads(e.to_string()))?,
            workspaces: Workspaces::default(),
            epoch_steps,
            steps,
            watch,
            curve: Vec::new(),
            reported: None,
            fault: None,
            interrupted: false,
            kicks: 0,
            clock: Instant::now(),
            judging_seconds: 0.0,
        })
    }

    /// The particle with the least loss on the sample, judged on the test images.
    fn judge(&mut self, ensemble: &Ensemble<f32>) -> Result<(Outcome, Outcome), ForwardError> {
        let (evaluator, sample) = (&self.evaluator, &self.sample);
        let workspaces = &self.workspaces;
        let judged = self.pool.install(|| {
            let rows = ensemble.rows().as_slice().par_chunks_exact(ensemble.dim());
            let loss = |row: &[f32]| {
                workspaces.lend(|workspace| evaluator.evaluate(row, sample, Mode::Train, workspace)).map(|o| o.loss)
            };
            rows.map(loss).collect::<Result<Vec<f64>, ForwardError>>()
        })?;
        // A NaN is never the least.
        let least = (0..judged.len()).reduce(|a, b| if judged[b] < judged[a] || judged[a].is_nan() { b } else { a });
        let row = ensemble.rows().row(least.unwrap_or(0));
        let mut workspace = Workspace::default();
        let train = evaluator.evaluate(row, sample, Mode::Train, &mut workspace)?;
        let statistics = workspace.statistics().to_vec();
        // Parameters that are not finite have no statistics; they fail on the test images, too.
        let mode = if train.loss.is_nan() { Mode::Train } else { Mode::Test(&statistics) };
        let test = evaluator.evaluate(row, &self.test, mode, &mut workspace)?;
        let answers = workspace.predictions().to_vec();
        self.reported = Some(Reported { parameters: row.to_vec(), statistics, answers });
        Ok((train, test))
    }

    fn report(&mut self, at: &StepReport<'_, f32>) -> Result<(), ForwardError> {
        let begun = Instant::now();
        let (train, test) = self.judge(at.ensemble)?;
        self.judging_seconds += begun.elapsed().as_secs_f64();
        self.curve.push(Point {
            epoch: self.epoch(at.step),
            step: at.step,
            loss: train.loss,
            train_accuracy: train.accuracy(),
            test_accuracy: test.accuracy(),
            alpha: at.alpha,
            sigma: at.sigma,
            particles: at.ensemble.len(),
            seconds: self.clock.elapsed().as_secs_f64(),
        });
        Ok(())
    }

    fn epoch(&self, step: u64) -> f64 {
        step as f64 / self.epoch_steps as f64
    }

    fn finish(self) -> Result<Trained, TrainingError> {
        if let Some(fault) = self.fault {
            return Err(fault.into());
        }
        let Reported { parameters, statistics, answers } = self.reported.expect("a run reports its start");
        let mut confusion = [[0; CLASSES]; CLASSES];
        for (label, answer) in self.data.test.labels().iter().zip(&answers) {
            if let Some(answer) = answer {
                confusion[usize::from(*label)][usize::from(*answer)] += 1;
            }
        }
        let network = self.evaluator.network().clone();
        Ok(Trained {
            curve: self.curve,
            model: Model { network, parameters, statistics, notes: BTreeMap::new() },
            answers,
            confusion,
            interrupted: self.interrupted,
            kicks: self.kicks,
            seconds: self.clock.elapsed().as_secs_f64(),
            judging_seconds: self.judging_seconds,
        })
    }
}

impl<W: FnMut(Progress) -> ControlFlow<()>> Observer<f32> for Judge<'_, W> {
    fn observe(&mut self, at: &StepReport<'_, f32>) -> ControlFlow<()> {
        self.kicks += u64::from(at.kicked);
        let progress = Progress {
            epoch: self.epoch(at.step),
            done: at.step as f64 / self.steps.max(1) as f64,
            latest: self.curve.last().copied(),
            seconds: self.clock.elapsed().as_secs_f64(),
        };
        self.interrupted = (self.watch)(progress).is_break();
        let half = (self.epoch_steps / 2).max(1);
        // An epoch of an odd number of steps has its middle a step early, but its end where it is.
        let place = at.step % self.epoch_steps;
        if place == 0 || place == half || self.interrupted {
            match self.report(at) {
                Ok(()) => {}
                Err(fault) => {
                    self.fault = Some(fault);
                    return ControlFlow::Break(());
                }
            }
        }
        if self.interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
