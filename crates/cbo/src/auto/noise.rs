//! Noisy functions: how noise is noticed, and how the best point is chosen when no single value can be trusted.
//!
//! The best point is then an incumbent with the mean of its evaluations. A challenger takes its place when it has been evaluated often
//! enough and its mean is better, as in SMAC (Hutter, Hoos and Leyton-Brown 2011, doi:10.1007/978-3-642-25566-3_40).

use super::desk::{Desk, Sheet};

/// Two values of one point that differ by no more than this, relative to their size, differ by rounding.
const ROUNDING: f64 = 1e-13;
/// The test for noise is made if there are so many evaluations for each coordinate.
const WORTH_TESTING: u64 = 10;
/// One in so many evaluations may compare the incumbent with challengers.
const SHARE: u64 = 8;
/// A challenger is evaluated so many times at least before it takes over, or so many if it is clearly better.
const FEWEST: f64 = 4.0;
const FEWEST_CLEAR: f64 = 2.0;
/// Standard errors of a difference that leave no doubt.
const CLEAR: f64 = 3.0;
/// The last part of the evaluations confirms the incumbent: one in so many, no fewer and no more than this.
const LAST_PART: u64 = 16;
const LAST_FEWEST: u64 = 10;
const LAST_MOST: u64 = 100;
/// A run ends after one in so many evaluations if noise hides the differences between its particles, also without a limit.
const RUN: u64 = 8;
const OPEN_RUN: u64 = 32;
/// How much an estimate of the variance is worth after the next one.
const REMEMBERED: f64 = 0.97;
/// Noise has fallen if the variance of a new incumbent is less than one in so many of what it was.
const FALLEN: f64 = 4.0;
/// Noise hides the differences of values whose variance is less than so many times its own.
const HIDDEN: f64 = 1.5;

/// The evaluations of one point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub count: f64,
    pub mean: f64,
    /// Squared deviations from the mean, added up.
    squares: f64,
}

impl Tally {
    /// Counts a value. Gives an estimate of the variance if it is not the first.
    fn add(&mut self, value: f64) -> Option<f64> {
        let (before, gap) = (self.count, value - self.mean);
        self.count += 1.0;
        self.mean += gap / self.count;
        let square = gap * gap * before / self.count;
        self.squares += square;
        (before > 0.0).then_some(square)
    }
}

/// What is known of a noisy function.
#[derive(Clone, Debug)]
pub(super) struct Noise {
    /// The evaluations of the best point.
    pub incumbent: Tally,
    /// The run whose mean it was.
    run: u64,
    /// Estimates of the variance, added up, and how many they are; older ones count less.
    variance: (f64, f64),
    /// Evaluations before noise was noticed, and those that compared points since.
    from: u64,
    used: u64,
}

impl Noise {
    /// The variance of a value near the best point.
    pub fn variance(&self) -> f64 {
        self.variance.0 / self.variance.1
    }

    /// The standard error of the best value.
    pub fn error(&self) -> f64 {
        (self.variance() / self.incumbent.count).sqrt()
    }

    /// How far the best value may be from the true one; anything, after too few evaluations.
    pub fn doubt(&self) -> f64 {
        if self.incumbent.count < FEWEST { f64::INFINITY } else { self.error() }
    }

    /// How well the best value is known, in a sentence.
    pub fn sentence(&self) -> String {
        let Tally { count, mean, .. } = self.incumbent;
        format!(
            "The best value, {mean:.6e}, is the mean of {count} evaluations; its standard error is {:.1e}.",
            self.error()
        )
    }

    fn estimate(&mut self, variance: Option<f64>) {
        if let Some(variance) = variance {
            self.variance.0 = REMEMBERED * self.variance.0 + variance;
            self.variance.1 = REMEMBERED * self.variance.1 + 1.0;
        }
    }
}

/// What becomes of a challenger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Dropped,
    /// It needs more evaluations.
    Open,
    Better,
}

impl Sheet {
    /// Whether the last part of the evaluations has begun, in which the best point of a noisy function is confirmed.
    fn is_last_part(&self) -> bool {
        self.noise.is_some() && self.left() <= (self.budget / LAST_PART).clamp(LAST_FEWEST, LAST_MOST)
    }

    /// Whether points may be compared now.
    fn may_compare(&self) -> bool {
        let since = |noise: &Noise| noise.used * SHARE <= self.spent - noise.from;
        self.noise.as_ref().is_some_and(since)
    }

    /// What the value of a new best point consists of, if there are constraints: it was the first of the round.
    fn best_is_first_told(&mut self) {
        if let Some(prices) = &mut self.prices {
            prices.best = prices.told[..prices.width()].to_vec();
        }
    }

    /// Counts evaluations of the incumbent.
    fn confirm(&mut self, values: &[f64]) {
        let Some(noise) = &mut self.noise else { return };
        for &value in values.iter().filter(|value| value.is_finite()) {
            let estimate = noise.incumbent.add(value);
            noise.estimate(estimate);
        }
        noise.used += values.len() as u64;
        self.best.1 = noise.incumbent.mean;
    }

    /// Counts evaluations of a challenger from `run`.
    fn compare(&mut self, point: &[f64], run: u64, tally: &mut Tally, values: &[f64]) -> Verdict {
        let Some(noise) = &mut self.noise else { return Verdict::Dropped };
        noise.used += values.len() as u64;
        if values.iter().any(|v| v.is_infinite()) {
            return Verdict::Dropped;
        }
        for &value in values {
            let estimate = tally.add(value);
            noise.estimate(estimate);
        }
        let incumbent = noise.incumbent;
        let error = (noise.variance() * (1.0 / tally.count + 1.0 / incumbent.count)).sqrt();
        // A run gets better as it goes on: its new mean need not prove that, only that it is not worse.
        let margin = if run == noise.run { error } else { 0.0 };
        let gain = incumbent.mean - tally.mean;
        if gain <= -margin {
            return Verdict::Dropped;
        }
        let enough = if gain > CLEAR * error { FEWEST_CLEAR } else { FEWEST.max(incumbent.count) };
        if tally.count < enough {
            return Verdict::Open;
        }
        (noise.incumbent, noise.run) = (*tally, run);
        // Noise may depend on the place.
        let own = tally.squares / (tally.count - 1.0);
        if tally.count >= FEWEST && own < noise.variance() / FALLEN {
            noise.variance = (tally.squares, tally.count - 1.0);
        }
        self.best = (point.to_vec(), tally.mean);
        self.best_is_first_told();
        Verdict::Better
    }
}

/// Evaluates the best point again, to see whether the function is noisy. Once that is known, it is known for good.
pub(super) async fn look(desk: &Desk) {
    let (point, value) = desk.with(|sheet| sheet.best.clone());
    let known = desk.with(|sheet| sheet.noise.is_some());
    if known || !value.is_finite() || desk.left() < WORTH_TESTING * desk.dim() as u64 {
        return;
    }
    let again = desk.value(&point).await;
    let gap = (again - value).abs();
    if !gap.is_finite() || gap <= ROUNDING * value.abs().max(again.abs()) {
        return;
    }
    desk.with(|sheet| {
        // The old value was the best of several: it does not count.
        let incumbent = Tally { count: 1.0, mean: again, squares: 0.0 };
        let variance = (0.5 * gap * gap, 1.0);
        sheet.best = (point, again);
        sheet.best_is_first_told();
        sheet.noise = Some(Noise { incumbent, run: 0, variance, from: sheet.spent, used: 0 });
    });
    desk.say(format!(
        "The function is noisy: a point had the value {value:.6e} and then {again:.6e}. So the best point is judged by the mean of \
         several evaluations."
    ));
}

/// Whether the function is known to be noisy.
pub(super) fn is_known(desk: &Desk) -> bool {
    desk.with(|sheet| sheet.noise.is_some())
}

/// The variance of a value near the best point of a noisy function.
pub(super) fn variance(desk: &Desk) -> f64 {
    desk.with(|sheet| sheet.noise.as_ref().map_or(0.0, Noise::variance))
}

/// Whether points may be compared now.
pub(super) fn may_compare(desk: &Desk) -> bool {
    desk.with(|sheet| sheet.may_compare())
}

/// The run whose mean the best point was.
pub(super) fn holder(desk: &Desk) -> Option<u64> {
    desk.with(|sheet| sheet.noise.as_ref().map(|noise| noise.run))
}

/// A run amid noise whose mean has a larger value than this will not reach the best one.
pub(super) fn reach(desk: &Desk) -> f64 {
    desk.with(|sheet| {
        sheet.noise.as_ref().map_or(f64::INFINITY, |noise| sheet.best.1 + CLEAR * noise.variance().sqrt())
    })
}

/// A gain of the best value that may be luck: 0 without noise.
pub(super) fn doubt(desk: &Desk) -> f64 {
    desk.with(|sheet| sheet.noise.as_ref().map_or(0.0, |noise| CLEAR * noise.error()))
}

/// The evaluations after which a run ends when noise hides the differences between its particles.
pub(super) fn most(desk: &Desk) -> u64 {
    desk.with(|sheet| {
        let open = super::open_budget(sheet.dim());
        match sheet.budget {
            budget if budget >= open => open / OPEN_RUN,
            _ if sheet.local => u64::MAX,
            budget => budget / RUN,
        }
    })
}

/// Whether the last part of the evaluations has begun.
pub(super) fn is_last_part(desk: &Desk) -> bool {
    desk.with(|sheet| sheet.is_last_part())
}

/// Compares the mean of a run with the incumbent, in rounds of more and more evaluations. Tells what it is worth.
pub(super) async fn challenge(desk: &Desk, point: &[f64], run: u64) -> f64 {
    let mut tally = Tally::default();
    let mut more = 1;
    loop {
        // The incumbent is evaluated once more with the first round.
        let again = usize::from(tally.count == 0.0);
        let count = more.max(desk.width().saturating_sub(again));
        let mut points = point.repeat(count);
        points.extend(desk.with(|sheet| sheet.best.0.repeat(again)));
        let values = desk.evaluate(&points).await;
        let (values, again) = values.split_at(count);
        desk.with(|sheet| sheet.confirm(again));
        match desk.with(|sheet| sheet.compare(point, run, &mut tally, values)) {
            Verdict::Dropped | Verdict::Better => return tally.mean,
            // What is left is for the incumbent.
            Verdict::Open if is_last_part(desk) => return tally.mean,
            Verdict::Open => more = (tally.count as usize).min(16),
        }
    }
}

/// Evaluates the incumbent again and again, in the last part of the evaluations.
pub(super) async fn confirm(desk: &Desk) {
    while is_last_part(desk) {
        let point = desk.with(|sheet| sheet.best.0.clone());
        let values = desk.evaluate(&point.repeat(desk.width())).await;
        desk.with(|sheet| sheet.confirm(&values));
    }
}

/// How far noise hides the differences between the particles of a run.
#[derive(Clone, Debug, Default)]
pub(super) struct Blur {
    /// The variance of the values in a generation, in the last generations.
    variance: f64,
    generations: u32,
}

impl Blur {
    /// Notes the values of a generation, in ascending order.
    pub fn note(&mut self, sorted: &[f64]) {
        let n = sorted.len();
        if n < 4 {
            return;
        }
        // The interquartile range of a normal law is 1.349 standard deviations.
        let deviation = (sorted[3 * n / 4] - sorted[n / 4]) / 1.349;
        self.generations += 1;
        self.variance += (deviation * deviation - self.variance) / f64::from(self.generations.min(5));
    }

    /// Whether the differences of `lambda` particles are hidden by noise of this variance.
    pub fn hides(&self, dim: usize, lambda: usize, noise: f64) -> bool {
        self.generations as usize >= 5 + 10 * dim / lambda && self.variance < HIDDEN * noise
    }

    /// Whether noise is small enough to believe single values.
    pub fn is_clear(&self, noise: f64) -> bool {
        self.generations == 0 || self.variance > CLEAR * CLEAR * noise
    }
}
