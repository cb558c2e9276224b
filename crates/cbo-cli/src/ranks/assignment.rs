//! What the first rank tells the others to do.

use super::keeping::Place;
use crate::device::DeviceSpec;
use crate::error::CliError;
use crate::minimize::task::Task;
use crate::mnist::train;
use crate::values::Precision;
use cbo::{CboConfig, InitialLaw};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// How a run is spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// Each rank has some of the particles.
    Particles,
    /// Each rank evaluates some of the points.
    Points,
    /// Each rank has workers of a program.
    Program,
}

/// A run, and how it is spread.
#[derive(Debug)]
pub struct Assignment {
    /// How it is spread.
    pub kind: Kind,
    /// Whether the first rank needs all particles at the end.
    pub whole: bool,
    /// Whether it is a training.
    pub trains: bool,
    /// Settings as flags have them.
    entries: Vec<(String, String)>,
    /// Initial points, if they are given.
    points: Vec<f64>,
    /// The folder of the run, if the ranks are to use it.
    pub place: Option<Place>,
    /// What computes on each rank.
    pub(super) device: DeviceSpec,
}

/// Its first part on the wire; the numbers follow.
#[derive(Serialize, Deserialize)]
struct Head {
    kind: Kind,
    whole: bool,
    trains: bool,
    entries: Vec<(String, String)>,
    points: usize,
    place: Option<Place>,
    device: String,
}

impl Assignment {
    /// To take part in this task, by processors.
    pub fn new(task: &Task, kind: Kind, whole: bool) -> Self {
        let points = match &task.config().init {
            InitialLaw::Points(points) => points.clone(),
            _ => Vec::new(),
        };
        let kept = |(key, _): &(&str, String)| *key != "init" || points.is_empty();
        let entries = task.entries().into_iter().filter(kept).map(|(key, value)| (key.into(), value)).collect();
        Self { kind, whole, trains: false, entries, points, place: None, device: DeviceSpec::Cpu }
    }

    /// The same on this device of each rank.
    pub fn on(self, device: DeviceSpec) -> Self {
        Self { device, ..self }
    }

    /// To take part in a training with these settings.
    pub fn training(entries: Vec<(&'static str, String)>, kind: Kind, whole: bool) -> Self {
        let entries = entries.into_iter().map(|(key, value)| (key.into(), value)).collect();
        Self { kind, whole, trains: true, entries, points: Vec::new(), place: None, device: DeviceSpec::Cpu }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { kind, whole, trains, entries, points, place, device } = self;
        let (entries, place, device) = (entries.clone(), place.clone(), device.to_string());
        let head = Head { kind: *kind, whole: *whole, trains: *trains, entries, points: points.len(), place, device };
        // Words and numbers are always JSON.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        points.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes
    }

    /// What was told; `None` if there is nothing to do.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (head, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        let Head { kind, whole, trains, entries, points, place, device } = serde_json::from_slice(head).ok()?;
        let (numbers, _) = rest.split_at_checked(8 * points)?;
        let points = numbers.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
        Some(Self { kind, whole, trains, entries, points, place, device: device.parse().ok()? })
    }

    /// The command line that says the same.
    fn line(&self, command: &[&str]) -> Vec<OsString> {
        let flag = |(key, value): &(String, String)| -> OsString {
            if key == "objective" { value.clone().into() } else { format!("--{key}={value}").into() }
        };
        command.iter().map(OsString::from).chain(self.entries.iter().map(flag)).collect()
    }

    /// The training, as this rank has it.
    pub(super) fn training_task(&self) -> Result<train::Task, CliError> {
        match crate::parse(&self.line(&["cbo", "mnist", "train"]))?.0.command {
            crate::Command::Mnist(args) => args.training(),
            _ => Err(CliError::Usage("this is no training".into())),
        }
    }

    /// The task, as this rank has it.
    pub(super) fn task(&self) -> Result<Task, CliError> {
        let (cli, origins) = crate::parse(&self.line(&["cbo", "minimize"]))?;
        let crate::Command::Minimize(mut args) = cli.command else { return Err(CliError::Usage("no run".into())) };
        args.run.settle_method(None, &origins)?;
        let mut task = Task::new(&args, &origins)?;
        if !self.points.is_empty() {
            let config = CboConfig { init: InitialLaw::Points(self.points.clone()), ..task.config().clone() };
            task.plan = config.check(task.dim()).map_err(|e| CliError::usage(&e))?;
        }
        Ok(task)
    }

    /// In which precision the task is.
    pub(super) fn is_single(task: &Task) -> bool {
        task.precision == Precision::F32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assignments_arrive_as_they_were() {
        for device in [DeviceSpec::Cpu, DeviceSpec::Cuda(None), DeviceSpec::Cuda(Some(3))] {
            let sent = Assignment::training(vec![("seed", "5".into())], Kind::Particles, true).on(device);
            let sent = Assignment { points: vec![1.5, -0.0], trains: false, ..sent };
            let come = Assignment::from_bytes(&sent.to_bytes()).expect("all bytes");
            assert_eq!((come.kind, come.whole, come.trains, come.device), (Kind::Particles, true, false, device));
            assert_eq!((&come.entries, &come.points), (&sent.entries, &sent.points));
        }
        assert!(Assignment::from_bytes(&[]).is_none());
    }
}
