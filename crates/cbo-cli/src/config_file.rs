//! `--config FILE`: TOML keys become flags, so that both mean the same by construction.

use crate::error::{CliError, told};
use crate::flags;
use crate::mnist::data;
use crate::values;
use cbo::ConfigError;
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Which settings came from a file, and from which line.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    file: PathBuf,
    lines: HashMap<String, usize>,
}

impl Origins {
    /// Forgets where a setting came from: it has since been given in another way.
    pub fn forget(&mut self, field: &str) {
        self.lines.remove(field);
    }

    /// How the user gave a setting: a flag, or a key of a file.
    pub fn name(&self, field: &str) -> String {
        match self.lines.get(field) {
            Some(_) => format!("{field} in {}", self.file.display()),
            None => format!("--{field}"),
        }
    }

    /// A usage error about `field`, with file and line if that is where it came from.
    pub fn blame(&self, field: &str, message: &str) -> CliError {
        CliError::Usage(match self.lines.get(field) {
            Some(line) => format!("{} line {line}: {message}", self.file.display()),
            None => message.to_string(),
        })
    }

    /// An error about a setting of the engine, whose flag has dashes.
    pub fn blame_setting(&self, error: &ConfigError) -> CliError {
        let field = error.field.replace('_', "-");
        self.blame(&field, &format!("{field} = {}: {}", error.value, error.remedy))
    }
}

/// One entry of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key, with dashes.
    pub key: String,
    /// The value as its flag would have it.
    pub value: String,
    /// The line, from 1.
    pub line: usize,
}

/// What is wrong with a file, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what would be right.
    pub message: String,
}

/// The matches of `command`'s subcommand with the settings of its `--config` file, if it has one, under those of the
/// command line.
pub fn merge(
    command: &mut Command,
    arguments: &[OsString],
    matches: ArgMatches,
) -> Result<(ArgMatches, Origins), CliError> {
    let (names, given, subcommand) = innermost(command, &matches);
    let Some(file) = given.try_get_one::<PathBuf>("config").ok().flatten().cloned() else {
        return Ok((matches, Origins::default()));
    };
    let text = std::fs::read_to_string(&file).map_err(|e| {
        CliError::Usage(format!("config file {}: cannot be read: {e}; give a readable TOML file", file.display()))
    })?;
    let in_line = |line: usize, message: &str| CliError::Usage(format!("{} line {line}: {message}", file.display()));
    let keys: Vec<&str> = keys(subcommand);
    let entries = parse(&text, &keys).map_err(|e| in_line(e.line, &e.message))?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let from_command_line = |key: &str| {
        let id = key.replace('-', "_");
        matches!(given.value_source(&id), Some(ValueSource::CommandLine))
    };
    let program = arguments.first().cloned().unwrap_or_else(|| "cbo".into());
    let mut flags: Vec<OsString> = [program].into_iter().chain(names.iter().map(OsString::from)).collect();
    let head = flags.clone();
    let mut lines = HashMap::new();
    for Entry { key, value, line } in entries {
        let value = rebase(&key, value, folder);
        if key == "objective" && value.starts_with('-') {
            return Err(in_line(line, &format!("objective = {value}: is not a function; `cbo list` shows all")));
        }
        let flag: OsString = if key == "objective" { value.clone().into() } else { format!("--{key}={value}").into() };
        // Alone, so that an error can name its line.
        let alone = head.iter().cloned().chain([flag.clone()]);
        if let Err(error) = command.try_get_matches_from_mut(alone) {
            return Err(in_line(line, &reason(&error, &key, &value)));
        }
        if !from_command_line(&key) {
            lines.insert(key, line);
            flags.push(flag);
        }
    }
    // Arguments after the subcommand's name; before it there are only flags of the program itself.
    let behind = |place: usize, name: &String| {
        let found = arguments[place..].iter().position(|a| a.to_str() == Some(name));
        found.map_or(arguments.len(), |i| place + i + 1)
    };
    let place = names.iter().fold(0, behind);
    flags.extend(arguments[place..].iter().cloned());
    let merged = command.try_get_matches_from_mut(flags)?;
    Ok((merged, Origins { file, lines }))
}

/// The innermost subcommand that was given, such as `mnist train`: its names, what was given to it, and the command itself.
fn innermost<'a, 'b>(command: &'a Command, matches: &'b ArgMatches) -> (Vec<String>, &'b ArgMatches, &'a Command) {
    let (mut names, mut given, mut found) = (Vec::new(), matches, command);
    while let Some((name, inner)) = given.subcommand()
        && let Some(subcommand) = found.find_subcommand(name)
    {
        names.push(name.to_string());
        (given, found) = (inner, subcommand);
    }
    (names, given, found)
}

/// The keys that a command knows: its flags that take a value, and `objective` if it takes one.
fn keys(command: &Command) -> Vec<&str> {
    let valued = |arg: &&Arg| arg.get_action().takes_values() && !["config", "help", "version"].contains(&id(arg));
    let flags = command.get_arguments().filter(valued).filter_map(Arg::get_long);
    let objective = command.get_positionals().map(id).filter(|id| *id == "objective");
    flags.chain(objective).collect()
}

fn id(arg: &Arg) -> &str {
    arg.get_id().as_str()
}

/// The gist of a parser's complaint about one value.
fn reason(error: &clap::Error, key: &str, value: &str) -> String {
    let cause = std::error::Error::source(error).map(told);
    let text = error.render().to_string();
    let possible = match error.get(ContextKind::ValidValue) {
        Some(ContextValue::Strings(values)) if !values.is_empty() => {
            Some(format!("possible values: {}", values.join(", ")))
        }
        _ => None,
    };
    let cause = cause.or(possible);
    let gist =
        cause.unwrap_or_else(|| text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_string());
    format!("{key} = {value}: {gist}")
}

/// Entries of a TOML text, in their order, each checked to be one of `keys`.
pub fn parse(text: &str, keys: &[&str]) -> Result<Vec<Entry>, FileError> {
    let line_of = |offset: usize| 1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|b| **b == b'\n').count();
    let table = DeTable::parse(text).map_err(|e| {
        let line = e.span().map_or(1, |span| line_of(span.start));
        FileError { line, message: format!("not valid TOML: {}", e.message().lines().next().unwrap_or_default()) }
    })?;
    let mut found: Vec<_> = table.get_ref().iter().collect();
    found.sort_by_key(|(key, _)| key.span().start);
    let mut entries: Vec<Entry> = Vec::new();
    for (key, value) in found {
        let line = line_of(key.span().start);
        let refuse = |message: String| Err(FileError { line, message });
        let name = key.get_ref().replace('_', "-");
        if !keys.contains(&name.as_str()) {
            return refuse(format!("unknown key `{}`{}", key.get_ref(), unknown(&name, keys)));
        }
        if entries.iter().any(|entry| entry.key == name) {
            return refuse(format!("key `{}` is given twice; keep one", key.get_ref()));
        }
        let text = if name == "bounds" { pairs(value).map_or_else(|| flag_text(value), Ok) } else { flag_text(value) };
        match text {
            Ok(value) => entries.push(Entry { key: name, value, line }),
            Err(kind) => {
                return refuse(format!(
                    "key `{name}` has {kind} for a value; give a number, a string or an array of numbers{}",
                    if name == "bounds" { ", or of pairs: [[-1, 1], [-2, 2]]" } else { "" }
                ));
            }
        }
    }
    Ok(entries)
}

/// A value as the text of a flag; arrays become lists with commas. `Err` says what cannot be one.
fn flag_text(value: &Spanned<DeValue<'_>>) -> Result<String, &'static str> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(integer) => {
            let radix = integer.radix();
            let decimal = |text: &str| i128::from_str_radix(text, radix).map(|n| n.to_string());
            Ok(if radix == 10 {
                integer.as_str().to_string()
            } else {
                decimal(integer.as_str()).map_err(|_| "a huge number")?
            })
        }
        DeValue::Float(float) => Ok(float.as_str().to_string()),
        DeValue::Boolean(value) => Ok(value.to_string()),
        DeValue::Datetime(_) => Err("a date"),
        DeValue::Table(_) => Err("a table"),
        DeValue::Array(items) => {
            let number = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
                DeValue::Integer(_) | DeValue::Float(_) => flag_text(item),
                _ => Err("an array of things other than numbers"),
            };
            Ok(items.iter().map(number).collect::<Result<Vec<_>, _>>()?.join(","))
        }
    }
}

/// What to say about a key that there is not.
fn unknown(name: &str, keys: &[&str]) -> String {
    let advice = flags::advice(name, keys);
    if advice.is_empty() { "; the keys are the flags that `--help` shows".into() } else { advice.replace("--", "") }
}

/// Pairs of ends, `[[low, high], ...]`, as the text of `--bounds`; `None` if the value is something else.
fn pairs(value: &Spanned<DeValue<'_>>) -> Option<String> {
    let DeValue::Array(items) = value.get_ref() else { return None };
    let end = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) => flag_text(item).ok(),
        _ => None,
    };
    let pair = |item: &Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::Array(ends) if ends.len() == 2 => Some((end(&ends[0])?, end(&ends[1])?)),
        _ => None,
    };
    let (low, high): (Vec<_>, Vec<_>) = items.iter().map(pair).collect::<Option<Vec<_>>>()?.into_iter().unzip();
    (!low.is_empty()).then(|| format!("{},{}", low.join(";"), high.join(";")))
}

/// A relative path in a file starts from the folder of the file.
fn rebase(key: &str, value: String, folder: &Path) -> String {
    let moved = |path: &str| folder.join(path).to_string_lossy().into_owned();
    match key {
        "out" | "plot" | "history" | "animate" | "command-folder" => moved(&value),
        "data" if ![data::FETCHED, data::BUILT_IN].contains(&value.as_str()) => moved(&value),
        "init" => value.strip_prefix("file:").map(|path| format!("file:{}", moved(path))).unwrap_or(value),
        "bounds" => match values::bounds(&value) {
            Ok(values::BoundsSpec::File(_)) => moved(&value),
            _ => value,
        },
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: &[&str] = &["dim", "max-evaluations", "shift", "seed", "alpha", "strict", "objective", "bounds"];

    #[test]
    fn values_become_the_texts_of_flags() {
        let text = "objective = 'sphere'\nmax_evaluations = 1_000\nshift = [1, -2.5]\nalpha = 1e15\nseed = 0x10\nstrict = true\n";
        let entries = parse(text, KEYS).expect("six keys");
        let got: Vec<_> = entries.iter().map(|e| (e.key.as_str(), e.value.as_str(), e.line)).collect();
        let want = [
            ("objective", "sphere", 1),
            ("max-evaluations", "1000", 2),
            ("shift", "1,-2.5", 3),
            ("alpha", "1e15", 4),
            ("seed", "16", 5),
            ("strict", "true", 6),
        ];
        assert_eq!(got, want);
        assert_eq!(parse("alpha = inf", KEYS).expect("infinity")[0].value, "inf");
        let bounds = |text: &str| parse(text, KEYS).map(|entries| entries[0].value.clone());
        assert_eq!(bounds("bounds = [-1, 1]"), Ok("-1,1".into()));
        assert_eq!(bounds("bounds = [[-1, 1], [-2, 2.5]]"), Ok("-1;-2,1;2.5".into()));
        assert_eq!(bounds("bounds = [[0, inf], [-inf, 2]]"), Ok("0;-inf,inf;2".into()));
        for wrong in ["bounds = [[-1, 1], [-2]]", "bounds = [[-1, 1], 2]", "bounds = [['a', 'b']]", "bounds = [[]]"] {
            assert!(bounds(wrong).is_err_and(|e| e.message.contains("[[-1, 1], [-2, 2]]")), "{wrong}");
        }
    }

    #[test]
    fn faults_name_line_and_remedy() {
        let fault = |text: &str| parse(text, KEYS).unwrap_err();
        assert_eq!(fault("dim = 2\n\nmax-evaluation = 3\n").line, 3);
        assert!(fault("max-evaluation = 3").message.contains("did you mean `max-evaluations`?"));
        assert!(fault("zzzzzzz = 3").message.contains("--help"));
        assert!(fault("dim = 2\nmax_evaluations = 3\nmax-evaluations = 4").message.contains("twice"));
        assert_eq!(fault("dim = 2\nseed =\n").line, 2);
        assert!(fault("dim = 2\n[seed]\nx = 1\n").message.contains("a table"));
        assert!(fault("shift = [[1]]").message.contains("array"));
        assert!(fault("seed = 2020-01-01").message.contains("a date"));
    }
}
