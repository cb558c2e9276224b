//! Watching and reading runs: what is in their folders, as pages for a browser.
//!
//! - [`find`]: the runs, comparisons and experiments below folders.
//! - [`run`]: one of them, whatever its kind, as JSON for the pages.
//! - [`evaluations`]: the store of a program's evaluations, a page at a time.
//! - [`report`]: one self-contained HTML file.
//! - [`server`]: the same live, for this machine alone.
//!
//! Everything here only reads, takes no lock that a run would notice, and bounds what it reads: a folder may be huge, damaged, or growing.

mod assets;
mod csv;
pub mod evaluations;
pub mod find;
mod history;
mod outputs;
mod read;
pub mod report;
pub mod run;
#[cfg(feature = "server")]
pub mod server;
mod state;
