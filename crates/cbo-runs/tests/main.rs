//! The tests of long runs, one program of them all: `cargo test -p cbo-runs --test all store::` runs one file.

mod checks;
mod mutation;

mod evaluations;
mod external;
mod external_kill_all;
mod fuzz;
mod store;
mod store_faults;
mod store_owner;
