//! Whose a folder is, and which checkpoint counts.

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
