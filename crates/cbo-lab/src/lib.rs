//! The paper *Convergence of Anisotropic Consensus-Based Optimization in Mean-Field Law* as software: what its theorem says
//! of a setting, what its lemmas say of a run, the mean-field law itself, and its figures as numbers. No files, no printing,
//! no drawing.

pub mod figures;
pub mod meanfield;
pub mod setting;
pub mod theory;
