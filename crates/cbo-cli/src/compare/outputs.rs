//! The folder of a comparison: every number as CSV, the report as JSON, the picture.

use super::report::{Report, test};
use super::{CompareArgs, Results};
use crate::config_file::Origins;
use crate::error::{CliError, print};
use crate::files::uses::Uses;
use crate::numbers::json;
use crate::plot::Format;
use crate::plot::compare::{self as picture, Panel};
use crate::runs::export::quoted;
use crate::values::{BoundsSpec, InitSpec};
use crate::{files, text};
use std::path::Path;

const TABLE: &str = "table.csv";
const RUNS: &str = "runs.csv";
const TARGETS: &str = "targets.csv";
const CURVES: &str = "curves.csv";
const TESTS: &str = "tests.csv";
const SVG: &str = "compare.svg";
const PNG: &str = "compare.png";
const JSON: &str = "compare.json";

/// All files, the report last: a folder that has it is whole.
const ALL: [&str; 8] = [TABLE, RUNS, TARGETS, CURVES, TESTS, SVG, PNG, JSON];

/// Finds out before the runs whether the files can be written, and that they are in nobody's place.
pub fn check(folder: &Path, args: &CompareArgs, origins: &Origins) -> Result<(), CliError> {
    files::check_folder(folder, "a comparison", |names| names.iter().all(|name| ALL.contains(&name.as_str())))?;
    let mut uses = Uses::new(origins, args.run.json());
    if let Some(path) = &args.run.config {
        uses.input("the file of --config", path);
    }
    if let Some(InitSpec::File(path)) = &args.run.init {
        uses.input("the file of --init", path);
    }
    if let Some(BoundsSpec::File(path)) = &args.run.bounds {
        uses.input("the file of --bounds", path);
    }
    ALL.iter().try_for_each(|name| uses.output("out", &folder.join(name)))
}

/// Writes the files.
pub fn write(folder: &Path, args: &CompareArgs, report: &Report, results: &[Results<'_>]) -> Result<(), CliError> {
    let panels: Vec<Panel<'_>> = results.iter().map(panel).collect();
    let contents = [
        (TABLE, table(results).into_bytes()),
        (RUNS, runs(results).into_bytes()),
        (TARGETS, targets(results).into_bytes()),
        (CURVES, curves(results).into_bytes()),
        (TESTS, tests(results).into_bytes()),
        (SVG, picture::targets(&panels, Format::Svg)?),
        (PNG, picture::targets(&panels, Format::Png)?),
        (JSON, json(report).into_bytes()),
    ];
    for (name, bytes) in contents {
        files::write_whole(&folder.join(name), &bytes)?;
    }
    if args.run.json() {
        return Ok(());
    }
    let shown = text::one_line(&folder.join(PNG).display().to_string());
    print(&format!("written: {shown} (.svg, .json), {}\n", [TABLE, RUNS, TARGETS, CURVES, TESTS].join(", ")))
}

/// What the picture shows of a problem.
fn panel<'a>(results: &'a Results<'_>) -> Panel<'a> {
    let names = results.entries.iter().map(|entry| entry.name.as_str());
    Panel {
        title: format!("{}, d = {}", results.course.description, results.course.dim()),
        budget: results.course.budget,
        curves: names.zip(results.comparison.curves.iter().map(Vec::as_slice)).collect(),
    }
}

/// An empty cell for what there is not.
fn cell<T: ToString>(value: Option<T>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

fn table(results: &[Results<'_>]) -> String {
    let mut csv = String::from(
        "function,method,runs,successes,rate,wilson_low,wilson_high,median_evaluations,expected_evaluations,median_value,\
         targets_reached,better_than,worse_than,failed_runs\n",
    );
    for result in results {
        for place in result.comparison.ranking() {
            let row = &result.comparison.rows[place];
            let number = |value: f64| text::number(value);
            let cells = [
                result.course.name().to_string(),
                quoted(&row.name),
                row.rate.runs.to_string(),
                row.rate.successes.to_string(),
                number(row.rate.rate),
                number(row.rate.low),
                number(row.rate.high),
                cell(row.median_evaluations),
                number(row.expected_evaluations),
                number(row.median_value),
                number(row.targets),
                row.better_than.to_string(),
                row.worse_than.to_string(),
                row.failed.to_string(),
            ];
            csv += &(cells.join(",") + "\n");
        }
    }
    csv
}

fn runs(results: &[Results<'_>]) -> String {
    let mut csv = String::from("function,method,seed,success,success_at,value,distance,evaluations,finished\n");
    for result in results {
        for entry in &result.entries {
            for run in &entry.runs {
                let cells = [
                    result.course.name().to_string(),
                    quoted(&entry.name),
                    run.seed.to_string(),
                    run.success.to_string(),
                    cell(run.success_at),
                    text::number(run.value),
                    text::number(run.distance),
                    run.evaluations.to_string(),
                    run.finished.to_string(),
                ];
                csv += &(cells.join(",") + "\n");
            }
        }
    }
    csv
}

/// The evaluation at which each run reached each target; empty where it did not.
fn targets(results: &[Results<'_>]) -> String {
    let mut csv = String::from("function,method,seed,height,evaluations\n");
    for result in results {
        for entry in &result.entries {
            for run in &entry.runs {
                for (height, reached) in result.course.targets.heights.iter().zip(&run.reached) {
                    let (name, height) = (quoted(&entry.name), text::number(*height));
                    csv += &format!("{},{name},{},{height},{}\n", result.course.name(), run.seed, cell(*reached));
                }
            }
        }
    }
    csv
}

fn curves(results: &[Results<'_>]) -> String {
    let mut csv = String::from("function,method,evaluations,targets_reached,low,high\n");
    for result in results {
        for (entry, curve) in result.entries.iter().zip(&result.comparison.curves) {
            for point in curve {
                let numbers = [point.reached, point.low, point.high].map(text::number).join(",");
                csv += &format!("{},{},{},{numbers}\n", result.course.name(), quoted(&entry.name), point.evaluations);
            }
        }
    }
    csv
}

fn tests(results: &[Results<'_>]) -> String {
    let mut csv = String::from("function,first,second,lower,value_p,only_first,only_second,success_p\n");
    for result in results {
        for pair in &result.comparison.pairs {
            let test = test(result, pair);
            let names = [Some(test.first), Some(test.second), test.lower].map(|name| quoted(&cell(name))).join(",");
            let (value, success) = (text::number(test.value_p), text::number(test.success_p));
            let (name, first, second) = (result.course.name(), test.only_first, test.only_second);
            csv += &format!("{name},{names},{value},{first},{second},{success}\n");
        }
    }
    csv
}
