//! What takes long: said once, and ended by the first signal.

use crate::interrupt;
use crate::minimize::eprintln_quietly;
use cbo_runs::store::Patience;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// After how long it is said what takes so long.
const LONG: Duration = Duration::from_secs(2);

/// Whether the user wants no such words.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Says nothing from now on, or something.
pub fn be_quiet(quiet: bool) {
    QUIET.store(quiet, Ordering::Relaxed);
}

fn tell(words: &str) {
    if !QUIET.load(Ordering::Relaxed) {
        eprintln_quietly(&format!("note: {words}; Ctrl-C ends it"));
    }
}

/// For something that is asked again and again whether it should go on: says what it is if it takes long.
pub fn watch(what: impl Fn() -> String) -> impl FnMut() -> ControlFlow<()> {
    let (begin, mut told) = (Instant::now(), false);
    move || {
        if !told && begin.elapsed() >= LONG {
            told = true;
            tell(&what());
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// For a store whose file another program has locked.
pub fn of_store() -> Patience {
    let waiting =
        |path: &std::path::Path| tell(&format!("waiting for another program that has {} locked", path.display()));
    Patience { ending: interrupt::requested, waiting }
}
