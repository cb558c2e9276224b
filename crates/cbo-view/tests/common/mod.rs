//! A viewer of a folder of runs, and requests to it, byte by byte.

use cbo_runs::checkpoint::{Checkpoint, Summary};
use cbo_runs::external::{Attempt, Outcome};
use cbo_runs::folder::{CONFIG, Folder, STEPS, SWARM};
use cbo_runs::store::Store;
use cbo_runs::track::{Head, Recorder};
use cbo_view::server::{Server, Settings};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A viewer that ends with this value.
pub struct Viewer {
    pub port: u16,
    pub token: String,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Viewer {
    pub fn of(folder: &Path) -> Self {
        Self::with(&Settings { folders: vec![folder.into()], port: Some(0), secret: None })
    }

    pub fn with(settings: &Settings) -> Self {
        let server = Server::bind(settings).expect("a server");
        let address = server.address();
        let (head, token) = address.split_once("/?token=").expect("a token");
        let port = head.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        let (over, token) = (Arc::new(AtomicBool::new(false)), token.to_string());
        let asked = Arc::clone(&over);
        let thread = std::thread::spawn(move || server.run(&|| asked.load(Ordering::Relaxed)).expect("served"));
        Self { port, token, over, thread: Some(thread) }
    }

    pub fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        stream
    }

    /// The answer to a request, as it comes.
    pub fn raw(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        // A server that has had enough may close before everything is read.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The cookie for whoever has the token.
    pub fn cookie(&self) -> String {
        let answer = self.raw(&format!(
            "GET /?token={} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
            self.token, self.port
        ));
        let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        line.split(';').next().expect("a value").to_string()
    }

    /// A request of the browser that has opened the address.
    pub fn get(&self, path: &str) -> String {
        self.get_with(path, "")
    }

    /// The same with further lines.
    pub fn get_with(&self, path: &str, lines: &str) -> String {
        let (cookie, port) = (self.cookie(), self.port);
        self.raw(&format!(
            "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nCookie: {cookie}\r\n{lines}Connection: close\r\n\r\n"
        ))
    }

    pub fn json(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(status(&answer), 200, "{path}: {answer}");
        serde_json::from_str(&body(&answer)).expect("JSON")
    }

    /// The name of a run in addresses.
    pub fn id(&self, name: &str) -> String {
        let runs = self.json("/api/runs");
        let run = runs["runs"].as_array().expect("runs").iter().find(|run| run["name"] == name);
        run.unwrap_or_else(|| panic!("no {name} in {runs}"))["id"].as_str().expect("an id").to_string()
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

pub fn status(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

/// The body, put together if it came in chunks.
pub fn body(answer: &str) -> String {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.into();
    }
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        whole += &more[..size.min(more.len())];
        rest = more.get(size + 2..).unwrap_or("");
    }
    whole
}

/// A run that is going on until the folder that is returned is dropped.
pub fn run(place: &Path, name: &str) -> (PathBuf, Folder) {
    let path = place.join(name);
    let folder = Folder::create(&path, false).expect("a folder");
    folder.log("begun by a test");
    folder.write(CONFIG, b"objective = 'sphere'\ndim = 2\nmethod = 'cbo'\n").expect("settings");
    folder.save(&checkpoint(7, None)).expect("a checkpoint");
    let mut steps = steps(&folder, None);
    (0..8).for_each(|k| step(&mut steps, &folder, k));
    steps.flush(&folder);
    let about = json!({ "dim": 2, "coordinates": 2, "particles": 1, "landscape": null });
    let names = ["step", "time", "evaluations", "particles"].map(String::from).to_vec();
    let mut swarm = Recorder::new(&folder, SWARM, Head { wide: names, narrow: 6, about }, 100, None);
    swarm.keep(&folder, &[0.0, 0.0, 10.0, 1.0], &[0; 24]);
    (path, folder)
}

pub fn checkpoint(step: u64, stop: Option<&str>) -> Checkpoint {
    let settings = [("objective", "sphere"), ("dim", "2"), ("method", "cbo"), ("sigma", "3")];
    let summary = Summary {
        kind: "minimize".into(),
        objective: "sphere".into(),
        dim: 2,
        step,
        evaluations: 10 * step,
        best: Some(0.25),
        x: vec![0.5, 0.0],
        seconds: 1.5,
        stop: stop.map(String::from),
        settings: settings.map(|(key, value)| (key.to_string(), value.to_string())).into(),
        changed: vec!["sigma".into()],
        ..Summary::default()
    };
    Checkpoint { summary, state: vec![1; 100], ..Checkpoint::default() }
}

/// The recorder of the steps of a run, which begins or goes on.
pub fn steps(folder: &Folder, from: Option<u64>) -> Recorder {
    let names = ["step", "evaluations", "best", "seconds"].map(String::from).to_vec();
    Recorder::new(folder, STEPS, Head { wide: names, narrow: 0, about: Value::Null }, 1000, from)
}

pub fn step(steps: &mut Recorder, folder: &Folder, k: u64) {
    steps.keep(folder, &[k as f64, 10.0 * k as f64, 1.0 / (k + 1) as f64, 0.1 * k as f64], &[]);
}

/// A store of a program's evaluations: every tenth fails.
pub fn store(folder: &Path, rows: u32) -> Store {
    let store = Store::open(&folder.join("evaluations.sqlite")).expect("a store");
    for k in 0..rows {
        let outcome = if k % 10 == 9 {
            Outcome::Died("exit code 3, <b>".into())
        } else {
            Outcome::Value(f64::from((k * 7919) % 1000))
        };
        let stderr = if k % 10 == 9 { "=mesh failed\n".into() } else { String::new() };
        let attempt = Attempt { job: 0, attempt: 1, outcome, seconds: 0.25, stderr };
        store.put(&[f64::from(k), -0.0], &attempt).expect("put");
    }
    store.flush().expect("on the disk");
    store
}
