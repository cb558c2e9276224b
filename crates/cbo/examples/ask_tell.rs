//! A run whose loop is yours: ask for points, tell their energies, stop half-way and continue from saved bytes.

use cbo::{AskTell, CboConfig, InitialLaw};

/// Stands for a simulator that runs somewhere else.
fn simulate(x: &[f64]) -> f64 {
    (x[0] - 0.3).powi(2) + (x[1] + 0.7).powi(2) + 0.1 * (1.0 - (20.0 * x[0]).cos())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let bounds = vec![(-2.0, 2.0); 2];
    let config = CboConfig {
        particles: 60,
        init: InitialLaw::uniform(&bounds),
        bounds: Some(bounds),
        steps: Some(80),
        ..CboConfig::default()
    };
    let mut run = AskTell::<f64>::new(&config, 2)?;
    while run.stopped().is_none() {
        let energies: Vec<f64> = run.ask().iter().map(simulate).collect();
        run.tell(&energies, &mut ())?;
        if run.step() == 40 {
            // A program that ends here and reads the bytes from a file continues as if nothing had happened.
            run = AskTell::load(&config, 2, &run.save())?;
        }
    }
    let best = run.best();
    println!("{:.3e} at {:?} after {} steps", best.value, best.x, run.step());
    assert!((best.x[0] - 0.3).abs() < 0.05 && (best.x[1] + 0.7).abs() < 0.05);
    Ok(())
}
