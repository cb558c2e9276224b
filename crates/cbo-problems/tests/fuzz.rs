//! A short, repeatable fuzzing of everything that reads a user's bytes. Each file of `corpus` is read, then changed in
//! a few hundred ways. `make fuzz` does the same for longer, guided by coverage; what it finds goes into the corpus.

use crate::checks::{self, Check};
use flate2::{Compression, write::GzEncoder};
use std::io::Write;
use std::panic::catch_unwind;
use std::path::Path;

/// Changes of each corpus file.
const CHANGES: usize = 400;

/// Files by name; one that starts with `good` must be accepted, any other must be refused.
fn corpus(folder: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let mut files: Vec<_> =
        entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect();
    files.sort();
    files
}

/// Replays a corpus and its changes; says how many of the changed files were accepted.
fn fuzz(folder: &str, check: Check, change: fn(&mut Random, &mut Vec<u8>)) -> usize {
    let files = corpus(folder);
    assert!(files.len() > 10);
    for (name, bytes) in &files {
        assert_eq!(check(bytes), name.starts_with("good"), "{folder}/{name}");
    }
    let mut random = Random(4);
    let mut accepted = 0;
    for (name, bytes) in &files {
        for number in 0..CHANGES {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(3) {
                match random.below(6) {
                    0..3 => change(&mut random, &mut changed),
                    3..5 => damage(&mut random, &mut changed),
                    _ => splice(&mut random, &mut changed, &files),
                }
            }
            match catch_unwind(|| check(&changed)) {
                Ok(good) => accepted += usize::from(good),
                Err(_) => panic!("{folder}/{name}, change {number}: {}", changed.escape_ascii()),
            }
        }
    }
    accepted
}

#[test]
fn idx_files() {
    let accepted = fuzz("idx", checks::idx, |random, bytes| {
        const NUMBERS: [u32; 14] = [0, 1, 2, 3, 4, 27, 28, 29, 256, 500_000, 500_001, 0x801, 0x803, u32::MAX];
        match random.below(4) {
            0 => *bytes = gzip(bytes),
            1 => bytes.resize(random.below(2000), 5),
            _ => {
                let place = 4 * random.below(4);
                if let Some(field) = bytes.get_mut(place..place + 4) {
                    field.copy_from_slice(&NUMBERS[random.below(NUMBERS.len())].to_be_bytes());
                }
            }
        }
    });
    // Changes that only ever destroy would test little.
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn network_texts() {
    let accepted = fuzz("network", checks::network, |random, bytes| {
        const WORDS: [&str; 24] = [
            "conv",
            "dense",
            "pool",
            "relu",
            "bn",
            "softmax",
            "shared",
            "full",
            "batch norm",
            "lenet1",
            "->",
            ",",
            ";",
            "\n",
            "x",
            "@",
            "×",
            "0",
            "1",
            "2",
            "5",
            "16777216",
            "16777217",
            "99999999999999999999",
        ];
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut words: Vec<&str> = text.split_inclusive([' ', ',', 'x']).collect();
        let (place, other) = (random.below(words.len().max(1)), random.below(words.len().max(1)));
        let word = WORDS[random.below(WORDS.len())];
        match random.below(4) {
            _ if words.is_empty() => words.push(word),
            0 => words.swap(place, other),
            1 => words[place] = word,
            2 => words.insert(place, word),
            _ => _ = words.remove(place),
        }
        *bytes = words.concat().into_bytes();
    });
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn formula_texts() {
    let accepted = fuzz("formula", checks::formula, |random, bytes| {
        const WORDS: [&str; 30] = [
            "x",
            "x[1]",
            "x[i]",
            "i",
            "j",
            "d",
            "pi",
            "e",
            "a",
            "a = 2;",
            "sum(",
            "max(",
            "sum(i, 1, d, ",
            "cos(",
            "ln(",
            "(",
            ")",
            ",",
            "[",
            "]",
            "+",
            "-",
            "*",
            "/",
            "^",
            "0",
            "1",
            "2.5",
            "1e9",
            "\u{2212}",
        ];
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut words: Vec<&str> = text.split_inclusive([' ', ',', '(', ')', '*', '^']).collect();
        let (place, other) = (random.below(words.len().max(1)), random.below(words.len().max(1)));
        let word = WORDS[random.below(WORDS.len())];
        match random.below(4) {
            _ if words.is_empty() => words.push(word),
            0 => words.swap(place, other),
            1 => words[place] = word,
            2 => words.insert(place, word),
            _ => _ = words.remove(place),
        }
        *bytes = words.concat().into_bytes();
    });
    assert!(accepted > 100, "{accepted}");
}

#[test]
fn model_files() {
    let accepted = fuzz("model", checks::model, |random, bytes| {
        // In the header, whose length is corrected afterwards: otherwise hardly any change would get past it.
        let Some((length, rest)) = bytes.split_first_chunk() else { return };
        let Some((header, data)) = rest.split_at_checked(u64::from_le_bytes(*length) as usize) else { return };
        if random.below(3) == 0 && !data.is_empty() {
            let place = bytes.len() - 1 - random.below(data.len());
            bytes[place] = random.below(256) as u8;
            return;
        }
        const PIECES: [&str; 22] = [
            "\"",
            "\\",
            "{",
            "}",
            "[",
            "]",
            ",",
            ":",
            "0",
            "1",
            "8",
            "64",
            "18446744073709551615",
            "-1",
            "1e9",
            "F32",
            "F64",
            "I64",
            "null",
            "bn, ",
            "dense 3, ",
            "\\ud800",
        ];
        let (start, piece) = (random.below(header.len() + 1), PIECES[random.below(PIECES.len())]);
        let end = (start + random.below(4)).min(header.len());
        let header = [&header[..start], piece.as_bytes(), &header[end..]].concat();
        *bytes = [&(header.len() as u64).to_le_bytes(), &header[..], data].concat();
    });
    assert!(accepted > 100, "{accepted}");
}

/// Memory must not follow what a file promises: a gibibyte of zeros in a mebibyte of gzip after the header of five
/// labels, the longest header that there can be, and a tensor as large as an address can tell.
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
    let labels = gzip(&[0, 0, 8, 1, 0, 0, 0, 5]);
    let bomb = [labels, gzip(&vec![0; 1 << 20]).repeat(1 << 10)].concat();
    assert!(bomb.len() < 2 << 20);
    assert!(!checks::idx(&bomb));
    assert!(!checks::idx(&[&[0, 0, 8, 3][..], &[0xff; 4], &[0, 0, 0, 28, 0, 0, 0, 28]].concat()));
    assert!(!checks::network(b"dense 16777216, dense 16777216"));
    let header = br#"{"t":{"dtype":"F32","shape":[4611686018427387903],"data_offsets":[0,18446744073709551612]}}"#;
    assert!(!checks::model(&[&(header.len() as u64).to_le_bytes()[..], header].concat()));
    assert!(!checks::model(&[0xff; 16]));

    // The most memory that this process ever had, where the system tells; the test needs some 10 MB.
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        let kilobytes: usize = line.trim().trim_end_matches(" kB").parse().unwrap();
        assert!(kilobytes < 200_000, "{kilobytes} kB");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A change that knows nothing of the format.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    let place = random.below(bytes.len().max(1));
    let end = (place + random.below(16)).min(bytes.len());
    match random.below(6) {
        _ if bytes.is_empty() => bytes.push(random.below(256) as u8),
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.below(256) as u8,
        2 => bytes.truncate(place),
        3 => _ = bytes.drain(place..end),
        4 => bytes.insert(place, random.below(256) as u8),
        _ => bytes.extend_from_within(place..end),
    }
}

/// The beginning of this file and the end of another.
fn splice(random: &mut Random, bytes: &mut Vec<u8>, files: &[(String, Vec<u8>)]) {
    let (_, other) = &files[random.below(files.len())];
    bytes.truncate(random.below(bytes.len() + 1));
    bytes.extend(&other[random.below(other.len() + 1)..]);
}

/// SplitMix64: short, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}
