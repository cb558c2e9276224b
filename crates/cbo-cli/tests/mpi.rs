//! Runs under `mpirun`, by the program that `make mpi` builds and `make mpi-test` names in CBO_MPI. Without it they are left out.
#![cfg(unix)]

use crate::common::{assert_usage, cbo, path, result, stderr, stdout};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// The program with MPI, if these tests are to run.
fn program() -> Option<PathBuf> {
    let program = std::env::var_os("CBO_MPI").map(PathBuf::from);
    if program.is_none() {
        eprintln!("left out: CBO_MPI does not name a cbo that is built with MPI; `make mpi-test` does");
    }
    program
}

/// The program on so many ranks.
fn mpirun(program: &Path, ranks: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--mca", "btl", "self,vader", "-n", &ranks.to_string()]);
    command.arg(program).args(arguments).stdin(Stdio::null());
    command
}

fn run(program: &Path, ranks: usize, arguments: &[&str]) -> Output {
    mpirun(program, ranks, arguments).output().expect("mpirun starts")
}

/// A small generator, so that the choice is the same each time.
struct Choice(u64);

impl Choice {
    fn of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        words[(self.0 >> 33) as usize % words.len()]
    }
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn any_number_of_ranks_and_threads_prints_the_same_numbers() {
    let Some(program) = program() else { return };
    let mut choice = Choice(2);
    for number in 0..12 {
        let what = choice.of(&[
            "rastrigin --dim 16",
            "ackley --dim 40 --shift random --rotate 3",
            "--formula sum(x^2)+1 --dim 9 --bounds -3,4",
        ]);
        let method = choice.of(&["", "", "", "--method jumps", "--method adam", "--method memory", "--method sphere"]);
        let mut line = format!("minimize {what} {method} --seed {number} --json --quiet");
        line += choice.of(&[" --particles 2400", " --particles 1200"]);
        line += choice.of(&[" --steps 12", " --steps 7", " --max-evaluations 9000"]);
        line += choice.of(&["", " --precision f32"]);
        if method.is_empty() {
            line += choice.of(&["", " --alpha ess:0.1", " --alpha 30", " --alpha inf"]);
            line += choice.of(&["", " --diffusion isotropic", " --scheme drift-first"]);
            line += choice.of(&["", " --batch 600", " --batch 300 --update partial"]);
            line += choice.of(&["", " --kick 0.5", " --reduction 0.5,0.4 --epoch-steps 3"]);
        }
        let alone = result(&cbo(&words(&line)));
        for _ in 0..2 {
            let (ranks, threads) = (choice.of(&["1", "2", "3", "4"]), choice.of(&["1", "2"]));
            let line = format!("{line} --threads {threads}");
            let together = run(&program, ranks.parse().expect("a number"), &words(&line));
            assert_eq!(result(&together), alone, "{ranks} ranks: {line}");
        }
    }
}

#[test]
fn long_points_and_long_answers_do_not_wait_for_each_other() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let script = place.path().join("chatty");
    // Each such byte is six in the answer, which MPI then holds back until somebody receives it, as it does the point.
    fs::write(&script, "cat >/dev/null\nhead -c 1990 /dev/zero | tr '\\0' '\\1' >&2\necho 1\n").expect("a script");
    let command = format!("/bin/sh {}", path(&script));
    let mut arguments = vec!["minimize", "--command", &command, "--bounds", "-1,1"];
    arguments
        .extend(words("--protocol json --dim 3000 --workers 8 --method cbo --particles 60 --steps 3 --json --quiet"));
    let seen = mpirun(&program, 2, &arguments).env("MPIEXEC_TIMEOUT", "60").output().expect("mpirun starts");
    assert_eq!(result(&seen)["evaluations"], 241);
}

#[test]
fn evaluations_are_handed_out_and_the_store_has_all_of_them() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let script = place.path().join("sum");
    fs::write(
        &script,
        "#!/bin/sh\necho \"$CBO_WORKER\" >>\"$(dirname \"$0\")/workers\"\necho \"$1 $2\" | awk '{print $1*$1+$2*$2}'\n",
    )
    .expect("a script");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("executable");
    let command = format!("{} {{x}}", path(&script));
    let folder = |name: &str| place.path().join(name).display().to_string();
    let arguments = |out: &str| -> Vec<String> {
        let settings = "--dim 2 --bounds -3,3 --particles 12 --steps 4 --seed 3 --json --quiet --out";
        let first = ["minimize", "--command", &command].map(String::from).into_iter();
        first.chain(words(settings).into_iter().map(String::from)).chain([out.to_string()]).collect()
    };
    let lines = |arguments: &[String]| arguments.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    let (alone, together) = (folder("alone"), folder("together"));
    let expected = result(&cbo(&lines(&arguments(&alone)).lines().collect::<Vec<_>>()));
    fs::remove_file(place.path().join("workers")).expect("workers were there");
    for (schedule, out) in [("dynamic", &together), ("static", &folder("static"))] {
        let mut line = arguments(out);
        line.extend(["--schedule".into(), schedule.into(), "--workers".into(), "2".into()]);
        let seen = run(&program, 3, &lines(&line).lines().collect::<Vec<_>>());
        assert_eq!(result(&seen), expected, "{schedule}");
    }
    let mut workers: Vec<String> =
        fs::read_to_string(place.path().join("workers")).expect("workers").lines().map(String::from).collect();
    workers.sort();
    workers.dedup();
    assert_eq!(workers, ["0", "1", "2", "3", "4", "5"], "each worker of each rank has its own number");
    // Once more by one machine: every point is in the store, and the result the same.
    let before = fs::read_to_string(place.path().join("workers")).expect("workers").lines().count();
    let resumed = cbo(&["resume", &together, "--json"]);
    assert_eq!(result(&resumed)["value"], expected["value"]);
    assert_eq!(fs::read_to_string(place.path().join("workers")).expect("workers").lines().count(), before);
}

#[test]
fn what_cannot_be_spread_is_refused_by_name_and_said_once() {
    let Some(program) = program() else { return };
    let seen = run(&program, 2, &words("minimize rastrigin --dim 5"));
    let said = stderr(&seen);
    assert!(said.matches("error: method = auto:").count() == 1 && said.contains("--schedule dynamic"), "{said}");
    assert_eq!((seen.status.code(), stdout(&seen)), (Some(2), String::new()));
    let auto = "minimize rastrigin --dim 5 --max-evaluations 2000 --json";
    let spread = run(&program, 2, &words(&format!("{auto} --schedule dynamic")));
    assert_eq!(result(&spread), result(&cbo(&words(auto))));
    for (line, says) in [
        ("list", "only `cbo minimize`, `cbo resume`"),
        ("minimize rastrigin --dim 5 --particles 0", "particles"),
        ("minimize sphere --dim 5 --particles 100 --constraint sum>=1 --method cbo", "constraint"),
        ("minimize sphere --dim 5 --particles 100 --device cuda", "--device cpu"),
    ] {
        let seen = run(&program, 2, &words(line));
        let said = stderr(&seen);
        assert!(said.contains(says) && said.matches("error: ").count() == 1, "{line}: {said}");
        assert_eq!(seen.status.code(), Some(2), "{line}");
    }
}

#[test]
fn a_training_is_the_same_on_any_number_of_ranks() {
    let Some(program) = program() else { return };
    let line = "mnist train --network shallow --particles 40 --iterations 5 --data built-in --quiet --json --seed 2";
    let alone = cbo(&words(line));
    let together = run(&program, 3, &words(line));
    let numbers = |output: &Output| {
        assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
        let mut found: Value = serde_json::from_str(&stdout(output)).expect("JSON");
        let strip = |part: &mut Value| {
            let fields = part.as_object_mut().expect("an object");
            fields.retain(|key, _| !key.contains("second") && key != "threads");
        };
        strip(&mut found);
        found["curve"].as_array_mut().expect("a curve").iter_mut().for_each(strip);
        found
    };
    assert_eq!(numbers(&together), numbers(&alone));
}

#[test]
fn a_program_without_mpi_refuses_to_do_everything_twice() {
    let one = |rank: &str| {
        let mut command = crate::common::command(&["minimize", "sphere", "--dim", "2"]);
        command.envs([("OMPI_COMM_WORLD_SIZE", "2"), ("OMPI_COMM_WORLD_RANK", rank)]).output().expect("it starts")
    };
    let (first, second) = (one("0"), one("1"));
    assert_usage(&first, &["2 ranks were started", "make mpi"]);
    assert_eq!((second.status.code(), stderr(&second)), (Some(2), String::new()), "said once");
}

#[test]
fn other_settings_on_another_rank_are_refused() {
    let Some(program) = program() else { return };
    let mut command = mpirun(&program, 1, &words("minimize sphere --dim 3 --particles 500 --seed 1"));
    command.args([":", "-n", "1", path(&program)]).args(words("minimize sphere --dim 3 --particles 500 --seed 2"));
    let seen = command.output().expect("mpirun starts");
    let said = stderr(&seen);
    assert!(said.contains("rank 1 has another command line than rank 0"), "{said}");
    assert_eq!((seen.status.code(), stdout(&seen)), (Some(2), String::new()));
}

#[test]
fn a_run_resumes_on_three_ranks_then_on_one_then_on_four() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let settings =
        "minimize rastrigin --dim 16 --particles 3000 --seed 4 --alpha ess:0.2 --json --quiet --checkpoint-every 0";
    let expected = result(&cbo(&words(&format!("{settings} --steps 30"))));
    let folder = place.path().join("run").display().to_string();
    let begun = run(&program, 3, &words(&format!("{settings} --steps 10 --out {folder}")));
    assert_eq!(result(&begun)["steps"], 10);
    assert_eq!(result(&cbo(&["resume", &folder, "--steps", "20", "--json"]))["steps"], 20);
    let ended = run(&program, 4, &["resume", &folder, "--steps", "30", "--json"]);
    assert_eq!(result(&ended), expected);
    let history = fs::read_to_string(Path::new(&folder).join("history.csv")).expect("a history");
    let whole = place.path().join("whole").display().to_string();
    result(&cbo(&words(&format!("{settings} --steps 30 --out {whole}"))));
    assert_eq!(history, fs::read_to_string(Path::new(&whole).join("history.csv")).expect("a history"));
}

/// The processes that were started with this word among their arguments, by their rank.
fn ranks_of(word: &str) -> Vec<(usize, u32)> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        let read = |file: &str| fs::read(entry.path().join(file)).unwrap_or_default();
        if !read("cmdline").split(|b| *b == 0).any(|part| part == word.as_bytes()) {
            continue;
        }
        let rank = read("environ").split(|b| *b == 0).find_map(|line| {
            let text = std::str::from_utf8(line).ok()?;
            text.strip_prefix("OMPI_COMM_WORLD_RANK=")?.parse().ok()
        });
        found.extend(rank.map(|rank| (rank, pid)));
    }
    found.sort_unstable();
    found
}

fn wait_until(what: &str, seconds: u64, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < Duration::from_secs(seconds), "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A long run that has written a checkpoint.
fn long_run(program: &Path, folder: &str) -> Child {
    let line = format!(
        "minimize rastrigin --dim 16 --particles 20000 --steps 1000000 --checkpoint-every 0.2 --json --quiet --out {folder}"
    );
    let mut command = mpirun(program, 3, &words(&line));
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mpirun starts");
    let older = Path::new(folder).join("checkpoint.previous.cbo");
    wait_until("no two checkpoints", 60, || older.exists());
    child
}

fn signal(name: &str, pid: u32) {
    let sent = Command::new("kill").args([&format!("-{name}"), &pid.to_string()]).status();
    assert!(sent.expect("kill runs").success());
}

#[test]
fn a_killed_rank_ends_all_and_is_named_and_the_run_resumes() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let child = long_run(&program, &folder);
    let ranks = ranks_of(&folder);
    assert_eq!(ranks.iter().map(|rank| rank.0).collect::<Vec<_>>(), [0, 1, 2], "{ranks:?}");
    signal("KILL", ranks[1].1);
    let start = Instant::now();
    let ended = child.wait_with_output().expect("mpirun ends");
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    let said = stderr(&ended);
    assert!(said.contains("rank 1") && !ended.status.success(), "{said}");
    assert!(ranks_of(&folder).is_empty(), "a rank is left behind");
    let mut left: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
        .collect();
    left.sort();
    let kept =
        ["checkpoint.cbo", "checkpoint.previous.cbo", "config.toml", "lock", "log.txt", "steps.track", "swarm.track"];
    assert_eq!(left, kept);
    let resumed = cbo(&["resume", &folder, "--max-seconds", "+0.2", "--json"]);
    assert_eq!(resumed.status.code(), Some(0), "{}", stderr(&resumed));
}

#[test]
fn a_signal_ends_the_run_with_the_best_point_so_far() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    for name in ["INT", "TERM"] {
        let folder = place.path().join(name).display().to_string();
        let child = long_run(&program, &folder);
        signal(name, child.id());
        let ended = child.wait_with_output().expect("mpirun ends");
        let found: Value = serde_json::from_str(&stdout(&ended)).expect("one object");
        assert_eq!(found["stop"], "interrupt", "{name}: {}", stderr(&ended));
        wait_until("a rank is left behind", 10, || ranks_of(&folder).is_empty());
        let result: Value =
            serde_json::from_slice(&fs::read(Path::new(&folder).join("result.json")).expect("a result")).expect("JSON");
        assert_eq!(result["value"], found["value"]);
    }
}
