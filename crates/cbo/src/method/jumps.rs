//! Consensus-based optimization with jumps.
//!
//! Besides the noise of each step there are jumps, of which a particle makes a Poisson number n in a step, with mean rate dt:
//!
//! `V+ = v_a + (1 - lambda dt) X + sigma sqrt(dt) D(X) xi + size D(X) (z_1 + ... + z_n)`,
//!
//! with standard normal z. Their sum is normal too, of variance n, and is drawn as such. In the mean square jumps are noise:
//! `sigma^2 + rate size^2` takes the place of `sigma^2`. But they come rarely and are long, so that a swarm that has drawn together still
//! sends single particles far away. See Kalise, Sharma and Tretyakov, *Consensus-based optimization via jump-diffusion stochastic
//! differential equations* (arXiv:2205.04880), whose noise, but not the jumps, has an additional factor sqrt(2).

use super::{Advance, Diffusion, Motion, Scheme, cbo};
use crate::backend::{Scratch, fill, settle, tile_rows};
use crate::config::{CboConfig, ConfigError};
use crate::noise::{Noise, Stream};
use crate::numbers::plain;
use crate::schedule::Sigma;
use crate::simd::{Kernel, Scalar, Vector};
use crate::text::{TextError, named, number_of, unusual};
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] = &["truncation"];

/// The most jumps in a step, on average: with more of them they are nothing but noise.
const MOST: f64 = 100.0;

/// How often particles jump, and how far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jumps {
    /// Jumps of a particle per unit of time, on average.
    pub rate: f64,
    /// The standard deviation of a jump, as a multiple of the distance from the consensus point.
    pub size: f64,
}

/// Chosen by experiment, see `docs/method.md`.
impl Default for Jumps {
    fn default() -> Self {
        Self { rate: 1.0, size: 3.0 }
    }
}

impl Jumps {
    pub(super) fn check(&self, dt: f64) -> Result<(), ConfigError> {
        let refuse = |name: &str, value: f64, remedy: String| {
            Err(ConfigError { field: "method", value: format!("jumps with {name} = {}", plain(value)), remedy })
        };
        for (name, value) in [("rate", self.rate), ("size", self.size)] {
            if !(value >= 0.0 && value.is_finite()) {
                return refuse(name, value, format!("{name} must be zero or a positive finite number"));
            }
        }
        if self.rate * dt > MOST {
            let most = plain(MOST / dt);
            return refuse("rate", self.rate, format!("rate dt is at most {MOST} jumps in a step, the rate {most}"));
        }
        Ok(())
    }

    /// With jumps a little less noise does better. Chosen by experiment, see `docs/method.md`.
    pub(super) fn suit(config: &mut CboConfig) {
        config.sigma = Sigma::Constant(2.5);
    }

    /// Whether there are any jumps.
    pub(super) fn happen(&self) -> bool {
        self.rate > 0.0 && self.size > 0.0
    }

    /// What they add to `sigma^2` in the mean square.
    pub fn variance(&self) -> f64 {
        self.rate * self.size * self.size
    }
}

/// `NAME=NUMBER`, separated by commas: the names are those of the fields.
impl FromStr for Jumps {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut jumps = Self::default();
        for (name, value) in named("jumps", &["rate", "size"], text)? {
            let place = if name == "rate" { &mut jumps.rate } else { &mut jumps.size };
            *place = number_of(name, value)?;
        }
        Ok(jumps)
    }
}

/// The settings that are not the default.
impl Display for Jumps {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let usual = Self::default();
        f.pad(&unusual(&[("rate", self.rate, usual.rate), ("size", self.size, usual.size)]))
    }
}

/// How many jumps a particle makes in a step: a Poisson number, by inversion.
struct Counts {
    noise: Noise,
    mean: f64,
    /// The probability of none.
    none: f64,
}

impl Counts {
    fn new(jumps: &Jumps, config: &CboConfig, step: u64) -> Self {
        let mean = jumps.rate * config.dt;
        Self { noise: Noise::new(config.seed, Stream::JumpCount, step), mean, none: libm::exp(-mean) }
    }

    fn of(&self, particle: u32) -> u32 {
        let [high, low, ..] = self.noise.words(particle, 0);
        let word = u64::from(high) << 21 | u64::from(low) >> 11;
        let uniform = (word as f64 + 0.5) / 9_007_199_254_740_992.0;
        let (mut count, mut probability, mut below) = (0, self.none, self.none);
        // What is left of the tail beyond its largest term may be lost in rounding.
        while uniform > below && !(f64::from(count) > self.mean && probability < 1e-18) {
            count += 1;
            probability *= self.mean / f64::from(count);
            below += probability;
        }
        count
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub &'a Jumps, pub Advance<'a, 'm, T>);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(jumps, Advance { motion, first, rows, scratch, .. }) = self;
        let dim = motion.dim;
        let counts = Counts::new(jumps, motion.config, motion.step);
        let per_tile = tile_rows(dim);
        for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
            let first = (first + t * per_tile) as u32;
            // Jumps start where the particles are now, and are added when these have moved.
            for (i, row) in tile.chunks_exact(dim).enumerate() {
                let particle = first + i as u32;
                let count = counts.of(particle);
                if count > 0 {
                    let length = jumps.size * f64::from(count).sqrt();
                    jump::<V>(motion, length, particle, (i, row), scratch);
                }
            }
            cbo::move_tile::<V>(motion, first, tile, scratch);
            for (i, row) in tile.chunks_exact_mut(dim).enumerate() {
                if counts.of(first + i as u32) > 0 {
                    let jumped = scratch.more_normals[i * dim..][..dim].chunks(V::LANES);
                    for (x, jump) in row.chunks_mut(V::LANES).zip(jumped) {
                        (V::load_partial(x) + V::load_partial(jump)).store_partial(x);
                    }
                }
            }
            settle::<V>(motion, first, tile, &mut scratch.normals);
        }
    }
}

/// Writes `length D(X) z` of a particle to its place in the second normals.
#[inline(always)]
fn jump<V: Vector>(
    motion: &Motion<V::Scalar>,
    length: f64,
    particle: u32,
    (place, row): (usize, &[V::Scalar]),
    scratch: &mut Scratch<V::Scalar>,
) {
    let dim = motion.dim;
    let noise = Noise::new(motion.config.seed, Stream::Jump, motion.step);
    fill::<V>(noise, particle, 1, dim, &mut scratch.normals, &[]);
    let kept = match motion.scheme {
        Scheme::EulerMaruyama => V::constant(1.0),
        Scheme::DriftFirst => V::splat(motion.keep),
    };
    let length = V::constant(length) * kept;
    let centre = &motion.centres[..dim];
    let mut square = V::constant(0.0);
    if motion.diffusion == Diffusion::Isotropic {
        for (x, c) in row.chunks(V::LANES).zip(centre.chunks(V::LANES)) {
            let x = V::load_partial(x) - V::load_partial(c);
            square = x.mul_add(x, square);
        }
    }
    let norm = V::splat(square.sum()).sqrt();
    let lanes = row.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(scratch.normals[..dim].chunks(V::LANES));
    for (to, ((x, c), z)) in scratch.more_normals[place * dim..][..dim].chunks_mut(V::LANES).zip(lanes) {
        let distance = match motion.diffusion {
            Diffusion::Anisotropic => V::load_partial(x) - V::load_partial(c),
            Diffusion::Isotropic => norm,
        };
        (length * distance * V::load_partial(z)).store_partial(to);
    }
}
