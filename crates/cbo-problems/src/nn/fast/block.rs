//! Blocks `linear, relu, bn, pool, bn`: how a network is cut into them, and the pass of a batch through one.

use super::affine::{self, Affine, Sums};
use super::batch::{Batch, Tile};
use super::linear::{After, ChannelSums, Geometry, MOST_MAPS, Maps};
use crate::nn::error::ForwardError;
use crate::nn::layer::Layer;
use crate::nn::network::{Network, Stage};
use crate::nn::reference::Mode;
use crate::nn::shape::Shape;
use crate::nn::statistics::Statistics;
use cbo::simd::{self, InstructionSet};

/// Some consecutive layers, done in one pass over memory; in this order, and each may be missing.
#[derive(Clone, Debug)]
pub struct Block {
    /// The convolution or dense layer.
    pub linear: Option<(Stage, Geometry)>,
    /// Whether what is below zero becomes zero.
    pub relu: bool,
    /// The number of the batch-norm layer before the pool, from 1.
    pub norm: Option<usize>,
    /// Side of the pool's squares; 1 for none.
    pub pool: usize,
    /// The number of the batch-norm layer after the pool.
    pub norm_after: Option<usize>,
    /// The shape before the pool.
    pub full: Shape,
    /// The shape after it.
    pub pooled: Shape,
}

impl Block {
    fn new(input: Shape) -> Self {
        Self { linear: None, relu: false, norm: None, pool: 1, norm_after: None, full: input, pooled: input }
    }

    /// Takes a layer in if its place in the order is still free.
    fn takes(&mut self, number: usize, stage: &Stage) -> bool {
        let pooled = self.pool > 1 || self.norm_after.is_some();
        let begun = self.linear.is_some() || self.relu || self.norm.is_some() || pooled;
        let free = match stage.layer {
            Layer::Dense { .. } | Layer::Conv { .. } => !begun,
            Layer::Relu => !self.relu && self.norm.is_none() && !pooled,
            Layer::BatchNorm => self.norm_after.is_none() && (self.norm.is_none() || self.pool > 1),
            Layer::MaxPool { .. } => !pooled,
        };
        if !free {
            return false;
        }
        match stage.layer {
            Layer::Dense { .. } | Layer::Conv { .. } => {
                self.linear = Some((stage.clone(), geometry(stage)));
                self.full = stage.output;
            }
            Layer::Relu => self.relu = true,
            Layer::BatchNorm if self.pool > 1 => self.norm_after = Some(number),
            Layer::BatchNorm => self.norm = Some(number),
            Layer::MaxPool { size } => {
                self.pool = size;
                if let Some((_, geometry)) = &mut self.linear {
                    geometry.pool = size;
                }
            }
        }
        self.pooled = stage.output;
        true
    }
}

/// Cuts a network into blocks.
pub fn cut(network: &Network) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (place, stage) in network.stages().iter().enumerate() {
        let number = place + 1;
        if !blocks.last_mut().is_some_and(|block| block.takes(number, stage)) {
            let mut block = Block::new(stage.input);
            block.takes(number, stage);
            blocks.push(block);
        }
    }
    blocks
}

fn geometry(stage: &Stage) -> Geometry {
    match (stage.layer, stage.input) {
        (Layer::Conv { kernel, shared, .. }, Shape::Maps { maps, height, width }) => {
            let planes = if shared { 1 } else { maps };
            let place = |c: usize, i: usize, j: usize| ((c * height + i) * width + j) as u32;
            let row = |c: usize, i: usize| (0..kernel).map(move |j| place(c, i, j));
            let offsets = (0..planes).flat_map(|c| (0..kernel).flat_map(move |i| row(c, i))).collect();
            let (height, columns) = (height - kernel + 1, width - kernel + 1);
            Geometry { input_width: width, height, width: columns, pool: 1, offsets }
        }
        (_, input) => {
            let offsets = (0..input.values() as u32).collect();
            Geometry { input_width: 1, height: 1, width: 1, pool: 1, offsets }
        }
    }
}

/// One block for one parameter vector and one batch.
pub struct Pass<'a> {
    pub set: InstructionSet,
    pub block: &'a Block,
    pub batch: &'a Batch,
    /// Whether the block's input is the pixels.
    pub first: bool,
    pub parameters: &'a [f32],
    /// Room for weights.
    pub weights: &'a mut Vec<f32>,
    pub mode: Mode<'a>,
    /// Where the statistics used are kept.
    pub statistics: &'a mut Vec<Statistics>,
}

impl Pass<'_> {
    /// Takes `input`, to which `affine` is still to be applied, to `output`, to which the new `affine` then is.
    pub fn run(mut self, input: &[f32], output: &mut [f32], affine: &mut Affine) -> Result<(), ForwardError> {
        let block = self.block;
        let mut sums = vec![Sums::default(); block.full.channels()];
        match &block.linear {
            Some((stage, geometry)) => {
                self.linear(stage, geometry, input, output, affine, &mut sums);
                *affine = Affine::unshift(&mut sums);
            }
            None => self.plain(input, output, affine, &mut sums),
        }
        if let Some(number) = block.norm {
            self.normalise(number, block.full, &sums, affine)?;
        }
        if let Some(number) = block.norm_after {
            let mut sums = vec![Sums::default(); block.pooled.channels()];
            if matches!(self.mode, Mode::Train) {
                self.sum_channels(output, block.pooled, &mut sums);
            }
            self.normalise(number, block.pooled, &sums, affine)?;
        }
        Ok(())
    }

    fn wants_sums(&self) -> bool {
        self.block.norm.is_some() && matches!(self.mode, Mode::Train)
    }

    /// Statistics of a batch-norm layer, found or given, and the affine map that it is.
    fn normalise(
        &mut self,
        number: usize,
        shape: Shape,
        sums: &[Sums],
        affine: &mut Affine,
    ) -> Result<(), ForwardError> {
        let used = match self.mode {
            Mode::Train => {
                let count = self.batch.len() * shape.area();
                if count < 2 {
                    return Err(ForwardError::BatchTooSmall { number });
                }
                affine.statistics(&affine::statistics(sums, count))
            }
            Mode::Test(given) => given[self.statistics.len()].clone(),
        };
        affine.normalise(&used);
        self.statistics.push(used);
        Ok(())
    }

    fn linear(
        &mut self,
        stage: &Stage,
        geometry: &Geometry,
        input: &[f32],
        output: &mut [f32],
        affine: &Affine,
        sums: &mut [Sums],
    ) {
        let block = self.block;
        let shared = matches!(stage.layer, Layer::Conv { shared: true, .. });
        let inputs = if shared { stage.input.channels() } else { 1 };
        let (kernels, taps) = (stage.biases.len(), geometry.offsets.len());
        if let (Mode::Test(given), Some(_)) = (self.mode, block.norm) {
            let means = &given[self.statistics.len()].mean;
            sums.iter_mut().zip(means).for_each(|(sums, mean)| sums.shift = *mean as f32);
        }
        let groups = kernels.div_ceil(MOST_MAPS);
        for map in 0..inputs {
            for group in 0..groups {
                let members = group * kernels / groups..(group + 1) * kernels / groups;
                let folded = self.fold(stage, taps, shared.then_some(map), members.clone(), affine);
                let first_map = map * kernels + members.start;
                let own_sums = &mut sums[first_map..][..members.len()];
                for (index, tile) in self.batch.tiles().enumerate() {
                    let Tile { first, lanes, used } = tile;
                    let tile_input = &input[first * stage.input.values()..][..lanes * stage.input.values()];
                    let area = block.pooled.area() * lanes;
                    let start = first * block.pooled.values() + first_map * area;
                    Maps {
                        geometry,
                        lanes,
                        input: if shared { &tile_input[map * stage.input.area() * lanes..] } else { tile_input },
                        taps: if self.first { self.batch.taps(index) } else { None },
                        weights: self.weights,
                        biases: &folded,
                        after: After {
                            relu: block.relu,
                            sums: self.wants_sums(),
                            finds_shift: self.wants_sums() && first == 0,
                            used,
                        },
                        output: &mut output[start..][..members.len() * area],
                        sums: own_sums,
                    }
                    .run(self.set);
                }
            }
        }
    }

    /// Puts the weights of some maps in the order of the hot loop, with the waiting scales in them; returns the biases, with the
    /// waiting offsets in them.
    fn fold(
        &mut self,
        stage: &Stage,
        taps: usize,
        only_channel: Option<usize>,
        members: std::ops::Range<usize>,
        affine: &Affine,
    ) -> Vec<f32> {
        let (weights, biases) = (&self.parameters[stage.weights.clone()], &self.parameters[stage.biases.clone()]);
        let maps = members.len();
        self.weights.resize(taps * maps, 0.0);
        let plain = affine.is_identity();
        let taps_a_channel = only_channel.map_or(taps / stage.input.channels(), |_| taps);
        let folded = members.enumerate().map(|(m, member)| {
            let from = &weights[member * taps..][..taps];
            let to = self.weights[m..].iter_mut().step_by(maps);
            if plain {
                to.zip(from).for_each(|(to, w)| *to = *w);
                return biases[member];
            }
            let mut bias = f64::from(biases[member]);
            let channels = from.chunks_exact(taps_a_channel).enumerate();
            let scaled = channels.flat_map(|(c, weights)| {
                let c = only_channel.unwrap_or(c);
                let (scale, offset) = (affine.scale[c] as f32, affine.offset[c]);
                let sum: f64 = weights.iter().map(|w| f64::from(*w)).sum();
                bias += sum * offset;
                weights.iter().map(move |w| w * scale)
            });
            to.zip(scaled).for_each(|(to, w)| *to = w);
            bias as f32
        });
        folded.collect()
    }

    /// A block without a linear layer. It is rare, so it is plain.
    fn plain(&mut self, input: &[f32], output: &mut [f32], affine: &mut Affine, sums: &mut [Sums]) {
        let (full, pooled, pool) = (self.block.full, self.block.pooled, self.block.pool);
        let width = match full {
            Shape::Maps { width, .. } => width,
            Shape::Flat(_) => 1,
        };
        let mut values = input[..self.batch.padded_len() * full.values()].to_vec();
        if self.block.relu {
            for tile in self.batch.tiles() {
                let channels = values[tile.first * full.values()..][..tile.lanes * full.values()]
                    .chunks_exact_mut(full.area() * tile.lanes);
                for (c, channel) in channels.enumerate() {
                    let (scale, offset) = (affine.scale[c] as f32, affine.offset[c] as f32);
                    for x in channel {
                        let y = x.mul_add(scale, offset);
                        *x = if y < 0.0 { 0.0 } else { y };
                    }
                }
            }
            *affine = Affine::identity(full);
        }
        if self.wants_sums() {
            self.sum_channels(&values, full, sums);
        }
        if pool == 1 {
            output.copy_from_slice(&values);
            return;
        }
        let area = full.area();
        for Tile { first, lanes, .. } in self.batch.tiles() {
            let from = &values[first * full.values()..][..lanes * full.values()];
            let to = &mut output[first * pooled.values()..][..lanes * pooled.values()];
            to.fill(f32::NEG_INFINITY);
            for (place, value) in from.chunks_exact(lanes).enumerate() {
                let (map, pixel) = (place / area, place % area);
                let (row, column) = (pixel / width / pool, pixel % width / pool);
                let to = &mut to[(map * pooled.area() + row * (width / pool) + column) * lanes..][..lanes];
                to.iter_mut().zip(value).for_each(|(to, x)| *to = if *x > *to || x.is_nan() { *x } else { *to });
            }
        }
    }

    /// Sums of each channel over all images.
    fn sum_channels(&self, values: &[f32], shape: Shape, sums: &mut [Sums]) {
        let area = shape.area();
        for Tile { first, lanes, used } in self.batch.tiles() {
            let tile = &values[first * shape.values()..][..lanes * shape.values()];
            for (channel, sums) in tile.chunks_exact(area * lanes).zip(&mut *sums) {
                if first == 0 {
                    sums.shift = channel[0];
                }
                simd::run_on(self.set, ChannelSums { lanes, used, values: channel, sums });
            }
        }
    }
}
