//! The tuning-free solver: a driver above the methods.

mod core;
mod descent;
mod desk;
mod driver;
mod linear;
mod model;
mod notes;
mod random;
mod separable;
mod space;

pub use notes::Phase;

use crate::config::Plan;
use desk::Desk;
use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Waker};

/// Up to this dimension the model has all products of coordinates.
const FULL_MODEL: usize = 40;

/// Evaluations of a run without a limit.
fn most_evaluations(dim: usize) -> u64 {
    10_000 * dim as u64
}

/// The solver, which asks for points and is told their values.
pub struct Solver {
    desk: Desk,
    work: Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>,
    done: bool,
    asked: Vec<f64>,
}

impl Solver {
    /// A solver at its beginning.
    pub fn new(plan: &Plan) -> Self {
        let desk = Desk::new(plan);
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(driver::solve(desk.clone()));
        let mut auto = Self { desk, work: Mutex::new(work), done: false, asked: Vec::new() };
        auto.proceed();
        auto
    }

    /// For experiments.
    pub fn with(plan: &Plan, budget: u64, width: usize) -> Self {
        let desk = Desk::new(plan);
        desk.with(|sheet| (sheet.budget, sheet.width) = (budget, width));
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(driver::solve(desk.clone()));
        let mut auto = Self { desk, work: Mutex::new(work), done: false, asked: Vec::new() };
        auto.proceed();
        auto
    }

    fn proceed(&mut self) {
        let work = self.work.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        self.done = work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        let asked = &mut self.asked;
        self.desk.with(|sheet| {
            let (dim, count) = (sheet.dim(), sheet.allowed());
            asked.resize(count * dim, 0.0);
            for (u, x) in sheet.asked.chunks_exact(dim).zip(asked.chunks_exact_mut(dim)) {
                sheet.space.to_user(u, x);
            }
        });
    }

    /// The points to evaluate, one after the other; none when it is over.
    pub fn ask(&self) -> &[f64] {
        &self.asked
    }

    /// Takes the values of the points asked for.
    pub fn tell(&mut self, values: &[f64]) {
        self.desk.with(|sheet| sheet.take(values));
        self.proceed();
    }

    /// The best value.
    pub fn best(&self) -> f64 {
        self.desk.best()
    }

    /// What it says.
    pub fn sentences(&self) -> Vec<String> {
        self.desk.with(|sheet| sheet.notes.sentences.clone())
    }
}

/// For experiments: TUNE="name=value,..." in the environment.
pub(crate) fn tune(name: &str, default: f64) -> f64 {
    use std::collections::HashMap;
    use std::sync::OnceLock;
    static ALL: OnceLock<HashMap<String, f64>> = OnceLock::new();
    let all = ALL.get_or_init(|| {
        let text = std::env::var("TUNE").unwrap_or_default();
        text.split(',').filter_map(|p| p.split_once('=')).map(|(k, v)| (k.to_string(), v.parse().unwrap())).collect()
    });
    all.get(name).copied().unwrap_or(default)
}
