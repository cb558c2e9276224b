//! Consensus-based optimization with adaptive moments: Adam-CBO.
//!
//! The distance X = V - v_a takes the place of the gradient in Adam: each particle keeps running means m of X and v of X^2, coordinate by
//! coordinate, and moves by
//!
//! `m+ = beta1 m + (1 - beta1) X`, `v+ = beta2 v + (1 - beta2) X^2`,
//! `V+ = V - lambda dt mhat / (sqrt(vhat) + epsilon) + sigma sqrt(dt) xi`,
//!
//! where `mhat = m+ / (1 - beta1^t)` and `vhat = v+ / (1 - beta2^t)` after t steps. The noise is plain, it does not depend on X, and must be
//! made smaller in time for the swarm to contract. See Chen, Jin and Lyu, *A consensus-based global optimization method with adaptive
//! momentum estimation* (arXiv:2012.04827). CBXpy has the same drift, but noise that grows with X.

use super::{Advance, Motion};
use crate::backend::{fill, settle, tile_rows};
use crate::config::{CboConfig, ConfigError};
use crate::numbers::plain;
use crate::schedule::{Alpha, Clock, Geometric, Sigma};
use crate::simd::{Kernel, Scalar, Vector};
use crate::text::{TextError, named, number_of, unusual};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["diffusion", "scheme", "truncation", "update"];

/// How long the moments of the distance remember.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Adam {
    /// What the mean of the distance keeps in a step.
    pub beta1: f64,
    /// What the mean of its square keeps.
    pub beta2: f64,
    /// A length far below which distances count less and less.
    pub epsilon: f64,
}

/// Those of CBXpy.
impl Default for Adam {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.99, epsilon: 1e-8 }
    }
}

impl Adam {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let refuse = |name: &str, value: f64, remedy: &str| {
            let value = format!("adam with {name} = {}", plain(value));
            Err(ConfigError { field: "method", value, remedy: remedy.into() })
        };
        for (name, value) in [("beta1", self.beta1), ("beta2", self.beta2)] {
            if !(0.0..1.0).contains(&value) {
                return refuse(name, value, "must be at least 0 and below 1");
            }
        }
        if !(self.epsilon > 0.0 && self.epsilon.is_finite()) {
            return refuse("epsilon", self.epsilon, "must be a positive finite number");
        }
        Ok(())
    }

    /// Chosen by experiment, see `docs/method.md`.
    pub(super) fn suit(config: &mut CboConfig) {
        config.dt = 1.0;
        config.lambda = 0.3;
        config.alpha = Alpha::EffectiveSampleSize(0.2);
        config.sigma = Sigma::Geometric(Geometric { start: 1.0, factor: 0.99, cap: 0.0, clock: Clock::Step });
    }

    /// What makes means of the moments after a step that many more may follow: `1 / (1 - beta^t)`.
    fn corrections(&self, step: u64) -> (f64, f64) {
        let correction = |beta: f64| 1.0 / (1.0 - libm::pow(beta, step as f64 + 1.0));
        (correction(self.beta1), correction(self.beta2))
    }
}

/// `NAME=NUMBER`, separated by commas: the names are those of the fields.
impl FromStr for Adam {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut adam = Self::default();
        for (name, value) in named("adam", &["beta1", "beta2", "epsilon"], text)? {
            let place = match name {
                "beta1" => &mut adam.beta1,
                "beta2" => &mut adam.beta2,
                _ => &mut adam.epsilon,
            };
            *place = number_of(name, value)?;
        }
        Ok(adam)
    }
}

/// The settings that are not the default.
impl Display for Adam {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        f.pad(&unusual(&[
            ("beta1", self.beta1, usual.beta1),
            ("beta2", self.beta2, usual.beta2),
            ("epsilon", self.epsilon, usual.epsilon),
        ]))
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub &'a Adam, pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(adam, Advance { motion, first, rows, kept, more, scratch }) = self;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        let moments = kept.chunks_mut(per_tile * dim).zip(more.chunks_mut(per_tile * dim));
        for (t, (tile, (means, squares))) in rows.chunks_mut(per_tile * dim).zip(moments).enumerate() {
            let first = (first + t * per_tile) as u32;
            fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
            // Coordinate by coordinate: rows do not matter, so vectors run across them.
            let piece = motion.centres.len();
            let moments = means.chunks_mut(piece).zip(squares.chunks_mut(piece));
            for ((rows, moments), xi) in tile.chunks_mut(piece).zip(moments).zip(scratch.normals.chunks(piece)) {
                advance::<V>(adam, motion, rows, moments, xi);
            }
            settle::<V>(motion, first, tile, &mut scratch.normals);
        }
    }
}

/// Moves a few particles.
#[inline(always)]
fn advance<V: Vector>(
    adam: &Adam,
    motion: &Motion<V::Scalar>,
    rows: &mut [V::Scalar],
    (means, squares): (&mut [V::Scalar], &mut [V::Scalar]),
    xi: &[V::Scalar],
) {
    let config = motion.config;
    let (beta1, beta2, epsilon) = (V::constant(adam.beta1), V::constant(adam.beta2), V::constant(adam.epsilon));
    let (new1, new2) = (V::constant(1.0 - adam.beta1), V::constant(1.0 - adam.beta2));
    let (first, second) = adam.corrections(motion.step);
    let (first, second) = (V::constant(first * config.lambda * config.dt), V::constant(second));
    let noise = V::splat(motion.noise);
    // Moments of a swarm that has drawn together are better zero than subnormal.
    let (tiny, zero) = (V::splat(V::Scalar::TINY), V::constant(0.0));
    let moments = means.chunks_mut(V::LANES).zip(squares.chunks_mut(V::LANES));
    let others = motion.centres.chunks(V::LANES).zip(xi.chunks(V::LANES));
    for ((x, (m, v)), (c, xi)) in rows.chunks_mut(V::LANES).zip(moments).zip(others) {
        let here = V::load_partial(x);
        let far = here - V::load_partial(&c[..x.len()]);
        let mean = beta1.mul_add(V::load_partial(m), new1 * far);
        let square = beta2.mul_add(V::load_partial(v), new2 * far * far);
        let mean = mean.abs().select_less(tiny, zero, mean);
        let square = square.select_less(tiny, zero, square);
        mean.store_partial(m);
        square.store_partial(v);
        let moved = here - first * mean / ((second * square).sqrt() + epsilon);
        noise.mul_add(V::load_partial(&xi[..x.len()]), moved).store_partial(x);
    }
}
