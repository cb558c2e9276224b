//! Fuzzes the reader of checkpoints.

#![no_main]

#[path = "../../tests/checks/mod.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    checks::checkpoint(bytes);
    // Behind the checksums too, which hardly any change gets past.
    let mut sealed = bytes.to_vec();
    checks::seal_checkpoint(&mut sealed);
    checks::checkpoint(&sealed);
});
