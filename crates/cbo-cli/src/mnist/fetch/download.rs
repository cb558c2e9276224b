//! Files from an address or from a folder, in memory.

use super::packages::Scratch;
use super::sources::{Fault, Watch};
use crate::interrupt;
use cbo_problems::mnist::{PIXELS, idx};
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The longest file that can be right.
const MOST_BYTES: u64 = 16 + idx::MOST as u64 * PIXELS as u64;

/// How often to check for Ctrl-C.
pub const POLL: Duration = Duration::from_millis(50);

/// A server that is silent for this long is given up on.
const PATIENCE: Duration = Duration::from_secs(10);

/// A source that is ready to be read.
#[derive(Debug)]
pub enum Supply {
    /// Files under an address.
    Web {
        /// What asks the server.
        agent: ureq::Agent,
        /// The address, without a slash at its end.
        base: String,
    },
    /// Files in a folder.
    Folder {
        /// The folder.
        path: PathBuf,
        /// The folder around it, if that is to be removed afterwards.
        _scratch: Option<Scratch>,
    },
}

/// The files under an address.
pub fn open(address: &str) -> Supply {
    if let Some(path) = address.strip_prefix("file://") {
        return Supply::Folder { path: local(path), _scratch: None };
    }
    let agent = ureq::Agent::config_builder()
        .user_agent(concat!("cbo/", env!("CARGO_PKG_VERSION")))
        .timeout_resolve(Some(PATIENCE))
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_per_read(Some(PATIENCE))
        .build()
        .new_agent();
    Supply::Web { agent, base: address.into() }
}

impl Supply {
    /// The name and the bytes of a file, packed or plain.
    pub fn read(&self, file: &str, watch: &Watch) -> Result<(String, Vec<u8>), Fault> {
        for name in [format!("{file}.gz"), file.into()] {
            let bytes = match self {
                Supply::Web { agent, base } => get(agent, &format!("{base}/{name}"), &name, watch)?,
                Supply::Folder { path, .. } => read(&path.join(&name), &name)?,
            };
            if let Some(bytes) = bytes {
                return Ok((name, bytes));
            }
        }
        Err(Fault::Wrong(format!("there is no file `{file}`, plain or with `.gz`")))
    }
}

/// The folder in a `file://` address: `%20` stands for a space, and a host may be named if it is this one.
fn local(path: &str) -> PathBuf {
    let path = path.strip_prefix("localhost/").map_or(path.into(), |rest| format!("/{rest}"));
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        match code.filter(|_| first == b'%').and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &after[2..]),
            None => (bytes.push(first), rest = after),
        };
    }
    let path = String::from_utf8_lossy(&bytes).into_owned();
    // On Windows the address of C:\data is file:///C:/data.
    PathBuf::from(if cfg!(windows) { path.trim_start_matches('/') } else { &path })
}

/// The bytes of a file in a folder; nothing if it is not there.
fn read(path: &Path, name: &str) -> Result<Option<Vec<u8>>, Fault> {
    let mut bytes = Vec::new();
    match fs::File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)) {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(Fault::Wrong(format!("`{name}` cannot be read: {error}"))),
    }
}

/// Bytes received, and bytes that the server promised (0 if it did not say).
#[derive(Debug, Default)]
struct Counter {
    done: AtomicU64,
    total: AtomicU64,
}

/// The bytes of a file on a server; nothing if it is not there. The server is asked in a thread of its own, so that
/// Ctrl-C does not wait for it.
fn get(agent: &ureq::Agent, address: &str, name: &str, watch: &Watch) -> Result<Option<Vec<u8>>, Fault> {
    // The whole address would not fit on a line.
    let host = address.split('/').nth(2).unwrap_or_default();
    let bar = watch.bar(format!("{name} from {host}"));
    let counter = Arc::new(Counter::default());
    let (sender, receiver) = channel();
    let (asking, asked, counted) = (agent.clone(), address.to_string(), Arc::clone(&counter));
    // Nobody listens any more after Ctrl-C.
    std::thread::spawn(move || drop(sender.send(ask(&asking, &asked, &counted))));
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(answer) => return answer.map_err(|error| explain(error, name, &counter)),
            Err(RecvTimeoutError::Timeout) if interrupt::requested() => return Err(Fault::Interrupted),
            Err(RecvTimeoutError::Timeout) => {
                bar.show(counter.done.load(Ordering::Relaxed), counter.total.load(Ordering::Relaxed));
            }
            Err(RecvTimeoutError::Disconnected) => return Err(Fault::Failed(format!("`{name}` was not received"))),
        }
    }
}

fn ask(agent: &ureq::Agent, address: &str, counter: &Counter) -> Result<Option<Vec<u8>>, ureq::Error> {
    let mut response = match agent.get(address).call() {
        Ok(response) => response,
        // File stores say 403 where others say 404.
        Err(ureq::Error::StatusCode(403 | 404 | 410)) => return Ok(None),
        Err(error) => return Err(error),
    };
    counter.total.store(response.body().content_length().unwrap_or(0), Ordering::Relaxed);
    let mut reader = response.body_mut().with_config().limit(MOST_BYTES).reader();
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        match reader.read(&mut piece)? {
            0 => return Ok(Some(bytes)),
            count => bytes.extend_from_slice(&piece[..count]),
        }
        counter.done.store(bytes.len() as u64, Ordering::Relaxed);
    }
}

/// What went wrong, in words.
fn explain(error: ureq::Error, name: &str, counter: &Counter) -> Fault {
    let (done, total) = (counter.done.load(Ordering::Relaxed), counter.total.load(Ordering::Relaxed));
    if done > 0 || total > 0 {
        let of = if total > 0 { format!(" of {total}") } else { String::new() };
        return Fault::Failed(format!("`{name}` broke off after {done}{of} bytes ({error})"));
    }
    match error {
        ureq::Error::StatusCode(code) => Fault::Failed(format!("the server answers with status {code} for `{name}`")),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => Fault::Wrong(format!("is not an address ({error})")),
        ureq::Error::HostNotFound => Fault::Failed("cannot be reached (the host is not found)".into()),
        ureq::Error::Io(error) => Fault::Failed(format!("cannot be reached ({error})")),
        error => Fault::Failed(format!("cannot be reached ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn file_addresses_are_paths() {
        for (text, path) in [
            ("/data/mnist", "/data/mnist"),
            ("/my%20data", "/my data"),
            ("localhost/data", "/data"),
            ("/100%", "/100%"),
            ("/a%zzb", "/a%zzb"),
            ("relative", "relative"),
            ("/%C3%BCber/ü", "/über/ü"),
        ] {
            assert_eq!(local(text), PathBuf::from(path), "{text}");
        }
    }
}
