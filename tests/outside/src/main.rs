//! What a user of the engine writes first.

use cbo::{CboConfig, InitialLaw, from_fn, solve};

fn main() -> Result<(), cbo::SolveError> {
    let rastrigin = |x: &[f64]| x.iter().map(|v| v * v + 2.5 * (1.0 - (std::f64::consts::TAU * v).cos())).sum();
    let run = cbo::minimize(rastrigin, &[(-5.12, 5.12); 4])?;
    assert!(run.best().value < 1e-2, "{}", run.best().value);

    let bounds = [(-5.0, 5.0); 3];
    let config = CboConfig { init: InitialLaw::uniform(&bounds), seed: 7, ..CboConfig::default() };
    let run = solve(&config, &from_fn(3, |x: &[f64]| x.iter().map(|v| (v - 1.0) * (v - 1.0)).sum()), &mut ())?;
    assert!(run.best().value < 1e-4, "{}", run.best().value);
    Ok(())
}
