//! Watches a run and judges its particles twice an epoch.

use super::findings::{Findings, Rhythm};
use super::{Point, Progress, SAMPLE, Settings, Trained, TrainingError};
use cbo::noise::{Noise, Stream};
use cbo::{Ensemble, Observer, RunReport, StepReport};
use cbo_problems::mnist::{CLASSES, Dataset};
use cbo_problems::nn::fast::{Batch, Evaluator, Outcome, Workspace, Workspaces};
use cbo_problems::nn::reference::Mode;
use cbo_problems::nn::{ForwardError, Model, Statistics};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// What is needed to judge particles.
pub(super) struct Bench<'a> {
    data: &'a Dataset,
    pub evaluator: Evaluator,
    sample: Batch,
    test: Batch,
    pool: rayon::ThreadPool,
    workspaces: Workspaces,
}

/// A particle and what is known about it.
struct Reported {
    parameters: Vec<f32>,
    statistics: Vec<Statistics>,
    answers: Vec<Option<u8>>,
}

impl<'a> Bench<'a> {
    pub fn new(settings: &Settings, data: &'a Dataset) -> Result<Self, TrainingError> {
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
        })
    }

    /// The particle with the least loss on the sample, judged on the test images.
    fn judge(&self, ensemble: &Ensemble<f32>) -> Result<(Reported, Outcome, Outcome), ForwardError> {
        let Self { evaluator, sample, workspaces, .. } = self;
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
        // Parameters that are not finite have no statistics; they fail on the test images too.
        let mode = if train.loss.is_nan() { Mode::Train } else { Mode::Test(&statistics) };
        let test = evaluator.evaluate(row, &self.test, mode, &mut workspace)?;
        let answers = workspace.predictions().to_vec();
        Ok((Reported { parameters: row.to_vec(), statistics, answers }, train, test))
    }
}

/// Watches a run and judges its particles twice an epoch.
pub(super) struct Judge<'a, W> {
    bench: Bench<'a>,
    rhythm: Rhythm,
    steps: u64,
    watch: W,
    findings: Findings,
    reported: Option<Reported>,
    fault: Option<TrainingError>,
    interrupted: bool,
    /// Seconds that the run took before it was resumed.
    before: f64,
    clock: Instant,
}

impl<'a, W: FnMut(Progress<'_>) -> ControlFlow<()>> Judge<'a, W> {
    /// Continues from `findings`, which took the seconds `before`.
    pub fn new(bench: Bench<'a>, rhythm: Rhythm, steps: u64, (findings, before): (Findings, f64), watch: W) -> Self {
        let clock = Instant::now();
        let (reported, fault, interrupted) = (None, None, false);
        Self { bench, rhythm, steps, watch, findings, reported, fault, interrupted, before, clock }
    }

    fn seconds(&self) -> f64 {
        self.before + self.clock.elapsed().as_secs_f64()
    }

    fn report(&mut self, at: &StepReport<'_, f32>) -> Result<(), ForwardError> {
        let begun = Instant::now();
        let (reported, train, test) = self.bench.judge(at.ensemble())?;
        self.findings.judging_seconds += begun.elapsed().as_secs_f64();
        self.reported = Some(reported);
        let point = Point {
            epoch: self.rhythm.epoch(at.step()),
            step: at.step(),
            loss: train.loss,
            train_accuracy: train.accuracy(),
            test_accuracy: test.accuracy(),
            alpha: at.alpha(),
            sigma: at.sigma(),
            particles: at.ensemble().len(),
            seconds: self.seconds(),
        };
        self.findings.curve.push(point);
        Ok(())
    }

    /// Whether the curve has the points that a run has before this step; not if it belongs to another run.
    fn is_complete_before(&self, step: u64) -> bool {
        self.findings.curve.len() as u64 == self.rhythm.times_before(step)
    }

    /// Judges, if it is time, and asks whether to continue.
    fn step(&mut self, at: &StepReport<'_, f32>) -> Result<ControlFlow<()>, TrainingError> {
        if !self.is_complete_before(at.step()) {
            return Err(TrainingError::OtherEpochs);
        }
        self.findings.kicks += u64::from(at.kicked());
        let judges = self.rhythm.judges(at.step());
        if judges {
            self.report(at)?;
        }
        // After the report: whoever saves the run now saves it with all that belongs to this step, and with nothing else.
        let progress = Progress {
            epoch: self.rhythm.epoch(at.step()),
            done: at.step() as f64 / self.steps.max(1) as f64,
            is_last: at.step() >= self.steps,
            latest: self.findings.curve.last().copied(),
            seconds: self.seconds(),
            at,
            findings: &self.findings,
            rhythm: self.rhythm,
        };
        self.interrupted = (self.watch)(progress).is_break();
        if self.interrupted && !judges {
            self.report(at)?;
        }
        Ok(if self.interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Sums the run up.
    pub fn finish(mut self, run: &RunReport<f32>) -> Result<Trained, TrainingError> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        if !self.interrupted && !self.is_complete_before(run.steps().saturating_add(1)) {
            return Err(TrainingError::OtherEpochs);
        }
        let seconds = self.seconds();
        let Reported { parameters, statistics, answers } = match self.reported.take() {
            Some(reported) => reported,
            // Resumed at its end, the run took no more steps.
            None => self.bench.judge(run.ensemble())?.0,
        };
        let mut confusion = [[0; CLASSES]; CLASSES];
        for (label, answer) in self.bench.data.test.labels().iter().zip(&answers) {
            if let Some(answer) = answer {
                confusion[usize::from(*label)][usize::from(*answer)] += 1;
            }
        }
        let network = self.bench.evaluator.network().clone();
        let Findings { curve, kicks, judging_seconds } = self.findings;
        Ok(Trained {
            curve,
            model: Model { network, parameters, statistics, notes: BTreeMap::new() },
            answers,
            confusion,
            interrupted: self.interrupted,
            kicks,
            seconds,
            judging_seconds,
        })
    }
}

impl<W: FnMut(Progress<'_>) -> ControlFlow<()>> Observer<f32> for Judge<'_, W> {
    fn observe(&mut self, at: &StepReport<'_, f32>) -> ControlFlow<()> {
        self.step(at).unwrap_or_else(|fault| {
            self.fault = Some(fault);
            ControlFlow::Break(())
        })
    }
}
