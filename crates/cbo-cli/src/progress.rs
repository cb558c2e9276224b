//! The progress bar: only on a terminal, and rarely enough to cost nothing.

use crate::numbers::{brief, grouped};
use cbo::{CboConfig, Plan, Scalar, StepReport};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// Seconds between two updates.
const INTERVAL: f64 = 0.05;

/// Ticks of a full bar.
const FULL: u64 = 1000;

/// A bar for one run.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    /// Whether there are rounds of evaluations instead of steps of a swarm.
    auto: bool,
    last_step: Option<u64>,
    max_evaluations: Option<u64>,
    max_seconds: Option<f64>,
    shown: f64,
}

impl Progress {
    /// A bar for a run; `None` where nobody would see it.
    pub fn new(plan: &Plan, wanted: bool) -> Option<Self> {
        let bar = bar(FULL, wanted)?;
        let CboConfig { max_evaluations, max_seconds, .. } = *plan.config();
        let auto = plan.config().method.is_auto();
        Some(Self { bar, auto, last_step: plan.last_step(), max_evaluations, max_seconds, shown: 0.0 })
    }

    /// Shows a step, if the last one was shown long enough ago.
    pub fn show<T: Scalar>(&mut self, step: &StepReport<'_, T>) {
        if step.seconds() - self.shown < INTERVAL {
            return;
        }
        self.shown = step.seconds();
        let done = self.fraction(step.step(), step.evaluations(), step.seconds());
        // Before the first step is done, nobody knows.
        let left = (done > 0.0).then(|| format!(", {} left", duration(step.seconds() * (1.0 - done) / done)));
        self.bar.set_position((done * FULL as f64) as u64);
        let (what, width) = match self.auto {
            true => ("round", format!("step size {}", brief(step.sigma()))),
            false => ("step", format!("spread {}, ess {}", brief(step.spread()), brief(step.effective_sample_size()))),
        };
        self.bar.set_message(format!(
            "{what} {}, best {}{}, {}/s{}, {width}",
            grouped(step.step()),
            brief(step.best().value),
            left.unwrap_or_default(),
            brief(step.evaluations() as f64 / step.seconds()),
            failures(step.failed_evaluations()),
        ));
    }

    /// Calls this with the number of points of a step that are evaluated, and of all its points.
    pub fn within_a_step(&self) -> impl Fn(usize, usize) + Send + Sync + use<> {
        let bar = self.bar.clone();
        move |done, all| {
            bar.set_prefix(if done < all {
                format!("{}/{}, ", grouped(done as u64), grouped(all as u64))
            } else {
                String::new()
            })
        }
    }

    /// Prints something while the bar is out of the way.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// The part of the run that is done, by the limit that comes first.
    fn fraction(&self, step: u64, evaluations: u64, seconds: f64) -> f64 {
        let parts = [
            self.last_step.map(|n| step as f64 / n.max(1) as f64),
            self.max_evaluations.map(|n| evaluations as f64 / n.max(1) as f64),
            self.max_seconds.map(|s| seconds / s),
        ];
        parts.into_iter().flatten().fold(0.0, f64::max).min(1.0)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A bar of `length` ticks on stderr; `None` if it is not wanted or stderr is not a terminal.
pub fn bar(length: u64, wanted: bool) -> Option<ProgressBar> {
    if !wanted || !stderr().is_terminal() {
        return None;
    }
    let bar = ProgressBar::with_draw_target(Some(length), ProgressDrawTarget::stderr_with_hz(20));
    // The template is a constant; if it were wrong, indicatif's own would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:8} {percent:>3}% {prefix}{wide_msg}") {
        bar.set_style(style);
    }
    Some(bar)
}

fn failures(count: u64) -> String {
    if count == 0 { String::new() } else { format!(", {} failed", grouped(count)) }
}

/// Seconds in words: `12 s`, `3 min`, `2 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{s:.0} s"),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s if s < 1e7 => format!("{:.0} h", s / 3600.0),
        _ => "a long time".into(),
    }
}
