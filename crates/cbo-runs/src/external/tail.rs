//! The end of what a program writes to stderr.

use std::io::Read;

use super::lines::{Found, read_some};

/// How many bytes are kept.
const KEPT: usize = 2000;

/// The most that is read at once, so that a flood leaves time for other things.
const MOST_READS: usize = 16;

/// The last bytes of a stream.
#[derive(Debug, Default)]
pub(super) struct Tail {
    bytes: Vec<u8>,
}

impl Tail {
    /// Reads what is there, up to a limit; false at the end of the stream.
    pub(super) fn fill(&mut self, from: &mut impl Read) -> bool {
        let mut chunk = [0; 1 << 14];
        for _ in 0..MOST_READS {
            match read_some(from, &mut chunk) {
                Found::Bytes(n) => self.push(&chunk[..n]),
                Found::Nothing => return true,
                Found::End => return false,
            }
        }
        true
    }

    /// Adds bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        self.bytes.drain(..self.bytes.len().saturating_sub(KEPT));
    }

    /// Takes the text out; it begins with a whole character.
    pub(super) fn take(&mut self) -> String {
        if self.bytes.is_empty() {
            return String::new();
        }
        let inner = |b: &&u8| **b & 0xc0 == 0x80;
        let cut = if self.bytes.len() == KEPT { self.bytes.iter().take(3).take_while(inner).count() } else { 0 };
        // What is not text grows when it is made text.
        let text = String::from_utf8_lossy(&self.bytes[cut..]);
        let start = (text.len().saturating_sub(KEPT)..).find(|i| text.is_char_boundary(*i)).unwrap_or(0);
        let text = text[start..].to_string();
        self.bytes.clear();
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_kept() {
        let mut tail = Tail::default();
        assert_eq!(tail.take(), "");
        tail.push(b"one ");
        tail.push(b"two");
        assert_eq!(tail.take(), "one two");
        assert_eq!(tail.take(), "");
        let text = format!("a{}", "é".repeat(5000));
        assert!(!tail.fill(&mut text.as_bytes()), "the stream has an end");
        assert_eq!(tail.take(), "é".repeat(1000));
        tail.push(format!("{}b", "é".repeat(1000)).as_bytes());
        assert_eq!(tail.take(), format!("{}b", "é".repeat(999)));
        tail.push(&[0xff; 9999]);
        assert!(tail.take().len() <= KEPT);
    }
}
