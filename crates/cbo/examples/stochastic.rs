//! A stochastic objective with particle batches and cooling: linear regression on a stream of data batches, the way the
//! paper trains its networks. The data is chosen from the step context alone, so that the run can be repeated exactly.

use cbo::{Alpha, CboConfig, Clock, EvalError, Geometric, InitialLaw, Objective, Rows, Sigma, StepContext, solve};

const TRUTH: [f64; 5] = [1.0, -2.0, 0.5, 3.0, -1.0];

struct Regression;

impl Objective<f64> for Regression {
    fn dim(&self) -> usize {
        TRUTH.len()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        // Twenty samples that belong to this data batch.
        let samples = (0..20).map(|i| {
            let phase = (at.data_batch * 20 + i) as f64;
            let features: [f64; 5] = std::array::from_fn(|k| (phase * (k as f64 + 1.3)).sin());
            let label = features.iter().zip(TRUTH).map(|(x, w)| x * w).sum::<f64>() + 0.1 * (phase * 7.7).cos();
            (features, label)
        });
        let samples: Vec<_> = samples.collect();
        for (row, energy) in rows.iter().zip(out) {
            let error = |(x, y): &([f64; 5], f64)| (x.iter().zip(row).map(|(x, w)| x * w).sum::<f64>() - y).powi(2);
            *energy = samples.iter().map(error).sum::<f64>() / samples.len() as f64;
        }
        Ok(())
    }

    fn is_stochastic(&self) -> bool {
        true
    }
}

fn main() -> Result<(), cbo::SolveError> {
    let config = CboConfig {
        particles: 100,
        batch: Some(10),
        dt: 0.1,
        sigma: Sigma::Logarithmic { start: 0.4f64.sqrt(), clock: Clock::Epoch },
        alpha: Alpha::Geometric(Geometric { start: 50.0, factor: 2.0, cap: 1e9, clock: Clock::Epoch }),
        epoch_steps: Some(500),
        kick: Some(1e-5),
        init: InitialLaw::Normal { mean: 0.0.into(), variance: 1.0.into() },
        steps: Some(5000),
        ..CboConfig::default()
    };
    let run = solve(&config, &Regression, &mut ())?;
    println!("found {:.2?}, true {TRUTH:?}", run.consensus().x);
    assert!(run.consensus().x.iter().zip(TRUTH).all(|(x, w)| (x - w).abs() < 0.3));
    Ok(())
}
