//! The short way: a closure and a box.

fn main() -> Result<(), cbo::SolveError> {
    let himmelblau = |x: &[f64]| (x[0] * x[0] + x[1] - 11.0).powi(2) + (x[0] + x[1] * x[1] - 7.0).powi(2);
    let run = cbo::minimize(himmelblau, &[(-5.0, 5.0); 2])?;
    println!("{:.3e} at {:?} after {} evaluations", run.best().value, run.best().x, run.evaluations());
    assert!(run.best().value < 1e-6);
    Ok(())
}
