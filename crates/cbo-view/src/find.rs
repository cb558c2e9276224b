//! The runs, comparisons and experiments below folders.

use crate::read::is_file;
use cbo_runs::folder::{CHECKPOINT, CONFIG, LOG, PREVIOUS};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};

/// How far below a folder to look.
const LEVELS: usize = 4;

/// Folders that are looked into, and entries of each, at most.
const FOLDERS: usize = 20_000;
const ENTRIES: usize = 20_000;

/// What is found at most.
const ITEMS: usize = 2000;

/// The experiments that have a file of their name.
const EXPERIMENTS: [&str; 5] = ["phase", "truncation", "sensing", "landscape", "canyon"];

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A run, of `cbo minimize` or `cbo mnist train`.
    Run,
    /// The files of `cbo compare`.
    Comparison,
    /// Those of `cbo experiment`, by name.
    Experiment(&'static str),
}

/// Something that can be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// A short name for addresses, which says nothing of the path.
    pub id: String,
    /// The path, from the folder that was given.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
}

impl Item {
    fn new(name: String, path: PathBuf, kind: Kind) -> Self {
        let mut hash = Sha256::new();
        hash.update(path.as_os_str().as_encoded_bytes());
        if let Kind::Experiment(experiment) = &kind {
            hash.update(b"\0");
            hash.update(experiment.as_bytes());
        }
        let id = hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        Self { id, name, path, kind }
    }

    /// Whether its folder is still where it was found, and no link has come into its path.
    pub fn is_there(&self) -> bool {
        self.path.canonicalize().is_ok_and(|path| path == self.path)
    }
}

/// What is found below the folders, which must be canonical, in the order of their paths.
pub fn search(folders: &[PathBuf]) -> Vec<Item> {
    let mut found = Found { items: Vec::new(), folders: FOLDERS };
    for folder in folders {
        let several = folders.len() > 1;
        let first = if several { folder.file_name().map(|name| name.to_string_lossy().into_owned()) } else { None };
        found.look(folder, &first.unwrap_or_default(), LEVELS);
    }
    found.items.sort_by(|a, b| a.path.cmp(&b.path));
    found.items.dedup_by(|a, b| a.id == b.id);
    found.items
}

struct Found {
    items: Vec<Item>,
    /// Folders that may still be looked into.
    folders: usize,
}

impl Found {
    fn look(&mut self, folder: &Path, name: &str, levels: usize) {
        if self.folders == 0 || self.items.len() >= ITEMS {
            return;
        }
        self.folders -= 1;
        let shown = if name.is_empty() {
            folder.file_name().map_or_else(|| folder.display().to_string(), |name| name.to_string_lossy().into_owned())
        } else {
            name.to_string()
        };
        if is_run(folder) {
            // What is below a run belongs to it.
            return self.items.push(Item::new(shown, folder.into(), Kind::Run));
        }
        if is_file(&folder.join("compare.json")) {
            self.items.push(Item::new(shown.clone(), folder.into(), Kind::Comparison));
        }
        for experiment in EXPERIMENTS {
            if is_file(&folder.join(format!("{experiment}.json"))) && is_file(&folder.join(format!("{experiment}.csv")))
            {
                let shown = format!("{shown}/{experiment}");
                self.items.push(Item::new(shown, folder.into(), Kind::Experiment(experiment)));
            }
        }
        let Some(levels) = levels.checked_sub(1) else { return };
        // A folder that cannot be read has nothing for us. The kind is that of the entry itself: a link is not a folder.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(ENTRIES);
        let is_shown = |entry: &fs::DirEntry| {
            !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.file_type().is_ok_and(|kind| kind.is_dir())
        };
        let mut below: Vec<_> = entries.filter(is_shown).map(|entry| entry.file_name()).collect();
        below.sort();
        for entry in below {
            let entry_name = entry.to_string_lossy();
            let name = if name.is_empty() { entry_name.into_owned() } else { format!("{name}/{entry_name}") };
            self.look(&folder.join(&entry), &name, levels);
        }
    }
}

/// Whether a folder looks like a run folder. Many programs have a `config.toml`.
pub fn is_run(folder: &Path) -> bool {
    is_file(&folder.join(CONFIG)) && [CHECKPOINT, PREVIOUS, LOG].iter().any(|name| is_file(&folder.join(name)))
}
