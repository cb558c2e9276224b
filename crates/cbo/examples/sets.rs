//! How often the methods that keep to a set find the minimum there. The numbers in `docs/method.md` come from
//!
//! ```sh
//! cargo run --release --example sets -- 40
//! ```

use cbo::noise::{Noise, Stream};
use cbo::{CboConfig, SolveError, from_fn, solve};
use std::f64::consts::TAU;

/// The seed of the first run: not one of those by which the defaults were chosen.
const FIRST_SEED: u64 = 1000;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Independent normals.
fn normals(seed: u64, step: u64, count: usize) -> Vec<f64> {
    let mut numbers = vec![0.0; cbo::noise::scratch_len(1, count)];
    Noise::new(seed, Stream::Problem, step).fill_normals(0, 1, count, &mut numbers);
    numbers.truncate(count);
    numbers
}

/// A uniformly random direction.
fn direction(seed: u64, dim: usize) -> Vec<f64> {
    let x = normals(seed, 0, dim);
    let length = dot(&x, &x).sqrt();
    x.iter().map(|x| x / length).collect()
}

/// How many of the runs come closer than this to zero, which is the minimum. Each has a function of its own.
fn found<F: Fn(&[f64]) -> f64 + Sync>(
    (method, dim, closer): (&str, usize, f64),
    runs: u64,
    function: impl Fn(u64) -> F,
) -> Result<u64, Box<dyn std::error::Error>> {
    let config = CboConfig::of(method.parse()?);
    let value = |seed: u64| -> Result<f64, SolveError> {
        let config = CboConfig { seed, ..config.clone() };
        Ok(solve(&config, &from_fn(dim, function(seed)), &mut ())?.best().value)
    };
    let mut successes = 0;
    for seed in FIRST_SEED..FIRST_SEED + runs {
        successes += u64::from(value(seed)? < closer);
    }
    println!("{successes:3} of {runs}  {method}");
    Ok(successes)
}

/// Rastrigin's function with its minimum inside the unit ball.
fn in_the_ball(seed: u64) -> impl Fn(&[f64]) -> f64 {
    let place: Vec<f64> = direction(seed, 20).iter().map(|u| 0.8 * u).collect();
    let one = |d: f64| d * d + 2.5 * (1.0 - (TAU * d).cos());
    move |x| x.iter().zip(&place).map(|(x, p)| one(x - p)).sum()
}

/// A quadratic with ripples, whose minimum has a proportion of zero.
fn on_the_simplex(seed: u64) -> impl Fn(&[f64]) -> f64 {
    let mut place: Vec<f64> = normals(seed, 0, 20).iter().map(|x| x.exp()).collect();
    place[0] = 0.0;
    let sum: f64 = place.iter().sum();
    let one = |d: f64| d * d + 0.05 * (1.0 - (10.0 * d).cos());
    move |x| x.iter().zip(&place).map(|(x, p)| one(x - p / sum)).sum()
}

/// x' (I - 2 u u') x + 1, least at the eigenvectors u and -u.
fn eigenvector(seed: u64) -> impl Fn(&[f64]) -> f64 {
    let u = direction(seed, 12);
    move |x| dot(x, x) - 2.0 * dot(x, &u).powi(2) + 1.0
}

/// A direction known by the squares of its products with 48 normal vectors: up to its sign.
fn squared_products(seed: u64) -> impl Fn(&[f64]) -> f64 {
    let u = direction(seed, 12);
    let rows: Vec<Vec<f64>> = (1..=48).map(|row| normals(seed, row, 12)).collect();
    let squares: Vec<f64> = rows.iter().map(|a| dot(a, &u).powi(2)).collect();
    move |x| rows.iter().zip(&squares).map(|(a, s)| (dot(a, x).powi(2) - s).powi(2)).sum::<f64>() / 48.0
}

/// The two leading eigenvectors of diag(6, 5, 4, 3, 2, 1), as the columns of a matrix.
fn leading_frame(_seed: u64) -> impl Fn(&[f64]) -> f64 {
    move |x| 11.0 - x.chunks_exact(2).enumerate().map(|(i, row)| (6.0 - i as f64) * dot(row, row)).sum::<f64>()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let runs: u64 = std::env::args().nth(1).map_or(Ok(2), |runs| runs.parse())?;
    let all = [
        found(("mirror:map=ball", 20, 0.1), runs, in_the_ball)?,
        found(("mirror:map=simplex", 20, 1e-3), runs, on_the_simplex)?,
        found(("sphere", 12, 1e-6), runs, eigenvector)?,
        found(("sphere", 12, 1e-3), runs, squared_products)?,
        found(("hypersurface", 12, 1e-3), runs, squared_products)?,
        found(("hypersurface:surface=stiefel,columns=2", 12, 1e-3), runs, leading_frame)?,
        found(("hypersurface:surface=stiefel,columns=2,factor=qr", 12, 1e-3), runs, leading_frame)?,
    ];
    assert!(all.iter().all(|successes| *successes > 0));
    Ok(())
}
