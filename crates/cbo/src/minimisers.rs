//! The minimisers that a swarm with several consensus points found.

use crate::config::Plan;
use crate::ensemble::Ensemble;
use crate::method::Method;
use crate::simd::Scalar;

/// A minimiser that a swarm found, and how much of the swarm did.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Minimiser<T> {
    /// The best particle there.
    pub x: Vec<T>,
    /// Its value.
    pub value: f64,
    /// How many particles belong to it.
    pub particles: usize,
    /// The same as a fraction of the swarm.
    pub fraction: f64,
}

/// The least fraction of the swarm that makes a minimiser, and the least number of particles: single ones may be on their way.
const LEAST: (f64, usize) = (0.01, 2);

/// The minimisers of a polarised swarm, the best first; none of another.
///
/// From each particle one goes to the best particle within the width of the kernel, and on from there, until none there is better: that
/// is the minimiser to which the particle belongs.
pub(crate) fn found<T: Scalar>(
    plan: &Plan,
    ensemble: &Ensemble<T>,
    energies: &[T],
    evaluated: Option<&[u32]>,
) -> Vec<Minimiser<T>> {
    let Method::Polarised(polarised) = plan.config().method else { return Vec::new() };
    let (dim, all) = (plan.dim(), ensemble.len());
    let mut factors = vec![0.0; dim];
    polarised.factors(plan.config(), dim, &mut factors);
    let values = energies.iter().map(|energy| energy.to_f64()).enumerate();
    let mut known: Vec<(f64, usize)> = values
        .filter(|(_, value)| value.is_finite())
        .map(|(place, value)| (value, evaluated.map_or(place, |particles| particles[place] as usize)))
        .collect();
    known.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let row = |particle: usize| ensemble.rows().row(particle);
    let near = |a: &[T], b: &[T]| {
        let squares = a.iter().zip(b).zip(&factors).map(|((a, b), factor)| factor * (a.to_f64() - b.to_f64()).powi(2));
        squares.sum::<f64>() <= 1.0
    };
    // The places among `known` to which particles belong.
    let mut roots: Vec<usize> = Vec::with_capacity(known.len());
    let mut counts = vec![0; known.len()];
    let mut is_known = vec![false; all];
    for (place, (_, particle)) in known.iter().enumerate() {
        let better = known[..place].iter().position(|(_, other)| near(row(*other), row(*particle)));
        let root = better.map_or(place, |better| roots[better]);
        roots.push(root);
        counts[root] += 1;
        is_known[*particle] = true;
    }
    for particle in (0..all).filter(|particle| !is_known[*particle]) {
        if let Some(best) = known.iter().position(|(_, other)| near(row(*other), row(particle))) {
            counts[roots[best]] += 1;
        }
    }
    let fraction = |count: usize| count as f64 / all as f64;
    let large = |place: &usize| counts[*place] >= LEAST.1.min(all) && fraction(counts[*place]) >= LEAST.0;
    let minimiser = |place: usize| Minimiser {
        x: row(known[place].1).to_vec(),
        value: known[place].0,
        particles: counts[place],
        fraction: fraction(counts[place]),
    };
    (0..known.len()).filter(large).map(minimiser).collect()
}
