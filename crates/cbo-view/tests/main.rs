//! The tests of the viewer, one program of them all: `cargo test -p cbo-view --test all safety::` runs one file.

mod common;

mod folders;
mod live;
mod safety;
mod table;
