//! Consensus hopping.
//!
//! A centre m hops, and the particles of a step are drawn anew around it: with s the standard deviations of the initial law, times sigma,
//! and xi standard normal,
//!
//! `V^i = m + s xi^i`,  `u+ = momentum u + (v_a - m)`,  `m+ = m + rate u+`,
//!
//! where v_a is the consensus point of the particles. With rate 1 and no momentum the centre is the consensus point itself. Antithetic
//! particles come in pairs `m + s xi`, `m - s xi`: their mean is m, and what they tell of a direction does not depend on it.
//!
//! By ranks, `v_a - m` is `sum_i w_i (V^i - m)` with weights that fall linearly from the least energy to the greatest, their sum zero and
//! the sum of their sizes one: a direction, not a mean.
//!
//! See Riedl, Klock, Geldhauser and Fornasier, *Gradient is all you need?* (doi:10.48550/arXiv.2306.09778), where it is a stochastic relaxation
//! of gradient descent, and *From consensus-based optimization to evolution strategies* (doi:10.48550/arXiv.2602.11677). Momentum,
//! antithetic pairs and ranks are not from there.

use super::{Advance, Decision, Motion, Move};
use crate::backend::{fill, settle, tile_rows};
use crate::bounds::{BoundHandling, Walls};
use crate::config::{CboConfig, ConfigError, Plan};
use crate::initial::InitialLaw;
use crate::noise::{Noise, Stream, scratch_len};
use crate::population::Population;
use crate::schedule::{Alpha, Sigma};
use crate::simd::{Kernel, Scalar, Vector};

/// Settings of the dynamics that it does not have.
pub(super) const WITHOUT: &[&str] =
    &["lambda", "dt", "diffusion", "scheme", "truncation", "batch", "update", "kick", "reduction"];

/// How the centre hops, and how particles are drawn around it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hopping {
    /// What is left of the velocity from one step to the next, from 0 to below 1. A direction that stays the same is followed
    /// `1 / (1 - momentum)` times as far.
    pub momentum: f64,
    /// How far the centre goes along its velocity.
    pub rate: f64,
    /// Whether the rate falls to zero over the run, like a cosine from 0 to pi.
    pub cosine: bool,
    /// Whether particles come in pairs on opposite sides of the centre.
    pub antithetic: bool,
    /// What the weights of the particles depend on.
    pub weights: HoppingWeights,
    /// Where the particles of the first step are.
    pub start: HoppingStart,
}

/// What the weights of [`Hopping`] depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoppingWeights {
    /// On the energies: `exp(-alpha E)`, the consensus point of all other methods.
    #[default]
    Energies,
    /// On their order alone, linearly.
    Ranks,
}

/// Where the particles of the first step of [`Hopping`] are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HoppingStart {
    /// Everywhere: they have the initial law.
    #[default]
    Law,
    /// Around one random point of that law, as in all other steps.
    Point,
}

/// Chosen by experiment on functions with many minima, together with the settings that suit it: [`CboConfig::of`].
impl Default for Hopping {
    fn default() -> Self {
        Self {
            momentum: 0.0,
            rate: 1.0,
            cosine: false,
            antithetic: true,
            weights: HoppingWeights::Energies,
            start: HoppingStart::Law,
        }
    }
}

/// The settings of a run that suit it: sigma falls from the whole width of the initial law to nearly nothing.
pub(super) fn suit(config: &mut CboConfig) {
    config.particles = 200;
    config.sigma = Sigma::Falling { start: 1.0, end: 1e-6 };
    config.alpha = Alpha::EffectiveSampleSize(0.2);
}

impl Hopping {
    pub(super) fn check(&self, config: &CboConfig, dim: usize) -> Result<(), ConfigError> {
        let refuse = |name: &str, value: f64, remedy: &str| {
            let value = format!("hopping with {name} = {value}");
            Err(ConfigError { field: "method", value, remedy: format!("{name} must be {remedy}") })
        };
        if !(0.0..1.0).contains(&self.momentum) {
            return refuse("momentum", self.momentum, "at least 0 and below 1");
        }
        if !(self.rate > 0.0 && self.rate.is_finite()) {
            return refuse("rate", self.rate, "a positive finite number");
        }
        let usual = [CboConfig::of(config.method).alpha, CboConfig::default().alpha];
        if self.weights == HoppingWeights::Ranks && !usual.contains(&config.alpha) {
            let remedy = "weights by ranks depend on the order of the energies alone; leave alpha out".into();
            return Err(ConfigError { field: "alpha", value: config.alpha.to_string(), remedy });
        }
        if self.start == HoppingStart::Point && matches!(config.init, InitialLaw::Points(_)) {
            let remedy = "start=point draws one point of a normal or uniform law; leave it out where points are given";
            return Err(ConfigError { field: "method", value: config.method.to_string(), remedy: remedy.into() });
        }
        match config.init.deviations(dim).iter().position(|s| !(*s > 0.0 && s.is_finite())) {
            Some(k) => {
                let value = format!("a law without width in x{}", k + 1);
                let remedy =
                    "sigma of hopping is relative to the width of the initial law; give it one in each coordinate";
                Err(ConfigError { field: "init", value, remedy: remedy.into() })
            }
            None => Ok(()),
        }
    }

    /// Whether something falls over the run, so that its length must be known.
    pub(super) fn falls(&self) -> bool {
        self.cosine
    }

    /// The rate at a step of a run.
    fn rate_at(&self, step: u64, horizon: Option<u64>) -> f64 {
        match horizon.filter(|_| self.cosine) {
            None => self.rate,
            Some(last) if step >= last => 0.0,
            Some(last) => {
                let done = step as f64 / last as f64;
                self.rate * 0.5 * (1.0 + libm::cos(std::f64::consts::PI * done))
            }
        }
    }

    /// The particles of the first step.
    pub(super) fn start<T: Scalar>(&self, config: &CboConfig, population: &mut Population<T>) {
        if self.start == HoppingStart::Law {
            return;
        }
        let dim = population.ensemble.dim();
        let (centre, widths) = (first_centre(config, dim), config.init.deviations(dim));
        let sigma = config.sigma.at(0, 0);
        // Another time than that of the centre.
        let noise = Noise::new(config.seed, Stream::Initial, 1);
        let mut normals = vec![T::default(); scratch_len(1, dim)];
        let first = population.part.particles.start;
        let rows = population.ensemble.positions_mut();
        for (particle, row) in (first..).zip(rows.chunks_exact_mut(dim)) {
            let (number, sign) = self.normals_of(particle);
            noise.fill_normals(number as u32, 1, dim, &mut normals);
            for (((x, z), c), width) in row.iter_mut().zip(&normals).zip(&centre).zip(&widths) {
                *x = T::from_f64(c + sign * sigma * width * z.to_f64());
            }
        }
        if let Some(walls) = Walls::new(config.bounds.as_deref(), config.bound_handling) {
            T::confine(&walls, rows);
        }
    }

    /// Whose normals a particle has, and with which sign.
    #[inline(always)]
    fn normals_of(&self, particle: usize) -> (usize, f64) {
        match (self.antithetic, particle.is_multiple_of(2)) {
            (false, _) => (particle, 1.0),
            (true, true) => (particle / 2, 1.0),
            (true, false) => (particle / 2, -1.0),
        }
    }

    /// Takes the centre `from` the place around which the particles of the step were drawn, if it is not the first: in `agreed` the
    /// consensus point of the particles (or the direction to it) becomes the centre of the next step.
    pub(super) fn hop(&self, plan: &Plan, step: u64, from: Option<&[f64]>, agreed: &mut [f64], velocity: &mut [f64]) {
        let (config, dim) = (plan.config(), plan.dim());
        let by_ranks = self.weights == HoppingWeights::Ranks;
        let first;
        let (from, whole) = match (from, self.start) {
            (Some(from), _) => (from, false),
            (None, HoppingStart::Point) => {
                first = first_centre(config, dim);
                (&first[..], false)
            }
            // Particles that are everywhere say where to begin.
            (None, HoppingStart::Law) => {
                first = config.init.means(dim);
                (&first[..], true)
            }
        };
        let rate = self.rate_at(step, plan.horizon());
        for ((a, m), u) in agreed.iter_mut().zip(from).zip(&mut *velocity) {
            let step = if by_ranks { *a } else { *a - m };
            if whole {
                *a = m + step;
            } else {
                *u = self.momentum * *u + step;
                *a = m + rate * *u;
            }
        }
        confine(config, agreed, velocity);
    }

    /// The move to new places around the centre.
    pub(super) fn decide(&self, config: &CboConfig, at: Decision<'_>, decided: &mut Move) {
        if decided.factor.is_empty() {
            decided.factor = config.init.deviations(at.consensus.len());
        }
        (decided.keep, decided.noise) = (0.0, at.sigma);
    }
}

/// The random point at which a run begins.
fn first_centre(config: &CboConfig, dim: usize) -> Vec<f64> {
    let mut centre = vec![0.0; dim];
    config.init.draw::<f64>(config.seed, 0, dim, &mut centre);
    confine(config, &mut centre, &mut []);
    centre
}

/// A centre that left the bounds stops at the wall.
fn confine(config: &CboConfig, centre: &mut [f64], velocity: &mut [f64]) {
    let bounds = config.bounds.iter().filter(|_| config.bound_handling != BoundHandling::None).flatten();
    for (k, (x, (low, high))) in centre.iter_mut().zip(bounds).enumerate() {
        if *x < *low || *x > *high {
            *x = x.max(*low).min(*high);
            if let Some(u) = velocity.get_mut(k) {
                *u = 0.0;
            }
        }
    }
}

/// The move of a block of particles.
pub(super) struct Step<'a, 'm, T>(pub Advance<'a, 'm, T>, pub Hopping);

impl<T: Scalar> Kernel<T> for Step<'_, '_, T> {
    type Output = ();

    /// Moves a tile at a time.
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self(Advance { motion, first, rows, scratch, .. }, hopping) = self;
        let dim = motion.dim;
        let per_tile = tile_rows(dim);
        for (t, tile) in rows.chunks_mut(per_tile * dim).enumerate() {
            let first = first + t * per_tile;
            let count = tile.len() / dim;
            let (drawn, _) = hopping.normals_of(first);
            let (last, _) = hopping.normals_of(first + count - 1);
            fill::<V>(motion.diffusion_noise, drawn as u32, last - drawn + 1, dim, &mut scratch.normals, tile);
            for (r, row) in tile.chunks_exact_mut(dim).enumerate() {
                let (number, sign) = hopping.normals_of(first + r);
                let normals = &scratch.normals[(number - drawn) * dim..][..dim];
                place::<V>(motion, sign, normals, row);
            }
            settle::<V>(motion, first as u32, tile, &mut scratch.normals);
        }
    }
}

/// V = m + s xi for one particle.
#[inline(always)]
fn place<V: Vector>(motion: &Motion<V::Scalar>, sign: f64, normals: &[V::Scalar], row: &mut [V::Scalar]) {
    let noise = V::splat(motion.noise) * V::constant(sign);
    let (centre, widths) = (&motion.centres[..row.len()], &motion.factor[..row.len()]);
    let others = normals.chunks(V::LANES).zip(centre.chunks(V::LANES)).zip(widths.chunks(V::LANES));
    for (x, ((xi, m), width)) in row.chunks_mut(V::LANES).zip(others) {
        let (xi, m, width) = (V::load_partial(xi), V::load_partial(m), V::load_partial(width));
        (noise * width).mul_add(xi, m).store_partial(x);
    }
}
