//! Draws from the law of density proportional to `exp(-E)`, made exact by importance.
//!
//! A swarm of the method [`sampling`](crate::Method::Sampling) that has come to rest is near the law, but has it only if the law is Gaussian.
//! What is known exactly is the law of the swarm's next positions: given the swarm, that of particle i is normal, with mean
//! `v_a + b (V_i - v_a)` and a covariance that all share. So points are drawn from these laws in turn, and a point x counts by
//! `exp(-E(x)) / q(x)`, where q is the density of their mixture. Whatever the swarm is like, weighted means then tend to those of the law.
//!
//! How soon they do depends on the swarm: what it never comes to is not missed. So one point in ten is drawn from the law of the first
//! positions instead, and the points are drawn in rounds: a round may draw around points of the rounds before it, chosen by their weights,
//! if that would have served better. Hills that the swarm has left are found again so. All points count by the mixture of all laws that were
//! drawn from, each by its share (adaptive multiple importance sampling: Cornuet, Marin, Mira and Robert, doi:10.1111/j.1467-9469.2011.00756.x).

mod estimates;
mod mixture;

pub use estimates::Sample;

use crate::backend::{Crew, Scratch};
use crate::bounds::BoundHandling;
use crate::config::{ConfigError, Plan, Settings};
use crate::initial::InitialLaw;
use crate::method::{Method, Sampling};
use crate::noise::{Noise, Stream};
use crate::objective::{Grouping, Objective, Rows};
use crate::observer::Observer;
use crate::report::{RunReport, SolveError};
use crate::simd::Scalar;
use crate::solve::solve;
use estimates::equal_weights;
use mixture::Mixture;

/// Draws where nobody says how many.
pub const DEFAULT_DRAWS: usize = 4000;

/// One point in so many is drawn from the law of the first positions.
const FROM_THE_START: usize = 10;

/// Rounds in which points are drawn, if each has enough of them.
const ROUNDS: usize = 4;

/// Fewer points than this are too few for a round.
const LEAST_IN_A_ROUND: usize = 100;

/// The part of the draws below which their effective sample size is poor.
const FEW: f64 = 0.05;

/// Points that are evaluated together.
const TOGETHER: usize = 64;

/// Runs the method [`sampling`](crate::Method::Sampling) until its end, and then draws this many points from the law of density
/// proportional to `exp(-E)`. Where there are [bounds](crate::CboConfig::bounds), the law is restricted to them.
///
/// ```
/// use cbo::{CboConfig, Method, Sampling, from_fn, sample};
///
/// // A normal law with mean (1, -2) and variances 4 and 0.25.
/// let law = from_fn(2, |x: &[f64]| (x[0] - 1.0).powi(2) / 8.0 + 2.0 * (x[1] + 2.0).powi(2));
/// let config = CboConfig::of(Method::Sampling(Sampling { law: true }));
/// let (_run, sample) = sample(&config, &law, &mut (), 4000)?;
/// assert!((sample.mean()[0] - 1.0).abs() < 5.0 * sample.mean_errors()[0]);
/// assert!((sample.covariance()[0] - 4.0).abs() < 5.0 * sample.covariance_errors()[0]);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub fn sample<T: Scalar>(
    settings: impl Settings,
    objective: &impl Objective<T>,
    observer: &mut (impl Observer<T> + Send),
    draws: usize,
) -> Result<(RunReport<T>, Sample<T>), SolveError> {
    let plan = settings.plan(objective.dim())?;
    check(&plan)?;
    let run = solve(&plan, objective, observer)?;
    let sample = Proposal::new(&plan, &run, draws)?.sample(objective)?;
    Ok((run, sample))
}

/// Refuses a plan without a law.
fn check(plan: &Plan) -> Result<(), ConfigError> {
    let method = plan.config().method;
    if method == Method::Sampling(Sampling { law: true }) {
        return Ok(());
    }
    let remedy = "has no law to draw from; sampling:law=true has".into();
    Err(ConfigError { field: "method", value: method.to_string(), remedy })
}

/// What points are drawn from after a run: round by round, [`draw`](Self::draw) and [`tell`](Self::tell) until all are drawn.
#[derive(Debug)]
pub struct Proposal<T> {
    plan: Plan,
    step: u64,
    /// Points that are to be drawn in all.
    count: usize,
    swarm: Mixture,
    /// The law of the first positions, if it has a density.
    start: Option<InitialLaw>,
    from_the_start: usize,
    /// The laws that were drawn from, with the number of points.
    laws: Vec<(Mixture, usize)>,
    points: Vec<T>,
    energies: Vec<T>,
    crew: Crew<T>,
}

impl<T: Scalar> Proposal<T> {
    /// For so many points after a run of this plan.
    pub fn new(plan: &Plan, run: &RunReport<T>, count: usize) -> Result<Self, SolveError> {
        check(plan)?;
        let (config, dim) = (plan.config(), plan.dim());
        let crew = Crew::new(config.threads, true, 0, || Scratch::new(1, 0, 1))?;
        let start = config.init.with_density(dim);
        // A law in a plane has no density.
        let spread = (0..dim).all(|k| start.deviation(k, dim) > 0.0);
        Ok(Self {
            plan: plan.clone(),
            step: run.steps(),
            count,
            swarm: Mixture::of_swarm(plan, run, &crew)?,
            start: spread.then_some(start),
            from_the_start: 0,
            laws: Vec::new(),
            points: Vec::with_capacity(count * dim),
            energies: Vec::with_capacity(count),
            crew,
        })
    }

    /// How many points the next round has, if there is one.
    fn next_round(&self) -> usize {
        let rounds = (self.count / LEAST_IN_A_ROUND).clamp(1, ROUNDS);
        let left = self.count - self.energies.len();
        left.div_ceil(rounds.saturating_sub(self.laws.len()).max(1))
    }

    /// The points of the next round, one per row, for [`tell`](Self::tell); none when all are drawn. Those of the first round are the positions
    /// that the next step of the run would have, and then those from the law of the first positions.
    pub fn draw(&mut self) -> &[T] {
        let (dim, seed) = (self.plan.dim(), self.plan.config().seed);
        let (told, round) = (self.energies.len(), self.laws.len() as u64);
        let size = self.next_round();
        if size == 0 || self.points.len() > told * dim {
            return &self.points[told * dim..];
        }
        let (law, noise) = match round {
            0 => (self.swarm.clone(), Noise::new(seed, Stream::Diffusion, self.step)),
            _ => (self.better_law(size), Noise::new(seed, Stream::Resampling, self.step + 1 + round)),
        };
        if let Some(start) = self.start.as_ref().filter(|_| round == 0) {
            self.from_the_start = (self.count / FROM_THE_START).min(size / 2);
            law.draw(noise, size - self.from_the_start, &mut self.points);
            let first = self.points.len();
            self.points.resize(size * dim, T::default());
            start.draw_again(seed, self.step + 1, dim, &mut self.points[first..]);
        } else {
            law.draw(noise, size, &mut self.points);
        }
        self.laws.push((law, size - if round == 0 { self.from_the_start } else { 0 }));
        &self.points[told * dim..]
    }

    /// Tells the energies of the points that were drawn last. For points outside the bounds any number will do.
    ///
    /// # Panics
    ///
    /// If there are not as many as points.
    pub fn tell(&mut self, energies: &[T]) {
        self.energies.extend_from_slice(energies);
        assert_eq!(self.points.len(), self.energies.len() * self.plan.dim(), "energies for points");
    }

    /// Draws all points and evaluates those inside the bounds.
    pub fn sample(self, objective: &impl Objective<T>) -> Result<Sample<T>, SolveError> {
        T::sample(self, objective)
    }

    pub(crate) fn sample_by(mut self, objective: &dyn Objective<T>) -> Result<Sample<T>, SolveError> {
        let dim = self.plan.dim();
        loop {
            let points = self.draw().to_vec();
            if points.is_empty() {
                return self.weigh();
            }
            let inside: Vec<bool> = points.chunks_exact(dim).map(|x| self.is_inside(x)).collect();
            let rows = points.chunks_exact(dim).zip(&inside).filter(|(_, inside)| **inside);
            let mut asked: Vec<T> = rows.flat_map(|(row, _)| row.iter().copied()).collect();
            let mut found = vec![T::default(); asked.len() / dim];
            self.evaluate(objective, &mut asked, &mut found)
                .map_err(|source| SolveError::Evaluation { step: self.step, source })?;
            let mut found = found.into_iter();
            let nothing = T::from_f64(f64::INFINITY);
            let energies = inside.iter().map(|inside| if *inside { found.next().unwrap_or(nothing) } else { nothing });
            self.tell(&energies.collect::<Vec<_>>());
        }
    }

    fn evaluate(
        &self,
        objective: &dyn Objective<T>,
        rows: &mut [T],
        energies: &mut [T],
    ) -> Result<(), crate::EvalError> {
        let (at, dim) = (self.plan.context(self.step, Some(0)), self.plan.dim());
        let together = match objective.grouping() {
            Grouping::Together => return objective.energies(at, Rows::new(rows, dim), energies),
            Grouping::Single => 1,
            Grouping::Blocks => TOGETHER,
        };
        self.crew.pieces(true, (energies, together), (rows, together * dim), |piece, energies, rows| {
            objective.energies(at, Rows::new(rows, dim), energies).map_err(|e| e.after(piece * together))
        })
    }

    /// Whether a point is inside the bounds, if there are any.
    pub fn is_inside(&self, x: &[T]) -> bool {
        let config = self.plan.config();
        let Some(bounds) = config.bounds.as_ref().filter(|_| config.bound_handling != BoundHandling::None) else {
            return true;
        };
        x.iter().zip(bounds).all(|(x, (low, high))| (*low..=*high).contains(&x.to_f64()))
    }

    /// What the points tell of the law, once their energies are told. Fails if none of them has a finite one.
    pub fn weigh(self) -> Result<Sample<T>, SolveError> {
        let dim = self.plan.dim();
        let logs = self.log_weights();
        let failed =
            self.energies.iter().filter(|e| e.to_f64().is_nan() || e.to_f64() == f64::NEG_INFINITY).count() as u64;
        let evaluated = self.points.chunks_exact(dim).filter(|x| self.is_inside(x)).count() as u64;
        let noise = Noise::new(self.plan.config().seed, Stream::Resampling, self.step + 1);
        let [start, ..] = noise.uniforms(0, 0);
        let nothing = SolveError::NoFiniteEnergy { step: self.step, evaluated, failed, infeasible: evaluated - failed };
        Sample::new(self.points, self.energies, &logs, start, (evaluated, failed), &self.crew).ok_or(nothing)
    }

    /// The logarithms of the law's density, up to a constant, at the points that were told.
    fn log_law(&self) -> Vec<f64> {
        let rows = self.points.chunks_exact(self.plan.dim()).zip(&self.energies);
        rows.map(|(x, energy)| {
            let energy = energy.to_f64();
            if energy.is_finite() && self.is_inside(x) { -energy } else { f64::NEG_INFINITY }
        })
        .collect()
    }

    /// The logarithms of the weights of the points that were told.
    fn log_weights(&self) -> Vec<f64> {
        let (dim, count) = (self.plan.dim(), self.energies.len());
        let points = &self.points[..count * dim];
        let share = |drawn: usize| libm::log(drawn as f64 / count as f64);
        let mut densities = match &self.start {
            Some(start) => {
                points.chunks_exact(dim).map(|x| share(self.from_the_start) + start.log_density(x)).collect()
            }
            None => vec![f64::NEG_INFINITY; count],
        };
        for (law, drawn) in self.laws.iter().filter(|(_, drawn)| *drawn > 0) {
            let logs = law.log_densities(*drawn, points, &self.crew);
            let share = share(*drawn);
            densities.iter_mut().zip(logs).for_each(|(density, log)| *density = log_sum(*density, share + log));
        }
        self.log_law().iter().zip(densities).map(|(law, density)| law - density).collect()
    }

    /// The law to draw the next points from: around those that were drawn, if half of them say of the other half that this would have served
    /// better than the swarm.
    fn better_law(&self, size: usize) -> Mixture {
        let weights = normalised(&self.log_weights());
        let halves = [0, 1].map(|odd| {
            let half = weights.iter().enumerate().map(|(i, weight)| if i % 2 == odd { *weight } else { 0.0 });
            let half: Vec<f64> = half.collect();
            let mass: f64 = half.iter().sum();
            half.into_iter().map(|weight| weight / mass).collect::<Vec<f64>>()
        });
        let noise = Noise::new(self.plan.config().seed, Stream::Resampling, self.step + 1 + self.laws.len() as u64);
        let [start, ..] = noise.uniforms(u32::MAX, 0);
        let around = |weights: &[f64]| Mixture::around(&self.points, weights, size, start);
        let (Some(tried), Some(all)) = (around(&halves[0]), around(&weights)) else { return self.swarm.clone() };
        let size_now = 1.0 / weights.iter().map(|weight| weight * weight).sum::<f64>();
        // Then most of what either half knows of the law, the other does not.
        let is_poor = size_now < FEW * weights.len() as f64;
        let is_better = || self.log_waste(&tried, size, &halves[1]) < self.log_waste(&self.swarm, size, &halves[1]);
        if is_poor || is_better() { all } else { self.swarm.clone() }
    }

    /// The logarithm, up to a constant, of how many draws from `proposed` one draw from the law is worth: the mean, under the law, of its
    /// density over theirs, to which a tenth of the law of the first positions belongs as well.
    fn log_waste(&self, proposed: &Mixture, size: usize, weights: &[f64]) -> f64 {
        let densities = proposed.log_densities(size, &self.points, &self.crew);
        let rows = self.points.chunks_exact(self.plan.dim());
        let all = self.log_law().into_iter().zip(densities).zip(weights).zip(rows);
        let counted = all.filter(|((_, weight), _)| **weight > 0.0);
        counted.fold(f64::NEG_INFINITY, |waste, (((law, density), weight), x)| {
            let start = self.start.as_ref().map_or(f64::NEG_INFINITY, |start| start.log_density(x));
            let density = log_sum(density, start - libm::log(FROM_THE_START as f64));
            log_sum(waste, libm::log(*weight) + law - density)
        })
    }
}

/// Weights that sum up to 1, from their logarithms; zeros if none of them is finite.
fn normalised(logs: &[f64]) -> Vec<f64> {
    let top = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights = logs.iter().map(|log| if top.is_finite() { libm::exp(log - top) } else { 0.0 });
    let weights: Vec<f64> = weights.collect();
    let mass: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| if mass > 0.0 { weight / mass } else { 0.0 }).collect()
}

/// log(exp(a) + exp(b)).
fn log_sum(a: f64, b: f64) -> f64 {
    let (more, less) = if a > b { (a, b) } else { (b, a) };
    if less == f64::NEG_INFINITY { more } else { more + libm::log1p(libm::exp(less - more)) }
}
