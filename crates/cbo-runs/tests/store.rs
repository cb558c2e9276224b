//! The store of evaluations: what is put is found again, others can read it, plain SQL can use it.

use cbo_runs::external::{Attempt, Outcome};
use cbo_runs::store::{Store, StoreError, read};
use proptest::prelude::*;
use rusqlite::Connection;
use std::path::{Path, PathBuf};

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("evaluations.sqlite");
    (folder, path)
}

fn attempt(attempt: u32, outcome: Outcome) -> Attempt {
    Attempt { job: 0, attempt, outcome, seconds: 0.25, stderr: "a note".into() }
}

/// A store with some rows.
fn filled(path: &Path, rows: u32) {
    let store = Store::open(path).expect("a store");
    for k in 0..rows {
        store.put(&[f64::from(k), 0.1], &attempt(1, Outcome::Value(f64::from(k)))).expect("put");
    }
    store.flush().expect("flushed");
}

fn outcomes() -> Vec<Outcome> {
    vec![
        Outcome::Value(1.0 / 3.0),
        Outcome::Value(-0.0),
        Outcome::Value(f64::INFINITY),
        Outcome::Value(5e-324),
        Outcome::Value(-f64::MAX),
        Outcome::NoValue("no \"mesh\"\n'; DROP TABLE evaluations".into()),
        Outcome::Timeout,
        Outcome::Died("signal 9".into()),
        Outcome::Garbage("he\0llo, 世界".into()),
        Outcome::NotStarted("no such file".into()),
    ]
}

fn x(k: usize) -> [f64; 3] {
    [0.1 * k as f64, -0.0, 1e300]
}

/// The outcomes above, each an attempt at a point of its own.
fn put_all(store: &Store) {
    for (k, outcome) in outcomes().into_iter().enumerate() {
        assert_eq!(store.known(&x(k)), None);
        store.put(&x(k), &attempt(k as u32 + 1, outcome)).expect("put");
    }
}

#[test]
fn what_is_put_is_known_also_later() {
    let (_folder, path) = place();
    let store = Store::open(&path).expect("a store");
    put_all(&store);
    let assert_known = |store: &Store| {
        for (k, outcome) in outcomes().iter().enumerate() {
            let known = store.known(&x(k)).expect("known");
            assert_eq!((known.attempt, &known.outcome), (k as u32 + 1, outcome));
            assert_eq!(known.outcome.value().is_sign_negative(), outcome.value().is_sign_negative());
        }
        assert_eq!(store.known(&[0.0, 0.0, 1e300]), None, "0.0 is not -0.0");
        let counts = store.counts();
        assert_eq!((counts.total(), counts.seconds, counts.by_status["ok"]), (10, 2.5, 4));
        assert_eq!(counts.by_status.len(), 7);
    };
    assert_known(&store);
    drop(store);
    assert_known(&Store::open(&path).expect("the store again"));
}

#[test]
fn what_is_put_is_read_back() {
    let (_folder, path) = place();
    put_all(&Store::open(&path).expect("a store"));
    let reading = read(&path).expect("readable");
    let rows = reading.rows().expect("rows");
    assert_eq!(rows.iter().map(|row| row.outcome.clone()).collect::<Vec<_>>(), outcomes());
    for (k, row) in rows.iter().enumerate() {
        assert_eq!((row.id, row.attempt, row.seconds), (k as i64 + 1, k as u32 + 1, 0.25));
        assert_eq!(row.point.iter().map(|v| v.to_bits()).collect::<Vec<_>>(), x(k).map(f64::to_bits));
        assert_eq!(row.stderr, "a note");
        assert!(row.finished.starts_with("20") && row.finished.ends_with('Z') && row.finished.len() == 24);
    }
    let summary = reading.summary(2).expect("a summary");
    assert_eq!((summary.counts.total(), summary.points), (10, 1), "the others are later attempts");
    assert_eq!(summary.best.as_ref(), Some(&rows[4]));
    assert_eq!(summary.mean_seconds(), Some(0.25));
    assert_eq!(summary.failures.iter().map(|row| row.id).collect::<Vec<_>>(), [10, 9], "the latest first");
    assert_eq!(summary.last.as_ref(), Some(&rows[9].finished));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]
    #[test]
    fn any_point_and_value_are_known_again(
        points in prop::collection::vec((prop::collection::vec(prop::num::f64::ANY, 1..6), prop::num::f64::ANY), 1..20)
    ) {
        let (_folder, path) = place();
        let store = Store::open(&path).expect("a store");
        for (x, value) in &points {
            store.put(x, &attempt(1, Outcome::of(*value))).expect("put");
        }
        let before: Vec<_> = points.iter().map(|(x, _)| store.known(x)).collect();
        drop(store);
        let store = Store::open(&path).expect("the store again");
        for ((x, _), before) in points.iter().zip(before) {
            let (now, before) = (store.known(x).expect("known"), before.expect("known before"));
            prop_assert_eq!(now.outcome.value().to_bits(), before.outcome.value().to_bits());
            prop_assert_eq!(now, before);
        }
    }
}

#[test]
fn plain_sql_can_use_it() {
    let (_folder, path) = place();
    filled(&path, 5);
    let database = Connection::open(&path).expect("a database");
    let one = |query: &str| database.query_row(query, [], |row| row.get::<_, f64>(0)).expect(query);
    assert_eq!(one("SELECT max(value) FROM evaluations"), 4.0);
    assert_eq!(one("SELECT sum(j.value) FROM evaluations, json_each(point) AS j WHERE j.key = 0"), 10.0);
    let mode: String = database.query_row("PRAGMA journal_mode", [], |row| row.get(0)).expect("a mode");
    assert_eq!(mode, "wal");
}

#[test]
fn others_read_while_a_run_writes() {
    let (_folder, path) = place();
    let store = Store::open(&path).expect("a store");
    let mut seen = 0;
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for k in 0..3000 {
                store.put(&[f64::from(k)], &attempt(1, Outcome::Value(f64::from(k)))).expect("put");
                if k % 30 == 0 {
                    store.flush().expect("flushed");
                }
            }
            store.flush().expect("flushed");
        });
        loop {
            let done = writer.is_finished();
            let reading = read(&path).expect("readable");
            let rows = reading.rows().expect("rows");
            for (k, row) in rows.iter().enumerate() {
                assert_eq!(row.point, [k as f64], "in order, without gaps");
            }
            let summary = reading.summary(1).expect("a summary");
            assert!(rows.len() >= seen && summary.counts.total() >= rows.len() as u64);
            seen = rows.len();
            if done {
                break;
            }
        }
    });
    assert_eq!(seen, 3000);
}

#[test]
fn a_slow_reader_does_not_stop_the_writer() {
    let (_folder, path) = place();
    filled(&path, 100);
    let store = Store::open(&path).expect("a store");
    let reading = read(&path).expect("readable");
    let mut count = 0;
    let whole = reading.each(|row| {
        // The reader is in the middle of its rows all this time.
        store.put(&[-1.0, row.id as f64], &attempt(1, Outcome::Timeout)).and_then(|()| store.flush())?;
        count += 1;
        Ok::<_, StoreError>(())
    });
    assert_eq!(whole, Ok(()));
    assert_eq!(count, 100, "what came later belongs to the next reading");
    assert_eq!(reading.rows().expect("rows").len(), 200);
}

#[test]
fn reading_can_end_early() {
    let (_folder, path) = place();
    filled(&path, 10);
    let mut count = 0;
    let ended = read(&path).expect("readable").each(|_| {
        count += 1;
        if count == 3 { Err(StoreError::Full("enough".into())) } else { Ok(()) }
    });
    assert_eq!((count, ended), (3, Err(StoreError::Full("enough".into()))));
}

#[test]
fn many_puts_from_many_threads_all_arrive() {
    let (_folder, path) = place();
    let store = Store::open(&path).expect("a store");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let store = &store;
            scope.spawn(move || {
                for k in 0..5000 {
                    store.put(&[f64::from(thread), f64::from(k)], &attempt(1, Outcome::Value(1.0))).expect("put");
                }
            });
        }
    });
    drop(store);
    let store = Store::open(&path).expect("the store again");
    assert_eq!(store.counts().total(), 20_000);
    assert!((0..4).all(|t| (0..5000).all(|k| store.known(&[f64::from(t), f64::from(k)]).is_some())));
}
