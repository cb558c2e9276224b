//! What must hold for any bytes that are read as a config file, or as the history or the film of a run that is resumed.
//! The short fuzzing in `fuzz.rs` and the long one in `fuzz/` check the same.

#![allow(dead_code)] // each target checks one of them

use cbo::{AskTell, CboConfig, History, Observer, Record, StepReport};
use cbo_cli::error::CliError;
use cbo_cli::film::{Film, Snapshot};
use cbo_cli::minimize::history::{from_csv, to_csv};
use cbo_cli::minimize::task::Task;
use cbo_cli::values::{BoundsSpec, InitSpec};
use cbo_cli::{Command, config_file, settings};
use std::cell::RefCell;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;
use tempfile::TempDir;

/// Larger problems are built too, but take longer than a fuzzer has.
const MOST_DIM: usize = 64;

thread_local! {
    /// Where the config file is, with a file of points and one of bounds beside it.
    static FOLDER: TempDir = {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("points.csv"), "1,2\n-3,4e2\n0,0\n").unwrap();
        fs::write(folder.path().join("box.csv"), "-1,1\n-2,2\n").unwrap();
        fs::create_dir(folder.path().join("again")).unwrap();
        folder
    };

    /// Building a command takes as long as reading a hundred files with it.
    static COMMAND: RefCell<clap::Command> = RefCell::new(cbo_cli::command());
}

/// A message is one line of reasonable length, apart from what it repeats of the file.
fn refused(message: &str, text: &str) -> bool {
    assert!(!message.is_empty() && message.chars().count() < 600 + 2 * text.len(), "{message}");
    let odd = |c: char| c.is_control() && c != '\n' && c != '\r' && c != '\t';
    let lines = text.contains(['\\', '\t']) || text.contains("\"\"\"") || text.contains("'''");
    assert!(!message.contains(char::is_control) || lines || text.contains(odd), "{message:?}");
    false
}

fn refused_by_the_command(error: &CliError, text: &str) -> bool {
    assert_eq!(error.code(), 2, "{error:?}");
    match error {
        CliError::Usage(message) | CliError::Pointed { message, .. } => refused(message, text),
        CliError::Clap(_) => false,
        other => panic!("{other:?}"),
    }
}

/// The config file of a run is refused, or the run that it asks for can be written as a config file that asks for the
/// same.
pub fn config(bytes: &[u8]) -> bool {
    entries(&String::from_utf8_lossy(bytes));
    FOLDER.with(|folder| {
        let file = folder.path().join("config.toml");
        fs::write(&file, bytes).unwrap();
        let Some(task) = task(&file, folder.path()) else { return false };
        // As in a run folder.
        let file = folder.path().join("again/config.toml");
        fs::write(&file, settings::to_toml("minimize", &task.entries())).unwrap();
        if let Some(points) = task.points() {
            fs::write(folder.path().join("again/points.csv"), points).unwrap();
        }
        let again = self::task(&file, folder.path()).expect("what was written");
        assert_eq!(again.entries(), task.entries());
        let then = task.entries().into_iter().map(|(key, value)| (key.to_string(), value)).collect();
        let differences = again.differences(&then, &task.files());
        assert!(differences.is_empty(), "{differences:?}");
        true
    })
}

/// The keys of a file are known, and each occurs once; true if the file is one of settings at all.
pub fn entries(text: &str) -> bool {
    static KEYS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let command = cbo_cli::command();
        let minimize = command.find_subcommand("minimize").unwrap();
        minimize.get_arguments().filter_map(|arg| arg.get_long()).chain(["objective"]).map(String::from).collect()
    });
    let keys: Vec<&str> = KEYS.iter().map(String::as_str).collect();
    let lines = 1 + text.matches('\n').count();
    match config_file::parse(text, &keys) {
        Err(error) => {
            assert!((1..=lines).contains(&error.line), "{error:?}");
            refused(&error.message, text)
        }
        Ok(entries) => {
            assert!(entries.is_sorted_by_key(|entry| entry.line));
            for (place, entry) in entries.iter().enumerate() {
                assert!(keys.contains(&entry.key.as_str()) && (1..=lines).contains(&entry.line), "{entry:?}");
                assert!(entries[..place].iter().all(|other| other.key != entry.key), "{entry:?}");
            }
            true
        }
    }
}

/// The run that a file asks for, checked and ready to begin.
fn task(file: &Path, folder: &Path) -> Option<Task> {
    let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
    let refuse = |error: CliError| refused_by_the_command(&error, &text);
    let line = ["cbo".into(), "minimize".into(), "--config".into(), file.into()];
    let (cli, origins) = COMMAND.with_borrow_mut(|command| cbo_cli::parse_by(command, &line)).map_err(refuse).ok()?;
    let Command::Minimize(args) = cli.command else { panic!("another command") };
    let given = [
        args.run.init.as_ref().and_then(|init| if let InitSpec::File(path) = init { Some(path) } else { None }),
        args.run.bounds.as_ref().and_then(|bounds| if let BoundsSpec::File(path) = bounds { Some(path) } else { None }),
    ];
    // Other files on this machine do not concern the test, and may be endless.
    let elsewhere = given.into_iter().flatten().any(|path| !path.starts_with(folder));
    if elsewhere || args.run.problem.dim.is_some_and(|dim| dim > MOST_DIM) {
        return None;
    }
    Task::new(&args, &origins).map_err(refuse).ok()
}

/// The history of a run is refused, or can be written and continued.
pub fn history(bytes: &[u8]) -> bool {
    let Some(records) = std::str::from_utf8(bytes).ok().and_then(from_csv) else { return false };
    let written = to_csv(&records);
    let again = from_csv(&written).expect("what was written");
    assert_eq!(again.len(), records.len());
    assert_eq!(to_csv(&again), written);
    for capacity in [2, records.len(), 4096] {
        let before = records.len();
        let mut history = History::from_records(capacity, records.clone());
        goes_on(&mut history);
        let steps = |records: &[Record]| records.iter().map(|record| record.step).collect::<Vec<_>>();
        assert!(history.records().len() <= before + 3, "{:?}", steps(history.records()));
    }
    true
}

/// The film of a run is refused, or can be written and continued.
pub fn film(bytes: &[u8]) -> bool {
    let Some(mut film) = Film::from_bytes(bytes) else { return false };
    assert_eq!(Film::from_bytes(&film.to_bytes()), Some(film.clone()));
    let mut end = None;
    goes_on(&mut |step: &StepReport<'_, f64>| {
        film.observe(step);
        end = Some(Snapshot::new(step.step(), step.time(), step.ensemble(), step.consensus()));
        ControlFlow::Continue(())
    });
    let end = end.expect("a step");
    let snapshots = film.finish(end.clone());
    assert_eq!(snapshots.last(), Some(&end));
    true
}

/// Steps 1 to 3 of a small run; resumed runs never see step 0.
fn goes_on(observer: &mut impl Observer<f64>) {
    let mut run = AskTell::<f64>::new(&CboConfig { particles: 4, threads: 1, ..CboConfig::default() }, 2).unwrap();
    for step in 0..4 {
        let energies: Vec<f64> = run.ask().iter().map(|x| x[0] * x[0] + x[1] * x[1]).collect();
        let told = if step == 0 { run.tell(&energies, &mut ()) } else { run.tell(&energies, observer) };
        told.unwrap();
    }
}
