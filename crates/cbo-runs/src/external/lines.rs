//! Lines out of a stream that never blocks, with a limit to their length.

use std::io::{ErrorKind, Read};

/// The longest line that is read.
const LONGEST: usize = 1 << 20;

/// How much is read at once.
const CHUNK: usize = 1 << 16;

/// What reading found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This many bytes.
    Bytes(usize),
    /// Nothing for now.
    Nothing,
    /// The end of the stream.
    End,
}

/// Reads once from a stream that does not block.
pub(super) fn read_some(from: &mut impl Read, into: &mut [u8]) -> Found {
    loop {
        match from.read(into) {
            Ok(0) => return Found::End,
            Ok(n) => return Found::Bytes(n),
            Err(e) if e.kind() == ErrorKind::Interrupted => (),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Found::Nothing,
            // A stream that cannot be read any more has ended, as far as anyone can tell.
            Err(_) => return Found::End,
        }
    }
}

/// What has been read but not yet taken.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: Vec<u8>,
    /// Where the next line begins.
    start: usize,
    /// Up to where there is no end of a line, so that long lines are not looked through again and again.
    searched: usize,
}

impl Lines {
    /// Reads once.
    pub(super) fn fill(&mut self, from: &mut impl Read) -> Found {
        self.buffer.drain(..self.start);
        self.searched -= self.start;
        self.start = 0;
        let filled = self.buffer.len();
        self.buffer.resize(filled + CHUNK, 0);
        let found = read_some(from, &mut self.buffer[filled..]);
        self.buffer.truncate(if let Found::Bytes(n) = found { filled + n } else { filled });
        found
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Option<&[u8]> {
        let Some(at) = self.buffer[self.searched..].iter().position(|b| *b == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.start..self.searched + at;
        self.start = line.end + 1;
        self.searched = self.start;
        Some(&self.buffer[line])
    }

    /// What follows the last whole line.
    pub(super) fn rest(&self) -> &[u8] {
        &self.buffer[self.start..]
    }

    /// Whether the line that has begun is longer than any that is read.
    pub(super) fn is_too_long(&self) -> bool {
        self.buffer.len() - self.start > LONGEST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole() {
        let mut lines = Lines::default();
        let mut all = Vec::new();
        for mut piece in [&b"a"[..], b"b\n\nc", b"d\ne\nf", b""] {
            while let Found::Bytes(_) = lines.fill(&mut piece) {}
            while let Some(line) = lines.next() {
                all.push(String::from_utf8_lossy(line).into_owned());
            }
        }
        assert_eq!(all, ["ab", "", "cd", "e"]);
        assert_eq!(lines.rest(), b"f");
        assert!(!lines.is_too_long());
    }

    #[test]
    fn a_line_without_end_is_noticed() {
        let mut lines = Lines::default();
        let flood = vec![b'x'; 3 << 20];
        let mut from = &flood[..];
        while !lines.is_too_long() {
            assert!(matches!(lines.fill(&mut from), Found::Bytes(_)));
            assert_eq!(lines.next(), None);
        }
        assert!(lines.rest().len() <= LONGEST + CHUNK);
    }
}
