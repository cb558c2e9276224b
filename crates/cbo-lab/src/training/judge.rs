//! Watches a run and judges its particles twice an epoch.

use super::findings::{Findings, Rhythm};
use super::{Point, Progress, SAMPLE, Sample, Settings, Trained, Trainer, TrainingError};
use cbo::noise::{Noise, Stream};
use cbo::ranks::Here;
use cbo::{EvalError, Method, Observer, Plan, Rows, RunReport, StepReport};
use cbo_problems::mnist::{CLASSES, Dataset};
use cbo_problems::nn::fast::{Batch, Evaluator, Outcome, Workspace, Workspaces};
use cbo_problems::nn::reference::Mode;
use cbo_problems::nn::{ForwardError, Model, Statistics};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Instant;

/// Whose accuracy is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Judged {
    /// That of the best particle.
    Particles,
    /// That of the centre, around which the particles are drawn.
    Centre,
}

/// What is needed to judge particles.
pub(super) struct Bench<'a> {
    data: &'a Dataset,
    judged: Judged,
    batch_data: usize,
    pub evaluator: Evaluator,
    sample: Batch,
    /// Which training images these are, and who compares particles on them, if not the processor.
    images: Vec<u32>,
    device: Option<Box<dyn Sample>>,
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

/// What judging found: on the sample, and on the test images.
struct Verdict {
    reported: Reported,
    train: Outcome,
    test: Outcome,
}

impl<'a> Bench<'a> {
    pub fn new(settings: &Settings, data: &'a Dataset) -> Result<Self, TrainingError> {
        let evaluator = Evaluator::new(&settings.network);
        let mut images: Vec<u32> = vec![0; data.train.count()];
        // A time that no epoch reaches, so that the sample is independent of the order of the batches.
        Noise::new(settings.config.seed, Stream::Problem, 1 << 40).permute(&mut images);
        images.truncate(SAMPLE);
        let sample: Vec<usize> = images.iter().map(|&i| i as usize).collect();
        let all: Vec<usize> = (0..data.test.count()).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(settings.config.threads).build();
        let judged =
            if matches!(settings.config.method, Method::Hopping(_)) { Judged::Centre } else { Judged::Particles };
        Ok(Self {
            data,
            judged,
            batch_data: settings.batch_data,
            sample: evaluator.batch(&data.train, &sample),
            images,
            device: None,
            test: evaluator.batch(&data.test, &all),
            evaluator,
            pool: pool.map_err(|e| TrainingError::Threads(e.to_string()))?,
            workspaces: Workspaces::default(),
        })
    }

    /// Lets the trainer compare particles, if it can.
    pub fn judges_on(&mut self, trainer: &dyn Trainer, plan: &Plan) -> Result<(), TrainingError> {
        if self.judged == Judged::Particles {
            self.device = trainer.sample(plan, &self.evaluator, &self.data.train, &self.images)?;
        }
        Ok(())
    }

    /// The network to be reported, judged on the test images: the centre, or the particle with the least loss on the sample.
    fn judge(&self, at: &Moment<'_>) -> Result<Verdict, TrainingError> {
        if self.judged == Judged::Centre {
            return Ok(self.judge_one(&at.centre)?);
        }
        let mut ask = |question: Question| match at.swarm {
            Swarm::AtStep(step) => step.consult(&question.to_bytes(), &mut |_, here| self.answer(question, &here)),
            Swarm::AtEnd(rows) => Ok(vec![self.answer(question, &Here { first: 0, rows, pieces: Vec::new() })?]),
        };
        let row = favourite(&mut ask);
        Ok(self.judge_one(&row.map_err(|error| TrainingError::Judging(error.message))?)?)
    }

    /// What the particles of this rank contribute to the choice of the reported one.
    fn answer(&self, question: Question, here: &Here<'_, f32>) -> Result<Vec<u8>, EvalError> {
        match question {
            Question::Losses => Ok(self.losses(here.rows)?.into_iter().flat_map(f64::to_le_bytes).collect()),
            Question::Row(number) => {
                let own = number.checked_sub(here.first).filter(|own| *own < here.rows.len());
                Ok(own.map_or(&[][..], |own| here.rows.row(own)).iter().flat_map(|x| x.to_le_bytes()).collect())
            }
        }
    }

    /// The losses of these particles on the sample.
    fn losses(&self, particles: Rows<'_, f32>) -> Result<Vec<f64>, EvalError> {
        if let Some(device) = &self.device {
            return device.losses(particles).map_err(EvalError::new);
        }
        let Self { evaluator, sample, workspaces, .. } = self;
        let losses: Result<Vec<f64>, ForwardError> = self.pool.install(|| {
            let rows = particles.as_slice().par_chunks_exact(particles.dim());
            let loss = |row: &[f32]| {
                workspaces.lend(|workspace| evaluator.evaluate(row, sample, Mode::Train, workspace)).map(|o| o.loss)
            };
            rows.map(loss).collect()
        });
        losses.map_err(|error| EvalError::new(error.to_string()))
    }

    fn judge_one(&self, row: &[f32]) -> Result<Verdict, ForwardError> {
        let Self { evaluator, sample, .. } = self;
        let mut workspace = Workspace::default();
        let train = evaluator.evaluate(row, sample, Mode::Train, &mut workspace)?;
        let statistics = workspace.statistics().to_vec();
        // Parameters that are not finite have no statistics; they fail on the test images too.
        let mode = if train.loss.is_nan() { Mode::Train } else { Mode::Test(&statistics) };
        let test = evaluator.evaluate(row, &self.test, mode, &mut workspace)?;
        let answers = workspace.predictions().to_vec();
        Ok(Verdict { reported: Reported { parameters: row.to_vec(), statistics, answers }, train, test })
    }
}

/// What is asked about the particles of each rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Question {
    /// Their losses on the sample.
    Losses,
    /// The particle of this number, if it is there.
    Row(usize),
}

impl Question {
    /// Its first bytes, so that it is taken for no other.
    const LOSSES: &[u8] = b"losses";
    const ROW: &[u8] = b"row ";

    fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Losses => Self::LOSSES.to_vec(),
            Self::Row(number) => [Self::ROW, &(number as u64).to_le_bytes()].concat(),
        }
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        if bytes == Self::LOSSES {
            return Some(Self::Losses);
        }
        let number = bytes.strip_prefix(Self::ROW)?.try_into().ok()?;
        Some(Self::Row(usize::try_from(u64::from_le_bytes(number)).ok()?))
    }
}

/// The particle with the least loss, of all that are asked.
fn favourite(ask: &mut dyn FnMut(Question) -> Result<Vec<Vec<u8>>, EvalError>) -> Result<Vec<f32>, EvalError> {
    let losses = ask(Question::Losses)?.concat();
    let losses: Vec<f64> = losses.as_chunks().0.iter().map(|loss| f64::from_le_bytes(*loss)).collect();
    // A NaN is never the least.
    let least = (0..losses.len()).reduce(|a, b| if losses[b] < losses[a] || losses[a].is_nan() { b } else { a });
    let row = ask(Question::Row(least.unwrap_or(0)))?.concat();
    Ok(row.as_chunks().0.iter().map(|x| f32::from_le_bytes(*x)).collect())
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
    /// Whether the last point of the curve is there only because the run ended.
    added: bool,
    /// Seconds that the run took before it was resumed.
    before: f64,
    clock: Instant,
}

impl<'a, W: FnMut(Progress<'_>) -> ControlFlow<()>> Judge<'a, W> {
    /// Continues from `findings`, which took the seconds `before`.
    pub fn new(bench: Bench<'a>, rhythm: Rhythm, steps: u64, (findings, before): (Findings, f64), watch: W) -> Self {
        let clock = Instant::now();
        let (reported, fault, interrupted, added) = (None, None, false, false);
        Self { bench, rhythm, steps, watch, findings, reported, fault, interrupted, added, before, clock }
    }

    fn seconds(&self) -> f64 {
        self.before + self.clock.elapsed().as_secs_f64()
    }

    /// Judges and adds a point to the curve.
    fn report(&mut self, at: &Moment<'_>) -> Result<(), TrainingError> {
        let begun = Instant::now();
        let Verdict { reported, train, test } = self.bench.judge(at)?;
        self.findings.judging_seconds += begun.elapsed().as_secs_f64();
        self.reported = Some(reported);
        let point = Point {
            epoch: self.rhythm.epoch(at.step),
            step: at.step,
            loss: train.loss,
            train_accuracy: train.accuracy(),
            test_accuracy: test.accuracy(),
            alpha: at.alpha,
            sigma: at.sigma,
            particles: at.particles,
            seconds: self.seconds(),
        };
        self.findings.curve.push(point);
        Ok(())
    }

    /// Whether the curve has the points that a run has before this step; not if it belongs to another run.
    fn is_complete_before(&self, step: u64) -> bool {
        self.findings.curve.len() as u64 == self.rhythm.times_before(step) + u64::from(self.added)
    }

    /// Judges, if it is time, and asks whether to continue.
    fn step(&mut self, at: &StepReport<'_, f32>) -> Result<ControlFlow<()>, TrainingError> {
        if !self.is_complete_before(at.step()) {
            return Err(TrainingError::OtherEpochs);
        }
        self.findings.kicks += u64::from(at.kicked());
        let judges = self.rhythm.judges(at.step());
        if judges {
            self.report(&Moment::of_step(at))?;
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
        // A point that is there only because the run ends here: a run that goes on would not have it.
        if (self.interrupted || at.step() >= self.steps) && !judges {
            self.report(&Moment::of_step(at))?;
            self.added = true;
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
        let moment = Moment::of_end(run);
        // Resumed at its end, the run took no more steps.
        if self.reported.is_none() && !self.rhythm.judges(run.steps()) {
            self.report(&moment)?;
        }
        let seconds = self.seconds();
        let Reported { parameters, statistics, answers } = match self.reported.take() {
            Some(reported) => reported,
            None => self.bench.judge(&moment)?.reported,
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
            image_evaluations: run.evaluations() * self.bench.batch_data as u64,
        })
    }
}

/// A step, or the end, of a run as judging sees it.
struct Moment<'r> {
    step: u64,
    alpha: f64,
    sigma: f64,
    centre: Vec<f32>,
    particles: usize,
    swarm: Swarm<'r>,
}

/// Where the particles are.
enum Swarm<'r> {
    /// Wherever the run has them.
    AtStep(&'r StepReport<'r, f32>),
    /// Here.
    AtEnd(Rows<'r, f32>),
}

impl<'r> Moment<'r> {
    fn of_step(at: &'r StepReport<'r, f32>) -> Self {
        let centre = at.consensus().iter().map(|&x| x as f32).collect();
        let (step, alpha, sigma, particles) = (at.step(), at.alpha(), at.sigma(), at.particles());
        Self { step, alpha, sigma, centre, particles, swarm: Swarm::AtStep(at) }
    }

    fn of_end(run: &'r RunReport<f32>) -> Self {
        let (step, alpha, sigma, particles) = (run.steps(), run.alpha(), run.sigma(), run.particles());
        Self {
            step,
            alpha,
            sigma,
            centre: run.consensus().x.clone(),
            particles,
            swarm: Swarm::AtEnd(run.ensemble().rows()),
        }
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

/// What a rank that has some of the particles knows about them, for the first to ask.
pub(super) struct Witness<'a>(pub Bench<'a>);

impl Observer<f32> for Witness<'_> {
    fn observe(&mut self, _: &StepReport<'_, f32>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, f32>) -> Option<Result<Vec<u8>, EvalError>> {
        Question::from_bytes(question).map(|question| self.0.answer(question, &here))
    }
}
