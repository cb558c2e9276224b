//! What the first rank tells the others to do.

use crate::error::CliError;
use crate::minimize::task::Task;
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
    /// Settings as flags have them.
    entries: Vec<(String, String)>,
    /// Initial points, if they are given.
    points: Vec<f64>,
    /// The state from which it continues; empty if it begins.
    pub state: Vec<u8>,
}

/// Its first part on the wire; numbers and bytes follow.
#[derive(Serialize, Deserialize)]
struct Head {
    kind: Kind,
    whole: bool,
    entries: Vec<(String, String)>,
    points: usize,
}

impl Assignment {
    /// To take part in this task, from this state.
    pub fn new(task: &Task, kind: Kind, whole: bool, state: &[u8]) -> Self {
        let points = match &task.config().init {
            InitialLaw::Points(points) => points.clone(),
            _ => Vec::new(),
        };
        let kept = |(key, _): &(&str, String)| *key != "init" || points.is_empty();
        let entries = task.entries().into_iter().filter(kept).map(|(key, value)| (key.into(), value)).collect();
        Self { kind, whole, entries, points, state: state.to_vec() }
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let Self { kind, whole, entries, points, .. } = self;
        let head = Head { kind: *kind, whole: *whole, entries: entries.clone(), points: points.len() };
        // Words and numbers are always JSON.
        let head = serde_json::to_vec(&head).unwrap_or_default();
        let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
        bytes.extend(head);
        points.iter().for_each(|x| bytes.extend(x.to_le_bytes()));
        bytes.extend(&self.state);
        bytes
    }

    /// What was told; `None` if there is nothing to do.
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (head, rest) = rest.split_at_checked(u64::from_le_bytes(*length) as usize)?;
        let Head { kind, whole, entries, points } = serde_json::from_slice(head).ok()?;
        let (numbers, state) = rest.split_at_checked(8 * points)?;
        let points = numbers.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
        Some(Self { kind, whole, entries, points, state: state.to_vec() })
    }

    /// The task, as this rank has it.
    pub(super) fn task(&self) -> Result<Task, CliError> {
        let flag = |(key, value): &(String, String)| -> OsString {
            if key == "objective" { value.clone().into() } else { format!("--{key}={value}").into() }
        };
        let line: Vec<OsString> =
            ["cbo".into(), "minimize".into()].into_iter().chain(self.entries.iter().map(flag)).collect();
        let (cli, origins) = crate::parse(&line)?;
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
