//! Programs as objectives, with real processes: bash, Python and C must be there.
#![cfg(unix)]

mod children;
mod faults;
mod oneshot;
mod protocols;
mod support;
