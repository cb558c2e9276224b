//! Mirror consensus-based optimization: the swarm moves in a dual space, and a mirror map brings it into a set.
//!
//! Each particle keeps a dual point y, which the consensus dynamics moves; its position is the image of y:
//!
//! `y+ = y - lambda dt X + sigma sqrt(dt) D(X) xi`, `V+ = grad phi*(y+)`, with X = V - v_a.
//!
//! The convex function phi is infinite outside a set, so that every V lies in it, or it is not smooth where V should be:
//!
//! | map | V+ = grad phi*(y+) | so that |
//! |---|---|---|
//! | box | each coordinate by a logistic function between its bounds | low <= V <= high |
//! | simplex | softmax of y / temperature | V >= 0, sum of V = 1 |
//! | ball | the point of the ball that is nearest to y | |V - centre| <= radius |
//! | sparse | sign(y) max(|y| - threshold, 0) | many coordinates are 0 |
//!
//! Box, ball and sparse map, and the simplex at its default temperature, are scaled such that V never moves faster than y, and as fast where
//! nothing is near the boundary. See Bungert, Hoffmann, Kim and Roith, *MirrorCBO: a consensus-based optimization method in the spirit of mirror
//! descent* (arXiv:2501.12189).

mod maps;
mod text;

use super::{Advance, Diffusion, Motion};
use crate::backend::{fill, settle, tile_rows};
use crate::bounds::{BoundHandling, Walls};
use crate::config::{CboConfig, ConfigError};
use crate::numbers::plain;
use crate::population::Population;
use crate::schedule::Sigma;
use crate::simd::{self, Kernel, Scalar, Vector};
use maps::Place;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["scheme", "truncation", "kick"];

/// The map from dual points to positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Mirror {
    /// Into the bounds of the run, which must be finite.
    #[default]
    Box,
    /// To the simplex: coordinates that are not negative, with sum 1.
    Simplex {
        /// What dual points are divided by; the smaller, the faster a particle moves from corner to corner.
        temperature: f64,
    },
    /// Into a ball.
    Ball {
        /// Its radius.
        radius: f64,
        /// Every coordinate of its centre.
        centre: f64,
    },
    /// To points many of whose coordinates are zero.
    Sparse {
        /// How far a dual coordinate must be from zero for its image not to be zero.
        threshold: f64,
    },
}

impl Mirror {
    pub(super) fn check(&self, config: &CboConfig) -> Result<(), ConfigError> {
        let refuse = |field: &'static str, value: String, remedy: String| Err(ConfigError { field, value, remedy });
        let bounds = config.bounds.as_ref().filter(|_| config.bound_handling != BoundHandling::None);
        match (self, bounds) {
            (Self::Box, None) => {
                let remedy = "the map keeps particles in the bounds of the run; give finite bounds".into();
                return refuse("bounds", "none".into(), remedy);
            }
            (Self::Box, Some(bounds)) => {
                if let Some((low, high)) = bounds.iter().find(|(low, high)| !(high - low).is_finite()) {
                    let value = format!("{},{}", plain(*low), plain(*high));
                    return refuse("bounds", value, "the map box needs finite bounds on both sides".into());
                }
            }
            (other, Some(bounds)) => {
                let remedy = format!("particles of method mirror with {other} have a set of their own; give no bounds");
                return refuse("bounds", format!("{} pairs", bounds.len()), remedy);
            }
            (_, None) => (),
        }
        let (name, number, positive) = match *self {
            Self::Box => return Ok(()),
            Self::Simplex { temperature } => ("temperature", temperature, true),
            Self::Ball { centre, .. } if !centre.is_finite() => {
                let value = format!("mirror with centre = {}", plain(centre));
                return refuse("method", value, "must be a finite number, the same for all coordinates".into());
            }
            Self::Ball { radius, .. } => ("radius", radius, true),
            Self::Sparse { threshold } => ("threshold", threshold, false),
        };
        if number.is_finite() && (number > 0.0 || number == 0.0 && !positive) {
            return Ok(());
        }
        let remedy =
            if positive { "must be a positive finite number" } else { "must be zero or a positive finite number" };
        refuse("method", format!("mirror with {name} = {}", plain(number)), remedy.into())
    }

    /// Chosen by experiment, see `docs/method.md`. Where the map is flat, V moves less than y, and more noise is needed; where it never is, noise
    /// that is strong in many coordinates at once holds the swarm to the boundary.
    pub(super) fn suit(&self, config: &mut CboConfig) {
        config.sigma = Sigma::Constant(match self {
            Self::Box | Self::Simplex { .. } => 5.0,
            Self::Ball { .. } => 1.5,
            Self::Sparse { .. } => return,
        });
    }

    /// Brings the initial positions into the set, and finds their dual points.
    pub(super) fn start<T: Scalar>(&self, config: &CboConfig, population: &mut Population<T>) {
        let dim = population.ensemble.dim();
        let walls = Walls::new(config.bounds.as_deref(), config.bound_handling);
        let mut room = vec![0.0; dim];
        let positions = population.ensemble.positions_mut().chunks_exact_mut(dim);
        for (row, dual) in positions.zip(population.kept.points.chunks_exact_mut(dim)) {
            room.iter_mut().zip(&*row).for_each(|(x, v)| *x = v.to_f64());
            self.to_dual(config.bounds.as_deref().unwrap_or_default(), &mut room);
            dual.iter_mut().zip(&room).for_each(|(y, x)| *y = T::from_f64(*x));
            simd::run(Place { map: self, walls: walls.as_ref(), dual, row });
        }
    }

    /// Brings a mean of positions back into the set, which it may have left by a rounding.
    pub(super) fn land(&self, config: &CboConfig, point: &mut [f64]) {
        match *self {
            Self::Box => {
                let bounds = config.bounds.as_deref().unwrap_or_default();
                point.iter_mut().zip(bounds).for_each(|(x, (low, high))| *x = x.max(*low).min(*high));
            }
            Self::Ball { radius, centre } => maps::into_ball_of(radius, centre, point),
            Self::Simplex { .. } | Self::Sparse { .. } => (),
        }
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub &'a Mirror, pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(map, Advance { motion, first, rows, kept, scratch, .. }) = self;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        let tiles = rows.chunks_mut(per_tile * dim).zip(kept.chunks_mut(per_tile * dim));
        for (t, (tile, duals)) in tiles.enumerate() {
            let first = (first + t * per_tile) as u32;
            fill::<V>(motion.diffusion_noise, first, tile.len() / dim, dim, &mut scratch.normals, tile);
            let duals = duals.chunks_exact_mut(dim).zip(scratch.normals.chunks_exact(dim));
            for (row, (dual, xi)) in tile.chunks_exact_mut(dim).zip(duals) {
                advance::<V>(motion, row, dual, xi);
                Place { map, walls: motion.walls, dual, row }.run::<V>();
            }
            settle::<V>(motion, first, tile, &mut scratch.normals);
        }
    }
}

/// Moves the dual point of one particle.
#[inline(always)]
fn advance<V: Vector>(motion: &Motion<V::Scalar>, row: &[V::Scalar], dual: &mut [V::Scalar], xi: &[V::Scalar]) {
    let centre = &motion.centres[..row.len()];
    let drift = V::constant(motion.config.lambda * motion.config.dt);
    let noise = V::splat(motion.noise);
    let mut square = V::constant(0.0);
    if motion.diffusion == Diffusion::Isotropic {
        for (x, c) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)) {
            let far = V::load_partial(x) - V::load_partial(c);
            square = far.mul_add(far, square);
        }
    }
    let norm = V::splat(square.sum()).sqrt();
    let others = row.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(xi.chunks(V::LANES));
    for (y, ((x, c), xi)) in dual.chunks_mut(V::LANES).zip(others) {
        let far = V::load_partial(x) - V::load_partial(c);
        let size = match motion.diffusion {
            Diffusion::Anisotropic => far,
            Diffusion::Isotropic => norm,
        };
        let drifted = V::load_partial(y) - drift * far;
        (noise * size).mul_add(V::load_partial(xi), drifted).store_partial(y);
    }
}
