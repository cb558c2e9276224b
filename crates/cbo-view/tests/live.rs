//! News of a run, as they come.

use super::common::{Viewer, checkpoint, run, step, steps};
use cbo_view::server::Settings;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A stream of events.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(viewer: &Viewer, path: &str) -> Self {
        let cookie = viewer.cookie();
        let mut stream = viewer.connect();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\n\r\n", viewer.port)
            .expect("sent");
        Self(BufReader::new(stream))
    }

    /// The next news for which `is_it` holds.
    fn next(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert!(self.0.read_line(&mut line).expect("news") > 0, "the stream has ended");
            let news = line.strip_prefix("data: ").and_then(|text| serde_json::from_str(text).ok());
            if let Some(news) = news.filter(&is_it) {
                return news;
            }
        }
    }
}

#[test]
fn a_step_a_kill_and_an_end_are_news() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    let viewer = Viewer::of(place.path());
    let mut one = Stream::open(&viewer, &format!("/api/live?id={}", viewer.id("one")));
    let mut all = Stream::open(&viewer, "/api/live");
    one.next(|news| news["short"]["state"] == "running");
    all.next(|news| news["short"]["state"] == "running");
    let mut recorder = steps(&folder, Some(8));
    step(&mut recorder, &folder, 8);
    recorder.flush(&folder);
    one.next(|news| news["short"]["steps"] == 8);
    all.next(|news| news["short"]["steps"] == 8);
    // A killed process leaves the lock free, and nothing else.
    drop(folder);
    one.next(|news| news["short"]["state"] == "interrupted");
    let folder = cbo_runs::folder::Folder::open(&path).expect("the viewer is not in the way");
    one.next(|news| news["short"]["state"] == "running");
    folder.save(&checkpoint(20, Some("steps"))).expect("a checkpoint");
    drop(folder);
    let end = one.next(|news| news["short"]["state"] == "finished");
    assert_eq!(end["short"]["steps"], 20);
    drop(run(place.path(), "two").1);
    all.next(|news| news["short"]["name"] == "two");
    // Another folder that is reached by a link is not the run.
    let aside = tempfile::tempdir().expect("a folder");
    std::fs::rename(&path, aside.path().join("moved")).expect("moved");
    std::os::unix::fs::symlink(aside.path().join("moved"), &path).expect("a link");
    one.next(|news| news["gone"].is_string());
    all.next(|news| news["gone"].is_string());
}

#[test]
fn an_experiment_that_is_made_again_is_news() {
    let place = tempfile::tempdir().expect("a folder");
    let write = |seconds: f64| {
        std::fs::write(place.path().join("canyon.json"), format!("{{\"seconds\": {seconds}}}")).expect("written");
        std::fs::write(place.path().join("canyon.csv"), "").expect("written");
    };
    write(1.0);
    let viewer = Viewer::of(place.path());
    let mut all = Stream::open(&viewer, "/api/live");
    all.next(|news| news["short"]["seconds"] == 1.0);
    write(12.5);
    all.next(|news| news["short"]["seconds"] == 12.5);
}

#[test]
fn a_cookie_survives_a_restart_and_the_token_does_not() {
    let place = tempfile::tempdir().expect("a folder");
    let secret = Some(place.path().join("state/view.key"));
    let settings = Settings { folders: vec![place.path().into()], port: Some(0), secret };
    let first = Viewer::with(&settings);
    let (cookie, token, port) = (first.cookie(), first.token.clone(), first.port);
    drop(first);
    std::thread::sleep(Duration::from_millis(50));
    let second = Viewer::with(&Settings { port: Some(port), ..settings });
    assert_eq!(second.cookie(), cookie);
    assert_ne!(second.token, token);
}
