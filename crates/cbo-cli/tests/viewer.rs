//! What a run leaves for the viewer, and the commands that show it.

use crate::common::command;
use cbo_runs::folder::{STEPS, SWARM};
use cbo_runs::track::Track;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const MOST: usize = 1 << 24;

fn cbo(line: &str) -> Command {
    command(&line.split_whitespace().collect::<Vec<_>>())
}

#[test]
fn steps_and_particles_are_recorded_bounded_and_continued() {
    let place = tempfile::tempdir().expect("a folder");
    let run = |line: &str| {
        let output = cbo(line).current_dir(place.path()).output().expect("cbo runs");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let settings = "rastrigin --dim 2 --method cbo --particles 30 --stagnation off --diameter off --quiet";
    run(&format!("minimize {settings} --steps 3000 --out whole"));
    let read = |folder: &str, name: &str| Track::read(&place.path().join(folder).join(name), MOST).expect("a track");
    let (steps, swarm) = (read("whole", STEPS), read("whole", SWARM));
    assert_eq!(steps.steps().collect::<Vec<_>>(), (0..=3000).collect::<Vec<_>>());
    let frames: Vec<u64> = swarm.steps().collect();
    assert!(frames.len() <= 1024 && frames.iter().all(|step| step % 4 == 0), "{}", frames.len());
    assert_eq!(swarm.head.about["landscape"]["minimisers"].to_string(), "[[0.0,0.0]]");
    // The last step of the history is the last of the track; both are of one run.
    let csv = std::fs::read_to_string(place.path().join("whole/history.csv")).expect("a history");
    let best: f64 = csv.lines().last().and_then(|line| line.split(',').nth(3)?.parse().ok()).expect("a value");
    assert_eq!(steps.column("best").and_then(|best| best.last().copied()), Some(best));
    // Cut off and continued, it is the same film.
    run(&format!("minimize {settings} --steps 1111 --out parts"));
    run("resume parts --steps 3000 --quiet");
    assert_eq!(read("parts", SWARM), swarm);
    assert_eq!(read("parts", STEPS).column("best"), steps.column("best"));
}

#[test]
fn the_viewer_prints_its_address_answers_and_ends_with_a_signal() {
    let place = tempfile::tempdir().expect("a folder");
    let made = cbo("minimize sphere --dim 2 --steps 5 --out runs/one --quiet").current_dir(place.path()).output();
    assert!(made.expect("cbo runs").status.success());
    let mut viewer = cbo("view runs --no-open --port 0")
        .current_dir(place.path())
        .env("XDG_STATE_HOME", place.path().join("state"))
        .stdout(Stdio::piped())
        .spawn()
        .expect("cbo runs");
    let mut line = String::new();
    BufReader::new(viewer.stdout.take().expect("stdout")).read_line(&mut line).expect("an address");
    let (host, path) = line.trim().strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
    let mut stream = TcpStream::connect(host).expect("a connection");
    write!(stream, "GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("<div id=\"app\">"), "{answer}");
    assert!(place.path().join("state/cbo/view.key").is_file());
    let ended = Command::new("kill").args(["-INT", &viewer.id().to_string()]).status();
    assert!(ended.expect("kill").success());
    assert!(viewer.wait().expect("an end").success(), "Ctrl-C is how it ends");
}
