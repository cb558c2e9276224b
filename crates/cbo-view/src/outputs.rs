//! What other commands write: training, comparisons, experiments.

use crate::csv::Table;
use crate::find::{Item, Kind};
use crate::read;
use crate::run::Short;
use cbo_runs::checkpoint::{self, HISTORY};
use cbo_runs::folder::CHECKPOINT;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Rows of a file at most, and points of a curve.
const ROWS: usize = 200_000;
const POINTS: usize = 2000;

/// Misread images that are listed.
const MISREAD: usize = 500;

/// A comparison or an experiment in short.
pub fn short(item: &Item) -> Short {
    let (kind, file) = match item.kind {
        Kind::Experiment(name) => ("experiment", format!("{name}.json")),
        _ => ("comparison", "compare.json".into()),
    };
    let path = item.path.join(file);
    let report = read::json(&path).unwrap_or_default();
    let objective = match item.kind {
        Kind::Experiment(name) => match report["parameters"]["function"].as_str() {
            Some(function) => format!("{name}: {function}"),
            None => name.to_string(),
        },
        _ => texts(&report["problems"], |problem| problem["objective"].as_str()).join(", "),
    };
    let dims = report["problems"]
        .as_array()
        .map_or(&report["parameters"]["dim"], |p| p.first().map_or(&Value::Null, |p| &p["dim"]));
    Short {
        id: item.id.clone(),
        name: item.name.clone(),
        kind,
        objective,
        method: texts(&report["methods"], Value::as_str).join(", "),
        dim: dims.as_u64().map(|dim| dim as usize),
        state: if report.is_null() { "failed" } else { "finished" },
        seconds: report["seconds"].as_f64(),
        active: read::stamp(&path).1,
        ..Short::default()
    }
}

fn texts<'a>(list: &'a Value, text: impl Fn(&'a Value) -> Option<&'a str>) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(text).map(String::from).collect()
}

/// A comparison: its report, and the curves of targets reached over evaluations, by function and method.
pub fn comparison(folder: &Path) -> Value {
    let table = Table::read(&read::text(&folder.join("curves.csv")).unwrap_or_default(), ROWS);
    let mut curves = Map::new();
    let places: Option<Vec<usize>> = ["function", "method", "evaluations", "targets_reached", "low", "high"]
        .iter()
        .map(|n| table.place(n))
        .collect();
    if let Some(places) = places {
        for row in table.rows() {
            let function = curves.entry(&row[places[0]]).or_insert_with(|| json!({}));
            let curve = &mut function[&row[places[1]]];
            if curve.is_null() {
                *curve = json!([]);
            }
            let numbers: Vec<f64> = places[2..].iter().map(|place| row[*place].parse().unwrap_or(f64::NAN)).collect();
            if let Some(points) = curve.as_array_mut().filter(|points| points.len() < POINTS) {
                points.push(json!(numbers));
            }
        }
    }
    json!({ "report": read::json(&folder.join("compare.json")), "curves": curves })
}

/// An experiment: its report, and whether there is a picture.
pub fn experiment(folder: &Path, name: &str) -> Value {
    json!({
        "name": name,
        "report": read::json(&folder.join(format!("{name}.json"))),
        "picture": read::is_file(&folder.join(format!("{name}.png"))),
    })
}

/// The pictures that pages show, by name.
pub fn picture(item: &Item, name: &str) -> Option<Vec<u8>> {
    let file = match (&item.kind, name) {
        (Kind::Run, "misclassified") => "misclassified.png".to_string(),
        (Kind::Experiment(experiment), "experiment") => format!("{experiment}.png"),
        _ => return None,
    };
    read::bytes(&item.path.join(file), 1 << 24).filter(|bytes| bytes.starts_with(b"\x89PNG"))
}

fn curve(folder: &Path) -> Table {
    let kept = || checkpoint::section(&folder.join(CHECKPOINT), HISTORY, 1 << 23);
    let text = read::bytes(&folder.join("curve.csv"), 1 << 23).or_else(kept).unwrap_or_default();
    Table::read(&String::from_utf8_lossy(&text), ROWS)
}

/// Steps and losses of a training run, a few of them, and the least of all losses.
pub fn losses(folder: &Path) -> (Vec<(f64, f64)>, Option<f64>) {
    let table = curve(folder);
    let (Some(steps), Some(losses)) = (table.numbers("step"), table.numbers("loss")) else { return (Vec::new(), None) };
    let least = losses.iter().copied().filter(|loss| loss.is_finite()).reduce(f64::min);
    let every = steps.len().div_ceil(64).max(1);
    (steps.into_iter().zip(losses).step_by(every).filter(|(_, loss)| loss.is_finite()).collect(), least)
}

/// A training run: its curve, and, at its end, which classes were taken for which, and which images.
pub fn training(folder: &Path) -> Value {
    let table = curve(folder);
    let columns: Map<String, Value> =
        table.names().iter().filter_map(|name| Some((name.clone(), json!(table.numbers(name)?)))).collect();
    let confusion = read::text(&folder.join("confusion.csv")).map(|text| Table::read(&text, 100));
    let numbers = |row: &Vec<String>| row.iter().skip(1).filter_map(|cell| cell.parse().ok()).collect::<Vec<u64>>();
    let misread = read::text(&folder.join("misclassified.csv")).map(|text| Table::read(&text, ROWS));
    json!({
        "curve": columns,
        "confusion": confusion.map(|table| table.rows().iter().map(numbers).collect::<Vec<_>>()),
        "misread": misread.as_ref().map(|table| table.rows().iter().take(MISREAD).cloned().collect::<Vec<_>>()),
        "misread_count": misread.as_ref().map(|table| table.rows().len()),
        "picture": read::is_file(&folder.join("misclassified.png")),
    })
}
