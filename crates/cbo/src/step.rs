//! Drift and diffusion, fused: one pass moves a tile of particles.
//!
//! With `X = V - v_a` the Euler-Maruyama step is
//!
//! `V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi`,
//!
//! where `D(X) = diag(X)` (anisotropic) or `||X||_2` (isotropic) and xi is standard normal. The drift-first scheme moves
//! by the drift and then diffuses from the moved point: the same with the noise smaller by `1 - lambda dt`.

use crate::ahead::Ahead;
use crate::bounds::Walls;
use crate::buffer::Buffer;
use crate::config::CboConfig;
use crate::noise::{Noise, Stream, padded, scratch_len};
use crate::simd::{self, Kernel, Scalar, Vector};

/// How noise depends on the distance from the consensus point.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffusion {
    /// Each coordinate by its own distance: `diag(X) xi`.
    #[default]
    Anisotropic,
    /// All coordinates by the Euclidean distance: `||X||_2 xi`.
    Isotropic,
}

impl Diffusion {
    /// k in the exact second moment of a step: 1 (anisotropic) or d (isotropic).
    pub fn moment_factor(self, dim: usize) -> f64 {
        match self {
            Self::Anisotropic => 1.0,
            Self::Isotropic => dim as f64,
        }
    }
}

/// The time discretisation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Drift and diffusion from the same point: the paper's scheme.
    #[default]
    EulerMaruyama,
    /// Drift first, then diffusion from the moved point: the authors' code.
    DriftFirst,
}

/// The parameters of one step, all that [`Motion::advance`] needs besides positions and scratch.
pub(crate) struct Motion<'a, T> {
    /// The consensus point, repeated for [`pattern_rows`] rows.
    centres: &'a [T],
    dim: usize,
    drift: T,
    noise: T,
    kick: Option<T>,
    diffusion: Diffusion,
    walls: Option<&'a Walls<T>>,
    /// Whether positions may come so near to zero that they are better zero.
    vanishing: bool,
    diffusion_noise: Noise,
    kick_noise: Noise,
    step: u64,
    /// Where normals may have been drawn already.
    ahead: Option<&'a Ahead<T>>,
}

/// What decides a step: the numbers of the dynamics at its time.
pub(crate) struct Dynamics {
    pub lambda: f64,
    pub sigma: f64,
    pub dt: f64,
    pub diffusion: Diffusion,
    pub scheme: Scheme,
    pub kicked: bool,
}

impl Dynamics {
    /// The constant parts of a configuration, without noise or kick.
    pub fn of(config: &CboConfig) -> Self {
        let CboConfig { lambda, dt, diffusion, scheme, .. } = *config;
        Self { lambda, dt, diffusion, scheme, sigma: 0.0, kicked: false }
    }

    /// sigma sqrt(dt).
    pub fn amplitude(&self) -> f64 {
        self.sigma * self.dt.sqrt()
    }
}

impl<'a, T: Scalar> Motion<'a, T> {
    /// `centres` is the consensus point, once for each of [`pattern_rows`] rows.
    pub fn new(
        dynamics: &Dynamics,
        (seed, step): (u64, u64),
        dim: usize,
        centres: &'a [T],
        walls: Option<&'a Walls<T>>,
    ) -> Self {
        let Dynamics { lambda, dt, diffusion, scheme, kicked, .. } = *dynamics;
        let drift = 1.0 - lambda * dt;
        let amplitude = dynamics.amplitude();
        let noise = match scheme {
            Scheme::EulerMaruyama => amplitude,
            Scheme::DriftFirst => amplitude * drift,
        };
        Self {
            centres,
            dim,
            drift: T::from_f64(drift),
            noise: T::from_f64(noise),
            kick: kicked.then(|| T::from_f64(amplitude)),
            diffusion,
            walls,
            // Where a centre is not zero, positions that approach it stay numbers of its size.
            vanishing: centres[..dim].contains(&T::default()),
            diffusion_noise: Noise::new(seed, Stream::Diffusion, step),
            kick_noise: Noise::new(seed, Stream::Kick, step),
            step,
            ahead: None,
        }
    }

    /// The same move, with normals that were drawn ahead where there are any. Tiles must be moved one by one.
    pub fn with(self, ahead: Option<&'a Ahead<T>>) -> Self {
        Self { ahead, ..self }
    }

    /// Moves the particles `first ..` whose positions are `rows`, a tile at a time.
    pub fn advance(&self, first: usize, rows: &mut [T], scratch: &mut Scratch<T>) {
        simd::run(Advance { motion: self, first, rows, scratch });
    }

    /// Gives the particles plain noise of the given amplitude and nothing else.
    pub fn kick(&self, first: usize, rows: &mut [T], scratch: &mut Scratch<T>, amplitude: T) {
        simd::run(Kick { motion: self, first, rows, scratch, amplitude });
    }
}

/// Room for what one tile needs.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    normals: Buffer<T>,
    /// Of the isotropic move, coordinate by coordinate.
    amplitudes: Buffer<T>,
    /// Energies and weights of a block in double precision.
    pub energies: Vec<f64>,
    pub weights: Vec<f64>,
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
    pub fn new(dim: usize, block_rows: usize) -> Self {
        Self {
            normals: Buffer::new(scratch_len(tile_rows(dim), dim)),
            amplitudes: Buffer::new(AMPLITUDES),
            energies: vec![0.0; block_rows],
            weights: vec![0.0; block_rows],
        }
    }
}

struct Advance<'a, 'm, T> {
    motion: &'a Motion<'m, T>,
    first: usize,
    rows: &'a mut [T],
    scratch: &'a mut Scratch<T>,
}

impl<T: Scalar> Kernel<T> for Advance<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let motion = self.motion;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        for (t, tile) in self.rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (self.first + t * per_tile) as u32;
            let count = tile.len() / dim;
            let (normals, amplitudes) = (&mut self.scratch.normals[..], &mut self.scratch.amplitudes[..]);
            match motion.diffusion {
                // Rows too long for the cache are taken in pieces.
                Diffusion::Anisotropic if dim > TILE => {
                    for (number, (x, centres)) in tile.chunks_mut(TILE).zip(motion.centres.chunks(TILE)).enumerate() {
                        motion.diffusion_noise.piece_meanwhile(first, number * TILE, dim, normals, x).run::<V>();
                        anisotropic::<V>(motion, centres, x, normals);
                    }
                }
                diffusion => {
                    let mut drawn = motion.ahead.and_then(|ahead| ahead.drawn(first as usize, motion.step));
                    let normals = match &mut drawn {
                        Some(drawn) => drawn.normals(),
                        None => {
                            fill::<V>(motion.diffusion_noise, first, count, dim, normals, tile);
                            &mut *normals
                        }
                    };
                    match diffusion {
                        Diffusion::Anisotropic => anisotropic::<V>(motion, motion.centres, tile, normals),
                        Diffusion::Isotropic => isotropic::<V>(motion, tile, normals, amplitudes),
                    }
                }
            }
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
    }
}

/// Puts coordinates onto zero that are too near to it to be worth the time that subnormal numbers take.
#[inline(always)]
fn vanish<V: Vector>(rows: &mut [V::Scalar]) {
    let (tiny, zero) = (V::splat(V::Scalar::TINY), V::constant(0.0));
    for chunk in rows.chunks_mut(V::LANES) {
        let x = V::load_partial(chunk);
        x.abs().select_less(tiny, zero, x).store_partial(chunk);
    }
}

/// Writes the normals of the particles `first ..` into `normals`, rows one after the other.
pub(crate) fn draw<T: Scalar>(noise: Noise, first: usize, rows: usize, dim: usize, normals: &mut [T]) {
    simd::run(Draw { noise, first: first as u32, rows, dim, normals });
}

struct Draw<'a, T> {
    noise: Noise,
    first: u32,
    rows: usize,
    dim: usize,
    normals: &'a mut [T],
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
fn fill<V: Vector>(noise: Noise, first: u32, rows: usize, dim: usize, normals: &mut [V::Scalar], tile: &[V::Scalar]) {
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

/// V+ = v_a + X (drift + noise xi), coordinate by coordinate: rows do not matter, so vectors run across them.
#[inline(always)]
fn anisotropic<V: Vector>(
    motion: &Motion<V::Scalar>,
    centres: &[V::Scalar],
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
) {
    let (drift, noise) = (V::splat(motion.drift), V::splat(motion.noise));
    for (rows, normals) in rows.chunks_mut(centres.len()).zip(normals.chunks(centres.len())) {
        update!(V, rows, normals, centres, |x, xi, centre| (x - centre).mul_add(noise.mul_add(xi, drift), centre));
    }
}

/// V+ = v_a + drift X + noise ||X|| xi.
#[inline(always)]
fn isotropic<V: Vector>(
    motion: &Motion<V::Scalar>,
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
    amplitudes: &mut [V::Scalar],
) {
    // Short rows that do not fill their vectors are better taken several at a time.
    if motion.dim.is_multiple_of(V::LANES) || motion.dim > NARROW * V::LANES {
        wide::<V>(motion, rows, normals);
    } else {
        narrow::<V>(motion, rows, normals, amplitudes);
    }
}

/// The isotropic move, a row after the other.
#[inline(always)]
fn wide<V: Vector>(motion: &Motion<V::Scalar>, rows: &mut [V::Scalar], normals: &[V::Scalar]) {
    let dim = motion.dim;
    let centre = &motion.centres[..dim];
    let drift = V::splat(motion.drift);
    for (row, xi) in rows.chunks_exact_mut(dim).zip(normals.chunks_exact(dim)) {
        let mut square = V::constant(0.0);
        let (full, full_centre) = (row.chunks_exact(V::LANES), centre.chunks_exact(V::LANES));
        let rest = V::load_partial(full.remainder()) - V::load_partial(full_centre.remainder());
        for (x, c) in full.zip(full_centre) {
            let x = V::load(x) - V::load(c);
            square = x.mul_add(x, square);
        }
        let norm = V::splat(rest.mul_add(rest, square).sum()).sqrt();
        let noise = norm * V::splat(motion.noise);
        update!(V, row, xi, centre, |x, xi, centre| noise.mul_add(xi, (x - centre).mul_add(drift, centre)));
    }
}

/// Lanes of the widest vector.
const MOST_LANES: usize = 16;

/// Rows of up to this many vectors are narrow.
const NARROW: usize = 3;

/// Room for the amplitudes of the rows of a pattern, the last of which may be written beyond its end by less than a vector.
const AMPLITUDES: usize = NARROW * MOST_LANES * 16 + MOST_LANES;

/// The isotropic move of narrow rows: `noise ||X||` for each coordinate first, then the move coordinate by coordinate, vectors
/// running across rows.
#[inline(always)]
fn narrow<V: Vector>(
    motion: &Motion<V::Scalar>,
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
    amplitudes: &mut [V::Scalar],
) {
    let (dim, drift) = (motion.dim, V::splat(motion.drift));
    let noise = V::splat(motion.noise);
    let (pattern, centre) = (motion.centres.len(), &motion.centres[..dim]);
    for (rows, normals) in rows.chunks_mut(pattern).zip(normals.chunks(pattern)) {
        let together = rows.chunks_exact(V::LANES * dim);
        let (alone, mut at) = (together.remainder(), 0);
        for rows in together {
            let mut each = [V::Scalar::default(); MOST_LANES];
            (norms_of::<V>(rows, centre) * noise).store(&mut each);
            for amplitude in &each[..V::LANES] {
                repeat::<V>(*amplitude, &mut amplitudes[at..], dim);
                at += dim;
            }
        }
        for row in alone.chunks_exact(dim) {
            let mut each = [V::Scalar::default(); MOST_LANES];
            (norm_of::<V>(row, centre) * noise).store(&mut each);
            repeat::<V>(each[0], &mut amplitudes[at..], dim);
            at += dim;
        }
        let amplitudes = amplitudes[..rows.len()].chunks_exact(V::LANES);
        let last = V::load_partial(amplitudes.remainder());
        let (normals, centres) = (normals[..rows.len()].chunks_exact(V::LANES), motion.centres.chunks_exact(V::LANES));
        let (last_xi, last_centre) =
            (V::load_partial(normals.remainder()), &motion.centres[rows.len() / V::LANES * V::LANES..]);
        let mut rows = rows.chunks_exact_mut(V::LANES);
        for (((x, xi), amplitude), c) in rows.by_ref().zip(normals).zip(amplitudes).zip(centres) {
            let c = V::load(c);
            let drifted = (V::load(x) - c).mul_add(drift, c);
            V::load(amplitude).mul_add(V::load(xi), drifted).store(x);
        }
        let x = rows.into_remainder();
        if !x.is_empty() {
            let c = V::load_partial(&last_centre[..x.len()]);
            let drifted = (V::load_partial(x) - c).mul_add(drift, c);
            last.mul_add(last_xi, drifted).store_partial(x);
        }
    }
}

/// Writes `value` to the first `count` places of `to`, and perhaps to some more, less than a vector.
#[inline(always)]
fn repeat<V: Vector>(value: V::Scalar, to: &mut [V::Scalar], count: usize) {
    if count <= 4 {
        // Whole vectors would often straddle two cache lines.
        to[..4].fill(value);
        return;
    }
    for at in (0..count).step_by(V::LANES) {
        V::splat(value).store(&mut to[at..]);
    }
}

/// The distances of `LANES` rows from `centre`.
#[inline(always)]
fn norms_of<V: Vector>(rows: &[V::Scalar], centre: &[V::Scalar]) -> V {
    let mut square = V::constant(0.0);
    let mut block = [V::constant(0.0); MOST_LANES];
    for (first, centre) in (0..).step_by(V::LANES).zip(centre.chunks(V::LANES)) {
        V::load_transposed(&rows[first..], rows.len() / V::LANES, centre.len(), &mut block);
        for (x, c) in block.iter().zip(centre) {
            let x = *x - V::splat(*c);
            square = x.mul_add(x, square);
        }
    }
    square.sqrt()
}

/// The distance of one row, in all lanes, by the same operations: a row's norm must not depend on its company.
#[inline(always)]
fn norm_of<V: Vector>(row: &[V::Scalar], centre: &[V::Scalar]) -> V {
    let mut square = V::constant(0.0);
    for (x, c) in row.iter().zip(centre) {
        let x = V::splat(*x) - V::splat(*c);
        square = x.mul_add(x, square);
    }
    square.sqrt()
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

struct Kick<'a, 'm, T> {
    motion: &'a Motion<'m, T>,
    first: usize,
    rows: &'a mut [T],
    scratch: &'a mut Scratch<T>,
    amplitude: T,
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
