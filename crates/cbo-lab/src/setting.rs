//! The setting of the paper's Figure 1, the default of everything about the theory.

use cbo::{Alpha, CboConfig, Coordinates, InitialLaw, Sigma};

/// lambda.
pub const LAMBDA: f64 = 1.0;
/// sigma.
pub const SIGMA: f64 = 0.32;
/// alpha.
pub const ALPHA: f64 = 1e15;
/// The time step.
pub const DT: f64 = 0.01;
/// The time horizon.
pub const TIME: f64 = 4.0;
/// Number of particles.
pub const PARTICLES: usize = 320_000;
/// Variance of each coordinate at the start.
pub const VARIANCE: f64 = 32.0;
/// Norm of the mean at the start.
pub const MEAN_NORM: f64 = 2.0;

/// The initial law, stated not in the paper but in its authors' script: normal with covariance 32 Id, its mean at
/// distance 2 from the origin in the direction whose first d/2 coordinates are equal and the others 0 (in one dimension: at 2).
pub fn initial_law(dim: usize) -> InitialLaw {
    let equal = (dim / 2).max(1);
    let mean = (0..dim).map(|k| if k < equal { MEAN_NORM / (equal as f64).sqrt() } else { 0.0 }).collect();
    InitialLaw::Normal { mean: Coordinates::Each(mean), variance: Coordinates::All(VARIANCE) }
}

/// The whole setting in `dim` dimensions.
pub fn config(dim: usize) -> CboConfig {
    CboConfig {
        particles: PARTICLES,
        lambda: LAMBDA,
        sigma: Sigma::Constant(SIGMA),
        alpha: Alpha::Constant(ALPHA),
        dt: DT,
        init: initial_law(dim),
        time: Some(TIME),
        ..CboConfig::default()
    }
}
