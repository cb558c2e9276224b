//! Drift and diffusion, fused: one pass moves a tile of particles.
//!
//! With `X = V - v_a` the Euler-Maruyama step is
//!
//! `V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi`,
//!
//! where `D(X) = diag(X)` (anisotropic) or `||X||_2` (isotropic) and xi is standard normal. The drift-first scheme moves
//! by the drift and then diffuses from the moved point: the same with the noise smaller by `1 - lambda dt`.

use crate::bounds::Walls;
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
    consensus: &'a [T],
    drift: T,
    noise: T,
    kick: Option<T>,
    diffusion: Diffusion,
    walls: Option<&'a Walls<T>>,
    diffusion_noise: Noise,
    kick_noise: Noise,
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
    pub fn new(dynamics: &Dynamics, seed: u64, step: u64, consensus: &'a [T], walls: Option<&'a Walls<T>>) -> Self {
        let Dynamics { lambda, dt, diffusion, scheme, kicked, .. } = *dynamics;
        let drift = 1.0 - lambda * dt;
        let amplitude = dynamics.amplitude();
        let noise = match scheme {
            Scheme::EulerMaruyama => amplitude,
            Scheme::DriftFirst => amplitude * drift,
        };
        Self {
            consensus,
            drift: T::from_f64(drift),
            noise: T::from_f64(noise),
            kick: kicked.then(|| T::from_f64(amplitude)),
            diffusion,
            walls,
            diffusion_noise: Noise::new(seed, Stream::Diffusion, step),
            kick_noise: Noise::new(seed, Stream::Kick, step),
        }
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

/// Room for the normals of one tile.
#[derive(Debug)]
pub(crate) struct Scratch<T> {
    normals: Vec<T>,
    /// Energies and weights of a block in double precision.
    pub energies: Vec<f64>,
    pub weights: Vec<f64>,
}

/// Coordinates in a tile: its positions and normals fit the first-level cache together.
const TILE: usize = 1024;

fn tile_rows(dim: usize) -> usize {
    (TILE / padded(dim)).max(1)
}

impl<T: Scalar> Scratch<T> {
    pub fn new(dim: usize, block_rows: usize) -> Self {
        Self {
            normals: vec![T::default(); scratch_len(tile_rows(dim), dim)],
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
        let dim = motion.consensus.len();
        let per_tile = tile_rows(dim);
        for (t, tile) in self.rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (self.first + t * per_tile) as u32;
            let count = tile.len() / dim;
            let normals = &mut self.scratch.normals[..];
            motion.diffusion_noise.normals(first, count, dim, normals).run::<V>();
            match motion.diffusion {
                Diffusion::Anisotropic => anisotropic::<V>(motion, tile, normals),
                Diffusion::Isotropic => isotropic::<V>(motion, tile, normals),
            }
            if let Some(amplitude) = motion.kick {
                kick::<V>(motion, amplitude, first, tile, normals);
            }
            if let Some(walls) = motion.walls {
                walls.confine(tile).run::<V>();
            }
        }
    }
}

/// V+ = v_a + X (drift + noise xi), coordinate by coordinate.
#[inline(always)]
fn anisotropic<V: Vector>(motion: &Motion<V::Scalar>, rows: &mut [V::Scalar], normals: &[V::Scalar]) {
    let dim = motion.consensus.len();
    let (drift, noise) = (V::splat(motion.drift), V::splat(motion.noise));
    for (row, xi) in rows.chunks_exact_mut(dim).zip(normals.chunks_exact(padded(dim))) {
        let lanes = row.chunks_mut(V::LANES).zip(xi.chunks(V::LANES)).zip(motion.consensus.chunks(V::LANES));
        for ((x, xi), c) in lanes {
            let (centre, xi) = (V::load_partial(c), V::load_partial(xi));
            let factor = noise.mul_add(xi, drift);
            (V::load_partial(x) - centre).mul_add(factor, centre).store_partial(x);
        }
    }
}

/// V+ = v_a + drift X + noise ||X|| xi.
#[inline(always)]
fn isotropic<V: Vector>(motion: &Motion<V::Scalar>, rows: &mut [V::Scalar], normals: &[V::Scalar]) {
    let dim = motion.consensus.len();
    let drift = V::splat(motion.drift);
    for (row, xi) in rows.chunks_exact_mut(dim).zip(normals.chunks_exact(padded(dim))) {
        let mut square = V::constant(0.0);
        for (x, c) in row.chunks(V::LANES).zip(motion.consensus.chunks(V::LANES)) {
            let x = V::load_partial(x) - V::load_partial(c);
            square = x.mul_add(x, square);
        }
        let norm = V::splat(square.sum()).sqrt();
        let noise = norm * V::splat(motion.noise);
        let lanes = row.chunks_mut(V::LANES).zip(xi.chunks(V::LANES)).zip(motion.consensus.chunks(V::LANES));
        for ((x, xi), c) in lanes {
            let (centre, xi) = (V::load_partial(c), V::load_partial(xi));
            let moved = (V::load_partial(x) - centre).mul_add(drift, centre);
            noise.mul_add(xi, moved).store_partial(x);
        }
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
    let dim = motion.consensus.len();
    motion.kick_noise.normals(first, rows.len() / dim, dim, normals).run::<V>();
    let amplitude = V::splat(amplitude);
    for (row, xi) in rows.chunks_exact_mut(dim).zip(normals.chunks_exact(padded(dim))) {
        for (x, xi) in row.chunks_mut(V::LANES).zip(xi.chunks(V::LANES)) {
            amplitude.mul_add(V::load_partial(xi), V::load_partial(x)).store_partial(x);
        }
    }
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
        let dim = self.motion.consensus.len();
        for (i, row) in self.rows.chunks_exact_mut(dim).enumerate() {
            kick::<V>(self.motion, self.amplitude, (self.first + i) as u32, row, &mut self.scratch.normals);
            if let Some(walls) = self.motion.walls {
                walls.confine(row).run::<V>();
            }
        }
    }
}
