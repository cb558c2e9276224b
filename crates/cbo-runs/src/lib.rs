//! Long runs that survive anything, on objectives in any language.
//!
//! - [`external`]: programs as objectives: three protocols, several workers at once, every fault of theirs survived.
//! - [`evaluations`]: such a program as the engine's objective.
//! - [`store`]: every finished evaluation in a SQLite file, so that none is ever made twice.
//! - [`checkpoint`]: the state of a run as a versioned, checksummed file, from which it goes on bit by bit.
//! - [`folder`]: the folder of a run, with a lock, a log and its checkpoints.
//! - [`keeper`]: checkpoints at their times.
//! - [`timestamp`]: times as text.
//! - [`files`]: files that appear whole or not at all.

pub mod checkpoint;
pub mod evaluations;
pub mod external;
pub mod files;
pub mod folder;
pub mod keeper;
pub mod store;
pub mod timestamp;
