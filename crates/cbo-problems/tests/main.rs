//! The tests of the problems, one program of them all: `cargo test -p cbo-problems --test all formulas::` runs one file.

mod samples;

mod formula;
mod formulas;
mod lanes;
mod lookup;
mod minima;
mod transforms;

#[cfg(feature = "networks")]
mod checks;
#[cfg(feature = "networks")]
mod fuzz;
mod gradients;
#[cfg(feature = "mnist")]
mod mnist;
#[cfg(feature = "networks")]
mod model;
#[cfg(feature = "networks")]
mod network;
#[cfg(feature = "networks")]
mod network_fast;
#[cfg(feature = "networks")]
mod network_objective;
#[cfg(feature = "networks")]
mod network_reference;
