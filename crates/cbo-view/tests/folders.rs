//! Folders as they are: of all kinds, damaged, huge, growing; and nothing in them is ever changed.

use super::common::{Viewer, checkpoint, run, status, step, steps, store};
use cbo_runs::folder::Folder;
use cbo_runs::track::Track;
use cbo_view::report;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Every file, with its length, its time and its contents.
fn all(folder: &Path) -> BTreeMap<PathBuf, (u64, SystemTime, Vec<u8>)> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, about) = (entry.path(), entry.metadata().expect("metadata"));
        match about.is_dir() {
            true => found.extend(all(&path)),
            false => {
                _ = found.insert(
                    path.clone(),
                    (about.len(), about.modified().expect("a time"), fs::read(&path).expect("a file")),
                )
            }
        }
    }
    found
}

#[test]
fn a_run_is_told_with_all_its_parts() {
    let place = tempfile::tempdir().expect("a folder");
    let (_path, folder) = run(place.path(), "one");
    let viewer = Viewer::of(place.path());
    let short = &viewer.json("/api/runs")["runs"][0];
    assert_eq!((short["state"].as_str(), short["objective"].as_str()), (Some("running"), Some("sphere")), "{short}");
    assert_eq!((short["steps"].as_u64(), short["best"].as_f64()), (Some(7), Some(0.25)), "{short}");
    let whole = viewer.json(&format!("/api/run?id={}", viewer.id("one")));
    assert_eq!(whole["history"]["columns"]["best"].as_array().map(Vec::len), Some(8), "{whole}");
    let sigma = whole["settings"].as_array().expect("settings").iter().find(|s| s["key"] == "sigma").expect("sigma");
    assert_eq!((&sigma["changed"], &whole["swarm"]["frames"]), (&true.into(), &1.into()));
    assert!(whole["repeat"].as_str().expect("a command").starts_with("cbo minimize --config "));
    assert_eq!(whole["process"], std::process::id());
    folder.save(&checkpoint(9, Some("steps"))).expect("a checkpoint");
    drop(folder);
    let whole = viewer.json(&format!("/api/run?id={}", viewer.id("one")));
    assert_eq!((&whole["short"]["state"], &whole["short"]["steps"]), (&"finished".into(), &9.into()));
    let folder = Folder::open(&place.path().join("one")).expect("the folder");
    folder.save(&checkpoint(9, None)).expect("a checkpoint");
    folder.log("failed: the program is broken");
    drop(folder);
    let whole = viewer.json(&format!("/api/run?id={}", viewer.id("one")));
    assert_eq!((&whole["short"]["state"], &whole["failure"]), (&"failed".into(), &"the program is broken".into()));
}

#[test]
fn the_end_counts_what_the_steps_do_not_and_training_has_its_least_loss() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    folder.save(&checkpoint(9, Some("steps"))).expect("a checkpoint");
    drop(folder);
    fs::write(path.join("result.json"), "{\"evaluations\": 91}").expect("written");
    let training = place.path().join("training");
    fs::create_dir(&training).expect("a folder");
    fs::write(training.join("config.toml"), "network = 'lenet1'\n").expect("written");
    fs::write(training.join("log.txt"), "").expect("written");
    fs::write(training.join("curve.csv"), "step,loss\n0,2.5\n10,1.5\n20,NaN\n").expect("written");
    let runs = &Viewer::of(place.path()).json("/api/runs")["runs"];
    assert_eq!((&runs[0]["name"], &runs[0]["evaluations"]), (&"one".into(), &91.into()));
    assert_eq!((&runs[1]["kind"], &runs[1]["best"]), (&"training".into(), &1.5.into()));
}

#[test]
fn an_infinite_alpha_is_told_as_such() {
    let place = tempfile::tempdir().expect("a folder");
    let run = place.path().join("old");
    fs::create_dir(&run).expect("a folder");
    fs::write(run.join("config.toml"), "objective = 'sphere'\n").expect("written");
    fs::write(run.join("log.txt"), "").expect("written");
    fs::write(run.join("history.csv"), "step,best,alpha,sigma\n0,NaN,50,1\n1,2,inf,1\n").expect("written");
    let viewer = Viewer::of(place.path());
    let history = viewer.json(&format!("/api/history?id={}", viewer.id("old")));
    assert_eq!(
        (history["columns"]["alpha"].to_string(), history["infinite"].to_string()),
        ("[50.0,null]".into(), "[\"alpha\"]".into())
    );
}

#[test]
fn reading_changes_nothing_and_makes_no_file() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    let look = |viewer: &Viewer| {
        let id = viewer.id("one");
        for page in ["run", "history", "swarm", "evaluations", "evaluations.csv"] {
            assert_eq!(status(&viewer.get(&format!("/api/{page}?id={id}&sort=value&status=died"))), 200, "{page}");
        }
        report::of_folder(place.path()).expect("a report");
    };
    // With the log of the store beside it, as during a run and after a kill, and without one, as after its end.
    let open = store(&path, 50);
    assert!(path.join("evaluations.sqlite-wal").is_file());
    let viewer = Viewer::of(place.path());
    // The memory that SQLite shares is one for all of this process, which has the store open for writing.
    let without_memory = || {
        let mut files = all(place.path());
        files.remove(&path.canonicalize().expect("a path").join("evaluations.sqlite-shm"));
        files.remove(&path.join("evaluations.sqlite-shm"));
        files
    };
    for _ in 0..2 {
        let before = without_memory();
        look(&viewer);
        assert!(without_memory() == before, "files have changed");
        // The run goes on: its lock and its store are its own.
        open.put(
            &[0.5, 0.5],
            &cbo_runs::external::Attempt {
                job: 0,
                attempt: 1,
                outcome: cbo_runs::external::Outcome::Value(1.0),
                seconds: 0.1,
                stderr: String::new(),
            },
        )
        .and_then(|()| open.flush())
        .expect("nobody is in the way");
    }
    let kept = tempfile::tempdir().expect("a folder");
    for name in ["evaluations.sqlite", "evaluations.sqlite-wal", "evaluations.sqlite-shm"] {
        fs::copy(path.join(name), kept.path().join(name)).expect("copied");
    }
    drop((open, folder));
    assert!(!path.join("evaluations.sqlite-wal").is_file());
    let before = all(place.path());
    look(&viewer);
    assert!(all(place.path()) == before, "files have changed");
    // As a kill leaves them.
    for name in ["evaluations.sqlite", "evaluations.sqlite-wal", "evaluations.sqlite-shm"] {
        fs::copy(kept.path().join(name), path.join(name)).expect("copied");
    }
    let before = all(place.path());
    look(&viewer);
    assert!(all(place.path()) == before, "files have changed");
    let page = viewer.json(&format!("/api/evaluations?id={}", viewer.id("one")));
    assert_eq!(page["total"], 52, "what is in the log counts");
}

#[test]
fn damage_is_said_and_takes_nothing_down() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    drop((store(&path, 20), folder));
    drop(run(place.path(), "two").1);
    let viewer = Viewer::of(place.path());
    let id = viewer.id("one");
    let names: Vec<PathBuf> = fs::read_dir(&path).expect("a folder").flatten().map(|entry| entry.path()).collect();
    let names = names.iter().filter(|name| !name.ends_with("config.toml") && !name.ends_with("log.txt"));
    for file in names {
        let whole = fs::read(file).expect("a file");
        let flipped: Vec<u8> = whole.iter().map(|byte| byte ^ 0xA5).collect();
        for damage in [&whole[..whole.len() / 2], &flipped[..], b"", &vec![b'x'; 100_000]] {
            fs::write(file, damage).expect("written");
            for page in ["run", "history", "swarm", "evaluations", "evaluations.csv"] {
                let answer = viewer.get(&format!("/api/{page}?id={id}"));
                assert!([200, 404].contains(&status(&answer)), "{} {page}: {answer}", file.display());
            }
            report::of_folder(place.path()).expect("a report");
        }
        fs::write(file, whole).expect("written");
    }
    // Steps that go back.
    let mut swarm = Track::read(&path.join("swarm.track"), 1 << 20).expect("a track");
    let record = swarm.records.clone();
    swarm.records = [9.0f64, 3.0, f64::NAN].iter().flat_map(|k| [&k.to_le_bytes(), &record[8..]].concat()).collect();
    fs::write(path.join("swarm.track"), swarm.to_bytes()).expect("written");
    assert_eq!(status(&viewer.get(&format!("/api/swarm?id={id}&after=1&spacing=2"))), 200);
    fs::write(path.join("config.toml"), [0xFF; 50]).expect("written");
    let whole = viewer.json(&format!("/api/run?id={id}"));
    assert!(whole["faults"][0].as_str().expect("a fault").contains("config.toml"), "{whole}");
    fs::remove_dir_all(&path).expect("removed");
    assert_eq!(status(&viewer.get(&format!("/api/run?id={id}"))), 404);
    assert_eq!(status(&viewer.get(&format!("/api/run?id={}", viewer.id("two")))), 200, "others are still there");
}

#[test]
fn huge_folders_and_deep_ones_are_cut_off() {
    let place = tempfile::tempdir().expect("a folder");
    for k in 0..2100 {
        let run = place.path().join(format!("many/{k}"));
        fs::create_dir_all(&run).expect("a folder");
        fs::write(run.join("config.toml"), "objective = 'sphere'\n").expect("a file");
        fs::write(run.join("log.txt"), "").expect("a file");
    }
    drop(run(&place.path().join("a/b/c/d/e/f"), "too-deep").1);
    let file = fs::File::create(place.path().join("many/0/history.csv")).expect("a file");
    file.set_len(1 << 33).expect("a file with holes");
    let viewer = Viewer::of(place.path());
    let runs = viewer.json("/api/runs");
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2000));
    assert!(!runs.to_string().contains("too-deep"));
    assert_eq!(status(&viewer.get(&format!("/api/run?id={}", viewer.id("many/0")))), 200);
}

#[test]
fn a_report_holds_everything_and_is_bounded() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    folder.log("a word </script><script>alert(1)</script>");
    drop((store(&path, 500), folder));
    let page = report::of_folder(&path).expect("a report");
    assert!(page.contains("Content-Security-Policy") && page.contains("sphere") && !page.contains("<script>alert"));
    assert!(page.len() < 1 << 20, "{}", page.len());
    for address in ["http://", "https://"] {
        let asked = page.match_indices(address).filter(|(at, _)| page[..*at].ends_with(['"', '\'', '(']));
        assert_eq!(asked.count(), 0, "nothing is asked for");
    }
    let empty = tempfile::tempdir().expect("a folder");
    assert!(report::of_folder(empty.path()).expect_err("nothing").to_string().contains("no run"));
    assert!(report::of_folder(&empty.path().join("x")).is_err());
}

#[test]
fn a_history_that_grows_is_told_from_where_it_was() {
    let place = tempfile::tempdir().expect("a folder");
    let (_path, folder) = run(place.path(), "one");
    let viewer = Viewer::of(place.path());
    let id = viewer.id("one");
    let mut recorder = steps(&folder, Some(8));
    (8..12).for_each(|k| step(&mut recorder, &folder, k));
    recorder.flush(&folder);
    let more = viewer.json(&format!("/api/history?id={id}&after=7&spacing=1"));
    assert_eq!(more["columns"]["step"].to_string(), "[8.0,9.0,10.0,11.0]");
    let all = viewer.json(&format!("/api/history?id={id}&after=7&spacing=2"));
    assert_eq!(all["columns"]["step"].as_array().map(Vec::len), Some(12), "they are not as far apart as was thought");
}
