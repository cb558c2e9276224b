//! The paper *Convergence of Anisotropic Consensus-Based Optimization in Mean-Field Law* as software: what its theorem says
//! of a setting, what its lemmas say of a run, the mean-field law itself, and its figures as numbers. No files, no printing,
//! no drawing.

pub mod certificate;
pub mod figures;
pub mod frozen;
pub mod meanfield;
pub mod setting;
pub mod statistics;
pub mod theory;
