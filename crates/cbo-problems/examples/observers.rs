//! Watching a run: a history that never grows, and an observer that stops when it has seen enough.

use cbo::{CboConfig, History, InitialLaw, Observer, StepReport, StopReason, solve};
use cbo_problems::Problem;
use std::ops::ControlFlow;

/// Stops when the swarm has contracted to a millionth of its first spread.
#[derive(Default)]
struct Contracted {
    first: Option<f64>,
}

impl Observer<f64> for Contracted {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        let spread = step.ensemble().spread();
        let first = *self.first.get_or_insert(spread);
        if spread < 1e-6 * first { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ackley = Problem::named("ackley", 10)?;
    let config = CboConfig { init: InitialLaw::uniform(ackley.domain()), ..CboConfig::default() };
    let mut observers = (History::new(20), Contracted::default());
    let run = solve(&config, &ackley, &mut observers)?;
    for record in observers.0.records() {
        println!("step {:4}  best {:9.3e}  spread {:9.3e}", record.step, record.best, record.spread);
    }
    assert!(run.stop() == StopReason::Observer || run.stop() == StopReason::Steps);
    assert!(ackley.distance_to_minimiser(&run.best().x) < 0.01);
    Ok(())
}
