//! MNIST, and data sets of the same form such as Fashion-MNIST: grey images of 28 x 28 pixels in ten classes.
//!
//! [`subset`] is a small part of MNIST that is always there; [`Dataset::from_folder`] reads the full files.
//!
//! ```
//! use cbo_problems::mnist;
//!
//! let data = mnist::subset()?;
//! assert_eq!(data.train.count(), 1000);
//! assert_eq!(data.train.labels()[..3], [5, 0, 4]);
//! assert_eq!(data.test.class_counts(), [50; 10]);
//!
//! let pixels = data.test.images().unit_pixels();
//! assert_eq!(pixels.len(), 500 * mnist::PIXELS);
//! assert!(pixels.iter().all(|p| (0.0..=1.0).contains(p)));
//! # Ok::<(), mnist::MnistError>(())
//! ```

mod error;
mod folder;
pub mod idx;
mod images;
mod subset;

pub use error::MnistError;
pub use images::{Dataset, Images, Labelled, unit};
pub use subset::subset;

/// Rows of an image, and columns.
pub const SIDE: usize = 28;

/// Pixels of an image.
pub const PIXELS: usize = SIDE * SIDE;

/// Classes of images: the digits from 0 to 9.
pub const CLASSES: usize = 10;
