//! `cbo runs`: what run folders hold, during and after a run.
//!
//! [`seen`] gathers what can be known of a run; [`list`] and [`show`] say it, [`compare`] draws several, [`export`]
//! writes the evaluations of one.

pub mod compare;
pub mod export;
pub mod list;
pub mod seen;
pub mod show;

use crate::error::CliError;
use crate::text::one_line;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cbo runs list results
  cbo runs show results/wing
  cbo runs compare results/wing results/tail --out compare.svg
  cbo runs export results/wing --format csv --out wing.csv

None of them disturbs a running run.";

/// Arguments of `cbo runs`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct RunsArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: RunsCommand,
}

/// The commands under `cbo runs`.
#[derive(Subcommand, Clone, Debug)]
pub enum RunsCommand {
    /// A table of the runs below a folder: state, best value, budget, time
    List(list::ListArgs),
    /// One run in short: settings, state, best point, failures
    Show(show::ShowArgs),
    /// Several runs side by side: best value over evaluations, as a table and a picture
    Compare(compare::CompareArgs),
    /// The evaluations of a run as CSV or JSON
    Export(export::ExportArgs),
}

/// Runs the command.
pub fn run(args: &RunsArgs) -> Result<(), CliError> {
    match &args.command {
        RunsCommand::List(args) => list::run(args),
        RunsCommand::Show(args) => show::run(args),
        RunsCommand::Compare(args) => compare::run(args),
        RunsCommand::Export(args) => export::run(args),
    }
}

/// Rows under a heading, each column as wide as its widest cell.
fn table<const N: usize>(heading: [&str; N], rows: &[[String; N]]) -> String {
    let heading = heading.map(String::from);
    let rows: Vec<[String; N]> = rows.iter().map(|row| std::array::from_fn(|i| one_line(&row[i]))).collect();
    let all = || std::iter::once(&heading).chain(&rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let mut text = String::new();
    for row in all() {
        let line: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text
}
