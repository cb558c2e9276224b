//! Consensus-based optimization on a sphere.
//!
//! Particles of length R (the radius) are drawn along the sphere to the consensus point, which lies inside of it:
//!
//! `V+ = R W / |W|` with `W = V + P [lambda dt v_a + sigma sqrt(dt) D(X) xi] - sigma^2 dt/2 K`, `P = I - V V^T / R^2`, X = V - v_a,
//!
//! where K is Ito's correction, with which the noise neither leaves the sphere nor, seen from it, drifts along:
//! `K = (d - 1) |X|^2 V / R^2` (isotropic) or, with D = diag(X), `K = (|X|^2 V + D^2 V - 2 |D V|^2 V / R^2) / R^2` (anisotropic).
//! See Fornasier, Huang, Pareschi and Sünnen, *Consensus-based optimization on the sphere: convergence to global minimizers and machine
//! learning* (arXiv:2001.11988) and, for anisotropic noise, *Anisotropic diffusion in consensus-based optimization on the sphere*
//! (arXiv:2104.00420).

use super::{Advance, Diffusion, Motion};
use crate::backend::{fill, tile_rows};
use crate::bounds::BoundHandling;
use crate::config::{CboConfig, ConfigError};
use crate::initial::InitialLaw;
use crate::numbers::plain;
use crate::population::Population;
use crate::schedule::Sigma;
use crate::simd::{Kernel, Scalar, Vector};
use crate::text::{TextError, named, number_of, unusual};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["scheme", "truncation", "kick"];

/// The sphere about the origin.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sphere {
    /// Its radius.
    pub radius: f64,
}

impl Default for Sphere {
    fn default() -> Self {
        Self { radius: 1.0 }
    }
}

impl Sphere {
    pub(super) fn check(&self, config: &CboConfig) -> Result<(), ConfigError> {
        if !(self.radius > 0.0 && self.radius.is_finite()) {
            let value = format!("sphere with radius = {}", plain(self.radius));
            return Err(ConfigError { field: "method", value, remedy: "must be a positive finite number".into() });
        }
        check_bounds(config)
    }

    /// Chosen by experiment, see `docs/method.md`. Directions of normal points are uniform.
    pub(super) fn suit(config: &mut CboConfig) {
        config.sigma = Sigma::Constant(2.0);
        config.init = InitialLaw::Normal { mean: 0.0.into(), variance: 1.0.into() };
    }

    /// Brings the initial positions to the sphere.
    pub(super) fn start<T: Scalar>(&self, population: &mut Population<T>) {
        let dim = population.ensemble.dim();
        let mut room = vec![0.0; dim];
        for row in population.ensemble.positions_mut().chunks_exact_mut(dim) {
            room.iter_mut().zip(&*row).for_each(|(x, v)| *x = v.to_f64());
            self.land(&mut room);
            row.iter_mut().zip(&room).for_each(|(v, x)| *v = T::from_f64(*x));
        }
    }

    /// Brings a point to the sphere: along its ray, or to the first axis from the origin.
    pub(super) fn land(&self, point: &mut [f64]) {
        // Divided by the largest coordinate first: squares of tiny ones would vanish.
        let largest = point.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let norm = largest * point.iter().map(|x| (x / largest).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() {
            point.iter_mut().for_each(|x| *x = self.radius * (*x / norm));
        } else {
            point.fill(0.0);
            point[0] = self.radius;
        }
    }
}

/// Bounds contradict a surface.
pub(super) fn check_bounds(config: &CboConfig) -> Result<(), ConfigError> {
    match config.bounds.as_ref().filter(|_| config.bound_handling != BoundHandling::None) {
        None => Ok(()),
        Some(bounds) => Err(ConfigError {
            field: "bounds",
            value: format!("{} pairs", bounds.len()),
            remedy: format!(
                "particles of method {} stay on their surface; give no bounds, or use them for the start alone (bound-handling none)",
                config.method.name()
            ),
        }),
    }
}

/// `radius=NUMBER`; nothing is the default.
impl FromStr for Sphere {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut sphere = Self::default();
        for (name, value) in named("sphere", &["radius"], text)? {
            sphere.radius = number_of(name, value)?;
        }
        Ok(sphere)
    }
}

/// The setting, where it is not the default.
impl Display for Sphere {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&unusual(&[("radius", self.radius, Self::default().radius)]))
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub &'a Sphere, pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(sphere, Advance { motion, first, rows, scratch, .. }) = self;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (first + t * per_tile) as u32;
            fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
            for (row, xi) in tile.chunks_exact_mut(dim).zip(scratch.normals.chunks_exact_mut(dim)) {
                advance::<V>(sphere, motion, row, xi);
            }
        }
    }
}

/// Moves one particle; its normals become what it moves by.
#[inline(always)]
fn advance<V: Vector>(sphere: &Sphere, motion: &Motion<V::Scalar>, row: &mut [V::Scalar], xi: &mut [V::Scalar]) {
    let centre = &motion.centres[..row.len()];
    let curvature = V::constant(1.0 / (sphere.radius * sphere.radius));
    let (drift, noise) = (V::constant(motion.config.lambda * motion.config.dt), V::splat(motion.noise));
    // |X|^2 and |D V|^2.
    let (mut square, mut along) = (V::constant(0.0), V::constant(0.0));
    for (x, c) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)) {
        let x = V::load_partial(x);
        let far = x - V::load_partial(c);
        square = far.mul_add(far, square);
        along = (far * x).mul_add(far * x, along);
    }
    let (square, along) = (V::splat(square.sum()), V::splat(along.sum()));
    // What is projected, and its part along V.
    let norm = square.sqrt();
    let mut outward = V::constant(0.0);
    for ((x, c), xi) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(xi.chunks_mut(V::LANES)) {
        let (x, c) = (V::load_partial(x), V::load_partial(c));
        let size = match motion.diffusion {
            Diffusion::Anisotropic => x - c,
            Diffusion::Isotropic => norm,
        };
        let step = (noise * size).mul_add(V::load_partial(xi), drift * c);
        outward = x.mul_add(step, outward);
        step.store_partial(xi);
    }
    let outward = V::splat(outward.sum()) * curvature;
    let half = noise * noise * curvature * 0.5;
    let kept = match motion.diffusion {
        Diffusion::Anisotropic => half * (square - along * curvature * 2.0),
        Diffusion::Isotropic => half * square * (row.len() as f64 - 1.0),
    };
    // W, in the place of the step.
    let left = V::constant(1.0) - outward - kept;
    let mut length = V::constant(0.0);
    for ((x, c), step) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(xi.chunks_mut(V::LANES)) {
        let x = V::load_partial(x);
        let left = match motion.diffusion {
            Diffusion::Anisotropic => {
                let far = x - V::load_partial(c);
                left - half * far * far
            }
            Diffusion::Isotropic => left,
        };
        let moved = left.mul_add(x, V::load_partial(step));
        moved.store_partial(step);
        length = moved.mul_add(moved, length);
    }
    let length = length.sum().to_f64().sqrt();
    if !(length > 0.0 && length.is_finite()) {
        return; // a step that leads nowhere
    }
    let scale = V::constant(sphere.radius / length);
    for (x, moved) in row.chunks_mut(V::LANES).zip(xi.chunks(V::LANES)) {
        (V::load_partial(moved) * scale).store_partial(x);
    }
}
