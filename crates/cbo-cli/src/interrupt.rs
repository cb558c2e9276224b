//! Ctrl-C: the first ends the run with the best point so far, the second ends the program.

use std::sync::atomic::{AtomicBool, Ordering};

static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Listens for Ctrl-C from now on.
pub fn listen() {
    let handler = || {
        if INTERRUPTED.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    };
    // Where signals cannot be caught, Ctrl-C simply ends the program.
    let _ = ctrlc::set_handler(handler);
}

/// Whether the user has pressed Ctrl-C.
pub fn requested() -> bool {
    INTERRUPTED.load(Ordering::Relaxed)
}
