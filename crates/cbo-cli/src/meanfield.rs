//! `cbo meanfield`: the mean-field law beside the particles.

use crate::error::CliError;
use clap::Args;

/// Arguments of `cbo meanfield`.
#[derive(Args, Debug)]
pub struct MeanfieldArgs {}

/// Runs the command.
pub fn run(_args: &MeanfieldArgs) -> Result<(), CliError> {
    Ok(())
}
