//! The solver: consensus point, one implicit step of the density, one exact step of the frame.

use super::consensus;
use super::generator::Generator;
use super::grid::{Grid, REACH, spacing};
use super::law::Law;
use super::settings::{Motion, Settings, mean_and_deviation};
use cbo::{ConfigError, EvalError, InitialLaw, Objective};
use rayon::prelude::*;
use std::sync::Arc;

/// Why a mean-field run cannot begin or continue.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MeanFieldError {
    /// A setting is wrong.
    #[error(transparent)]
    Setting(#[from] ConfigError),
    /// The objective gave up.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    /// Nothing to agree on.
    #[error("the objective is not finite anywhere the law has mass; start where it is defined")]
    NoFiniteEnergy,
    /// The weights sit where the grid says nothing.
    #[error(
        "init: the weights exp(-alpha E) sit beyond the grid, too far from the law or at infinity; start nearer to the \
         minimum, or with a wider law"
    )]
    WeightsBeyondGrid,
    /// The cells are wider than the law about its consensus point.
    #[error(
        "cells: at time {time} they are {coarseness:.3} times as wide as the law about its consensus point is, at most \
         {MOST_COARSENESS} can be trusted; take more cells, less sigma, or a start nearer to the consensus point"
    )]
    Unresolved {
        /// When.
        time: f64,
        /// The mean width of a cell over the mean distance to the consensus point.
        coarseness: f64,
    },
}

/// The most that [`MeanField::coarseness`] may be: that of the coarsest grid that [`Settings::check`] admits, with room.
const MOST_COARSENESS: f64 = 0.4;

/// Standard deviations between a law and its consensus point, at most. The tails of farther laws are so thin that the time
/// step fills them with more mass than they have.
const FARTHEST: f64 = 21.0;

/// Standard deviations beyond which a normal law has no mass that is a positive number.
const LAST_MASS: f64 = 38.0;

/// The mean-field law over time.
///
/// ```
/// use cbo::{Coordinates, InitialLaw};
/// use cbo_lab::meanfield::{MeanField, Motion, Settings};
/// use cbo_problems::Problem;
///
/// let rastrigin = Problem::named("rastrigin", 1)?;
/// let settings = Settings {
///     lambda: 1.0,
///     sigma: 0.32,
///     alpha: 30.0,
///     dt: 0.01,
///     time: 1.0,
///     cells: 200,
///     init: InitialLaw::Normal { mean: Coordinates::All(1.0), variance: Coordinates::All(1.0) },
///     freeze: None,
///     motion: Motion::Continuous,
/// };
/// let mut field = MeanField::new(&settings, &rastrigin)?;
/// while field.time() < 1.0 {
///     field.advance()?;
/// }
/// assert!(field.consensus()[0].abs() < 0.01);
/// assert!((field.law().mass() - 1.0).abs() < 1e-12);
/// assert!((field.law().mean()[0] - (-1.0f64).exp()).abs() < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MeanField<'a, O> {
    settings: Settings,
    objective: &'a O,
    law: Law,
    step: u64,
    /// The consensus point in the frame.
    y_a: Vec<f64>,
    scratch: Vec<f64>,
}

impl<'a, O: Objective<f64>> MeanField<'a, O> {
    /// The law at time 0.
    pub fn new(settings: &Settings, objective: &'a O) -> Result<Self, MeanFieldError> {
        settings.check(objective.dim())?;
        let law = initial_law(settings, objective)?;
        let mut field =
            Self { settings: settings.clone(), objective, law, step: 0, y_a: Vec::new(), scratch: Vec::new() };
        field.y_a = field.agree(&field.law)?;
        Ok(field)
    }

    /// The time.
    pub fn time(&self) -> f64 {
        self.step as f64 * self.settings.dt
    }

    /// Steps taken.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The consensus point `v_alpha(rho_t)`, or the frozen one.
    pub fn consensus(&self) -> Vec<f64> {
        match &self.settings.freeze {
            Some(point) => point.clone(),
            None => (0..self.law.dim()).map(|k| self.law.origin[k] + self.law.scale[k] * self.y_a[k]).collect(),
        }
    }

    /// The law.
    pub fn law(&self) -> &Law {
        &self.law
    }

    /// The mean width of a cell over the mean distance to the consensus point, the largest of the coordinates.
    fn coarseness(&self) -> f64 {
        let each = |k: usize| {
            let (marginal, grid) = (self.law.marginal(k), &self.law.grids[k]);
            let (mut width, mut distance) = (0.0, 0.0);
            for (i, mass) in marginal.masses().iter().enumerate() {
                width += mass * grid.width(i);
                distance += mass * (grid.nodes[i] - self.y_a[k]).abs();
            }
            width / distance
        };
        (0..self.law.dim()).map(each).fold(0.0, f64::max)
    }

    /// Refuses a law that the grid does not resolve.
    pub fn check_resolution(&self) -> Result<(), MeanFieldError> {
        match self.coarseness() {
            coarseness if coarseness <= MOST_COARSENESS => Ok(()),
            coarseness => Err(MeanFieldError::Unresolved { time: self.time(), coarseness }),
        }
    }

    /// Takes one step of length dt.
    pub fn advance(&mut self) -> Result<(), MeanFieldError> {
        let before = self.law.clone();
        self.move_law(&self.y_a.clone());
        if self.settings.motion == Motion::Continuous && self.settings.freeze.is_none() {
            // The consensus point at the end, as the first attempt has it, gives that of the middle of the step.
            let end = self.agree(&self.law)?;
            let middle: Vec<f64> = (0..before.dim())
                .map(|k| {
                    let moved = (self.law.origin[k] - before.origin[k]) / before.scale[k];
                    let at_end = moved + end[k] * self.law.scale[k] / before.scale[k];
                    0.5 * (self.y_a[k] + at_end)
                })
                .collect();
            self.law = before;
            self.move_law(&middle);
        }
        self.y_a = self.agree(&self.law)?;
        self.step += 1;
        Ok(())
    }

    /// The consensus point of a law, in its frame.
    fn agree(&self, law: &Law) -> Result<Vec<f64>, MeanFieldError> {
        match &self.settings.freeze {
            Some(point) => Ok((0..law.dim()).map(|k| (point[k] - law.origin[k]) / law.scale[k]).collect()),
            None => consensus::in_frame(self.objective, law, self.settings.alpha),
        }
    }

    /// Moves density and frame by one step towards the point that is `y_a` in the frame of its beginning.
    fn move_law(&mut self, y_a: &[f64]) {
        let Settings { lambda, sigma, dt, motion, .. } = self.settings;
        let (kept, shrunk) = match motion {
            Motion::Continuous => ((-lambda * dt).exp(), (-(lambda - 0.5 * sigma * sigma) * dt).exp()),
            Motion::EulerMaruyama => {
                let kept = 1.0 - lambda * dt;
                (kept, (kept * kept + sigma * sigma * dt).sqrt())
            }
        };
        // Seen from the frame, a point at rest moves; the density is told of its place in the middle of the step.
        let halfway = (kept / shrunk).sqrt();
        // sigma^2 dt/2 to first order. So chosen, the implicit step multiplies the mean in the frame by 1/(1 + strength) =
        // kept/shrunk, and mean and mean square of the law move exactly while the consensus point rests.
        let strength = shrunk / kept - 1.0;
        let generators: Vec<Generator> =
            self.law.grids.iter().zip(y_a).map(|(grid, y_a)| Generator::new(grid, y_a * halfway, strength)).collect();
        diffuse(&mut self.law.masses, &generators, &mut self.scratch);
        for (k, y_a) in y_a.iter().enumerate() {
            // a + (b - a) kept, with a - b = s y_a.
            self.law.origin[k] += self.law.scale[k] * y_a * (1.0 - kept);
            self.law.scale[k] *= shrunk;
        }
    }
}

/// One step of the density: along the lines of each coordinate, since their generators commute.
fn diffuse(masses: &mut Vec<f64>, generators: &[Generator], scratch: &mut Vec<f64>) {
    let [slow, fast] = generators else {
        generators.iter().for_each(|generator| generator.step(masses));
        return;
    };
    let width = fast.len();
    masses.par_chunks_exact_mut(width).for_each(|row| fast.step(row));
    transpose(masses, scratch, width);
    scratch.par_chunks_exact_mut(slow.len()).for_each(|column| slow.step(column));
    transpose(scratch, masses, slow.len());
}

/// Writes the rows of `from`, each `width` long, as the columns of `to`.
fn transpose(from: &[f64], to: &mut Vec<f64>, width: usize) {
    let height = from.len() / width;
    to.resize(from.len(), 0.0);
    to.par_chunks_exact_mut(height).enumerate().for_each(|(column, line)| {
        for (value, row) in line.iter_mut().zip(from.chunks_exact(width)) {
            *value = row[column];
        }
    });
}

/// The consensus point is the origin for a law no farther from it than this many standard deviations, or if cells there are
/// still narrower than this fraction of one.
const NEAR: f64 = 3.0;
const NARROW: f64 = 0.3;

/// The law at time 0, on grids wide enough for the noise until the time horizon, seen from the consensus point.
///
/// Any origin that moves like the frame would do. In one that starts at the consensus point the drift vanishes where the
/// diffusion does, so that the generator needs no help from the donor's side, and the finest cells lie where the weights
/// do. A law far from that point would itself be in coarse cells; its frame starts at the mean.
fn initial_law(settings: &Settings, objective: &impl Objective<f64>) -> Result<Law, MeanFieldError> {
    let noise = settings.sigma * settings.sigma * settings.time;
    let (means, deviations): (Vec<f64>, Vec<f64>) =
        (0..objective.dim()).map(|k| mean_and_deviation(&settings.init, k)).unzip();
    let seen_from = |origin: Vec<f64>, reach: &[f64]| {
        let grids = reach.iter().map(|y| Arc::new(Grid::new(settings.cells, noise, y.abs()))).collect();
        Law::new(&settings.init, grids, origin)
    };
    let offsets: Vec<f64> = match &settings.freeze {
        Some(point) => point.iter().zip(&means).zip(&deviations).map(|((p, m), d)| (p - m) / d).collect(),
        None => {
            // As wide as any mass of the law: the weights may sit in its farthest tail.
            let from_mean = seen_from(means.clone(), &vec![LAST_MASS - REACH; means.len()]);
            let offsets = consensus::in_frame(objective, &from_mean, settings.alpha)?;
            offsets.iter().try_for_each(|y| check_distance(settings, *y))?;
            offsets
        }
    };
    let is_near = |y: &f64| y.abs() <= NEAR.max(NARROW / spacing(settings.cells, noise, y.abs()));
    let place = |k: usize| if is_near(&offsets[k]) { means[k] + deviations[k] * offsets[k] } else { means[k] };
    let origin = match &settings.freeze {
        // Exactly there, not up to rounding.
        Some(point) if offsets.iter().all(is_near) => point.clone(),
        _ => (0..means.len()).map(place).collect(),
    };
    Ok(seen_from(origin, &offsets))
}

/// A consensus point in the outer 3 % of a box is at its end, up to the width of a cell.
const BOX_END: f64 = 0.97;

/// Refuses a law that starts too far from its consensus point, in standard deviations; and a box with this point at its end,
/// where infinite alpha would hold it for all time, since no mass can pass it except what the grid smears.
fn check_distance(settings: &Settings, offset: f64) -> Result<(), MeanFieldError> {
    let boxed = matches!(settings.init, InitialLaw::Uniform { .. });
    if boxed && settings.alpha == f64::INFINITY && offset.abs() > BOX_END * 3f64.sqrt() {
        let value = "uniform, with its consensus point at the end of the box".into();
        let remedy = "at alpha = inf the box must contain the minimum, or take a finite alpha or a normal law".into();
        return Err(ConfigError { field: "init", value, remedy }.into());
    }
    if offset.abs() <= FARTHEST {
        return Ok(());
    }
    let value = format!("a law {:.0} standard deviations from its consensus point", offset.abs());
    let remedy = format!("at most {FARTHEST} can be resolved; start nearer to the minimum, or with a wider law");
    Err(ConfigError { field: "init", value, remedy }.into())
}
