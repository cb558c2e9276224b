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
        ("minimize sphere --dim 5 --particles 100 --device cuda --schedule dynamic", "leave one of the two out"),
        ("minimize sphere --dim 5 --particles 100 --device cuda --batch 10", "batch = 10: is for one GPU"),
        (
            "minimize --command true --protocol json --dim 5 --bounds -1,1 --method cbo --device cuda",
            "programs run on the processor",
        ),
        ("mnist train --data built-in --epochs 1 --device cuda", "several ranks train by their processors"),
    ] {
        let seen = run(&program, 2, &words(line));
        let said = stderr(&seen);
        assert!(said.contains(says) && said.matches("error: ").count() == 1, "{line}: {said}");
        assert_eq!(seen.status.code(), Some(2), "{line}");
    }
}

/// Each rank its particles on a GPU: the numbers of the processor, or, where there is no GPU, one sentence.
#[test]
fn ranks_have_gpus_or_say_once_that_there_are_none() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let line = "minimize rastrigin --dim 16 --particles 3000 --steps 20 --json --quiet";
    let gpu = format!("{line} --device cuda");
    if cbo(&words(&gpu)).status.code() == Some(0) {
        let (alone, kept) = (result(&cbo(&words(&format!("{line} --method cbo")))), format!("--out {}", path(&folder)));
        assert_eq!(result(&run(&program, 2, &words(&gpu))), alone);
        result(&run(&program, 3, &words(&format!("{} {kept}", gpu.replace("20", "9")))));
        let resumed = run(&program, 2, &["resume", path(&folder), "--steps", "20", "--json", "--quiet"]);
        assert_eq!(result(&resumed)["value"], alone["value"]);
        return;
    }
    for device in ["cuda", "cuda:1"] {
        let line = format!("{line} --device {device} --out {}", path(&folder));
        let seen = run(&program, 3, &words(&line));
        let said = stderr(&seen);
        let once = said.matches("error: ").count() == 1 && said.contains(&format!("error: device = {device}: "));
        assert!(once && said.contains("; use --device cpu"), "{said}");
        assert_eq!((seen.status.code(), stdout(&seen)), (Some(2), String::new()));
        assert!(!folder.exists(), "nothing is written");
    }
}

/// The numbers that a training printed, but for times.
fn trained(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    let mut found: Value = serde_json::from_str(&stdout(output)).expect("JSON");
    let strip = |part: &mut Value| {
        let fields = part.as_object_mut().expect("an object");
        fields.retain(|key, _| !key.contains("second") && key != "threads");
    };
    strip(&mut found);
    found["curve"].as_array_mut().expect("a curve").iter_mut().for_each(strip);
    found
}

/// A network of which a block of particles is moved and evaluated quickly.
const TRAINING: [&str; 12] = [
    "mnist",
    "train",
    "--network",
    "pool 4, dense 10, bn",
    "--data",
    "built-in",
    "--batch-data",
    "100",
    "--quiet",
    "--json",
    "--seed",
    "2",
];

#[test]
fn a_training_is_the_same_on_any_number_of_ranks() {
    let Some(program) = program() else { return };
    for more in [
        "--particles 300 --iterations 7",
        "--particles 300 --iterations 12 --batch-particles off --reduction 0.9,0.3",
        "--method hopping --particles 600 --iterations 8",
    ] {
        let line = |schedule| TRAINING.into_iter().chain(words(more)).chain(words(schedule)).collect::<Vec<_>>();
        let alone = trained(&cbo(&line("")));
        for (ranks, schedule) in
            [(2, ""), (3, "--schedule static"), (4, "--schedule static"), (3, "--schedule dynamic")]
        {
            assert_eq!(trained(&run(&program, ranks, &line(schedule))), alone, "{ranks} ranks: {more} {schedule}");
        }
    }
}

#[test]
fn a_training_resumes_on_any_number_of_ranks_or_on_none() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    for (number, (schedule, parts)) in
        [("static", "0"), ("static", "100000000"), ("dynamic", "0")].into_iter().enumerate()
    {
        let more = "--particles 300 --batch-particles 150 --checkpoint-every 0";
        let folder = place.path().join(number.to_string()).display().to_string();
        let line = |steps: &'static str, out: &'static str| {
            let more = words(more).into_iter().chain(["--iterations", steps]).chain(words(out));
            TRAINING.into_iter().chain(more).collect::<Vec<_>>()
        };
        let whole = trained(&cbo(&line("20", "")));
        let on = |ranks: usize, arguments: &[&str]| {
            let mut command = mpirun(&program, ranks, arguments);
            trained(&command.env("CBO_CHECKPOINT_PARTS", parts).output().expect("mpirun starts"))
        };
        let mut begin = line("7", "");
        begin.extend(["--schedule", schedule, "--out", &folder]);
        on(3, &begin);
        let written = parts_in(&folder).len();
        assert_eq!(written, if (schedule, parts) == ("static", "0") { 6 } else { 0 });
        on(2, &["resume", &folder, "--steps", "13", "--schedule", schedule, "--quiet", "--json"]);
        // At its end already: the last particles are judged once more.
        on(2, &["resume", &folder, "--schedule", schedule, "--quiet", "--json"]);
        assert_eq!(trained(&cbo(&["resume", &folder, "--steps", "20", "--quiet", "--json"])), whole, "{schedule}");
    }
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

/// The files with particles of single ranks in a folder.
fn parts_in(folder: &str) -> Vec<String> {
    let names = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    names.map(|name| name.to_string_lossy().into_owned()).filter(|name| name.ends_with(".part")).collect()
}

#[test]
fn ranks_write_their_own_particles_and_any_number_of_them_reads_them() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    for (number, more) in
        ["", "--precision f32 --batch 500", "--method memory", "--method hopping:weights=ranks"].into_iter().enumerate()
    {
        let settings = format!(
            "minimize rastrigin --dim 16 --particles 3000 --seed 4 --json --quiet --checkpoint-every 0 --sigma 0.5 {more}"
        );
        let expected = result(&cbo(&words(&format!("{settings} --steps 30"))));
        let folder = place.path().join(number.to_string()).display().to_string();
        let on = |ranks: usize, line: &str| {
            let mut command = mpirun(&program, ranks, &words(line));
            result(&command.env("CBO_CHECKPOINT_PARTS", "0").output().expect("mpirun starts"))
        };
        on(3, &format!("{settings} --steps 10 --out {folder}"));
        assert_eq!(parts_in(&folder).len(), 6, "two checkpoints of three ranks");
        on(2, &format!("resume {folder} --steps 15 --json"));
        assert_eq!(parts_in(&folder).len(), 4);
        // At its end, with other evaluations spread, and from a part that is damaged: from the checkpoint before.
        on(4, &format!("resume {folder} --json"));
        on(2, &format!("resume {folder} --steps 20 --json --schedule dynamic"));
        assert!(parts_in(&folder).is_empty(), "one rank holds the particles again");
        on(3, &format!("resume {folder} --steps 25 --json"));
        let newest = newest_part(&folder);
        fs::write(Path::new(&folder).join(&newest), "damaged").expect("written");
        let resumed = cbo(&["resume", &folder, "--steps", "30", "--json"]);
        assert!(stderr(&resumed).contains(&newest), "{}", stderr(&resumed));
        let found: Value = serde_json::from_str(&stdout(&resumed)).expect("JSON");
        assert_eq!((&found["value"], &found["x"]), (&expected["value"], &expected["x"]), "{more}");
        assert_eq!(found["evaluations"], expected["evaluations"], "{more}");
    }
}

/// A part that was written last.
fn newest_part(folder: &str) -> String {
    let checkpoint = fs::read(Path::new(folder).join("checkpoint.cbo")).expect("a checkpoint");
    let text = String::from_utf8_lossy(&checkpoint).into_owned();
    parts_in(folder).into_iter().find(|name| text.contains(name.as_str())).expect("a part")
}

#[test]
fn a_rank_that_is_killed_while_it_writes_leaves_a_checkpoint_that_is_whole() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let settings = "minimize rastrigin --dim 16 --particles 40000 --seed 4 --json --quiet --method cbo --steps 600";
    let expected = result(&cbo(&words(settings)));
    for (rank, pause) in [(1, 0), (0, 30), (2, 70)] {
        let folder = place.path().join(rank.to_string()).display().to_string();
        let line = format!("{settings} --checkpoint-every 0 --out {folder}");
        let mut command = mpirun(&program, 3, &words(&line));
        command.env("CBO_CHECKPOINT_PARTS", "0").stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("mpirun starts");
        let older = Path::new(&folder).join("checkpoint.previous.cbo");
        wait_until("no two checkpoints", 60, || older.exists() && !parts_in(&folder).is_empty());
        std::thread::sleep(Duration::from_millis(pause));
        signal("KILL", ranks_of(&folder)[rank].1);
        child.wait().expect("mpirun ends");
        wait_until("a rank is left behind", 10, || ranks_of(&folder).is_empty());
        // Three checkpoints at most: those that are listed, and one that did not come about.
        assert!(parts_in(&folder).len() <= 9, "{:?}", parts_in(&folder));
        let resumed = run(&program, 2, &["resume", &folder, "--checkpoint-every", "30", "--json"]);
        assert!(!stderr(&resumed).contains("cannot be used"), "{}", stderr(&resumed));
        assert_eq!(result(&resumed), expected, "rank {rank}");
    }
}

/// Two ranks, of which the second is started by a shell that first does something else.
fn second_after(program: &Path, before: &str, arguments: &[&str]) -> Command {
    let mut command = mpirun(program, 1, arguments);
    let script = format!("{before}; exec \"$0\" \"$@\"");
    command.args([":", "-n", "1"]).args(["sh", "-c", &script]).arg(program).args(arguments);
    command.env("CBO_CHECKPOINT_PARTS", "0");
    command
}

#[test]
fn a_rank_that_cannot_write_is_named_and_the_run_goes_on() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run").display().to_string();
    let settings = "minimize rastrigin --dim 16 --particles 300000 --seed 4 --json --method cbo --steps 3";
    let expected = result(&cbo(&words(settings)));
    let line = format!("{settings} --checkpoint-every 0 --out {folder}");
    // Files of 8 MiB at most: enough for the memory that MPI shares, and not for half of the particles.
    let limited = "trap '' XFSZ; ulimit -f 16384";
    let seen = second_after(&program, limited, &words(&line)).output().expect("mpirun starts");
    let said = stderr(&seen);
    assert!(said.contains("no checkpoint at step 0: cannot write") && said.contains(".1.part on rank 1"), "{said}");
    assert_eq!(said.matches("warning: no checkpoint").count(), 1, "{said}");
    let found: Value = serde_json::from_str(&stdout(&seen)).expect("the result is told");
    assert_eq!((&found["value"], seen.status.code()), (&expected["value"], Some(1)), "{said}");
    assert!(parts_in(&folder).is_empty(), "{:?}", parts_in(&folder));
    assert_eq!(result(&run(&program, 2, &["resume", &folder, "--json"])), expected);
}

#[test]
fn a_folder_that_not_all_ranks_see_is_written_by_the_first() {
    let Some(program) = program() else { return };
    let place = tempfile::tempdir().expect("a folder");
    let hidden = format!("mount -t tmpfs tmpfs {} || exit 77", path(place.path()));
    let probe = Command::new("unshare").args(["--mount", "sh", "-c", &hidden]).status();
    if !probe.is_ok_and(|status| status.success()) {
        eprintln!("skipped: this system mounts no file system for a test (unshare --mount)");
        return;
    }
    let folder = place.path().join("run").display().to_string();
    let settings = "minimize rastrigin --dim 16 --particles 3000 --seed 4 --json --quiet --method cbo";
    let expected = result(&cbo(&words(&format!("{settings} --steps 20"))));
    let line = format!("{settings} --steps 10 --checkpoint-every 0 --out {folder}");
    let apart = format!("exec unshare --mount sh -c '{hidden}; exec \"$0\" \"$@\"' \"$0\" \"$@\"");
    let seen = second_after(&program, &apart, &words(&line)).output().expect("mpirun starts");
    assert_eq!(result(&seen)["steps"], 10);
    let log = fs::read_to_string(Path::new(&folder).join("log.txt")).expect("a log");
    assert!(log.contains("not all see the folder: rank 1: it cannot see"), "{log}");
    assert!(parts_in(&folder).is_empty());
    // Parts that were written where all saw them are read by the first for all.
    let shared = mpirun(&program, 2, &words(&format!("resume {folder} --steps 15 --json")))
        .env("CBO_CHECKPOINT_PARTS", "0")
        .output();
    assert_eq!(result(&shared.expect("mpirun starts"))["steps"], 15);
    assert_eq!(parts_in(&folder).len(), 4);
    let line = format!("resume {folder} --steps 20 --json");
    let seen = second_after(&program, &apart, &words(&line)).output().expect("mpirun starts");
    assert_eq!(result(&seen), expected);
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
