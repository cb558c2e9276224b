//! What a step and its exchange take here.

use crate::error::CliError;
use cbo::ranks::{Communicator, Particles, rehearse, solve_on};
use cbo::{Alpha, CboConfig, InitialLaw, StepReport, solve};
use cbo_problems::Problem;
use serde::Serialize;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

/// The step of Figure 1b: so many particles on each rank.
pub const PARTICLES: usize = 320_000;
/// Its dimensions.
pub const DIM: usize = 16;

/// Dimensions in which the exchange is measured.
pub const DIMS: [usize; 3] = [16, 1_000, 100_000];
/// Subtrees that a rank then sends.
pub const SUBTREES: usize = 4;

/// Steps of a run of which the fastest counts, and runs that take turns.
const STEPS: u64 = 12;

/// The exchange of a step.
#[derive(Clone, Debug, Serialize)]
pub struct Exchange {
    /// Dimensions.
    pub dim: usize,
    /// Bytes that a rank sends, and gets.
    pub bytes: (usize, usize),
    /// Seconds.
    pub seconds: f64,
}

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// Ranks that took part.
    pub ranks: usize,
    /// Seconds of a step on one rank alone.
    pub alone: f64,
    /// Seconds of a step on all ranks, each with as many particles.
    pub together: Option<f64>,
    /// The exchange alone.
    pub exchanges: Vec<Exchange>,
}

/// Measures; to be called by all ranks, of which the first gets all numbers.
pub fn measure(ranks: Option<&Arc<dyn Communicator>>, seconds: f64) -> Result<Measured, CliError> {
    let problem = Problem::builder("rastrigin").dim(DIM).build().map_err(|e| CliError::failed(&e))?;
    let size = ranks.map_or(1, |ranks| ranks.size());
    let first = ranks.is_none_or(|ranks| ranks.rank() == 0);
    let plan = |particles: usize| CboConfig {
        particles,
        alpha: Alpha::Constant(1e15),
        init: InitialLaw::uniform(&[(-3.0, 3.0); DIM]),
        steps: Some(STEPS),
        threads: 1,
        kick: None,
        ..CboConfig::default()
    };
    let (mut alone, mut together) = (f64::INFINITY, f64::INFINITY);
    let start = Instant::now();
    loop {
        if first {
            let mut watch = Watch::default();
            solve::<f64>(plan(PARTICLES), &problem, &mut |step: &StepReport<'_, f64>| watch.note(step))?;
            alone = alone.min(watch.best());
        }
        if let Some(ranks) = ranks {
            let mut watch = Watch::default();
            let particles = Particles::new(ranks.clone());
            solve_on::<f64>(&particles, plan(PARTICLES * size), &problem, &mut |step: &StepReport<'_, f64>| {
                watch.note(step)
            })?;
            together = together.min(watch.best());
        }
        // The first rank knows the time.
        let mut enough = [u8::from(start.elapsed().as_secs_f64() > 4.0 * seconds)];
        ranks.inspect(|ranks| ranks.broadcast(&mut enough));
        if enough == [1] {
            break;
        }
    }
    let exchanges = ranks.map_or_else(Vec::new, |ranks| DIMS.map(|dim| exchange(ranks, dim, seconds)).to_vec());
    Ok(Measured { ranks: size, alone, together: ranks.map(|_| together), exchanges })
}

/// The times between steps.
#[derive(Default)]
struct Watch {
    last: Option<Instant>,
    times: Vec<f64>,
}

impl Watch {
    fn note(&mut self, _step: &StepReport<'_, f64>) -> ControlFlow<()> {
        let now = Instant::now();
        self.times.extend(self.last.map(|last| now.duration_since(last).as_secs_f64()));
        self.last = Some(now);
        ControlFlow::Continue(())
    }

    /// The fastest: machines are noisy.
    fn best(&self) -> f64 {
        self.times.iter().copied().fold(f64::INFINITY, f64::min)
    }
}

/// The exchange in `dim` dimensions: the fastest of some groups.
fn exchange(ranks: &Arc<dyn Communicator>, dim: usize, seconds: f64) -> Exchange {
    let group = (2_000_000 / dim).clamp(10, 2000) as u32;
    let (mut best, mut bytes) = (f64::INFINITY, (0, 0));
    let start = Instant::now();
    loop {
        let begun = Instant::now();
        for _ in 0..group {
            bytes = rehearse(ranks, dim, SUBTREES);
        }
        best = best.min(begun.elapsed().as_secs_f64() / f64::from(group));
        let mut enough = [u8::from(start.elapsed().as_secs_f64() > 0.5 * seconds)];
        ranks.broadcast(&mut enough);
        if enough == [1] {
            return Exchange { dim, bytes, seconds: best };
        }
    }
}

impl Measured {
    /// Seconds of a step for each coordinate of each particle.
    pub fn seconds_per_coordinate(&self) -> f64 {
        self.alone / (PARTICLES * DIM) as f64
    }

    /// Rounds of messages of an exchange: to the first rank, and back.
    fn rounds(&self) -> f64 {
        2.0 * (self.ranks as f64).log2().ceil()
    }

    /// Seconds that a short message takes: 2 microseconds where there is nobody to send it to.
    pub fn latency(&self) -> f64 {
        self.exchanges.first().map_or(2e-6, |short| short.seconds / self.rounds())
    }

    /// Bytes in a second: ten thousand million where nothing is sent.
    pub fn bandwidth(&self) -> f64 {
        let (Some(short), Some(long)) = (self.exchanges.first(), self.exchanges.last()) else { return 1e10 };
        let bytes = 0.5 * self.rounds() * (long.bytes.0 + long.bytes.1) as f64;
        bytes / (long.seconds - short.seconds).max(1e-9)
    }

    /// By which part the ranks together were slower than one alone, the exchange aside.
    pub fn imbalance(&self) -> f64 {
        let exchange = self.exchanges.first().map_or(0.0, |short| short.seconds);
        self.together.map_or(0.02, |together| ((together - exchange) / self.alone - 1.0).max(0.0))
    }

    pub(super) fn words(&self) -> String {
        let mut text = format!(
            "Measured: a step of {PARTICLES} particles in {DIM} dimensions, f64, one thread: {:.3} ms",
            1e3 * self.alone
        );
        if let Some(together) = self.together {
            let efficiency = 100.0 * self.alone / together;
            let _ = write!(
                text,
                ";\non {} ranks with as many each: {:.3} ms, {efficiency:.1} %",
                self.ranks,
                1e3 * together
            );
        }
        text.push('\n');
        for Exchange { dim, bytes: (sent, got), seconds } in &self.exchanges {
            let _ = writeln!(
                text,
                "exchange of a step, d = {dim}: {:.2} us ({SUBTREES} subtrees, {sent} bytes sent, {got} got)",
                1e6 * seconds
            );
        }
        text
    }
}
