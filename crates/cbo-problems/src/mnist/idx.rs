//! The IDX format: a header of big-endian numbers, then one byte per value; plain or gzip.
//!
//! Nothing in a file is trusted before it is checked: memory grows with the data actually there, never with what a
//! header says, and a gzip file is unpacked no further than one byte beyond what its header promises.

use super::{MnistError, PIXELS, SIDE};
use flate2::read::MultiGzDecoder;
use std::borrow::Cow;
use std::fmt;
use std::io::{ErrorKind, Read};

/// The most images or labels that a file may have: eight times as many as MNIST.
pub const MOST: u32 = 500_000;

/// The longest IDX file that can be right, unpacked.
pub(super) const MOST_BYTES: u64 = 16 + MOST as u64 * PIXELS as u64;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Images of bytes: IDX type 8 in 3 dimensions.
    Images,
    /// Labels, one byte each: IDX type 8 in 1 dimension.
    Labels,
}

impl Kind {
    /// The first four bytes of such a file, as a big-endian number.
    pub const fn magic(self) -> u32 {
        match self {
            Kind::Images => 0x0000_0803,
            Kind::Labels => 0x0000_0801,
        }
    }

    /// The kind that starts with this magic number.
    pub fn of(magic: u32) -> Option<Kind> {
        [Kind::Images, Kind::Labels].into_iter().find(|kind| kind.magic() == magic)
    }

    const fn header_length(self) -> usize {
        match self {
            Kind::Images => 16,
            Kind::Labels => 8,
        }
    }

    const fn bytes_each(self) -> usize {
        match self {
            Kind::Images => PIXELS,
            Kind::Labels => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Kind::Images => "images",
            Kind::Labels => "labels",
        })
    }
}

/// The bytes of a file, and the name by which messages call it.
#[derive(Clone, Copy, Debug)]
pub struct File<'a> {
    /// The name for messages.
    pub name: &'a str,
    /// The content, plain or gzip.
    pub bytes: &'a [u8],
}

impl<'a> File<'a> {
    /// The whole content, unpacked if it is gzip; a checksum is taken over this. Stops with an error beyond the length
    /// that any file of images may have.
    pub fn unpacked(self) -> Result<Cow<'a, [u8]>, MnistError> {
        let content = if self.is_gzip() {
            self.next(&mut self.content(), MOST_BYTES + 1)?.into()
        } else {
            Cow::Borrowed(self.bytes)
        };
        if content.len() as u64 > MOST_BYTES {
            return Err(MnistError::TooLong { file: self.name.into(), expected: MOST_BYTES });
        }
        Ok(content)
    }

    /// The values after the header, which is checked: pixels of images of 28 x 28, or labels.
    pub fn values(self, kind: Kind) -> Result<Vec<u8>, MnistError> {
        let mut content = self.content();
        let header = self.next(&mut content, kind.header_length() as u64)?;
        let expected = (self.count(&header, kind)? * kind.bytes_each()) as u64;
        let values = self.next(&mut content, expected + 1)?;
        let whole = |values: u64| header.len() as u64 + values;
        let (length, file) = (values.len() as u64, self.name.to_string());
        if length < expected {
            return Err(MnistError::Truncated {
                file,
                length: whole(length),
                expected: whole(expected),
                header: false,
            });
        }
        if length > expected {
            return Err(MnistError::TooLong { file, expected: whole(expected) });
        }
        Ok(values)
    }

    /// The count of images or labels in the header.
    fn count(&self, header: &[u8], kind: Kind) -> Result<usize, MnistError> {
        let file = || self.name.to_string();
        let numbers: Vec<u32> = header.as_chunks().0.iter().map(|&four| u32::from_be_bytes(four)).collect();
        // The magic number comes first: for a short file of the wrong kind, the kind is what matters.
        if let Some(&magic) = numbers.first().filter(|&&magic| magic != kind.magic()) {
            return Err(MnistError::Magic { file: file(), magic, kind });
        }
        let count = match (kind, &numbers[..]) {
            (Kind::Labels, &[_, count]) => count,
            (Kind::Images, &[_, count, rows, columns]) => {
                if (rows as usize, columns as usize) != (SIDE, SIDE) {
                    return Err(MnistError::Size { file: file(), rows, columns });
                }
                count
            }
            _ => {
                let (length, expected) = (header.len() as u64, kind.header_length() as u64);
                return Err(MnistError::Truncated { file: file(), length, expected, header: true });
            }
        };
        if count == 0 || count > MOST {
            return Err(MnistError::Count { file: file(), count, kind, most: MOST });
        }
        Ok(count as usize)
    }

    fn is_gzip(&self) -> bool {
        self.bytes.starts_with(&[0x1f, 0x8b])
    }

    /// The content, unpacked as it is read.
    fn content(self) -> Box<dyn Read + 'a> {
        if self.is_gzip() { Box::new(MultiGzDecoder::new(self.bytes)) } else { Box::new(self.bytes) }
    }

    /// The next `most` bytes of the content, or all that are left.
    fn next(&self, content: &mut dyn Read, most: u64) -> Result<Vec<u8>, MnistError> {
        let mut bytes = Vec::new();
        match content.take(most).read_to_end(&mut bytes) {
            Ok(_) => Ok(bytes),
            Err(error) => {
                let reason = match error.kind() {
                    ErrorKind::UnexpectedEof => "the gzip data end too early".to_string(),
                    _ => format!("the gzip data are damaged ({error})"),
                };
                Err(MnistError::Gzip { file: self.name.into(), reason })
            }
        }
    }
}
