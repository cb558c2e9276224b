//! A kept corpus, and seeded changes of its files: the same in every run.

use std::panic::catch_unwind;
use std::path::Path;

/// True if the bytes were accepted; panics if what must hold for any bytes does not.
pub type Check = fn(&[u8]) -> bool;

/// How many changes each corpus file gets, those that know the format, and what puts its checksums right afterwards.
pub struct Format {
    pub changes: usize,
    pub change: fn(&mut Random, &mut Vec<u8>),
    pub seal: fn(&mut [u8]),
}

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
pub fn fuzz(folder: &str, check: Check, format: &Format) -> usize {
    let files = corpus(folder);
    assert!(files.len() > 10);
    let misjudged = files.iter().filter(|(name, bytes)| check(bytes) != name.starts_with("good"));
    assert_eq!(misjudged.map(|(name, _)| name).collect::<Vec<_>>(), [""; 0], "in {folder}");
    let mut random = Random(4);
    let mut accepted = 0;
    for (name, bytes) in &files {
        for number in 0..format.changes {
            let mut changed = bytes.clone();
            for _ in 0..=random.below(3) {
                match random.below(6) {
                    0..3 => (format.change)(&mut random, &mut changed),
                    3..5 => damage(&mut random, &mut changed),
                    _ => splice(&mut random, &mut changed, &files),
                }
            }
            if random.below(4) > 0 {
                (format.seal)(&mut changed);
            }
            match catch_unwind(|| check(&changed)) {
                Ok(good) => accepted += usize::from(good),
                Err(_) => panic!("{folder}/{name}, change {number}: {}", changed.escape_ascii()),
            }
        }
    }
    accepted
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
pub struct Random(u64);

impl Random {
    /// A number from 0 to `end - 1`.
    pub fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }

    /// One of several.
    pub fn of<T: Copy>(&mut self, several: &[T]) -> T {
        several[self.below(several.len())]
    }

    /// Puts one of `pieces` into a text, over up to three bytes of it.
    pub fn insert(&mut self, pieces: &[&str], text: &mut Vec<u8>) {
        let start = self.below(text.len() + 1);
        let end = (start + self.below(4)).min(text.len());
        text.splice(start..end, self.of(pieces).bytes());
    }

    /// Puts one of `numbers` into a text, in place of an existing one.
    pub fn replace_number(&mut self, numbers: &[&str], text: &mut Vec<u8>) {
        let is_digit = |place: usize| text.get(place).is_some_and(u8::is_ascii_digit);
        let begins = |place: &usize| is_digit(*place) && !(*place > 0 && is_digit(place - 1));
        let starts: Vec<usize> = (0..text.len()).filter(begins).collect();
        if starts.is_empty() {
            return;
        }
        let start = self.of(&starts);
        let end = (start..text.len()).find(|place| !is_digit(*place)).unwrap_or(text.len());
        text.splice(start..end, self.of(numbers).bytes());
    }
}
