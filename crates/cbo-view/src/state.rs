//! Where a run is: at work, finished, interrupted, failed.

use crate::read;
use cbo_runs::checkpoint::{self, Summary};
use cbo_runs::folder::{self, CHECKPOINT, CONFIG, LOG, PREVIOUS};
use std::collections::BTreeMap;
use std::path::Path;

/// Lines of the log that are shown.
const LINES: usize = 200;

/// A run as its folder shows it at one moment.
pub struct State {
    /// The process at work; 0 if it is not known.
    pub process: Option<u32>,
    /// What its newest checkpoint says.
    pub summary: Option<Summary>,
    /// The end of its log.
    pub log: Vec<String>,
    /// Its settings, as text.
    pub settings: BTreeMap<String, String>,
    /// What is wrong.
    pub faults: Vec<String>,
}

impl State {
    /// Looks at a run folder.
    pub fn of(folder: &Path) -> Self {
        let mut faults = Vec::new();
        let newest = checkpoint::peek(&folder.join(CHECKPOINT));
        if newest.is_none() && read::is_file(&folder.join(CHECKPOINT)) {
            faults.push(format!("{CHECKPOINT} cannot be read"));
        }
        let summary = newest.or_else(|| checkpoint::peek(&folder.join(PREVIOUS)));
        let written = config(folder);
        if written.is_none() {
            faults.push(format!("{CONFIG} cannot be read"));
        }
        let settings = summary.as_ref().map(|summary| summary.settings.clone()).or(written).unwrap_or_default();
        let log = read::last_lines(&folder.join(LOG), LINES);
        Self { process: folder::worker(folder), summary, log, settings, faults }
    }

    /// In a word: `running`, `finished`, `interrupted` or `failed`.
    pub fn word(&self) -> &'static str {
        let stop = self.summary.as_ref().and_then(|summary| summary.stop.as_deref());
        match (self.process, stop) {
            (Some(_), _) => "running",
            (None, Some(stop)) if stop != "interrupt" => "finished",
            (None, Some(_)) => "interrupted",
            (None, None) => {
                if self.failure().is_some() {
                    "failed"
                } else {
                    "interrupted"
                }
            }
        }
    }

    /// Why it could not go on, if its log ends with that.
    pub fn failure(&self) -> Option<&str> {
        self.log.last()?.split_once(" failed: ").map(|(_, why)| why)
    }

    /// A setting that is not off.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str).filter(|value| *value != "off")
    }
}

/// The settings in `config.toml`, as text.
fn config(folder: &Path) -> Option<BTreeMap<String, String>> {
    let table = read::text(&folder.join(CONFIG))?.parse::<toml::Table>().ok()?;
    let plain = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    Some(table.into_iter().map(|(key, value)| (key, plain(value))).collect())
}
