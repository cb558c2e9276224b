//! Reading a store, even while a run writes to it.

use super::{Counts, StoreError, file, point};
use crate::external::Outcome;
use rusqlite::{Connection, ToSql};
use std::path::{Path, PathBuf};

/// One attempt to evaluate a point, as the store has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Counts up in the order in which attempts finished.
    pub id: i64,
    /// The point.
    pub point: Vec<f64>,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// What came of it.
    pub outcome: Outcome,
    /// Seconds from handing the point over to the answer.
    pub seconds: f64,
    /// When it was finished: ISO time, UTC.
    pub finished: String,
    /// The end of what the program wrote to stderr in that time.
    pub stderr: String,
}

/// A store in short.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Attempts by status, and the time they took together.
    pub counts: Counts,
    /// Points that were tried at least once.
    pub points: u64,
    /// The first row with the least value.
    pub best: Option<Row>,
    /// The row that took longest.
    pub slowest: Option<Row>,
    /// The last failures, the latest first.
    pub failures: Vec<Row>,
    /// When the last row was finished.
    pub last: Option<String>,
}

impl Summary {
    /// Mean seconds of an attempt; `None` if there are none.
    pub fn mean_seconds(&self) -> Option<f64> {
        let total = self.counts.total();
        (total > 0).then(|| self.counts.seconds / total as f64)
    }
}

/// A store, open for reading only. It never hinders the writer.
#[derive(Debug)]
pub struct Reading {
    pub(super) path: PathBuf,
    /// None while the file is blank.
    pub(super) connection: Option<Connection>,
}

/// Opens a store for a look from outside, which writes nothing anywhere, not even beside the file, and never waits.
pub fn look(path: &Path) -> Result<Reading, StoreError> {
    Ok(Reading { path: path.into(), connection: file::open_untouched(path)? })
}

/// Opens a store for reading.
pub fn read(path: &Path) -> Result<Reading, StoreError> {
    Ok(Reading { path: path.into(), connection: file::open_for_reading(path)? })
}

impl Reading {
    /// Hands over the rows of this moment in order, until `take` fails.
    pub fn each<E: From<StoreError>>(&self, mut take: impl FnMut(Row) -> Result<(), E>) -> Result<(), E> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let mut stopped = None;
        let outcome = each(connection, &self.path, &mut |row| {
            take(row).map_err(|e| stopped = Some(e)) // the reason is kept here, the walk only needs to know that it ends
        });
        match (stopped, outcome) {
            (Some(error), _) => Err(error),
            (None, outcome) => Ok(outcome?),
        }
    }

    /// The rows of this moment in order.
    pub fn rows(&self) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        self.each(|row| {
            rows.push(row);
            Ok::<_, StoreError>(())
        })?;
        Ok(rows)
    }

    /// The store in short, with up to `failures` of the last failures.
    pub fn summary(&self, failures: usize) -> Result<Summary, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Summary::default()) };
        let failed = |e| file::told(&self.path, "opened", &e);
        // All answers from one moment.
        let _moment = connection.unchecked_transaction().map_err(failed)?;
        let select = |end: &str| select(connection, &self.path, end);
        let bad = "WHERE status NOT IN ('ok', 'infeasible') ORDER BY id DESC LIMIT";
        let points = "SELECT count(*) FROM evaluations WHERE attempt = 1";
        let points: i64 = connection.query_row(points, [], |row| row.get(0)).map_err(failed)?;
        Ok(Summary {
            counts: counts(connection, &self.path)?,
            points: points.unsigned_abs(),
            best: select("WHERE status = 'ok' ORDER BY value, id LIMIT 1")?.pop(),
            slowest: select("ORDER BY seconds DESC, id LIMIT 1")?.pop(),
            failures: select(&format!("{bad} {failures}"))?,
            last: select("ORDER BY id DESC LIMIT 1")?.pop().map(|row| row.finished),
        })
    }
}

/// The words of [`Outcome::status`].
pub(super) const STATUSES: [&str; 7] = ["ok", "infeasible", "no-value", "timeout", "died", "garbage", "not-started"];

const COLUMNS: &str = "id, point, value, status, message, seconds, attempt, finished, stderr";

fn counts(connection: &Connection, path: &Path) -> Result<Counts, StoreError> {
    let failed = |e| file::told(path, "opened", &e);
    let query = "SELECT status, count(*), sum(seconds) FROM evaluations GROUP BY status";
    let mut statement = connection.prepare(query).map_err(failed)?;
    let rows =
        statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?, row.get::<_, f64>(2)?)));
    let mut counts = Counts::default();
    for row in rows.map_err(failed)? {
        let (status, count, seconds) = row.map_err(failed)?;
        let name = STATUSES.iter().find(|s| **s == status).ok_or_else(|| unknown_status(path, &status))?;
        counts.by_status.insert(name, count.unsigned_abs());
        counts.seconds += seconds;
    }
    Ok(counts)
}

fn select(connection: &Connection, path: &Path, end: &str) -> Result<Vec<Row>, StoreError> {
    let mut rows = Vec::new();
    each_of(connection, path, end, &[], &mut |row| {
        rows.push(row);
        Ok(())
    })?;
    Ok(rows)
}

/// Hands over all rows in order.
pub(super) fn each(
    connection: &Connection,
    path: &Path,
    take: &mut dyn FnMut(Row) -> Result<(), ()>,
) -> Result<(), StoreError> {
    each_of(connection, path, "ORDER BY id", &[], take)
}

/// Hands over the rows that the end of a query chooses, with these values for its question marks.
pub(super) fn each_of(
    connection: &Connection,
    path: &Path,
    end: &str,
    values: &[&dyn ToSql],
    take: &mut dyn FnMut(Row) -> Result<(), ()>,
) -> Result<(), StoreError> {
    let failed = |e| file::told(path, "opened", &e);
    let mut statement = connection.prepare(&format!("SELECT {COLUMNS} FROM evaluations {end}")).map_err(failed)?;
    let mut rows = statement.query(values).map_err(failed)?;
    while let Some(row) = rows.next().map_err(failed)? {
        if take(to_row(row, path)?).is_err() {
            break;
        }
    }
    Ok(())
}

fn unknown_status(path: &Path, status: &str) -> StoreError {
    StoreError::Corrupt { path: path.into(), reason: format!("there is a status `{status}`") }
}

fn to_row(row: &rusqlite::Row<'_>, path: &Path) -> Result<Row, StoreError> {
    let id: i64 = row.get(0).map_err(|e| file::told(path, "opened", &e))?;
    let wrong = |what: String| StoreError::Corrupt { path: path.into(), reason: format!("row {id}: {what}") };
    // A column of another type is damage too.
    let odd = |e: rusqlite::Error| wrong(e.to_string());
    let text = |column: usize| row.get::<_, String>(column).map_err(odd);
    let (point, status, message) = (text(1)?, text(3)?, text(4)?);
    let value: Option<f64> = row.get(2).map_err(odd)?;
    Ok(Row {
        id,
        point: point::from_text(&point)
            .ok_or_else(|| wrong(format!("the point `{point}` is not a list of numbers")))?,
        attempt: row.get(6).map_err(odd)?,
        outcome: Outcome::from_parts(&status, value, &message)
            .ok_or_else(|| wrong(format!("status `{status}` with value {value:?}")))?,
        seconds: row.get(5).map_err(odd)?,
        finished: text(7)?,
        stderr: text(8)?,
    })
}
