//! Nanoseconds per coordinate of each function, on one core, and of some as formulas: `cargo run --release --example speed [NAME ...]`.

use cbo::noise::{Noise, Stream};
use cbo::{Objective, Rows, Scalar, StepContext};
use cbo_problems::{Formula, Problem, all};
use std::time::Instant;

/// 1024 rows of 16 numbers: 128 KiB in double precision, well within a second-level cache.
const ROWS: usize = 1024;

/// Functions as a user would write them.
const FORMULAS: [(&str, &str); 5] = [
    ("sphere", "sum(x^2)"),
    ("rastrigin", "sum(x^2 + 2.5*(1 - cos(2*pi*x)))"),
    ("rosenbrock", "sum(i, 1, d-1, 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)"),
    ("ackley", "-20*exp(-0.2*sqrt(mean(x^2))) - exp(mean(cos(2*pi*x))) + 20 + e"),
    ("griewank", "sum(x^2)/4000 - prod(cos(x/sqrt(i))) + 1"),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    println!("{:18} {:>4} {:>10} {:>10} {:>10}", "function", "dim", "f64", "f32", "f64 rotated");
    for info in all() {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == info.name) {
            continue;
        }
        let dim = info.default_dim().unwrap_or(16);
        let problem = Problem::named(info.name, dim)?;
        let rotated = Problem::builder(info.name).dim(dim).rotate(1).build()?;
        let domain = problem.domain();
        let (double, single) = (time::<f64>(&problem, domain), time::<f32>(&problem, domain));
        println!("{:18} {dim:4} {double:10.3} {single:10.3} {:10.3}", info.name, time::<f64>(&rotated, domain));
        if let Some((_, text)) = FORMULAS.iter().find(|(name, _)| *name == info.name) {
            let formula = Formula::new(text, dim)?;
            let (double, single) = (time::<f64>(&formula, domain), time::<f32>(&formula, domain));
            println!("{:18} {dim:4} {double:10.3} {single:10.3}", "  as a formula");
        }
    }
    Ok(())
}

/// The best of several rounds: the one least disturbed.
fn time<T: Scalar>(problem: &impl Objective<T>, domain: &[(f64, f64)]) -> f64 {
    let dim = problem.dim();
    let noise = Noise::new(1, Stream::Problem, 9);
    let mut values = Vec::with_capacity(ROWS * dim);
    for row in 0..ROWS {
        for (k, (low, high)) in domain.iter().enumerate() {
            values.push(T::from_f64(low + (high - low) * noise.uniforms(row as u32, k as u32 / 4)[k % 4]));
        }
    }
    let mut energies = vec![T::default(); ROWS];
    let mut best = f64::INFINITY;
    for _ in 0..20 {
        let (start, calls) = (Instant::now(), 20);
        for _ in 0..calls {
            let rows = Rows::new(std::hint::black_box(&values[..]), dim);
            problem.energies(StepContext::default(), rows, &mut energies).expect("a benchmark function");
            std::hint::black_box(&mut energies);
        }
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / (calls * ROWS * dim) as f64);
    }
    best
}
