//! What the tests of the command share: running it and reading what it says.

#![allow(dead_code)] // each test file uses a part of it

use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output};

/// The program, its standard input closed, with nothing in its cache of images.
pub fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cbo"));
    command.args(arguments).stdin(std::process::Stdio::null());
    command.env("CBO_CACHE", concat!(env!("CARGO_TARGET_TMPDIR"), "/empty-cache"));
    command
}

/// Runs the program.
pub fn cbo(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the program starts")
}

/// Runs the program with the words of one line.
pub fn words(line: &str) -> Output {
    cbo(&line.split_whitespace().collect::<Vec<_>>())
}

/// What it said on stdout.
pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("text on stdout")
}

/// What it said on stderr.
pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("text on stderr")
}

/// The one JSON object on stdout of a run that succeeded in silence.
pub fn object(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    assert_eq!(stderr(output), "");
    let text = stdout(output);
    assert_eq!(text.lines().count(), 1, "one object, nothing else: {text}");
    serde_json::from_str(&text).expect("JSON")
}

/// The result without what may differ between equal runs; numbers as they were written.
pub fn result(output: &Output) -> Value {
    let mut value = object(output);
    let fields = value.as_object_mut().expect("an object");
    assert!(fields.remove("seconds").is_some() && fields.remove("threads").is_some());
    value
}

/// Asserts a usage error: exit code 2, nothing on stdout, one message with all of `parts`.
pub fn assert_usage(output: &Output, parts: &[&str]) {
    let message = stderr(output);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert_eq!(stdout(output), "", "nothing belongs on stdout");
    assert!(message.starts_with("error: "), "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

/// Path as text.
pub fn path(path: &Path) -> &str {
    path.to_str().expect("a path of text")
}

/// Width, height and the colours of a PNG.
pub fn read_png(file: &Path) -> (u32, u32, HashSet<[u8; 3]>) {
    let mut decoder = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file).expect("a file")));
    decoder.set_transformations(png::Transformations::EXPAND);
    let mut reader = decoder.read_info().expect("a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("a size")];
    let info = reader.next_frame(&mut pixels).expect("a picture");
    let channels = info.color_type.samples();
    assert!(channels >= 3, "a picture in colour");
    let colours = pixels[..info.buffer_size()].chunks_exact(channels).map(|p| [p[0], p[1], p[2]]).collect();
    (info.width, info.height, colours)
}

#[cfg(unix)]
pub mod folders;
