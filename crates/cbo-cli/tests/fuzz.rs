//! A short, repeatable fuzzing of the reader of config files, and of the history and the film in a checkpoint. Each
//! file of `corpus` is read, then changed in a few hundred ways. `make fuzz` does the same for longer, guided by
//! coverage; what it finds goes into the corpus.

use crate::checks;
use crate::mutation::{Format, Random, fuzz};

#[test]
fn config_files() {
    // Fewer than elsewhere: each is written to a file, and read by the command line a setting at a time.
    let format = Format { changes: 100, change: change_config, seal: |_| () };
    let accepted = fuzz("config", checks::config, &format);
    // Changes that only ever destroy would test little.
    assert!(accepted > 100, "{accepted}");
}

/// Numbers at the ends of what there is, and some that are none.
const NUMBERS: [&str; 12] = [
    "0",
    "1",
    "2",
    "-1",
    "0.5",
    "1e400",
    "5e-324",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "inf",
    "nan",
];

#[test]
fn histories() {
    const PIECES: [&str; 7] = [",", "\n", "\r", ".", "-", " ", "\n0,0,8,2.0,2.5,3.0,0.7,2.5,1.7"];
    let accepted = fuzz(
        "history",
        checks::history,
        &Format { changes: 400, change: |random, bytes| piece(random, &PIECES, bytes), seal: |_| () },
    );
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn films() {
    const PIECES: [&str; 12] =
        ["{", "}", "[", "]", ",", ":", "\"", "\\", "null", "[0,1],", "\"step\":", "\"spacing\":1,"];
    let accepted = fuzz(
        "film",
        checks::film,
        &Format { changes: 400, change: |random, bytes| piece(random, &PIECES, bytes), seal: |_| () },
    );
    assert!(accepted > 100, "{accepted}");
}

fn piece(random: &mut Random, pieces: &[&str], bytes: &mut Vec<u8>) {
    match random.below(3) {
        0 => random.insert(pieces, bytes),
        _ => random.replace_number(&NUMBERS, bytes),
    }
}

/// A line of another key, one less, two in another order, another value, or a piece of one.
fn change_config(random: &mut Random, bytes: &mut Vec<u8>) {
    const KEYS: [&str; 16] = [
        "objective",
        "dim",
        "seed",
        "alpha",
        "sigma",
        "init",
        "bounds",
        "steps",
        "time",
        "batch",
        "particles",
        "shift",
        "freeze",
        "command",
        "timeout",
        "precision",
    ];
    const VALUES: [&str; 30] = [
        "0",
        "1",
        "2",
        "4",
        "-1",
        "0.5",
        "1e9",
        "1e300",
        "inf",
        "nan",
        "0xff",
        "18446744073709551615",
        "9223372036854775808",
        "true",
        "\"off\"",
        "\"\"",
        "\"sphere\"",
        "\"random\"",
        "\"ess:0.5\"",
        "\"geometric:1,2,epoch\"",
        "\"log:3\"",
        "\"normal:0;1,2\"",
        "\"uniform:-1,1\"",
        "\"file:points.csv\"",
        "\"box.csv\"",
        "\"-1;-2,1;2\"",
        "[1, 2]",
        "\"/bin/sh {x}\"",
        "2020-01-01",
        "\"\\u001b[2J\"",
    ];
    const LINES: [&str; 16] = [
        "objective = 'sphere'",
        "dim = 2",
        "alpha = 'ess:0.5'",
        "sigma = 0.5",
        "init = 'uniform:-1,1'",
        "bounds = 'box.csv'",
        "particles = 20",
        "batch = 10",
        "steps = 10",
        "kick = 0.1",
        "seed = 18446744073709551615",
        "precision = 'f32'",
        "stagnation = 7",
        "command = '/bin/sh {x}'",
        "timeout = 1e-9",
        "max-seconds = 1e300",
    ];
    const PIECES: [&str; 12] = ["=", "\"", "'", "[", "]", ",", ";", ":", "#", "\\", "_", "\n"];
    match random.below(6) {
        0 => return random.insert(&PIECES, bytes),
        1 => return random.replace_number(&NUMBERS, bytes),
        _ => (),
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let (place, other) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
    match random.below(6) {
        0 if !lines.is_empty() => lines.swap(place, other),
        1 if !lines.is_empty() => _ = lines.remove(place),
        2 if !lines.is_empty() => {
            let key = lines[place].split('=').next().unwrap_or_default().to_string();
            lines[place] = format!("{key}= {}", random.of(&VALUES));
        }
        3 => lines.insert(place, format!("{} = {}", random.of(&KEYS), random.of(&VALUES))),
        _ => lines.push(random.of(&LINES).into()),
    }
    *bytes = (lines.join("\n") + "\n").into_bytes();
}
