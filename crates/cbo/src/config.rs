//! `CboConfig`, what a user may set, and `Plan`, the proof that it makes sense.

mod plan;

pub use plan::{Plan, Settings};

use crate::bounds::BoundHandling;
use crate::initial::{Coordinates, InitialLaw};
use crate::method::{Diffusion, Hypersurface, Method, Scheme, Surface};
use crate::numbers::plain;
use crate::schedule::{Alpha, Geometric, Reduction, Sigma};
use crate::simd;

/// Which particles move when only a batch of them is evaluated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Update {
    /// All of them.
    #[default]
    Full,
    /// Those evaluated.
    Partial,
}

/// Every setting of a run. Those of the dynamics, from `particles` to `diameter`, are refused with the method [`auto`](Method::Auto)
/// unless they have their defaults. Start from [`Default`] and change what you need; [`check`](Self::check) or
/// [`solve`](crate::solve) says what is wrong.
///
/// ```
/// use cbo::{Alpha, CboConfig};
/// let config = CboConfig { particles: 500, alpha: Alpha::Constant(1e5), steps: Some(300), ..CboConfig::default() };
/// assert!(config.check(20).is_ok());
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CboConfig {
    /// The dynamics of the particles.
    pub method: Method,
    /// Number of particles N, 1 to 2^32.
    pub particles: usize,
    /// Drift towards the consensus point, lambda > 0.
    pub lambda: f64,
    /// Diffusion sigma >= 0, over time.
    pub sigma: Sigma,
    /// Weight parameter alpha in (0, infinity], over time.
    pub alpha: Alpha,
    /// Time step dt > 0.
    pub dt: f64,
    /// Kind of noise.
    pub diffusion: Diffusion,
    /// Time discretisation.
    pub scheme: Scheme,
    /// The distance from the consensus point up to which noise grows with it, M in (0, infinity]; without limit if `None`.
    pub truncation: Option<f64>,
    /// Law of the initial positions.
    pub init: InitialLaw,
    /// Particles evaluated in a step, a divisor of N; all if `None`. For [`auto`](Method::Auto) the points that each round of evaluations
    /// should have at least, any number.
    pub batch: Option<usize>,
    /// Which particles move when `batch` is set.
    pub update: Update,
    /// When the consensus point moved less than this in the maximum norm, every particle gets `sigma sqrt(dt) xi` of plain
    /// noise; never if `None`.
    pub kick: Option<f64>,
    /// A consensus point that stays where it is, for tests of the theory.
    pub freeze: Option<Vec<f64>>,
    /// The box of the particles, low and high for each coordinate.
    pub bounds: Option<Vec<(f64, f64)>>,
    /// What happens at the bounds.
    pub bound_handling: BoundHandling,
    /// The surface of method [`hypersurface`](crate::Hypersurface::Level) whose name is `level`.
    pub surface: Option<Surface>,
    /// Steps in an epoch; one round of particle batches if `None`.
    pub epoch_steps: Option<u64>,
    /// Shrinks the swarm with its variance, once an epoch.
    pub reduction: Option<Reduction>,
    /// Stop after this many steps. Without this, `time`, `max_evaluations` and `max_seconds` a run takes [`DEFAULT_STEPS`] at
    /// most and stops earlier when the swarm has shrunk to [`DEFAULT_SHRINKAGE`] of its first diameter.
    pub steps: Option<u64>,
    /// Stop at this time, a multiple of dt.
    pub time: Option<f64>,
    /// Stop before more evaluations than this are spent.
    pub max_evaluations: Option<u64>,
    /// Stop after this many seconds. For [costly](crate::Grouping::Single) objectives this and `target` hold for each evaluation, otherwise
    /// for each step.
    pub max_seconds: Option<f64>,
    /// Stop when a value this low is found.
    pub target: Option<f64>,
    /// Stop when the swarm is smaller than this, in the maximum norm.
    pub diameter: Option<f64>,
    /// Stop when the best value has not improved for this many steps.
    pub stagnation: Option<u64>,
    /// Seed of everything random; 0 is a seed like any other.
    pub seed: u64,
    /// Threads, up to 1024; 0 for one per core. The result does not depend on it.
    pub threads: usize,
    /// Makes the first failed evaluation an error.
    pub strict: bool,
}

/// Steps of a run that sets no steps, time, evaluations or seconds.
pub const DEFAULT_STEPS: u64 = 1000;

/// The most steps: beyond, their number times dt is no longer exact.
const MOST_STEPS: u64 = 1 << 53;

/// More threads than this are a mistake.
const MOST_THREADS: usize = 1024;

/// The fraction of its first diameter at which the swarm of such a run is done.
pub const DEFAULT_SHRINKAGE: f64 = 1e-10;

/// Chosen by experiment (see `docs/choosing.md`): alpha = infinity needs no knowledge of the objective's scale, and sigma
/// lies above the mean-square bound but below the almost-sure one, so that the swarm contracts while single particles
/// still travel far.
impl Default for CboConfig {
    fn default() -> Self {
        Self {
            method: Method::Cbo,
            particles: 400,
            lambda: 1.0,
            sigma: Sigma::Constant(3.0),
            alpha: Alpha::Constant(f64::INFINITY),
            dt: 0.1,
            diffusion: Diffusion::Anisotropic,
            scheme: Scheme::EulerMaruyama,
            truncation: None,
            init: InitialLaw::Uniform { low: Coordinates::All(-3.0), high: Coordinates::All(3.0) },
            batch: None,
            update: Update::Full,
            kick: None,
            freeze: None,
            bounds: None,
            bound_handling: BoundHandling::Reflect,
            surface: None,
            epoch_steps: None,
            reduction: None,
            steps: None,
            time: None,
            max_evaluations: None,
            max_seconds: None,
            target: None,
            diameter: None,
            stagnation: None,
            seed: 0,
            threads: 0,
            strict: false,
        }
    }
}

/// A setting that cannot be used: which one, its value, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {remedy}")]
pub struct ConfigError {
    /// The field of [`CboConfig`].
    pub field: &'static str,
    /// Its value.
    pub value: String,
    /// What would be right.
    pub remedy: String,
}

fn refuse<T>(field: &'static str, value: impl ToString, remedy: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError { field, value: value.to_string(), remedy: remedy.into() })
}

fn positive(field: &'static str, value: f64) -> Result<(), ConfigError> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        refuse(field, plain(value), "must be a positive finite number")
    }
}

fn finite(field: &'static str, value: f64) -> Result<(), ConfigError> {
    if value.is_finite() { Ok(()) } else { refuse(field, plain(value), "must be a finite number") }
}

fn at_least_one(field: &'static str, value: Option<u64>) -> Result<(), ConfigError> {
    if value == Some(0) { refuse(field, 0, "must be at least 1") } else { Ok(()) }
}

impl CboConfig {
    /// The settings that suit a method, where you say nothing else. For the methods `cbo`, `memory` and `auto` they are those of
    /// [`Default`].
    ///
    /// ```
    /// use cbo::{CboConfig, Memory, Method};
    /// let config = CboConfig { particles: 100, ..CboConfig::of(Method::Memory(Memory::default())) };
    /// assert!(config.check(20).is_ok());
    /// ```
    pub fn of(method: Method) -> Self {
        let mut config = Self { method, ..Self::default() };
        method.suit(&mut config);
        config
    }

    /// Checks every setting for an objective in `dim` dimensions.
    pub fn check(&self, dim: usize) -> Result<Plan, ConfigError> {
        check_instruction_set()?;
        self.check_size(dim)?;
        positive("dt", self.dt)?;
        positive("lambda", self.lambda)?;
        self.check_alpha()?;
        self.check_sigma()?;
        // Before the initial law, which often follows from the bounds.
        self.check_bounds(dim)?;
        self.check_init(dim)?;
        self.check_method()?;
        self.check_batch()?;
        self.method.check(self, dim)?;
        self.check_consensus(dim)?;
        let last_step = self.check_stops()?;
        let open_ended = !self.method.is_auto()
            && last_step.is_none()
            && self.max_evaluations.is_none()
            && self.max_seconds.is_none();
        let last_step = if open_ended { Some(DEFAULT_STEPS) } else { last_step };
        let horizon = self.horizon(last_step);
        let sigma = self.check_falling(horizon)?;
        Ok(Plan::new(Self { sigma, ..self.clone() }, dim, last_step, horizon, open_ended))
    }

    fn check_size(&self, dim: usize) -> Result<(), ConfigError> {
        if self.threads > MOST_THREADS {
            return refuse("threads", self.threads, format!("at most {MOST_THREADS}; 0 takes one per core"));
        }
        if dim == 0 {
            return refuse("dim", dim, "must be at least 1");
        }
        if self.particles == 0 {
            return refuse("particles", 0, "must be at least 1");
        }
        if self.particles as u128 > 1 << 32 || dim as u128 > 1 << 32 {
            return refuse("particles", self.particles, "particles and dimensions are limited to 2^32 each");
        }
        let numbers = self.particles as u128 * dim as u128;
        if numbers > isize::MAX as u128 / 8 {
            return refuse("particles", self.particles, format!("{numbers} coordinates cannot be addressed"));
        }
        Ok(())
    }

    fn check_alpha(&self) -> Result<(), ConfigError> {
        let start = match self.alpha {
            Alpha::EffectiveSampleSize(fraction) => {
                if fraction > 0.0 && fraction < 1.0 {
                    return Ok(());
                }
                return refuse("alpha", format!("ess:{}", plain(fraction)), "the fraction must lie between 0 and 1");
            }
            Alpha::Constant(start) | Alpha::Logarithmic { start, .. } => start,
            Alpha::Geometric(g) => {
                check_geometric("alpha", &g)?;
                g.start
            }
        };
        if start > 0.0 { Ok(()) } else { refuse("alpha", plain(start), "must be positive; inf is allowed") }
    }

    fn check_sigma(&self) -> Result<(), ConfigError> {
        let start = match self.sigma {
            Sigma::Constant(start) | Sigma::Logarithmic { start, .. } => start,
            Sigma::Falling { start, end } => {
                let value = |end: f64| format!("falling to {}", plain(end));
                positive("sigma", start)?;
                if !(end > 0.0 && end <= start) {
                    return refuse("sigma", value(end), "the end must be positive and not above the start");
                }
                start
            }
            Sigma::Geometric(g) => {
                check_geometric("sigma", &g)?;
                if g.cap.is_infinite() {
                    return refuse("sigma", g.cap, "a growing sigma needs a finite cap");
                }
                g.start
            }
        };
        if start >= 0.0 && start.is_finite() {
            Ok(())
        } else {
            refuse("sigma", plain(start), "must be zero or a positive finite number")
        }
    }

    fn check_init(&self, dim: usize) -> Result<(), ConfigError> {
        let lengths = |given: [&Coordinates; 2]| match given.iter().find_map(|c| c.given().filter(|&n| n != dim)) {
            Some(n) => {
                refuse("init", format!("{n} numbers"), format!("one number, or one for each of {dim} coordinates"))
            }
            None => Ok(()),
        };
        match &self.init {
            InitialLaw::Normal { mean, variance } => {
                lengths([mean, variance])?;
                mean.values().iter().try_for_each(|&m| finite("init", m))?;
                match variance.values().iter().find(|v| !(**v >= 0.0 && v.is_finite())) {
                    Some(v) => {
                        refuse("init", format!("normal with variance {}", plain(*v)), "a variance is zero or positive")
                    }
                    None => Ok(()),
                }
            }
            InitialLaw::Uniform { low, high } => {
                lengths([low, high])?;
                for k in 0..dim {
                    let (low, high) = (low.get(k), high.get(k));
                    let law = || format!("uniform on [{}, {}]", plain(low), plain(high));
                    if !(low.is_finite() && high.is_finite()) {
                        return refuse("init", law(), "a uniform law needs a finite box");
                    }
                    if low >= high {
                        return refuse("init", law(), "low must be below high");
                    }
                }
                Ok(())
            }
            InitialLaw::Points(points) => {
                if !self.method.is_auto() && points.len() != self.particles * dim {
                    let value = format!("{} numbers", points.len());
                    let wanted =
                        format!("{} particles in {dim} dimensions need {}", self.particles, self.particles * dim);
                    return refuse("init", value, wanted);
                }
                points.iter().try_for_each(|&x| finite("init", x))
            }
        }
    }

    /// How far noise grows with the distance, if there is a limit.
    #[doc(hidden)]
    pub fn truncation(&self) -> Option<f64> {
        self.truncation.filter(|length| length.is_finite())
    }

    /// The settings of the dynamics that differ from those that suit the method.
    fn changed(&self) -> impl Iterator<Item = (&'static str, String)> {
        let usual = Self::of(self.method);
        let given = |field: &'static str, differs: bool, value: String| differs.then_some((field, value));
        let settings = [
            given("particles", self.particles != usual.particles, self.particles.to_string()),
            given("lambda", self.lambda != usual.lambda, plain(self.lambda)),
            given("sigma", self.sigma != usual.sigma, self.sigma.to_string()),
            given("alpha", self.alpha != usual.alpha, self.alpha.to_string()),
            given("dt", self.dt != usual.dt, plain(self.dt)),
            given("diffusion", self.diffusion != usual.diffusion, self.diffusion.to_string()),
            given("scheme", self.scheme != usual.scheme, self.scheme.to_string()),
            self.truncation.map(|length| ("truncation", plain(length))),
            self.batch.map(|batch| ("batch", batch.to_string())),
            given("update", self.update != usual.update, self.update.to_string()),
            self.kick.map(|kick| ("kick", plain(kick))),
            self.freeze.as_ref().map(|point| ("freeze", format!("{point:?}"))),
            self.bounds.as_ref().map(|bounds| ("bounds", format!("{} pairs", bounds.len()))),
            self.epoch_steps.map(|steps| ("epoch_steps", steps.to_string())),
            self.reduction.map(|reduction| ("reduction", reduction.to_string())),
        ];
        settings.into_iter().flatten()
    }

    /// Refuses settings that the method does not have.
    fn check_method(&self) -> Result<(), ConfigError> {
        if self.method.is_auto() {
            return Ok(()); // it checks its own
        }
        if self.surface.is_some() && self.method != Method::Hypersurface(Hypersurface::Level) {
            let remedy = format!("is for method hypersurface:surface=level, not {}", self.method);
            return refuse("surface", "a function", remedy);
        }
        let Some((field, value)) = self.changed().find(|(field, _)| !self.method.has(field)) else { return Ok(()) };
        let others: Vec<&str> = Method::all().filter(|method| method.has(field)).map(|method| method.name()).collect();
        let have = if others.len() == 1 { "has" } else { "have" };
        let remedy = format!("is not a setting of method {}; {} {have} it", self.method.name(), others.join(", "));
        refuse(field, value, remedy)
    }

    fn check_batch(&self) -> Result<(), ConfigError> {
        if self.method.is_auto() {
            return Ok(()); // it checks its own
        }
        let Some(batch) = self.batch else {
            if self.update == Update::Partial {
                return refuse("update", "partial", "makes sense only with a batch smaller than the swarm");
            }
            return Ok(());
        };
        if batch == 0 || !self.particles.is_multiple_of(batch) {
            return refuse("batch", batch, format!("must divide the number of particles, {}", self.particles));
        }
        Ok(())
    }

    fn check_bounds(&self, dim: usize) -> Result<(), ConfigError> {
        let Some(bounds) = &self.bounds else { return Ok(()) };
        if bounds.len() != dim {
            return refuse(
                "bounds",
                format!("{} pairs", bounds.len()),
                format!("one pair for each of {dim} coordinates"),
            );
        }
        match bounds.iter().find(|(low, high)| low.is_nan() || high.is_nan() || low >= high) {
            Some((low, high)) => {
                refuse("bounds", format!("{},{}", plain(*low), plain(*high)), "low must be below high")
            }
            None => Ok(()),
        }
    }

    fn check_consensus(&self, dim: usize) -> Result<(), ConfigError> {
        if let Some(kick) = self.kick {
            positive("kick", kick)?;
        }
        if let Some(length) = self.truncation
            && (length.is_nan() || length <= 0.0)
        {
            return refuse(
                "truncation",
                plain(length),
                "must be a positive number; inf, or none, for noise without limit",
            );
        }
        if let Some(r) = self.reduction
            && !((0.0..=1.0).contains(&r.strength) && r.least > 0.0 && r.least <= 1.0)
        {
            let value = format!("{} and {}", plain(r.strength), plain(r.least));
            return refuse("reduction", value, "strength must lie in [0, 1] and the least fraction in (0, 1]");
        }
        let Some(point) = &self.freeze else { return Ok(()) };
        if point.len() != dim {
            return refuse("freeze", format!("{} numbers", point.len()), format!("a point has {dim} coordinates"));
        }
        if self.kick.is_some() {
            return refuse("kick", "set", "a frozen consensus point never moves, so the kick would never end");
        }
        point.iter().try_for_each(|&x| finite("freeze", x))
    }

    fn check_stops(&self) -> Result<Option<u64>, ConfigError> {
        at_least_one("epoch_steps", self.epoch_steps)?;
        at_least_one("stagnation", self.stagnation)?;
        if let Some(target) = self.target
            && target.is_nan()
        {
            return refuse("target", target, "must be a number");
        }
        for (field, value) in [("time", self.time), ("max_seconds", self.max_seconds), ("diameter", self.diameter)] {
            value.map_or(Ok(()), |v| positive(field, v))?;
        }
        let needed = self.batch.unwrap_or(self.particles) as u64 + 1;
        if self.method.is_auto() {
            at_least_one("max_evaluations", self.max_evaluations)?;
        } else if let Some(max) = self.max_evaluations
            && max < needed
        {
            let remedy = format!(
                "contradicts the first step, which alone takes {needed}: one per particle, and one for the consensus point"
            );
            return refuse("max_evaluations", max, remedy);
        }
        if let Some(steps) = self.steps.filter(|steps| *steps > MOST_STEPS) {
            return refuse("steps", steps, format!("is too large; the limit is {MOST_STEPS} (2^53)"));
        }
        if let Some(time) = self.time.filter(|time| time / self.dt > MOST_STEPS as f64) {
            let (dt, most) = (plain(self.dt), plain(MOST_STEPS as f64 * self.dt));
            let remedy = format!("is too large; the limit is {MOST_STEPS} (2^53) steps of dt = {dt}, time {most}");
            return refuse("time", plain(time), remedy);
        }
        let from_time = self.time.map(|t| (t / self.dt).round() as u64);
        if let (Some(time), Some(steps)) = (self.time, from_time)
            && (time - steps as f64 * self.dt).abs() > 1e-6 * self.dt
        {
            let (dt, nearest) = (plain(self.dt), plain(steps.max(1) as f64 * self.dt));
            return refuse("time", plain(time), format!("must be a multiple of dt = {dt}; {nearest} is"));
        }
        match (self.steps, from_time) {
            (Some(steps), Some(other)) if steps != other => {
                let (time, dt) = (plain(self.time.unwrap_or_default()), plain(self.dt));
                let remedy =
                    format!("contradicts time = {time}, which is {other} steps of dt = {dt}; give one of the two");
                refuse("steps", steps, remedy)
            }
            (steps, time) => Ok(steps.or(time)),
        }
    }

    /// The steps after which the run ends at the latest: those allowed, or for which there are evaluations.
    fn horizon(&self, last_step: Option<u64>) -> Option<u64> {
        // The consensus point at the end takes one more.
        let step = self.batch.unwrap_or(self.particles) as u64;
        let from_evaluations = self.max_evaluations.map(|max| (max.saturating_sub(1) / step).saturating_sub(1));
        [last_step, from_evaluations].into_iter().flatten().min()
    }

    /// Refuses settings that fall over the run where its length is not known; returns the sigma of the run.
    fn check_falling(&self, horizon: Option<u64>) -> Result<Sigma, ConfigError> {
        let falling = matches!(self.sigma, Sigma::Falling { .. });
        match horizon {
            Some(steps) => Ok(self.sigma.over(steps)),
            None if falling && !self.method.is_auto() => refuse(
                "sigma",
                self.sigma,
                "falls over the run, whose length must be known: give steps, time or max_evaluations",
            ),
            None if self.method.falls() => {
                let remedy =
                    "the rate falls over the run, whose length must be known: give steps, time or max_evaluations";
                refuse("method", self.method, remedy)
            }
            None => Ok(self.sigma),
        }
    }

    /// The factor by which one step multiplies the mean square distance to a frozen consensus point,
    /// `(1 - lambda dt)^2 + k sigma^2 dt` (Euler-Maruyama) or `(1 - lambda dt)^2 (1 + k sigma^2 dt)` (drift-first) with k = 1
    /// (anisotropic) or d (isotropic), at the largest sigma. Below 1 the dynamics is mean-square stable. [Jumps](crate::Jumps) add
    /// `rate size^2` to `sigma^2`.
    pub fn mean_square_factor(&self, dim: usize) -> f64 {
        let square = (1.0 - self.lambda * self.dt).powi(2);
        let variance = self.sigma.largest().powi(2) + self.method.jump_variance();
        let noise = self.diffusion.moment_factor(dim) * variance * self.dt;
        match self.scheme {
            Scheme::EulerMaruyama => square + noise,
            Scheme::DriftFirst => square * (1.0 + noise),
        }
    }

    /// The sigma below which the dynamics is mean-square stable; `None` if without noise it is not: if lambda dt >= 2, or if
    /// [jumps](crate::Jumps) are too strong.
    pub fn largest_stable_sigma(&self, dim: usize) -> Option<f64> {
        let square = (1.0 - self.lambda * self.dt).powi(2);
        let k = self.diffusion.moment_factor(dim);
        let noise = match self.scheme {
            Scheme::EulerMaruyama => 1.0 - square,
            Scheme::DriftFirst => 1.0 / square - 1.0,
        };
        let variance = noise / (k * self.dt) - self.method.jump_variance();
        (variance > 0.0).then(|| variance.sqrt())
    }
}

/// The environment is a setting too.
fn check_instruction_set() -> Result<(), ConfigError> {
    match simd::chosen() {
        Ok(_) => Ok(()),
        Err(error) => refuse(simd::VARIABLE, &error.name, error.remedy()),
    }
}

fn check_geometric(field: &'static str, g: &Geometric) -> Result<(), ConfigError> {
    positive(field, g.factor)?;
    positive(field, g.start)?;
    let wrong =
        g.cap.is_nan() || g.cap < 0.0 || (g.factor > 1.0 && g.cap < g.start) || (g.factor < 1.0 && g.cap > g.start);
    if wrong {
        return refuse(field, format!("cap {}", g.cap), "the cap must lie where the schedule goes");
    }
    Ok(())
}
