//! Runs that are killed again and again end as if nothing had happened, and repeat no evaluation that was kept.

use crate::common::folders::{
    Finished, Process, assert_success, begin, beginning, checkpoint, command_of, evaluations, finished, line,
    minimize_program, names, python_worker, resume, resuming,
};
use crate::common::{path, stderr};
use std::collections::HashSet;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Kills that must hit a function, and a program with each protocol.
const KILLS: usize = 50;

/// An answer that was given this long before a kill must be kept.
const KEPT_AFTER: f64 = 1.0;

/// A generator of moments (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % end
    }
}

/// A run that is killed at random moments and resumed, until enough kills have hit it. If it ends before that, it is
/// begun again in another folder.
struct Siege<'a> {
    place: &'a Path,
    /// How it is begun.
    arguments: Vec<String>,
    undisturbed: Finished,
    random: Random,
    /// Lives last up to this many microseconds. Chosen from what they got done, so that the moments fit any machine.
    longest: u64,
    runs: usize,
    lives: usize,
    /// Steps at which kills hit.
    steps: Vec<Option<u64>>,
}

/// Where a run is, according to its checkpoint.
#[derive(Clone, Copy, PartialEq)]
struct State {
    step: u64,
    ended: bool,
}

fn state(folder: &Path) -> Option<State> {
    let summary = checkpoint(folder)?.summary;
    Some(State { step: summary.step, ended: summary.stop.is_some() })
}

/// What a kill found.
struct Kill {
    folder: PathBuf,
    moment: f64,
}

impl<'a> Siege<'a> {
    fn new(place: &'a Path, arguments: Vec<String>, seed: u64) -> Self {
        let folder = place.join("undisturbed");
        let undisturbed = finished(&begin(&arguments, &folder), &folder);
        Self {
            place,
            arguments,
            undisturbed,
            random: Random(seed),
            longest: 200_000,
            runs: 0,
            lives: 0,
            steps: Vec::new(),
        }
    }

    fn folder(&self) -> PathBuf {
        self.place.join(format!("run-{}", self.runs))
    }

    /// The next life; `None` if the run ended before the kill. At least `least` long.
    fn next(&mut self, least: Duration) -> Option<Kill> {
        let folder = self.folder();
        self.lives += 1;
        let before = state(&folder);
        if before.is_some_and(|before| before.ended) {
            // Killed while it wrote its files. Once is enough.
            self.finish();
            self.runs += 1;
            return None;
        }
        let (threads, every) = (1 + self.random.below(4), ["0", "0.01"][self.random.below(2) as usize]);
        let is_there = folder.join("config.toml").is_file();
        let arguments = if is_there { resuming(&folder, "") } else { beginning(&self.arguments, &folder) };
        let more = line(&format!("--threads {threads} --checkpoint-every {every}"));
        let mut life = command_of(&[arguments, more].concat());
        life.env("LOG", folder.with_extension("log"));
        let child = Process::start(life.stdout(Stdio::piped()).stderr(Stdio::piped()));
        std::thread::sleep(least + Duration::from_micros(self.random.below(self.longest)));
        let moment = now();
        let output = child.kill();
        let after = state(&folder);
        if least.is_zero() {
            self.adapt(before, after);
        }
        if output.status.signal() == Some(9) {
            assert_eq!(stderr(&output), "", "a life that was killed had nothing to complain about");
            self.steps.push(after.filter(|after| !after.ended).map(|after| after.step));
            return Some(Kill { folder, moment });
        }
        assert_success(&output);
        self.check(&folder);
        self.runs += 1;
        None
    }

    /// Lives that got too far should be shorter, and those that got nowhere longer.
    fn adapt(&mut self, before: Option<State>, after: Option<State>) {
        let step = |state: Option<State>| state.map_or(0, |state| state.step);
        let quarter = self.undisturbed.number("steps") / 4;
        if after == before {
            self.longest = (self.longest * 3 / 2).min(800_000);
        } else if step(after) > step(before) + quarter {
            self.longest = (self.longest * 3 / 4).max(2_000);
        }
    }

    /// A last, undisturbed life.
    fn finish(&self) {
        let folder = self.folder();
        assert_success(&resume(&folder, "--threads 3"));
        self.check(&folder);
    }

    /// The end of it all.
    fn end(&self) {
        let kills = self.steps.len();
        if self.folder().join("config.toml").is_file() {
            self.finish();
        }
        let inside: HashSet<u64> = self.steps.iter().flatten().copied().collect();
        assert!(inside.len() >= kills / 3, "kills must hit the run at many places: {:?}", self.steps);
    }

    fn check(&self, folder: &Path) {
        let run = Finished::read(folder);
        assert_eq!(run.result, self.undisturbed.result);
        assert_eq!(run.config, self.undisturbed.config);
        assert!(run.history == self.undisturbed.history, "another history in {}", folder.display());
        let left = names(folder);
        assert!(left.iter().all(|name| !name.ends_with(".tmp")), "{left:?}");
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

#[test]
fn a_function_minimised_through_fifty_kills() {
    let place = tempfile::tempdir().expect("a folder");
    let words = "minimize rastrigin --dim 4 --particles 5000 --steps 300 --alpha ess:0.1 --reduction 0.1,0.5 --seed 11";
    let mut siege = Siege::new(place.path(), line(words), 1);
    while siege.steps.len() < KILLS {
        assert!(siege.lives < 5 * KILLS, "the run is always faster than the kill");
        siege.next(Duration::ZERO);
    }
    siege.end();
}

/// A point, bit for bit.
type Point = Vec<u64>;

fn bits(x: impl IntoIterator<Item = f64>) -> Point {
    x.into_iter().map(f64::to_bits).collect()
}

/// What the workers have answered, and when; lines that a kill cut off are left out.
fn answers(log: &Path) -> Vec<(f64, Point)> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    let number = |word: &str| word.parse::<f64>().expect("a number");
    let mut answers = Vec::new();
    for line in whole.lines() {
        let (time, x) = line.split_once(' ').expect("a time and a point");
        answers.push((number(time), bits(x.split(' ').map(number))));
    }
    answers
}

/// The points that the store of a run has.
fn stored(folder: &Path) -> HashSet<Point> {
    evaluations(folder).into_iter().map(|row| bits(row.point)).collect()
}

/// Besieges a run whose worker writes a log.
fn besiege(place: &Path, arguments: Vec<String>, seed: u64) {
    let mut siege = Siege::new(place, arguments, seed);
    let all = stored(&place.join("undisturbed"));
    let (mut kept, mut read, mut in_time) = (HashSet::new(), 0, 0);
    while siege.steps.len() < KILLS {
        assert!(siege.lives < 5 * KILLS, "the run is always faster than the kill");
        // Some lives are long enough for answers that must be kept.
        let least = if siege.lives % 24 == 4 { 1.7 * KEPT_AFTER } else { 0.0 };
        let folder = siege.folder();
        let kill = siege.next(Duration::from_secs_f64(least));
        let answers = answers(&folder.with_extension("log"));
        for (_, point) in &answers[read..] {
            assert!(!kept.contains(point), "a point that the store had was evaluated again");
        }
        match kill {
            Some(Kill { folder, moment }) => {
                kept = stored(&folder);
                for (time, point) in &answers[read..] {
                    if *time < moment - KEPT_AFTER {
                        in_time += 1;
                        assert!(kept.contains(point), "an answer was lost");
                    }
                }
                read = answers.len();
            }
            None => {
                assert_eq!(stored(&folder), all, "the points of the undisturbed run, and no others");
                (kept, read) = (HashSet::new(), 0);
            }
        }
    }
    siege.end();
    assert!(in_time > 20, "too few answers were old enough to be kept: {in_time}");
}

#[test]
fn workers_that_stay_through_fifty_kills() {
    let place = tempfile::tempdir().expect("a folder");
    let Some(worker) = python_worker(place.path(), "worker.py", "time.sleep(0.005)\nreturn sphere(x)") else { return };
    let settings = "--protocol jsonl --workers 2 --dim 3 --bounds -5,5 --particles 20 --steps 60 --seed 4";
    besiege(place.path(), minimize_program(&worker, settings), 2);
}

/// Besieges a program that is started for each evaluation. `take` makes the coordinates its arguments.
fn besiege_processes(take: &str, arguments: &str, protocol: &str, seed: u64) {
    let place = tempfile::tempdir().expect("a folder");
    let script = r#"
value=$(awk 'BEGIN { for (k = 1; k < ARGC; k++) sum += (ARGV[k] - k) ^ 2; printf "%.17g\n", sum }' "$@")
sleep 0.01
echo "$value"
[ -z "$LOG" ] || echo "$EPOCHREALTIME $*" >> "$LOG"
"#;
    fs::write(place.path().join("oneshot.sh"), format!("{take}\n{script}")).expect("a file");
    let command = format!("bash {}{arguments}", path(&place.path().join("oneshot.sh")));
    // Steps of few evaluations, so that short lives get somewhere too.
    let settings = "--workers 2 --dim 2 --bounds -5,5 --particles 6 --steps 40 --seed 5 --precision f32";
    besiege(place.path(), minimize_program(&command, &format!("{settings} --protocol {protocol}")), seed);
}

#[test]
fn processes_with_arguments_through_fifty_kills() {
    besiege_processes("", " {x}", "args", 3);
}

#[test]
fn processes_with_a_line_of_json_through_fifty_kills() {
    besiege_processes("IFS='[],' read -ra words; set -- \"${words[@]:1}\"", "", "json", 4);
}
