//! What the theorem needs from the initial law rho_0: its V_0, its mass near v*, and the integral of the mollifier.

use super::mollifier;
use super::special::{legendre, log_density, log_normal_mass};
use cbo::InitialLaw;

/// `V_0 = 1/2 int ||v - v*||_2^2 drho_0`, exactly.
pub fn spread(law: &InitialLaw, minimiser: &[f64]) -> f64 {
    let dim = minimiser.len();
    let coordinate = |k: usize, v: f64| match law {
        InitialLaw::Normal { mean, variance } => (mean.get(k) - v).powi(2) + variance.get(k),
        InitialLaw::Uniform { low, high } => {
            let (low, high) = (low.get(k) - v, high.get(k) - v);
            (low * low + low * high + high * high) / 3.0
        }
        InitialLaw::Points(points) => {
            let column = points.iter().skip(k).step_by(dim);
            column.map(|x| (x - v).powi(2)).sum::<f64>() / (points.len() / dim) as f64
        }
    };
    0.5 * minimiser.iter().enumerate().map(|(k, v)| coordinate(k, *v)).sum::<f64>()
}

/// The logarithm of `rho_0(B_r(v*))`, the mass of the closed box of radius r; minus infinity if there is none.
pub fn log_mass(law: &InitialLaw, minimiser: &[f64], r: f64) -> f64 {
    if let InitialLaw::Points(points) = law {
        let rows = points.chunks_exact(minimiser.len());
        let count = rows.len() as f64;
        let inside = |row: &&[f64]| row.iter().zip(minimiser).all(|(x, v)| (x - v).abs() <= r);
        return (rows.filter(inside).count() as f64 / count).ln();
    }
    sum_over_coordinates(law, minimiser, |k, v| log_coordinate_mass(law, k, v, r))
}

/// The same for a radius given by its logarithm, even where the radius underflows: there the mass of a law with a density is
/// proportional to the volume.
pub fn log_mass_at(law: &InitialLaw, minimiser: &[f64], log_r: f64) -> f64 {
    const LEAST: f64 = -600.0;
    let lost = match law {
        InitialLaw::Points(_) => 0.0,
        _ => minimiser.len() as f64 * (log_r - LEAST).min(0.0),
    };
    log_mass(law, minimiser, log_r.max(LEAST).exp()) + lost
}

/// The sum of `term(k, v*_k)`, computed once for equal neighbours.
fn sum_over_coordinates(law: &InitialLaw, minimiser: &[f64], term: impl Fn(usize, f64) -> f64) -> f64 {
    let alike = |k: usize, j: usize| match law {
        InitialLaw::Normal { mean: a, variance: b } | InitialLaw::Uniform { low: a, high: b } => {
            a.get(k) == a.get(j) && b.get(k) == b.get(j) && minimiser[k] == minimiser[j]
        }
        InitialLaw::Points(_) => false,
    };
    let (mut sum, mut last) = (0.0, 0.0);
    for (k, v) in minimiser.iter().enumerate() {
        if k == 0 || !alike(k, k - 1) {
            last = term(k, *v);
        }
        sum += last;
    }
    sum
}

fn log_coordinate_mass(law: &InitialLaw, k: usize, v: f64, r: f64) -> f64 {
    match law {
        InitialLaw::Normal { mean, variance } => {
            let (offset, deviation) = (v - mean.get(k), variance.get(k).sqrt());
            if deviation == 0.0 {
                return if offset.abs() <= r { 0.0 } else { f64::NEG_INFINITY };
            }
            log_normal_mass(offset / deviation, r / deviation)
        }
        InitialLaw::Uniform { low, high } => {
            let (low, high) = (low.get(k) - v, high.get(k) - v);
            ((high.min(r) - low.max(-r)).max(0.0) / (high - low)).ln()
        }
        InitialLaw::Points(_) => f64::NAN,
    }
}

/// The logarithm of `int phi_r drho_0`, the start of the lower bound for the mass; minus infinity if it is zero.
pub fn log_mollified_mass(law: &InitialLaw, minimiser: &[f64], r: f64) -> f64 {
    if let InitialLaw::Points(points) = law {
        let rows = points.chunks_exact(minimiser.len());
        let count = rows.len() as f64;
        let offset = |row: &[f64]| row.iter().zip(minimiser).map(|(x, v)| x - v).collect::<Vec<_>>();
        return (rows.map(|row| mollifier::value(r, &offset(row))).sum::<f64>() / count).ln();
    }
    sum_over_coordinates(law, minimiser, |k, v| log_coordinate_integral(law, k, v, r))
}

fn log_coordinate_integral(law: &InitialLaw, k: usize, v: f64, r: f64) -> f64 {
    match law {
        InitialLaw::Normal { mean, variance } => {
            let (centre, deviation) = (mean.get(k) - v, variance.get(k).sqrt());
            if deviation == 0.0 {
                return mollifier::factor(r, centre).ln();
            }
            let mut cuts = cuts(-r, r, r);
            cuts.extend((-20..=20).map(|j| centre + 0.5 * f64::from(j) * deviation));
            log_integral(cuts, -r, r, |x| log_factor(r, x) + log_density((x - centre) / deviation) - deviation.ln())
        }
        InitialLaw::Uniform { low, high } => {
            let (low, high) = (low.get(k) - v, high.get(k) - v);
            let (from, to) = (low.max(-r), high.min(r));
            log_integral(cuts(from, to, r), from, to, |x| log_factor(r, x)) - (high - low).ln()
        }
        InitialLaw::Points(_) => f64::NAN,
    }
}

/// The logarithm of the mollifier's factor, which itself would underflow near the edge.
fn log_factor(r: f64, x: f64) -> f64 {
    if x.abs() < r { 1.0 - r * r / ((r - x) * (r + x)) } else { f64::NEG_INFINITY }
}

/// Where to cut an interval inside [-r, r]: evenly, and ever closer to the edges, where the mollifier is flat.
fn cuts(from: f64, to: f64, r: f64) -> Vec<f64> {
    let even = (0..=8).map(|j| from + (to - from) * f64::from(j) / 8.0);
    let edges = (2..24).flat_map(|j| [-1.0, 1.0].map(|side| side * r * (1.0 - 0.5f64.powi(j))));
    even.chain(edges).collect()
}

/// The logarithm of the integral of exp(f) over [from, to], cut at these places.
fn log_integral(mut cuts: Vec<f64>, from: f64, to: f64, f: impl Fn(f64) -> f64) -> f64 {
    if from >= to {
        return f64::NEG_INFINITY;
    }
    cuts.retain(|x| *x > from && *x < to);
    cuts.extend([from, to]);
    cuts.sort_by(f64::total_cmp);
    let rule = legendre();
    let mut terms = Vec::with_capacity(cuts.len() * rule.len());
    for pair in cuts.windows(2) {
        let (middle, half) = (0.5 * (pair[0] + pair[1]), 0.5 * (pair[1] - pair[0]));
        terms.extend(rule.iter().filter(|_| half > 0.0).map(|(x, w)| (w * half).ln() + f(middle + half * x)));
    }
    let top = terms.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY { top } else { top + terms.iter().map(|t| (t - top).exp()).sum::<f64>().ln() }
}
