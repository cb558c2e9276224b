//! `cbo runs export`: the evaluations of a run as CSV or JSON.

use super::seen::Run;
use crate::config_file::Origins;
use crate::error::CliError;
use crate::files::uses::Uses;
use crate::minimize::outputs::is_of_a_run;
use crate::numbers::{Number, numbers};
use crate::{files, text};
use cbo_runs::folder::EVALUATIONS;
use cbo_runs::store::{self, Reading, Row, StoreError};
use clap::{Args, ValueEnum};
use serde::Serialize;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo runs export results/wing --format csv > wing.csv
  cbo runs export results/wing --format json --out wing.json

A row is an attempt, in the order in which they finished. Failed ones have no value, infeasible points have inf.";

/// A form of the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Comma-separated, below a line of names.
    Csv,
    /// An array of objects.
    Json,
}

/// Arguments of `cbo runs export`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ExportArgs {
    /// The run folder
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// csv or json
    #[arg(long, value_name = "FORMAT", default_value = "csv", hide_possible_values = true)]
    pub format: Form,
    /// Writes to this file instead of stdout
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

#[derive(Serialize)]
struct Object<'a> {
    x: Vec<Number>,
    value: Option<Number>,
    status: &'a str,
    attempt: u32,
    seconds: Number,
    finished: &'a str,
    message: &'a str,
    stderr: &'a str,
}

/// Why rows stopped.
enum Fault {
    Store(StoreError),
    Output(io::Error),
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

/// Runs the command.
pub fn run(args: &ExportArgs) -> Result<(), CliError> {
    let run = Run::see(&args.run, 0)?;
    let usage = |e: StoreError| CliError::usage(&e);
    if run.store.is_none() {
        let remedy = "has no evaluations: only runs with --command keep them; its history.csv has the steps";
        return Err(CliError::setting("run", run.path.display(), remedy));
    }
    let reading = store::read(&run.path.join(EVALUATIONS)).map_err(usage)?;
    let dim = run.dim().unwrap_or(0);
    let Some(file) = &args.out else {
        let mut out = BufWriter::new(io::stdout().lock());
        return match write(&reading, args.format, dim, &mut out) {
            Ok(()) => Ok(()),
            Err(Fault::Store(error)) => Err(usage(error)),
            Err(Fault::Output(e)) if e.kind() == io::ErrorKind::BrokenPipe => Err(CliError::ClosedOutput),
            Err(Fault::Output(e)) => Err(CliError::Failed(format!("cannot write to stdout: {e}"))),
        };
    };
    let origins = Origins::default();
    let mut uses = Uses::new(&origins, false);
    uses.folder("the run folder", &args.run, is_of_a_run);
    uses.output("out", file)?;
    let mut contents = Vec::new();
    match write(&reading, args.format, dim, &mut contents) {
        Ok(()) => files::write_whole(file, &contents),
        Err(Fault::Store(error)) => Err(usage(error)),
        Err(Fault::Output(e)) => Err(CliError::failed(&e)),
    }
}

fn write(reading: &Reading, form: Form, dim: usize, out: &mut dyn Write) -> Result<(), Fault> {
    let mut first = true;
    match form {
        Form::Csv => {
            let x: String = (1..=dim).map(|k| format!("x{k},")).collect();
            writeln!(out, "{x}value,status,attempt,seconds,finished,message,stderr")?;
        }
        Form::Json => write!(out, "[")?,
    }
    reading.each(|row| {
        match form {
            Form::Csv => writeln!(out, "{}", csv(&row))?,
            Form::Json => {
                let comma = if std::mem::take(&mut first) { "\n" } else { ",\n" };
                write!(out, "{comma}{}", serde_json::to_string(&object(&row)).map_err(io::Error::from)?)?;
            }
        }
        Ok::<_, Fault>(())
    })?;
    if form == Form::Json {
        writeln!(out, "\n]")?;
    }
    Ok(out.flush()?)
}

fn object(row: &Row) -> Object<'_> {
    let value = row.outcome.value();
    Object {
        x: numbers(&row.point),
        value: (!value.is_nan()).then_some(Number(value)),
        status: row.outcome.status(),
        attempt: row.attempt,
        seconds: Number(row.seconds),
        finished: &row.finished,
        message: row.outcome.message(),
        stderr: &row.stderr,
    }
}

fn csv(row: &Row) -> String {
    let value = Some(row.outcome.value()).filter(|v| !v.is_nan()).map(text::number).unwrap_or_default();
    let mut cells: Vec<String> = row.point.iter().map(|v| text::number(*v)).collect();
    cells.extend([value, row.outcome.status().into(), row.attempt.to_string(), text::number(row.seconds)]);
    cells.extend([row.finished.clone(), quoted(row.outcome.message()), quoted(&row.stderr)]);
    cells.join(",")
}

/// A cell as RFC 4180 has it.
pub fn quoted(text: &str) -> String {
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if plain { text.into() } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        for (text, cell) in
            [("", ""), ("a b", "a b"), ("a,b", "\"a,b\""), ("a\n\"b\"", "\"a\n\"\"b\"\"\""), (" a", "\" a\"")]
        {
            assert_eq!(quoted(text), cell);
        }
    }
}
