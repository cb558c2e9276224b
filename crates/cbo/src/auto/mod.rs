//! The tuning-free solver: a driver above the methods, which chooses what they leave to their user.
//!
//! It is the method [`auto`](crate::Method::Auto), and everything that runs can run it: [`solve`](crate::solve),
//! [`resume`](crate::resume) and [`AskTell`](crate::AskTell). It asks for points in rounds, and its own reasoning between two rounds
//! depends on nothing but its settings and the values it was told.
//!
//! Therefore its state is small: the values told so far. To resume a run is to tell them to a new solver, which repeats its own
//! arithmetic but not the evaluations, and is then where the first one was, bit for bit.

mod core;
mod curvature;
mod descent;
mod desk;
mod driver;
mod eigen;
mod evaluate;
mod model;
mod noise;
mod notes;
mod prices;
mod random;
mod regression;
mod rows;
mod run;
mod saved;
mod separable;
mod settings;
mod shape;
mod space;

pub use notes::Phase;
pub(crate) use run::{Run, resume, solve};
pub use settings::Auto;

use crate::config::Plan;
use crate::constraint::violation;
use desk::Desk;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Waker};

/// Up to this dimension the model has all products of coordinates.
const FULL_MODEL: usize = 40;

/// Up to this dimension there is a model at all.
const ANY_MODEL: usize = 100;

/// Evaluations of a run without a limit, for each coordinate.
const MOST_EVALUATIONS: u64 = 10_000;

/// The evaluations of a run whose end is left to the solver.
fn open_budget(dim: usize) -> u64 {
    MOST_EVALUATIONS.saturating_mul(dim as u64)
}

/// The evaluations that a plan allows.
fn budget(plan: &Plan) -> u64 {
    let config = plan.config();
    match (config.max_evaluations, config.max_seconds) {
        (Some(most), _) => most,
        (None, Some(_)) => 1 << 60,
        (None, None) => open_budget(plan.dim()),
    }
}

/// The solver itself, which asks for points and is told their values. [`AskTell`](crate::AskTell) has it with all that belongs to a run.
pub struct Solver {
    desk: Desk,
    work: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    done: bool,
    asked: Vec<f64>,
}

impl fmt::Debug for Solver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Solver").field("desk", &self.desk).field("done", &self.done).finish_non_exhaustive()
    }
}

impl Solver {
    /// A solver at its beginning.
    pub fn new(plan: &Plan) -> Self {
        Self::with(plan, budget(plan), plan.config().batch.unwrap_or(1), 0)
    }

    /// A solver with other limits than those of its plan: evaluations, and the points that a round should have at least; and with this
    /// many constraints.
    #[doc(hidden)]
    pub fn with(plan: &Plan, budget: u64, width: usize, constraints: usize) -> Self {
        let desk = Desk::new(plan, constraints);
        desk.with(|sheet| (sheet.budget, sheet.width) = (budget, width));
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(driver::solve(desk.clone()));
        let mut solver = Self { desk, work: Mutex::new(work), done: false, asked: Vec::new() };
        solver.proceed();
        solver
    }

    /// Lets the phases go on to their next round.
    fn proceed(&mut self) {
        let work = self.work.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.done = self.done || work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        self.desk.with(|sheet| sheet.fill());
        self.lay_out();
    }

    /// The points that wait, in the user's coordinates.
    fn lay_out(&mut self) {
        let asked = &mut self.asked;
        self.desk.with(|sheet| {
            let (dim, waiting) = (sheet.dim(), sheet.waiting());
            asked.resize(waiting.len(), 0.0);
            for (u, x) in waiting.chunks_exact(dim).zip(asked.chunks_exact_mut(dim)) {
                sheet.space.to_user(u, x);
            }
        });
    }

    /// The points to evaluate, one after the other; none when it is over.
    pub fn ask(&self) -> &[f64] {
        &self.asked
    }

    /// Takes the values of the points asked for. NaN and minus infinity are failures, infinity is an infeasible point.
    ///
    /// # Panics
    /// If there are not as many values as points, or if there are constraints.
    pub fn tell(&mut self, values: &[f64]) {
        self.tell_constrained(values, &[]);
    }

    /// Takes the values of the points asked for and their constraints, those of the first point first.
    ///
    /// # Panics
    /// If there are not as many values and constraints as the points have.
    pub fn tell_constrained(&mut self, values: &[f64], constraints: &[f64]) {
        let complete = self.desk.with(|sheet| {
            assert_eq!(values.len() * sheet.dim(), sheet.waiting().len(), "values for points");
            assert_eq!(constraints.len(), values.len() * sheet.constraints(), "constraints for points");
            sheet.take(values, constraints)
        });
        if complete && !self.done { self.proceed() } else { self.lay_out() }
    }

    /// Whether it stopped by itself, because nothing more pays.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Allows this many evaluations from now on.
    pub(crate) fn allow(&mut self, budget: u64) {
        self.desk.with(|sheet| sheet.budget = budget);
        self.lay_out();
    }

    /// The best value.
    pub fn best(&self) -> f64 {
        self.desk.best()
    }

    /// Whether the function was seen to be noisy.
    fn is_noisy(&self) -> bool {
        noise::is_known(&self.desk)
    }

    /// Writes down the best point in the user's coordinates; gives its value, how far that may be off, and how far the point violates its
    /// constraints.
    fn incumbent(&self, x: &mut [f64]) -> (f64, f64, f64) {
        self.desk.with(|sheet| {
            sheet.space.to_user(&sheet.best.0, x);
            let doubt = sheet.noise.as_ref().map_or(0.0, noise::Noise::doubt);
            match sheet.prices.as_ref().map(|prices| &prices.best[..]) {
                Some([energy, constraints @ ..]) if violation(constraints) > 0.0 => {
                    (*energy, doubt, violation(constraints))
                }
                _ => (sheet.best.1, doubt, 0.0),
            }
        })
    }

    /// What a violation of each constraint costs.
    fn penalties(&self) -> Vec<f64> {
        self.desk.with(|sheet| sheet.prices.as_ref().map_or(Vec::new(), |prices| prices.penalty.weights().to_vec()))
    }

    /// What it saw and why it did what it did.
    pub fn sentences(&self) -> Vec<String> {
        let mut sentences = self.desk.with(|sheet| sheet.notes.sentences.clone());
        let (known, times) = self.desk.with(|sheet| sheet.notes.basins);
        if known > 1 {
            sentences.push(format!("Runs ended in {known} different places; {times} of them where the last one did."));
        }
        sentences.extend(self.desk.sentence_of_prices());
        sentences.extend(self.desk.with(|sheet| sheet.noise.as_ref().map(noise::Noise::sentence)));
        let dim = self.desk.dim();
        let covariance = self.desk.with(|sheet| sheet.covariance().map(<[f64]>::to_vec));
        if let Some(covariance) = covariance.filter(|_| dim > 1 && dim <= FULL_MODEL) {
            let values = eigen::eigen(dim, &covariance).0;
            let ratio = values[dim - 1] / values[0];
            sentences.push(format!(
                "Around the best point the condition number is about {ratio:.1e}, in units of the start."
            ));
        }
        sentences
    }

    /// The phases that ended.
    pub fn phases(&self) -> Vec<Phase> {
        self.desk.with(|sheet| sheet.notes.phases.clone())
    }

    /// Why it stopped by itself.
    fn verdict(&self) -> Option<String> {
        self.desk.with(|sheet| sheet.notes.verdict.clone())
    }

    /// Writes down where the particles agree, in the user's coordinates; gives their relative distance and how many count.
    fn consensus(&self, x: &mut [f64]) -> (f64, f64) {
        self.desk.with(|sheet| {
            sheet.space.to_user(&sheet.consensus, x);
            (sheet.step, sheet.effective)
        })
    }

    /// The covariance at the minimum in the user's units, row by row, if it is known.
    fn covariance(&self) -> Option<Vec<f64>> {
        self.desk.with(|sheet| {
            let (width, dim) = (sheet.space.width(), sheet.dim());
            let scaled = |(i, c): (usize, &f64)| c * width[i / dim] * width[i % dim];
            sheet.covariance().map(|covariance| covariance.iter().enumerate().map(scaled).collect())
        })
    }
}
