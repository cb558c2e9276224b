//! A whole run of the mean-field law: V and the consensus point over time, and the law at chosen steps.

use super::law::Law;
use super::settings::{Settings, mean_and_deviation};
use super::solver::{MeanField, MeanFieldError};
use crate::statistics::slope;
use cbo::Objective;

/// About how many steps a trajectory keeps.
const RECORDS: u64 = 400;

/// What is kept of a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// `V = 1/2 int |v - v*|^2 drho`.
    pub v: f64,
    /// The consensus point.
    pub consensus: Vec<f64>,
    /// The mean.
    pub mean: Vec<f64>,
    /// The standard deviation of each coordinate.
    pub deviation: Vec<f64>,
}

/// The law at one step.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// The consensus point.
    pub consensus: Vec<f64>,
    /// The law.
    pub law: Law,
}

/// A run of the mean-field law until its time horizon.
#[derive(Clone, Debug)]
pub struct Trajectory {
    /// The minimiser that V refers to.
    pub minimiser: Vec<f64>,
    /// Evenly spaced steps, including the first and the last.
    pub records: Vec<Record>,
    /// The law at the steps asked for.
    pub snapshots: Vec<Snapshot>,
    /// The largest deviation of the mass from 1, over all steps.
    pub mass_error: f64,
    /// The least density of a cell, over all steps.
    pub least_density: f64,
}

impl Trajectory {
    /// Runs the law of `settings` and keeps it at the steps `wanted`, which must increase. `done` is told of every step.
    pub fn new(
        settings: &Settings,
        objective: &impl Objective<f64>,
        minimiser: &[f64],
        wanted: &[u64],
        done: &dyn Fn(),
    ) -> Result<Self, MeanFieldError> {
        let mut field = MeanField::new(settings, objective)?;
        let mut run = Self {
            minimiser: minimiser.to_vec(),
            records: Vec::new(),
            snapshots: Vec::new(),
            mass_error: 0.0,
            least_density: f64::INFINITY,
        };
        let last = settings.steps();
        loop {
            run.keep(&field, wanted, last);
            if is_recorded(field.step(), last) || wanted.binary_search(&field.step()).is_ok() {
                field.check_resolution()?;
            }
            if field.step() >= last {
                return Ok(run);
            }
            field.advance()?;
            done();
        }
    }

    fn keep<O: Objective<f64>>(&mut self, field: &MeanField<'_, O>, wanted: &[u64], last: u64) {
        let (law, step, time) = (field.law(), field.step(), field.time());
        self.mass_error = self.mass_error.max((law.mass() - 1.0).abs());
        self.least_density = self.least_density.min(law.least_density());
        if is_recorded(step, last) {
            self.records.push(Record {
                step,
                time,
                v: law.half_mean_square(&self.minimiser),
                consensus: field.consensus(),
                mean: law.mean(),
                deviation: law.variances().iter().map(|v| v.sqrt()).collect(),
            });
        }
        if wanted.binary_search(&step).is_ok() {
            self.snapshots.push(Snapshot { step, time, consensus: field.consensus(), law: law.clone() });
        }
    }

    /// V at the end over V at the start.
    pub fn v_ratio(&self) -> f64 {
        match &self.records[..] {
            [first, .., last] => last.v / first.v,
            _ => 1.0,
        }
    }

    /// The rate at which V decays: the regression of log V over time.
    pub fn rate(&self) -> f64 {
        let times: Vec<f64> = self.records.iter().map(|r| r.time).collect();
        let logs: Vec<f64> = self.records.iter().map(|r| r.v.ln()).collect();
        -slope(&times, &logs)
    }
}

/// Whether a run of `last` steps keeps a record of this one.
pub(crate) fn is_recorded(step: u64, last: u64) -> bool {
    step.is_multiple_of(last.div_ceil(RECORDS)) || step == last
}

/// V at `time` when the consensus point is frozen, exactly; `None` when it is not.
///
/// With a the frozen point, `E(v - a)_k^2` decays like `exp(-(2 lambda - sigma^2) t)` and `E(v - a)_k` like `exp(-lambda t)`.
pub fn frozen_v(settings: &Settings, minimiser: &[f64], time: f64) -> Option<f64> {
    let point = settings.freeze.as_ref()?;
    let drift = (-settings.lambda * time).exp();
    let square = (-(2.0 * settings.lambda - settings.sigma * settings.sigma) * time).exp();
    let each = |(k, a): (usize, &f64)| {
        let (mean, deviation) = mean_and_deviation(&settings.init, k);
        let (offset, error) = (mean - a, a - minimiser[k]);
        (offset * offset + deviation * deviation) * square + 2.0 * offset * drift * error + error * error
    };
    Some(0.5 * point.iter().enumerate().map(each).sum::<f64>())
}
