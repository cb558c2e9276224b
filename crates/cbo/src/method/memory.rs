//! Consensus-based optimization with memory.
//!
//! Each particle V remembers a point Y, and the consensus point y_a is that of the remembered points and their energies:
//!
//! `dV = -lambda (V - y_a) dt - drift lambda (V - Y) dt - gradient grad E(V) dt`
//! `   + sigma D(V - y_a) dB + noise sigma D(V - Y) dB' + gradient_noise D(grad E(V)) dB''`,
//! `dY = kappa (V - Y) S dt` with `S = (1 + theta + tanh(beta (E(Y) - E(V)))) / 2`.
//!
//! With beta = infinity Y is the best point that the particle has seen. See Riedl, *Leveraging memory effects and gradient information in
//! consensus-based optimization* (doi:10.1017/S0956792523000293).

use super::{Advance, Decision, Diffusion, Motion, Move, Remembering, Scheme};
use crate::backend::{fill, settle, tile_rows, update};
use crate::config::{CboConfig, ConfigError};
use crate::simd::{Kernel, Scalar, Vector, exp_of};

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["truncation"];

/// How particles remember and return.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Drift towards the remembered point, as a multiple of lambda.
    pub drift: f64,
    /// Noise by the distance from it, as a multiple of sigma.
    pub noise: f64,
    /// How sharply better and worse points are told apart. Infinity, a hard memory, keeps the better point. A finite beta, a smooth
    /// memory, moves the remembered point instead, whose energy then takes a second evaluation per particle and step. Zero remembers
    /// nothing: plain consensus-based optimization, perhaps with a gradient.
    pub beta: f64,
    /// How fast a smooth memory moves; `1 / (dt (1 + theta / 2))`, all the way to a much better point, if `None`.
    pub kappa: Option<f64>,
    /// How much of the way a smooth memory goes towards worse points too.
    pub theta: f64,
    /// Drift along minus the gradient of the energy; 0 for none. Where the objective has no [gradients](crate::Objective::gradients) they
    /// are central differences, two evaluations per coordinate of each particle.
    pub gradient: f64,
    /// Noise by the gradient.
    pub gradient_noise: f64,
}

/// Chosen by experiment: beside the engine's default sigma, more of either loses minima that plain consensus-based optimization finds.
impl Default for Memory {
    fn default() -> Self {
        Self {
            drift: 0.2,
            noise: 0.2,
            beta: f64::INFINITY,
            kappa: None,
            theta: 0.0,
            gradient: 0.0,
            gradient_noise: 0.0,
        }
    }
}

/// How particles remember, in numbers: what [`Memory`] means for a time step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remembers {
    /// Whether the better point is kept as it is.
    pub is_hard: bool,
    /// Whether particles move in another way than in plain consensus-based optimization.
    pub is_pulled: bool,
    /// A smooth memory goes `share (lean + tanh(beta gap))` of the way, where the gap is what the particle is better by.
    pub share: f64,
    /// See there.
    pub lean: f64,
    /// See there.
    pub beta: f64,
}

impl Remembers {
    /// The part of the way that a smooth memory goes, from a point with energy `there` to one with energy `here`.
    fn share_of(&self, here: f64, there: f64) -> f64 {
        // No difference where neither has an energy.
        let gap = if here == there { 0.0 } else { there - here };
        self.share * (self.lean + tanh(self.beta * gap))
    }
}

/// The hyperbolic tangent, correct to some 1e-16 in absolute terms, by operations whose bits depend on no system.
fn tanh(x: f64) -> f64 {
    let fall = exp_of(-2.0 * x.abs());
    ((1.0 - fall) / (1.0 + fall)).copysign(x)
}

impl Memory {
    /// How particles remember, if they do.
    pub(crate) fn how(&self, dt: f64) -> Option<Remembers> {
        self.remembers().then(|| Remembers {
            is_hard: self.is_hard(),
            is_pulled: !self.is_plain(),
            share: self.kappa(dt) * dt * 0.5,
            lean: 1.0 + self.theta,
            beta: self.beta,
        })
    }

    /// Whether the remembered point is always one that was evaluated.
    fn is_hard(&self) -> bool {
        self.beta.is_infinite()
    }

    /// Whether particles remember anything.
    pub(super) fn remembers(&self) -> bool {
        self.beta > 0.0
    }

    fn kappa(&self, dt: f64) -> f64 {
        self.kappa.unwrap_or(1.0 / (dt * (1.0 + 0.5 * self.theta)))
    }

    /// Whether particles move as in plain consensus-based optimization.
    pub(super) fn is_plain(&self) -> bool {
        self.drift == 0.0 && self.noise == 0.0 && !self.has_gradient()
    }

    /// Whether particles feel the gradient.
    pub(super) fn has_gradient(&self) -> bool {
        self.gradient > 0.0 || self.gradient_noise > 0.0
    }

    pub(super) fn check(&self, config: &CboConfig) -> Result<(), ConfigError> {
        let dt = config.dt;
        let refuse = |name: &str, value: f64, remedy: String| {
            Err(ConfigError { field: "method", value: format!("memory with {name} = {value}"), remedy })
        };
        let amounts = [
            ("drift", self.drift),
            ("noise", self.noise),
            ("theta", self.theta),
            ("gradient", self.gradient),
            ("gradient-noise", self.gradient_noise),
        ];
        for (name, value) in amounts {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(name, value, format!("{name} must be zero or a positive finite number"));
            }
        }
        if let Some(batch) = config.batch.filter(|_| self.has_gradient()) {
            let remedy = "every particle needs its gradient in every step; leave the batch out".into();
            return Err(ConfigError { field: "batch", value: batch.to_string(), remedy });
        }
        if self.beta.is_nan() || self.beta < 0.0 {
            return refuse(
                "beta",
                self.beta,
                "beta must be positive; inf keeps the better point, 0 remembers nothing".into(),
            );
        }
        if !self.remembers() && (self.drift > 0.0 || self.noise > 0.0) {
            let remedy = "beta = 0 remembers nothing to return to, so drift and noise must be 0".into();
            return refuse("beta", self.beta, remedy);
        }
        if (self.is_hard() || !self.remembers()) && (self.kappa.is_some() || self.theta != 0.0) {
            let remedy =
                "beta = inf keeps the better point and beta = 0 none; kappa and theta need a beta between".into();
            return refuse("beta", self.beta, remedy);
        }
        if self.is_hard() || !self.remembers() {
            return Ok(());
        }
        let kappa = self.kappa(dt);
        if !(kappa > 0.0 && kappa.is_finite()) {
            return refuse("kappa", kappa, "kappa must be a positive finite number".into());
        }
        // Rounding aside.
        if kappa * dt * (1.0 + 0.5 * self.theta) > 1.0 + 1e-9 {
            let most = 1.0 / (dt * (1.0 + 0.5 * self.theta));
            let remedy = format!("the memory would overshoot; kappa is at most 1 / (dt (1 + theta / 2)) = {most}");
            return refuse("kappa", kappa, remedy);
        }
        Ok(())
    }

    /// The remembered points of a smooth memory are evaluated after the positions, except for the first, which are the positions.
    pub(super) fn rounds(&self, step: u64) -> usize {
        if self.is_hard() || !self.remembers() || step == 0 { 1 } else { 2 }
    }

    /// Y+ = Y + kappa dt S (V - Y).
    pub(super) fn remember<T: Scalar>(&self, block: Remembering<'_, T>) {
        let Remembering { step, dt, rows, energies, points, values } = block;
        let Some(how) = self.how(dt) else { return };
        if step == 0 {
            points.copy_from_slice(rows);
            values.copy_from_slice(energies);
            return;
        }
        let dim = rows.len() / energies.len();
        let particles = rows.chunks_exact(dim).zip(energies).zip(points.chunks_exact_mut(dim)).zip(values);
        for (((row, energy), point), value) in particles {
            let (here, there) = (comparable(*energy), comparable(*value));
            if how.is_hard {
                if here < there {
                    point.copy_from_slice(row);
                    *value = *energy;
                }
                continue;
            }
            let share = how.share_of(here, there);
            for (y, v) in point.iter_mut().zip(row) {
                let (from, to) = (y.to_f64(), v.to_f64());
                // A particle that went astray is not followed.
                if share > 0.0 && to.is_finite() {
                    // Between the two, whatever the rounding.
                    *y = T::from_f64((from + share * (to - from)).max(from.min(to)).min(from.max(to)));
                }
            }
        }
    }

    /// The move of plain consensus-based optimization, with a pull towards the remembered point.
    pub(super) fn decide(&self, config: &CboConfig, at: Decision<'_>, decided: &mut Move) {
        if self.is_plain() {
            return;
        }
        let amplitude = at.sigma * config.dt.sqrt();
        let slope = || (self.gradient * config.dt, self.gradient_noise * config.dt.sqrt());
        decided.noise = amplitude;
        decided.pull = Some((self.drift * config.lambda * config.dt, self.noise * amplitude));
        decided.slope = self.has_gradient().then(slope);
    }
}

/// An energy, infinite where there is none.
fn comparable<T: Scalar>(energy: T) -> f64 {
    let energy = energy.to_f64();
    if energy.is_finite() { energy } else { f64::INFINITY }
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
fn advance<V: Vector>(work: Advance<'_, '_, V::Scalar>) {
    let Advance { motion, first, rows, kept, more, scratch } = work;
    let dim = motion.dim;
    let per_tile = tile_rows(dim);
    let tiles = rows.chunks_mut(per_tile * dim).zip(kept.chunks(per_tile * dim));
    for (t, (tile, points)) in tiles.enumerate() {
        let first = (first + t * per_tile) as u32;
        let count = tile.len() / dim;
        fill::<V>(motion.diffusion_noise, first, count, dim, &mut scratch.normals, tile);
        fill::<V>(motion.memory_noise, first, count, dim, &mut scratch.more_normals, points);
        // Coordinate by coordinate, vectors run across rows; norms are those of a row.
        let piece = match motion.diffusion {
            Diffusion::Anisotropic => motion.centres.len(),
            Diffusion::Isotropic => dim,
        };
        let normals = scratch.normals.chunks(piece).zip(scratch.more_normals.chunks(piece));
        for ((rows, points), (xi, zeta)) in tile.chunks_mut(piece).zip(points.chunks(piece)).zip(normals) {
            let amplitudes = match motion.diffusion {
                Diffusion::Anisotropic => (V::splat(motion.noise), V::splat(motion.pull.1)),
                Diffusion::Isotropic => norms::<V>(motion, rows, points),
            };
            let (centres, points) = (motion.centres.chunks(V::LANES), points.chunks(V::LANES));
            let noises = xi[..rows.len()].chunks(V::LANES).zip(zeta[..rows.len()].chunks(V::LANES));
            for (((x, c), y), (xi, zeta)) in rows.chunks_mut(V::LANES).zip(centres).zip(points).zip(noises) {
                let c = &c[..x.len()];
                let (drifted, far, away) =
                    displaced(motion, V::load_partial(x), V::load_partial(c), V::load_partial(y));
                let (xi, zeta) = (amplitudes.0 * V::load_partial(xi), amplitudes.1 * V::load_partial(zeta));
                let moved = match motion.diffusion {
                    Diffusion::Anisotropic => zeta.mul_add(away, xi.mul_add(far, drifted)),
                    Diffusion::Isotropic => drifted + xi + zeta,
                };
                moved.store_partial(x);
            }
        }
        if let Some(amplitudes) = motion.slope {
            let gradients = &more[t * per_tile * dim..][..tile.len()];
            fill::<V>(motion.gradient_noise, first, count, dim, &mut scratch.normals, gradients);
            descend::<V>(amplitudes, tile, gradients, &scratch.normals);
        }
        settle::<V>(motion, first, tile, &mut scratch.normals);
    }
}

/// V+ = V - drift g + noise D(g) xi, with `D(g)` coordinate by coordinate. A slope that is not finite is none.
#[inline(always)]
fn descend<V: Vector>(
    (drift, noise): (V::Scalar, V::Scalar),
    tile: &mut [V::Scalar],
    gradients: &[V::Scalar],
    normals: &[V::Scalar],
) {
    let (drift, noise) = (V::splat(drift), V::splat(noise));
    let (zero, limit) = (V::constant(0.0), V::constant(f64::INFINITY));
    update!(V, tile, gradients, normals, |x, g, xi| {
        let g = g.abs().select_less(limit, g, zero);
        noise.mul_add(xi, zero - drift).mul_add(g, x)
    });
}

/// The drifted point, and the distances from centre and memory that the noise depends on.
#[inline(always)]
fn displaced<V: Vector>(motion: &Motion<V::Scalar>, x: V, centre: V, remembered: V) -> (V, V, V) {
    let (keep, pull) = (V::splat(motion.keep), V::splat(motion.pull.0));
    let (far, away) = (x - centre, x - remembered);
    let drifted = far.mul_add(keep, centre) - pull * away;
    match motion.scheme {
        Scheme::EulerMaruyama => (drifted, far, away),
        Scheme::DriftFirst => (drifted, drifted - centre, drifted - remembered),
    }
}

/// The amplitudes of isotropic noise: those of the move times the Euclidean distances.
#[inline(always)]
fn norms<V: Vector>(motion: &Motion<V::Scalar>, row: &[V::Scalar], point: &[V::Scalar]) -> (V, V) {
    let (mut far_square, mut away_square) = (V::constant(0.0), V::constant(0.0));
    let centre = &motion.centres[..row.len()];
    for ((x, c), y) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(point.chunks(V::LANES)) {
        let (_, far, away) = displaced(motion, V::load_partial(x), V::load_partial(c), V::load_partial(y));
        far_square = far.mul_add(far, far_square);
        away_square = away.mul_add(away, away_square);
    }
    let norm = |square: V| V::splat(square.sum()).sqrt();
    (norm(far_square) * V::splat(motion.noise), norm(away_square) * V::splat(motion.pull.1))
}
