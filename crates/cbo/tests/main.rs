//! The tests of the engine, one program of them all: `cargo test -p cbo --test all dynamics::` runs one file.

mod adam;
mod allocations;
mod auto;
mod auto_curvature;
mod auto_invariance;
mod auto_noise;
mod auto_phases;
mod auto_states;
mod auto_suite;
mod contract;
mod dynamics;
mod hypersurface;
mod jumps;
mod memory;
mod midway;
mod mirror;
mod noise;
mod simd;
mod sphere;
mod state;
mod stops;
