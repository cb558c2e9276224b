//! `cbo paper`: the figures of the paper, measured against expected.

use crate::error::CliError;
use clap::Args;

/// Arguments of `cbo paper`.
#[derive(Args, Debug)]
pub struct PaperArgs {}

/// Runs the command.
pub fn run(_args: &PaperArgs) -> Result<(), CliError> {
    Ok(())
}
