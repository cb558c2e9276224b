//! What a baseline sees of its task: points in, values out, until the budget is spent.

use super::Task;
use super::draws::Draws;
use cbo::{EvalError, Evaluated, Objective, Rows, StepContext, reflect};

/// The search is over: nothing may be evaluated any more.
#[derive(Debug)]
pub struct Over;

/// A value better than all before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Improvement {
    /// The evaluation that found it, from 1.
    pub evaluation: u64,
    /// The value.
    pub value: f64,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Found {
    /// The best point and its value; none if no value was finite.
    pub best: Option<Evaluated<f64>>,
    /// Evaluations spent.
    pub evaluations: u64,
    /// Those that gave NaN or minus infinity.
    pub failed: u64,
    /// Those that gave infinity.
    pub infeasible: u64,
    /// How the best value improved.
    pub improvements: Vec<Improvement>,
}

/// A search on its way.
pub struct Search<'a> {
    objective: &'a dyn Objective<f64>,
    task: &'a Task<'a>,
    /// Random numbers.
    pub draws: Draws,
    found: Found,
    failure: Option<EvalError>,
    /// Memory for one round.
    energies: Vec<f64>,
}

impl<'a> Search<'a> {
    pub(super) fn new(objective: &'a dyn Objective<f64>, task: &'a Task<'a>, baseline: u64) -> Self {
        let found = Found { best: None, evaluations: 0, failed: 0, infeasible: 0, improvements: Vec::new() };
        let draws = Draws::new(task.seed, baseline);
        Self { objective, task, draws, found, failure: None, energies: Vec::new() }
    }

    pub fn dim(&self) -> usize {
        self.task.bounds.len()
    }

    /// The ends of coordinate `k`.
    pub fn ends(&self, k: usize) -> (f64, f64) {
        self.task.bounds[k]
    }

    /// The width of the box along coordinate `k`.
    pub fn width(&self, k: usize) -> f64 {
        let (low, high) = self.task.bounds[k];
        high - low
    }

    /// The part of the budget that is spent.
    pub fn spent(&self) -> f64 {
        self.found.evaluations as f64 / self.task.evaluations as f64
    }

    /// The best point so far.
    pub fn best(&self) -> Option<&Evaluated<f64>> {
        self.found.best.as_ref()
    }

    /// Coordinate `k`, reflected into the box.
    pub fn inside(&self, k: usize, x: f64) -> f64 {
        let (low, high) = self.task.bounds[k];
        reflect(x, low, high)
    }

    /// A point anywhere in the box.
    pub fn anywhere(&mut self) -> Vec<f64> {
        self.task.bounds.iter().map(|(low, high)| self.draws.between(*low, *high)).collect()
    }

    /// Point `index` of the start; beyond its end a point anywhere.
    pub fn start(&mut self, index: usize) -> Vec<f64> {
        let dim = self.dim();
        match self.task.start.get(index * dim..(index + 1) * dim) {
            Some(point) => point.iter().enumerate().map(|(k, x)| self.inside(k, *x)).collect(),
            None => self.anywhere(),
        }
    }

    /// The first `count` points of the start with their values. Where there is none, it is infinite.
    pub fn begin(&mut self, count: usize) -> Result<Vec<Member>, Over> {
        let points: Vec<Vec<f64>> = (0..count).map(|index| self.start(index)).collect();
        self.round(points)
    }

    /// Points with their values.
    pub fn round(&mut self, points: Vec<Vec<f64>>) -> Result<Vec<Member>, Over> {
        let values = self.values(&points.concat())?;
        Ok(points.into_iter().zip(values).map(|(x, value)| Member { x, value }).collect())
    }

    /// The value of a point; infinite where there is none.
    pub fn value(&mut self, x: &[f64]) -> Result<f64, Over> {
        Ok(self.values(x)?[0])
    }

    /// The values of points, one after the other, as many as the budget allows. If that is not all of them, or they end the search, it is
    /// over.
    fn values(&mut self, points: &[f64]) -> Result<Vec<f64>, Over> {
        let dim = self.dim();
        let left = self.task.evaluations - self.found.evaluations;
        let count = usize::try_from(left).unwrap_or(usize::MAX).min(points.len() / dim);
        let rows = Rows::new(&points[..count * dim], dim);
        let mut energies = std::mem::take(&mut self.energies);
        energies.clear();
        energies.resize(count, f64::NAN);
        if count > 0
            && let Err(error) = self.objective.energies(StepContext::default(), rows, &mut energies)
        {
            self.failure = Some(error);
            return Err(Over);
        }
        let values = rows.iter().zip(&energies).map(|(x, energy)| self.note(x, *energy)).collect();
        self.energies = energies;
        let best = self.found.best.as_ref().map_or(f64::INFINITY, |best| best.value);
        let enough = self.task.target.is_some_and(|target| best <= target);
        let spent = self.found.evaluations == self.task.evaluations;
        if enough || spent { Err(Over) } else { Ok(values) }
    }

    /// Counts an evaluation; gives its value as it is compared with others.
    fn note(&mut self, x: &[f64], energy: f64) -> f64 {
        let found = &mut self.found;
        found.evaluations += 1;
        if energy.is_nan() || energy == f64::NEG_INFINITY {
            found.failed += 1;
            return f64::INFINITY;
        }
        if energy == f64::INFINITY {
            found.infeasible += 1;
            return energy;
        }
        if found.best.as_ref().is_none_or(|best| energy < best.value) {
            found.improvements.push(Improvement { evaluation: found.evaluations, value: energy });
            found.best = Some(Evaluated { x: x.to_vec(), value: energy, violation: 0.0 });
        }
        energy
    }

    pub(super) fn end(self) -> Result<Found, EvalError> {
        match self.failure {
            Some(error) => Err(error),
            None => Ok(self.found),
        }
    }
}

/// One of a population.
#[derive(Clone, Debug)]
pub struct Member {
    pub x: Vec<f64>,
    pub value: f64,
}

/// The least value first; equal ones stay in their order.
pub fn sort(members: &mut [Member]) {
    members.sort_by(|a, b| a.value.total_cmp(&b.value));
}
