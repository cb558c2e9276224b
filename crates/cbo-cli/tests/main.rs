//! The tests of the command, one program of them all: `cargo test -p cbo-cli --test all docs::` runs one file.

mod checks;
mod common;
#[path = "../../cbo-runs/tests/mutation/mod.rs"]
mod mutation;

mod auto;
mod certificate;
mod compare;
mod constraints;
mod docs;
mod errors;
mod experiment;
mod faults;
mod fig4;
mod formula;
mod fuzz;
mod licences;
mod many;
mod meanfield;
mod methods;
mod mnist;
mod mnist_fetch;
mod mnist_hopping;
mod mnist_resume;
#[cfg(unix)]
mod mpi;
mod outputs;
mod paper;
mod pictures;
mod results;
mod runs;
mod shell;
mod theory;
mod viewer;
mod words;
mod workspace;
