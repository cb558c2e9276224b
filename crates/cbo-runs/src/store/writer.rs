//! The thread that writes: all rows that wait become one transaction.

use super::patience::{Patience, Wait};
use super::place::Place;
use super::{Row, StoreError, file, point};
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior, named_params};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Rows in a transaction at most, so that readers see new rows and the log of the database stays short.
const GROUP: usize = 4096;

/// How long a process that is asked to end still waits for another program, before the rows that wait are lost.
const GRACE: Duration = Duration::from_secs(1);

const INSERT: &str = "INSERT INTO evaluations(point, value, status, message, seconds, attempt, finished, stderr) \
                      VALUES (:point, :value, :status, :message, :seconds, :attempt, :finished, :stderr)";

/// What the writer is told.
pub enum Message {
    /// To write this row.
    Row(Box<Row>),
    /// To answer when all rows before this are on the disk.
    Flush(SyncSender<()>),
}

/// The only writer of the file.
pub struct Writer {
    pub connection: Connection,
    pub path: PathBuf,
    pub place: Place,
    pub messages: Receiver<Message>,
    pub failure: Arc<OnceLock<StoreError>>,
    pub patience: Patience,
}

impl Writer {
    /// Writes until nobody can send any more, or until the first failure, which it leaves behind.
    pub fn run(self) {
        while let Ok(first) = self.messages.recv() {
            let mut flushed = Vec::new();
            let committed = self.commit(first, &mut flushed).map_err(|e| file::told(&self.path, "written", &e));
            if let Err(error) = committed.and_then(|()| self.place.check()) {
                // Before the queue ends: whoever finds it ended looks for the reason.
                let _ = self.failure.set(error);
                return;
            }
            for done in flushed {
                // Whoever asked may have gone.
                let _ = done.send(());
            }
        }
    }

    /// Begins to write. Another program that has the file locked is waited for, however long, until this process is asked to end: rows
    /// must not be lost, and a full queue slows the run down meanwhile.
    fn begin(&self) -> rusqlite::Result<Transaction<'_>> {
        let mut wait = Wait::new(&self.path, self.patience);
        loop {
            match Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate) {
                Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && wait.goes_on(GRACE) => {}
                outcome => return outcome,
            }
        }
    }

    /// One transaction with all rows that wait.
    fn commit(&self, first: Message, flushed: &mut Vec<SyncSender<()>>) -> rusqlite::Result<()> {
        let transaction = self.begin()?;
        let mut insert = transaction.prepare(INSERT)?;
        let others = std::iter::from_fn(|| self.messages.try_recv().ok()).take(GROUP);
        for message in std::iter::once(first).chain(others) {
            let row = match message {
                Message::Row(row) => row,
                Message::Flush(done) => {
                    flushed.push(done);
                    break; // nobody should have to wait for rows that come later
                }
            };
            let value = row.outcome.value();
            insert.execute(named_params! {
                ":point": point::to_text(&row.point),
                ":value": (!value.is_nan()).then_some(value),
                ":status": row.outcome.status(),
                ":message": row.outcome.message(),
                ":seconds": row.seconds,
                ":attempt": row.attempt,
                ":finished": row.finished,
                ":stderr": row.stderr,
            })?;
        }
        drop(insert);
        transaction.commit()
    }
}
