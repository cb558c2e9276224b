//! Consensus-based optimization on surfaces.
//!
//! Particles move in the tangent space of the surface at their position, and from there to the nearest point of the surface:
//!
//! `V+ = nearest(V + P(V) [-lambda dt X + sigma sqrt(dt) D(X) xi])`, X = V - v_a,
//!
//! with P(V) the projection onto the tangent space. The way back to the surface has the mean of Ito's correction: up to terms of higher order in
//! dt it is `-(sigma^2 dt / 2) |X|^2 H` for isotropic noise, where H is the sum of the principal curvatures times the unit normal, which is the
//! curvature term of the continuous equation. So it need not be computed, and a surface is known by its tangent spaces and nearest points alone.
//! The equation is that of Fornasier, Huang, Pareschi and Sünnen, *Consensus-based optimization on the sphere: convergence to global minimizers
//! and machine learning* (arXiv:2001.11988), with another surface in the place of the sphere.

mod geometry;
mod level;
mod text;

pub use level::{Level, Surface};

use super::sphere::check_bounds;
use super::{Advance, Diffusion, Motion};
use crate::backend::{fill, tile_rows};
use crate::config::{CboConfig, ConfigError};
use crate::initial::InitialLaw;
use crate::numbers::plain;
use crate::population::Population;
use crate::schedule::Sigma;
use crate::simd::{Kernel, Scalar, Vector};

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["scheme", "truncation", "kick"];

/// The surface.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Hypersurface {
    /// The sphere about the origin.
    Sphere {
        /// Its radius.
        radius: f64,
    },
    /// The torus in three dimensions whose axis is the last one.
    Torus {
        /// The radius of the circle in its middle.
        major: f64,
        /// The radius of the tube around it, the smaller one.
        minor: f64,
    },
    /// Matrices with orthonormal columns, stored row by row.
    Stiefel {
        /// How many columns they have. The number of coordinates is a multiple of it, and at least its square.
        columns: usize,
        /// How a matrix beside the surface is brought back.
        factor: FrameFactor,
    },
    /// Where the function in [`CboConfig::surface`] is zero.
    Level,
}

/// An orthogonal factor of a matrix, which takes its place on the surface of frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFactor {
    /// That of the polar decomposition: the nearest matrix with orthonormal columns.
    #[default]
    Polar,
    /// That of the QR decomposition whose triangle has a positive diagonal: each column less its part along those before it.
    Qr,
}

impl Default for Hypersurface {
    fn default() -> Self {
        Self::Sphere { radius: 1.0 }
    }
}

/// Numbers that a move needs room for, as a multiple of the dimension: a particle, its step, and two for the surface.
pub(super) const ROOM: usize = 4;

impl Hypersurface {
    pub(super) fn check(&self, config: &CboConfig, dim: usize) -> Result<(), ConfigError> {
        let refuse = |value: String, remedy: &str| {
            let value = format!("hypersurface with {value}");
            Err(ConfigError { field: "method", value, remedy: remedy.into() })
        };
        let length = |name: &str, value: f64| {
            if value > 0.0 && value.is_finite() {
                return Ok(());
            }
            refuse(format!("{name} = {}", plain(value)), "must be a positive finite number")
        };
        match *self {
            Self::Sphere { radius } => length("radius", radius)?,
            Self::Torus { major, minor } => {
                length("major", major)?;
                length("minor", minor)?;
                if minor >= major {
                    return refuse(
                        format!("minor = {}", plain(minor)),
                        "must be below major, or the torus meets itself",
                    );
                }
                if dim != 3 {
                    return refuse("surface = torus".into(), &format!("a torus has 3 coordinates, not {dim}"));
                }
            }
            Self::Stiefel { columns, .. } => {
                if columns == 0 || !dim.is_multiple_of(columns) || dim / columns < columns {
                    let remedy = format!(
                        "{dim} coordinates must be a matrix with that many columns and at least as many rows; a divisor of {dim} whose \
                         square is not larger"
                    );
                    return refuse(format!("columns = {columns}"), &remedy);
                }
            }
            Self::Level if config.surface.is_none() => {
                return refuse(
                    "surface = level".into(),
                    "the function is missing; give it as the setting surface, in Rust or Python",
                );
            }
            Self::Level => (),
        }
        check_bounds(config)
    }

    /// Chosen by experiment, see `docs/method.md`. Directions of normal points are uniform.
    pub(super) fn suit(config: &mut CboConfig) {
        config.sigma = Sigma::Constant(2.0);
        config.init = InitialLaw::Normal { mean: 0.0.into(), variance: 1.0.into() };
    }

    /// Brings the initial positions to the surface. Those for which none is found begin where another does.
    pub(super) fn start<T: Scalar>(
        &self,
        config: &CboConfig,
        population: &mut Population<T>,
    ) -> Result<(), ConfigError> {
        let dim = population.ensemble.dim();
        let (mut point, mut room) = (vec![0.0; dim], vec![0.0; 2 * dim]);
        let team = population.team.clone();
        let positions = population.ensemble.positions_mut();
        let mut lost = Vec::new();
        let mut found = None;
        for (i, row) in positions.chunks_exact_mut(dim).enumerate() {
            point.iter_mut().zip(&*row).for_each(|(x, v)| *x = v.to_f64());
            if self.nearest(config, &mut point, &mut room) {
                row.iter_mut().zip(&point).for_each(|(v, x)| *v = T::from_f64(*x));
                found = Some(i);
            } else {
                lost.push(i);
            }
        }
        let found = found.map_or_else(Vec::new, |i| positions[i * dim..(i + 1) * dim].to_vec());
        // The last on all ranks.
        let found = team.map_or_else(|| found.clone(), |team| team.last_row(&found, dim));
        if found.is_empty() {
            let remedy = "no initial position leads to the surface; begin nearer to it".into();
            return Err(ConfigError { field: "init", value: config.init.to_string(), remedy });
        }
        for i in lost {
            positions[i * dim..(i + 1) * dim].copy_from_slice(&found);
        }
        Ok(())
    }

    /// Brings a point to the surface; says whether it could.
    pub(super) fn land(&self, config: &CboConfig, point: &mut [f64]) -> bool {
        let mut room = vec![0.0; 2 * point.len()];
        self.nearest(config, point, &mut room)
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub &'a Hypersurface, pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(surface, Advance { motion, first, rows, scratch, .. }) = self;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (first + t * per_tile) as u32;
            fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
            for (row, xi) in tile.chunks_exact_mut(dim).zip(scratch.normals.chunks_exact(dim)) {
                advance(surface, motion, row, xi, &mut scratch.doubles);
            }
        }
    }
}

/// Moves one particle, in double precision. It stays where it is if it finds no way back to the surface.
fn advance<T: Scalar>(surface: &Hypersurface, motion: &Motion<T>, row: &mut [T], xi: &[T], doubles: &mut [f64]) {
    let (config, centre) = (motion.config, &motion.centres[..row.len()]);
    let (drift, noise) = (config.lambda * config.dt, motion.noise.to_f64());
    let (point, rest) = doubles.split_at_mut(row.len());
    let (step, room) = rest.split_at_mut(row.len());
    let mut square = 0.0;
    for ((v, x), (far, c)) in point.iter_mut().zip(&*row).zip(step.iter_mut().zip(centre)) {
        *v = x.to_f64();
        *far = *v - c.to_f64();
        square += *far * *far;
    }
    let norm = square.sqrt();
    for (far, xi) in step.iter_mut().zip(xi) {
        let size = match motion.diffusion {
            Diffusion::Anisotropic => *far,
            Diffusion::Isotropic => norm,
        };
        *far = noise * size * xi.to_f64() - drift * *far;
    }
    surface.project(config, point, step, room);
    point.iter_mut().zip(&*step).for_each(|(v, step)| *v += step);
    if surface.nearest(config, point, room) {
        row.iter_mut().zip(&*point).for_each(|(x, v)| *x = T::from_f64(*v));
    }
}
