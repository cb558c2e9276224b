//! A function under constraints: closures, and an objective whose evaluation gives both.

use cbo::{Auto, CboConfig, Constrained, EvalError, InitialLaw, Method, Objective, Rows, StepContext, from_fn, solve};

/// A can of one litre, radius and height in decimetres: its surface, and by how much its volume falls short.
struct Can;

impl Objective<f64> for Can {
    fn dim(&self) -> usize {
        2
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        self.energies_and_constraints(at, rows, out, &mut vec![0.0; rows.len()])
    }

    fn constraints(&self) -> usize {
        1
    }

    fn energies_and_constraints(
        &self,
        _at: StepContext,
        rows: Rows<'_, f64>,
        energies: &mut [f64],
        constraints: &mut [f64],
    ) -> Result<(), EvalError> {
        for ((x, energy), constraint) in rows.iter().zip(energies).zip(constraints) {
            let lid = std::f64::consts::PI * x[0] * x[0];
            *energy = 2.0 * lid + 2.0 * std::f64::consts::PI * x[0] * x[1];
            *constraint = 1.0 - lid * x[1];
        }
        Ok(())
    }
}

fn in_box(bounds: &[(f64, f64)]) -> CboConfig {
    CboConfig {
        method: Method::Auto(Auto::default()),
        init: InitialLaw::uniform(bounds),
        bounds: Some(bounds.to_vec()),
        ..CboConfig::default()
    }
}

fn main() -> Result<(), cbo::SolveError> {
    let disc =
        Constrained::new(from_fn(2, |x: &[f64]| x[0] + 2.0 * x[1])).at_most(1.0, |x| x[0].powi(2) + x[1].powi(2));
    let run = solve(in_box(&[(-2.0, 2.0); 2]), &disc, &mut ())?;
    println!("{:.6} at {:?}, feasible: {}", run.best().value, run.best().x, run.is_feasible());
    assert!(run.is_feasible() && (run.best().value + 5f64.sqrt()).abs() < 1e-6);

    let run = solve(in_box(&[(0.1, 2.0); 2]), &Can, &mut ())?;
    println!("{:.6} dm2 of tin for radius and height {:?}", run.best().value, run.best().x);
    // The best can is as high as it is wide.
    assert!(run.is_feasible() && (run.best().x[1] - 2.0 * run.best().x[0]).abs() < 1e-3);
    Ok(())
}
