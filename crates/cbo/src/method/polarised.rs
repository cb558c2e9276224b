//! Polarised consensus-based optimization.
//!
//! Each particle has a consensus point of its own, in which those near it count more:
//!
//! `V_i+ = m_i + (1 - lambda dt) (V_i - m_i) + sigma sqrt(dt) D(V_i - m_i) xi_i`,
//! `m_i = sum_j k(V_i, V_j) w_j V_j / sum_j k(V_i, V_j) w_j`, `w_j = exp(-alpha E(V_j))`.
//!
//! The swarm splits up into groups that agree on different minimisers. With a kernel k of infinite width this is consensus-based
//! optimization. See Bungert, Roith and Wacker, *Polarized consensus-based dynamics for optimization and sampling*
//! (doi:10.1007/s10107-024-02095-y).

use super::cbo::anisotropic;
use super::{Advance, Diffusion, Move, Whole};
use crate::backend::{TILE, fill, isotropic_apart, settle, tile_rows};
use crate::config::{CboConfig, ConfigError};
use crate::consensus::least_of;
use crate::pairs::{Crowd, Similarity, whole};
use crate::population::Population;
use crate::schedule::Alpha;
use crate::simd::{Kernel, Scalar, Vector};
use std::convert::Infallible;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["truncation", "freeze"];

/// Who counts for a particle's own consensus point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Polarised {
    /// The width of the kernel, relative to the standard deviation of the initial law: the distance of two particles is the root mean
    /// square, over the coordinates, of their differences in units of the initial standard deviation. Infinity is consensus-based
    /// optimization.
    pub kappa: f64,
    /// The kernel.
    pub kernel: Similarity,
}

/// Chosen by experiment (see `docs/method.md`).
impl Default for Polarised {
    fn default() -> Self {
        Self { kappa: 0.1, kernel: Similarity::Gaussian }
    }
}

/// Particles whose consensus points are computed together.
const TOGETHER: usize = 8;

/// Pairs of coordinates from which on more than one thread computes them.
const WORTH_THREADS: usize = 1 << 18;

impl Polarised {
    pub(super) fn check(&self, config: &CboConfig) -> Result<(), ConfigError> {
        if self.kappa.is_nan() || self.kappa <= 0.0 {
            let value = format!("polarised with kappa = {}", self.kappa);
            let remedy = "kappa must be a positive number; inf is consensus-based optimization".into();
            return Err(ConfigError { field: "method", value, remedy });
        }
        if config.alpha == Alpha::Constant(f64::INFINITY) && self.kappa.is_finite() {
            let remedy =
                "with method polarised all particles would go to the best one, wherever they are; use a finite alpha \
                          or an effective sample size, such as ess:0.1"
                    .into();
            return Err(ConfigError { field: "alpha", value: "inf".into(), remedy });
        }
        Ok(())
    }

    /// Settings under which swarms split up well.
    pub(super) fn suit(&self, config: &mut CboConfig) {
        config.alpha = Alpha::EffectiveSampleSize(0.3);
    }

    /// Numbers to compute with: see [`Room`].
    pub(super) fn room(&self, particles: usize, batch: usize, dim: usize) -> usize {
        let size = whole(batch);
        if self.kappa.is_infinite() { 0 } else { size + dim * size + dim + particles.div_ceil(TOGETHER) * 2 * dim }
    }

    /// What a coordinate counts in the squared distance of two particles, in units of the kernel's width.
    pub(crate) fn factors(&self, config: &CboConfig, dim: usize, to: &mut [f64]) {
        for (k, factor) in to.iter_mut().enumerate() {
            let unit = config.init.deviation(k, dim) * self.kappa;
            // A coordinate that was the same for all at the beginning has no unit, and does not count.
            *factor = if unit > 0.0 { 1.0 / (dim as f64 * unit * unit) } else { 0.0 };
        }
    }

    /// Every particle's own consensus point, beside its position.
    pub(super) fn prepare<T: Scalar>(&self, all: Whole<'_, T>, decided: &Move) {
        let Whole { population, crew, config, alpha, dim, room } = all;
        let exact = |x: f64| if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(x) };
        if self.kappa.is_infinite() {
            for row in population.kept.points.chunks_exact_mut(dim) {
                row.iter_mut().zip(&decided.centre).for_each(|(m, c)| *m = exact(*c));
            }
            return;
        }
        let size = whole(population.energies.len());
        let (heights, room) = room.split_at_mut(size);
        let (columns, room) = room.split_at_mut(dim * size);
        let (factors, room) = room.split_at_mut(dim);
        self.factors(config, dim, factors);
        gather(population, alpha, &decided.centre, heights, columns);
        let crowd = Crowd { columns, heights, factors, similarity: self.kernel };
        let Population { ensemble, kept, .. } = population;
        let (rows, centre) = (ensemble.rows(), &decided.centre);
        let worth = rows.len() * size * dim >= WORTH_THREADS;
        let done: Result<(), Infallible> =
            crew.pieces(worth, (&mut kept.points, TOGETHER * dim), (room, 2 * dim), |piece, points, scratch| {
                let (place, sums) = scratch.split_at_mut(dim);
                for (i, point) in points.chunks_exact_mut(dim).enumerate() {
                    let row = rows.row(piece * TOGETHER + i);
                    for ((y, x), c) in place.iter_mut().zip(row).zip(centre) {
                        *y = x.to_f64() - c;
                    }
                    let seen = crowd.seen_from(place, sums);
                    for ((m, sum), c) in point.iter_mut().zip(&*sums).zip(centre) {
                        // A particle that went astray sees nobody, and is called back by all.
                        *m = exact(if seen.mass > 0.0 { c + sum / seen.mass } else { *c });
                    }
                }
                Ok(())
            });
        let Ok(()) = done;
    }
}

/// The particles that were evaluated, relative to their common consensus point, and what each counts.
fn gather<T: Scalar>(population: &Population<T>, alpha: f64, centre: &[f64], heights: &mut [f64], columns: &mut [f64]) {
    let size = heights.len();
    let count = population.energies.len();
    let rounding = 4.0 * if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    heights.fill(f64::NEG_INFINITY);
    columns.fill(0.0);
    for (height, energy) in heights.iter_mut().zip(&population.energies) {
        *height = energy.to_f64();
    }
    let least = least_of(&heights[..count]);
    for (j, row) in population.points(0).iter().enumerate() {
        let energy = heights[j];
        if !energy.is_finite() {
            heights[j] = f64::NEG_INFINITY;
            continue;
        }
        // What is left of a difference after rounding says nothing, however large alpha has become: equal minima stay equal.
        let gap = energy - least;
        heights[j] = if gap <= rounding * energy.abs().max(least.abs()) { 0.0 } else { -alpha * gap };
        for (k, (x, c)) in row.iter().zip(centre).enumerate() {
            columns[k * size + j] = x.to_f64() - c;
        }
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    /// As in consensus-based optimization, but with a centre for each row.
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Advance { motion, first, rows, kept, scratch, .. } = self.0;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        let normals = &mut scratch.normals[..];
        for (t, (tile, centres)) in rows.chunks_mut(per_tile * dim).zip(kept.chunks(per_tile * dim)).enumerate() {
            let first = (first + t * per_tile) as u32;
            if motion.diffusion == Diffusion::Anisotropic && dim > TILE {
                for (number, (x, centres)) in tile.chunks_mut(TILE).zip(centres.chunks(TILE)).enumerate() {
                    motion.diffusion_noise.piece_meanwhile(first, number * TILE, dim, normals, x).run::<V>();
                    anisotropic::<V>(motion, centres, x, normals);
                }
            } else {
                let mut drawn = motion.ahead.and_then(|ahead| ahead.drawn(first as usize, motion.step));
                let normals = match &mut drawn {
                    Some(drawn) => drawn.normals(),
                    None => {
                        fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, normals, tile);
                        &mut *normals
                    }
                };
                match motion.diffusion {
                    Diffusion::Anisotropic => anisotropic::<V>(motion, centres, tile, normals),
                    Diffusion::Isotropic => isotropic_apart::<V>(motion, centres, tile, normals),
                }
            }
            settle::<V>(motion, first, tile, normals);
        }
    }
}
