//! What can be wrong with the files of images and labels.

use super::idx::Kind;
use super::{CLASSES, SIDE};
use std::path::PathBuf;

/// Data that cannot be used; the message names the file, what was wrong in it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MnistError {
    /// The folder of the files is missing, or cannot be listed.
    #[error("the data folder `{}` cannot be read ({reason}); give a folder with the four IDX files", folder.display())]
    Folder {
        /// The folder.
        folder: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// One of the four files is not in the folder.
    #[error("the data folder `{}` has no file `{wanted}`, plain or with `.gz`", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
        /// The usual name of the file.
        wanted: String,
    },
    /// A file that the system does not let us read.
    #[error("`{file}` cannot be read: {reason}")]
    Unreadable {
        /// The file.
        file: String,
        /// What the system says.
        reason: String,
    },
    /// A gzip file that cannot be unpacked.
    #[error("`{file}` cannot be unpacked: {reason}; it must be a whole gzip file or a plain IDX file")]
    Gzip {
        /// The file.
        file: String,
        /// What the decoder says.
        reason: String,
    },
    /// The first four bytes are not those of the file that was expected.
    #[error(
        "`{file}` starts with the magic number {magic:#010x}{}; a file of {kind} starts with {:#010x}",
        kind_of(*magic), kind.magic()
    )]
    Magic {
        /// The file.
        file: String,
        /// The number that was found.
        magic: u32,
        /// What the file should hold.
        kind: Kind,
    },
    /// A header that promises nothing, or far too much.
    #[error("`{file}` has a count of {count} {kind} in its header; it must be from 1 to {most}")]
    Count {
        /// The file.
        file: String,
        /// The count in the header.
        count: u32,
        /// What the file holds.
        kind: Kind,
        /// The largest count that is accepted.
        most: u32,
    },
    /// Images of another size.
    #[error("`{file}` has images of {rows} x {columns} pixels; they must be {SIDE} x {SIDE}")]
    Size {
        /// The file.
        file: String,
        /// Rows of an image.
        rows: u32,
        /// Columns of an image.
        columns: u32,
    },
    /// A file that ends before its header, or before what its header promises.
    #[error(
        "`{file}` is cut off: its unpacked length is {length} bytes; it must be {expected} {}",
        if *header { "for the header alone" } else { "by its header" }
    )]
    Truncated {
        /// The file.
        file: String,
        /// Bytes that there are, unpacked.
        length: u64,
        /// Bytes that there should be.
        expected: u64,
        /// Whether the header itself is cut off.
        header: bool,
    },
    /// A file that continues after what its header promises.
    #[error("`{file}` is too long: its unpacked length is more than the {expected} bytes that its header promises")]
    TooLong {
        /// The file.
        file: String,
        /// Bytes that there should be.
        expected: u64,
    },
    /// A label that is not a digit.
    #[error("`{file}` has the label {label} at position {index} (from 0); labels must be from 0 to {}", CLASSES - 1)]
    Label {
        /// The file.
        file: String,
        /// The position of the label, from 0.
        index: usize,
        /// The label.
        label: u8,
    },
    /// Images and labels that do not belong together.
    #[error("`{labels_file}` has {labels} labels, but `{images_file}` has {images} images; the counts must agree")]
    CountsDisagree {
        /// The file of images.
        images_file: String,
        /// How many images there are.
        images: usize,
        /// The file of labels.
        labels_file: String,
        /// How many labels there are.
        labels: usize,
    },
    /// Pixels that do not make up whole images.
    #[error("pixels have the length {length}; it must be a positive multiple of {}", SIDE * SIDE)]
    Pixels {
        /// The number of pixels given.
        length: usize,
    },
}

fn kind_of(magic: u32) -> String {
    Kind::of(magic).map(|kind| format!(", which says that it holds {kind}")).unwrap_or_default()
}
