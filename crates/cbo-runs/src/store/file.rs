//! The SQLite file: how it is created, recognised and refused.

use super::patience::{Patience, Wait};
use super::{StoreError, owner};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version that this program writes.
///
/// Version 1 did not say what a store belongs to.
pub const VERSION: i64 = 2;

/// "cboE" in the header of the file: evaluations of cbo.
const APPLICATION: i64 = 0x6362_6f45;

/// How long to wait for a program that has the file locked, before the file is in use.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long SQLite waits before it says that the file is locked.
const LOOK: Duration = Duration::from_millis(100);

/// Bytes of the smallest SQLite database: one page.
const SMALLEST: u64 = 512;

// `value` has no type of its own: a column of type REAL would lose the sign of -0.0.
const SCHEMA: &str = "
CREATE TABLE evaluations(
    id INTEGER PRIMARY KEY,  -- in the order in which they finished
    point TEXT NOT NULL,     -- JSON: [0.5,-1.0]
    value,                   -- REAL; Inf for an infeasible point, NULL for a failure
    status TEXT NOT NULL,    -- ok, infeasible, no-value, timeout, died, garbage, not-started
    message TEXT NOT NULL,   -- what is to be said of a failure
    seconds REAL NOT NULL,   -- from handing the point over to the answer
    attempt INTEGER NOT NULL,-- 1 for the first
    finished TEXT NOT NULL,  -- ISO time, UTC
    stderr TEXT NOT NULL     -- the end of what the program wrote there meanwhile
);";

/// Opens the store for writing, or creates it, and does with it what `settle` says. Both may be done several times, until nobody has it locked.
pub fn open_for_writing<T>(
    path: &Path,
    patience: Patience,
    settle: impl Fn(&Connection) -> Result<T, StoreError>,
) -> Result<(Connection, T), StoreError> {
    let mut wait = Wait::new(path, patience);
    loop {
        let opened = try_open(path).and_then(|connection| settle(&connection).map(|settled| (connection, settled)));
        match opened {
            Err(StoreError::Locked(_)) if wait.time() < PATIENCE && wait.goes_on(Duration::ZERO) => {}
            outcome => return outcome,
        }
    }
}

/// The same, if nobody has it locked. Whatever this has done before it found a lock may be done again.
fn try_open(path: &Path) -> Result<Connection, StoreError> {
    check_kind(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let failed = |e: Error| told(path, "opened", &e);
    let connection = Connection::open_with_flags(real(path), flags).map_err(failed)?;
    connection.busy_timeout(LOOK).map_err(failed)?;
    // An empty file is what is left if the program was killed right after creating it.
    if is_blank(&connection).map_err(failed)? {
        make(&connection).map_err(|e| told(path, "written", &e))?;
    }
    recognise(&connection, path)?;
    let prepare = || {
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.query_row("PRAGMA quick_check(1)", [], |row| row.get::<_, String>(0))
    };
    match prepare().map_err(|e| told(path, "written", &e))?.as_str() {
        "ok" => Ok(connection),
        reason => Err(StoreError::Corrupt { path: path.into(), reason: reason.replace('\n', " ") }),
    }
}

/// Opens the store for a look that changes nothing: what is in its log stays there, even if nobody else uses it.
pub fn open_to_look(path: &Path) -> Result<Option<Connection>, StoreError> {
    let connection = open_waiting(path, LOOK)?;
    if let Some(connection) = connection.as_ref().filter(|_| !has_no_log(path)) {
        let kept = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
        kept.map_err(|e| told(path, "opened", &e))?;
    }
    Ok(connection)
}

/// Opens the store without writing anything, not even beside it, and without a lock that could keep the run waiting; `None` if it has
/// nothing in it yet.
pub fn open_untouched(path: &Path) -> Result<Option<Connection>, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.into()));
    }
    check_kind(path)?;
    let failed = |e: Error| told(path, "opened", &e);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_NOFOLLOW
        | OpenFlags::SQLITE_OPEN_URI;
    // What was committed last is in the log. Its index is read, never made; without one, the log has to be left out.
    let has_index = std::fs::symlink_metadata(beside(path, "-shm")).is_ok_and(|found| found.is_file());
    let how = if has_no_log(path) || !has_index { "immutable=1" } else { "mode=ro&readonly_shm=1" };
    let connection = Connection::open_with_flags(address(&real(path), how), flags).map_err(failed)?;
    connection.pragma_update(None, "query_only", true).map_err(failed)?;
    connection.busy_timeout(LOOK).map_err(failed)?;
    if is_blank(&connection).map_err(failed)? {
        return Ok(None);
    }
    recognise(&connection, path)?;
    Ok(Some(connection))
}

/// Opens the store for reading only; `None` if it has nothing in it yet.
pub fn open_for_reading(path: &Path) -> Result<Option<Connection>, StoreError> {
    open_waiting(path, PATIENCE)
}

/// The same, waiting this long for whoever has it locked.
fn open_waiting(path: &Path, patience: Duration) -> Result<Option<Connection>, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing(path.into()));
    }
    check_kind(path)?;
    let failed = |e: Error| told(path, "opened", &e);
    // Not opened read-only, so that SQLite removes its side files when the last one closes; where the file is
    // write-protected, SQLite opens it read-only by itself.
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let mut connection = Connection::open_with_flags(real(path), flags).map_err(failed)?;
    let denied = |e: &Error| matches!(code(e), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly));
    if has_no_log(path) && is_blank(&connection).is_err_and(|e| denied(&e)) {
        // On a read-only disk SQLite cannot create the index of its log; where there is no log, none is needed.
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        connection = Connection::open_with_flags(address(path, "immutable=1"), flags).map_err(failed)?;
    }
    connection.pragma_update(None, "query_only", true).map_err(failed)?;
    connection.busy_timeout(patience).map_err(failed)?;
    if is_blank(&connection).map_err(failed)? {
        return Ok(None);
    }
    recognise(&connection, path)?;
    Ok(Some(connection))
}

/// Whether all that was committed is in the file itself.
fn has_no_log(path: &Path) -> bool {
    std::fs::metadata(log(path)).map_or(true, |log| log.len() == 0)
}

/// The file with what was committed last.
pub fn log(path: &Path) -> PathBuf {
    beside(path, "-wal")
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The address of a file, and how to open it.
fn address(path: &Path, how: &str) -> String {
    let mut address = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => address.push(char::from(*byte)),
            other => address += &format!("%{other:02x}"),
        }
    }
    address + "?" + how
}

/// The path with all links before the file itself followed: SQLite is told to follow none, and would refuse these too.
fn real(path: &Path) -> PathBuf {
    let folder = crate::files::folder(path).canonicalize();
    folder.ok().and_then(|folder| Some(folder.join(path.file_name()?))).unwrap_or_else(|| path.into())
}

/// Only files, and none that SQLite would take for an empty one and overwrite. Only SQLite looks at their content: a
/// second handle, once closed, would release its locks.
fn check_kind(path: &Path) -> Result<(), StoreError> {
    let reason = match std::fs::symlink_metadata(path) {
        Ok(there) if there.is_symlink() => "it is a symbolic link, and a store is not opened through links",
        Ok(there) if !there.is_file() => "it exists and is not a file",
        Ok(there) if (1..SMALLEST).contains(&there.len()) => "it is too short for a SQLite database",
        _ => return Ok(()),
    };
    Err(StoreError::NotAStore { path: path.into(), reason: reason.into() })
}

fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    Ok(tables == 0 && number(connection, "application_id")? == 0 && number(connection, "user_version")? == 0)
}

/// All in one transaction, before the file is switched to WAL: at any moment it is blank or complete.
fn make(connection: &Connection) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    transaction.execute_batch(SCHEMA)?;
    transaction.execute_batch(owner::TABLE)?;
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
}

fn number(connection: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, pragma, |row| row.get(0))
}

fn recognise(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |e: Error| told(path, "opened", &e);
    if number(connection, "application_id").map_err(failed)? != APPLICATION {
        let reason = "it is a SQLite database of something else".into();
        return Err(StoreError::NotAStore { path: path.into(), reason });
    }
    match number(connection, "user_version").map_err(failed)? {
        1..=VERSION => check_length(path, number(connection, "page_size").map_err(failed)?),
        found if found > VERSION => Err(StoreError::Newer { path: path.into(), found }),
        found => Err(StoreError::Corrupt { path: path.into(), reason: format!("it has the version {found}") }),
    }
}

/// SQLite silently fills up a truncated last page with zeros; with a log beside it, that may be right.
fn check_length(path: &Path, page: i64) -> Result<(), StoreError> {
    let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
    if has_no_log(path) && !bytes.is_multiple_of(page.unsigned_abs().max(1)) {
        return Err(StoreError::Corrupt { path: path.into(), reason: "its end is missing".into() });
    }
    Ok(())
}

fn code(error: &Error) -> Option<ErrorCode> {
    error.sqlite_error_code()
}

/// Bytes without which a store cannot be opened for writing: its shared memory, and a page.
#[cfg(unix)]
const LITTLE: u128 = 1 << 16;

/// Whether the disk of `path` has no room left.
#[cfg(unix)]
fn is_full(path: &Path) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(name) = std::ffi::CString::new(folder.as_os_str().as_bytes()) else { return false };
    // SAFETY: all bits zero are a value of this structure of whole numbers.
    let mut seen: libc::statvfs = unsafe { std::mem::zeroed() };
    // SAFETY: the name ends with a zero, and both live as long as the call.
    let told = unsafe { libc::statvfs(name.as_ptr(), &raw mut seen) };
    // Their types differ from system to system.
    told == 0 && (seen.f_bavail as u128) * (seen.f_frsize as u128) < LITTLE
}

#[cfg(not(unix))]
fn is_full(_path: &Path) -> bool {
    false
}

/// What SQLite says, in words that say what to do.
pub fn told(path: &Path, action: &'static str, error: &Error) -> StoreError {
    let (path, reason) = (path.to_path_buf(), error.to_string());
    match code(error) {
        Some(ErrorCode::NotADatabase) => {
            StoreError::NotAStore { path, reason: "it is not a SQLite database, or its beginning is damaged".into() }
        }
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Corrupt { path, reason },
        Some(ErrorCode::DiskFull) => StoreError::Full(path),
        // The memory that programs share beside the file fails in this way.
        Some(ErrorCode::SystemIoFailure) if is_full(&path) => StoreError::Full(path),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked(path),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => {
            StoreError::Denied { path, action, reason }
        }
        _ => StoreError::Other { path, reason },
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// `/proc` has no room for anything, ever.
    #[test]
    fn a_failure_of_input_or_output_on_a_full_disk_is_a_full_disk() {
        let failed = Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), None);
        let full = Path::new("/proc/evaluations.sqlite");
        assert_eq!(told(full, "written", &failed), StoreError::Full(full.into()));
        let folder = tempfile::tempdir().expect("a folder");
        let roomy = folder.path().join("evaluations.sqlite");
        assert!(matches!(told(&roomy, "written", &failed), StoreError::Other { path, .. } if path == roomy));
    }
}
