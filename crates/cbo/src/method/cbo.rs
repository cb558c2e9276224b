//! Consensus-based optimization.
//!
//! With `X = V - v_a` the Euler-Maruyama step is
//!
//! `V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi`,
//!
//! where `D(X) = diag(X)` (anisotropic) or `||X||_2` (isotropic) and xi is standard normal. The drift-first scheme moves
//! by the drift and then diffuses from the moved point: the same with the noise smaller by `1 - lambda dt`.

use super::{Advance, Decision, Diffusion, Motion, Move, Scheme};
use crate::backend::{Scratch, TILE, fill, isotropic, settle, tile_rows, update};
use crate::config::CboConfig;
use crate::simd::{Kernel, Scalar, Vector};

/// Writes the move towards the consensus point.
pub(super) fn decide(config: &CboConfig, at: Decision<'_>, decided: &mut Move) {
    let amplitude = at.sigma * config.dt.sqrt();
    let Move { step, centre, keep, noise, kick, pull, slope, factor: _ } = decided;
    *step = at.step;
    centre.clear();
    centre.extend_from_slice(at.consensus);
    *keep = 1.0 - config.lambda * config.dt;
    *noise = match config.scheme {
        // Noise that is truncated looks at the distance itself.
        Scheme::DriftFirst if config.truncation().is_none() => amplitude * *keep,
        _ => amplitude,
    };
    *kick = at.kicked.then_some(amplitude);
    (*pull, *slope) = (None, None);
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        advance::<V>(self.0);
    }
}

/// Moves a tile at a time.
#[inline(always)]
fn advance<V: Vector>(Advance { motion, first, rows, scratch, .. }: Advance<'_, '_, V::Scalar>) {
    let dim = motion.dim;
    let per_tile = tile_rows(dim);
    for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
        let first = (first + t * per_tile) as u32;
        move_tile::<V>(motion, first, tile, scratch);
        settle::<V>(motion, first, tile, &mut scratch.normals);
    }
}

/// Moves the particles `first ..` of a tile; what ends a move is left to [`settle`].
#[inline(always)]
pub(super) fn move_tile<V: Vector>(
    motion: &Motion<V::Scalar>,
    first: u32,
    tile: &mut [V::Scalar],
    scratch: &mut Scratch<V::Scalar>,
) {
    let dim = motion.dim;
    let (normals, amplitudes) = (&mut scratch.normals[..], &mut scratch.amplitudes[..]);
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
                    fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, normals, tile);
                    normals
                }
            };
            match diffusion {
                Diffusion::Anisotropic => anisotropic::<V>(motion, motion.centres, tile, normals),
                Diffusion::Isotropic => isotropic::<V>(motion, tile, normals, amplitudes),
            }
        }
    }
}

/// V+ = v_a + X (keep + noise xi), coordinate by coordinate: rows do not matter, so vectors run across them.
#[inline(always)]
pub(super) fn anisotropic<V: Vector>(
    motion: &Motion<V::Scalar>,
    centres: &[V::Scalar],
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
) {
    let (keep, noise) = (V::splat(motion.keep), V::splat(motion.noise));
    for (rows, normals) in rows.chunks_mut(centres.len()).zip(normals.chunks(centres.len())) {
        update!(V, rows, normals, centres, |x, xi, centre| (x - centre).mul_add(noise.mul_add(xi, keep), centre));
    }
}
