//! `--sample`: draws from the law of density exp(-E), after the run.

use super::MinimizeArgs;
use super::target::Target;
use super::task::Task;
use crate::config_file::Origins;
use crate::error::CliError;
use crate::numbers::{Number, grouped, numbers, point, short};
use crate::text;
use crate::values;
use cbo::{DEFAULT_DRAWS, Method, Objective, Proposal, RunReport, Sample, Sampling, Scalar, SolveError};
use cbo_problems::{Formula, Problem};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Dimensions up to which the JSON object has the covariance.
const COVARIANCE_UP_TO: usize = 64;

/// The fraction of the draws below which their effective sample size is worth a warning.
const FEW: f64 = 0.05;

/// The flags of a sample.
#[derive(Args, Clone, Debug, Default)]
pub struct SampleOptions {
    /// Draws from the law of density exp(-E) instead: the method sampling:law=true, then points that are weighted until they have exactly
    /// that law
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Sampling")]
    pub sample: Option<bool>,
    /// Points drawn, with an evaluation for each, after those of the run [default: 4000]
    #[arg(long, value_name = "COUNT", value_parser = values::size, help_heading = "Sampling")]
    pub draws: Option<usize>,
    /// Writes as many draws of equal weight, one per row (.csv, or .npy for NumPy)
    #[arg(long, value_name = "FILE", help_heading = "Sampling")]
    pub samples: Option<PathBuf>,
}

impl SampleOptions {
    /// How many points are drawn.
    pub fn count(&self) -> usize {
        self.draws.unwrap_or(DEFAULT_DRAWS)
    }
}

/// Whether a method draws from a law.
pub fn draws(method: Method) -> bool {
    method == Method::Sampling(Sampling { law: true })
}

/// Makes the method that of the law, if that is asked for.
pub fn settle(args: &mut MinimizeArgs, origins: &Origins) -> Result<(), CliError> {
    if args.sample.sample != Some(true) {
        return Ok(());
    }
    match args.run.method {
        None | Some(Method::Sampling(_)) => args.run.method = Some(Method::Sampling(Sampling { law: true })),
        Some(other) => {
            let message = format!(
                "sample = true: only method sampling draws from a law, not {}; leave one of them out",
                other.name()
            );
            return Err(origins.blame("sample", &message));
        }
    }
    Ok(())
}

/// Refuses draws where there is no law, and what cannot be drawn.
pub fn check(args: &MinimizeArgs, task: &Task, origins: &Origins) -> Result<(), CliError> {
    let options = &args.sample;
    let given = [("draws", options.draws.is_some()), ("samples", options.samples.is_some())];
    if let Some((flag, _)) = given.iter().find(|(_, given)| *given && !draws(task.config().method)) {
        return Err(origins.blame(flag, &format!("{flag}: only --sample draws from a law; add it, or leave this out")));
    }
    if options.draws.is_some_and(|count| !(2..=1 << 32).contains(&count)) {
        let message = format!("draws = {}: take at least 2, and at most 2^32", options.count());
        return Err(origins.blame("draws", &message));
    }
    match &options.samples {
        Some(path) => Format::of(path).map(|_| ()).map_err(|e| origins.blame("samples", &e)),
        None => Ok(()),
    }
}

/// Draws from the law at the end of a run.
pub fn draw<T: Scalar>(
    args: &MinimizeArgs,
    task: &Task,
    target: &Target,
    report: &RunReport<T>,
) -> Result<Sample<T>, SolveError>
where
    Problem: Objective<T>,
    Formula: Objective<T>,
{
    Proposal::new(&task.plan, report, args.sample.count())?.sample(target)
}

/// What the draws tell of the law, in the order of the JSON object.
#[derive(Clone, Debug, Serialize)]
pub struct SampleResult {
    /// Points drawn.
    pub draws: usize,
    /// How many independent ones they are worth.
    pub effective_sample_size: Number,
    /// The mean.
    pub mean: Vec<Number>,
    /// Its standard errors.
    pub mean_errors: Vec<Number>,
    /// The standard deviations of the coordinates.
    pub deviations: Vec<Number>,
    /// The covariance, row by row, up to a number of dimensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance: Option<Vec<Vec<Number>>>,
    /// Its standard errors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariance_errors: Option<Vec<Vec<Number>>>,
    /// The logarithm of the integral of exp(-E).
    pub log_normaliser: Number,
    /// Its standard error.
    pub log_normaliser_error: Number,
}

impl SampleResult {
    /// Sums draws up.
    pub fn new<T: Scalar>(sample: &Sample<T>) -> Self {
        let dim = sample.mean().len();
        let matrix =
            |entries: &[f64]| (dim <= COVARIANCE_UP_TO).then(|| entries.chunks_exact(dim).map(numbers).collect());
        Self {
            draws: sample.weights().len(),
            effective_sample_size: Number(sample.effective_sample_size()),
            mean: numbers(sample.mean()),
            mean_errors: numbers(sample.mean_errors()),
            deviations: (0..dim).map(|k| Number(sample.covariance()[k * dim + k].sqrt())).collect(),
            covariance: matrix(sample.covariance()),
            covariance_errors: matrix(sample.covariance_errors()),
            log_normaliser: Number(sample.log_normaliser()),
            log_normaliser_error: Number(sample.log_normaliser_error()),
        }
    }

    /// A few lines for people.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let double = |x: &[Number]| x.iter().map(|v| v.0).collect::<Vec<_>>();
        let worth = format!(
            "{}, worth {} independent ones",
            grouped(self.draws as u64),
            short(self.effective_sample_size.0.round())
        );
        vec![
            ("draws", worth),
            ("mean", point(&double(&self.mean))),
            ("its errors", point(&double(&self.mean_errors))),
            ("deviations", point(&double(&self.deviations))),
            (
                "log integral",
                format!("{} of exp(-E), error {}", short(self.log_normaliser.0), short(self.log_normaliser_error.0)),
            ),
        ]
    }

    /// What the user should know of the draws.
    pub fn warning(&self) -> Option<String> {
        let size = self.effective_sample_size.0;
        (size < FEW * self.draws as f64).then(|| {
            format!(
                "{} draws are worth {} independent ones only: the law is far from normal, or the swarm has not come to rest; take more \
                 --steps, --particles or --draws",
                grouped(self.draws as u64),
                short(size)
            )
        })
    }
}

/// A file of draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines of numbers.
    Csv,
    /// NumPy's.
    Npy,
}

impl Format {
    /// What the name of a file asks for.
    pub fn of(path: &Path) -> Result<Self, String> {
        let is = |wanted: &str| path.extension().is_some_and(|e| e.eq_ignore_ascii_case(wanted));
        match (is("csv"), is("npy")) {
            (true, _) => Ok(Self::Csv),
            (_, true) => Ok(Self::Npy),
            _ => Err(format!("samples = {}: give a file that ends in .csv or .npy", path.display())),
        }
    }

    /// Draws of equal weight as such a file.
    pub fn bytes<T: Scalar>(self, sample: &Sample<T>) -> Vec<u8> {
        let (dim, draws) = (sample.mean().len(), sample.draws());
        match self {
            Self::Csv => {
                let mut csv = (1..=dim).map(|k| format!("x{k}")).collect::<Vec<_>>().join(",") + "\n";
                for row in draws.chunks_exact(dim) {
                    csv += &row.iter().map(|x| text::number(x.to_f64())).collect::<Vec<_>>().join(",");
                    csv.push('\n');
                }
                csv.into_bytes()
            }
            Self::Npy => npy(&draws, dim),
        }
    }
}

/// A 2-D array in NumPy's format, version 1.
fn npy<T: Scalar>(values: &[T], dim: usize) -> Vec<u8> {
    let (rows, width) = (values.len() / dim, size_of::<T>());
    let mut header = format!("{{'descr': '<f{width}', 'fortran_order': False, 'shape': ({rows}, {dim}), }}");
    // The numbers begin at a multiple of 64 bytes.
    let spaces = 63 - (10 + header.len()) % 64;
    header += &" ".repeat(spaces);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    for value in values {
        match width {
            4 => bytes.extend((value.to_f64() as f32).to_le_bytes()),
            _ => bytes.extend(value.to_f64().to_le_bytes()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points;

    #[test]
    fn numpy_arrays_read_back() {
        for rows in [1, 7, 12345] {
            let values: Vec<f64> = (0..3 * rows).map(|i| f64::from(i) / 7.0).collect();
            let bytes = npy(&values, 3);
            assert_eq!((bytes.len() - 24 * rows as usize) % 64, 0);
            let read = points::npy(&bytes).expect("an array");
            assert_eq!((read.values, read.dim), (values.clone(), 3));
            let single: Vec<f32> = values.iter().map(|v| *v as f32).collect();
            let read = points::npy(&npy(&single, 3)).expect("an array");
            assert_eq!(read.values, single.iter().map(|v| f64::from(*v)).collect::<Vec<_>>());
        }
    }
}
