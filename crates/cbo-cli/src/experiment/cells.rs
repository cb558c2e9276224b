//! The cells of the phase diagram, where a user asks for others.

use crate::error::CliError;
use crate::values::{self, Precision};
use cbo_lab::experiments::{Range, phase::Wanted};
use clap::Args;

/// Values along a side of a map: more than a picture can show.
const MOST: usize = 1000;

/// Runs in a cell: nobody waits for more.
const MOST_RUNS: u64 = 1_000_000;

/// Particles in a run of the experiment.
const MOST_PARTICLES: f64 = 1e6;

/// Flags of the experiment `phase`.
#[derive(Args, Debug)]
pub struct CellArgs {
    /// phase: values of sigma^2, evenly spread, as FROM:TO:COUNT; default as in the paper
    #[arg(long, value_name = "RANGE", value_parser = range, allow_hyphen_values = true)]
    sigma_squared: Option<Range>,
    /// phase: numbers of particles, in the same way
    #[arg(long, value_name = "RANGE", value_parser = range, allow_hyphen_values = true)]
    particles: Option<Range>,
    /// phase: runs in each cell
    #[arg(long, value_name = "COUNT", value_parser = values::count)]
    runs: Option<u64>,
    /// phase: f32 or f64
    #[arg(long, value_enum)]
    precision: Option<Precision>,
}

impl CellArgs {
    /// Refuses values that make no sense, and all of them where the experiment is not `phase`.
    pub fn check(&self, is_phase: bool) -> Result<(), CliError> {
        let words = [
            ("sigma-squared", self.sigma_squared.map(text)),
            ("particles", self.particles.map(text)),
            ("runs", self.runs.map(|runs| runs.to_string())),
            ("precision", self.precision.map(|precision| precision.name().into())),
        ];
        if !is_phase && let Some((flag, Some(value))) = words.into_iter().find(|(_, value)| value.is_some()) {
            return Err(CliError::setting(flag, value, "only the experiment phase has it; leave it out"));
        }
        if let Some(range) = self.sigma_squared.filter(|range| range.from < 0.0) {
            return Err(CliError::setting("sigma-squared", text(range), "must not be negative"));
        }
        let sensible = |range: &Range| range.from >= 1.0 && range.to <= MOST_PARTICLES;
        if let Some(range) = self.particles.filter(|range| !sensible(range)) {
            return Err(CliError::setting("particles", text(range), "must lie between 1 and 1 000 000"));
        }
        if let Some(runs) = self.runs.filter(|runs| !(1..=MOST_RUNS).contains(runs)) {
            return Err(CliError::setting("runs", runs, "must lie between 1 and 1 000 000"));
        }
        Ok(())
    }

    /// What they ask for.
    pub fn wanted(&self) -> Wanted {
        Wanted { sigma_squared: self.sigma_squared, particles: self.particles, runs: self.runs }
    }

    /// The precision of the runs.
    pub fn precision(&self) -> Precision {
        self.precision.unwrap_or_default()
    }
}

fn text(range: Range) -> String {
    format!("{}:{}:{}", range.from, range.to, range.count)
}

/// `FROM:TO:COUNT`, or one value.
fn range(text: &str) -> Result<Range, String> {
    let parts: Vec<&str> = text.split(':').collect();
    let (from, to, count) = match parts[..] {
        [value] => (values::number(value)?, values::number(value)?, 1),
        [from, to, count] => (values::number(from)?, values::number(to)?, values::size(count)?),
        _ => return Err(format!("`{text}` is not FROM:TO:COUNT, as in 4:28:5, nor one value")),
    };
    if !(from.is_finite() && to.is_finite() && from <= to) {
        return Err(format!("`{text}` must go from a finite number to one that is not smaller"));
    }
    if !(1..=MOST).contains(&count) || (count == 1) != (from == to) {
        return Err(format!("`{text}` must have from 2 to {MOST} different values, or be one value"));
    }
    Ok(Range { from, to, count })
}
