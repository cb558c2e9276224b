//! Points and problems that several test files need.
#![allow(dead_code)]

use cbo::noise::{Noise, Stream};
use cbo_problems::{Dims, Info, Problem, all};

/// Every function in several dimensions: those below, at and above the number of lanes.
pub fn problems() -> Vec<Problem> {
    let mut problems = Vec::new();
    for info in all() {
        for dim in dims(&info) {
            problems.push(Problem::named(info.name, dim).expect("a listed function in an allowed dimension"));
        }
    }
    problems
}

/// Dimensions to test a function in.
pub fn dims(info: &Info) -> Vec<usize> {
    match info.dims {
        Dims::Exactly(only) => vec![only],
        Dims::AtLeast(least) => [1, 2, 5, 8, 17].into_iter().filter(|d| *d >= least).collect(),
    }
}

/// `count` rows, uniform in the domain; another `seed`, other rows.
pub fn uniform(problem: &Problem, count: usize, seed: u64) -> Vec<f64> {
    let noise = Noise::new(seed, Stream::Problem, 77);
    let mut values = Vec::with_capacity(count * problem.dim());
    for row in 0..count {
        for (k, (low, high)) in problem.domain().iter().enumerate() {
            values.push(low + (high - low) * noise.uniforms(row as u32, k as u32 / 4)[k % 4]);
        }
    }
    values
}

/// `count` rows that fill the domain evenly: the additive recurrence whose steps are the powers of 1/phi, where phi^(d+1)
/// = phi + 1 (Roberts 2018).
pub fn even(problem: &Problem, count: usize) -> Vec<f64> {
    let dim = problem.dim();
    let mut phi = 2.0f64;
    for _ in 0..60 {
        phi = (1.0 + phi).powf(1.0 / (dim + 1) as f64);
    }
    let steps: Vec<f64> = (1..=dim).map(|k| phi.powi(-(k as i32))).collect();
    let mut values = Vec::with_capacity(count * dim);
    for row in 0..count {
        for (step, (low, high)) in steps.iter().zip(problem.domain()) {
            values.push(low + (high - low) * (0.5 + row as f64 * step).fract());
        }
    }
    values
}
