//! Particles beside the law: their distance to it over time, and how it falls with their number.

use super::distance::Distance;
use super::settings::Settings;
use super::trajectory::{Trajectory, is_recorded};
use crate::statistics::slope_weights;
use cbo::{CboConfig, Objective, SolveError, StepReport, solve};
use rayon::prelude::*;
use std::ops::ControlFlow;

/// One run of particles, seen beside a trajectory of the law.
#[derive(Clone, Debug)]
pub struct ParticleRun {
    /// V at the steps that the trajectory has records of.
    pub v: Vec<f64>,
    /// The distance to each snapshot of the trajectory that was to be compared, over the coordinates
    /// ([`Distance::over_coordinates`]).
    pub distances: Vec<Distance>,
    /// At each snapshot the positions of the first particles, if asked for.
    pub positions: Vec<Vec<f64>>,
}

impl ParticleRun {
    /// Runs `particles` particles with this seed, one thread, and compares them with the law at the steps `compared`.
    /// Keeps the positions of the first `kept` particles at every snapshot. `done` is told of every step.
    pub fn new(
        settings: &Settings,
        objective: &impl Objective<f64>,
        trajectory: &Trajectory,
        (particles, seed): (usize, u64),
        (compared, kept): (&[u64], usize),
        done: &(dyn Fn() + Sync),
    ) -> Result<Self, SolveError> {
        let config = CboConfig { threads: 1, ..settings.particles(particles, seed) };
        let last = settings.steps();
        let mut run = Self { v: Vec::new(), distances: Vec::new(), positions: Vec::new() };
        let mut snapshots = trajectory.snapshots.iter().peekable();
        let mut observer = |step: &StepReport<'_, f64>| {
            if is_recorded(step.step(), last) {
                run.v.push(step.ensemble().half_mean_square(&trajectory.minimiser));
            }
            if let Some(snapshot) = snapshots.next_if(|s| s.step == step.step()) {
                let rows = step.ensemble().rows();
                if compared.contains(&step.step()) {
                    let each: Vec<Distance> = (0..rows.dim())
                        .map(|k| {
                            let mut sorted: Vec<f64> = rows.iter().map(|row| row[k]).collect();
                            sorted.sort_unstable_by(f64::total_cmp);
                            snapshot.law.marginal(k).distance_to_points(&sorted)
                        })
                        .collect();
                    run.distances.push(Distance::over_coordinates(&each));
                }
                if kept > 0 {
                    let length = rows.as_slice().len().min(kept * rows.dim());
                    run.positions.push(rows.as_slice()[..length].to_vec());
                }
            }
            done();
            ControlFlow::Continue(())
        };
        solve(&config, objective, &mut observer)?;
        Ok(run)
    }

    /// This many runs with the seeds `first, first + 1, ...`, which wrap around to 0 after the largest seed, spread over
    /// the threads; positions are kept only for the first.
    pub fn repeated(
        settings: &Settings,
        objective: &impl Objective<f64>,
        trajectory: &Trajectory,
        (particles, first, repeats): (usize, u64, u64),
        (compared, kept): (&[u64], usize),
        done: &(dyn Fn() + Sync),
    ) -> Result<Vec<Self>, SolveError> {
        let one = |run: u64| {
            let kept = if run == 0 { kept } else { 0 };
            let seed = first.wrapping_add(run);
            Self::new(settings, objective, trajectory, (particles, seed), (compared, kept), done)
        };
        // One task per run; collecting in order makes the result independent of who did what.
        (0..repeats).collect::<Vec<_>>().into_par_iter().with_max_len(1).map(one).collect()
    }
}

/// The distance of N particles to the law, averaged over runs with independent seeds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances {
    /// N.
    pub particles: usize,
    /// Number of runs.
    pub repeats: usize,
    /// The mean of each distance.
    pub mean: Distance,
    /// The standard error of each mean; zero if there was only one run.
    pub standard_error: Distance,
}

/// Averages over runs of `particles` particles.
pub fn mean_distances(particles: usize, runs: &[Distance]) -> Distances {
    let count = runs.len() as f64;
    let over = |pick: fn(&Distance) -> f64| {
        let mean = runs.iter().map(pick).sum::<f64>() / count;
        let squares: f64 = runs.iter().map(|d| (pick(d) - mean).powi(2)).sum();
        (mean, if runs.len() > 1 { (squares / (count - 1.0) / count).sqrt() } else { 0.0 })
    };
    let (w1, w2) = (over(|d| d.w1), over(|d| d.w2));
    Distances {
        particles,
        repeats: runs.len(),
        mean: Distance { w1: w1.0, w2: w2.0 },
        standard_error: Distance { w1: w1.1, w2: w2.1 },
    }
}

/// The law `W_1 = C N^exponent` that fits the mean distances best.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// The least squares slope of log W_1 over log N.
    pub exponent: f64,
    /// Its standard error, from those of the distances.
    pub standard_error: f64,
    /// log C.
    pub log_factor: f64,
}

impl Fit {
    /// The fit to the distances of at least two different numbers of particles; `None` for fewer.
    pub fn of(distances: &[Distances]) -> Option<Self> {
        let x: Vec<f64> = distances.iter().map(|d| (d.particles as f64).ln()).collect();
        if x.iter().all(|v| *v == x[0]) || distances.iter().any(|d| d.mean.w1 <= 0.0) {
            return None;
        }
        let y: Vec<f64> = distances.iter().map(|d| d.mean.w1.ln()).collect();
        let weights = slope_weights(&x);
        let exponent: f64 = weights.iter().zip(&y).map(|(w, y)| w * y).sum();
        let error = |(w, d): (&f64, &Distances)| (w * d.standard_error.w1 / d.mean.w1).powi(2);
        let standard_error = weights.iter().zip(distances).map(error).sum::<f64>().sqrt();
        let count = x.len() as f64;
        let log_factor = (y.iter().sum::<f64>() - exponent * x.iter().sum::<f64>()) / count;
        Some(Self { exponent, standard_error, log_factor })
    }

    /// The fitted W_1 of `particles` particles.
    pub fn at(&self, particles: f64) -> f64 {
        (self.log_factor + self.exponent * particles.ln()).exp()
    }
}
