//! `cbo runs compare`: several runs side by side.

use super::seen::Run;
use super::{export, table};
use crate::config_file::Origins;
use crate::error::{CliError, print};
use crate::files::uses::Uses;
use crate::minimize::outputs::is_of_a_run;
use crate::numbers::{Number, grouped, json, short};
use crate::plot::{self, Format, runs::Curve};
use crate::progress::duration;
use crate::{files, text};
use clap::Args;
use serde::Serialize;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  cbo runs compare results/wing results/tail
  cbo runs compare results/* --out compare.svg
  cbo runs compare results/* --out compare.csv      # the numbers, for a picture of your own";

/// Arguments of `cbo runs compare`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// The run folders
    #[arg(value_name = "RUN", required = true)]
    pub runs: Vec<PathBuf>,
    /// Draws best value over evaluations (.svg or .png), or writes the numbers (.csv)
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// JSON on stdout: an array of runs, with their curves
    #[arg(long)]
    pub json: bool,
}

/// What is written to a file.
enum Output {
    Picture(Format),
    Numbers,
}

#[derive(Serialize)]
struct Entry<'a> {
    path: String,
    objective: &'a str,
    state: &'a str,
    best: Option<Number>,
    evaluations: u64,
    seconds: Number,
    curve: Vec<(Number, Number)>,
}

/// Runs the command.
pub fn run(args: &CompareArgs) -> Result<(), CliError> {
    if args.runs.len() > plot::runs::MOST {
        let remedy = format!("a picture shows up to {}; leave some out", plot::runs::MOST);
        return Err(CliError::setting("runs", args.runs.len(), remedy));
    }
    let output = args.out.as_deref().map(output).transpose()?;
    let runs = args.runs.iter().map(|path| Run::see(path, 0)).collect::<Result<Vec<_>, _>>()?;
    let curves: Vec<Curve> =
        names(&args.runs).into_iter().zip(&runs).map(|(name, run)| Curve { name, points: run.curve() }).collect();
    if let Some(empty) = curves.iter().zip(&runs).find(|(curve, _)| curve.points.is_empty()) {
        let remedy = "has no history with a value yet; wait for its first checkpoint, or leave it out";
        return Err(CliError::setting("run", empty.1.path.display(), remedy));
    }
    let mut written = Ok(());
    if let (Some(path), Some(output)) = (&args.out, output) {
        let origins = Origins::default();
        let mut uses = Uses::new(&origins, args.json);
        args.runs.iter().for_each(|run| uses.folder("a run folder", run, is_of_a_run));
        uses.output("out", path)?;
        let contents = match output {
            Output::Picture(format) => plot::runs::compare(&curves, format)?,
            Output::Numbers => csv(&curves).into_bytes(),
        };
        written = files::write_whole(path, &contents);
    }
    let out = args.out.as_deref().filter(|_| written.is_ok());
    let printed = print(&if args.json { json(&entries(&runs, &curves)) } else { lines(&runs, out) });
    written.and(printed)
}

fn output(path: &Path) -> Result<Output, CliError> {
    if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv")) {
        return Ok(Output::Numbers);
    }
    let wrong = |_| CliError::setting("out", path.display(), "the name must end in .svg, .png or .csv");
    Format::of(path).map(Output::Picture).map_err(wrong)
}

/// The names of the folders where these differ, else their paths.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let last = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let names: Vec<String> = paths.iter().filter_map(last).collect();
    let different = names.iter().enumerate().all(|(i, name)| !names[..i].contains(name));
    if different && names.len() == paths.len() {
        return names;
    }
    paths.iter().map(|path| path.display().to_string()).collect()
}

fn entries<'a>(runs: &'a [Run], curves: &[Curve]) -> Vec<Entry<'a>> {
    let entry = |(run, curve): (&'a Run, &Curve)| Entry {
        path: run.path.display().to_string(),
        objective: run.objective(),
        state: run.state(),
        best: run.best().map(|(value, _)| Number(value)),
        evaluations: run.evaluations(),
        seconds: Number(run.seconds()),
        curve: curve.points.iter().map(|(n, best)| (Number(*n), Number(*best))).collect(),
    };
    runs.iter().zip(curves).map(entry).collect()
}

fn lines(runs: &[Run], out: Option<&Path>) -> String {
    let row = |run: &Run| {
        let best = run.best().map_or("-".into(), |(value, _)| short(value));
        let (path, state) = (run.path.display().to_string(), run.state().to_string());
        [path, state, best, grouped(run.evaluations()), duration(run.seconds())]
    };
    let rows: Vec<_> = runs.iter().map(row).collect();
    let end = match out {
        Some(path) => format!("written: {}\n", text::one_line(&path.display().to_string())),
        None => "hint: --out FILE.svg draws best value over evaluations\n".into(),
    };
    table(["run", "state", "best value", "evaluations", "time"], &rows) + &end
}

fn csv(curves: &[Curve]) -> String {
    let mut csv = String::from("run,evaluations,best\n");
    for curve in curves {
        for (evaluations, best) in &curve.points {
            csv += &format!("{},{evaluations},{}\n", export::quoted(&curve.name), text::number(*best));
        }
    }
    csv
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_runs_apart() {
        let names = |paths: &[&str]| names(&paths.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(names(&["a/wing", "a/tail"]), ["wing", "tail"]);
        assert_eq!(names(&["a/wing", "b/wing"]), ["a/wing", "b/wing"]);
        assert_eq!(names(&["a/wing", "."]), ["a/wing", "."]);
    }
}
