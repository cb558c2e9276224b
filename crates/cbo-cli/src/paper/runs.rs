//! Finished training runs, read from the folders that `cbo mnist train --out` leaves.

use crate::error::CliError;
use crate::plot::training::TrainingPoint;
use cbo_lab::figures::fig4::Run;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The numbers of a run over time.
const CURVE: &str = "curve.csv";

/// What was run, and what came of it.
const RESULT: &str = "result.json";

/// The columns of the curve that are read, in the order of [`Line`].
const COLUMNS: [&str; 4] = ["epoch", "loss", "train_accuracy", "test_accuracy"];

/// The numbers of a line of the curve.
type Line = [f64; COLUMNS.len()];

/// A finished run.
#[derive(Clone, Debug)]
pub struct Finished {
    /// Where it is.
    pub folder: PathBuf,
    /// What was run, and its test accuracies.
    pub setting: Run,
    /// Seed.
    pub seed: u64,
    /// The curve; it has at least one point.
    pub points: Vec<TrainingPoint>,
}

/// The part of the result that every run must have; the rest is settings and outcomes.
#[derive(Deserialize)]
struct Outcome {
    network: String,
    data: String,
    seed: u64,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

/// A setting as text; objects and lists are not settings.
fn setting(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(switch) => Some(switch.to_string()),
        _ => None,
    }
}

/// Reads the run in a folder.
pub fn read(folder: &Path) -> Result<Finished, CliError> {
    if !folder.is_dir() {
        let remedy = "there is no such folder; name one that `cbo mnist train --out` wrote";
        return Err(CliError::setting("runs", folder.display(), remedy));
    }
    let outcome: Outcome = serde_json::from_str(&text(folder, RESULT)?).map_err(|e| {
        CliError::Usage(format!("{}: {e}; it must be the result of a run", folder.join(RESULT).display()))
    })?;
    let lines = curve(&folder.join(CURVE), &text(folder, CURVE)?)?;
    let point = |line: &Line| {
        let [epoch, loss, train_accuracy, test_accuracy] = *line;
        TrainingPoint { epoch, loss, train_accuracy, test_accuracy }
    };
    let points: Vec<TrainingPoint> = lines.iter().map(point).collect();
    let settings = outcome.rest.iter().filter_map(|(name, value)| Some((name.clone(), setting(value)?))).collect();
    let accuracy = points.iter().map(|p| (p.epoch, p.test_accuracy)).collect();
    let setting = Run { network: outcome.network, data: outcome.data, settings, accuracy };
    Ok(Finished { folder: folder.to_path_buf(), setting, seed: outcome.seed, points })
}

fn text(folder: &Path, name: &str) -> Result<String, CliError> {
    let path = folder.join(name);
    fs::read_to_string(&path).map_err(|e| {
        let remedy = "a folder that `cbo mnist train --out` wrote has this file once the run is finished";
        CliError::Usage(format!("cannot read {}: {e}; {remedy}", path.display()))
    })
}

/// The lines of a curve: at least one, epochs rising, accuracies from 0 to 1.
fn curve(path: &Path, text: &str) -> Result<Vec<Line>, CliError> {
    let fault =
        |line: usize, what: String| Err(CliError::Usage(format!("{} line {}: {what}", path.display(), line + 1)));
    let mut lines = text.lines().enumerate();
    let head: Vec<&str> = lines.next().map_or("", |(_, line)| line).split(',').map(str::trim).collect();
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        match head.iter().position(|column| *column == name) {
            Some(found) => *place = found,
            None => return fault(0, format!("the column {name} is missing; the first line must name the columns")),
        }
    }
    let mut rows: Vec<Line> = Vec::new();
    for (number, line) in lines.filter(|(_, line)| !line.trim().is_empty()) {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        if cells.len() != head.len() {
            return fault(number, format!("{} values, but there are {} columns", cells.len(), head.len()));
        }
        let mut row = [0.0; COLUMNS.len()];
        for ((value, place), name) in row.iter_mut().zip(places).zip(COLUMNS) {
            let Ok(parsed) = cells[place].parse::<f64>() else {
                return fault(number, format!("{name} = {}: not a number", cells[place]));
            };
            *value = parsed;
        }
        let [epoch, _, train, test] = row;
        if !(epoch.is_finite() && epoch >= 0.0) || rows.last().is_some_and(|last| last[0] >= epoch) {
            return fault(number, format!("epoch = {epoch}: epochs must be at least 0 and rise from line to line"));
        }
        if let Some(value) = [train, test].into_iter().find(|a| !a.is_nan() && !(0.0..=1.0).contains(a)) {
            return fault(number, format!("accuracy = {value}: must lie between 0 and 1"));
        }
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err(CliError::Usage(format!("{}: there is no line of numbers; train for an epoch", path.display()))),
        false => Ok(rows),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_text_ends_the_program(text in "[a-z0-9.,\n-]{0,200}", tail in ".{0,60}") {
            let head = "epoch,step,loss,train_accuracy,test_accuracy,alpha,sigma,particles,seconds\n";
            let _ = curve(Path::new("curve.csv"), &text);
            let _ = curve(Path::new("curve.csv"), &format!("{head}{text}{tail}"));
        }
    }

    #[test]
    fn columns_are_found_by_name() {
        let text =
            "alpha,sigma,test_accuracy,train_accuracy,loss,epoch\n50,0.6,0.1,0.2,inf,0\n\n100,0.5,0.8,nan,nan,0.5\n";
        let lines = curve(Path::new("curve.csv"), text).expect("a curve");
        assert_eq!(lines[0], [0.0, f64::INFINITY, 0.2, 0.1]);
        assert!(lines.len() == 2 && lines[1][1].is_nan() && lines[1][2].is_nan() && lines[1][3] == 0.8);
    }
}
