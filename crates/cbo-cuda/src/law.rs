//! The law of the initial positions, as the kernels read it: `draw` in `particle.cuh`.

use cbo::InitialLaw;

/// Its kind: `Law`.
pub(crate) fn kind_of_law(law: &InitialLaw) -> u64 {
    match law {
        InitialLaw::Normal { .. } => 0,
        InitialLaw::Uniform { .. } => 1,
        InitialLaw::Points(_) => 2,
    }
}

/// Its numbers: where each coordinate begins and how far it goes, or all points.
pub(crate) fn numbers_of_law(law: &InitialLaw, dim: usize) -> Vec<f64> {
    let both = |first: &dyn Fn(usize) -> f64, second: &dyn Fn(usize) -> f64| {
        (0..dim).map(first).chain((0..dim).map(second)).collect()
    };
    match law {
        InitialLaw::Normal { mean, variance } => both(&|k| mean.get(k), &|k| variance.get(k).sqrt()),
        InitialLaw::Uniform { low, high } => both(&|k| low.get(k), &|k| high.get(k) - low.get(k)),
        InitialLaw::Points(points) => points.clone(),
    }
}
