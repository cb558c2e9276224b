//! Fuzzes the reader of config files.

#![no_main]

#[path = "../../tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Most changes are refused by the reader alone. The command that calls it takes a hundred times as long to say so, and is asked
    // about a few of them only: those whose bytes add up to a multiple of 16.
    let sum = bytes.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    if checks::entries(&String::from_utf8_lossy(bytes)) || sum % 16 == 0 {
        checks::config(bytes);
    }
});
