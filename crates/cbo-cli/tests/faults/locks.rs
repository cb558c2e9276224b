//! A folder belongs to one process at a time, and to no dead one; what is in it is not replaced by accident; clocks may lie.

use crate::common::folders::{
    Finished, assert_success, begin, beginning, checkpoint, command_of, contents, evaluations, finished, line,
    minimize_program, python, python_worker, resume, resuming, start, wait_until,
};
use crate::common::{assert_usage, path, stderr};
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

#[test]
fn a_folder_in_use_is_refused_until_its_holder_is_dead() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let arguments = line("minimize rastrigin --dim 3 --particles 500 --seed 17 --checkpoint-every 0 --steps");
    let of_steps = |steps: &str| [arguments.clone(), line(steps)].concat();
    let mut holder = start(&beginning(&of_steps("1000000000"), &folder));
    wait_until("a checkpoint", || checkpoint(&folder).is_some());
    let process = format!("process {}", holder.id());
    for output in [
        resume(&folder, ""),
        resume(&folder, "--force"),
        begin(&of_steps("20"), &folder),
        begin(&[of_steps("20"), line("--force")].concat(), &folder),
    ] {
        assert_usage(&output, &["is in use", &process, "choose another folder"]);
        assert_eq!(stderr(&output).lines().count(), 1);
    }
    assert!(!holder.has_ended(), "the holder is still running");
    assert_eq!(stderr(&holder.kill()), "");
    let step = checkpoint(&folder).expect("a checkpoint").summary.step;
    assert_success(&resume(&folder, &format!("--steps {}", step + 20)));
    assert_eq!(Finished::read(&folder).number("steps"), step + 20);
}

#[test]
fn a_run_is_replaced_only_by_force_and_kept_even_so() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let of_seed = |seed: u64| line(&format!("minimize rastrigin --dim 3 --particles 20 --steps 10 --seed {seed}"));
    let first = finished(&begin(&of_seed(1), &folder), &folder);
    let files = contents(&folder);
    let output = begin(&of_seed(2), &folder);
    assert_usage(&output, &["already holds a run", "cbo resume", "--force"]);
    let changed: Vec<_> = contents(&folder).into_iter().filter(|file| !files.contains(file)).map(|f| f.0).collect();
    assert!(changed.iter().all(|path| path.ends_with("lock")), "{changed:?}");
    let second = finished(&begin(&[of_seed(2), line("--force")].concat(), &folder), &folder);
    assert_ne!(first, second);
    assert_eq!(Finished::read(&folder.join("replaced-1")), first);
    let third = finished(&begin(&[of_seed(3), line("--force")].concat(), &folder), &folder);
    assert_ne!(third, second);
    assert_eq!(Finished::read(&folder.join("replaced-1")), first);
    assert_eq!(Finished::read(&folder.join("replaced-2")), second);
    // A run that was set aside can be resumed.
    assert_success(&resume(&folder.join("replaced-1"), "--steps +5"));
}

/// Every file in a folder is from the year 2100.
fn date_forward(folder: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(4_102_444_800);
    for (file, _) in contents(folder) {
        File::options().append(true).open(&file).and_then(|file| file.set_modified(then)).expect("a new time");
    }
}

#[test]
fn a_clock_that_went_backwards_changes_nothing() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", "time.sleep(0.005)\nreturn sphere(x)") else { return };
    let words = "--protocol jsonl --dim 2 --bounds -5,5 --particles 10 --steps 12 --seed 18 --checkpoint-every 0";
    let arguments = minimize_program(&worker, words);
    let (folder, undisturbed, log) = (place.path().join("run"), place.path().join("whole"), place.path().join("log"));
    let expected = finished(&begin(&arguments, &undisturbed), &undisturbed);
    let child = start(&beginning(&arguments, &folder));
    wait_until("a few steps", || checkpoint(&folder).is_some_and(|c| c.summary.step >= 4));
    child.kill();
    let kept = evaluations(&folder).len();
    let later = "import sqlite3, sys\n\
                 store = sqlite3.connect(sys.argv[1])\n\
                 store.execute(\"UPDATE evaluations SET finished = '2100-01-01T00:00:00.000Z'\")\n\
                 store.commit()\n";
    let store = path(&folder.join("evaluations.sqlite")).to_string();
    let set = Command::new(python().expect("found above")).args(["-c", later, &store]).output().expect("Python");
    if !set.status.success() {
        eprintln!("skipped: Python has no sqlite3, the store keeps its times");
    }
    date_forward(&folder);
    let output = command_of(&resuming(&folder, "")).env("LOG", &log).output();
    assert_eq!(finished(&output.expect("the program starts"), &folder), expected);
    let answered = fs::read_to_string(&log).unwrap_or_default().lines().count();
    let all = evaluations(&folder).len();
    assert_eq!(answered, all - kept, "no evaluation is repeated");
    let listed = crate::common::cbo(&["runs", "list", path(place.path())]);
    assert_eq!(listed.status.code(), Some(0), "{}", stderr(&listed));
}
