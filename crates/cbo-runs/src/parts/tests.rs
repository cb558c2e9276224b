//! Parts that are written by ranks in threads, read again, damaged, and removed.

use super::*;
use crate::folder::{CHECKPOINT, CONFIG, Folder, look};
use cbo::ranks::{Particles, in_threads, resume_on, solve_on};
use cbo::{CboConfig, from_fn, resume, solve};
use std::fs;

const RANKS: usize = 3;

fn config() -> CboConfig {
    CboConfig { particles: 500, steps: Some(12), threads: 1, ..CboConfig::default() }
}

fn sphere() -> impl cbo::Objective<f64> {
    from_fn(16, |x: &[f64]| x.iter().map(|v| v * v).sum())
}

/// Keeps a run at step 5, in parts and in one piece.
struct Keeps(Scribe, Option<(Checkpoint, Vec<u8>)>);

impl Observer<f64> for Keeps {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        if step.step() < 5 {
            return ControlFlow::Continue(());
        }
        let mut checkpoint = Checkpoint::default();
        checkpoint.take_state(step, Some(&self.0)).expect("written");
        self.1 = Some((checkpoint, step.state()));
        ControlFlow::Break(())
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, f64>) -> Option<Result<Vec<u8>, EvalError>> {
        self.0.answer(question, here)
    }
}

/// A checkpoint of a run on several ranks, and the state in one piece.
fn kept(folder: &Path) -> (Checkpoint, Vec<u8>) {
    let mut ends = in_threads(RANKS, |rank| {
        let number = cbo::ranks::Communicator::rank(&*rank);
        let mut keeps = Keeps(Scribe::new(folder, number).expect("a folder"), None);
        solve_on(&Particles::new(rank), config(), &sphere(), &mut keeps).expect("a run");
        keeps.1
    });
    ends.swap_remove(0).expect("the first rank keeps")
}

fn run_folder(place: &Path) -> Folder {
    let folder = Folder::create(place, false).expect("a folder");
    folder.write(CONFIG, b"").expect("a file");
    folder.log("begun");
    folder
}

fn part_names(folder: &Path) -> Vec<String> {
    files::names(folder).expect("names").into_iter().filter(|name| is_part(name)).collect()
}

#[test]
fn parts_are_the_state_in_one_piece_for_any_number_of_ranks_or_for_none() {
    let place = tempfile::tempdir().expect("a folder");
    let (checkpoint, whole) = kept(place.path());
    assert_eq!(part_names(place.path()).len(), RANKS);
    assert!(checkpoint.state.len() < whole.len() / 10, "{} bytes", checkpoint.state.len());
    let parts = Parts::of(&checkpoint).expect("a list").expect("parts");
    assert_eq!(parts.fault(place.path(), true).expect("readable"), None);
    let joined = joined(checkpoint.clone(), place.path()).expect("in one piece");
    assert!(joined.state == whole && !joined.more.contains_key(PARTS));
    let alone = solve(config(), &sphere(), &mut ()).expect("a run");
    let one = resume(config(), &sphere(), &mut (), &joined.state).expect("one machine");
    assert_eq!(one.best(), alone.best());
    let columns = std::sync::Arc::new(InFiles::new(place.path(), &parts));
    for size in [1, 2, 5] {
        let ends = in_threads(size, |rank| {
            let particles = Particles::new(rank).with_columns(columns.clone());
            resume_on(&particles, config(), &sphere(), &mut (), &checkpoint.state).expect("a run").best().clone()
        });
        assert!(ends.iter().all(|best| best == alone.best()), "{size} ranks");
    }
}

#[test]
fn every_fault_of_a_part_is_found_and_names_it() {
    let place = tempfile::tempdir().expect("a folder");
    let (checkpoint, _) = kept(place.path());
    let parts = Parts::of(&checkpoint).expect("a list").expect("parts");
    for name in part_names(place.path()) {
        let path = place.path().join(&name);
        let bytes = fs::read(&path).expect("a part");
        let fault = |thorough| parts.fault(place.path(), thorough).expect("readable");
        for bit in [0, 77, 8 * bytes.len() - 1] {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            fs::write(&path, &flipped).expect("damaged");
            assert_eq!(fault(false), None);
            assert!(fault(true).is_some_and(|fault| fault.contains(&name) && fault.contains("checksum")));
        }
        for other in [&bytes[1..], &[&bytes[..], &[0]].concat()] {
            fs::write(&path, other).expect("another length");
            assert!(fault(false).is_some_and(|fault| fault.contains(&name) && fault.contains("bytes")));
        }
        fs::remove_file(&path).expect("removed");
        assert!(fault(false).is_some_and(|fault| fault.contains(&name)));
        let error = joined(checkpoint.clone(), place.path()).expect_err("missing").to_string();
        assert!(error.contains(&name), "{error}");
        // What cannot be read is not damaged.
        fs::create_dir(&path).expect("a folder in its place");
        let error = parts.fault(place.path(), false).expect_err("not a file").to_string();
        assert!(error.contains(&name) && error.contains("not a file"), "{error}");
        fs::remove_dir(&path).expect("removed");
        fs::write(&path, &bytes).expect("put back");
    }
    assert_eq!(parts.fault(place.path(), true).expect("readable"), None);
}

#[test]
fn a_list_that_does_not_have_all_columns_once_is_refused() {
    let list = |parts: &str| Parts::from_json(parts.as_bytes());
    let part = |rank: usize, pieces: &str, bytes: u64| {
        format!(r#"{{"file":"checkpoint.0123456789abcdef.{rank}.part","bytes":{bytes},"crc32":1,"pieces":{pieces}}}"#)
    };
    let good = format!("[{},{}]", part(0, "[[0,8],[24,8]]", 16), part(1, "[[8,16]]", 16));
    list(&good).expect("all columns");
    for bad in [
        format!("[{},{}]", part(0, "[[0,8],[24,8]]", 16), part(1, "[[8,8]]", 8)), // a gap
        format!("[{},{}]", part(0, "[[0,8],[24,8]]", 16), part(1, "[[8,17]]", 17)), // twice
        format!("[{}]", part(0, "[[0,8]]", 9)),
        format!("[{}]", part(0, "[[0,18446744073709551615],[18446744073709551615,5]]", 4)),
        good.replace("0123456789abcdef.0", "../../../../etc/pass.0"),
        good.replace("checkpoint.0123456789abcdef.0.part", "mine"),
        "{}".into(),
    ] {
        list(&bad).expect_err(&bad);
    }
}

#[test]
fn a_damaged_part_is_stepped_over_and_parts_of_no_checkpoint_are_removed() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("run");
    let folder = run_folder(&path);
    let mut all = Vec::new();
    for number in 1..=3 {
        let (mut checkpoint, _) = kept(&path);
        checkpoint.summary.step = number;
        folder.save(&checkpoint).expect("written");
        all.push(checkpoint);
    }
    // Those of the first are gone.
    assert_eq!(part_names(&path).len(), 2 * RANKS);
    let newest = Parts::of(&all[2]).expect("a list").expect("parts");
    let damaged = newest.names().nth(1).expect("a part").to_string();
    fs::write(path.join(&damaged), b"").expect("damaged");
    assert!(look(&path).expect("a look").fault.is_some_and(|fault| fault.contains(&damaged)));
    let (checkpoint, fault) = folder.load().expect("the one before");
    assert_eq!(checkpoint.summary.step, 2);
    assert!(fault.is_some_and(|fault| fault.contains(&damaged)));
    // A part of a checkpoint that did not come about, and one that a checkpoint of a newer cbo may list.
    let orphan = path.join(name_of("0123456789abcdef", 7));
    fs::write(&orphan, b"").expect("a part");
    let mut newer = all[1].to_bytes();
    newer[8] = 9;
    fs::write(path.join(CHECKPOINT), &newer).expect("a file");
    drop(folder);
    let folder = Folder::open(&path).expect("ours");
    assert!(orphan.exists() && part_names(&path).len() == 2 * RANKS + 1);
    fs::remove_file(path.join(CHECKPOINT)).expect("removed");
    drop(folder);
    let folder = Folder::open(&path).expect("ours");
    // Those of the checkpoint that was set aside are kept with it.
    assert!(!orphan.exists() && part_names(&path).len() == 2 * RANKS);
    fs::remove_file(path.join("checkpoint.damaged.cbo")).expect("removed");
    folder.save(&Checkpoint::default()).expect("written");
    assert_eq!(part_names(&path).len(), RANKS);
    folder.save(&Checkpoint::default()).expect("written");
    assert!(part_names(&path).is_empty());
}

#[test]
fn a_checkpoint_that_is_saved_again_leaves_the_one_before_it() {
    let place = tempfile::tempdir().expect("a folder");
    let path = place.path().join("run");
    let folder = run_folder(&path);
    for number in 1..=2 {
        let (mut checkpoint, _) = kept(&path);
        checkpoint.summary.step = number;
        folder.save(&checkpoint).expect("written");
    }
    let (mut checkpoint, _) = folder.load().expect("the second");
    checkpoint.summary.stop = Some("steps".into());
    folder.save(&checkpoint).expect("written");
    assert_eq!(part_names(&path).len(), 2 * RANKS);
    assert_eq!(folder.load().expect("the second").0.summary.stop, checkpoint.summary.stop);
    let parts = Parts::of(&checkpoint).expect("a list").expect("parts");
    let part = path.join(parts.names().next().expect("a part"));
    // One that cannot be read for the moment changes nothing.
    let aside = path.join("aside");
    fs::rename(&part, &aside).and_then(|()| fs::create_dir(&part)).expect("a folder in its place");
    assert!(matches!(folder.load(), Err(FolderError::Unreadable { .. })));
    assert!(matches!(look(&path), Err(FolderError::Unreadable { .. })));
    fs::remove_dir(&part).and_then(|()| fs::rename(&aside, &part)).expect("put back");
    assert_eq!(folder.load().expect("the second").0.summary.step, 2);
    fs::write(&part, b"").expect("damaged");
    assert_eq!(folder.load().expect("the first").0.summary.step, 1);
}

#[test]
fn a_part_that_cannot_be_written_is_told_on_the_first_rank() {
    let place = tempfile::tempdir().expect("a folder");
    let said = in_threads(2, |rank| {
        let number = cbo::ranks::Communicator::rank(&*rank);
        let gone = place.path().join(format!("folder {number}"));
        fs::create_dir(&gone).expect("a folder");
        let mut scribe = Scribe::new(&gone, number).expect("a folder");
        if number == 1 {
            fs::remove_dir(&gone).expect("removed");
            return solve_on(&Particles::new(rank), config(), &sphere(), &mut scribe).map(|_| String::new());
        }
        let mut said = String::new();
        let mut keep = |step: &StepReport<'_, f64>| {
            said = scribe.keep(step).expect_err("rank 1 cannot");
            ControlFlow::Break(())
        };
        solve_on(&Particles::new(rank), config(), &sphere(), &mut keep).map(|_| said)
    });
    let said = said[0].as_ref().expect("the run goes on");
    assert!(said.contains("on rank 1") && said.contains("folder 1/checkpoint."), "{said}");
}
