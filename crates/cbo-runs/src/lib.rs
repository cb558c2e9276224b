//! Long runs that survive anything, on objectives in any language.
//!
//! - [`external`]: programs as objectives: three protocols, several workers at once, whose faults are all survived.
//! - [`evaluations`]: such a program as the engine's objective.
//! - [`ranks`]: such programs on several ranks.
//! - [`store`]: every finished evaluation in a SQLite file, so that none is ever repeated.
//! - [`checkpoint`]: the state of a run as a versioned, checksummed file, from which it resumes bit for bit.
//! - [`folder`]: the run folder, with a lock, a log and its checkpoints.
//! - [`parts`]: the particles of a checkpoint in files of their own, one for each rank.
//! - [`keeper`]: checkpoints at regular times.
//! - [`track`]: what a run was like on its way, for whoever watches it.
//! - [`timestamp`]: times as text.
//! - [`files`]: files that appear whole or not at all.
//! - [`signals`]: what this process does with them.

pub mod checkpoint;
pub mod evaluations;
pub mod external;
pub mod files;
pub mod folder;
pub mod keeper;
pub mod parts;
pub mod ranks;
pub mod signals;
pub mod store;
pub mod timestamp;
pub mod track;
