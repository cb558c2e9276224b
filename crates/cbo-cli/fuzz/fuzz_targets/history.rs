//! Fuzzes the reader of the history in a checkpoint.

#![no_main]

#[path = "../../tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::history(bytes);
});
