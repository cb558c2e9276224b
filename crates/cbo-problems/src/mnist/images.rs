//! Images with their labels, in memory.

use super::idx::{File, Kind};
use super::{CLASSES, MnistError, PIXELS};

/// Grey images of 28 x 28 pixels, one after the other, each row by row; 0 is the background.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Images {
    count: usize,
    pixels: Vec<u8>,
}

impl Images {
    /// Images from their pixels, 784 per image.
    pub fn new(pixels: Vec<u8>) -> Result<Images, MnistError> {
        if pixels.is_empty() || !pixels.len().is_multiple_of(PIXELS) {
            return Err(MnistError::Pixels { length: pixels.len() });
        }
        Ok(Images { count: pixels.len() / PIXELS, pixels })
    }

    /// Images from an IDX file, plain or gzip.
    pub fn from_idx(file: File) -> Result<Images, MnistError> {
        Images::new(file.values(Kind::Images)?)
    }

    /// How many images there are; at least one.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The pixels of all images, 784 per image.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The pixels of one image, or nothing beyond the last.
    pub fn image(&self, index: usize) -> Option<&[u8]> {
        self.pixels.chunks_exact(PIXELS).nth(index)
    }

    /// The pixels of all images as numbers in [0, 1], in the same order.
    pub fn unit_pixels(&self) -> Vec<f32> {
        self.pixels.iter().copied().map(unit).collect()
    }
}

/// A pixel as a number in [0, 1]: the byte divided by 255, rounded once.
pub fn unit(pixel: u8) -> f32 {
    f32::from(pixel) / 255.0
}

/// Images and, for each, the digit (or the class) that it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    images: Images,
    labels: Vec<u8>,
}

impl Labelled {
    /// Images with one label each, from 0 to 9.
    pub fn new(images: Images, labels: Vec<u8>) -> Result<Labelled, MnistError> {
        Labelled::named(images, "images", labels, "labels")
    }

    /// Images and labels from two IDX files, plain or gzip.
    pub fn from_idx(images: File, labels: File) -> Result<Labelled, MnistError> {
        Labelled::named(Images::from_idx(images)?, images.name, labels.values(Kind::Labels)?, labels.name)
    }

    fn named(images: Images, images_file: &str, labels: Vec<u8>, labels_file: &str) -> Result<Labelled, MnistError> {
        if let Some((index, &label)) = labels.iter().enumerate().find(|&(_, &label)| usize::from(label) >= CLASSES) {
            return Err(MnistError::Label { file: labels_file.into(), index, label });
        }
        if images.count() != labels.len() {
            return Err(MnistError::CountsDisagree {
                images_file: images_file.into(),
                images: images.count(),
                labels_file: labels_file.into(),
                labels: labels.len(),
            });
        }
        Ok(Labelled { images, labels })
    }

    /// How many images there are, and labels; at least one.
    pub fn count(&self) -> usize {
        self.images.count()
    }

    /// The images.
    pub fn images(&self) -> &Images {
        &self.images
    }

    /// The labels, one per image, each from 0 to 9.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// How many images there are of each class.
    pub fn class_counts(&self) -> [usize; CLASSES] {
        let mut counts = [0; CLASSES];
        for &label in &self.labels {
            counts[usize::from(label)] += 1;
        }
        counts
    }
}

/// Images to learn from, and images to test with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// The training images: 60 000 in the full MNIST.
    pub train: Labelled,
    /// The test images: 10 000 in the full MNIST.
    pub test: Labelled,
}
