//! What is below the folders, remembered for a moment.

use crate::find::{self, Item};
use crate::run::{self, Short};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long the list of what was found is good for.
const FRESH: Duration = Duration::from_secs(1);

/// Lengths and times of files.
type Stamp = Vec<(u64, u64)>;

/// The folders that are shown, and what is in them.
#[derive(Debug)]
pub struct Library {
    folders: Vec<PathBuf>,
    found: Mutex<Option<(Instant, Vec<Item>)>>,
    shorts: Mutex<HashMap<String, (Stamp, Short)>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Library {
    pub fn new(folders: Vec<PathBuf>) -> Self {
        Self { folders, found: Mutex::new(None), shorts: Mutex::default() }
    }

    /// The folders in words.
    pub fn folders(&self) -> Vec<String> {
        self.folders.iter().map(|folder| folder.display().to_string()).collect()
    }

    /// All items.
    pub fn items(&self) -> Vec<Item> {
        let mut found = locked(&self.found);
        if let Some((_, items)) = found.as_ref().filter(|(when, _)| when.elapsed() < FRESH) {
            return items.clone();
        }
        let items = find::search(&self.folders);
        *found = Some((Instant::now(), items.clone()));
        items
    }

    /// The item of this name, if it is still there.
    pub fn item(&self, id: &str) -> Option<Item> {
        self.items().into_iter().find(|item| item.id == id).filter(Item::is_there)
    }

    /// An item in short, read again only if something has changed.
    pub fn short(&self, item: &Item) -> Short {
        let stamp = run::stamp(item);
        if let Some((_, short)) = locked(&self.shorts).get(&item.id).filter(|(before, _)| *before == stamp) {
            return short.clone();
        }
        let short = run::short(item);
        locked(&self.shorts).insert(item.id.clone(), (stamp, short.clone()));
        short
    }
}
