//! Every finished evaluation in a SQLite file, from which no point is ever evaluated twice.
//!
//! A row is an attempt: point, value, status, seconds, stderr. [`Store`] is the one that writes: [`Store::put`] hands a row
//! to a thread that commits all rows that wait in one transaction, so that a slow evaluation is on the disk within
//! milliseconds and fast ones share the cost of a sync. [`read()`] is for all others, even during a run.
//!
//! The file is in WAL mode with `synchronous=FULL`: what is committed survives a killed process and a power cut.

mod file;
mod owner;
mod page;
mod patience;
mod place;
mod point;
mod read;
mod writer;

pub use owner::{Found, Owner, check, fingerprint};
pub use page::{Column, Filter, Page};
pub use patience::Patience;
pub use read::{Reading, Row, Summary, look, read};

use crate::external::{Attempt, Outcome};
use crate::timestamp::timestamp;
use place::Place;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};
use writer::Message;

/// Rows that may wait for the disk before `put` waits too.
const QUEUE: usize = 8192;

/// Why a store cannot be used. Each message says what to do; an error never changes the file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum StoreError {
    /// There is no file.
    #[error("there is no {}; only runs of a program have one", .0.display())]
    Missing(PathBuf),
    /// Some other file.
    #[error(
        "{} is not a store of evaluations: {reason}; move it away, or choose another folder",
        .path.display()
    )]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
    /// A store of a later program.
    #[error(
        "{} is a store of version {found}, and this cbo reads versions up to {}: use a newer cbo",
        .path.display(),
        file::VERSION
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: i64,
    },
    /// A store of another run.
    #[error(
        "{} is the store of another run: {whose}; put this run's own file back, or move this one away, and points are evaluated again \
         where they are needed",
        .path.display()
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it belongs to.
        whose: String,
    },
    /// A store of another program.
    #[error(
        "{} holds the values of another program: {differences}; put the program back, or move the file away, and points are evaluated \
         again",
        .path.display()
    )]
    OtherProgram {
        /// The file.
        path: PathBuf,
        /// What is not the same.
        differences: String,
    },
    /// A file that was taken away while it was in use.
    #[error(
        "{} {} during the run, which cannot keep its evaluations any more: put the file back if you have it, then resume the run",
        .path.display(),
        if *.replaced { "was replaced by another file" } else { "was deleted or moved away" }
    )]
    Gone {
        /// The file.
        path: PathBuf,
        /// Whether there is another one in its place.
        replaced: bool,
    },
    /// A damaged store.
    #[error(
        "{} is damaged: {reason}; restore it from a backup, or move it away and the points are evaluated again \
         (sqlite3's `.recover` may save what is left)",
        .path.display()
    )]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// No space left.
    #[error("{} cannot grow, the disk is full: make room, then resume the run; what was committed before is safe", .0.display())]
    Full(PathBuf),
    /// Another program has it locked.
    #[error("{} is locked by another program: end it, then resume the run", .0.display())]
    Locked(PathBuf),
    /// No permission to read or write.
    #[error("{} cannot be {action}: {reason}; check the permissions of the file and its folder", .path.display())]
    Denied {
        /// The file.
        path: PathBuf,
        /// `opened` or `written`.
        action: &'static str,
        /// The system's words.
        reason: String,
    },
    /// Anything else.
    #[error("{}: {reason}", .path.display())]
    Other {
        /// The file.
        path: PathBuf,
        /// SQLite's words.
        reason: String,
    },
}

/// What is known about a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The number of the attempt; 1 is the first.
    pub attempt: u32,
    /// What came of it.
    pub outcome: Outcome,
}

/// Attempts by status, and the time they took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Attempts of each status that occurred, by its name ([`Outcome::status`]).
    pub by_status: BTreeMap<&'static str, u64>,
    /// Seconds of all attempts together.
    pub seconds: f64,
}

impl Counts {
    /// All attempts.
    pub fn total(&self) -> u64 {
        self.by_status.values().sum()
    }

    fn add(&mut self, outcome: &Outcome, seconds: f64) {
        *self.by_status.entry(outcome.status()).or_default() += 1;
        self.seconds += seconds;
    }
}

/// What the store knows without asking the disk. Points are known by a digest, so a point takes little memory in any dimension.
#[derive(Default)]
struct Memory {
    known: HashMap<u128, Known>,
    counts: Counts,
}

impl Memory {
    fn learn(&mut self, key: u128, attempt: u32, outcome: &Outcome, seconds: f64) {
        self.counts.add(outcome, seconds);
        // The first answer stays, because a run may have continued from it; of failures the last counts.
        let settled = |known: &Known| !known.outcome.may_be_retried();
        if !self.known.get(&key).is_some_and(settled) {
            self.known.insert(key, Known { attempt, outcome: outcome.clone() });
        }
    }
}

/// The evaluations of a run, open for writing. May be shared by threads; a file should have one store at a time.
pub struct Store {
    path: PathBuf,
    memory: Mutex<Memory>,
    /// None once the store is being dropped.
    queue: Option<SyncSender<Message>>,
    writer: Option<JoinHandle<()>>,
    failure: Arc<OnceLock<StoreError>>,
    run: Option<String>,
}

impl Store {
    /// Opens the store, or creates it. A file that is something else, damaged, or of a newer version is an error and stays
    /// as it is.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_with(path, Patience::default())
    }

    /// The same, waiting in this way for another program that has the file locked. A store whose process is asked to end meanwhile
    /// gives up: what it could not write is lost, and [`StoreError::Locked`] says so.
    pub fn open_with(path: &Path, patience: Patience) -> Result<Self, StoreError> {
        Self::begin(path, file::open_for_writing(path, patience, |_| Ok(()))?.0, patience)
    }

    /// The same for a run, to which the store belongs from then on. A store of another run is an error and stays as it is; `forced`
    /// allows one of another program, if the run is not known.
    pub fn open_for(path: &Path, patience: Patience, owner: &Owner, forced: bool) -> Result<Self, StoreError> {
        let claim = |connection: &rusqlite::Connection| owner::claim(connection, path, owner, forced);
        let (connection, run) = file::open_for_writing(path, patience, claim)?;
        let mut store = Self::begin(path, connection, patience)?;
        store.run = Some(run);
        Ok(store)
    }

    fn begin(path: &Path, connection: rusqlite::Connection, patience: Patience) -> Result<Self, StoreError> {
        let mut memory = Memory::default();
        read::each(&connection, path, &mut |row| {
            memory.learn(point::digest(&row.point), row.attempt, &row.outcome, row.seconds);
            Ok(())
        })?;
        let (queue, messages) = mpsc::sync_channel(QUEUE);
        let failure = Arc::new(OnceLock::new());
        let (place, told) = (Place::new(path), failure.clone());
        let writer = writer::Writer { connection, path: path.into(), place, messages, failure: told, patience };
        let thread = std::thread::Builder::new().name("cbo-store".into()).spawn(move || writer.run());
        let other = |e: std::io::Error| StoreError::Other { path: path.into(), reason: format!("no thread: {e}") };
        let writer = Some(thread.map_err(other)?);
        Ok(Self { path: path.into(), memory: Mutex::new(memory), queue: Some(queue), writer, failure, run: None })
    }

    /// Hands over a finished attempt at `x`. It is committed within milliseconds, together with all others that wait; an
    /// earlier failure to write (a full disk) is returned here, from then on always.
    pub fn put(&self, x: &[f64], attempt: &Attempt) -> Result<(), StoreError> {
        self.check()?;
        self.memory().learn(point::digest(x), attempt.attempt, &attempt.outcome, attempt.seconds);
        self.send(Message::Row(Box::new(Row {
            id: 0, // SQLite counts
            point: x.to_vec(),
            attempt: attempt.attempt,
            outcome: attempt.outcome.clone(),
            seconds: attempt.seconds.max(0.0), // and no NaN
            finished: to_the_millisecond(SystemTime::now()),
            stderr: attempt.stderr.clone(),
        })))
    }

    /// Waits until everything put so far is on the disk.
    pub fn flush(&self) -> Result<(), StoreError> {
        self.check()?;
        let (done, wait) = mpsc::sync_channel(1);
        self.send(Message::Flush(done))?;
        // A writer that ended without an answer has left its reason.
        wait.recv().map_err(|_| self.reason())
    }

    /// What is known about a point, from before and from this run: its answer, else its last failure. Every bit of `x` counts.
    pub fn known(&self, x: &[f64]) -> Option<Known> {
        self.memory().known.get(&point::digest(x)).cloned()
    }

    /// All attempts in the file, including those not yet on the disk.
    pub fn counts(&self) -> Counts {
        self.memory().counts.clone()
    }

    /// The run that it belongs to, if it was opened for one.
    pub fn run(&self) -> Option<&str> {
        self.run.as_deref()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self) -> Result<(), StoreError> {
        self.failure.get().map_or(Ok(()), |failure| Err(failure.clone()))
    }

    fn send(&self, message: Message) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or_else(|| self.reason())?;
        queue.send(message).map_err(|_| self.reason())
    }

    fn reason(&self) -> StoreError {
        let unknown = || StoreError::Other { path: self.path.clone(), reason: "the writer has ended".into() };
        self.failure.get().cloned().unwrap_or_else(unknown)
    }
}

impl Drop for Store {
    /// Waits until everything is written. Only [`Store::flush`] reports a failure.
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A time in the form `2026-01-31T12:00:00.250Z`.
fn to_the_millisecond(time: SystemTime) -> String {
    let millis = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.subsec_millis());
    format!("{}.{millis:03}Z", timestamp(time).trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn times_have_milliseconds() {
        assert_eq!(to_the_millisecond(UNIX_EPOCH + Duration::from_millis(951_782_400_007)), "2000-02-29T00:00:00.007Z");
    }

    fn attempt(outcome: Outcome, attempt: u32) -> Attempt {
        Attempt { job: 0, attempt, outcome, seconds: 0.5, stderr: String::new() }
    }

    #[test]
    fn a_full_disk_is_told_and_what_was_there_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("evaluations.sqlite");
        let connection = file::open_for_writing(&path, Patience::default(), |_| Ok(())).expect("a store").0;
        connection.pragma_update(None, "max_page_count", 40).expect("a limit");
        let store = Store::begin(&path, connection, Patience::default()).expect("a store");
        let (mut safe, mut told) = (0, None);
        for k in 0..2000 {
            let result = store.put(&[f64::from(k); 20], &attempt(Outcome::Value(1.0), 1)).and_then(|()| store.flush());
            match result {
                Ok(()) if told.is_none() => safe += 1,
                Ok(()) => panic!("a failed writer must not go on"),
                Err(error) => told = Some(error),
            }
        }
        assert_eq!(told, Some(StoreError::Full(path.clone())));
        assert!(safe > 100, "{safe}");
        drop(store);
        assert_eq!(Store::open(&path).expect("still a store").counts().total(), safe);
    }

    #[test]
    fn the_first_answer_stays_and_the_last_failure_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("evaluations.sqlite");
        let store = Store::open(&path).expect("a store");
        for (number, outcome) in [
            (1, Outcome::Timeout),
            (2, Outcome::Died("signal 9".into())),
            (3, Outcome::Value(-0.0)),
            (4, Outcome::Value(7.0)),
            (5, Outcome::Timeout),
        ] {
            store.put(&[1.0], &attempt(outcome, number)).expect("put");
            let known = store.known(&[1.0]).expect("known");
            assert_eq!(known.attempt, number.min(3));
        }
        drop(store);
        let known = Store::open(&path).expect("a store").known(&[1.0]).expect("known");
        assert_eq!(known.attempt, 3);
        assert_eq!(known.outcome.value().to_bits(), (-0.0f64).to_bits(), "the sign of zero is kept");
    }
}
