//! Stability of the discrete dynamics while the consensus point stays where it is: of the mean square, and of almost every
//! path.
//!
//! With X the distance from the consensus point, one step multiplies each coordinate (anisotropic) by
//! `1 - lambda dt + sigma sqrt(dt) xi`, or the norm (isotropic) by `|(1 - lambda dt) u + sigma sqrt(dt) xi|` with a unit vector
//! u; the drift-first scheme by `1 - lambda dt` times the same with `1` in its place. Squares of such factors are noncentral
//! chi-square, up to scale, so that the expectation of their logarithm is a Poisson mixture of digamma values: a series, without
//! quadrature across the singularity of the logarithm. With jumps the variance of the noise is `sigma^2 dt + size^2 n` for a Poisson number n
//! of them: a mixture once more.

use super::landscape::bisect;
use super::special::{log_chi_square, log_noncentral_ratio};
use cbo::{CboConfig, Diffusion, Method, Scheme};
use std::ops::ControlFlow::{Break, Continue};

/// The expectation of the logarithm of a step's factor: the exponent of almost every path, per step. Minus infinity if one
/// step reaches the consensus point.
pub fn log_factor(config: &CboConfig, dim: usize) -> f64 {
    Step::new(config, dim).log_factor(config.sigma.largest().ln() + 0.5 * config.dt.ln())
}

/// The exponent of almost every path, per unit of time: negative if the distance contracts. As dt tends to 0 it tends to
/// `-(lambda + sigma^2/2)` (anisotropic) or `-lambda + (d - 2) sigma^2/2` (isotropic).
pub fn exponent(config: &CboConfig, dim: usize) -> f64 {
    log_factor(config, dim) / config.dt
}

/// The interval of those sigma with which almost every path contracts; `None` if there are none.
///
/// Its lower end belongs to it if the drift alone contracts (lambda dt < 2), and is 0 then; the upper end does not belong to
/// it, and is infinite where one step of the drift reaches the consensus point.
pub fn contracting_sigmas(config: &CboConfig, dim: usize) -> Option<(f64, f64)> {
    let step = Step::new(config, dim);
    let contracts = |log_noise: f64| step.log_factor(log_noise) < 0.0;
    let sigma = |log_noise: f64| (log_noise - 0.5 * config.dt.ln()).exp();
    let bottom = step.log_bottom();
    let without = contracts(f64::NEG_INFINITY);
    // Beside jumps there may be no room for the noise that is best without them.
    if !contracts(bottom) && !without {
        return None;
    }
    // From the bottom up, and down if too little noise does not contract.
    let start = if bottom.is_finite() && contracts(bottom) { bottom } else { step.log_little() };
    if !contracts(start) {
        return None;
    }
    let edge = |direction: f64| {
        let outside = (0..12).try_fold(1.0, |reach, _| {
            if contracts(start + direction * reach) { Continue(2.0 * reach) } else { Break(reach) }
        });
        let Break(reach) = outside else { return None };
        Some(start + direction * bisect(0.0, reach, |s| contracts(start + direction * s)))
    };
    // A drift that neither contracts nor spreads does contract with the least noise.
    let low =
        if without || (step.log_kept <= 0.0 && step.jumps.is_none()) { 0.0 } else { edge(-1.0).map_or(0.0, sigma) };
    Some((low, edge(1.0).map_or(f64::INFINITY, sigma)))
}

/// One step around a fixed consensus point, with the noise left open.
struct Step {
    /// The logarithm of |1 - lambda dt|.
    log_kept: f64,
    /// The logarithm of the distance to which the noise is added.
    log_start: f64,
    /// What the sum is multiplied by, as a logarithm.
    log_after: f64,
    /// The number of normal numbers that are added to a distance.
    freedom: f64,
    /// The mean number of jumps and the logarithm of their size, if there are any.
    jumps: Option<(f64, f64)>,
}

impl Step {
    fn new(config: &CboConfig, dim: usize) -> Self {
        let drift = config.lambda * config.dt;
        // In a way that keeps a small drift's digits, and does without the number where it is too large.
        let log_kept = match drift {
            drift if drift < 1.0 => libm::log1p(-drift),
            f64::INFINITY => config.lambda.ln() + config.dt.ln(),
            _ => (drift - 1.0).ln(),
        };
        let (log_start, log_after) = match config.scheme {
            Scheme::EulerMaruyama => (log_kept, 0.0),
            Scheme::DriftFirst => (0.0, log_kept),
        };
        let freedom = match config.diffusion {
            Diffusion::Anisotropic => 1.0,
            Diffusion::Isotropic => dim as f64,
        };
        let jumps = match config.method {
            Method::Jumps(jumps) if jumps.variance() > 0.0 => Some((jumps.rate * config.dt, jumps.size.ln())),
            _ => None,
        };
        Self { log_kept, log_start, log_after, freedom, jumps }
    }

    fn log_factor(&self, log_noise: f64) -> f64 {
        let Some((mean, log_size)) = self.jumps else { return self.log_factor_of(log_noise) };
        let (mut probability, mut sum, mut left) = ((-mean).exp(), 0.0, 1.0);
        for count in 0.. {
            if count > 0 {
                probability *= mean / f64::from(count);
            }
            let log_jumps = if count > 0 { log_size + 0.5 * f64::from(count).ln() } else { f64::NEG_INFINITY };
            let (high, low) = (log_noise.max(log_jumps), log_noise.min(log_jumps));
            // The logarithm of the root of the sum of both variances.
            let together =
                if low == f64::NEG_INFINITY { high } else { high + 0.5 * (2.0 * (low - high)).exp().ln_1p() };
            sum += probability * self.log_factor_of(together);
            left -= probability;
            if f64::from(count) > mean && left < 1e-14 {
                break;
            }
        }
        sum
    }

    fn log_factor_of(&self, log_noise: f64) -> f64 {
        /// Where the start is smaller than the noise by e to this power, it does not count.
        const NEGLIGIBLE: f64 = 20.0;
        if self.log_after == f64::NEG_INFINITY {
            return f64::NEG_INFINITY;
        }
        let diffused = if log_noise == f64::NEG_INFINITY {
            self.log_start
        } else if self.log_start < log_noise - NEGLIGIBLE {
            log_noise + 0.5 * log_chi_square(self.freedom)
        } else {
            self.log_start + 0.5 * log_noncentral_ratio(self.freedom, (2.0 * (self.log_start - log_noise)).exp())
        };
        self.log_after + diffused
    }

    /// The logarithm of a noise that certainly does not outweigh the drift.
    fn log_little(&self) -> f64 {
        self.log_start.max(-700.0) + 0.5 * self.log_kept.abs().min(1.0).ln() - 0.5 * self.freedom.ln() - 10.0
    }

    /// The logarithm of the noise with the least factor. In one coordinate `E ln|1 + t xi|` falls up to t = 0.7652 and rises
    /// after it: its derivative vanishes where `2 x D(x) = 1` with Dawson's function D and x = 1/(t sqrt 2) = 0.924139. In
    /// more coordinates the logarithm of the norm is subharmonic, so that noise only makes it larger.
    fn log_bottom(&self) -> f64 {
        if self.freedom == 1.0 { self.log_start + 0.765_152f64.ln() } else { f64::NEG_INFINITY }
    }
}
