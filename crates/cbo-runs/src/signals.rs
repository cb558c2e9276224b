//! What this process does with signals.

/// Whether a signal is ignored: what `nohup` does to SIGHUP, and what a program that is told so should leave alone.
#[cfg(unix)]
pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: all zeros are a sigaction, and the call only fills it: without a new action nothing is changed.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &mut action) == 0 && action.sa_sigaction == libc::SIG_IGN
    }
}
