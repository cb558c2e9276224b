//! `--device`: where a run is computed.

use crate::config_file::Origins;
use crate::error::CliError;
use crate::minimize::task::{Subject, Task};
use crate::ranks;
use cbo::ranks::{Particles, resume_on, solve_on};
use cbo::{Objective, Observer, Plan, Rows, RunReport, Scalar, SolveError, StateError};
use cbo_cuda::Cuda;
use cbo_lab::training::{Processor, Sample, Trainer, Training};
use cbo_problems::mnist::Labelled;
use cbo_problems::nn::CrossEntropy;
use cbo_problems::nn::fast::Evaluator;
use std::fmt;
use std::str::FromStr;

const NOT_ON_RANKS: &str = "a run on several ranks computes by their processors; use --device cpu, or one rank";

/// Where to compute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceSpec {
    /// By the processor.
    #[default]
    Cpu,
    /// By the NVIDIA GPU of this number.
    Cuda(usize),
}

impl FromStr for DeviceSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unknown = || format!("`{text}` is no device; use cpu, cuda or cuda:N");
        match text.trim().split_once(':') {
            None if text.trim() == "cpu" => Ok(Self::Cpu),
            None if text.trim() == "cuda" => Ok(Self::Cuda(0)),
            Some(("cuda", number)) => number.parse().map(Self::Cuda).map_err(|_| unknown()),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for DeviceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}

/// A device that is ready.
#[derive(Debug)]
pub enum Ready {
    /// The processor.
    Processor,
    /// A GPU.
    Gpu(Cuda),
    /// The processors of several ranks, each with some of the particles.
    Ranks(Particles),
}

impl DeviceSpec {
    /// Opens the device for a task, or says why that cannot be, before anything is written.
    pub fn open(self, task: &Task, origins: &Origins) -> Result<Ready, CliError> {
        let Self::Cuda(number) = self else { return Ok(Ready::Processor) };
        let refuse = |why: &str| Err(origins.blame("device", &format!("device = {self}: {why}")));
        if ranks::several().is_some() {
            return refuse(NOT_ON_RANKS);
        }
        if let Subject::Command(_) = task.subject {
            return refuse("programs run on the processor; leave --device out");
        }
        if task.is_constrained() {
            return refuse("constraints are not there yet; use --device cpu");
        }
        let gpu = self.gpu(number, origins)?;
        checked(gpu.check(&task.plan), origins)?;
        Ok(Ready::Gpu(gpu))
    }

    /// Opens the GPU for many runs at once, if it is one, or says why that cannot be; `constrained` if one of them is.
    pub fn open_for_many(self, constrained: bool, origins: &Origins) -> Result<Option<Cuda>, CliError> {
        let Self::Cuda(number) = self else { return Ok(None) };
        if constrained {
            let message = format!("device = {self}: constraints are not there yet; use --device cpu");
            return Err(origins.blame("device", &message));
        }
        self.gpu(number, origins).map(Some)
    }

    fn gpu(self, number: usize, origins: &Origins) -> Result<Cuda, CliError> {
        let refused = |fault| origins.blame("device", &format!("device = {self}: {fault}; use --device cpu"));
        Cuda::open(number).map_err(refused)
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
    /// [`cbo::solve`] there.
    pub fn solve<T: Scalar>(
        &self,
        plan: &Plan,
        objective: &impl Objective<T>,
        observer: &mut (impl Observer<T> + Send),
    ) -> Result<RunReport<T>, SolveError> {
        match self {
            Self::Processor => cbo::solve(plan, objective, observer),
            Self::Gpu(gpu) => gpu.solve(plan, objective, observer),
            Self::Ranks(particles) => solve_on(particles, plan, objective, observer),
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
            Self::Gpu(gpu) => gpu.resume(plan, objective, observer, state),
            Self::Ranks(particles) => resume_on(particles, plan, objective, observer, state),
        }
    }
}

impl DeviceSpec {
    /// Who computes a training, or why it cannot be there, before anything is written.
    pub fn trainer(self, training: &Training<'_>) -> Result<Box<dyn Trainer>, CliError> {
        let Self::Cuda(number) = self else { return Ok(Box::new(Processor)) };
        if ranks::several().is_some() {
            return Err(CliError::setting("device", self, NOT_ON_RANKS));
        }
        let refuse = |error: SolveError| match error {
            SolveError::Config(error) => CliError::Usage(error.to_string()),
            error => CliError::failed(&error),
        };
        let gpu = Cuda::open(number)
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
            [("cpu", DeviceSpec::Cpu), ("cuda:0", DeviceSpec::Cuda(0)), ("cuda:12", DeviceSpec::Cuda(12))]
        {
            assert_eq!(text.parse(), Ok(device));
            assert_eq!(device.to_string(), text);
        }
        assert_eq!("cuda".parse(), Ok(DeviceSpec::Cuda(0)));
        for text in ["gpu", "cuda:", "cuda:-1", "cuda:x", "CUDA", ""] {
            assert!(text.parse::<DeviceSpec>().is_err(), "{text}");
        }
    }
}
