//! Ctrl-C, SIGTERM and SIGHUP: the first ends the run with the best point so far, the second ends the program.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// SIGINT, the signal of Ctrl-C.
const CTRL_C: u8 = 2;

/// The first signal that came; 0 before.
static SIGNAL: AtomicU8 = AtomicU8::new(0);

/// When it came.
static FIRST: OnceLock<Instant> = OnceLock::new();

/// Signals that come sooner than this after the first are the same one: some programs send it both to us and to our group.
const ECHO: Duration = Duration::from_millis(100);

/// What to say about a signal; nothing if it is not set.
static WORDS: OnceLock<&'static str> = OnceLock::new();

/// Whether a second signal is ending the program.
static ENDING: AtomicBool = AtomicBool::new(false);

/// Listens for signals from now on: SIGINT (Ctrl-C), SIGTERM, and SIGHUP unless it is ignored, as `nohup` wants it.
pub fn listen() {
    // Where signals cannot be caught, they simply end the program.
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
        let hangup = (!cbo_runs::signals::is_ignored(SIGHUP)).then_some(SIGHUP);
        if let Ok(mut signals) = signal_hook::iterator::Signals::new([SIGINT, SIGTERM].into_iter().chain(hangup)) {
            std::thread::spawn(move || signals.forever().for_each(|signal| arrived(signal as u8)));
        }
    }
    #[cfg(not(unix))]
    let _ = ctrlc::set_handler(|| arrived(CTRL_C));
}

/// From now on tells the user what the first signal does: for evaluations that take long. Only a run that is `kept` in a folder has its
/// evaluations after a second signal.
pub fn tell(kept: bool) {
    let _ = WORDS.set(match kept {
        true => {
            "finishing the evaluations that have begun; a second signal ends the program at once, and no finished evaluation is lost"
        }
        false => {
            "finishing the evaluations that have begun; a second signal ends the program at once, and the run is lost, because --out FOLDER was not given"
        }
    });
}

fn arrived(signal: u8) {
    let is_first = SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    let since = FIRST.get_or_init(Instant::now).elapsed();
    if !is_first {
        if since < ECHO {
            return;
        }
        // Before the workers are ended: the run, which then fails, must not end the program with a code of its own.
        ENDING.store(true, Ordering::SeqCst);
        cbo_runs::external::kill_all();
        std::process::exit(128 + i32::from(signal));
    }
    if let Some(words) = WORDS.get() {
        crate::minimize::eprintln_quietly(words);
    }
}

/// Whether the user wants the run to end.
pub fn requested() -> bool {
    SIGNAL.load(Ordering::Relaxed) != 0
}

/// Leaves the end of the program to a second signal, if one has come.
pub fn give_way() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// The exit code of a program that was asked to end: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
pub fn code() -> u8 {
    match SIGNAL.load(Ordering::Relaxed) {
        0 => 128 + CTRL_C,
        signal => 128 + signal,
    }
}
