//! Images and labels laid out in lanes, with the zero pixels known.

use super::Evaluator;
use crate::mnist::{Labelled, PIXELS, unit};
use crate::nn::layer::Layer;
use crate::nn::network::Network;
use crate::nn::shape::Shape;

/// Images that are worked on together: as many as the registers of a wide machine hold for a few maps at a time.
pub const TILE: usize = 64;

/// Lanes of a vector on every instruction set.
pub const LANES: usize = 16;

/// Labelled images, side by side in SIMD lanes, for one [`Evaluator`].
///
/// They are cut into tiles of 64 images; the last may be narrower, in steps of 16 lanes, and its spare lanes hold black
/// images that count nowhere. Within a tile a value of all its images comes before the next value.
#[derive(Clone, Debug)]
pub struct Batch {
    pixels: Vec<f32>,
    labels: Vec<u8>,
    taps: Vec<Taps>,
}

/// The inputs that are not zero in a tile, for each output pixel of the first layer.
#[derive(Clone, Debug, Default)]
pub struct Taps {
    /// Output pixel p reads `list[starts[p]..starts[p + 1]]`.
    pub starts: Vec<u32>,
    pub list: Vec<u16>,
}

impl Batch {
    /// How many images there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The labels of the images.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// The number of lanes, used and spare.
    pub(super) fn padded_len(&self) -> usize {
        self.len().next_multiple_of(LANES)
    }

    pub(super) fn pixels(&self) -> &[f32] {
        &self.pixels
    }

    /// First lane, lanes and used lanes of each tile.
    pub(super) fn tiles(&self) -> impl Iterator<Item = Tile> + '_ {
        (0..self.len()).step_by(TILE).map(|first| Tile {
            first,
            lanes: TILE.min(self.padded_len() - first),
            used: TILE.min(self.len() - first),
        })
    }

    pub(super) fn taps(&self, tile: usize) -> Option<&Taps> {
        self.taps.get(tile)
    }
}

/// A tile of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Tile {
    pub first: usize,
    pub lanes: usize,
    pub used: usize,
}

impl Evaluator {
    /// Lays out the images of `data` with these indices.
    ///
    /// # Panics
    /// If the network does not take digits, or an index is beyond the last image.
    pub fn batch(&self, data: &Labelled, indices: &[usize]) -> Batch {
        assert_eq!(self.network().input(), Shape::DIGIT, "the network takes other images");
        let labels = indices.iter().map(|&i| data.labels()[i]).collect();
        let mut batch = Batch { pixels: Vec::new(), labels, taps: Vec::new() };
        batch.pixels.resize(batch.padded_len() * PIXELS, 0.0);
        let tiles: Vec<Tile> = batch.tiles().collect();
        for tile in tiles {
            let Tile { first, lanes, used } = tile;
            let pixels = &mut batch.pixels[first * PIXELS..][..lanes * PIXELS];
            let images = indices[first..][..used].iter().map(|&i| &data.images().pixels()[i * PIXELS..][..PIXELS]);
            for (lane, image) in images.enumerate() {
                for (to, &byte) in pixels[lane..].iter_mut().step_by(lanes).zip(image) {
                    *to = unit(byte);
                }
            }
            let seen: Vec<bool> = pixels.chunks_exact(lanes).map(|value| value.iter().any(|x| *x != 0.0)).collect();
            batch.taps.extend(first_taps(self.network(), &seen));
        }
        batch
    }
}

/// The taps of the first layer that meet a pixel which is not zero, if that layer is linear.
fn first_taps(network: &Network, seen: &[bool]) -> Option<Taps> {
    let stage = &network.stages()[0];
    let mut taps = Taps { starts: vec![0], list: Vec::new() };
    match stage.layer {
        Layer::Dense { .. } => {
            taps.list.extend((0..seen.len()).filter(|&v| seen[v]).map(|v| v as u16));
            taps.starts.push(taps.list.len() as u32);
        }
        Layer::Conv { kernel, .. } => {
            let width = crate::mnist::SIDE;
            let places = width - kernel + 1;
            for row in 0..places {
                for column in 0..places {
                    for i in 0..kernel {
                        let from = (row + i) * width + column;
                        let found = (0..kernel).filter(|j| seen[from + j]);
                        taps.list.extend(found.map(|j| (i * kernel + j) as u16));
                    }
                    taps.starts.push(taps.list.len() as u32);
                }
            }
        }
        Layer::Relu | Layer::MaxPool { .. } | Layer::BatchNorm => return None,
    }
    Some(taps)
}
