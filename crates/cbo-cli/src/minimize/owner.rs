//! What the store of a run belongs to, and whether the one in its folder does.

use super::command::CommandSpec;
use super::task::{Subject, Task};
use crate::error::CliError;
use crate::setup::ended_before;
use crate::{interrupt, waits};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::folder::{EVALUATIONS, Folder, POINTS};
use cbo_runs::store::{self, Found, Owner, Store, StoreError};

fn of(task: &Task, spec: &CommandSpec, folder: &Folder, from: Option<&Checkpoint>) -> Owner {
    let mut files = task.files();
    files.remove(POINTS);
    let command = spec.settings.program.text();
    if let Some(from) = from.filter(|from| from.summary.settings.get("command").is_some_and(|then| then == command)) {
        // A file that was not there at the beginning is written by the program.
        files.retain(|path, _| from.summary.files.contains_key(path));
    }
    let place = folder.path().canonicalize().unwrap_or_else(|_| folder.path().into());
    Owner {
        run: from.map(|from| from.summary.run.clone()).filter(|run| !run.is_empty()),
        dim: spec.dim,
        protocol: spec.settings.program.protocol().name().into(),
        command: command.into(),
        program: store::fingerprint(&files),
        folder: place.display().to_string(),
    }
}

/// Refuses a store that is not the one of this run, before anything is changed. Returns what is to be said if there is none.
pub fn check(
    task: &Task,
    folder: &Folder,
    from: Option<&Checkpoint>,
    forced: bool,
) -> Result<Option<String>, CliError> {
    let Subject::Command(spec) = &task.subject else { return Ok(None) };
    let path = folder.file(EVALUATIONS);
    let found = store::check(&path, &of(task, spec, folder, from), forced).map_err(|e| refused(&e))?;
    let had_one = from.is_some_and(|from| from.summary.evaluations > 0 || !from.summary.run.is_empty());
    let missing = had_one && found == Found::Nothing;
    Ok(missing.then(|| {
        let remedy = "a new one is begun, and points are evaluated again where they are needed; to keep the values, end the \
                      run and put the file back";
        format!("{} is missing or empty, and with it what the run has evaluated so far: {remedy}", path.display())
    }))
}

/// Opens the store of a run, or creates it.
pub fn open(
    task: &Task,
    spec: &CommandSpec,
    folder: &Folder,
    from: Option<&Checkpoint>,
    forced: bool,
) -> Result<Store, CliError> {
    let owner = of(task, spec, folder, from);
    Store::open_for(&folder.file(EVALUATIONS), waits::of_store(), &owner, forced).map_err(|e| match e {
        StoreError::Locked(_) if interrupt::requested() => ended_before(),
        e => refused(&e),
    })
}

fn refused(error: &StoreError) -> CliError {
    let more = if matches!(error, StoreError::OtherProgram { .. }) { "; or resume anyway with --force" } else { "" };
    CliError::Usage(format!("{error}{more}"))
}
