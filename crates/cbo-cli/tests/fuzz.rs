//! A short, repeatable fuzzing of the reader of config files, and of the history and the film in a checkpoint. Each file of
//! `corpus` is read, then changed in a few hundred ways. `make fuzz` does the same for longer, guided by coverage; what it finds
//! goes into the corpus.

mod checks;
#[path = "../../cbo-runs/tests/mutation/mod.rs"]
mod mutation;

use mutation::{Format, Random, fuzz};

#[test]
fn config_files() {
    let format = Format { change: change_config, seal: |_| () };
    let accepted = fuzz("config", checks::config, &format);
    // Changes that only ever destroy would test little.
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn histories() {
    const PIECES: [&str; 14] =
        [",", "\n", "\r", ".", "-", "0", "1", "nan", "inf", "1e400", "-0.0", "18446744073709551615", "5e-324", " "];
    let format = Format { change: |random, bytes| random.insert(&PIECES, bytes), seal: |_| () };
    let accepted = fuzz("history", checks::history, &format);
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn films() {
    const PIECES: [&str; 18] = [
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "0",
        "1",
        "-1",
        "9223372036854775808",
        "18446744073709551615",
        "1e308",
        "1e999",
        "null",
        "[0,1],",
        "\"step\":",
    ];
    let format = Format { change: |random, bytes| random.insert(&PIECES, bytes), seal: |_| () };
    let accepted = fuzz("film", checks::film, &format);
    assert!(accepted > 100, "{accepted}");
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
    const PIECES: [&str; 12] = ["=", "\"", "'", "[", "]", ",", ";", ":", "#", "\\", "_", "\n"];
    if random.below(3) == 0 {
        return random.insert(&PIECES, bytes);
    }
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let (place, other) = (random.below(lines.len().max(1)), random.below(lines.len().max(1)));
    match random.below(4) {
        0 if !lines.is_empty() => lines.swap(place, other),
        1 if !lines.is_empty() => _ = lines.remove(place),
        2 if !lines.is_empty() => {
            let key = lines[place].split('=').next().unwrap_or_default().to_string();
            lines[place] = format!("{key}= {}", random.of(&VALUES));
        }
        _ => lines.insert(place, format!("{} = {}", random.of(&KEYS), random.of(&VALUES))),
    }
    *bytes = (lines.join("\n") + "\n").into_bytes();
}
