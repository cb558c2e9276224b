//! Parts of a store for those who watch a run: sorted, filtered, a page at a time, and never for long.

use super::read::{Reading, Row, STATUSES, each_of};
use super::{StoreError, file};
use rusqlite::ToSql;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a question may take; then it is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rows that are counted at most.
const COUNTED: u64 = 100_000;

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Column {
    /// The order in which they finished.
    #[default]
    Id,
    /// Their value; failures, which have none, come last.
    Value,
    /// The time that they took.
    Seconds,
    /// What came of them.
    Status,
    /// The number of the attempt.
    Attempt,
}

/// Which rows to show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// A word of [`Outcome::status`](crate::external::Outcome::status), or `failed` for all without a value.
    pub status: Option<String>,
    /// The least value.
    pub from: Option<f64>,
    /// The greatest value.
    pub to: Option<f64>,
    /// A part of the message or of stderr.
    pub text: Option<String>,
}

/// A part of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Its rows.
    pub rows: Vec<Row>,
    /// How many there are with this filter.
    pub count: u64,
    /// Whether there are more than were counted.
    pub more: bool,
    /// How many there are in all.
    pub total: u64,
}

impl Filter {
    /// The condition, and what its question marks stand for. `None` if nothing can meet it.
    fn condition(&self) -> Option<(String, Vec<Box<dyn ToSql>>)> {
        let (mut parts, mut values): (Vec<&str>, Vec<Box<dyn ToSql>>) = (Vec::new(), Vec::new());
        match self.status.as_deref() {
            None => {}
            Some("failed") => parts.push("status NOT IN ('ok', 'infeasible')"),
            Some(status) if STATUSES.contains(&status) => {
                parts.push("status = ?");
                values.push(Box::new(status.to_string()));
            }
            Some(_) => return None,
        }
        for (bound, part) in [(self.from, "value >= ?"), (self.to, "value <= ?")] {
            if let Some(bound) = bound {
                parts.push(part);
                values.push(Box::new(bound));
            }
        }
        if let Some(text) = &self.text {
            let escaped = text.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
            parts.push("(message LIKE ? ESCAPE '\\' OR stderr LIKE ? ESCAPE '\\')");
            values.extend([0, 1].map(|_| Box::new(format!("%{escaped}%")) as Box<dyn ToSql>));
        }
        let condition = if parts.is_empty() { String::new() } else { format!("WHERE {}", parts.join(" AND ")) };
        Some((condition, values))
    }
}

impl Reading {
    /// A page of rows: `limit` of them after the first `offset`.
    pub fn page(
        &self,
        filter: &Filter,
        sort: Column,
        falling: bool,
        offset: u64,
        limit: u64,
    ) -> Result<Page, StoreError> {
        let (Some(connection), Some((condition, values))) = (&self.connection, filter.condition()) else {
            return Ok(Page::default());
        };
        let failed = |e| file::told(&self.path, "opened", &e);
        self.within(PATIENCE, || {
            // Rows are never removed: the last one has the number of all.
            let total: i64 = connection
                .query_row("SELECT coalesce(max(id), 0) FROM evaluations", [], |row| row.get(0))
                .map_err(failed)?;
            let total = total.unsigned_abs();
            let numbers: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
            let count = if condition.is_empty() {
                total
            } else {
                let query =
                    format!("SELECT count(*) FROM (SELECT 1 FROM evaluations {condition} LIMIT {})", COUNTED + 1);
                let count: i64 = connection.query_row(&query, &numbers[..], |row| row.get(0)).map_err(failed)?;
                count.unsigned_abs()
            };
            let way = if falling { "DESC" } else { "ASC" };
            let order = match sort {
                Column::Id => format!("id {way}"),
                Column::Value => format!("value IS NULL, value {way}, id"),
                Column::Seconds => format!("seconds {way}, id"),
                Column::Status => format!("status {way}, id"),
                Column::Attempt => format!("attempt {way}, id"),
            };
            // Far pages of all rows are found by their numbers, without walking there.
            let (condition, offset) = match (condition.is_empty(), sort, falling) {
                (true, Column::Id, true) => (format!("WHERE id <= {}", total.saturating_sub(offset)), 0),
                (true, Column::Id, false) => (format!("WHERE id > {offset}"), 0),
                _ => (condition, offset),
            };
            let mut rows = Vec::new();
            let end = format!("{condition} ORDER BY {order} LIMIT {limit} OFFSET {offset}");
            each_of(connection, &self.path, &end, &numbers, &mut |row| {
                rows.push(row);
                Ok(())
            })?;
            Ok(Page { rows, count: count.min(COUNTED.max(total)), more: count > COUNTED && count != total, total })
        })
    }

    /// Hands over rows in order until `take` fails, or `most` were taken.
    pub fn each_that(
        &self,
        filter: &Filter,
        most: u64,
        take: &mut dyn FnMut(Row) -> Result<(), ()>,
    ) -> Result<(), StoreError> {
        let (Some(connection), Some((condition, values))) = (&self.connection, filter.condition()) else {
            return Ok(());
        };
        let numbers: Vec<&dyn ToSql> = values.iter().map(AsRef::as_ref).collect();
        each_of(connection, &self.path, &format!("{condition} ORDER BY id LIMIT {most}"), &numbers, take)
    }

    /// Number, seconds and whether there is a value, of the last attempts.
    pub fn times(&self, most: u64) -> Result<Vec<(i64, f64, bool)>, StoreError> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let failed = |e| file::told(&self.path, "opened", &e);
        let query = "SELECT id, seconds, status IN ('ok', 'infeasible') FROM evaluations ORDER BY id DESC LIMIT ?1";
        let mut statement = connection.prepare(query).map_err(failed)?;
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        let rows = statement.query_map([most as i64], row).map_err(failed)?;
        let mut times = rows.collect::<rusqlite::Result<Vec<_>>>().map_err(failed)?;
        times.reverse();
        Ok(times)
    }

    /// Does what asks the store, and stops it after this time.
    fn within<T>(&self, time: Duration, ask: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let Some(connection) = &self.connection else { return ask() };
        let handle = connection.get_interrupt_handle();
        let (done, is_done) = channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if is_done.recv_timeout(time) == Err(RecvTimeoutError::Timeout) {
                    handle.interrupt();
                }
            });
            let answer = ask();
            drop(done);
            answer
        })
    }
}
