//! `cbo theory`: what the theorem says of a setting.

use crate::error::CliError;
use clap::Args;

/// Arguments of `cbo theory`.
#[derive(Args, Debug)]
pub struct TheoryArgs {}

/// Runs the command.
pub fn run(_args: &TheoryArgs) -> Result<(), CliError> {
    Ok(())
}
