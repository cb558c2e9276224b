//! Tiles: particles whose positions and normals fit the first-level cache together, and what every move does with them.

use super::isotropic::AMPLITUDES;
use crate::buffer::Buffer;
use crate::method::Motion;
use crate::noise::{Noise, padded, scratch_len};
use crate::simd::{Kernel, Scalar, Vector};

/// Room for what one tile needs.
#[derive(Debug)]
pub struct Scratch<T> {
    pub(crate) normals: Buffer<T>,
    /// Of a second noise, where the method has one.
    pub(crate) more_normals: Buffer<T>,
    /// Of the isotropic move, coordinate by coordinate.
    pub(crate) amplitudes: Buffer<T>,
    /// Energies and weights of a block in double precision.
    pub(crate) energies: Vec<f64>,
    pub(crate) weights: Vec<f64>,
    /// Numbers of a particle in double precision, where the method needs them.
    pub(crate) doubles: Vec<f64>,
}

/// Coordinates in a tile: its positions and normals fit the first-level cache together.
pub(crate) const TILE: usize = 2048;

/// Particles in a tile.
pub(crate) fn tile_rows(dim: usize) -> usize {
    (TILE / padded(dim)).max(1)
}

/// Rows of a piece that vectors run across: whole vectors, long enough that its beginning and end cost nothing.
pub(crate) fn pattern_rows(dim: usize) -> usize {
    if dim >= 256 { 1 } else { 256usize.div_ceil(dim).next_multiple_of(16) }
}

impl<T: Scalar> Scratch<T> {
    /// Room for tiles of `dim` coordinates and blocks of `block_rows` particles, whose moves take `noises` normals per coordinate.
    pub(crate) fn new(dim: usize, block_rows: usize, noises: usize) -> Self {
        let normals = scratch_len(tile_rows(dim), dim);
        Self {
            normals: Buffer::new(normals),
            more_normals: Buffer::new(if noises > 1 { normals } else { 0 }),
            amplitudes: Buffer::new(AMPLITUDES),
            energies: vec![0.0; block_rows],
            weights: vec![0.0; block_rows],
            doubles: Vec::new(),
        }
    }

    /// The same, with room for so many numbers in double precision.
    pub(crate) fn with_doubles(self, count: usize) -> Self {
        Self { doubles: vec![0.0; count], ..self }
    }
}

/// Repeats the first `length` numbers until the end.
pub(crate) struct Repeat<'a, T> {
    pub numbers: &'a mut [T],
    pub length: usize,
}

impl<T: Scalar> Kernel<T> for Repeat<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self { numbers, length } = self;
        // Vector by vector where it holds the numbers several times: with few particles, short copies are a noticeable part of a step.
        if V::LANES.is_multiple_of(length) && numbers.len() >= V::LANES {
            for k in length..V::LANES {
                numbers[k] = numbers[k - length];
            }
            let pattern = V::load(numbers);
            let mut chunks = numbers.chunks_exact_mut(V::LANES);
            chunks.by_ref().for_each(|chunk| pattern.store(chunk));
            return pattern.store_partial(chunks.into_remainder());
        }
        let (mut known, all) = (length, numbers.len());
        while known < all {
            let more = known.min(all - known);
            numbers.copy_within(..more, known);
            known += more;
        }
    }
}

/// Writes the normals of the particles `first ..` into `normals`, rows one after the other.
pub(crate) struct Draw<'a, T> {
    pub noise: Noise,
    pub first: u32,
    pub rows: usize,
    pub dim: usize,
    pub normals: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Draw<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        fill::<V>(self.noise, self.first, self.rows, self.dim, self.normals, &[]);
    }
}

/// Writes the normals of a tile into `normals`, rows one after the other without padding. The positions of the tile arrive in
/// the cache meanwhile.
#[inline(always)]
pub(crate) fn fill<V: Vector>(
    noise: Noise,
    first: u32,
    rows: usize,
    dim: usize,
    normals: &mut [V::Scalar],
    tile: &[V::Scalar],
) {
    noise.normals_meanwhile(first, rows, dim, normals, tile).run::<V>();
    let stride = padded(dim);
    if stride != dim {
        for row in 1..rows {
            normals.copy_within(row * stride..row * stride + dim, row * dim);
        }
    }
}

/// Calls a function with each vector of `xs` and the vectors beside it in `a` and `b`, and stores what it returns.
macro_rules! update {
    ($v:ident, $xs:expr, $a:expr, $b:expr, |$x:ident, $p:ident, $q:ident| $body:expr) => {{
        let count = $xs.len();
        let full = count - count % $v::LANES;
        let (xs, xs_rest) = $xs.split_at_mut(full);
        let (a, b) = (&$a[..count], &$b[..count]);
        let lanes = xs.chunks_exact_mut($v::LANES).zip(a.chunks_exact($v::LANES)).zip(b.chunks_exact($v::LANES));
        for ((x, p), q) in lanes {
            let ($x, $p, $q) = ($v::load(x), $v::load(p), $v::load(q));
            $body.store(x);
        }
        if !xs_rest.is_empty() {
            let ($x, $p, $q) = ($v::load_partial(xs_rest), $v::load_partial(&a[full..]), $v::load_partial(&b[full..]));
            $body.store_partial(xs_rest);
        }
    }};
}

pub(crate) use update;

/// Sets coordinates very close to zero to zero, to avoid slow subnormal numbers.
#[inline(always)]
pub(crate) fn vanish<V: Vector>(rows: &mut [V::Scalar]) {
    let (tiny, zero) = (V::splat(V::Scalar::TINY), V::constant(0.0));
    for chunk in rows.chunks_mut(V::LANES) {
        let x = V::load_partial(chunk);
        x.abs().select_less(tiny, zero, x).store_partial(chunk);
    }
}

/// What ends every move of a tile that begins with particle `first`: the kick, if there is one, and the walls.
#[inline(always)]
pub(crate) fn settle<V: Vector>(
    motion: &Motion<V::Scalar>,
    first: u32,
    tile: &mut [V::Scalar],
    normals: &mut [V::Scalar],
) {
    if let Some(amplitude) = motion.kick {
        kick::<V>(motion, amplitude, first, tile, normals);
    }
    if motion.vanishing {
        vanish::<V>(tile);
    }
    if let Some(walls) = motion.walls {
        walls.confine(tile).run::<V>();
    }
}

/// V+ = V + amplitude xi.
#[inline(always)]
fn kick<V: Vector>(
    motion: &Motion<V::Scalar>,
    amplitude: V::Scalar,
    first: u32,
    rows: &mut [V::Scalar],
    normals: &mut [V::Scalar],
) {
    fill::<V>(motion.kick_noise, first, rows.len() / motion.dim, motion.dim, normals, &[]);
    let amplitude = V::splat(amplitude);
    update!(V, rows, normals, normals, |x, xi, _same| amplitude.mul_add(xi, x));
}

/// Gives the particles `first ..` plain noise and nothing else.
pub(crate) struct Kick<'a, 'm, T> {
    pub motion: &'a Motion<'m, T>,
    pub amplitude: T,
    pub first: usize,
    pub rows: &'a mut [T],
    pub scratch: &'a mut Scratch<T>,
}

impl<T: Scalar> Kernel<T> for Kick<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let dim = self.motion.dim;
        for (i, row) in self.rows.chunks_exact_mut(dim).enumerate() {
            kick::<V>(self.motion, self.amplitude, (self.first + i) as u32, row, &mut self.scratch.normals);
            if let Some(walls) = self.motion.walls {
                walls.confine(row).run::<V>();
            }
        }
    }
}
