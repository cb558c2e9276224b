//! Stability of the discrete dynamics while the consensus point stays where it is: of the mean square, and of almost every
//! path.
//!
//! With X the distance from the consensus point, one step multiplies each coordinate (anisotropic) by
//! `1 - lambda dt + sigma sqrt(dt) xi`, or the norm (isotropic) by `|(1 - lambda dt) u + sigma sqrt(dt) xi|` with a unit vector
//! u; the drift-first scheme by `1 - lambda dt` times the same with `1` in its place. Squares of such factors are noncentral
//! chi-square, up to scale, so that the expectation of their logarithm is a Poisson mixture of digamma values: a series, no
//! quadrature across the singularity of the logarithm.

use super::landscape::bisect;
use super::special::{log_chi_square, log_noncentral_ratio};
use cbo::{CboConfig, Diffusion, Scheme, Sigma};

/// The expectation of the logarithm of a step's factor: the exponent of almost every path, per step.
pub fn log_factor(config: &CboConfig, dim: usize) -> f64 {
    let (drift, noise) = (config.lambda * config.dt, config.sigma.largest() * config.dt.sqrt());
    let freedom = match config.diffusion {
        Diffusion::Anisotropic => 1.0,
        Diffusion::Isotropic => dim as f64,
    };
    // |1 - drift|, in a way that keeps a small drift's digits.
    let log_kept = if drift < 1.0 { libm::log1p(-drift) } else { (drift - 1.0).ln() };
    let (start, log_start) = match config.scheme {
        Scheme::EulerMaruyama => (1.0 - drift, log_kept),
        Scheme::DriftFirst => (1.0, 0.0),
    };
    let diffused = if noise == 0.0 {
        log_start
    } else if start == 0.0 {
        noise.ln() + 0.5 * log_chi_square(freedom)
    } else {
        log_start + 0.5 * log_noncentral_ratio(freedom, (start / noise).powi(2))
    };
    match config.scheme {
        Scheme::EulerMaruyama => diffused,
        Scheme::DriftFirst => log_kept + diffused,
    }
}

/// The exponent of almost every path, per unit of time: negative if the distance contracts. As dt tends to 0 it tends to
/// `-(lambda + sigma^2/2)` (anisotropic) or `-lambda + (d - 2) sigma^2/2` (isotropic).
pub fn exponent(config: &CboConfig, dim: usize) -> f64 {
    log_factor(config, dim) / config.dt
}

/// The sigma up to which almost every path contracts; `None` if none does.
pub fn largest_contracting_sigma(config: &CboConfig, dim: usize) -> Option<f64> {
    let contracts = |sigma: f64| log_factor(&CboConfig { sigma: Sigma::Constant(sigma), ..config.clone() }, dim) < 0.0;
    // Downwards from a noise that certainly spreads: too much noise spreads, and below that there is one edge.
    let mut low = 8.0 * (1.0 + config.lambda * config.dt) / config.dt.sqrt();
    let (least, mut spreads) = (1e-6 * config.lambda.sqrt().min(low), false);
    while !contracts(low) {
        (low, spreads) = (0.9 * low, true);
        if low < least {
            return None;
        }
    }
    if !spreads {
        return None;
    }
    Some(bisect(low, low / 0.9, contracts))
}
