//! The four files of a data set, and the SHA-256 of what is in them.
//!
//! A checksum is taken over the unpacked content, so that it does not matter how a file was packed.

use super::data::DatasetName;
use crate::error::{CliError, told};
use cbo_problems::mnist::idx;
use sha2::{Digest, Sha256};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// The names of the four files: images and labels to train with, then those to test with.
pub const FILES: [&str; 4] =
    ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"];

const MNIST: [&str; 4] = [
    "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
];

const FASHION: [&str; 4] = [
    "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
];

/// What the four files must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checksums([String; 4]);

impl Checksums {
    /// The checksums of a known data set.
    pub fn of(dataset: DatasetName) -> Self {
        Self(match dataset {
            DatasetName::Mnist => MNIST.map(String::from),
            DatasetName::Fashion => FASHION.map(String::from),
        })
    }

    /// The checksums in a file such as `sha256sum` writes: a line `SUM  NAME` for each of the four.
    pub fn read(path: &Path) -> Result<Self, CliError> {
        let wrong = |message: String| CliError::Usage(format!("checksums file {}: {message}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("cannot be read: {e}")))?;
        Self::parse(&text).map_err(wrong)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut sums = FILES.map(|_| None);
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (sum, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
            if sum.len() != 64 || !sum.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Err(format!("line {}: `{sum}` is not a SHA-256 of 64 hexadecimal digits", index + 1));
            }
            // A star before the name is how `sha256sum` marks a binary file.
            let name = name.trim().trim_start_matches('*');
            let Some(place) = FILES.iter().position(|file| *file == name) else {
                let files = FILES.join(", ");
                return Err(format!("line {}: `{name}` is none of the four unpacked files {files}", index + 1));
            };
            sums[place] = Some(sum.to_ascii_lowercase());
        }
        if let Some(place) = sums.iter().position(Option::is_none) {
            return Err(format!("has no line for `{}`; give `SUM  NAME` for each of the four files", FILES[place]));
        }
        Ok(Self(sums.map(Option::unwrap_or_default)))
    }

    /// The names of the files, each with its checksum.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &str)> {
        FILES.into_iter().zip(self.0.iter().map(String::as_str))
    }
}

/// The SHA-256 of some bytes, in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Bytes in hexadecimal digits.
pub fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The unpacked content of a file that messages call `name`, or one sentence that says why it is not the expected one.
pub fn verified(name: &str, bytes: Vec<u8>, expected: &str) -> Result<Vec<u8>, String> {
    let unpacked = match (idx::File { name, bytes: &bytes }).unpacked().map_err(|e| told(&e))? {
        Cow::Owned(content) => Some(content),
        Cow::Borrowed(_) => None,
    };
    let content = unpacked.unwrap_or(bytes);
    match sha256(&content) {
        found if found == expected => Ok(content),
        found => Err(format!("`{name}` has the SHA-256 {found}, expected {expected}")),
    }
}

/// Where one of the four files lies in a folder, plain or gzip; the plain one counts, as when the folder is read.
pub fn stored(folder: &Path, file: &str) -> Option<PathBuf> {
    [folder.join(file), folder.join(format!("{file}.gz"))].into_iter().find(|path| path.is_file())
}

/// The content of a file on disk, as [`verified`].
pub fn read_verified(path: &Path, expected: &str) -> Result<Vec<u8>, String> {
    let name = path.display().to_string();
    let bytes = std::fs::read(path).map_err(|e| format!("`{name}` cannot be read: {e}"))?;
    verified(&name, bytes, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_of_a_known_text() {
        // FIPS 180-2, appendix B.1.
        assert_eq!(sha256(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }

    #[test]
    fn a_content_is_accepted_by_its_sum_alone() {
        let sum = sha256(b"abc");
        assert_eq!(verified("f", b"abc".to_vec(), &sum), Ok(b"abc".to_vec()));
        let why = verified("f", b"abd".to_vec(), &sum).unwrap_err();
        assert_eq!(why, format!("`f` has the SHA-256 {}, expected {sum}", sha256(b"abd")));
        // The magic number of gzip, and nothing behind it.
        assert!(verified("f", vec![0x1f, 0x8b], &sum).unwrap_err().contains("end too early"));
    }

    #[test]
    fn a_list_is_read_as_sha256sum_writes_it() {
        let known = Checksums::of(DatasetName::Fashion);
        let lines: Vec<String> = known.iter().map(|(file, sum)| format!("{}  {file}", sum.to_uppercase())).collect();
        assert_eq!(Checksums::parse(&lines.join("\n")), Ok(known.clone()));
        let starred = lines.join("\r\n").replace("  ", " *");
        assert_eq!(Checksums::parse(&format!("# mine\n\n{starred}\n")), Ok(known));
        let error = |text: &str| Checksums::parse(text).unwrap_err();
        assert!(error(&lines[..3].join("\n")).contains("no line for `t10k-labels-idx1-ubyte`"));
        assert!(error("\nabc  train-images-idx3-ubyte").starts_with("line 2: `abc` is not a SHA-256"));
        assert!(error(&lines[0].replace("idx3", "idx4")).starts_with("line 1: `train-images-idx4-ubyte` is none"));
        assert!(error(&"0".repeat(64)).starts_with("line 1: `` is none"));
    }
}
