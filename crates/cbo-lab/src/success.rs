//! How often runs find a minimum: the outcome of one run, and the statistics of many.

use cbo::device::Ended;
use cbo::{CboConfig, Evaluated, Objective, Scalar, SolveError, StepReport, StopReason, solve};
use cbo_problems::Problem;
use std::fmt;
use std::ops::ControlFlow;
use std::str::FromStr;

/// By which point a run is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Judge {
    /// The best point ever evaluated, which is what a user gets.
    #[default]
    Best,
    /// The consensus point at the end, as in the papers on consensus-based optimization. The method `auto` does not evaluate one: its best
    /// point stands for it.
    Consensus,
}

impl Judge {
    /// Its values and their names.
    pub const WORDS: &'static [(&'static str, Self)] = &[("best", Self::Best), ("consensus", Self::Consensus)];
}

impl FromStr for Judge {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::WORDS.iter().find(|(name, _)| *name == text.trim());
        found.map(|(_, judge)| *judge).ok_or_else(|| "it is one of best, consensus".into())
    }
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Best => "best",
            Self::Consensus => "consensus",
        })
    }
}

/// One run of many.
#[derive(Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// Its seed.
    pub seed: u64,
    /// The value of the point by which it is judged; infinite if the run could not continue.
    pub value: f64,
    /// Distance of that point to the nearest minimiser, in the maximum norm; infinite if the run could not continue.
    pub distance: f64,
    /// How far the best value is above the known minimum; infinite if the run could not continue.
    pub gap: f64,
    /// How far the best point violates its constraints; 0 if it meets all of them, infinite if the run could not continue.
    pub violation: f64,
    /// Evaluations spent.
    pub evaluations: u64,
    /// Steps taken.
    pub steps: u64,
    /// Why it ended, or why it could not continue.
    pub end: Result<StopReason, SolveError>,
}

/// What makes a run a success.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Criterion {
    /// The best point lies nearer than this to a minimiser, in the maximum norm.
    Distance(f64),
    /// The best value is no further than this above the minimum: what the competition of CEC 2006 asks of functions with constraints,
    /// where the distance says little.
    Value(f64),
}

impl Criterion {
    /// The usual criterion for functions with and without constraints, with this tolerance or the usual one: 0.25 for the distance, 1e-4
    /// for the value.
    pub fn new(constrained: bool, tolerance: Option<f64>) -> Self {
        match constrained {
            true => Self::Value(tolerance.unwrap_or(1e-4)),
            false => Self::Distance(tolerance.unwrap_or(0.25)),
        }
    }

    /// Its tolerance.
    pub fn tolerance(self) -> f64 {
        let (Self::Distance(tolerance) | Self::Value(tolerance)) = self;
        tolerance
    }
}

impl Outcome {
    /// Whether the point meets its constraints, if there are any, and lies nearer than `tolerance` to a minimiser.
    pub fn is_success(&self, tolerance: f64) -> bool {
        self.meets(Criterion::Distance(tolerance))
    }

    /// Whether the best point meets its constraints, if there are any, and the criterion.
    pub fn meets(&self, criterion: Criterion) -> bool {
        self.violation == 0.0
            && match criterion {
                Criterion::Distance(tolerance) => self.distance < tolerance,
                Criterion::Value(tolerance) => self.gap <= tolerance,
            }
    }
}

impl Outcome {
    /// Of one of many runs that were made at once by the engine's method `cbo`, without constraints.
    pub(crate) fn of<T: Scalar>(
        config: &CboConfig,
        problem: &Problem,
        end: Result<Ended<T>, SolveError>,
        judge: Judge,
    ) -> Self {
        match end {
            Ok(Ended { best, consensus, stop, steps, evaluations, .. }) => {
                let judged = if judge == Judge::Consensus { consensus } else { best };
                Self::at(config, problem, &judged, (evaluations, steps), stop)
            }
            Err(error) => Self::nowhere(config, error),
        }
    }

    /// Of a run that is judged by a point.
    fn at<T: Scalar>(
        config: &CboConfig,
        problem: &Problem,
        judged: &Evaluated<T>,
        (evaluations, steps): (u64, u64),
        stop: StopReason,
    ) -> Self {
        let x: Vec<f64> = judged.x.iter().map(|v| v.to_f64()).collect();
        Self {
            seed: config.seed,
            value: judged.value,
            distance: problem.distance_to_minimiser(&x),
            gap: judged.value - problem.minimum(),
            violation: judged.violation,
            evaluations,
            steps,
            end: Ok(stop),
        }
    }

    /// Of a run that could not continue.
    fn nowhere(config: &CboConfig, error: SolveError) -> Self {
        let nothing = f64::INFINITY;
        let (value, distance, gap, violation) = (nothing, nothing, nothing, nothing);
        let (seed, evaluations, steps) = (config.seed, 0, 0);
        Self { seed, value, distance, gap, violation, evaluations, steps, end: Err(error) }
    }
}

/// The outcome of a run of `config` on `objective`, which is `problem`, perhaps wrapped in something, judged by one of its points. `None`
/// if `interrupted` ended it. A run that could not continue is an outcome; a setting with which none can begin is an error.
///
/// ```
/// use cbo::CboConfig;
/// use cbo_lab::success::{Judge, outcome};
/// use cbo_problems::Problem;
///
/// let sphere = Problem::named("sphere", 3)?;
/// let found = outcome::<f64>(&CboConfig::default(), &sphere, &sphere, Judge::Best, &|| false)?.expect("not interrupted");
/// assert!(found.is_success(0.25));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn outcome<T: Scalar>(
    config: &CboConfig,
    problem: &Problem,
    objective: &impl Objective<T>,
    judge: Judge,
    interrupted: &(dyn Fn() -> bool + Sync),
) -> Result<Option<Outcome>, SolveError> {
    let mut watch = |_: &StepReport<'_, T>| {
        if interrupted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match solve(config, objective, &mut watch) {
        Ok(report) if report.stop() == StopReason::Observer => Ok(None),
        Ok(report) => {
            let judged = match judge {
                Judge::Consensus if !config.method.is_auto() => report.consensus(),
                _ => report.best(),
            };
            let spent = (report.evaluations(), report.steps());
            Ok(Some(Outcome::at(config, problem, judged, spent, report.stop())))
        }
        Err(error @ (SolveError::Config(_) | SolveError::Memory { .. } | SolveError::Threads { .. })) => Err(error),
        Err(_) if interrupted() => Ok(None),
        Err(error) => Ok(Some(Outcome::nowhere(config, error))),
    }
}

/// Successes among runs, with the 95 % Wilson interval of their rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Rate {
    /// How many succeeded.
    pub successes: u64,
    /// Out of how many.
    pub runs: u64,
    /// Successes divided by runs.
    pub rate: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
}

impl Rate {
    /// The rate of `successes` out of `runs`, of which there must be at least one.
    ///
    /// ```
    /// let rate = cbo_lab::success::Rate::of(8, 10);
    /// assert!((rate.low - 0.4902).abs() < 5e-5 && (rate.high - 0.9433).abs() < 5e-5);
    /// ```
    pub fn of(successes: u64, runs: u64) -> Self {
        let (n, z) = (runs as f64, 1.959_963_984_540_054_f64);
        let rate = successes as f64 / n;
        let (centre, scale) = (rate + z * z / (2.0 * n), 1.0 + z * z / n);
        let half = z * (rate * (1.0 - rate) / n + z * z / (4.0 * n * n)).sqrt();
        // At 0 and 1 the interval ends exactly, whatever the rounding.
        let low = if successes == 0 { 0.0 } else { (centre - half) / scale };
        let high = if successes == runs { 1.0 } else { (centre + half) / scale };
        Self { successes, runs, rate, low, high }
    }
}

/// The median; `None` of nothing.
pub fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        n if n % 2 == 1 => Some(values[middle]),
        _ => Some((values[middle - 1] + values[middle]) / 2.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wilson_intervals_are_the_published_ones() {
        // Brown, Cai and DasGupta 2001 give the formula; 8 of 10 is the usual worked example.
        let close = |a: f64, b: f64| (a - b).abs() < 5e-5;
        let ends = |successes, runs| (Rate::of(successes, runs).low, Rate::of(successes, runs).high);
        let (low, high) = ends(8, 10);
        assert!(close(low, 0.4902) && close(high, 0.9433), "{low} {high}");
        let (low, high) = ends(0, 100);
        assert!(low == 0.0 && close(high, 0.0370), "{low} {high}");
        let (low, high) = ends(100, 100);
        assert!(close(low, 0.9630) && high == 1.0, "{low} {high}");
    }

    #[test]
    fn medians() {
        assert_eq!(median([3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median([4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median([]), None);
    }

    #[test]
    fn a_run_that_cannot_continue_is_an_outcome_and_a_wrong_setting_an_error() {
        let problem = Problem::named("sphere", 2).expect("a problem");
        let nowhere = cbo::from_fn(2, |_: &[f64]| f64::NAN);
        let failed = outcome(&CboConfig::default(), &problem, &nowhere, Judge::Best, &|| false).expect("an outcome");
        let failed = failed.expect("not interrupted");
        assert!(matches!(failed.end, Err(SolveError::NoFiniteEnergy { .. })) && !failed.is_success(1e300));
        let wrong = CboConfig { dt: -1.0, ..CboConfig::default() };
        assert!(outcome::<f64>(&wrong, &problem, &problem, Judge::Best, &|| false).is_err());
        let ended = outcome::<f64>(&CboConfig::default(), &problem, &problem, Judge::Best, &|| true);
        assert!(ended.expect("no error").is_none());
    }

    #[test]
    fn a_run_is_judged_by_its_best_point_or_by_its_consensus_point() {
        let problem = Problem::named("rastrigin", 3).expect("a problem");
        let judged = |config: &CboConfig, judge| {
            let found = outcome::<f64>(config, &problem, &problem, judge, &|| false).expect("an outcome");
            let found = found.expect("not interrupted");
            (found.value, found.distance)
        };
        let alpha = cbo::Alpha::Constant(1.0);
        let config = CboConfig { particles: 20, steps: Some(5), alpha, ..CboConfig::default() };
        let report: cbo::RunReport<f64> = solve(&config, &problem, &mut ()).expect("a run");
        let of = |point: &cbo::Evaluated<f64>| (point.value, problem.distance_to_minimiser(&point.x));
        assert_eq!(judged(&config, Judge::Best), of(report.best()));
        assert_eq!(judged(&config, Judge::Consensus), of(report.consensus()));
        assert_ne!(of(report.best()), of(report.consensus()));
        // The solver without settings has no consensus point that is worth a name.
        let method = cbo::Method::Auto(cbo::Auto::default());
        let auto = CboConfig { method, max_evaluations: Some(200), ..CboConfig::default() };
        assert_eq!(judged(&auto, Judge::Best), judged(&auto, Judge::Consensus));
        for (name, judge) in Judge::WORDS {
            assert_eq!((name.parse(), judge.to_string().as_str()), (Ok(*judge), *name));
        }
        assert!("mean".parse::<Judge>().is_err_and(|e| e.contains("best, consensus")));
    }
}
