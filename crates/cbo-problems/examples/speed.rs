//! Nanoseconds per coordinate of each function, on one core: `cargo run --release --example speed [NAME ...]`.

use cbo::noise::{Noise, Stream};
use cbo::{Objective, Rows, Scalar, StepContext};
use cbo_problems::{Problem, all};
use std::time::Instant;

/// 1024 rows of 16 numbers: 128 KiB in double precision, well within a second-level cache.
const ROWS: usize = 1024;

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
        let (double, single) = (time::<f64>(&problem), time::<f32>(&problem));
        println!("{:18} {dim:4} {double:10.3} {single:10.3} {:10.3}", info.name, time::<f64>(&rotated));
    }
    Ok(())
}

/// The best of several rounds: the one least disturbed.
fn time<T: Scalar>(problem: &Problem) -> f64
where
    Problem: Objective<T>,
{
    let dim = problem.dim();
    let noise = Noise::new(1, Stream::Problem, 9);
    let mut values = Vec::with_capacity(ROWS * dim);
    for row in 0..ROWS {
        for (k, (low, high)) in problem.domain().iter().enumerate() {
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
