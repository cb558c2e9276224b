//! The command line of an external objective, and how to talk to it.

use std::env;
use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::ExternalError;

/// What stands for the point in a command line.
const PLACE: &str = "{x}";

/// How a program gets a point and gives a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// One process per evaluation. The coordinates are arguments, in place of `{x}`; the value is the last line of stdout.
    Args,
    /// One process per evaluation. The point is a JSON array on stdin; the value is the last line of stdout.
    Json,
    /// Processes that stay. A line of JSON for each point, `{"id":7,"x":[0.5,-1.0]}`, and one for each answer,
    /// `{"id":7,"value":1.25}`.
    Jsonl,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Args, Self::Json, Self::Jsonl];

    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Args => "args",
            Self::Json => "json",
            Self::Jsonl => "jsonl",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Protocol {
    type Err = ExternalError;

    fn from_str(text: &str) -> Result<Self, ExternalError> {
        let found = Self::ALL.into_iter().find(|p| p.name() == text.trim().to_ascii_lowercase());
        found.ok_or_else(|| ExternalError::setting("protocol", text, "use args, json or jsonl"))
    }
}

/// A command line, split into words as a shell would, but run without a shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    text: String,
    words: Vec<String>,
    protocol: Protocol,
    /// Where it runs; empty for the current folder.
    folder: PathBuf,
    /// The number of the first worker, as programs are told it.
    first_worker: usize,
}

impl Program {
    /// Splits a command line into words. Quotes and backslashes work as in a shell; variables, pipes and patterns do not.
    pub fn parse(text: &str, protocol: Protocol) -> Result<Self, ExternalError> {
        let wrong = |remedy: &str| Err(ExternalError::command(text, remedy));
        if text.contains('\0') {
            return wrong("a command cannot contain a zero byte");
        }
        let Some(words) = shlex::split(text) else {
            return wrong("a quote is not closed, or a backslash ends the line");
        };
        if words.first().is_none_or(String::is_empty) {
            return wrong("it names no program; write for example \"./simulate {x}\"");
        }
        if words[0].contains(PLACE) {
            return wrong("{x} cannot be the program; write for example \"./simulate {x}\"");
        }
        match (protocol, words.iter().any(|w| w.contains(PLACE))) {
            (Protocol::Args, false) => wrong(
                "{x} is missing, which stands for the coordinates; put it where they belong, or use protocol json",
            ),
            (Protocol::Json | Protocol::Jsonl, true) => Err(ExternalError::command(
                text,
                format!("with protocol {protocol} the point comes on stdin; leave {{x}} out, or use protocol args"),
            )),
            _ => Ok(Self { text: text.into(), words, protocol, folder: PathBuf::new(), first_worker: 0 }),
        }
    }

    /// The same program, run in another folder: paths in the command line are relative to it.
    pub fn in_folder(self, folder: PathBuf) -> Self {
        Self { folder, ..self }
    }

    /// The same program, whose workers count from this number: those of several ranks have different ones.
    pub fn counting_from(self, first_worker: usize) -> Self {
        Self { first_worker, ..self }
    }

    /// The number of its first worker.
    pub(super) fn first_worker(&self) -> usize {
        self.first_worker
    }

    /// Where it runs; `None` for the current folder.
    pub(super) fn folder(&self) -> Option<&Path> {
        Some(self.folder.as_path()).filter(|folder| !folder.as_os_str().is_empty())
    }

    /// The command line as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// How to talk to it.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Whether the program is there and may be executed.
    pub fn check(&self) -> Result<(), ExternalError> {
        let name = &self.words[0];
        let wrong = |remedy: String| Err(ExternalError::command(&self.text, remedy));
        let Some(path) = self.resolved() else {
            return wrong(match (name.contains('/'), self.folder.join(name).is_file()) {
                (true, _) => format!("there is no file {name}; paths are relative to {}", self.here()),
                (false, true) => format!("{name} is not in PATH; for the file in the current folder write ./{name}"),
                (false, false) => {
                    format!("{name} is not in PATH; install it, or write its path with a slash, such as ./{name}")
                }
            });
        };
        match fs::metadata(&path) {
            Ok(found) if found.is_dir() => wrong(format!("{name} is a folder; give a program in it")),
            Ok(found) if !is_executable(&found) => wrong(format!(
                "{name} may not be executed; allow it with chmod +x {name}, or put its interpreter before it, such as \
                 python3 {name}"
            )),
            Ok(_) => match interpreter(&path).filter(|interpreter| !interpreter.exists()) {
                Some(missing) => wrong(format!(
                    "the first line of {name} asks for {}, which does not exist; install it, or change that line",
                    missing.display()
                )),
                None => Ok(()),
            },
            Err(error) => wrong(format!("{name} cannot be read: {error}")),
        }
    }

    /// The files that the objective consists of, as far as the command line shows: the program, and the words (or what
    /// follows the `=` in a word) that are regular files.
    pub fn files(&self) -> Vec<PathBuf> {
        let values = |word: &String| {
            let after = word.split_once('=').map(|(_, value)| PathBuf::from(value));
            [Some(PathBuf::from(word)), after]
        };
        let others = self.words[1..].iter().flat_map(values).flatten();
        let mut files: Vec<PathBuf> = Vec::new();
        for path in self.resolved().into_iter().chain(others).map(|p| self.folder.join(p)).filter(|p| p.is_file()) {
            if !files.contains(&path) {
                files.push(path);
            }
        }
        files
    }

    /// The words of the command line, with the coordinates in their places.
    pub(super) fn words_at(&self, x: &[f64]) -> Vec<String> {
        if self.protocol != Protocol::Args {
            return self.words.clone();
        }
        let coordinates: Vec<String> = x.iter().map(|v| format!("{v:?}")).collect();
        let mut words = Vec::with_capacity(self.words.len() + x.len());
        for word in &self.words {
            if word == PLACE {
                words.extend(coordinates.iter().cloned());
            } else {
                words.push(word.replace(PLACE, &coordinates.join(",")));
            }
        }
        words
    }

    /// Where the program is: at its path, or the first one of its name in PATH that may be executed.
    fn resolved(&self) -> Option<PathBuf> {
        let name = &self.words[0];
        if name.contains('/') {
            return Some(self.folder.join(name)).filter(|p| p.exists());
        }
        let usable = |path: &PathBuf| fs::metadata(path).is_ok_and(|m| m.is_file() && is_executable(&m));
        env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(usable)
    }

    fn here(&self) -> String {
        let folder = self.folder().map(Path::to_path_buf).or_else(|| env::current_dir().ok());
        folder.map_or("the current folder".into(), |folder| folder.display().to_string())
    }
}

/// What the first line of a script, `#!/bin/sh`, asks for.
fn interpreter(script: &Path) -> Option<PathBuf> {
    let mut start = Vec::new();
    fs::File::open(script).ok()?.take(256).read_to_end(&mut start).ok()?;
    let line = start.strip_prefix(b"#!")?.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    // A relative one depends on where the program runs; starting it will show.
    line.split_whitespace().next().map(PathBuf::from).filter(|path| path.is_absolute())
}

#[cfg(unix)]
fn is_executable(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    found.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &fs::Metadata) -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str, protocol: Protocol) -> String {
        Program::parse(text, protocol).and_then(|p| p.check()).expect_err(text).to_string()
    }

    #[test]
    fn protocols_are_words() {
        for protocol in Protocol::ALL {
            assert_eq!(protocol.to_string().parse::<Protocol>().expect("its own name"), protocol);
        }
        assert_eq!("JSON".parse::<Protocol>().expect("capitals"), Protocol::Json);
        let error = "xml".parse::<Protocol>().expect_err("no such protocol").to_string();
        assert_eq!(error, "protocol = xml: use args, json or jsonl");
    }

    #[test]
    fn commands_are_taken_apart() {
        let program = Program::parse("sim 'a b' --at={x} {x} \"c\"", Protocol::Args).expect("a command");
        assert_eq!(program.words_at(&[1.0, -0.5]), ["sim", "a b", "--at=1.0,-0.5", "1.0", "-0.5", "c"]);
        assert_eq!(program.text(), "sim 'a b' --at={x} {x} \"c\"");
        let program = Program::parse("sim -v", Protocol::Jsonl).expect("a command");
        assert_eq!(program.words_at(&[1.0]), ["sim", "-v"]);
    }

    #[test]
    fn coordinates_read_back_exactly() {
        let program = Program::parse("sim {x}", Protocol::Args).expect("a command");
        let x = [1e300, 5e-324, -0.0, 1.0, 0.1 + 0.2, f64::MAX, f64::MIN_POSITIVE];
        let words = program.words_at(&x);
        assert_eq!(words[1..5], ["1e300", "5e-324", "-0.0", "1.0"]);
        for (word, x) in words[1..].iter().zip(x) {
            assert_eq!(word.parse::<f64>().expect("a number").to_bits(), x.to_bits(), "{word}");
            let json: f64 = serde_json::from_str(word).expect("JSON");
            assert_eq!(json, x, "{word}");
        }
    }

    #[test]
    fn errors_say_what_would_be_right() {
        for (text, protocol, says) in [
            ("", Protocol::Args, "names no program"),
            ("  ", Protocol::Json, "names no program"),
            ("'' {x}", Protocol::Args, "names no program"),
            ("sim 'a {x}", Protocol::Args, "a quote is not closed"),
            ("sim", Protocol::Args, "{x} is missing"),
            ("sim {x}", Protocol::Json, "leave {x} out"),
            ("sim --x={x}", Protocol::Jsonl, "leave {x} out"),
            ("{x}", Protocol::Args, "{x} cannot be the program"),
            ("no-such-program-anywhere {x}", Protocol::Args, "is not in PATH; install it"),
            ("./no-such-program {x}", Protocol::Args, "there is no file ./no-such-program; paths are relative to /"),
            ("Cargo.toml", Protocol::Json, "write ./Cargo.toml"),
            ("./Cargo.toml", Protocol::Json, "chmod +x ./Cargo.toml"),
            ("./src", Protocol::Json, "is a folder"),
            ("a\0b", Protocol::Json, "zero byte"),
        ] {
            let error = error(text, protocol);
            assert!(error.starts_with("command = \"") && error.contains(says), "{text}: {error}");
        }
        Program::parse("sh -c 'echo 1'", Protocol::Json).and_then(|p| p.check()).expect("a shell is there");
    }

    #[cfg(unix)]
    #[test]
    fn a_script_needs_its_interpreter() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text, says) in [
            ("good", "#!/bin/sh\necho 1\n", None),
            ("plain", "echo 1\n", None),
            ("env", "#! /usr/bin/env no-such-thing\n", None),
            ("bad", "#!/no/such/interpreter -x\n", Some("asks for /no/such/interpreter, which does not exist")),
        ] {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a script");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
            let program = Program::parse(&format!("./{name} {{x}}"), Protocol::Args).expect("a command");
            let checked = program.in_folder(folder.path().into()).check().map_err(|e| e.to_string());
            match says {
                None => assert_eq!(checked, Ok(()), "{name}"),
                Some(says) => assert!(checked.expect_err(name).contains(says)),
            }
        }
    }

    #[test]
    fn files_are_found() {
        let program = Program::parse("sh Cargo.toml --in=src/lib.rs src {x} Cargo.toml", Protocol::Args).expect("good");
        let files = program.files();
        assert!(files[0].is_absolute() && files[0].ends_with("sh"), "{files:?}");
        assert_eq!(files[1..], [PathBuf::from("Cargo.toml"), PathBuf::from("src/lib.rs")]);
        assert!(Program::parse("./nothing", Protocol::Json).expect("good").files().is_empty());
    }
}
