//! `cbo mnist`: networks trained without gradients, and the images for it.
//!
//! [`data`] says where images come from, [`fetch`] gets the full files, [`mod@train`] trains, [`eval`] evaluates what was saved.
//! A training run has [`args`] and [`settings`], is watched and kept by [`watch`], and ends with a [`report`].

pub mod args;
pub mod cache;
pub mod checksums;
pub mod data;
pub mod eval;
pub mod fetch;
pub mod report;
pub mod settings;
pub mod train;
pub mod watch;

use crate::error::CliError;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cbo mnist train
  cbo mnist fetch
  cbo mnist train --network lenet1 --epochs 30 --out lenet1
  cbo mnist eval lenet1/model.safetensors";

/// Arguments of `cbo mnist`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MnistArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: MnistCommand,
}

impl MnistArgs {
    /// Whether a network is to be trained.
    pub fn trains(&self) -> bool {
        matches!(self.command, MnistCommand::Train(_))
    }

    /// The training that is asked for.
    pub fn training(self) -> Result<train::Task, CliError> {
        match self.command {
            MnistCommand::Train(args) => train::Task::new(*args),
            _ => Err(CliError::Usage("this is no training".into())),
        }
    }
}

/// The commands under `cbo mnist`.
#[derive(Subcommand, Debug)]
pub enum MnistCommand {
    /// Get the full files of MNIST or Fashion-MNIST, and verify their checksums
    Fetch(fetch::FetchArgs),
    /// Train a network by a swarm of particles
    Train(Box<args::TrainArgs>),
    /// Evaluate a saved model on the test images
    Eval(eval::EvalArgs),
}

/// Runs the command.
pub fn run(args: &MnistArgs) -> Result<(), CliError> {
    match &args.command {
        MnistCommand::Fetch(args) => fetch::run(args),
        MnistCommand::Train(args) => train::run(args),
        MnistCommand::Eval(args) => eval::run(args),
    }
}
