//! Consensus-based optimization with truncated noise.
//!
//! The noise grows with the distance from the consensus point up to a length M only:
//!
//! `V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) min(|X|, M) xi`,
//!
//! with `min(|X|, M)` the truncated norm (isotropic), or each coordinate cut to `[-M, M]` (anisotropic). Particles far away then move
//! towards the consensus point with noise that no longer takes them further. M = infinity is plain consensus-based optimization. See
//! Fornasier, Richtarik, Riedl and Sun, *Consensus-based optimization with truncated noise* (doi:10.1017/S095679252400007X).

use super::{Advance, Diffusion, Motion, Scheme};
use crate::backend::{fill, settle, tile_rows};
use crate::simd::{Kernel, Scalar, Vector};

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Advance { motion, first, rows, scratch, .. } = self.0;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (first + t * per_tile) as u32;
            fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
            for (row, xi) in tile.chunks_exact_mut(dim).zip(scratch.normals.chunks_exact(dim)) {
                advance::<V>(motion, row, xi);
            }
            settle::<V>(motion, first, tile, &mut scratch.normals);
        }
    }
}

/// Moves one particle.
#[inline(always)]
fn advance<V: Vector>(motion: &Motion<V::Scalar>, row: &mut [V::Scalar], xi: &[V::Scalar]) {
    let centre = &motion.centres[..row.len()];
    let (keep, noise) = (V::splat(motion.keep), V::splat(motion.noise));
    let longest = motion.truncation.map_or_else(|| V::constant(f64::INFINITY), V::splat);
    let far = |x: V, c: V| match motion.scheme {
        Scheme::EulerMaruyama => x - c,
        Scheme::DriftFirst => (x - c) * keep,
    };
    let norm = || {
        let mut square = V::constant(0.0);
        for (x, c) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)) {
            let x = far(V::load_partial(x), V::load_partial(c));
            square = x.mul_add(x, square);
        }
        V::splat(square.sum()).sqrt()
    };
    let amplitude = match motion.diffusion {
        Diffusion::Anisotropic => noise,
        Diffusion::Isotropic => norm().min(longest) * noise,
    };
    let others = centre.chunks(V::LANES).zip(xi.chunks(V::LANES));
    for (x, (c, xi)) in row.chunks_mut(V::LANES).zip(others) {
        let (here, c, xi) = (V::load_partial(x), V::load_partial(c), V::load_partial(xi));
        let drifted = (here - c).mul_add(keep, c);
        let moved = match motion.diffusion {
            Diffusion::Anisotropic => {
                let distance = far(here, c);
                let cut = distance.min(longest).max(V::constant(0.0) - longest);
                (amplitude * cut).mul_add(xi, drifted)
            }
            Diffusion::Isotropic => amplitude.mul_add(xi, drifted),
        };
        moved.store_partial(x);
    }
}
