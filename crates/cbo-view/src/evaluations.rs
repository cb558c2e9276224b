//! The store of a program's evaluations, in short and a page at a time.

use crate::read;
use cbo_runs::folder::EVALUATIONS;
use cbo_runs::store::{self, Column, Filter, Reading, Row, StoreError};
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// Rows of a page at most.
const ROWS: u64 = 200;

/// Rows of an export at most.
pub const MOST: u64 = 5_000_000;

/// Times of the last attempts that are shown.
const TIMES: u64 = 2000;

/// Rows up to which a store is summed up: of a run at work, whose page is asked for often, and of others.
const SUMMED: [u64; 2] = [20_000, 2_000_000];

/// What a page is asked for, as the address has it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct Question {
    /// A column: id, value, seconds, status or attempt.
    pub sort: String,
    /// `down` or `up`.
    pub way: String,
    /// A status, or `failed`.
    pub status: String,
    /// The least value.
    pub from: String,
    /// The greatest value.
    pub to: String,
    /// A part of what was said.
    pub text: String,
    /// Rows to leave out.
    pub offset: u64,
    /// Rows to show.
    pub limit: u64,
}

impl Question {
    /// Which rows are asked for.
    pub fn filter(&self) -> Filter {
        let some = |text: &str| (!text.is_empty()).then(|| text.chars().take(200).collect::<String>());
        let number = |text: &str| text.parse::<f64>().ok().filter(|number| !number.is_nan());
        Filter { status: some(&self.status), from: number(&self.from), to: number(&self.to), text: some(&self.text) }
    }

    fn column(&self) -> Column {
        match self.sort.as_str() {
            "value" => Column::Value,
            "seconds" => Column::Seconds,
            "status" => Column::Status,
            "attempt" => Column::Attempt,
            _ => Column::Id,
        }
    }
}

/// Opens the store of a run. One that changes while it is opened is tried again.
pub fn open(folder: &Path) -> Result<Reading, StoreError> {
    let path = folder.join(EVALUATIONS);
    store::look(&path).or_else(|error| match error {
        StoreError::Missing(_) | StoreError::Newer { .. } => Err(error),
        _ => store::look(&path),
    })
}

/// How many attempts a store has; nothing if there is none, or it cannot be read.
pub fn count(folder: &Path) -> Option<u64> {
    let has_one = read::is_file(&folder.join(EVALUATIONS));
    let page = has_one.then(|| open(folder).and_then(|store| store.page(&Filter::default(), Column::Id, true, 0, 1)));
    page?.ok().map(|page| page.total)
}

/// A store in short; null if there is none.
pub fn in_short(folder: &Path, is_running: bool) -> Value {
    if !read::is_file(&folder.join(EVALUATIONS)) {
        return Value::Null;
    }
    let seen = || {
        let store = open(folder)?;
        let page = store.page(&Filter::default(), Column::Id, true, 0, 1)?;
        let times = store.times(TIMES)?;
        let summary = if page.total <= SUMMED[usize::from(!is_running)] { Some(store.summary(3)?) } else { None };
        Ok::<_, StoreError>((page.total, times, summary))
    };
    match seen() {
        Ok((total, times, summary)) => json!({
            "total": total,
            "times": times,
            "by_status": summary.as_ref().map(|s| s.counts.by_status.clone()),
            "mean_seconds": summary.as_ref().and_then(store::Summary::mean_seconds),
            "slowest": summary.as_ref().and_then(|s| s.slowest.as_ref()).map(|row| row.seconds),
            "failures": summary.as_ref().map(|s| s.failures.iter().map(row).collect::<Vec<_>>()),
        }),
        Err(error) => json!({ "total": 0, "times": [], "fault": error.to_string() }),
    }
}

/// A page of rows.
pub fn page(folder: &Path, question: &Question) -> Result<Value, StoreError> {
    let limit = if question.limit == 0 { 50 } else { question.limit.min(ROWS) };
    let page = open(folder)?.page(
        &question.filter(),
        question.column(),
        question.way != "up",
        question.offset.min(1 << 40),
        limit,
    )?;
    let rows: Vec<Value> = page.rows.iter().map(row).collect();
    Ok(json!({ "rows": rows, "count": page.count, "more": page.more, "total": page.total, "offset": question.offset }))
}

fn row(row: &Row) -> Value {
    let value = row.outcome.value();
    json!({
        "id": row.id,
        "x": row.point.iter().take(64).collect::<Vec<_>>(),
        "dim": row.point.len(),
        "value": if value.is_infinite() { Value::from(value.to_string()) } else { Value::from(value) },
        "status": row.outcome.status(),
        "message": row.outcome.message(),
        "seconds": row.seconds,
        "attempt": row.attempt,
        "finished": row.finished,
        "stderr": row.stderr,
    })
}

/// The names of the columns of an export, for points of so many coordinates.
pub fn head(dim: usize) -> String {
    let x: String = (1..=dim).map(|k| format!("x{k},")).collect();
    format!("{x}value,status,attempt,seconds,finished,message,stderr\n")
}

/// A row of an export. A cell that a spreadsheet would take for a formula begins with a quote.
pub fn line(row: &Row) -> String {
    let value = row.outcome.value();
    let mut line: String = row.point.iter().map(|x| format!("{x:?},")).collect();
    if !value.is_nan() {
        line += &format!("{value:?}");
    }
    let said = [row.outcome.message(), &row.stderr].map(cell);
    let (status, attempt, seconds) = (row.outcome.status(), row.attempt, row.seconds);
    line + &format!(",{status},{attempt},{seconds:?},{},{},{}\n", row.finished, said[0], said[1])
}

fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { format!("'{text}") } else { text.into() };
    let plain = !text.contains([',', '"', '\n', '\r']) && text.trim() == text;
    if plain { text } else { format!("\"{}\"", text.replace('"', "\"\"")) }
}
