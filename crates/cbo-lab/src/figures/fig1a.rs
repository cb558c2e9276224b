//! Figure 1a: the Rastrigin function in one coordinate, its local minima marked.

use super::{FigureError, experiment};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// `experiments/fig1a.toml`.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// What is drawn.
    pub parameters: Parameters,
    /// The minima that are known.
    pub expected: Expected,
}

/// What is drawn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The height of the ripples.
    pub amplitude: f64,
    /// The left end.
    pub low: f64,
    /// The right end.
    pub high: f64,
    /// Points of the curve.
    pub points: usize,
}

/// The minima with v >= 0, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expected {
    /// Where they are.
    pub v: Vec<f64>,
    /// Their energies.
    pub energy: Vec<f64>,
}

/// A local minimum, found beside expected.
#[derive(Clone, Debug, Serialize)]
pub struct Minimum {
    /// Where it is.
    pub v: f64,
    /// Its energy.
    pub energy: f64,
    /// Where it is expected.
    pub v_expected: f64,
    /// The energy expected.
    pub energy_expected: f64,
}

/// The figure.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What is drawn.
    pub parameters: Parameters,
    /// The curve: v and the energy there.
    pub curve: Vec<(f64, f64)>,
    /// The local minima, from left to right.
    pub minima: Vec<Minimum>,
}

/// The experiment as the paper has it.
pub fn load() -> Result<Experiment, FigureError> {
    experiment("fig1a", include_str!("../../experiments/fig1a.toml"))
}

/// Computes the figure.
pub fn figure(experiment: &Experiment) -> Result<Figure, FigureError> {
    let Parameters { amplitude, low, high, points } = experiment.parameters;
    let problem = cbo_problems::Problem::builder("rastrigin").dim(1).parameter("amplitude", amplitude).build()?;
    let energy = |v: f64| problem.value(&[v]);
    let node = |i: usize| low + (high - low) * i as f64 / (points.max(2) - 1) as f64;
    let curve: Vec<(f64, f64)> = (0..points).map(|i| (node(i), energy(node(i)))).collect();
    let slope = |v: f64| 2.0 * v + 2.0 * PI * amplitude * (2.0 * PI * v).sin();
    let below = |w: &[(f64, f64)]| w[1].1 <= w[0].1 && w[1].1 < w[2].1;
    let minima = curve.windows(3).filter(|w| below(w)).map(|w| {
        let v = root(slope, w[0].0, w[2].0);
        let nearest = (0..experiment.expected.v.len()).min_by(|&i, &j| {
            (experiment.expected.v[i] - v.abs()).abs().total_cmp(&(experiment.expected.v[j] - v.abs()).abs())
        });
        let of = |values: &[f64]| nearest.and_then(|i| values.get(i).copied()).unwrap_or(f64::NAN);
        let v_expected = of(&experiment.expected.v).copysign(v);
        Minimum { v, energy: energy(v), v_expected, energy_expected: of(&experiment.expected.energy) }
    });
    Ok(Figure { parameters: experiment.parameters.clone(), minima: minima.collect(), curve })
}

/// The zero between `low` and `high` of a function that is negative at the one and positive at the other.
fn root(f: impl Fn(f64) -> f64, mut low: f64, mut high: f64) -> f64 {
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if f(middle) < 0.0 { low = middle } else { high = middle }
    }
    let v = 0.5 * (low + high);
    // The minimum at the origin is exact by symmetry; bisection ends at a subnormal number beside it.
    if v.abs() < 1e-15 { 0.0 } else { v }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_minima_are_where_they_should_be() {
        let figure = figure(&load().expect("the experiment")).expect("the figure");
        assert_eq!(figure.minima.len(), 7);
        for m in &figure.minima {
            assert!((m.v - m.v_expected).abs() < 1e-10 && (m.energy - m.energy_expected).abs() < 1e-10, "{m:?}");
        }
        assert!(figure.minima.windows(2).all(|w| w[0].v < w[1].v));
    }
}
