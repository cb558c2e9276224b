//! The hot loop: some maps of a convolution (or outputs of a dense layer) for one tile, with everything that can be done
//! while the sums are still in registers: ReLU, sums for batch normalisation, pool.

use super::affine::Sums;
use super::batch::{LANES, Taps};
use cbo::simd::{self, InstructionSet, Kernel, Vector};

/// The most maps at a time. Their sums fill 24 of 32 registers if all 4 vectors of a tile are taken at once, and 12 of 16 registers
/// of half the width if one is.
pub const MOST_MAPS: usize = 6;

/// Where the inputs of an output pixel are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Columns of an input map.
    pub input_width: usize,
    /// Rows of an output map before the pool.
    pub height: usize,
    /// Columns of an output map before the pool.
    pub width: usize,
    /// Side of the pool's squares; 1 for none.
    pub pool: usize,
    /// The place of each input of the first output pixel; those of the pixel (r, c) lie `r * input_width + c` further on.
    pub offsets: Vec<u32>,
}

/// What is done to the sums.
#[derive(Clone, Copy, Debug)]
pub struct After {
    pub relu: bool,
    pub sums: bool,
    /// Whether the shift of each map is still to be found: it becomes the map's first value.
    pub finds_shift: bool,
    /// Lanes of the tile that hold images; the others count in no sum.
    pub used: usize,
}

/// One tile of a linear layer's input, and the weights of up to [`MOST_MAPS`] of its maps.
pub struct Maps<'a> {
    pub geometry: &'a Geometry,
    pub lanes: usize,
    /// Values of the tile, `lanes` numbers each.
    pub input: &'a [f32],
    /// The inputs that are not zero, if known.
    pub taps: Option<&'a Taps>,
    /// The weights of all maps for the first input, then for the next.
    pub weights: &'a [f32],
    pub biases: &'a [f32],
    pub after: After,
    /// The maps, one after the other, each minus its shift.
    pub output: &'a mut [f32],
    /// The shift of each map, and its sums, added to.
    pub sums: &'a mut [Sums],
}

impl Maps<'_> {
    pub fn run(self, set: InstructionSet) {
        match self.lanes / LANES {
            1 => self.with_lanes::<16>(set),
            2 => self.with_lanes::<32>(set),
            3 => self.with_lanes::<48>(set),
            _ => self.with_lanes::<64>(set),
        }
    }

    fn with_lanes<const W: usize>(self, set: InstructionSet) {
        match self.biases.len() {
            1 => simd::run_on(set, Fixed::<1, W>(self)),
            2 => simd::run_on(set, Fixed::<2, W>(self)),
            3 => simd::run_on(set, Fixed::<3, W>(self)),
            4 => simd::run_on(set, Fixed::<4, W>(self)),
            5 => simd::run_on(set, Fixed::<5, W>(self)),
            _ => simd::run_on(set, Fixed::<MOST_MAPS, W>(self)),
        }
    }
}

/// The same with the numbers of maps and lanes known to the compiler.
struct Fixed<'a, const M: usize, const W: usize>(Maps<'a>);

/// The largest number of vectors in a tile.
const VECTORS: usize = 4;

impl<const M: usize, const W: usize> Kernel<f32> for Fixed<'_, M, W> {
    type Output = ();

    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "the indices are those of the formula, for several arrays at once")]
    fn run<V: Vector<Scalar = f32>>(self) {
        let Maps { geometry, input, taps, weights, biases, after, output, sums, .. } = self.0;
        let Geometry { input_width, height, width, pool, ref offsets } = *geometry;
        let (input, _) = input.as_chunks::<W>();
        let (weights, _) = weights.as_chunks::<M>();
        let (output, _) = output.as_chunks_mut::<W>();
        let biases: &[f32; M] = biases.try_into().expect("as many biases as maps");
        let sums: &mut [Sums; M] = sums.try_into().expect("as many sums as maps");
        let (weights, offsets) = (&weights[..offsets.len()], &offsets[..]);
        let zero = V::splat(0.0);
        // Plain loops throughout: a closure would not be compiled for the instruction set.
        let (mut bias, mut shift) = ([zero; M], [zero; M]);
        for m in 0..M {
            bias[m] = V::splat(biases[m]);
            shift[m] = V::splat(sums[m].shift);
        }
        let in_use = lanes_in_use::<V>(after.used + LANES - W);
        // Vectors of images whose sums are taken together.
        let vectors = if V::REGISTERS >= 32 { W / LANES } else { 1 };
        let (pooled_width, pooled_area) = (width / pool, (height / pool) * (width / pool));
        for row in 0..height {
            let (mut sum, mut squares) = ([zero; M], [zero; M]);
            for column in 0..width {
                let base = row * input_width + column;
                let place = (row / pool) * pooled_width + column / pool;
                let opens = row % pool == 0 && column % pool == 0;
                for first in (0..W / LANES).step_by(vectors) {
                    let mut y = [[zero; VECTORS]; M];
                    for m in 0..M {
                        y[m] = [bias[m]; VECTORS];
                    }
                    let images = first * LANES..(first + vectors) * LANES;
                    match taps {
                        Some(taps) => {
                            let pixel = row * width + column;
                            let (from, to) = (taps.starts[pixel] as usize, taps.starts[pixel + 1] as usize);
                            for &t in &taps.list[from..to] {
                                let t = usize::from(t);
                                tap::<V, M>(&input[base + offsets[t] as usize][images.clone()], &weights[t], &mut y);
                            }
                        }
                        None => {
                            for (offset, weights) in offsets.iter().zip(weights) {
                                tap::<V, M>(&input[base + *offset as usize][images.clone()], weights, &mut y);
                            }
                        }
                    }
                    if after.relu {
                        for m in 0..M {
                            for v in 0..vectors {
                                // In this order a NaN stays.
                                y[m][v] = zero.max(y[m][v]);
                            }
                        }
                    }
                    if after.finds_shift && row == 0 && column == 0 && first == 0 {
                        for m in 0..M {
                            let mut values = [0.0; LANES];
                            y[m][0].store(&mut values);
                            sums[m].shift = values[0];
                            shift[m] = V::splat(values[0]);
                        }
                    }
                    for m in 0..M {
                        for v in 0..vectors {
                            y[m][v] = y[m][v] - shift[m];
                        }
                    }
                    if after.sums {
                        for m in 0..M {
                            for v in 0..vectors {
                                let mut d = y[m][v];
                                if first + v + 1 == W / LANES {
                                    d = zero.select_less(in_use, d, zero);
                                }
                                sum[m] = sum[m] + d;
                                squares[m] = d.mul_add(d, squares[m]);
                            }
                        }
                    }
                    for m in 0..M {
                        let to = &mut output[m * pooled_area + place][images.clone()];
                        for v in 0..vectors {
                            let to = &mut to[v * LANES..(v + 1) * LANES];
                            if opens { y[m][v].store(to) } else { V::load(to).max(y[m][v]).store(to) }
                        }
                    }
                }
            }
            for m in 0..M {
                sums[m].sum += f64::from(sum[m].sum());
                sums[m].squares += f64::from(squares[m].sum());
            }
        }
    }
}

/// Adds the products of one input with the weights of all maps.
#[inline(always)]
fn tap<V: Vector<Scalar = f32>, const M: usize>(input: &[f32], weights: &[f32; M], y: &mut [[V; VECTORS]; M]) {
    let mut x = [V::splat(0.0); VECTORS];
    for (x, input) in x.iter_mut().zip(input.chunks_exact(LANES)) {
        *x = V::load(input);
    }
    for m in 0..M {
        let weight = V::splat(weights[m]);
        for v in 0..input.len() / LANES {
            y[m][v] = weight.mul_add(x[v], y[m][v]);
        }
    }
}

/// 1 in the first `used` lanes, 0 in the others.
#[inline(always)]
fn lanes_in_use<V: Vector<Scalar = f32>>(used: usize) -> V {
    let mut lanes = [0.0; LANES];
    lanes[..used].fill(1.0);
    V::load(&lanes)
}

/// Adds the sums of one channel of a tile, for batch normalisation where no linear layer could.
pub struct ChannelSums<'a> {
    pub lanes: usize,
    pub used: usize,
    pub values: &'a [f32],
    pub sums: &'a mut Sums,
}

impl Kernel<f32> for ChannelSums<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) {
        let zero = V::splat(0.0);
        let shift = V::splat(self.sums.shift);
        let in_use = lanes_in_use::<V>(self.used + LANES - self.lanes);
        // Some pixels at a time, so that rounding does not accumulate.
        for pixels in self.values.chunks(16 * self.lanes) {
            let (mut sum, mut squares) = ([zero; VECTORS], [zero; VECTORS]);
            for pixel in pixels.chunks_exact(self.lanes) {
                for v in 0..self.lanes / LANES {
                    let mut d = V::load(&pixel[v * LANES..]) - shift;
                    if v + 1 == self.lanes / LANES {
                        d = zero.select_less(in_use, d, zero);
                    }
                    sum[v] = sum[v] + d;
                    squares[v] = d.mul_add(d, squares[v]);
                }
            }
            for v in 0..VECTORS {
                self.sums.sum += f64::from(sum[v].sum());
                self.sums.squares += f64::from(squares[v].sum());
            }
        }
    }
}
