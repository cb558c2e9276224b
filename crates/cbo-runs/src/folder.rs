//! A run folder: whose it is, what happened in it, and how far the run is.

mod error;
mod lock;

pub use error::FolderError;

use crate::checkpoint::{Checkpoint, CheckpointError, HISTORY};
use crate::files::{self, For};
use crate::parts::{self, PARTS, Parts};
use crate::timestamp::timestamp;
use error::fault;
pub(crate) use error::unreadable;
use lock::Lock;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The settings of the run, which repeat it.
pub const CONFIG: &str = "config.toml";
/// The newest checkpoint.
pub const CHECKPOINT: &str = "checkpoint.cbo";
/// The one before it.
pub const PREVIOUS: &str = "checkpoint.previous.cbo";
/// A newest checkpoint that could not be used.
const DAMAGED: &str = "checkpoint.damaged.cbo";
/// One before it that could not be used either.
const DAMAGED_PREVIOUS: &str = "checkpoint.previous.damaged.cbo";
/// The evaluations of an external objective.
pub const EVALUATIONS: &str = "evaluations.sqlite";
/// Initial points that were given.
pub const POINTS: &str = "points.csv";
/// What happened, and when.
pub const LOG: &str = "log.txt";
/// The steps of the run, as a [track](crate::track).
pub const STEPS: &str = "steps.track";
/// Its particles on their way, as another.
pub const SWARM: &str = "swarm.track";
/// What the workers of a program are doing.
pub const WORKERS: &str = "workers.json";
/// Which process uses the folder.
const LOCK: &str = "lock";
/// What a run reads or adds to; no link may be in their place.
const OPENED: [&str; 12] = [
    LOCK,
    LOG,
    CONFIG,
    CHECKPOINT,
    PREVIOUS,
    EVALUATIONS,
    "evaluations.sqlite-wal",
    "evaluations.sqlite-shm",
    POINTS,
    STEPS,
    SWARM,
    WORKERS,
];
/// One of these, beside the settings, makes a folder a run folder.
const MARKS: [&str; 3] = [CHECKPOINT, PREVIOUS, LOG];
/// The beginning of the names of folders that hold a replaced run.
const REPLACED: &str = "replaced-";

/// A folder that is ours for as long as this lives: nobody else can use it meanwhile.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    lock: Lock,
}

impl Folder {
    /// A folder for a new run, created if needed. A run that is already there is replaced only if `replace` is set.
    pub fn create(path: &Path, replace: bool) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(fault(path))?;
        refuse_links(path)?;
        let has = |names: &[String], wanted: &[&str]| names.iter().any(|name| wanted.contains(&name.as_str()));
        let occupied = |names: &[String]| has(names, &[CONFIG]) && has(names, &MARKS);
        let names = files::names(path).map_err(unreadable(path))?;
        let others: Vec<&str> = names.iter().map(String::as_str).filter(|n| !is_ours(n)).collect();
        if !others.is_empty() && !occupied(&names) {
            let more = if others.len() > 3 { format!(" and {} more", others.len() - 3) } else { String::new() };
            let names = others[..others.len().min(3)].join(", ") + &more;
            return Err(FolderError::Foreign { folder: path.into(), names });
        }
        let folder = Self::lock(path)?;
        // Looked at again: another process may have begun a run in between.
        let names = files::names(path).map_err(unreadable(path))?;
        if occupied(&names) {
            if !replace {
                return Err(FolderError::Occupied(path.into()));
            }
            folder.set_aside()?;
        }
        folder.tidy()?;
        Ok(folder)
    }

    /// An existing run folder.
    pub fn open(path: &Path) -> Result<Self, FolderError> {
        is_run(path)?;
        let folder = Self::lock(path)?;
        folder.tidy()?;
        Ok(folder)
    }

    fn lock(path: &Path) -> Result<Self, FolderError> {
        Ok(Self { path: path.into(), lock: Lock::take(path)? })
    }

    /// Whether it still is the folder that was locked. A folder that was moved away, or another one in its place, is not ours to write to.
    pub fn check(&self) -> Result<(), FolderError> {
        self.lock.check_folder(&self.path)?;
        if self.lock.check_file(&self.path)? {
            self.log("the file lock was removed, and is written anew; the folder was locked all the time");
        }
        Ok(())
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Writes a file, whole or not at all. If the folder is moved away meanwhile, the file goes with it: never into another one in its
    /// place, where the system can hold a folder open.
    pub fn write(&self, name: &str, contents: &[u8]) -> Result<(), FolderError> {
        self.check()?;
        self.lock.handle.write_whole(name, contents).map_err(self.fault(name))
    }

    /// The same without waiting for the disk, for files that are only looked at.
    pub fn write_loosely(&self, name: &str, contents: &[u8]) -> Result<(), FolderError> {
        self.check()?;
        self.lock.handle.write_loosely(name, contents).map_err(self.fault(name))
    }

    /// Opens a file for writing at its end.
    pub fn add_to(&self, name: &str) -> io::Result<fs::File> {
        self.lock.handle.open_own(name, For::Adding)
    }

    /// Writes a checkpoint in the same way; the one before it is kept.
    pub fn save(&self, checkpoint: &Checkpoint) -> Result<(), FolderError> {
        self.check()?;
        let (handle, bytes) = (&self.lock.handle, checkpoint.to_bytes());
        // One that was read from here and is saved again has no other parts: what is before it stays, so that a damaged part is not in both.
        let written = match self.parts_are_those_of(checkpoint) {
            true => handle.write_whole(CHECKPOINT, &bytes),
            false => handle.write_keeping(CHECKPOINT, PREVIOUS, &bytes),
        };
        self.sweep();
        written.map_err(self.fault(CHECKPOINT))
    }

    /// Whether the newest checkpoint here has the same parts.
    fn parts_are_those_of(&self, checkpoint: &Checkpoint) -> bool {
        let Some(list) = checkpoint.more.get(PARTS) else { return false };
        let bytes = self.lock.handle.read_own(CHECKPOINT).unwrap_or_default();
        Checkpoint::from_bytes(&bytes).is_ok_and(|present| present.more.get(PARTS) == Some(list))
    }

    /// Removes parts that no checkpoint lists, nor one that was set aside: of earlier ones, and of one that did not come about. None is
    /// removed while there is a checkpoint that cannot be read: a newer cbo may have written it.
    pub fn sweep(&self) {
        let Ok(names) = self.names() else { return };
        let parts: Vec<_> = names.iter().filter_map(|name| name.to_str()).filter(|name| parts::is_part(name)).collect();
        if parts.is_empty() {
            return;
        }
        let mut listed: Vec<String> = Vec::new();
        for name in [CHECKPOINT, PREVIOUS, DAMAGED, DAMAGED_PREVIOUS] {
            let checkpoint = match self.lock.handle.read_own(name) {
                Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
                Err(_) => return,
                Ok(bytes) => Checkpoint::from_bytes(&bytes),
            };
            match checkpoint.map(|checkpoint| Parts::of(&checkpoint)) {
                Ok(Ok(parts)) => listed.extend(parts.iter().flat_map(Parts::names).map(String::from)),
                _ if [DAMAGED, DAMAGED_PREVIOUS].contains(&name) => {}
                _ => return,
            }
        }
        for name in parts.into_iter().filter(|name| !listed.iter().any(|listed| listed == name)) {
            let _ = self.lock.handle.remove(name);
        }
    }

    /// The newest checkpoint that can be read, and what is wrong with a newer one that cannot.
    pub fn load(&self) -> Result<(Checkpoint, Option<String>), FolderError> {
        let (checkpoint, fault) = newest(&self.path, |name| self.lock.handle.read_own(name), true)?;
        if fault.is_some() {
            // Out of the way: otherwise the next checkpoint would make it the previous one, in place of the good one.
            self.lock.handle.rename(CHECKPOINT, DAMAGED).map_err(self.fault(CHECKPOINT))?;
        }
        Ok((checkpoint, fault))
    }

    /// Moves checkpoints that cannot be used out of the way, for a run that is begun again. They are kept.
    pub fn set_checkpoints_aside(&self) -> Result<(), FolderError> {
        for (name, aside) in [(CHECKPOINT, DAMAGED), (PREVIOUS, DAMAGED_PREVIOUS)] {
            match self.lock.handle.rename(name, aside) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(self.fault(name)(e)),
                _ => {}
            }
        }
        Ok(())
    }

    /// Adds a line to the log, with the time. A log that cannot be written stops nothing.
    pub fn log(&self, line: &str) {
        if self.lock.check_folder(&self.path).is_err() {
            return;
        }
        let log = self.lock.handle.open_own(LOG, For::Adding);
        let _ = log.and_then(|mut log| writeln!(log, "{} {line}", timestamp(SystemTime::now())));
    }

    /// Removes what a program left behind when it was killed while writing.
    fn tidy(&self) -> Result<(), FolderError> {
        for name in self.names()? {
            if files::is_temporary(&name.to_string_lossy()) {
                let _ = self.lock.handle.remove(&name);
            }
        }
        self.sweep();
        Ok(())
    }

    /// Moves the run that is to be replaced into a folder of its own below this one.
    fn set_aside(&self) -> Result<(), FolderError> {
        let mut names = self.names()?;
        names.retain(|name| name != LOCK && !name.to_string_lossy().starts_with(REPLACED));
        // First what makes it a run that can be resumed, the settings last: if this is cut off, it is no longer a run.
        names.sort_by_key(|name| (name == CONFIG, !MARKS.iter().any(|mark| name == mark), name.clone()));
        let handle = &self.lock.handle;
        let free = (1..).map(|n| format!("{REPLACED}{n}")).find(|place| handle.look(place).is_err());
        let Some(place) = free else { return Ok(()) };
        handle.make_folder(&place).map_err(self.fault(&place))?;
        for name in names {
            handle.rename(&name, Path::new(&place).join(&name)).map_err(self.fault(&name))?;
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<OsString>, FolderError> {
        self.lock.handle.names().map_err(unreadable(&self.path))
    }

    /// What to say of a file that cannot be written: first of all that the folder is gone, if it is.
    fn fault(&self, name: impl AsRef<Path>) -> impl Fn(io::Error) -> FolderError + '_ {
        let path = self.path.join(name);
        move |error| self.lock.check_folder(&self.path).err().unwrap_or_else(|| fault(&path)(error))
    }
}

/// Whether a run uses a file or folder of this name in its folder.
pub fn is_own(name: &str) -> bool {
    OPENED.contains(&name) || [DAMAGED, DAMAGED_PREVIOUS].contains(&name) || parts::is_part(name) || is_ours(name)
}

/// Whether a file of this name may be in a folder that does not hold a run yet.
fn is_ours(name: &str) -> bool {
    [LOCK, LOG].contains(&name) || name.starts_with(REPLACED) || files::is_temporary(name)
}

/// Refuses a folder in which a link is in the place of a file that a run opens.
fn refuse_links(path: &Path) -> Result<(), FolderError> {
    let link = OPENED.iter().map(|name| path.join(name)).find(|file| files::is_link(file));
    link.map_or(Ok(()), |link| Err(FolderError::Link(link)))
}

/// Checks that this is a run folder.
fn is_run(path: &Path) -> Result<(), FolderError> {
    if !path.exists() {
        return Err(FolderError::Missing(path.into()));
    }
    refuse_links(path)?;
    // Many programs have a file of that name.
    if !path.join(CONFIG).is_file() || !MARKS.iter().any(|mark| path.join(mark).is_file()) {
        return Err(FolderError::NotARun(path.into()));
    }
    Ok(())
}

/// The newest checkpoint of a folder that can be read, and what is wrong with a newer one that cannot. Its parts, if it has any, must be
/// there; if `thorough`, they are read as well.
fn newest(
    folder: &Path,
    read: impl Fn(&str) -> io::Result<Vec<u8>>,
    thorough: bool,
) -> Result<(Checkpoint, Option<String>), FolderError> {
    let mut faults = Vec::new();
    for name in [CHECKPOINT, PREVIOUS] {
        let path = folder.join(name);
        let bytes = match read(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            read => read.map_err(unreadable(&path))?,
        };
        match Checkpoint::from_bytes(&bytes) {
            Ok(checkpoint) => {
                let fault = match Parts::of(&checkpoint) {
                    Ok(parts) => parts.map_or(Ok(None), |parts| parts.fault(folder, thorough))?,
                    Err(fault) => Some(fault),
                };
                match fault {
                    None => return Ok((checkpoint, faults.pop())),
                    Some(fault) => faults.push(format!("{name} cannot be used: {fault}")),
                }
            }
            // An older state would be a step back that nobody asked for.
            Err(error @ CheckpointError::Newer { .. }) => {
                return Err(FolderError::Newer { path, error });
            }
            Err(error) => faults.push(format!("{name} cannot be used: {error}")),
        }
    }
    Err(FolderError::NoCheckpoint { folder: folder.into(), why: faults.join("; ") })
}

/// What can be seen of a run from outside, during it or after.
#[derive(Clone, Debug)]
pub struct Look {
    /// The process that is at work, if one is; 0 if it is not known.
    pub running: Option<u32>,
    /// Its newest checkpoint, if there is one.
    pub checkpoint: Option<Checkpoint>,
    /// When that was written.
    pub written: Option<SystemTime>,
    /// What is wrong with its checkpoints, if something is.
    pub fault: Option<String>,
}

impl Look {
    /// Its history so far, as the CSV file that the run writes at its end.
    pub fn history(&self) -> Option<&str> {
        let section = self.checkpoint.as_ref()?.more.get(HISTORY)?;
        std::str::from_utf8(section).ok()
    }

    /// `running`, `finished` or `interrupted`.
    pub fn state(&self) -> &'static str {
        let stop = self.checkpoint.as_ref().and_then(|c| c.summary.stop.as_deref());
        match (self.running, stop) {
            (Some(_), _) => "running",
            (None, Some(stop)) if stop != "interrupt" => "finished",
            (None, _) => "interrupted",
        }
    }
}

/// The process that is at work in a folder, if one is; 0 if it is not known.
pub fn worker(path: &Path) -> Option<u32> {
    lock::is_held(path).then(|| lock::holder(path).unwrap_or(0))
}

/// Looks at a run folder without touching it.
pub fn look(path: &Path) -> Result<Look, FolderError> {
    is_run(path)?;
    let running = worker(path);
    let written = || fs::metadata(path.join(CHECKPOINT)).and_then(|m| m.modified()).ok();
    match newest(path, |name| files::read_own(&path.join(name)), false) {
        Ok((checkpoint, fault)) => Ok(Look { running, checkpoint: Some(checkpoint), written: written(), fault }),
        Err(FolderError::NoCheckpoint { why, .. }) => {
            let fault = (!why.is_empty()).then_some(why);
            Ok(Look { running, checkpoint: None, written: None, fault })
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;
