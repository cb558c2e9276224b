//! Methods: what is summed, what is decided, and how a particle moves. One file each.
//!
//! A method is a variant of [`Method`], chosen once with the settings. Its file answers the questions below for it; nothing else in
//! the loop knows which method runs.

mod adam;
mod cbo;
mod hopping;
mod hypersurface;
mod jumps;
mod memory;
mod mirror;
mod polarised;
pub(crate) mod sampling;
mod sphere;
mod truncated;

pub use adam::Adam;
pub use hopping::{Hopping, HoppingStart, HoppingWeights};
pub use hypersurface::{FrameFactor, Hypersurface, Level, Surface};
pub use jumps::Jumps;
pub use memory::{Memory, Remembers};
pub use mirror::Mirror;
pub use polarised::Polarised;
pub use sampling::Sampling;
pub use sphere::Sphere;

use crate::auto::Auto;
use crate::backend::{Ahead, Crew, Scratch};
use crate::bounds::Walls;
use crate::config::{CboConfig, ConfigError, Plan};
use crate::noise::{Noise, Stream};
use crate::population::{Keeps, Population};
use crate::simd::{self, Scalar};

/// The dynamics of the particles.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// Consensus-based optimization, as in the paper.
    #[default]
    Cbo,
    /// Besides noise, jumps.
    Jumps(Jumps),
    /// Steps by running means of the distance, as in Adam.
    Adam(Adam),
    /// A swarm in a dual space, which a map brings into a set.
    Mirror(Mirror),
    /// On a sphere.
    Sphere(Sphere),
    /// On a surface.
    Hypersurface(Hypersurface),
    /// Particles that remember good points.
    Memory(Memory),
    /// A centre that hops, and particles drawn around it.
    Hopping(Hopping),
    /// Particles with consensus points of their own, for several minimisers at once.
    Polarised(Polarised),
    /// Particles that agree on a covariance too, for minima and for laws.
    Sampling(Sampling),
    /// The tuning-free solver, a driver above the loop: it never comes to the questions below.
    Auto(Auto),
}

/// How noise depends on the distance from the consensus point. Exhaustive: theory must know every kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffusion {
    /// Each coordinate by its own distance: `diag(X) xi`.
    #[default]
    Anisotropic,
    /// All coordinates by the Euclidean distance: `||X||_2 xi`.
    Isotropic,
}

impl Diffusion {
    /// k in the exact second moment of a step: 1 (anisotropic) or d (isotropic).
    pub fn moment_factor(self, dim: usize) -> f64 {
        match self {
            Self::Anisotropic => 1.0,
            Self::Isotropic => dim as f64,
        }
    }
}

/// The time discretisation. Exhaustive: theory must know every kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheme {
    /// Drift and diffusion from the same point: the paper's scheme.
    #[default]
    EulerMaruyama,
    /// Drift first, then diffusion from the moved point: the authors' code.
    DriftFirst,
}

/// A move that was decided: where to, how strong, and of which step the noise is. Plain data.
#[derive(Clone, Debug, Default)]
pub struct Move {
    /// The step that decided it, from whose counters its noise is drawn.
    pub step: u64,
    /// Where the particles are drawn to: the consensus point.
    pub centre: Vec<f64>,
    /// What the drift leaves of the distance from the centre: 1 - lambda dt.
    pub keep: f64,
    /// The amplitude of the noise: sigma sqrt(dt), in plain consensus-based optimization as the scheme has it.
    pub noise: f64,
    /// The amplitude of plain noise, if the swarm is kicked.
    pub kick: Option<f64>,
    /// Towards the point that a particle remembers: lambda dt and sigma sqrt(dt) of that pull.
    pub pull: Option<(f64, f64)>,
    /// Down the gradient: its drift times dt, and its noise times sqrt(dt).
    pub slope: Option<(f64, f64)>,
    /// A matrix that turns normals into noise, row by row, if the noise has a shape.
    pub factor: Vec<f64>,
}

/// What a method is asked.
impl Method {
    /// Whether its settings make sense.
    pub(crate) fn check(&self, config: &CboConfig, dim: usize) -> Result<(), ConfigError> {
        match self {
            Self::Cbo => Ok(()),
            Self::Jumps(jumps) => jumps.check(config.dt),
            Self::Adam(adam) => adam.check(),
            Self::Mirror(mirror) => mirror.check(config),
            Self::Sphere(sphere) => sphere.check(config),
            Self::Hypersurface(surface) => surface.check(config, dim),
            Self::Memory(memory) => memory.check(config),
            Self::Hopping(hopping) => hopping.check(config, dim),
            Self::Polarised(polarised) => polarised.check(config),
            Self::Sampling(sampling) => sampling.check(config, dim),
            Self::Auto(auto) => auto.check(config, dim),
        }
    }

    /// Whether it is the tuning-free solver, which has a loop of its own.
    pub fn is_auto(&self) -> bool {
        matches!(self, Self::Auto(_))
    }

    /// The settings that suit it, where a user says nothing else: [`CboConfig::of`].
    pub(crate) fn suit(&self, config: &mut CboConfig) {
        match self {
            Self::Jumps(_) => Jumps::suit(config),
            Self::Adam(_) => Adam::suit(config),
            Self::Mirror(mirror) => mirror.suit(config),
            Self::Sphere(_) => Sphere::suit(config),
            Self::Hypersurface(_) => Hypersurface::suit(config),
            Self::Cbo | Self::Memory(_) | Self::Auto(_) => (),
            Self::Hopping(_) => hopping::suit(config),
            Self::Polarised(polarised) => polarised.suit(config),
            Self::Sampling(sampling) => sampling.suit(config),
        }
    }

    /// Whether it has a setting of the dynamics.
    pub(crate) fn has(&self, field: &str) -> bool {
        match self {
            Self::Cbo => true,
            Self::Jumps(_) => !jumps::WITHOUT.contains(&field),
            Self::Adam(_) => !adam::WITHOUT.contains(&field),
            Self::Mirror(_) => !mirror::WITHOUT.contains(&field),
            Self::Sphere(_) => !sphere::WITHOUT.contains(&field),
            Self::Hypersurface(_) => !hypersurface::WITHOUT.contains(&field),
            Self::Memory(_) => !memory::WITHOUT.contains(&field),
            Self::Hopping(_) => !hopping::WITHOUT.contains(&field),
            Self::Polarised(_) => !polarised::WITHOUT.contains(&field),
            Self::Sampling(_) => !sampling::WITHOUT.contains(&field),
            Self::Auto(_) => false,
        }
    }

    /// What it keeps of each particle besides the position.
    pub(crate) fn keeps(&self) -> Keeps {
        match self {
            Self::Memory(memory) => match (memory.remembers(), memory.has_gradient()) {
                (false, false) => Keeps::default(),
                (remembered, gradient) => Keeps { rows: 1 + usize::from(gradient), remembered },
            },
            Self::Adam(_) => Keeps { rows: 2, remembered: false },
            Self::Mirror(_) | Self::Polarised(_) => Keeps { rows: 1, remembered: false },
            _ => Keeps::default(),
        }
    }

    /// Numbers that it computes with when it looks at all particles of a step.
    pub(crate) fn room(&self, particles: usize, batch: usize, dim: usize) -> usize {
        match self {
            Self::Polarised(polarised) => polarised.room(particles, batch, dim),
            Self::Sampling(sampling) => sampling.room(batch, dim),
            _ => 0,
        }
    }

    /// Whether it needs the gradients at all positions of a step: the second row that is kept.
    pub(crate) fn has_gradient(&self) -> bool {
        matches!(self, Self::Memory(memory) if memory.has_gradient())
    }

    /// Whether each particle remembers a point and its energy. The consensus is then one of the remembered points.
    pub(crate) fn remembers(&self) -> bool {
        self.keeps().remembered
    }

    /// Whether energies must not depend on data that change.
    pub(crate) fn needs_one_objective(&self) -> bool {
        self.remembers() || matches!(self, Self::Sampling(Sampling { law: true }))
    }

    /// What jumps add to `sigma^2` in the mean square.
    pub fn jump_variance(&self) -> f64 {
        if let Self::Jumps(jumps) = self { jumps.variance() } else { 0.0 }
    }

    /// Makes the initial positions what the method needs, and what it keeps beside them.
    pub(crate) fn start<T: Scalar>(
        &self,
        config: &CboConfig,
        population: &mut Population<T>,
    ) -> Result<(), ConfigError> {
        match self {
            Self::Mirror(mirror) => mirror.start(config, population),
            Self::Sphere(sphere) => sphere.start(population),
            Self::Hypersurface(surface) => surface.start(config, population)?,
            Self::Hopping(hopping) => hopping.start(config, population),
            _ => (),
        }
        Ok(())
    }

    /// Whether the swarm is smaller than `limit`, in the maximum norm.
    pub(crate) fn is_narrower_than<T: Scalar>(&self, population: &Population<T>, limit: f64) -> bool {
        match self {
            Self::Polarised(polarised) if polarised.kappa.is_finite() => population.is_nearer_than(limit),
            _ => population.ensemble.is_narrower_than(limit),
        }
    }

    /// Brings a consensus point to the set on which the method keeps its particles; says whether it could.
    pub(crate) fn land(&self, config: &CboConfig, point: &mut [f64]) -> bool {
        match self {
            Self::Mirror(mirror) => mirror.land(config, point),
            Self::Sphere(sphere) => sphere.land(point),
            Self::Hypersurface(surface) => return surface.land(config, point),
            _ => (),
        }
        true
    }

    /// How often the objective is asked in a step: for the positions, and then perhaps for the remembered points.
    pub(crate) fn rounds(&self, step: u64) -> usize {
        match self {
            Self::Memory(memory) => memory.rounds(step),
            _ => 1,
        }
    }

    /// Normals that a move takes per coordinate.
    pub(crate) fn noises(&self) -> usize {
        match self {
            Self::Memory(memory) => 1 + usize::from(!memory.is_plain()),
            Self::Jumps(_) => 2,
            _ => 1,
        }
    }

    /// Numbers in double precision that a move needs room for.
    pub(crate) fn doubles(&self, dim: usize) -> usize {
        if let Self::Hypersurface(_) = self { hypersurface::ROOM * dim } else { 0 }
    }

    /// Takes note of the energies of a block of particles.
    pub(crate) fn remember<T: Scalar>(&self, block: Remembering<'_, T>) {
        if let Self::Memory(memory) = self {
            memory.remember(block);
        }
    }

    /// Whether normals that are drawn while the caller evaluates are of use to it.
    pub(crate) fn draws_ahead(&self) -> bool {
        !matches!(self, Self::Memory(_) | Self::Hopping(_))
    }

    /// Whether weights depend on the order of the energies alone. The sums then give a direction, not a point.
    pub(crate) fn weighs_ranks(&self) -> bool {
        matches!(self, Self::Hopping(hopping) if hopping.weights == HoppingWeights::Ranks)
    }

    /// Whether the consensus point has a velocity.
    pub(crate) fn has_velocity(&self) -> bool {
        matches!(self, Self::Hopping(_))
    }

    /// Whether something of it falls over the run, whose length must then be known.
    pub(crate) fn falls(&self) -> bool {
        matches!(self, Self::Hopping(hopping) if hopping.falls())
    }

    /// Makes of the consensus point that the sums of a step give the point that the next step is drawn to. `made` is the move that was
    /// made last; `velocity` stays from step to step.
    pub(crate) fn agree(
        &self,
        plan: &Plan,
        step: u64,
        made: Option<&Move>,
        consensus: &mut [f64],
        velocity: &mut [f64],
    ) {
        if let Self::Hopping(hopping) = self {
            hopping.hop(plan, step, made.map(|made| &made.centre[..]), consensus, velocity);
        }
    }

    /// Writes the move towards the consensus point in the place of an old one.
    pub(crate) fn decide(&self, config: &CboConfig, at: Decision<'_>, decided: &mut Move) {
        cbo::decide(config, at, decided);
        match self {
            Self::Memory(memory) => memory.decide(config, at, decided),
            Self::Hopping(hopping) => hopping.decide(config, at, decided),
            Self::Sampling(sampling) => sampling.decide(config, decided),
            _ => (),
        }
    }

    /// Completes the move with what only a look at all particles of the step can tell.
    pub(crate) fn prepare<T: Scalar>(&self, whole: Whole<'_, T>, decided: &mut Move) {
        match self {
            Self::Polarised(polarised) => polarised.prepare(whole, decided),
            Self::Sampling(sampling) => sampling.prepare(whole, decided),
            _ => (),
        }
    }
}

/// What a move is decided from.
#[derive(Clone, Copy)]
pub(crate) struct Decision<'a> {
    pub step: u64,
    pub consensus: &'a [f64],
    pub sigma: f64,
    pub kicked: bool,
}

/// All particles of a step with their energies, and threads to look at them.
pub(crate) struct Whole<'a, T> {
    pub population: &'a mut Population<T>,
    pub crew: &'a Crew<T>,
    pub config: &'a CboConfig,
    pub alpha: f64,
    pub dim: usize,
    /// Room to compute in: see [`Method::room`].
    pub room: &'a mut [f64],
}

/// A block of particles whose energies are known, and what is remembered of them.
pub(crate) struct Remembering<'a, T> {
    pub step: u64,
    pub dt: f64,
    pub rows: &'a [T],
    pub energies: &'a [T],
    pub points: &'a mut [T],
    pub values: &'a mut [T],
}

/// A [`Move`] in the precision of a run, with all that a pass over the particles needs besides.
#[derive(Debug)]
pub struct Motion<'a, T> {
    method: &'a Method,
    config: &'a CboConfig,
    /// The consensus point, repeated for a few rows.
    pub(crate) centres: &'a [T],
    /// The matrix of the noise, if it has one.
    factor: &'a [T],
    pub(crate) dim: usize,
    pub(crate) keep: T,
    pub(crate) noise: T,
    pub(crate) kick: Option<T>,
    /// Drift and noise towards what a particle remembers.
    pull: (T, T),
    /// Drift and noise along the gradient.
    slope: Option<(T, T)>,
    diffusion: Diffusion,
    scheme: Scheme,
    /// The longest distance that noise grows with.
    truncation: Option<T>,
    pub(crate) walls: Option<&'a Walls<T>>,
    /// Whether positions may come so near to zero that they are better zero.
    pub(crate) vanishing: bool,
    diffusion_noise: Noise,
    pub(crate) kick_noise: Noise,
    memory_noise: Noise,
    gradient_noise: Noise,
    step: u64,
    /// Where normals may have been drawn already.
    ahead: Option<&'a Ahead<T>>,
}

impl<'a, T: Scalar> Motion<'a, T> {
    /// `centres` is the centre of the move, once for each of a few rows; `factor` its matrix.
    pub(crate) fn new(
        decided: &Move,
        config: &'a CboConfig,
        dim: usize,
        (centres, factor): (&'a [T], &'a [T]),
        walls: Option<&'a Walls<T>>,
    ) -> Self {
        let (drift, noise) = decided.pull.unwrap_or_default();
        Self {
            method: &config.method,
            config,
            centres,
            factor,
            dim,
            keep: T::from_f64(decided.keep),
            noise: T::from_f64(decided.noise),
            kick: decided.kick.map(T::from_f64),
            pull: (T::from_f64(drift), T::from_f64(noise)),
            slope: decided.slope.map(|(drift, noise)| (T::from_f64(drift), T::from_f64(noise))),
            diffusion: config.diffusion,
            scheme: config.scheme,
            truncation: config.truncation().map(T::from_f64),
            walls,
            // Where a centre is not zero, positions that approach it stay numbers of its size.
            vanishing: centres[..dim].contains(&T::default()),
            diffusion_noise: Noise::new(config.seed, Stream::Diffusion, decided.step),
            kick_noise: Noise::new(config.seed, Stream::Kick, decided.step),
            memory_noise: Noise::new(config.seed, Stream::Memory, decided.step),
            gradient_noise: Noise::new(config.seed, Stream::Gradient, decided.step),
            step: decided.step,
            ahead: None,
        }
    }

    /// The same move, with normals that were drawn ahead where there are any. Tiles must be moved one by one.
    pub(crate) fn with(self, ahead: Option<&'a Ahead<T>>) -> Self {
        Self { ahead, ..self }
    }
}

/// Moves the particles `first ..`, whose positions are `rows`.
pub struct Advance<'a, 'm, T> {
    pub(crate) motion: &'a Motion<'m, T>,
    pub(crate) first: usize,
    pub(crate) rows: &'a mut [T],
    /// What the method keeps of them: a point or another row for each, and a second one.
    pub(crate) kept: &'a mut [T],
    pub(crate) more: &'a mut [T],
    pub(crate) scratch: &'a mut Scratch<T>,
}

impl<T: Scalar> Advance<'_, '_, T> {
    /// Each method is a kernel of its own: compiled together, they would share registers.
    #[inline(always)]
    pub(crate) fn run(self) {
        match self.motion.method {
            Method::Cbo | Method::Auto(_) if self.motion.truncation.is_some() => simd::run(truncated::Step(self)),
            Method::Jumps(jumps) if jumps.happen() => simd::run(jumps::Step(jumps, self)),
            Method::Cbo | Method::Jumps(_) | Method::Auto(_) => simd::run(cbo::Step(self)),
            Method::Adam(adam) => simd::run(adam::Step(adam, self)),
            Method::Mirror(mirror) => simd::run(mirror::Step(mirror, self)),
            Method::Sphere(sphere) => simd::run(sphere::Step(sphere, self)),
            Method::Hypersurface(surface) => simd::run(hypersurface::Step(surface, self)),
            Method::Memory(memory) if memory.is_plain() => simd::run(cbo::Step(self)),
            Method::Memory(_) => simd::run(memory::Step(self)),
            Method::Hopping(hopping) => simd::run(hopping::Step(self, *hopping)),
            Method::Polarised(_) => simd::run(polarised::Step(self)),
            Method::Sampling(_) => simd::run(sampling::Step(self)),
        }
    }
}
