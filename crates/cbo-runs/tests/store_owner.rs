//! Whose a store is: another run's is refused and stays as it is, and one that is taken away during a run is missed.

use cbo_runs::external::{Attempt, Outcome};
use cbo_runs::store::{Found, Owner, Patience, Store, StoreError, check, fingerprint, read};
use rusqlite::Connection;
use std::fs;
use std::path::{Path, PathBuf};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evaluations.sqlite");
    (folder, path)
}

fn attempt(value: f64) -> Attempt {
    Attempt { job: 0, attempt: 1, outcome: Outcome::Value(value), seconds: 0.25, stderr: String::new() }
}

fn owner(run: Option<&str>) -> Owner {
    let files = [("worker.py".to_string(), "0123".to_string())];
    Owner {
        run: run.map(String::from),
        dim: 2,
        protocol: "jsonl".into(),
        command: "python3 worker.py".into(),
        program: fingerprint(files.iter().map(|(name, digest)| (name, digest))),
        folder: "/home/me/wing".into(),
    }
}

/// Opens a store for an owner, puts a row into it and returns its run.
fn filled(path: &Path, owner: &Owner) -> String {
    let store = Store::open_for(path, Patience::default(), owner, false).expect("a store");
    let point = vec![0.5; owner.dim];
    store.put(&point, &attempt(1.0)).and_then(|()| store.flush()).expect("on the disk");
    store.run().expect("opened for a run").to_string()
}

/// What `check` and `open_for` say, which must be the same, and leave the file as it is.
fn refused(path: &Path, owner: &Owner, forced: bool) -> StoreError {
    let before = fs::read(path).expect("a file");
    let error = check(path, owner, forced).expect_err("refused");
    assert_eq!(fs::read(path).expect("a file"), before, "a look changes nothing");
    assert_eq!(Store::open_for(path, Patience::default(), owner, forced).map(drop), Err(error.clone()));
    assert_eq!(fs::read(path).expect("a file"), before, "a store that is refused is not changed");
    error
}

#[test]
fn a_store_belongs_to_its_run() {
    let (_folder, path) = place();
    assert_eq!(check(&path, &owner(None), false), Ok(Found::Nothing));
    let run = filled(&path, &owner(None));
    let other = filled(&path.with_file_name("other.sqlite"), &owner(None));
    assert_ne!(run, other);
    assert_eq!(check(&path, &owner(Some(&run)), false), Ok(Found::Usable));
    assert_eq!(filled(&path, &owner(Some(&run))), run);
    // A run that does not know its name yet takes up the one of its store.
    assert_eq!(filled(&path, &owner(None)), run);
    for forced in [false, true] {
        let error = refused(&path, &owner(Some(&other)), forced);
        assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
        let error = error.to_string();
        for part in
            ["evaluations.sqlite", "another run", "python3 worker.py", "dim = 2", "/home/me/wing", "move this one"]
        {
            assert!(error.contains(part), "`{part}` is not in: {error}");
        }
    }
}

#[test]
fn a_run_may_change_its_program_but_not_take_up_the_values_of_another() {
    let (_folder, path) = place();
    let run = filled(&path, &owner(None));
    let changed = |run: Option<&str>| Owner { program: "changed".into(), ..owner(run) };
    for (other, difference) in [
        (changed(None), "the files of the program"),
        (Owner { command: "./simulate".into(), ..owner(None) }, "command was python3 worker.py and is ./simulate"),
        (Owner { protocol: "json".into(), ..owner(None) }, "protocol was jsonl and is json"),
    ] {
        let error = refused(&path, &other, false);
        assert!(matches!(&error, StoreError::OtherProgram { .. }) && error.to_string().contains(difference), "{error}");
    }
    let wide = Owner { dim: 3, ..owner(None) };
    assert!(matches!(refused(&path, &wide, true), StoreError::Foreign { .. }));
    // Whoever knows the run says what it is from now on.
    assert_eq!(filled(&path, &changed(Some(&run))), run);
    assert!(matches!(refused(&path, &owner(None), false), StoreError::OtherProgram { .. }));
    assert_eq!(check(&path, &changed(None), false), Ok(Found::Usable));
    assert_eq!(check(&path, &owner(None), true), Ok(Found::Usable), "forced");
}

/// Makes a store what version 1 of the format was.
fn make_old(path: &Path) {
    let database = Connection::open(path).expect("a database");
    database.execute_batch("DROP TABLE belongs; PRAGMA user_version = 1").expect("changed");
}

#[test]
fn a_store_of_the_version_before_is_read_and_recorded() {
    let (_folder, path) = place();
    filled(&path, &owner(None));
    make_old(&path);
    assert_eq!(read(&path).and_then(|store| store.rows()).expect("rows").len(), 1);
    assert!(matches!(refused(&path, &Owner { dim: 3, ..owner(None) }, false), StoreError::Foreign { .. }));
    assert_eq!(filled(&path, &owner(Some("mine"))), "mine");
    assert_eq!(Store::open(&path).expect("a store").counts().total(), 2, "nothing is lost");
    assert!(matches!(refused(&path, &owner(Some("other")), false), StoreError::Foreign { .. }));
}

#[test]
fn a_store_with_half_a_record_is_damaged() {
    let (_folder, path) = place();
    filled(&path, &owner(None));
    let remove = "DELETE FROM belongs WHERE key = 'dim'";
    Connection::open(&path).and_then(|database| database.execute_batch(remove)).expect("changed");
    assert!(matches!(refused(&path, &owner(None), false), StoreError::Corrupt { .. }));
}

#[test]
fn the_log_of_a_killed_run_does_not_speak_for_another_file() {
    let ((_first, path), (_second, other)) = (place(), place());
    filled(&other, &owner(None));
    let store = Store::open_for(&path, Patience::default(), &owner(None), false).expect("a store");
    let run = store.run().expect("a run").to_string();
    for k in 0..50 {
        store.put(&[f64::from(k), 0.5], &attempt(1.0)).expect("put");
    }
    store.flush().expect("on the disk");
    // What a kill leaves, and then somebody copies the store of another run over it.
    let (_third, mixed) = place();
    let log = |path: &Path| path.with_file_name("evaluations.sqlite-wal");
    fs::copy(log(&path), log(&mixed)).expect("a log");
    fs::copy(&other, &mixed).expect("a store");
    let before = [fs::read(&mixed), fs::read(log(&mixed))].map(|read| read.expect("a file"));
    let error = check(&mixed, &owner(Some(&run)), false).expect_err("not the same run");
    assert!(matches!(error, StoreError::Foreign { .. } | StoreError::Corrupt { .. }), "{error}");
    let after = [fs::read(&mixed), fs::read(log(&mixed))].map(|read| read.expect("a file"));
    assert!(before == after, "a look changes nothing");
}

#[cfg(unix)]
#[test]
fn a_store_that_is_taken_away_is_missed_at_once() {
    type Harm = fn(&Path);
    let harms: [(Harm, &str, bool); 4] = [
        (|path| fs::remove_file(path).expect("removed"), "evaluations.sqlite", false),
        (|path| fs::rename(path, path.with_file_name("x")).expect("moved"), "evaluations.sqlite", false),
        (|path| fs::remove_file(path.with_file_name("evaluations.sqlite-wal")).expect("removed"), "sqlite-wal", false),
        (
            |path| {
                fs::copy(path, path.with_file_name("x")).expect("copied");
                fs::rename(path.with_file_name("x"), path).expect("moved");
            },
            "evaluations.sqlite",
            true,
        ),
    ];
    for (harm, name, is_replaced) in harms {
        let (_folder, path) = place();
        let store = Store::open(&path).expect("a store");
        store.put(&[1.0], &attempt(1.0)).and_then(|()| store.flush()).expect("on the disk");
        harm(&path);
        let error = store.put(&[2.0], &attempt(2.0)).and_then(|()| store.flush()).expect_err("it is gone");
        assert!(matches!(&error, StoreError::Gone { replaced, .. } if *replaced == is_replaced), "{error}");
        assert!(error.to_string().contains(name) && error.to_string().contains("resume the run"), "{error}");
        assert_eq!(store.put(&[3.0], &attempt(3.0)), Err(error), "from then on always");
    }
}
