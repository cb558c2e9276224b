//! Where the phases of the solver leave points to be evaluated and find their values.
//!
//! A phase is an `async` function: it reads from top to bottom, and every `await` is a round of evaluations. Several phases that are
//! [joined](together) share their rounds. Nothing runs in the background: [`Solver`](super::Solver) polls.

use super::Auto;
use super::noise::Noise;
use super::notes::{Notes, Phase};
use super::prices::Prices;
use super::random::Random;
use super::space::Space;
use crate::config::Plan;
use crate::method::Method;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

/// The first of the random sequences that fill rounds.
const FILLERS: u64 = 1 << 23;

/// The desk, shared by all phases.
#[derive(Clone, Debug)]
pub(super) struct Desk(Arc<Mutex<Sheet>>);

/// What lies on it.
#[derive(Debug)]
pub(super) struct Sheet {
    pub space: Space,
    /// The points of this round in the unit box, one after the other.
    pub asked: Vec<f64>,
    /// The values told: of the round before, or of the first points of this one if the budget cut it. Failures and infeasible points
    /// are infinite.
    pub values: Vec<f64>,
    /// Points of this round whose values are told.
    told: usize,
    round: u64,
    /// Evaluations told.
    pub spent: u64,
    /// Evaluations allowed.
    pub budget: u64,
    /// The best point in the unit box, and its value: of a noisy function the mean of its values.
    pub best: (Vec<f64>, f64),
    /// The first value that was finite.
    pub first: Option<f64>,
    /// What violations cost, if there are constraints. Values are then prices.
    pub prices: Option<Prices>,
    /// What is known of the noise, if there is any.
    pub noise: Option<Noise>,
    /// Points that a round should have at least.
    pub width: usize,
    pub seed: u64,
    /// Whether only the start is polished: no other runs.
    pub local: bool,
    /// Where the particles agree now, in the unit box.
    pub consensus: Vec<f64>,
    /// How far they are apart, relative to the unit box.
    pub step: f64,
    /// How many of them count.
    pub effective: f64,
    /// The covariance at a minimum in the unit box, row by row, once it is known, and that minimum.
    pub covariance: Option<(Vec<f64>, Vec<f64>)>,
    /// What was noticed and done.
    pub notes: Notes,
}

impl Sheet {
    pub fn dim(&self) -> usize {
        self.space.dim()
    }

    pub fn left(&self) -> u64 {
        self.budget.saturating_sub(self.spent)
    }

    /// The best value: under constraints that of the best point that meets them, or the best price as long as there is none.
    fn best_value(&self) -> f64 {
        let feasible = self.prices.as_ref().and_then(|prices| prices.feasible.as_ref());
        feasible.filter(|_| self.noise.is_none()).map_or(self.best.1, |(_, parts)| parts[0])
    }

    /// How many constraints a point has.
    pub fn constraints(&self) -> usize {
        self.prices.as_ref().map_or(0, |prices| prices.penalty.count())
    }

    /// The covariance, if it is that at the best point.
    pub fn covariance(&self) -> Option<&[f64]> {
        self.covariance
            .as_ref()
            .filter(|(_, place)| is_near(place, &self.best.0))
            .map(|(covariance, _)| &covariance[..])
    }

    /// Whether the solver decides when to stop.
    pub fn is_open(&self) -> bool {
        self.budget == super::open_budget(self.dim())
    }

    /// Fills a round that has fewer points than it should with random ones: whoever evaluates several at once loses nothing by them.
    pub fn fill(&mut self) {
        let (dim, asked) = (self.dim(), self.asked.len() / self.dim());
        if asked == 0 || asked >= self.width {
            return;
        }
        let u = Random::new(self.seed, FILLERS + self.round).uniforms((self.width - asked) * dim);
        let place = |(k, u): (usize, &f64)| {
            let (low, high) = self.space.start[k % dim];
            low + u * (high - low)
        };
        let points: Vec<f64> = u.iter().enumerate().map(place).collect();
        self.asked.extend(points);
    }

    /// The points of the round that wait for their values, as many as the budget allows.
    pub fn waiting(&self) -> &[f64] {
        let waiting = &self.asked[self.told * self.dim()..];
        let allowed = usize::try_from(self.left()).unwrap_or(usize::MAX).saturating_mul(self.dim());
        &waiting[..allowed.min(waiting.len())]
    }

    /// Takes the values of the points that [wait](Self::waiting), and their constraints. Tells whether the round is complete: one that the
    /// budget cut is not.
    pub fn take(&mut self, values: &[f64], constraints: &[f64]) -> bool {
        let (dim, count) = (self.dim(), self.constraints());
        if self.told == 0 {
            self.values.clear();
            self.prices.iter_mut().for_each(|prices| prices.told.clear());
        }
        for (i, (x, &value)) in self.asked[self.told * dim..].chunks_exact(dim).zip(values).enumerate() {
            let value = if value.is_nan() || value == f64::NEG_INFINITY { f64::INFINITY } else { value };
            let constraints = &constraints[i * count..(i + 1) * count];
            let price = self.prices.as_mut().map_or(Some(value), |prices| prices.take(x, value, constraints));
            let value = price.unwrap_or(f64::INFINITY);
            if self.first.is_none() && value.is_finite() {
                self.first = Some(value);
            }
            if value < self.best.1 && self.noise.is_none() {
                self.best.0.copy_from_slice(x);
                self.best.1 = value;
                if let Some(prices) = &mut self.prices {
                    prices.best = prices.told[prices.told.len() - (1 + count)..].to_vec();
                }
            }
            self.values.push(value);
        }
        self.told += values.len();
        self.spent += values.len() as u64;
        let complete = self.told * dim == self.asked.len();
        if complete {
            self.asked.clear();
            (self.told, self.round) = (0, self.round + 1);
        }
        complete
    }
}

impl Desk {
    /// The desk of a solver whose points have this many constraints.
    pub fn new(plan: &Plan, constraints: usize) -> Self {
        let config = plan.config();
        let local = matches!(config.method, Method::Auto(Auto { local: true }));
        let space = Space::new(plan, local);
        Self(Arc::new(Mutex::new(Sheet {
            asked: Vec::new(),
            values: Vec::new(),
            told: 0,
            round: 0,
            spent: 0,
            budget: super::budget(plan),
            best: (vec![0.5; plan.dim()], f64::INFINITY),
            first: None,
            prices: Prices::new(constraints),
            noise: None,
            width: config.batch.unwrap_or(1),
            seed: config.seed,
            local,
            consensus: space.start.iter().map(|(low, high)| 0.5 * (low + high)).collect(),
            step: 1.0,
            effective: 1.0,
            covariance: None,
            notes: Notes::default(),
            space,
        })))
    }

    fn sheet(&self) -> MutexGuard<'_, Sheet> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads or changes what lies on the desk.
    pub fn with<R>(&self, what: impl FnOnce(&mut Sheet) -> R) -> R {
        what(&mut self.sheet())
    }

    pub fn dim(&self) -> usize {
        self.with(|sheet| sheet.dim())
    }

    /// Points that a round should have at least.
    pub fn width(&self) -> usize {
        self.with(|sheet| sheet.width)
    }

    pub fn left(&self) -> u64 {
        self.with(|sheet| sheet.left())
    }

    /// Notes that a phase ended, and why.
    pub fn note(&self, name: &str, end: &str) {
        self.with(|sheet| {
            let from = sheet.notes.phases.last().map_or(0, |phase| phase.to);
            let (to, best) = (sheet.spent, sheet.best_value());
            sheet.notes.phases.push(Phase { name: name.into(), from, to, best, end: end.into() });
        });
    }

    /// Explains something, in a sentence.
    pub fn say(&self, sentence: String) {
        self.with(|sheet| sheet.notes.sentences.push(sentence));
    }

    /// The best value so far.
    pub fn best(&self) -> f64 {
        self.with(|sheet| sheet.best.1)
    }

    /// Evaluates points of the unit box, one after the other in `points`. A round that the budget cuts does not come back until a
    /// larger one allows the rest.
    pub fn evaluate(&self, points: &[f64]) -> Round<'_> {
        Round { desk: self, points: points.to_vec(), at: None }
    }

    /// The same, with the energy and the constraints of each point, which make its value; nothing if there are no constraints.
    pub async fn evaluate_parts(&self, points: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mut round = self.evaluate(points);
        let values = Pin::new(&mut round).await;
        let parts = self.with(|sheet| match (&sheet.prices, round.at) {
            (Some(prices), Some((_, from))) => {
                prices.told[from * prices.width()..(from + values.len()) * prices.width()].to_vec()
            }
            _ => Vec::new(),
        });
        (values, parts)
    }

    /// The value of one point.
    pub async fn value(&self, point: &[f64]) -> f64 {
        self.evaluate(point).await[0]
    }
}

/// Points on their way.
pub(super) struct Round<'a> {
    desk: &'a Desk,
    points: Vec<f64>,
    at: Option<(u64, usize)>,
}

impl Future for Round<'_> {
    type Output = Vec<f64>;

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Vec<f64>> {
        let mut sheet = self.desk.sheet();
        let (dim, round) = (sheet.dim(), sheet.round);
        match self.at {
            None => {
                if self.points.is_empty() {
                    return Poll::Ready(Vec::new());
                }
                let from = sheet.asked.len() / dim;
                sheet.asked.extend_from_slice(&self.points);
                drop(sheet);
                self.at = Some((round, from));
                Poll::Pending
            }
            Some((asked, _)) if asked == round => Poll::Pending,
            Some((_, from)) => match sheet.values.get(from..from + self.points.len() / dim) {
                Some(values) => Poll::Ready(values.to_vec()),
                None => Poll::Pending,
            },
        }
    }
}

/// Phases side by side: each round has the points of all that go on.
pub(super) struct Together<'a, T> {
    phases: Vec<(Option<Running<'a, T>>, Option<T>)>,
}

/// A phase that goes on.
type Running<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs `phases` side by side and gives what they return, in their order.
pub(super) fn together<'a, T, F: Future<Output = T> + Send + 'a>(phases: impl Iterator<Item = F>) -> Together<'a, T> {
    Together { phases: phases.map(|phase| (Some(Box::pin(phase) as _), None)).collect() }
}

impl<T> Unpin for Together<'_, T> {}

impl<T> Future for Together<'_, T> {
    type Output = Vec<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<T>> {
        for (phase, result) in &mut self.phases {
            if let Some(running) = phase
                && let Poll::Ready(value) = running.as_mut().poll(context)
            {
                (*phase, *result) = (None, Some(value));
            }
        }
        if self.phases.iter().any(|(phase, _)| phase.is_some()) {
            return Poll::Pending;
        }
        Poll::Ready(self.phases.drain(..).filter_map(|(_, result)| result).collect())
    }
}

/// Whether two points are the same minimum.
pub(super) fn is_near(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-3)
}
