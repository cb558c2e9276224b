//! The lock of a folder. It is on the folder itself, so that removing a file lets nobody in; the file `lock` says which process has it.
//!
//! The file is locked as well: some file systems cannot lock folders (NFS), and earlier versions look only there.

use super::LOCK;
use super::error::{FolderError, fault, unreadable};
use crate::files::{self, Fate, FileId, For, Handle};
use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;
use std::time::Duration;

/// How often, and after how long, a lock that is held is asked for again.
const LOOKS: u32 = 5;
const LOOK: Duration = Duration::from_millis(20);

/// A lock that is held. The system frees it when this process ends, however it ends: a lock is never stale.
#[derive(Debug)]
pub(super) struct Lock {
    /// The folder, through which its files are written: whatever is at its path by then, they come into the folder that is locked.
    pub(super) handle: Handle,
    id: Option<FileId>,
    /// Whether the folder is locked; some cannot be.
    is_on_folder: bool,
    file: File,
}

impl Lock {
    /// Locks a folder.
    pub(super) fn take(path: &Path) -> Result<Self, FolderError> {
        let handle = Handle::new(path).map_err(unreadable(path))?;
        let in_use = || {
            let holder = holder(path).map_or_else(String::new, |pid| format!(" (process {pid})"));
            FolderError::InUse { folder: path.into(), holder }
        };
        let is_on_folder = match handle.itself().map(insist) {
            Some(Ok(())) => true,
            Some(Err(TryLockError::WouldBlock)) => return Err(in_use()),
            Some(Err(TryLockError::Error(_))) | None => false,
        };
        let place = path.join(LOCK);
        let mut file = handle.open_own(LOCK, For::Changing).map_err(fault(&place))?;
        match insist(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(in_use()),
            // Whoever has the folder needs no lock on the file.
            Err(TryLockError::Error(_)) if is_on_folder => {}
            Err(TryLockError::Error(error)) => return Err(FolderError::Io { path: place, error }),
        }
        let id = handle.id().map_err(fault(path))?;
        let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
        written.map_err(fault(&place))?;
        let lock = Self { handle, id, is_on_folder, file };
        // Folder and file may have been replaced while they were being locked.
        lock.check_folder(path)?;
        lock.check_file(path)?;
        Ok(lock)
    }

    /// Whether the folder that is locked is still at its path.
    pub(super) fn check_folder(&self, path: &Path) -> Result<(), FolderError> {
        match files::fate(self.id, fs::metadata(path).map(|found| FileId::of(&found))) {
            Fate::There => Ok(()),
            fate => Err(FolderError::Gone { folder: path.into(), replaced: fate == Fate::Replaced }),
        }
    }

    /// Whether the file is still in the folder; true if it had to be written anew. Without a lock on the folder it is all there is, and
    /// cannot be replaced: somebody may have another one by now.
    pub(super) fn check_file(&self, path: &Path) -> Result<bool, FolderError> {
        let was = self.file.metadata().ok().and_then(|found| FileId::of(&found));
        match (files::fate(was, self.handle.look(LOCK).map(|found| found.id)), self.is_on_folder) {
            (Fate::There, _) | (Fate::Replaced, true) => Ok(false),
            (Fate::Gone, true) => {
                // It only says who is at work: a full disk must not end the run for that.
                Ok(self.handle.write_whole(LOCK, format!("{}\n", std::process::id()).as_bytes()).is_ok())
            }
            (_, false) => Err(FolderError::Unlocked(path.join(LOCK))),
        }
    }
}

/// Locks something that others may just be looking at.
fn insist(file: &File) -> Result<(), TryLockError> {
    let mut locked = file.try_lock();
    for _ in 0..LOOKS {
        if !matches!(locked, Err(TryLockError::WouldBlock)) {
            break;
        }
        std::thread::sleep(LOOK);
        locked = file.try_lock();
    }
    locked
}

/// Whether somebody has locked a folder. Checked with shared locks, which two who look can have at once.
pub(super) fn is_held(path: &Path) -> bool {
    let held = |file: &File| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock));
    let folder = || Handle::new(path).is_ok_and(|handle| handle.itself().is_some_and(held));
    folder() || files::open_own(&path.join(LOCK)).is_ok_and(|file| held(&file))
}

/// The process that wrote the lock.
pub(super) fn holder(path: &Path) -> Option<u32> {
    String::from_utf8(files::read_own(&path.join(LOCK)).ok()?).ok()?.trim().parse().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::checkpoint::Checkpoint;
    use crate::folder::{CONFIG, Folder, look};

    fn run() -> (tempfile::TempDir, Folder) {
        let place = tempfile::tempdir().expect("a folder");
        let folder = Folder::create(&place.path().join("run"), false).expect("a new folder");
        folder.log("begun");
        folder.write(CONFIG, b"objective = 'sphere'\n").expect("a file");
        (place, folder)
    }

    #[test]
    fn removing_the_file_lets_nobody_in() {
        let (_place, folder) = run();
        let lock = folder.path().join(LOCK);
        fs::remove_file(&lock).expect("removed");
        assert!(matches!(Folder::open(folder.path()), Err(FolderError::InUse { .. })));
        assert!(matches!(Folder::create(folder.path(), true), Err(FolderError::InUse { .. })));
        assert_eq!(look(folder.path()).expect("a look").state(), "running");
        fs::remove_file(&lock).ok();
        folder.save(&Checkpoint::default()).expect("a checkpoint");
        assert_eq!(look(folder.path()).expect("a look").running, Some(std::process::id()), "it is written anew");
        let log = fs::read_to_string(folder.path().join("log.txt")).expect("a log");
        assert!(log.contains("lock was removed"), "{log}");
    }

    #[test]
    fn without_a_lock_on_the_folder_the_file_must_stay() {
        let (_place, mut folder) = run();
        // As where folders cannot be locked.
        folder.lock.is_on_folder = false;
        folder.check().expect("ours");
        assert!(matches!(Folder::open(folder.path()), Err(FolderError::InUse { .. })), "the file is locked as well");
        fs::remove_file(folder.path().join(LOCK)).expect("removed");
        assert!(matches!(folder.save(&Checkpoint::default()), Err(FolderError::Unlocked(_))));
        fs::write(folder.path().join(LOCK), "1\n").expect("a file");
        assert!(matches!(folder.save(&Checkpoint::default()), Err(FolderError::Unlocked(_))), "it is another file");
    }

    #[test]
    fn a_folder_that_was_moved_away_is_not_written_to() {
        let (place, folder) = run();
        folder.save(&Checkpoint::default()).expect("a checkpoint");
        fs::rename(folder.path(), place.path().join("moved")).expect("moved");
        let gone = |replaced: bool| {
            for error in [folder.save(&Checkpoint::default()), folder.write(CONFIG, b""), folder.check()] {
                assert!(matches!(&error, Err(FolderError::Gone { replaced: r, .. }) if *r == replaced), "{error:?}");
            }
            folder.log("a word");
        };
        gone(false);
        assert!(!folder.path().exists());
        fs::create_dir(folder.path()).expect("another folder");
        gone(true);
        assert_eq!(files::names(folder.path()).expect("a folder"), [""; 0]);
        fs::remove_dir(folder.path()).expect("removed");
        fs::rename(place.path().join("moved"), folder.path()).expect("moved back");
        folder.save(&Checkpoint::default()).expect("ours again");
    }
}
