//! Where the ranks of a run keep its particles: large swarms in files of their own, if all ranks see the folder of the run; otherwise the first
//! rank has all of them in its checkpoint.

use super::{Assignment, Kind, refused, several};
use crate::error::{CliError, told as told_of};
use crate::minimize::state_refused;
use cbo::StateError;
use cbo::ranks::{Columns, Communicator, Particles, agree_on, is_apart, tell_all};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::files::{Handle, read_own};
use cbo_runs::folder::Folder;
use cbo_runs::parts::{InFiles, PARTS, Parts, Scribe, joined};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Bytes of positions from which each rank writes its own particles, and the variable that says otherwise.
const LARGE: u64 = 64 << 20;
const VARIABLE: &str = "CBO_CHECKPOINT_PARTS";

/// The folder of a run, as the other ranks should see it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    folder: PathBuf,
    /// A file in it, and what that holds.
    mark: String,
    token: String,
    /// Whether ranks are to write their particles there, and not only to read.
    large: bool,
}

/// What a rank needs to resume a run and to keep it.
#[derive(Debug, Default)]
pub struct Keeping {
    /// The state; empty if the run begins.
    pub state: Vec<u8>,
    /// Where the particles are that it lacks.
    pub columns: Option<Arc<dyn Columns>>,
    /// Who writes the particles of this rank.
    pub scribe: Option<Scribe>,
}

/// From how many bytes on ranks write their own particles.
fn threshold() -> Result<u64, CliError> {
    let Ok(text) = std::env::var(VARIABLE) else { return Ok(LARGE) };
    let remedy = "give bytes: ranks write their own particles from there on";
    text.trim().parse().map_err(|_| CliError::setting(VARIABLE, &text, remedy))
}

impl Place {
    /// Marks the folder of a run for the other ranks to find, if it is of use to them: to write so many bytes of positions, or to read the
    /// parts of a checkpoint. What cannot be marked is not shared.
    pub fn mark(folder: Option<&Folder>, from: Option<&Checkpoint>, bytes: u64) -> Result<Option<Self>, CliError> {
        let large = bytes >= threshold()?;
        let Some(folder) = folder.filter(|_| large || from.is_some_and(|from| is_apart(&from.state))) else {
            return Ok(None);
        };
        let process = std::process::id();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_nanos());
        // A temporary name: whoever opens the folder later removes what was left behind.
        let (mark, token) = (format!(".ranks.{process}.tmp"), format!("{process} {now}"));
        let place = folder.path().canonicalize().ok();
        let write = |place: &Path| Handle::new(place)?.write_loosely(&mark, token.as_bytes());
        let marked = place.filter(|place| write(place).is_ok());
        Ok(marked.map(|folder| Self { folder, mark, token, large }))
    }

    /// Whether this rank sees the folder and can write there; or why not.
    fn seen(&self, rank: usize) -> Result<Scribe, String> {
        let path = self.folder.display();
        let fault = |what: &str, error: &dyn std::fmt::Display| format!("it cannot {what} {path}: {error}");
        let found = read_own(&self.folder.join(&self.mark)).map_err(|error| fault("see", &error))?;
        if found != self.token.as_bytes() {
            return Err(format!("{path} is another folder there"));
        }
        let write = || {
            let (handle, own) = (Handle::new(&self.folder)?, format!(".ranks-{rank}.{}.tmp", std::process::id()));
            handle.write_loosely(&own, b"").and_then(|()| handle.remove(&own))?;
            Scribe::new(&self.folder, rank)
        };
        write().map_err(|error| fault("write to", &error))
    }

    /// What came of it on all ranks together: the same on each.
    fn shared(&self, ranks: &Arc<dyn Communicator>) -> Result<Scribe, String> {
        let seen = self.seen(ranks.rank());
        let agreed = agree_on(ranks, seen.as_ref().map(|_| Vec::new()).map_err(Clone::clone));
        agreed.map_err(|disagreement| disagreement.to_string()).and(seen)
    }
}

impl Keeping {
    fn new(place: Option<&Place>, state: Vec<u8>, list: &[u8], scribe: Option<Scribe>) -> Self {
        let parts = || Some((&place?.folder, Parts::from_json(list).ok()?));
        let columns = if is_apart(&state) { parts() } else { None };
        let columns = columns.map(|(folder, parts)| Arc::new(InFiles::new(folder, &parts)) as Arc<dyn Columns>);
        Self { state, columns, scribe: scribe.filter(|_| place.is_some_and(|place| place.large)) }
    }

    /// The particles of the ranks, for a run that begins or resumes with this.
    pub fn particles(&self, ranks: &Arc<dyn Communicator>, whole: bool) -> Particles {
        let particles = Particles::new(ranks.clone()).whole(whole);
        match &self.columns {
            Some(columns) => particles.with_columns(columns.clone()),
            None => particles,
        }
    }
}

/// Tells the other ranks to take part in a run of the folder, from a checkpoint if there is one, and waits until they are ready; to be called
/// by the first. `facts` must be the same on all of them, and the positions have so many `bytes`.
pub fn lead(
    mut assignment: Assignment,
    facts: Vec<(String, String)>,
    (folder, from): (Option<&Folder>, Option<&Checkpoint>),
    bytes: u64,
) -> Result<Keeping, CliError> {
    let Some(ranks) = several() else { return Ok(Keeping::default()) };
    let path = folder.map_or(Path::new("."), Folder::path);
    if assignment.kind != Kind::Particles {
        // The others need no state.
        let state = whole(from, path).map_err(|error| state_refused(&error))?;
        return super::tell(&assignment, facts).map(|()| Keeping { state, ..Keeping::default() });
    }
    assignment.place = Place::mark(folder, from, bytes)?;
    let place = assignment.place.as_ref();
    let told = super::tell(&assignment, facts);
    let shared = told.as_ref().ok().and(place).map(|place| place.shared(ranks));
    if let Some(place) = place {
        let _ = fs::remove_file(place.folder.join(&place.mark));
    }
    told?;
    if let (Some(Err(why)), Some(folder)) = (&shared, folder) {
        folder.log(&format!("checkpoints are written by the first rank alone, because not all see the folder: {why}"));
    }
    let scribe = shared.and_then(Result::ok);
    let list = from.filter(|from| scribe.is_some() && is_apart(&from.state)).and_then(|from| from.more.get(PARTS));
    let prepared = match (list, from) {
        (Some(list), Some(from)) => Ok((from.state.clone(), list.clone())),
        _ => whole(from, path).map(|state| (state, Vec::new())),
    };
    let agreed = agree_on(ranks, prepared.as_ref().map(|_| Vec::new()).map_err(|error| told_of(error)));
    let (state, list) = prepared.map_err(|error| state_refused(&error))?;
    agreed.map_err(refused)?;
    let (state, list) = (tell_all(&**ranks, state), tell_all(&**ranks, list));
    Ok(Keeping::new(place, state, &list, scribe))
}

/// What the first rank does there, on all others.
pub(super) fn follow(ranks: &Arc<dyn Communicator>, assignment: &Assignment) -> Option<Keeping> {
    let place = assignment.place.as_ref();
    let scribe = place.and_then(|place| place.shared(ranks).ok());
    agree_on(ranks, Ok(Vec::new())).ok()?;
    let (state, list) = (tell_all(&**ranks, Vec::new()), tell_all(&**ranks, Vec::new()));
    Some(Keeping::new(place, state, &list, scribe))
}

/// The state of a checkpoint in one piece; empty if there is none.
fn whole(from: Option<&Checkpoint>, folder: &Path) -> Result<Vec<u8>, StateError> {
    from.map_or(Ok(Vec::new()), |from| joined(from.clone(), folder).map(|whole| whole.state))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_marker_is_written_or_read_through_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, theirs) = (place.path().join("run"), place.path().join("theirs"));
        let own = format!(".ranks-0.{}.tmp", std::process::id());
        let mark = format!(".ranks.{}.tmp", std::process::id());
        let run = Folder::create(&folder, false).expect("a folder");
        fs::write(&theirs, "theirs").expect("a file");
        let mark_of = || Place::mark(Some(&run), None, u64::MAX).expect("a limit");
        symlink(&theirs, folder.join(&mark)).expect("a link");
        assert!(mark_of().is_none());
        fs::remove_file(folder.join(&mark)).expect("removed");
        let place = mark_of().expect("a mark");
        place.seen(0).expect("the folder");
        symlink(&theirs, folder.join(&own)).expect("a link");
        assert!(place.seen(0).expect_err("a link").contains("symbolic link"));
        fs::remove_file(folder.join(&own)).expect("removed");
        fs::rename(folder.join(&mark), folder.join("elsewhere")).expect("moved");
        symlink(folder.join("elsewhere"), folder.join(&mark)).expect("a link");
        assert!(place.seen(0).expect_err("a link").contains("symbolic link"));
        assert_eq!(fs::read_to_string(&theirs).expect("a file"), "theirs");
    }
}
