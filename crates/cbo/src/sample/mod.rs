//! Draws from the law of density proportional to `exp(-E)`, made exact by importance.
//!
//! A swarm of the method [`sampling`](crate::Method::Sampling) that has come to rest is near the law, but has it only if the law is Gaussian.
//! What is known exactly is the law of the swarm's next positions: given the swarm, that of particle i is normal, with mean
//! `v_a + b (V_i - v_a)` and a covariance that all share. So points are drawn from these laws in turn, and a point x counts by
//! `exp(-E(x)) / q(x)`, where q is the density of their mixture. Whatever the swarm is like, weighted means then tend to those of the law.
//!
//! How soon they do depends on the swarm: what it never comes to is not missed. So one point in ten is drawn from the law of the first
//! positions instead, and is part of the mixture: what that law reaches, and the swarm has left, then shows in large weights.

mod estimates;

pub use estimates::Sample;

use crate::backend::{Crew, Scratch};
use crate::bounds::BoundHandling;
use crate::config::{ConfigError, Plan, Settings};
use crate::initial::InitialLaw;
use crate::matrix::linear::{multiply_lower, solve_lower};
use crate::method::sampling::{Weighted, amplitudes, root};
use crate::method::{Method, Sampling};
use crate::noise::{Noise, Stream, scratch_len};
use crate::objective::{Grouping, Objective, Rows};
use crate::observer::Observer;
use crate::pairs::{Crowd, Similarity, whole};
use crate::report::{RunReport, SolveError};
use crate::simd::Scalar;
use crate::solve::solve;
use std::convert::Infallible;

/// Draws where nobody says how many.
pub const DEFAULT_DRAWS: usize = 4000;

/// Particles from whose laws points are drawn, at most: the density of a point is a sum over all of them.
const MOST_COMPONENTS: usize = 2048;

/// One point in so many is drawn from the law of the first positions.
const FROM_THE_START: usize = 10;

/// Points that are weighed, or evaluated, together.
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
    let sample = Proposal::new(&plan, &run)?.sample(objective, draws)?;
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

/// The laws of the next positions of a swarm, from which points are drawn.
#[derive(Debug)]
pub struct Proposal<T> {
    plan: Plan,
    step: u64,
    centre: Vec<f64>,
    /// L, by columns: a point x is `centre + L y`.
    root: Vec<f64>,
    /// The y of the means of all particles that are used, row by row.
    means: Vec<f64>,
    /// The standard deviation of every coordinate of y.
    width: f64,
    /// The law of the first positions.
    start: InitialLaw,
    crew: Crew<T>,
}

impl<T: Scalar> Proposal<T> {
    /// The laws at the end of a run of this plan.
    pub fn new(plan: &Plan, run: &RunReport<T>) -> Result<Self, SolveError> {
        check(plan)?;
        let (config, dim, ensemble) = (plan.config(), plan.dim(), run.ensemble());
        let crew = Crew::new(config.threads, true, 0, || Scratch::new(1, 0, 1))?;
        let centre: Vec<f64> = run.consensus().x.iter().map(|x| x.to_f64()).collect();
        let method = Sampling { law: true };
        let (mut covariance, mut room) = (vec![0.0; dim * dim], vec![0.0; method.room(ensemble.len(), dim)]);
        let swarm = Weighted { rows: ensemble.rows(), energies: run.energies(), alpha: run.alpha() };
        swarm.covariance(&centre, &crew, &mut room, &mut covariance);
        root(dim, &mut covariance, &mut room);
        if (0..dim).any(|k| covariance[k * dim + k] <= 0.0) {
            return Err(SolveError::Degenerate { step: run.steps() });
        }
        let (keep, noise) = amplitudes(config.dt);
        let used = ensemble.rows().iter().take(MOST_COMPONENTS);
        let offset = |(x, c): (&T, &f64)| keep * (x.to_f64() - c);
        let mut means: Vec<f64> = used.flat_map(|row| row.iter().zip(&centre).map(offset)).collect();
        solve_lower(dim, &covariance, &mut means);
        let width = noise * method.inflation(run.alpha());
        let start = config.init.with_density(dim);
        Ok(Self { plan: plan.clone(), step: run.steps(), centre, root: covariance, means, width, start, crew })
    }

    /// How many of so many points are drawn from the swarm, and from how many of its particles.
    fn shares(&self, count: usize) -> (usize, usize) {
        let dim = self.plan.dim();
        // A law in a plane has no density.
        let spread = (0..dim).all(|k| self.start.deviation(k, dim) > 0.0);
        let of_the_swarm = if spread { count - count / FROM_THE_START } else { count };
        (of_the_swarm, (self.means.len() / dim).min(of_the_swarm))
    }

    /// This many points, one per row: most from the law of each particle in turn, which are the positions that the next step of the run
    /// would have, and then those from the law of the first positions.
    pub fn draw(&self, count: usize) -> Vec<T> {
        let (dim, seed) = (self.plan.dim(), self.plan.config().seed);
        let noise = Noise::new(seed, Stream::Diffusion, self.step);
        let (of_the_swarm, components) = self.shares(count);
        let mut normals = vec![0.0; scratch_len(1, dim)];
        let (mut place, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
        let mut points = Vec::with_capacity(count * dim);
        for point in 0..of_the_swarm {
            noise.fill_normals(point as u32, 1, dim, &mut normals);
            let mean = &self.means[point % components * dim..][..dim];
            for ((y, mean), xi) in place.iter_mut().zip(mean).zip(&normals) {
                *y = mean + self.width * xi;
            }
            multiply_lower(dim, &self.root, &place, &mut moved);
            points.extend(moved.iter().zip(&self.centre).map(|(x, c)| T::from_f64(c + x)));
        }
        points.resize(count * dim, T::default());
        self.start.draw_again(seed, self.step + 1, dim, &mut points[of_the_swarm * dim..]);
        points
    }

    /// Draws this many points and evaluates those inside the bounds.
    pub fn sample(&self, objective: &impl Objective<T>, count: usize) -> Result<Sample<T>, SolveError> {
        let dim = self.plan.dim();
        let points = self.draw(count);
        let inside: Vec<bool> = points.chunks_exact(dim).map(|x| self.is_inside(x)).collect();
        let rows = points.chunks_exact(dim).zip(&inside).filter(|(_, inside)| **inside);
        let mut asked: Vec<T> = rows.flat_map(|(row, _)| row.iter().copied()).collect();
        let mut found = vec![T::default(); asked.len() / dim];
        self.evaluate(objective, &mut asked, &mut found)
            .map_err(|source| SolveError::Evaluation { step: self.step, source })?;
        let mut found = found.into_iter();
        let nothing = T::from_f64(f64::INFINITY);
        let energies = inside.iter().map(|inside| if *inside { found.next().unwrap_or(nothing) } else { nothing });
        self.weigh(points, energies.collect())
    }

    fn evaluate(
        &self,
        objective: &impl Objective<T>,
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

    /// What the [drawn](Self::draw) points tell of the law, given their energies; points outside the bounds need none. Fails if none of them
    /// has a finite one.
    pub fn weigh(&self, points: Vec<T>, energies: Vec<T>) -> Result<Sample<T>, SolveError> {
        let dim = self.plan.dim();
        let count = energies.len();
        assert_eq!(points.len(), count * dim, "energies for points");
        let rows = points.chunks_exact(dim).zip(&energies);
        let mut logs: Vec<f64> = rows
            .map(|(x, energy)| {
                let energy = energy.to_f64();
                if energy.is_finite() && self.is_inside(x) { -energy } else { f64::NEG_INFINITY }
            })
            .collect();
        self.subtract_densities(&points, &mut logs);
        let failed = energies.iter().filter(|e| e.to_f64().is_nan() || e.to_f64() == f64::NEG_INFINITY).count() as u64;
        let evaluated = points.chunks_exact(dim).filter(|x| self.is_inside(x)).count() as u64;
        let noise = Noise::new(self.plan.config().seed, Stream::Resampling, self.step + 1);
        let [start, ..] = noise.uniforms(0, 0);
        Sample::new(points, energies, &logs, start, (evaluated, failed), &self.crew).ok_or(SolveError::NoFiniteEnergy {
            step: self.step,
            evaluated,
            failed,
            infeasible: evaluated - failed,
        })
    }

    /// Subtracts the logarithms of the density from which each point was drawn.
    fn subtract_densities(&self, points: &[T], logs: &mut [f64]) {
        let (dim, count) = (self.plan.dim(), logs.len());
        let (of_the_swarm, components) = self.shares(count);
        let size = whole(components);
        let (mut heights, mut columns) = (vec![f64::NEG_INFINITY; size], vec![0.0; dim * size]);
        for (i, mean) in self.means.chunks_exact(dim).take(components).enumerate() {
            let times = of_the_swarm / components + usize::from(i < of_the_swarm % components);
            heights[i] = libm::log(times as f64 / count as f64);
            mean.iter().enumerate().for_each(|(k, y)| columns[k * size + i] = *y);
        }
        let factors = vec![1.0 / (self.width * self.width); dim];
        let similarity = Similarity::Gaussian;
        let crowd = Crowd { columns: &columns, heights: &heights, factors: &factors, similarity };
        let share = libm::log((count - of_the_swarm) as f64 / count as f64);
        let volume: f64 = (0..dim).map(|k| libm::log(self.root[k * dim + k])).sum();
        let norm = volume + dim as f64 * libm::log(self.width * std::f64::consts::TAU.sqrt());
        let offset = |(x, c): (&T, &f64)| x.to_f64() - c;
        let mut places: Vec<f64> =
            points.chunks_exact(dim).flat_map(|x| x.iter().zip(&self.centre).map(offset)).collect();
        let done: Result<(), Infallible> =
            self.crew.pieces(true, (logs, TOGETHER), (&mut places, TOGETHER * dim), |piece, logs, places| {
                solve_lower(dim, &self.root, places);
                let from = piece * TOGETHER * dim;
                let others = places.chunks_exact(dim).zip(points[from..].chunks_exact(dim));
                for (log, (place, point)) in logs.iter_mut().zip(others) {
                    let seen = crowd.seen_from(place, &mut []);
                    let swarm = seen.shift + libm::log(seen.mass) - norm;
                    let start = share + self.start.log_density(point);
                    let (more, less) = if start > swarm { (start, swarm) } else { (swarm, start) };
                    *log -= more + libm::log1p(libm::exp(less - more));
                }
                Ok(())
            });
        let Ok(()) = done;
    }
}
