//! The command line of `cbo` as a library, so that its parts can be tested: flags and files in, runs and pictures out.
//!
//! [`run`] reads the command line and dispatches. A new command is a variant of [`Command`], a module with its arguments,
//! and a line in [`run`].

pub mod bench;
pub mod certify;
pub mod compare;
pub mod config_file;
pub mod device;
pub mod error;
pub mod experiment;
pub mod files;
pub mod film;
pub mod flags;
pub mod interrupt;
pub mod landscape;
pub mod list;
pub mod meanfield;
pub mod minimize;
pub mod mnist;
pub mod numbers;
pub mod options;
pub mod paper;
pub mod plot;
pub mod points;
pub mod progress;
pub mod ranks;
pub mod report;
pub mod result;
pub mod resume;
pub mod runs;
pub mod scaling;
pub mod settings;
pub mod setup;
pub mod sheet;
pub mod shell;
pub mod stability;
pub mod success;
pub mod table;
pub mod text;
pub mod theory;
pub mod values;
pub mod view;
pub mod waits;

use cbo::simd;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use config_file::Origins;
use error::CliError;
use std::ffi::OsString;

const EXAMPLES: &str = "\
Examples:
  cbo minimize rastrigin --dim 20
  cbo minimize --config run.toml --json
  cbo minimize --command './simulate {x}' --dim 5 --bounds -1,1 --out run
  cbo resume run
  cbo view results
  cbo success rastrigin --dim 20 --runs 100
  cbo compare rastrigin --dim 10 --methods auto,cbo,pso --out results
  cbo list
  cbo bench
  cbo paper all --quick --out figures
  cbo experiment phase --quick --out experiments
  cbo theory rastrigin --dim 4
  cbo meanfield --quick
  cbo mnist fetch
  cbo help minimize

Exit codes: 0 success, 1 failure, 2 usage error, 130 ended by Ctrl-C, 143 by SIGTERM, 129 by SIGHUP.";

const ABOUT: &str = "Consensus-based optimization: a swarm of particles agrees on where the global minimum is";

/// The command line.
#[derive(Parser, Debug)]
#[command(name = "cbo", version, about = ABOUT, after_help = EXAMPLES, args_override_self = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one, and it lives as long as the program")]
pub enum Command {
    /// Minimise a benchmark function, a formula or a program
    Minimize(minimize::MinimizeArgs),
    /// Resume a run that was cut off, or extend one that has ended
    Resume(resume::ResumeArgs),
    /// Show, compare and export the runs in the folders of --out
    Runs(runs::RunsArgs),
    /// Show runs in a browser, during them and after
    View(view::ViewArgs),
    /// Write a run, or all runs below a folder, to one HTML file
    Report(report::ReportArgs),
    /// Measure how often a minimum is found, over many seeds
    Success(success::SuccessArgs),
    /// Compare methods with each other and with baselines: success, evaluations, targets, tests
    Compare(compare::CompareArgs),
    /// Show the benchmark functions: formula, domain, minimum
    List(list::ListArgs),
    /// Measure the speed of a step on this machine, beside its floors
    Bench(bench::BenchArgs),
    /// Measure a step and its exchange between ranks, and what 1000 of them would take
    Scaling(scaling::ScalingArgs),
    /// Draw the figures of the paper, with measured and expected numbers
    Paper(paper::PaperArgs),
    /// Repeat experiments of the method's authors: success over settings, compressed sensing, paths
    Experiment(experiment::ExperimentArgs),
    /// Show what the theorem says about your settings: its constants, and advice in words
    Theory(theory::TheoryArgs),
    /// Solve the mean-field equation and compare the particles with it
    Meanfield(meanfield::MeanfieldArgs),
    /// Train networks without gradients on MNIST
    Mnist(mnist::MnistArgs),
    /// Print a script with which a shell completes commands, flags and functions
    Completions(shell::CompletionsArgs),
    /// Print a manual page, of the program or of a command
    Man(shell::ManArgs),
}

/// The whole command line, with complete help texts.
pub fn command() -> clap::Command {
    let command = Cli::command()
        .mut_subcommand("minimize", options::complete)
        .mut_subcommand("success", options::complete)
        .mut_subcommand("compare", |command| compare::complete(options::complete(command)));
    flags::with_short(command)
}

/// Reads the command line and, under it, the file that `--config` names.
pub fn parse(arguments: &[OsString]) -> Result<(Cli, Origins), CliError> {
    parse_by(&mut command(), arguments)
}

/// As [`parse`], with a [`command`] that may have read other lines before: building one takes longer than reading.
pub fn parse_by(command: &mut clap::Command, arguments: &[OsString]) -> Result<(Cli, Origins), CliError> {
    let read = command.try_get_matches_from_mut(arguments);
    let matches = read.map_err(|error| flags::explained(command, arguments, error))?;
    let (matches, origins) = config_file::merge(command, arguments, matches)?;
    Ok((Cli::from_arg_matches(&matches)?, origins))
}

/// Runs the command line; returns the exit code.
pub fn run(arguments: Vec<OsString>) -> u8 {
    let session = match ranks::join() {
        Ok(session) => session,
        Err(error) => {
            if ranks::is_first() {
                error.print();
            }
            return error.code();
        }
    };
    if ranks::several().is_some() && !ranks::is_first() {
        return ranks::follow(&arguments);
    }
    let parsed = parse(&arguments).and_then(|parsed| check_instruction_set().map(|()| parsed));
    let agreed = ranks::agree(&arguments, parsed.as_ref().err());
    let outcome = parsed.and_then(|(cli, origins)| {
        agreed?;
        ranks::check(&cli.command)?;
        match cli.command {
            Command::Minimize(args) => minimize::run(&args, &origins),
            Command::Resume(args) => resume::run(&args),
            Command::Runs(args) => runs::run(&args),
            Command::View(args) => view::run(&args),
            Command::Report(args) => report::run(&args),
            Command::Success(args) => success::run(&args, &origins),
            Command::Compare(args) => compare::run(&args, &origins),
            Command::List(args) => list::run(&args),
            Command::Bench(args) => bench::run(&args),
            Command::Scaling(args) => scaling::run(&args),
            Command::Paper(args) => paper::run(&args),
            Command::Experiment(args) => experiment::run(&args),
            Command::Theory(args) => theory::run(&args),
            Command::Meanfield(args) => meanfield::run(&args),
            Command::Mnist(args) => mnist::run(&args),
            Command::Completions(args) => shell::completions(&args),
            Command::Man(args) => shell::man(&args),
        }
    });
    interrupt::give_way();
    let code = outcome.map_or_else(
        |error| {
            error.print();
            error.code()
        },
        |()| 0,
    );
    ranks::dismiss();
    session.end();
    code
}

/// Refuses a `CBO_SIMD` that this machine does not have, before anything is done.
fn check_instruction_set() -> Result<(), CliError> {
    match simd::chosen() {
        Ok(_) => Ok(()),
        Err(error) => Err(CliError::setting(simd::VARIABLE, &error.name, error.remedy())),
    }
}
