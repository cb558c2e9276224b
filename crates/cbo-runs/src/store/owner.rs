//! What a store belongs to: a run, and the program whose values it holds. Values of something else must not be taken for this run's.

use super::{StoreError, file, point};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// One row for each field of [`Owner`].
pub(super) const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS belongs(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;";

/// What a store belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// The run, as [`super::Store::run`] called it before; `None` if that is not known.
    pub run: Option<String>,
    /// Number of coordinates of its points.
    pub dim: usize,
    /// How the program is talked to.
    pub protocol: String,
    /// The program, as its command line.
    pub command: String,
    /// The contents of its files: see [`fingerprint`].
    pub program: String,
    /// The folder in which the run was begun, for people.
    pub folder: String,
}

/// A short text for the files of a program, which differs if one of them does. They are given by name, each with a digest.
pub fn fingerprint<'a>(files: impl IntoIterator<Item = (&'a String, &'a String)>) -> String {
    let mut hash = Sha256::new();
    for (name, digest) in files {
        hash.update(format!("{name}\n{digest}\n"));
    }
    short(&hash.finalize())
}

/// A name for a run that no other has.
fn new_run() -> String {
    let mut hash = Sha256::new();
    // Hash maps are seeded by the system, which has the only randomness in the standard library.
    hash.update(RandomState::new().hash_one(0).to_le_bytes());
    hash.update(RandomState::new().hash_one(1).to_le_bytes());
    let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
    hash.update(format!("{time} {}", std::process::id()));
    short(&hash.finalize())
}

fn short(digest: &[u8]) -> String {
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

impl Owner {
    fn fields(&self) -> [(&'static str, String); 6] {
        [
            ("run", self.run.clone().unwrap_or_default()),
            ("dim", self.dim.to_string()),
            ("protocol", self.protocol.clone()),
            ("command", self.command.clone()),
            ("program", self.program.clone()),
            ("folder", self.folder.clone()),
        ]
    }

    fn from_fields(mut fields: BTreeMap<String, String>) -> Option<Self> {
        let mut take = |key| fields.remove(key);
        Some(Self {
            run: Some(take("run")?),
            dim: take("dim")?.parse().ok()?,
            protocol: take("protocol")?,
            command: take("command")?,
            program: take("program")?,
            folder: take("folder")?,
        })
    }

    /// In words.
    fn said(&self) -> String {
        let Self { dim, command, folder, .. } = self;
        format!("it belongs to the run of `{command}` with dim = {dim} that was begun in {folder}")
    }

    /// What is not the same program in a store of `found`.
    fn differences(&self, found: &Self) -> Vec<String> {
        let mut differences = Vec::new();
        for ((key, now), (_, then)) in self.fields().into_iter().zip(found.fields()) {
            match key {
                "protocol" | "command" if now != then => differences.push(format!("{key} was {then} and is {now}")),
                "program" if now != then => differences.push("the files of the program were others".into()),
                _ => {}
            }
        }
        differences
    }

    /// Whether a run of this owner may use a store of `found`. Where the run is not known, it must be a store of the same program, unless
    /// another one is asked for.
    fn judge(&self, path: &Path, found: &Self, forced: bool) -> Result<(), StoreError> {
        let is_known = self.run.is_some();
        if if is_known { self.run != found.run } else { self.dim != found.dim } {
            return Err(StoreError::Foreign { path: path.into(), whose: found.said() });
        }
        let differences = self.differences(found);
        if is_known || forced || differences.is_empty() {
            return Ok(());
        }
        Err(StoreError::OtherProgram { path: path.into(), differences: differences.join("; ") })
    }
}

/// What there is at the path of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// No file, or an empty one.
    Nothing,
    /// A store that can be used.
    Usable,
    /// A store that somebody has locked, so that nothing is known about it.
    Locked,
}

/// Looks whether a run of `owner` may use the store at `path`, and changes nothing there. `forced` allows one of another program, if the run
/// is not known.
pub fn check(path: &Path, owner: &Owner, forced: bool) -> Result<Found, StoreError> {
    let look = || match file::open_to_look(path)? {
        None => Ok(Found::Nothing),
        Some(connection) => judge(&connection, path, owner, forced).map(|_| Found::Usable),
    };
    match look() {
        Err(StoreError::Missing(_)) => Ok(Found::Nothing),
        Err(StoreError::Locked(_)) => Ok(Found::Locked),
        outcome => outcome,
    }
}

/// Whether `owner` may use a store, and whose it was before, if it says so.
fn judge(connection: &Connection, path: &Path, owner: &Owner, forced: bool) -> Result<Option<Owner>, StoreError> {
    let failed = |e| file::told(path, "opened", &e);
    let before = record(connection, path)?;
    match &before {
        Some(found) => owner.judge(path, found, forced)?,
        // Written by an earlier version; its points are all that can be compared.
        None => {
            let first = "SELECT point FROM evaluations LIMIT 1";
            let first: Option<String> = connection.query_row(first, [], |row| row.get(0)).optional().map_err(failed)?;
            let dim = first.and_then(|first| point::from_text(&first)).map(|point| point.len());
            if let Some(dim) = dim.filter(|dim| *dim != owner.dim) {
                let whose = format!("its points have dim = {dim}, and those of this run dim = {}", owner.dim);
                return Err(StoreError::Foreign { path: path.into(), whose });
            }
        }
    }
    Ok(before)
}

/// What a store says that it belongs to; stores of earlier versions say nothing.
fn record(connection: &Connection, path: &Path) -> Result<Option<Owner>, StoreError> {
    let failed = |e| file::told(path, "opened", &e);
    let table = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'belongs'";
    let tables: i64 = connection.query_row(table, [], |row| row.get(0)).map_err(failed)?;
    if tables == 0 {
        return Ok(None);
    }
    let mut statement = connection.prepare("SELECT key, value FROM belongs").map_err(failed)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)));
    let fields = rows.and_then(Iterator::collect::<rusqlite::Result<BTreeMap<_, _>>>).map_err(failed)?;
    if fields.is_empty() {
        return Ok(None);
    }
    let damaged = || StoreError::Corrupt { path: path.into(), reason: "the table `belongs` is not complete".into() };
    Owner::from_fields(fields).map(Some).ok_or_else(damaged)
}

/// Makes a store that is open for writing belong to `owner`, if that is right; returns its run, which is a new one if none is known.
pub(super) fn claim(connection: &Connection, path: &Path, owner: &Owner, forced: bool) -> Result<String, StoreError> {
    let before = judge(connection, path, owner, forced)?;
    let found = before.clone().unwrap_or_default();
    let run = owner.run.clone().or(found.run).unwrap_or_else(new_run);
    let folder = if found.folder.is_empty() { owner.folder.clone() } else { found.folder };
    let after = Owner { run: Some(run.clone()), folder, ..owner.clone() };
    if before.as_ref() != Some(&after) {
        write(connection, &after).map_err(|e| file::told(path, "written", &e))?;
    }
    Ok(run)
}

fn write(connection: &Connection, owner: &Owner) -> rusqlite::Result<()> {
    let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate)?;
    transaction.execute_batch(TABLE)?;
    for (key, value) in owner.fields() {
        transaction.execute("INSERT OR REPLACE INTO belongs(key, value) VALUES (?1, ?2)", [key, &value])?;
    }
    transaction.pragma_update(None, "user_version", file::VERSION)?;
    transaction.commit()?;
    // Into the file itself: if another is copied over it after a kill, the log that is left must not say whose that is. Readers may keep
    // it from happening now.
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
}
