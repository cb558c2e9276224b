//! One run in a lane: what it has found and when it ends. All that the engine's loop does between two steps.

use crate::device::{Ended, Errand, Made, decided_beforehand};
use crate::ensemble::Ensemble;
use crate::ledger::Ledger;
use crate::noise::{Noise, Stream};
use crate::report::{Evaluated, SolveError, StopReason};
use crate::schedule::{Alpha, Sigma};
use crate::simd::Scalar;

/// The lane of a run in numbers that lie abreast, `dim` of each particle.
#[derive(Clone, Copy)]
pub(super) struct Lane<'a, T> {
    pub numbers: &'a [T],
    pub lanes: usize,
    pub lane: usize,
    pub dim: usize,
}

impl<T: Scalar> Lane<'_, T> {
    /// The numbers of a particle.
    pub fn particle(&self, particle: usize) -> impl Iterator<Item = T> + '_ {
        let row = &self.numbers[particle * self.dim * self.lanes..][..self.dim * self.lanes];
        row.iter().skip(self.lane).step_by(self.lanes).copied()
    }

    fn particles(&self) -> usize {
        self.numbers.len() / (self.dim * self.lanes)
    }

    /// As [`Ensemble::is_narrower_than`], for which rows must lie one after the other.
    fn is_narrower_than(&self, limit: f64) -> bool {
        let is_far = |particle: usize| {
            let far = |(x, y): (T, T)| (x.to_f64() - y.to_f64()).abs() >= limit;
            self.particle(particle).zip(self.particle(0)).any(far)
        };
        if (1..self.particles()).any(is_far) {
            return false;
        }
        let rows: Vec<T> = (0..self.particles()).flat_map(|particle| self.particle(particle)).collect();
        Ensemble::of_rows(&rows, self.dim).is_narrower_than(limit)
    }
}

/// What is known of the energies of a step.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub least: f64,
    pub failed: u64,
    pub infeasible: u64,
}

impl Seen {
    pub const NOTHING: Self = Self { least: f64::INFINITY, failed: 0, infeasible: 0 };

    /// Of one block more.
    pub fn add(&mut self, block: &Self) {
        self.least = self.least.min(block.least);
        (self.failed, self.infeasible) = (self.failed + block.failed, self.infeasible + block.infeasible);
    }

    /// Of energies of which some are not finite.
    pub fn of(energies: Lane<'_, f64>) -> Self {
        let mut seen = Self::NOTHING;
        for energy in (0..energies.particles()).flat_map(|particle| energies.particle(particle)) {
            if energy == f64::INFINITY {
                seen.infeasible += 1;
            } else if !energy.is_finite() {
                seen.failed += 1;
            } else if energy < seen.least {
                seen.least = energy;
            }
        }
        seen
    }
}

/// One run.
pub(super) struct Run<T> {
    /// Its place among all runs.
    place: usize,
    ledger: Ledger<T>,
    /// Of the weights of its step.
    pub alpha: f64,
    /// Of the move after its step.
    pub keep: T,
    pub noise: T,
    /// Whether these are the same in all steps.
    steady: bool,
    logged: bool,
    improvements: Vec<(u64, Evaluated<T>)>,
}

impl<T: Scalar> Run<T> {
    /// A run whose particles are at time 0.
    pub fn begin(place: usize, errand: &Errand<'_, T>, particles: &Ensemble<T>, logged: bool) -> Self {
        let (plan, config) = (&errand.plan, errand.plan.config());
        let shrunk = plan.is_open_ended().then(|| particles.diameter() * crate::DEFAULT_SHRINKAGE);
        let mut run = Self {
            place,
            ledger: Ledger::new(plan.dim(), config.diameter.or(shrunk)),
            alpha: 0.0,
            keep: T::default(),
            noise: T::default(),
            steady: matches!((config.alpha, config.sigma), (Alpha::Constant(_), Sigma::Constant(_))),
            logged,
            improvements: Vec::new(),
        };
        run.decide(errand);
        run
    }

    /// Decides what can be told of its step beforehand.
    fn decide(&mut self, errand: &Errand<'_, T>) {
        let (weighing, decided) = decided_beforehand(&errand.plan, self.ledger.step);
        self.alpha = weighing.alpha().unwrap_or(f64::NAN);
        (self.keep, self.noise) = (T::from_f64(decided.keep), T::from_f64(decided.noise));
    }

    /// The normals of the move after its step.
    pub fn diffusion(&self, errand: &Errand<'_, T>) -> Noise {
        Noise::new(errand.plan.config().seed, Stream::Diffusion, self.ledger.step)
    }

    /// Goes on to the next step.
    pub fn go_on(&mut self, errand: &Errand<'_, T>) {
        self.ledger.step += 1;
        if !self.steady {
            self.decide(errand);
        }
    }

    /// Takes note of the energies of its step, and says why it ends with it, if it does.
    pub fn agree(
        &mut self,
        errand: &Errand<'_, T>,
        seen: &Seen,
        energies: Lane<'_, f64>,
        positions: Lane<'_, T>,
    ) -> Option<Result<StopReason, SolveError>> {
        let (step, particles) = (self.ledger.step, errand.plan.config().particles as u64);
        self.ledger.evaluations += particles;
        self.ledger.failed += seen.failed;
        self.ledger.infeasible += seen.infeasible;
        if seen.least == f64::INFINITY {
            let (evaluated, failed, infeasible) = (particles, seen.failed, seen.infeasible);
            return Some(Err(SolveError::NoFiniteEnergy { step, evaluated, failed, infeasible }));
        }
        if seen.least < self.ledger.best.value {
            self.improve(energies, positions, seen.least);
        }
        // The consensus point at the end takes one evaluation more.
        let next = self.ledger.evaluations + particles + 1;
        let spent = errand.plan.config().max_evaluations.is_some_and(|most| next > most);
        self.ledger.stop(&errand.plan, spent, || 0.0, |limit| positions.is_narrower_than(limit)).map(Ok)
    }

    /// Notes the first particle with the least energy, and who was better than all before it.
    fn improve(&mut self, energies: Lane<'_, f64>, positions: Lane<'_, T>, least: f64) {
        if self.logged {
            self.log(energies, positions);
        }
        let of_particles = energies.numbers.iter().skip(energies.lane).step_by(energies.lanes);
        if let Some((best, value)) = of_particles.enumerate().find(|(_, energy)| **energy == least) {
            let x: Vec<T> = positions.particle(best).collect();
            self.ledger.improve(&x, *value, 0.0, self.ledger.step);
        }
    }

    fn log(&mut self, energies: Lane<'_, f64>, positions: Lane<'_, T>) {
        let (before, mut reached) = (self.ledger.evaluations - energies.particles() as u64, self.ledger.best.value);
        for particle in 0..energies.particles() {
            let better = energies.particle(particle).find(|value| *value < reached && value.is_finite());
            if let Some(value) = better {
                reached = value;
                let x = positions.particle(particle).collect();
                self.improvements.push((before + particle as u64 + 1, Evaluated { x, value, violation: 0.0 }));
            }
        }
    }

    /// The run as it is told, with its place: it ended with this consensus point.
    pub fn made(
        self,
        errand: &Errand<'_, T>,
        stop: Result<StopReason, SolveError>,
        consensus: Lane<'_, f64>,
    ) -> Result<(usize, Made<T>), SolveError> {
        let Ledger { step, evaluations, failed, infeasible, best, .. } = self.ledger;
        let consensus =
            Evaluated { x: consensus.particle(0).map(T::from_f64).collect(), value: f64::NAN, violation: 0.0 };
        let end = stop.map(|stop| Ended { best, consensus, stop, steps: step, evaluations, failed, infeasible });
        Ok((self.place, Made::of(errand, end, evaluations, self.improvements)?))
    }
}
