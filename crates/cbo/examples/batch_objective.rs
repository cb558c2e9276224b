//! An objective that gets many points in one call: here a least-squares fit of a decaying oscillation to noisy data.

use cbo::{CboConfig, EvalError, InitialLaw, Objective, Rows, StepContext, solve};

/// Times and measurements of `amplitude exp(-decay t) cos(frequency t)`.
struct Fit {
    data: Vec<(f64, f64)>,
}

impl Objective<f64> for Fit {
    fn dim(&self) -> usize {
        3
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        for (row, energy) in rows.iter().zip(out) {
            let &[amplitude, decay, frequency] = row else { unreachable!("rows have three coordinates") };
            *energy = self
                .data
                .iter()
                .map(|(t, y)| (amplitude * (-decay * t).exp() * (frequency * t).cos() - y).powi(2))
                .sum();
        }
        Ok(())
    }
}

fn main() -> Result<(), cbo::SolveError> {
    let truth = |t: f64| 2.0 * (-0.3 * t).exp() * (5.0 * t).cos();
    let data = (0..200).map(|i| 0.03 * f64::from(i)).map(|t| (t, truth(t) + 0.01 * (977.0 * t).sin())).collect();
    // Many local minima in the frequency.
    let bounds = vec![(0.0, 10.0), (0.0, 2.0), (0.0, 20.0)];
    let config = CboConfig { init: InitialLaw::uniform(&bounds), bounds: Some(bounds), ..CboConfig::default() };
    let run = solve(&config, &Fit { data }, &mut ())?;
    println!("amplitude {:.3}, decay {:.3}, frequency {:.3}", run.best().x[0], run.best().x[1], run.best().x[2]);
    assert!((run.best().x[2] - 5.0).abs() < 0.01 && (run.best().x[0] - 2.0).abs() < 0.05);
    Ok(())
}
