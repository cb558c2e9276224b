//! What can be known of a run from its folder: its checkpoint, its settings, its evaluations.

use crate::error::CliError;
use crate::minimize::history;
use crate::numbers::{count, short};
use crate::progress::duration;
use crate::resume;
use cbo_runs::checkpoint::{self, Checkpoint};
use cbo_runs::files;
use cbo_runs::folder::{self, CHECKPOINT, CONFIG, EVALUATIONS, FolderError, LOG, Look, PREVIOUS};
use cbo_runs::store::{self, StoreError};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The settings that limit a run, and their words.
const LIMITS: [(&str, &str); 6] = [
    ("steps", "steps"),
    ("epochs", "epochs"),
    ("iterations", "iterations"),
    ("time", "time"),
    ("max-evaluations", "evaluations"),
    ("max-seconds", "s"),
];

/// One of these settings says what a run minimises: a function, a program, or a network to train.
const SUBJECTS: [&str; 3] = ["objective", "command", "network"];

/// The state of a run that was cut off and cannot be resumed, because its settings cannot be read.
pub const DAMAGED: &str = "damaged";

/// A run as it can be seen from outside.
pub struct Run {
    /// Its folder.
    pub path: PathBuf,
    /// Its lock and its checkpoint.
    pub look: Look,
    /// Its settings, keys as the flags have them.
    pub settings: BTreeMap<String, String>,
    /// What is wrong with the file of its settings, if something is.
    config: Option<String>,
    /// Its evaluations in short, if it has a store.
    pub store: Option<Result<store::Summary, StoreError>>,
}

/// Whether a folder looks like a run folder. Many programs have a `config.toml`.
pub fn is_run(folder: &Path) -> bool {
    folder.join(CONFIG).is_file() && [CHECKPOINT, PREVIOUS, LOG].iter().any(|name| folder.join(name).is_file())
}

impl Run {
    /// Looks at a folder, with up to `failures` of its last failed evaluations.
    pub fn see(path: &Path, failures: usize) -> Result<Self, CliError> {
        if path.is_dir() && !is_run(path) {
            return Err(refused(FolderError::NotARun(path.into())));
        }
        let look = folder::look(path).map_err(refused)?;
        let (written, config) = match settings_of(&path.join(CONFIG)) {
            Ok(settings) => (settings, None),
            Err(fault) => (BTreeMap::new(), Some(format!("{CONFIG} is damaged: {fault}"))),
        };
        let settings = look.checkpoint.as_ref().map_or(written, |checkpoint| checkpoint.summary.settings.clone());
        let file = path.join(EVALUATIONS);
        let store = file.exists().then(|| store::read(&file).and_then(|reading| reading.summary(failures)));
        Ok(Self { path: path.into(), look, settings, config, store })
    }

    fn summary(&self) -> Option<&checkpoint::Summary> {
        self.look.checkpoint.as_ref().map(|c: &Checkpoint| &c.summary)
    }

    fn evaluated(&self) -> Option<&store::Summary> {
        self.store.as_ref()?.as_ref().ok()
    }

    /// `running`, `finished`, `interrupted`, or `damaged`: cut off, and without the settings to resume it.
    pub fn state(&self) -> &'static str {
        match self.look.state() {
            "interrupted" if self.config.is_some() => DAMAGED,
            state => state,
        }
    }

    fn setting(&self, key: &str) -> Option<&str> {
        self.settings.get(key).map(String::as_str).filter(|value| *value != "off")
    }

    /// The command that began it: `minimize` or `mnist`.
    pub fn kind(&self) -> &str {
        self.summary().map_or("minimize", |s| &s.kind)
    }

    /// What is minimised.
    pub fn objective(&self) -> &str {
        let said = self.summary().map(|s| s.objective.as_str());
        said.or(self.setting("command")).or(self.setting("objective")).unwrap_or("?")
    }

    /// Number of coordinates, if known.
    pub fn dim(&self) -> Option<usize> {
        self.summary().map(|s| s.dim).or(self.setting("dim").and_then(|dim| dim.parse().ok()))
    }

    /// Steps taken until the checkpoint.
    pub fn step(&self) -> u64 {
        self.summary().map_or(0, |s| s.step)
    }

    /// Evaluations: those of the checkpoint, or more if a store has seen more since.
    pub fn evaluations(&self) -> u64 {
        let since = self.evaluated().map_or(0, |s| s.points);
        self.summary().map_or(0, |s| s.evaluations).max(since)
    }

    /// The best value and where it is: of the checkpoint, or what a store has found since.
    pub fn best(&self) -> Option<(f64, &[f64])> {
        let kept = self.summary().and_then(|s| Some((s.best?, s.x.as_slice())));
        // A store knows nothing of constraints.
        let stored = self.evaluated().filter(|_| self.setting("constraint").is_none());
        let found = stored.and_then(|s| s.best.as_ref()).map(|row| (row.outcome.value(), row.point.as_slice()));
        match (kept, found) {
            (Some(kept), Some(found)) => Some(if found.0 < kept.0 { found } else { kept }),
            (kept, found) => kept.or(found),
        }
    }

    /// How far the best point violates its constraints, if it does.
    pub fn violation(&self) -> Option<f64> {
        self.summary().and_then(|s| s.violation)
    }

    /// Seconds of computing until the checkpoint.
    pub fn seconds(&self) -> f64 {
        self.summary().map_or(0.0, |s| s.seconds)
    }

    /// Why it ended, if it did.
    pub fn stop(&self) -> Option<&str> {
        self.summary()?.stop.as_deref()
    }

    /// Evaluations without a value until the checkpoint.
    pub fn failed_evaluations(&self) -> u64 {
        self.summary().map_or(0, |s| s.failed_evaluations)
    }

    /// Its limits, by setting.
    pub fn limits(&self) -> BTreeMap<&'static str, &str> {
        LIMITS.iter().filter_map(|(key, _)| Some((*key, self.setting(key)?))).collect()
    }

    /// Its limits in words.
    pub fn budget(&self) -> String {
        let said = |(key, word): &(&str, &str)| Some(limit(self.setting(key)?, word));
        let limits: Vec<String> = LIMITS.iter().filter_map(said).collect();
        if limits.is_empty() { "none".into() } else { limits.join(", ") }
    }

    /// When something was last written in its folder.
    pub fn active(&self) -> Option<SystemTime> {
        let log = format!("{EVALUATIONS}-wal");
        let files = [CHECKPOINT, LOG, EVALUATIONS, &log].map(|name| self.path.join(name));
        files.iter().filter_map(|file| fs::metadata(file).and_then(|m| m.modified()).ok()).max()
    }

    /// What is wrong in its folder, if something is.
    pub fn faults(&self) -> Vec<String> {
        let store = self.store.as_ref().and_then(|s| s.as_ref().err()).map(ToString::to_string);
        self.look.fault.iter().chain(&self.config).cloned().chain(store).collect()
    }

    /// Best value over evaluations so far.
    pub fn curve(&self) -> Vec<(f64, f64)> {
        let text = || String::from_utf8(files::read_own(&self.path.join("history.csv")).ok()?).ok();
        let csv = self.look.history().map(String::from).or_else(text).unwrap_or_default();
        let records = history::from_csv(&csv).unwrap_or_default();
        let mut points: Vec<(f64, f64)> = records.iter().map(|r| (r.evaluations as f64, r.best)).collect();
        // A history keeps only evenly spaced steps, and ends with the checkpoint: this is the present.
        points.extend(self.best().map(|(best, _)| (self.evaluations() as f64, best)));
        points.retain(|(_, best)| best.is_finite());
        points
    }
}

/// A limit in words: `100 steps`, `1 epoch`, `time 2.5`, `60 s`.
fn limit(value: &str, word: &str) -> String {
    let said = if ["time", "s"].contains(&word) { short } else { count };
    let value = value.parse().map_or(value.to_string(), said);
    match word {
        "time" => format!("time {value}"),
        word if value == "1" => format!("1 {}", word.strip_suffix('s').filter(|w| !w.is_empty()).unwrap_or(word)),
        word => format!("{value} {word}"),
    }
}

/// The settings in a file, as text; `Err` says why the file cannot be that of a run.
fn settings_of(file: &Path) -> Result<BTreeMap<String, String>, String> {
    let bytes = files::read_own(file).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "not valid UTF-8".to_string())?;
    let table = text.parse::<toml::Table>().map_err(|e| format!("not valid TOML: {}", e.message()))?;
    if !SUBJECTS.iter().any(|key| table.contains_key(*key)) {
        return Err("it does not say what is minimised".into());
    }
    let plain = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    Ok(table.into_iter().map(|(key, value)| (key, plain(value))).collect())
}

/// A folder that cannot be looked at, and what to do.
pub fn refused(error: FolderError) -> CliError {
    let none = matches!(error, FolderError::Missing(_) | FolderError::NotARun(_));
    match resume::refused(error) {
        CliError::Usage(message) if none => {
            CliError::Usage(message + " (`cbo runs list` shows the runs below a folder)")
        }
        other => other,
    }
}

/// How long ago, in words. A clock may have been set back meanwhile.
pub fn ago(time: SystemTime) -> String {
    let seconds = SystemTime::now().duration_since(time).map_or(0.0, |d| d.as_secs_f64());
    if seconds < 172_800.0 { duration(seconds) + " ago" } else { format!("{:.0} days ago", seconds / 86_400.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_in_words() {
        for (value, word, text) in [
            ("100", "steps", "100 steps"),
            ("1", "epochs", "1 epoch"),
            ("2.50", "time", "time 2.5"),
            ("60.0", "s", "60 s"),
            ("1", "s", "1 s"),
            ("400401", "evaluations", "400 401 evaluations"),
            ("all", "steps", "all steps"),
        ] {
            assert_eq!(limit(value, word), text);
        }
    }

    #[test]
    fn a_clock_that_was_set_back_gives_no_negative_age() {
        assert_eq!(ago(SystemTime::now() + std::time::Duration::from_secs(1000)), "0 s ago");
        assert_eq!(ago(SystemTime::now() - std::time::Duration::from_secs(864_000)), "10 days ago");
    }
}
