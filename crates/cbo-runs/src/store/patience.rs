//! Waiting for another program that has the file locked: not in silence, and not after a signal.

use std::path::Path;
use std::time::{Duration, Instant};

/// After how long a wait is told of.
const LONG: Duration = Duration::from_secs(2);

/// How a store waits while another program has its file locked.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// Whether this process has been asked to end: then nothing is waited for any more.
    pub ending: fn() -> bool,
    /// Is told, once, of the file for which a store has waited for two seconds.
    pub waiting: fn(&Path),
}

impl Default for Patience {
    /// Waits in silence, and to the end.
    fn default() -> Self {
        Self { ending: || false, waiting: |_| () }
    }
}

/// One wait.
pub(super) struct Wait<'a> {
    patience: Patience,
    path: &'a Path,
    since: Instant,
    told: bool,
    /// When this process was found to be ending.
    ending: Option<Instant>,
}

impl<'a> Wait<'a> {
    pub(super) fn new(path: &'a Path, patience: Patience) -> Self {
        Self { patience, path, since: Instant::now(), told: false, ending: None }
    }

    /// How long it has lasted.
    pub(super) fn time(&self) -> Duration {
        self.since.elapsed()
    }

    /// Whether to try again. A process that is about to end does so only for the time `grace` more.
    pub(super) fn goes_on(&mut self, grace: Duration) -> bool {
        if !self.told && self.time() >= LONG {
            self.told = true;
            (self.patience.waiting)(self.path);
        }
        if (self.patience.ending)() {
            return self.ending.get_or_insert_with(Instant::now).elapsed() < grace;
        }
        true
    }
}
