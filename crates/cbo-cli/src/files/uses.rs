//! The files that a command reads and writes: no output may be an input, or another output.

use super::place::{self, Identity, Place};
use crate::config_file::Origins;
use crate::error::CliError;
use cbo_runs::files::folder;
use std::path::{Path, PathBuf};

/// What is known of the files of a command.
pub struct Uses<'a> {
    origins: &'a Origins,
    /// Whether stdout belongs to one JSON object.
    json: bool,
    inputs: Vec<(Identity, String)>,
    outputs: Vec<(Identity, String)>,
    folders: Vec<Taken>,
}

/// A folder, the names in it that are taken, and what it is in words.
struct Taken {
    folder: PathBuf,
    is_taken: fn(&str) -> bool,
    words: String,
}

impl<'a> Uses<'a> {
    /// Nothing yet.
    pub fn new(origins: &'a Origins, json: bool) -> Self {
        Self { origins, json, inputs: Vec::new(), outputs: Vec::new(), folders: Vec::new() }
    }

    /// A file that is read, in words such as `the file of --init`.
    pub fn input(&mut self, words: &str, path: &Path) {
        self.inputs.extend(place::identity(path).map(|identity| (identity, words.to_string())));
    }

    /// A folder in which the names that `is_taken` knows are those of others, in words such as `the folder of --out`.
    pub fn folder(&mut self, words: &str, path: &Path, is_taken: fn(&str) -> bool) {
        let words = words.to_string();
        self.folders.extend(path.canonicalize().ok().map(|folder| Taken { folder, is_taken, words }));
    }

    /// A file that is to be written: refused if it cannot be, or if it is one of the others.
    pub fn output(&mut self, field: &str, path: &Path) -> Result<(), CliError> {
        let refuse = |why: String| {
            let message = format!("{field} = {}: {why}", path.display());
            Err(self.origins.blame(field, &message))
        };
        let checked = Place::of(path).and_then(|place| place.check().map(|()| place));
        let place = match checked {
            Ok(place) => place,
            Err(e) => return refuse(format!("cannot write it: {e}; choose a place that can be written to")),
        };
        if self.json && place == Place::Stdout && place::identity(path).is_some() {
            return refuse("stdout has one JSON object and nothing else with --json; choose a file".into());
        }
        if let Place::File(file) = &place {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let here = folder(file).canonicalize().ok();
            let taken = |taken: &&Taken| here.as_ref() == Some(&taken.folder) && (taken.is_taken)(&name);
            if let Some(Taken { words, .. }) = self.folders.iter().find(taken) {
                return refuse(format!("is one of the files in {words}; choose another file"));
            }
        }
        let Some(identity) = place.identity() else { return Ok(()) };
        if let Some((_, words)) = self.inputs.iter().find(|(other, _)| *other == identity) {
            return refuse(format!("is {words}, which would be overwritten; choose another file"));
        }
        if let Some((_, words)) = self.outputs.iter().find(|(other, _)| *other == identity) {
            return refuse(format!("is {words} too; choose another file"));
        }
        self.outputs.push((identity, format!("the file of {}", self.origins.name(field))));
        Ok(())
    }
}
