//! Checkpoints at regular times, even if the disk is full for a while.

use crate::checkpoint::Checkpoint;
use crate::folder::{Folder, FolderError};
use std::time::{Duration, Instant};

/// Writes the checkpoints of a run.
#[derive(Debug)]
pub struct Keeper {
    folder: Folder,
    every: Duration,
    last: Instant,
    failing: bool,
}

impl Keeper {
    /// For the run in `folder`, with this time between checkpoints.
    pub fn new(folder: Folder, every: Duration) -> Self {
        // A monotonic clock: the system clock may be set back.
        Self { folder, every, last: Instant::now(), failing: false }
    }

    /// The folder.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Whether it is time for one.
    pub fn due(&self) -> bool {
        self.last.elapsed() >= self.every
    }

    /// Writes one. A failure does not end a run: the next may succeed. It is returned the first time, for a warning.
    pub fn keep(&mut self, checkpoint: &Checkpoint) -> Option<String> {
        let written = self.folder.save(checkpoint);
        self.told(checkpoint.summary.step, written)
    }

    /// Takes note that the parts of one could not be written, in the same way.
    pub fn miss(&mut self, step: u64, why: FolderError) -> Option<String> {
        self.folder.sweep();
        self.told(step, Err(why))
    }

    fn told(&mut self, step: u64, written: Result<(), FolderError>) -> Option<String> {
        if matches!(written, Err(FolderError::Gone { .. } | FolderError::Unlocked(_))) {
            return None; // another one is due at once, and the run finds that it must end
        }
        self.last = Instant::now();
        match written {
            Ok(()) => {
                if std::mem::take(&mut self.failing) {
                    self.folder.log("checkpoints can be written again");
                }
                None
            }
            Err(error) => {
                if std::mem::replace(&mut self.failing, true) {
                    return None; // nor logged: a log that grows with every attempt would fill a full disk further
                }
                let warning = format!("no checkpoint at step {step}: {error}");
                self.folder.log(&warning);
                Some(warning)
            }
        }
    }

    /// Writes the last one; or removes what there is of it, if its parts could not be written.
    pub fn finish(&mut self, last: Result<Checkpoint, FolderError>) -> Result<(), FolderError> {
        last.and_then(|last| self.folder.save(&last)).inspect_err(|_| self.folder.sweep())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::CHECKPOINT;
    use std::fs;

    #[test]
    fn a_failure_is_told_once_and_the_run_goes_on() {
        let place = tempfile::tempdir().expect("a folder");
        let mut keeper = Keeper::new(Folder::create(place.path(), false).expect("a folder"), Duration::ZERO);
        assert!(keeper.due());
        let checkpoint = Checkpoint::default();
        // A folder in place of the file cannot be replaced by it.
        fs::create_dir_all(place.path().join("checkpoint.previous.cbo/full")).expect("a folder");
        assert_eq!(keeper.keep(&checkpoint), None);
        assert!(keeper.keep(&checkpoint).expect("a warning").contains("step 0"));
        assert_eq!(keeper.keep(&checkpoint), None);
        assert!(keeper.finish(Ok(checkpoint.clone())).is_err());
        assert!(place.path().join(CHECKPOINT).is_file());
        fs::remove_dir_all(place.path().join("checkpoint.previous.cbo")).expect("removed");
        assert_eq!(keeper.keep(&checkpoint), None);
        let log = fs::read_to_string(place.path().join("log.txt")).expect("a log");
        assert!(log.lines().last().expect("lines").ends_with("written again"), "{log}");
    }

    #[test]
    fn none_is_due_before_its_time() {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(place.path(), false).expect("a folder");
        assert!(!Keeper::new(folder, Duration::from_secs(3600)).due());
    }
}
