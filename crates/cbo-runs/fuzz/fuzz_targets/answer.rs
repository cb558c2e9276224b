//! Fuzzes the reader of what programs answer.

#![no_main]

#[path = "../../tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::answer(bytes);
});
