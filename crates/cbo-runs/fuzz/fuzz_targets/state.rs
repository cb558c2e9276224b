//! Fuzzes the reader of the engine's state.

#![no_main]

#[path = "../../tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    // Behind the checksum, which hardly any change gets past.
    let mut sealed = bytes.to_vec();
    checks::seal_state(&mut sealed);
    checks::state_of_some(&sealed);
});
