//! The store when things go wrong, with real files and real processes: nothing is lost, other files are not touched.

use cbo_runs::external::{Attempt, Outcome};
use cbo_runs::store::{Patience, Store, StoreError, read};
use rusqlite::Connection;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evaluations.sqlite");
    (folder, path)
}

fn attempt(value: f64) -> Attempt {
    Attempt { job: 0, attempt: 1, outcome: Outcome::Value(value), seconds: 0.25, stderr: String::new() }
}

/// A store with some rows.
fn filled(path: &Path, rows: u32) {
    let store = Store::open(path).expect("a store");
    for k in 0..rows {
        store.put(&[f64::from(k), 0.1], &attempt(f64::from(k))).expect("put");
    }
    store.flush().expect("flushed");
}

/// The variable that names the store of a process that is part of a test.
const TO_FILL: &str = "CBO_STORE_TO_FILL";

/// Not a test by itself: the process that others kill, or leave without room.
#[test]
#[ignore = "a part of other tests"]
fn fill_for_ever() {
    let Some(path) = std::env::var_os(TO_FILL) else { return };
    let store = Store::open(Path::new(&path)).expect("a store");
    for k in store.counts().total().. {
        let put = store.put(&[k as f64, 0.5], &attempt(k as f64));
        let flushed = if k % 7 == 0 { put.and_then(|()| store.flush()) } else { put };
        match flushed {
            Ok(()) if k % 7 == 0 => eprintln!("safe {k}"),
            Ok(()) => (),
            Err(error) => return eprintln!("error {error}"),
        }
    }
}

/// This program as one that fills a store.
fn filler() -> Vec<String> {
    let program = std::env::current_exe().expect("this program").to_string_lossy().into_owned();
    [&program, "--exact", "store_faults::fill_for_ever", "--ignored", "--nocapture"].map(String::from).to_vec()
}

/// The last row that was said to be safe.
fn last_safe(lines: &[String]) -> Option<u64> {
    lines.iter().rev().find_map(|line| line.strip_prefix("safe ")?.parse().ok())
}

#[test]
fn nothing_is_lost_when_the_writer_is_killed() {
    let (_folder, path) = place();
    let mut total = 0;
    for round in 0..6 {
        let mut child = Command::new(&filler()[0])
            .args(&filler()[1..])
            .env(TO_FILL, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        let mut lines = BufReader::new(child.stderr.take().expect("its stderr")).lines().map_while(Result::ok);
        // Killed early and late.
        let mut said: Vec<String> = lines.by_ref().take(1 + 40 * round).collect();
        child.kill().expect("killed"); // SIGKILL
        child.wait().expect("gone");
        // What it said before it died, but was not read yet, counts as well. The last line may be half a line.
        said.extend(lines);
        if said.len() > 1 {
            said.pop();
        }
        let last = last_safe(&said).expect("something was safe");
        let store = Store::open(&path).expect("the store again");
        let rows = store.counts().total();
        assert!(rows > last, "round {round}: {last} was said to be safe, there are {rows} rows");
        for k in 0..rows {
            assert_eq!(store.known(&[k as f64, 0.5]).expect("no gap").outcome, Outcome::Value(k as f64));
        }
        assert!(rows > total, "round {round}: {rows} rows");
        total = rows;
    }
}

/// On a disk of one megabyte, which needs a mount namespace; where there is none, the test is skipped with a note.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_what_was_safe_stays() {
    let (folder, path) = place();
    let script = "mount -t tmpfs -o size=1m cbo \"$0\" || exit 77; \"$@\"; cp \"$0\"/* \"$0.after\"";
    let after = PathBuf::from(format!("{}.after", folder.path().display()));
    fs::create_dir(&after).expect("a folder");
    let output = Command::new("unshare")
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(folder.path())
        .args(filler())
        .env(TO_FILL, &path)
        .stdin(Stdio::null())
        .output();
    let Some(output) = output.ok().filter(|o| o.status.code() == Some(0)) else {
        fs::remove_dir(&after).expect("removed");
        return eprintln!("skipped: this system gives no disk of one megabyte");
    };
    let said: Vec<String> = String::from_utf8_lossy(&output.stderr).lines().map(String::from).collect();
    let error = said.iter().find(|line| line.starts_with("error ")).expect("it ends with an error");
    assert!(error.contains("the disk is full") && error.contains("make room"), "{error}");
    let last = last_safe(&said).expect("something was safe");
    assert!(last > 100, "{last}");
    // As if there were room again: the same files on another disk.
    let store = Store::open(&after.join("evaluations.sqlite")).expect("the store again");
    assert!(store.counts().total() > last, "{last}: {:?}", store.counts());
    store.put(&[-1.0], &attempt(1.0)).and_then(|()| store.flush()).expect("it continues");
    drop(store);
    fs::remove_dir_all(&after).expect("removed");
}

/// Asserts that the file is refused with these words and stays as it is.
fn assert_refused(path: &Path, words: &[&str]) {
    let before = fs::read(path).expect("a file");
    for error in [Store::open(path).err(), read(path).and_then(|r| r.rows()).err()] {
        let message = error.expect("refused").to_string();
        for word in words.iter().chain(&["evaluations.sqlite"]) {
            assert!(message.contains(word), "`{word}` is not in: {message}");
        }
        assert!(!message.contains('\n'), "{message}");
    }
    assert_eq!(fs::read(path).expect("still there"), before, "the file is left alone");
}

#[test]
fn other_files_are_refused_and_stay() {
    let (_folder, path) = place();
    let noise: Vec<u8> = (0..20_000u32).map(|k| (k.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for contents in [&b"x1,x2\n1,2\n"[..], &noise, b"S", &[0; 511], &[0; 512], &[0; 4096], &[b'a'; 600]] {
        fs::write(&path, contents).expect("written");
        assert_refused(&path, &["not a store", "move it away"]);
    }
    fs::remove_file(&path).expect("removed");
    Connection::open(&path).and_then(|d| d.execute_batch("CREATE TABLE songs(name)")).expect("another database");
    assert_refused(&path, &["SQLite database of something else", "move it away"]);
    fs::remove_file(&path).expect("removed");
    fs::create_dir(&path).expect("a folder");
    for error in [Store::open(&path).err(), read(&path).err()] {
        let message = error.expect("refused").to_string();
        assert!(message.contains("is not a file"), "{message}");
    }
}

#[test]
fn an_empty_file_becomes_a_store() {
    // What is left if a run was killed right after it had made the file.
    let (_folder, path) = place();
    fs::write(&path, b"").expect("written");
    assert_eq!(read(&path).expect("nothing in it").rows(), Ok(vec![]));
    assert_eq!(read(&path).expect("nothing in it").summary(1).expect("a summary").counts.total(), 0);
    assert_eq!(fs::metadata(&path).expect("a file").len(), 0, "a reader writes nothing");
    filled(&path, 3);
    assert_eq!(read(&path).expect("a store").rows().expect("rows").len(), 3);
}

#[test]
fn a_missing_store_is_not_made_by_reading() {
    let (_folder, path) = place();
    let message = read(&path).expect_err("nothing there").to_string();
    assert!(message.contains("there is no") && message.contains("runs of a program"), "{message}");
    assert!(!path.exists());
}

#[test]
fn a_reader_leaves_nothing_behind() {
    let (folder, path) = place();
    filled(&path, 3);
    read(&path).expect("readable").rows().expect("rows");
    let names: Vec<_> =
        fs::read_dir(folder.path()).expect("a folder").map(|e| e.expect("a file").file_name()).collect();
    assert_eq!(names, ["evaluations.sqlite"]);
}

#[test]
fn a_newer_version_is_refused() {
    let (_folder, path) = place();
    filled(&path, 3);
    Connection::open(&path).and_then(|d| d.pragma_update(None, "user_version", 7)).expect("a new version");
    assert_refused(&path, &["version 7", "use a newer cbo"]);
}

#[test]
fn a_damaged_store_is_refused() {
    let (_folder, path) = place();
    filled(&path, 500);
    let whole = fs::read(&path).expect("a file");
    let end = whole.len();
    assert!(end > 20_000);
    for length in [1, 15, 16, 60, 99, 100, 512, 1000, 4095, 4096, 4097, 8192, 10_000, end - 4096, end - 1] {
        fs::write(&path, &whole[..length]).expect("written");
        assert_refused(&path, &["; "]); // either way it says what to do
    }
    let mut broken = whole.clone();
    broken[12288..16384].fill(0x5a); // a page of the table
    fs::write(&path, &broken).expect("written");
    assert_refused(&path, &["damaged", "move it away"]);
    for (change, words) in [
        ("point = '[1,x]'", "row 7: the point `[1,x]`"),
        ("status = 'great'", "status `great`"),
        ("status = 'ok', value = NULL", "status `ok` with value None"),
        ("attempt = 'first'", "row 7:"),
    ] {
        fs::write(&path, &whole).expect("written");
        let update = format!("UPDATE evaluations SET {change} WHERE id = 7");
        Connection::open(&path).and_then(|d| d.execute_batch(&update)).expect("changed");
        assert_refused(&path, &["damaged", words]);
    }
}

#[test]
fn random_damage_never_panics() {
    let (_folder, path) = place();
    filled(&path, 300);
    let whole = fs::read(&path).expect("a file");
    let mut state = 1u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for _ in 0..150 {
        let mut broken = whole.clone();
        for _ in 0..=random(4) {
            let at = if random(2) == 0 { random(200) } else { random(whole.len()) };
            broken[at] = random(256) as u8;
        }
        for side in ["-wal", "-shm", "-journal"] {
            let _ = fs::remove_file(format!("{}{side}", path.display()));
        }
        fs::write(&path, &broken).expect("written");
        let _ = read(&path).and_then(|r| r.rows().and_then(|_| r.summary(3)));
        let _ = Store::open(&path).map(|store| store.counts());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_place_that_cannot_be_written_to_is_told() {
    // Not even the superuser can make files in /proc.
    let (folder, _) = place();
    for path in [Path::new("/proc/evaluations.sqlite"), &folder.path().join("nowhere/evaluations.sqlite")] {
        let message = Store::open(path).expect_err("refused").to_string();
        assert!(message.contains("cannot be opened") && message.contains("permissions"), "{message}");
    }
}

#[cfg(unix)]
#[test]
fn a_store_in_a_read_only_folder_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let (folder, path) = place();
    filled(&path, 4);
    let set = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).expect("set");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).expect("set");
    set(0o555);
    let rows = read(&path).and_then(|r| r.rows()).map(|rows| rows.len());
    let opened = Store::open(&path);
    let superuser = fs::write(folder.path().join("probe"), b"").is_ok();
    set(0o755);
    assert_eq!(rows, Ok(4));
    if !superuser {
        let message = opened.expect_err("read-only").to_string();
        assert!(message.contains("permissions"), "{message}");
    }
}

/// Whether the process of the next test is asked to end, and whether it was told what is waited for.
static ENDING: AtomicBool = AtomicBool::new(false);
static TOLD: AtomicBool = AtomicBool::new(false);

#[test]
fn a_locked_file_is_told_of_and_given_up_when_the_process_ends() {
    let (_folder, path) = place();
    let patience = Patience {
        ending: || ENDING.load(Ordering::SeqCst),
        // The signal comes when somebody has read what takes so long.
        waiting: |path| {
            assert!(path.ends_with("evaluations.sqlite"));
            TOLD.store(true, Ordering::SeqCst);
            ENDING.store(true, Ordering::SeqCst);
        },
    };
    let store = Store::open_with(&path, patience).expect("a store");
    store.put(&[1.0], &attempt(1.0)).and_then(|()| store.flush()).expect("on the disk");
    let other = Connection::open(&path).expect("a database");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locked");
    let put = store.put(&[2.0], &attempt(2.0)).and_then(|()| store.flush());
    assert_eq!(put, Err(StoreError::Locked(path.clone())));
    assert!(TOLD.load(Ordering::SeqCst));
    drop(store);
    other.execute_batch("ROLLBACK").expect("unlocked");
    assert_eq!(read(&path).and_then(|reading| reading.rows()).expect("rows").len(), 1);
}

#[cfg(unix)]
#[test]
fn a_store_is_not_opened_through_a_link() {
    let (folder, path) = place();
    let other = folder.path().join("other.sqlite");
    filled(&other, 3);
    let before = fs::read(&other).expect("a file");
    std::os::unix::fs::symlink(&other, &path).expect("a link");
    for error in [Store::open(&path).map(drop), read(&path).map(drop)] {
        assert!(error.expect_err("a link").to_string().contains("symbolic link"));
    }
    assert_eq!(fs::read(&other).expect("a file"), before);
    // A link on the way is the user's.
    std::os::unix::fs::symlink(folder.path(), folder.path().join("way")).expect("a link");
    assert_eq!(read(&folder.path().join("way/other.sqlite")).and_then(|r| r.rows()).expect("rows").len(), 3);
}
