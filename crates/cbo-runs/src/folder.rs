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
mod tests {
    use super::*;
    use crate::checkpoint::Summary;

    fn at(step: u64) -> Checkpoint {
        Checkpoint { summary: Summary { step, ..Summary::default() }, ..Checkpoint::default() }
    }

    fn run() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&place.path().join("run"), false).expect("a new folder");
        folder.log("begun");
        folder.write(CONFIG, b"objective = 'sphere'\n").expect("a file");
        (place, folder)
    }

    #[test]
    fn one_process_at_a_time_uses_a_folder_and_a_dead_one_leaves_it_free() {
        let (_place, folder) = run();
        let error = Folder::open(folder.path()).expect_err("in use").to_string();
        assert!(error.contains(&format!("process {}", std::process::id())), "{error}");
        assert_eq!(look(folder.path()).expect("a look").state(), "running");
        let path = folder.path().to_path_buf();
        drop(folder);
        assert_eq!(look(&path).expect("a look").state(), "interrupted");
        Folder::open(&path).expect("free again");
    }

    #[test]
    fn a_run_is_not_overwritten_by_accident_and_something_else_never() {
        let (place, folder) = run();
        folder.save(&at(3)).expect("a checkpoint");
        let path = folder.path().to_path_buf();
        drop(folder);
        assert!(matches!(Folder::create(&path, false), Err(FolderError::Occupied(_))));
        let folder = Folder::create(&path, true).expect("replaced");
        assert!(matches!(folder.load(), Err(FolderError::NoCheckpoint { .. })));
        assert!(path.join("replaced-1/checkpoint.cbo").is_file() && path.join("replaced-1/config.toml").is_file());
        drop(folder);
        Folder::create(&path, false).expect("a replaced run is not a run");
        fs::write(place.path().join("thesis.tex"), "").expect("a file");
        for force in [false, true] {
            let error = Folder::create(place.path(), force).expect_err("not ours").to_string();
            assert!(error.contains("thesis.tex"), "{error}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn no_file_is_opened_through_a_link() {
        let place = tempfile::tempdir().expect("a folder");
        let mine = place.path().join("mine");
        for name in OPENED {
            let path = place.path().join(format!("run-{name}"));
            let folder = Folder::create(&path, false).expect("ours");
            folder.write(CONFIG, b"").and_then(|()| folder.save(&at(1))).expect("written");
            folder.log("begun");
            drop(folder);
            let _ = fs::remove_file(path.join(name));
            std::os::unix::fs::symlink(&mine, path.join(name)).expect("a link");
            for error in [
                Folder::open(&path).map(drop),
                Folder::create(&path, false).map(drop),
                Folder::create(&path, true).map(drop),
                look(&path).map(drop),
            ] {
                let error = error.expect_err("a link").to_string();
                assert!(error.contains(name) && error.contains("symbolic link"), "{error}");
            }
            assert!(!mine.exists(), "{name}");
        }
    }

    #[test]
    fn a_damaged_checkpoint_is_stepped_over_and_named() {
        let (_place, folder) = run();
        (1..=3).for_each(|step| folder.save(&at(step)).expect("a checkpoint"));
        let (checkpoint, fault) = folder.load().expect("a checkpoint");
        assert_eq!((checkpoint.summary.step, fault), (3, None));
        let bytes = fs::read(folder.file(CHECKPOINT)).expect("a file");
        for length in 0..bytes.len() {
            fs::write(folder.file(CHECKPOINT), &bytes[..length]).expect("a file");
            let (checkpoint, fault) = folder.load().expect("the one before");
            assert_eq!(checkpoint.summary.step, 2);
            assert!(fault.expect("a word about it").contains(CHECKPOINT));
            assert!(folder.file(DAMAGED).is_file() && !folder.file(CHECKPOINT).exists());
        }
        assert_eq!(folder.load().expect("the one before").0.summary.step, 2);
        fs::write(folder.file(PREVIOUS), b"CBORUN\r\n").expect("a file");
        let error = folder.load().expect_err("nothing left").to_string();
        assert!(error.contains(PREVIOUS), "{error}");
    }

    #[test]
    fn a_checkpoint_of_a_newer_version_is_not_stepped_over() {
        let (_place, folder) = run();
        (1..=2).for_each(|step| folder.save(&at(step)).expect("a checkpoint"));
        let mut bytes = fs::read(folder.file(CHECKPOINT)).expect("a file");
        bytes[8] = 9;
        fs::write(folder.file(CHECKPOINT), &bytes).expect("a file");
        let error = folder.load().expect_err("too new").to_string();
        assert!(error.contains("version 9") && error.contains("newer cbo"), "{error}");
    }

    #[test]
    fn what_a_killed_writer_left_is_removed() {
        let (_place, folder) = run();
        let path = folder.path().to_path_buf();
        fs::write(path.join(".checkpoint.cbo.123.tmp"), b"half").expect("a file");
        drop(folder);
        Folder::open(&path).expect("ours");
        assert!(!path.join(".checkpoint.cbo.123.tmp").exists());
    }
}
