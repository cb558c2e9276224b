//! The tests of the laboratory, one program of them all: `cargo test -p cbo-lab --test all figures::` runs one file.

mod abreast;
mod baselines;
mod certificate;
mod compare;
mod experiments;
mod figures;
mod fleet;
mod instruction_sets;
mod meanfield;
mod stability;
mod theory;
mod training;
