//! `--device`: where a run is computed.

use crate::config_file::Origins;
use crate::error::CliError;
use crate::minimize::task::{Subject, Task};
use crate::ranks;
use cbo::ranks::farm::Schedule;
use cbo::ranks::{Particles, resume_on, solve_on};
use cbo::{Objective, Observer, Plan, Rows, RunReport, Scalar, SolveError, StateError};
use cbo_cuda::{Cuda, OnRanks};
use cbo_lab::training::{Processor, Sample, Trainer, Training};
use cbo_problems::mnist::Labelled;
use cbo_problems::nn::CrossEntropy;
use cbo_problems::nn::fast::Evaluator;
use std::fmt;
use std::str::FromStr;

const NO_TRAINING_ON_RANKS: &str = "several ranks train by their processors; use --device cpu, or one rank";

/// Where to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceSpec {
    /// By the processor.
    #[default]
    Cpu,
    /// By the NVIDIA GPU of this number; if none is given by the first one, and of several ranks of a machine by the next one each.
    Cuda(Option<usize>),
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no device; use cpu, cuda or cuda:N");
        match text.trim().split_once(':') {
            None if text.trim() == "cpu" => Ok(Self::Cpu),
            None if text.trim() == "cuda" => Ok(Self::Cuda(None)),
            Some(("cuda", number)) => number.parse().map(|number| Self::Cuda(Some(number))).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(None) => f.write_str("cuda"),
            Self::Cuda(Some(number)) => write!(f, "cuda:{number}"),
        }
    }
}

/// A device that is ready.
#[derive(Debug)]
pub enum Ready {
    /// The processor.
    Processor,
    /// A GPU, and how it was asked for.
    Gpu(Cuda, DeviceSpec),
    /// The processors of several ranks, each with some of the particles.
    Ranks(Particles),
    /// The GPUs of several ranks, in the same way.
    Gpus(OnRanks),
}

impl DeviceSpec {
    /// Opens the device for a task, or says why that cannot be, before anything is written. Of several ranks each opens its own, and
    /// the `schedule` says how the task is spread.
    pub fn open(self, task: &Task, schedule: Option<Schedule>, origins: &Origins) -> Result<Ready, CliError> {
        if self == Self::Cpu {
            return Ok(Ready::Processor);
        }
        let refuse = |why: &str| Err(origins.blame("device", &format!("device = {self}: {why}")));
        if let Subject::Command(_) = task.subject {
            return refuse("programs run on the processor; leave --device out");
        }
        if task.is_constrained() {
            return refuse("constraints are not there yet; use --device cpu");
        }
        if ranks::several().is_some() {
            if schedule == Some(Schedule::Dynamic) {
                return refuse("with --schedule dynamic processors evaluate points; leave one of the two out");
            }
            checked(Cuda::check_on_ranks(&task.plan), origins)?;
        }
        let gpu = self.gpu(origins)?;
        checked(gpu.check(&task.plan), origins)?;
        Ok(Ready::Gpu(gpu, self))
    }

    /// Opens the GPU for many runs at once, if it is one, or says why that cannot be; `constrained` if one of them is.
    pub fn open_for_many(self, constrained: bool, origins: &Origins) -> Result<Option<Cuda>, CliError> {
        if self == Self::Cpu {
            return Ok(None);
        }
        if constrained {
            let message = format!("device = {self}: constraints are not there yet; use --device cpu");
            return Err(origins.blame("device", &message));
        }
        self.gpu(origins).map(Some)
    }

    fn gpu(self, origins: &Origins) -> Result<Cuda, CliError> {
        let refused = |fault| origins.blame("device", &format!("device = {self}: {fault}; use --device cpu"));
        match self {
            Self::Cuda(Some(number)) => Cuda::open(number),
            _ => Cuda::open_for_rank(ranks::place_here()),
        }
        .map_err(refused)
    }
}

impl From<SolveError> for CliError {
    fn from(error: SolveError) -> Self {
        crate::minimize::failure(&error)
    }
}

/// What a device says of settings, with where they come from.
pub fn checked(outcome: Result<(), SolveError>, origins: &Origins) -> Result<(), CliError> {
    match outcome {
        Err(SolveError::Config(error)) => Err(origins.blame(error.field, &error.to_string())),
        Err(error) => Err(CliError::failed(&error)),
        Ok(()) => Ok(()),
    }
}

impl Ready {
    /// The same for particles that are spread over ranks.
    pub fn on_ranks(&self, particles: Particles) -> Self {
        match self {
            Self::Gpu(gpu, _) => Self::Gpus(gpu.on_ranks(particles)),
            _ => Self::Ranks(particles),
        }
    }

    /// What the ranks are to open, each its own.
    pub fn spec(&self) -> DeviceSpec {
        match self {
            Self::Gpu(_, spec) => *spec,
            _ => DeviceSpec::Cpu,
        }
    }

    /// [`cbo::solve`] there.
    pub fn solve<T: Scalar>(
        &self,
        plan: &Plan,
        objective: &impl Objective<T>,
        observer: &mut (impl Observer<T> + Send),
    ) -> Result<RunReport<T>, SolveError> {
        match self {
            Self::Processor => cbo::solve(plan, objective, observer),
            Self::Gpu(gpu, _) => gpu.solve(plan, objective, observer),
            Self::Ranks(particles) => solve_on(particles, plan, objective, observer),
            Self::Gpus(gpus) => solve_on(gpus, plan, objective, observer),
        }
    }

    /// [`cbo::resume`] there.
    pub fn resume<T: Scalar>(
        &self,
        plan: &Plan,
        objective: &impl Objective<T>,
        observer: &mut (impl Observer<T> + Send),
        state: &[u8],
    ) -> Result<RunReport<T>, StateError> {
        match self {
            Self::Processor => cbo::resume(plan, objective, observer, state),
            Self::Gpu(gpu, _) => gpu.resume(plan, objective, observer, state),
            Self::Ranks(particles) => resume_on(particles, plan, objective, observer, state),
            Self::Gpus(gpus) => resume_on(gpus, plan, objective, observer, state),
        }
    }
}

impl DeviceSpec {
    /// Who computes a training, or why it cannot be there, before anything is written.
    pub fn trainer(self, training: &Training<'_>) -> Result<Box<dyn Trainer>, CliError> {
        let Self::Cuda(number) = self else { return Ok(Box::new(Processor)) };
        if ranks::several().is_some() {
            return Err(CliError::setting("device", self, NO_TRAINING_ON_RANKS));
        }
        let refuse = |error: SolveError| match error {
            SolveError::Config(error) => CliError::Usage(error.to_string()),
            error => CliError::failed(&error),
        };
        let gpu = Cuda::open(number.unwrap_or(0))
            .map_err(|fault| CliError::setting("device", self, format!("{fault}; use --device cpu")))?;
        gpu.networks(training.objective()).check(training.plan()).map_err(refuse)?;
        Ok(Box::new(OnGpu(gpu)))
    }
}

/// A GPU that trains.
struct OnGpu(Cuda);

impl Trainer for OnGpu {
    fn solve(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError> {
        self.0.networks(objective).solve(plan, observer)
    }

    fn resume(
        &self,
        plan: &Plan,
        objective: &CrossEntropy<'_>,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError> {
        self.0.networks(objective).resume(plan, observer, state)
    }

    fn sample(
        &self,
        plan: &Plan,
        evaluator: &Evaluator,
        data: &Labelled,
        images: &[u32],
    ) -> Result<Option<Box<dyn Sample>>, SolveError> {
        Ok(Some(Box::new(SampleOnGpu(self.0.sample(plan.config(), evaluator, data, images)?))))
    }
}

/// Images there, on which particles are compared.
struct SampleOnGpu(cbo_cuda::network::Sample);

impl Sample for SampleOnGpu {
    fn losses(&self, rows: Rows<'_, f32>) -> Result<Vec<f64>, String> {
        self.0.losses(rows).map_err(|fault| format!("the device failed: {fault}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_read_and_written() {
        for (text, device) in
            [("cpu", DeviceSpec::Cpu), ("cuda", DeviceSpec::Cuda(None)), ("cuda:12", DeviceSpec::Cuda(Some(12)))]
        {
            assert_eq!(text.parse(), Ok(device));
            assert_eq!(device.to_string(), text);
        }
        for text in ["gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA", ""] {
            assert!(text.parse::<DeviceSpec>().is_err(), "{text}");
        }
    }
}
