//! A short, repeatable fuzzing of everything that a run reads when it is resumed, and of what programs answer. Each file
//! of `corpus` is read, then changed in a few hundred ways. `make fuzz` does the same for longer, guided by coverage;
//! what it finds goes into the corpus.

use crate::checks;
use crate::mutation::{Format, Random, fuzz};
use cbo_runs::checkpoint::Checkpoint;
use std::ops::Range;

#[test]
fn checkpoints() {
    let format = Format { changes: 400, change: change_checkpoint, seal: |bytes| checks::seal_checkpoint(bytes) };
    let accepted = fuzz("checkpoint", checks::checkpoint, &format);
    // Changes that only ever destroy would test little.
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn states() {
    let format = Format { changes: 400, change: change_state, seal: |bytes| checks::seal_state(bytes) };
    let accepted = fuzz("state", checks::state, &format);
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn answers() {
    const PIECES: [&str; 28] = [
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        " ",
        "\"id\":",
        "\"value\":",
        "\"error\":",
        "7",
        "-1",
        "18446744073709551616",
        "7.0",
        "1e400",
        "-0",
        ".5",
        "NaN",
        "-inf",
        "Infinity",
        "null",
        "true",
        "\"\\u00e9\"",
        "\\ud800",
        "é",
        "\u{1b}[2J",
    ];
    let format = Format { changes: 400, change: |random, bytes| random.insert(&PIECES, bytes), seal: |_| () };
    let accepted = fuzz("answer", checks::answer, &format);
    assert!(accepted > 100, "{accepted}");
}

/// Another order of the sections, one less, one twice, or a change inside of one; their number and lengths are
/// corrected.
fn change_checkpoint(random: &mut Random, bytes: &mut Vec<u8>) {
    const PIECES: [&str; 20] = [
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "0",
        "-1",
        "18446744073709551615",
        "1e308",
        "1e999",
        "null",
        "NaN",
        "\"x\":",
        "\"best\":",
        "\"dim\":",
        "\\ud800",
        "\n",
    ];
    const NUMBERS: [&str; 7] = ["0", "1", "-1", "0.5", "null", "1e308", "18446744073709551615"];
    let copy = |(name, contents): (Range<usize>, Range<usize>)| (bytes[name].to_vec(), bytes[contents].to_vec());
    let mut sections: Vec<(Vec<u8>, Vec<u8>)> = checks::sections(bytes).into_iter().map(copy).collect();
    if sections.is_empty() {
        return;
    }
    let (place, other) = (random.below(sections.len()), random.below(sections.len()));
    match random.below(8) {
        0 => sections.swap(place, other),
        1 => _ = sections.remove(place),
        2 => sections.push(sections[place].clone()),
        3 => sections[place].0 = random.of(&["summary", "state", "history", "film", "", "\u{e9}"]).into(),
        4 => sections[place].1 = sections[other].1.clone(),
        _ if sections[place].0 == b"state" => change_state(random, &mut sections[place].1),
        5 => random.insert(&PIECES, &mut sections[place].1),
        _ => random.replace_number(&NUMBERS, &mut sections[place].1),
    }
    bytes.truncate(12);
    bytes.extend((sections.len() as u32).to_le_bytes());
    for (name, contents) in sections {
        bytes.extend((name.len() as u32).to_le_bytes());
        bytes.extend(name);
        bytes.extend((contents.len() as u64).to_le_bytes());
        bytes.extend(contents);
    }
    bytes.extend([0; 4]);
}

/// Another number in place of one, or one more, or one fewer. All numbers begin at multiples of 4.
fn change_state(random: &mut Random, bytes: &mut Vec<u8>) {
    const COUNTS: [u64; 14] = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, (1 << 62) - 1, 1 << 62, u64::MAX - 1, u64::MAX];
    const NUMBERS: [f64; 10] =
        [0.0, -0.0, 1.0, -1.0, 1e-320, f64::MAX, -f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
    let place = 4 * random.below(bytes.len() / 4 + 1);
    let end = (place + 8).min(bytes.len());
    let number = match random.below(3) {
        0 => random.of(&COUNTS).to_le_bytes().to_vec(),
        1 => random.of(&NUMBERS).to_le_bytes().to_vec(),
        _ => (random.of(&NUMBERS) as f32).to_le_bytes().to_vec(),
    };
    match random.below(8) {
        0 => _ = bytes.drain(place..end),
        1 => _ = bytes.splice(place..place, number),
        _ => _ = bytes.splice(place..(place + number.len()).min(end), number),
    }
}

/// Memory must not follow what a file promises: sections and names without end, as many sections and particles as a
/// number can tell, a summary that is all brackets.
#[test]
fn promises_take_no_memory() {
    let program = std::env::current_exe().unwrap();
    let test = "fuzz::promises_take_no_memory_of_a_process";
    let child = std::process::Command::new(program).args(["--exact", test, "--ignored"]).output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&child.stderr));
}

#[test]
#[ignore = "started by the test above, in a process of its own, whose memory is measured"]
fn promises_take_no_memory_of_a_process() {
    let head = |sections: u32| [&b"CBORUN\r\n\x01\0\0\0"[..], &sections.to_le_bytes()].concat();
    let section = |name: &[u8], length: u64| [&(name.len() as u32).to_le_bytes(), name, &length.to_le_bytes()].concat();
    let sealed = |mut bytes: Vec<u8>| {
        bytes.extend([0; 4]);
        checks::seal_checkpoint(&mut bytes);
        bytes
    };
    for bytes in [
        head(u32::MAX),
        [head(1), vec![0xff; 16]].concat(),
        [head(1), section(b"state", u64::MAX)].concat(),
        [head(2), section(b"summary", 1 << 40), section(b"state", 1 << 62)].concat(),
        [head(1), section(b"summary", 1 << 20), vec![b'['; 1 << 20]].concat(),
        [head(u32::MAX), section(b"", 0).repeat(1 << 16)].concat(),
    ] {
        assert!(!checks::checkpoint(&sealed(bytes)));
    }
    // A number that is nowhere else in the state.
    let config = cbo::CboConfig { particles: 7919, max_evaluations: None, ..checks::configs()[0].clone() };
    let run = cbo::AskTell::<f64>::new(&config, checks::DIM).unwrap();
    let places: Vec<usize> =
        run.save().windows(8).enumerate().filter(|(_, b)| *b == 7919u64.to_le_bytes()).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "{places:?}");
    for particles in [1 << 20, 1 << 40, u64::MAX] {
        let mut state = run.save();
        state[places[0]..places[0] + 8].copy_from_slice(&particles.to_le_bytes());
        checks::seal_state(&mut state);
        assert!(!checks::state(&state));
        let checkpoint = Checkpoint { state, ..Checkpoint::default() };
        assert!(!checks::checkpoint(&checkpoint.to_bytes()));
    }
    // Constraints, of which each particle would have so many: half a gigabyte, if there were more than zeros behind them.
    let mut state = run.save();
    assert_eq!(state[56..64], [0; 8]);
    state[56..64].copy_from_slice(&(1u64 << 13).to_le_bytes());
    state.resize(state.len() + (1 << 13), 0);
    checks::seal_state(&mut state);
    assert!(cbo::AskTell::<f64>::load(&config, checks::DIM, &state).is_err());
    assert!(!checks::answer(&b"{\"id\":[".repeat(1 << 17)));

    // The most memory that this process ever had, where the system tells; the test needs some 10 MB.
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kilobytes < 200_000, "{kilobytes} kB");
    }
}
