//! Consensus-based sampling.
//!
//! Besides the consensus point v_a, the particles agree on a covariance C, that of their positions under the same weights:
//!
//! `V+ = v_a + b (V - v_a) + sqrt((1 - b^2) / l) C^(1/2) xi`, `b = exp(-dt)`.
//!
//! With l = 1 the swarm contracts around a minimiser; with l = 1 / (1 + alpha) it comes to rest in the law of density proportional to
//! `exp(-E)`, if that is Gaussian. Affine maps of the coordinates change nothing but the coordinates. See Carrillo, Hoffmann, Stuart and
//! Vaes, *Consensus-based sampling* (doi:10.1111/sapm.12470).

use super::{Advance, Motion, Move, Whole};
use crate::backend::{Crew, fill, settle, tile_rows};
use crate::config::{CboConfig, ConfigError};
use crate::consensus::{least_of, weights_of};
use crate::matrix::cholesky::semidefinite_cholesky;
use crate::matrix::linear::{load, store};
use crate::matrix::symmetric::add_squares_to;
use crate::objective::Rows;
use crate::schedule::Alpha;
use crate::simd::{Kernel, Scalar, Vector};
use std::convert::Infallible;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["lambda", "sigma", "diffusion", "scheme", "truncation", "kick", "freeze"];

/// What the swarm is to become.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// Whether it is to have the law of density proportional to `exp(-E)`, and not to contract: see [`sample`](crate::sample).
    pub law: bool,
}

/// More dimensions than this make matrices that no swarm can fill.
const MOST_DIMENSIONS: usize = 2000;

/// Columns of the covariance that are computed together, and particles that are added to them together.
const PANEL: usize = 16;

/// Products from which on more than one thread computes them.
const WORTH_THREADS: usize = 1 << 18;

impl Sampling {
    pub(super) fn check(&self, config: &CboConfig, dim: usize) -> Result<(), ConfigError> {
        let refuse = |field, value: String, remedy: &str| Err(ConfigError { field, value, remedy: remedy.into() });
        if dim > MOST_DIMENSIONS {
            let remedy = format!(
                "is too many for method sampling, whose moves take a matrix of dim x dim; the limit is {MOST_DIMENSIONS}"
            );
            return refuse("dim", dim.to_string(), &remedy);
        }
        if config.alpha == Alpha::Constant(f64::INFINITY) {
            let remedy =
                "method sampling needs a finite alpha, because one particle has no covariance; ess:0.5 chooses it";
            return refuse("alpha", "inf".into(), remedy);
        }
        if !self.law {
            return Ok(());
        }
        if let Some(batch) = config.batch {
            let remedy = "to draw from a law takes the energies of all particles; leave batch out";
            return refuse("batch", batch.to_string(), remedy);
        }
        if config.particles <= dim {
            let remedy = format!("to draw from a law in {dim} dimensions takes more than {dim} particles");
            return refuse("particles", config.particles.to_string(), &remedy);
        }
        Ok(())
    }

    /// Settings under which swarms contract, or come to rest, soon.
    pub(super) fn suit(&self, config: &mut CboConfig) {
        config.alpha = Alpha::EffectiveSampleSize(0.5);
        config.dt = 2.0;
        if self.law {
            (config.dt, config.steps) = (1.0, Some(100));
        }
    }

    /// Numbers to compute with: energies, weights, what pivots must exceed, and rows for each panel of the covariance.
    pub(crate) fn room(&self, batch: usize, dim: usize) -> usize {
        2 * batch + dim + dim.div_ceil(PANEL) * (PANEL * dim + PANEL)
    }

    pub(super) fn decide(&self, config: &CboConfig, decided: &mut Move) {
        (decided.keep, decided.noise) = amplitudes(config.dt);
    }

    /// The covariance and its root, from the particles that were evaluated.
    pub(super) fn prepare<T: Scalar>(&self, all: Whole<'_, T>, decided: &mut Move) {
        let Whole { population, crew, alpha, dim, room, .. } = all;
        decided.factor.resize(dim * dim, 0.0);
        let swarm = Weighted { rows: population.points(0), energies: &population.energies, alpha };
        swarm.covariance(&decided.centre, crew, room, &mut decided.factor);
        root(dim, &mut decided.factor, room);
        decided.noise *= self.inflation(alpha);
    }

    /// 1 / sqrt(l). An infinite alpha, chosen where most energies are the same, does not say how wide the law is.
    pub(crate) fn inflation(&self, alpha: f64) -> f64 {
        if self.law && alpha.is_finite() { (1.0 + alpha).sqrt() } else { 1.0 }
    }
}

/// b and sqrt(1 - b^2).
pub(crate) fn amplitudes(dt: f64) -> (f64, f64) {
    (libm::exp(-dt), (-libm::expm1(-2.0 * dt)).sqrt())
}

/// Particles with their energies, which give their weights.
pub(crate) struct Weighted<'a, T> {
    pub rows: Rows<'a, T>,
    pub energies: &'a [T],
    pub alpha: f64,
}

impl<T: Scalar> Weighted<'_, T> {
    /// Writes `sum w (V - centre)(V - centre)' / sum w`, its lower half by columns.
    pub fn covariance(&self, centre: &[f64], crew: &Crew<T>, room: &mut [f64], matrix: &mut [f64]) {
        let (count, dim) = (self.energies.len(), centre.len());
        let (energies, room) = room.split_at_mut(count);
        let (weights, room) = room.split_at_mut(count);
        for (energy, e) in energies.iter_mut().zip(self.energies) {
            *energy = e.to_f64();
        }
        let (mass, _) = weights_of(self.alpha, least_of(energies), energies, weights);
        weights.iter_mut().for_each(|weight| *weight /= mass);
        let (rows, weights) = (self.rows, &*weights);
        matrix.fill(0.0);
        let worth = count * dim * dim >= WORTH_THREADS;
        let done: Result<(), Infallible> =
            crew.pieces(worth, (matrix, PANEL * dim), (room, PANEL * dim + PANEL), |panel, columns, scratch| {
                let (offsets, heavy) = scratch.split_at_mut(PANEL * dim);
                let first = panel * PANEL;
                let mut used = 0;
                // Those without weight are left out: they may be anywhere, even at infinity.
                for (row, weight) in rows.iter().zip(weights).filter(|(_, weight)| **weight > 0.0) {
                    let offset = &mut offsets[used * dim..(used + 1) * dim];
                    for k in first..dim {
                        offset[k] = row[k].to_f64() - centre[k];
                    }
                    heavy[used] = *weight;
                    used += 1;
                    if used == PANEL {
                        add_squares_to(dim, first, columns, offsets, heavy);
                        used = 0;
                    }
                }
                add_squares_to(dim, first, columns, &offsets[..used * dim], &heavy[..used]);
                Ok(())
            });
        let Ok(()) = done;
    }
}

/// Replaces a covariance by its Cholesky factor, with zeros where the particles do not vary but for rounding.
pub(crate) fn root(dim: usize, matrix: &mut [f64], room: &mut [f64]) {
    let least = &mut room[..dim];
    for (k, least) in least.iter_mut().enumerate() {
        *least = 64.0 * f64::EPSILON * dim as f64 * matrix[k * dim + k];
    }
    semidefinite_cholesky(dim, matrix, least);
}

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
            let mut drawn = motion.ahead.and_then(|ahead| ahead.drawn(first as usize, motion.step));
            let normals = match &mut drawn {
                Some(drawn) => drawn.normals(),
                None => {
                    fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
                    &mut scratch.normals[..]
                }
            };
            let fours = tile.len() / (4 * dim) * 4 * dim;
            let (together, alone) = tile.split_at_mut(fours);
            for (rows, xi) in together.chunks_exact_mut(4 * dim).zip(normals.chunks_exact(4 * dim)) {
                advance::<V, 4>(motion, rows, xi);
            }
            for (row, xi) in alone.chunks_exact_mut(dim).zip(normals[fours..].chunks_exact(dim)) {
                advance::<V, 1>(motion, row, xi);
            }
            settle::<V>(motion, first, tile, normals);
        }
    }
}

/// Moves `R` particles: `v_a + keep (V - v_a) + noise L xi`. Every number is computed in the same order for every `R`.
#[inline(always)]
fn advance<V: Vector, const R: usize>(motion: &Motion<V::Scalar>, rows: &mut [V::Scalar], xi: &[V::Scalar]) {
    let (dim, factor) = (motion.dim, motion.factor);
    let (keep, noise) = (V::splat(motion.keep), V::splat(motion.noise));
    for at in (0..dim).step_by(V::LANES) {
        let size = V::LANES.min(dim - at);
        let mut sums = [V::constant(0.0); R];
        for j in 0..at + size {
            let column = load::<V>(size, &factor[j * dim + at..]);
            for r in 0..R {
                sums[r] = V::splat(xi[r * dim + j]).mul_add(column, sums[r]);
            }
        }
        let centre = load::<V>(size, &motion.centres[at..]);
        for r in 0..R {
            let row = &mut rows[r * dim + at..r * dim + at + size];
            let drifted = (load::<V>(size, row) - centre).mul_add(keep, centre);
            store(noise.mul_add(sums[r], drifted), row);
        }
    }
}
