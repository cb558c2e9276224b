//! The tests of the engine, one program of them all: `cargo test -p cbo --test all dynamics::` runs one file.

mod allocations;
mod auto;
mod auto_curvature;
mod auto_invariance;
mod auto_noise;
mod auto_phases;
mod auto_states;
mod auto_suite;
mod constraints;
mod contract;
mod dynamics;
mod hopping;
mod memory;
mod midway;
mod noise;
mod polarised;
mod sample;
mod sampling;
mod simd;
mod state;
mod stops;
mod truncated;
