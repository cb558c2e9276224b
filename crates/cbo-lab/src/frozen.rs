//! The particles when the consensus point is frozen at the minimiser: a chain whose second and fourth moments are known
//! exactly, step by step, and with them the mean and the standard error of everything measured on V.
//!
//! A step multiplies X = V - v* by independent factors: each coordinate by `a + s xi` (anisotropic), or the squared norm by
//! `|a u + s xi|^2` with a unit vector u (isotropic), where `a = 1 - lambda dt` and `s = sigma sqrt(dt)` (Euler-Maruyama) or
//! `a sigma sqrt(dt)` (drift-first).

use crate::statistics::slope_weights;
use cbo::{Coordinates, Diffusion, InitialLaw, Scheme};

/// The chain of one particle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chain {
    /// lambda.
    pub lambda: f64,
    /// sigma.
    pub sigma: f64,
    /// The time step.
    pub dt: f64,
    /// Kind of noise.
    pub diffusion: Diffusion,
    /// Time discretisation.
    pub scheme: Scheme,
    /// Number of coordinates.
    pub dim: usize,
}

impl Chain {
    /// The factor of the drift and that of the noise.
    fn factors(&self) -> (f64, f64) {
        let drift = 1.0 - self.lambda * self.dt;
        let noise = self.sigma * self.dt.sqrt();
        match self.scheme {
            Scheme::EulerMaruyama => (drift, noise),
            Scheme::DriftFirst => (drift, noise * drift),
        }
    }

    /// The factor by which a step multiplies the expectation of V.
    pub fn growth(&self) -> f64 {
        let (a, s) = self.factors();
        a * a + self.diffusion.moment_factor(self.dim) * s * s
    }

    /// The decay rate of the expectation of V: `-log(growth) / dt`.
    pub fn rate(&self) -> f64 {
        -self.growth().ln() / self.dt
    }

    /// The decay rate in continuous time, `2 lambda - k sigma^2`.
    pub fn rate_continuous(&self) -> f64 {
        2.0 * self.lambda - self.diffusion.moment_factor(self.dim) * self.sigma * self.sigma
    }

    /// The factor by which a step multiplies the expected fourth moment: of each coordinate (anisotropic), of the norm
    /// (isotropic).
    fn growth_of_fourth(&self) -> f64 {
        let (a, s) = self.factors();
        let (a2, s2, d) = (a * a, s * s, self.dim as f64);
        match self.diffusion {
            Diffusion::Anisotropic => a2 * a2 + 6.0 * a2 * s2 + 3.0 * s2 * s2,
            Diffusion::Isotropic => (a2 + d * s2).powi(2) + 2.0 * d * s2 * s2 + 4.0 * a2 * s2,
        }
    }

    /// The variance of a particle's |X_n|^2 over the square of its mean, for a normal start.
    pub fn relative_variance(&self, start: &Start, step: u64) -> f64 {
        let n = step as f64;
        // Growth of the fourth moment relative to the squared second: at least 1.
        let ratio = (n * (self.growth_of_fourth().ln() - 2.0 * self.growth().ln())).exp();
        let mean = start.second.iter().sum::<f64>();
        let own = start.second.iter().zip(&start.fourth);
        let variance = match self.diffusion {
            Diffusion::Anisotropic => own.map(|(m2, m4)| m4 * ratio - m2 * m2).sum(),
            Diffusion::Isotropic => {
                let fourth = mean * mean + own.map(|(m2, m4)| m4 - m2 * m2).sum::<f64>();
                fourth * ratio - mean * mean
            }
        };
        variance / (mean * mean)
    }

    /// The standard error of the rate that the regression of log V over the time of `steps` gives, with N particles.
    ///
    /// V over its expectation is a martingale, so that `cov(log V_m, log V_n) = var(log V_min(m, n))` up to terms of order
    /// 1/N^2.
    pub fn rate_standard_error(&self, start: &Start, steps: &[u64], particles: usize) -> f64 {
        let times: Vec<f64> = steps.iter().map(|n| *n as f64 * self.dt).collect();
        let weights = slope_weights(&times);
        let variances: Vec<f64> = steps.iter().map(|n| self.relative_variance(start, *n) / particles as f64).collect();
        let mut sum = 0.0;
        for (i, wi) in weights.iter().enumerate() {
            for (j, wj) in weights.iter().enumerate() {
                sum += wi * wj * variances[i.min(j)];
            }
        }
        sum.sqrt()
    }
}

/// Second and fourth moments of each coordinate's offset from the minimiser, at the start.
#[derive(Clone, Debug, PartialEq)]
pub struct Start {
    second: Vec<f64>,
    fourth: Vec<f64>,
}

impl Start {
    /// Those of independent normals about `minimiser`; `None` for another law.
    pub fn of(law: &InitialLaw, minimiser: &[f64]) -> Option<Self> {
        let InitialLaw::Normal { mean, variance } = law else { return None };
        let offsets = |k: &Coordinates, l: &Coordinates| {
            minimiser.iter().enumerate().map(|(i, v)| (k.get(i) - v, l.get(i))).collect::<Vec<_>>()
        };
        let moments = offsets(mean, variance);
        Some(Self {
            second: moments.iter().map(|(m, v)| m * m + v).collect(),
            fourth: moments.iter().map(|(m, v)| m.powi(4) + 6.0 * m * m * v + 3.0 * v * v).collect(),
        })
    }

    /// V at the start, in expectation.
    pub fn v(&self) -> f64 {
        0.5 * self.second.iter().sum::<f64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting;

    fn chain(diffusion: Diffusion, scheme: Scheme, dim: usize) -> Chain {
        let (lambda, sigma, dt) = (setting::LAMBDA, setting::SIGMA, setting::DT);
        Chain { lambda, sigma, dt, diffusion, scheme, dim }
    }

    #[test]
    fn the_start_of_figure_1() {
        for dim in [1, 4, 16] {
            let start = Start::of(&setting::initial_law(dim), &vec![0.0; dim]).expect("normal");
            assert!((start.v() - (16.0 * dim as f64 + 2.0)).abs() < 1e-12);
        }
    }

    /// Standard deviations of V(4) that METHOD gives for 320 000 particles, in per cent.
    #[test]
    fn the_deviations_of_figure_1() {
        let known = [(4, 0.34, 0.46), (8, 0.24, 0.41), (12, 0.20, 0.40), (16, 0.17, 0.38)];
        for (dim, anisotropic, isotropic) in known {
            let start = Start::of(&setting::initial_law(dim), &vec![0.0; dim]).expect("normal");
            for (diffusion, percent) in [(Diffusion::Anisotropic, anisotropic), (Diffusion::Isotropic, isotropic)] {
                let chain = chain(diffusion, Scheme::EulerMaruyama, dim);
                let deviation = 100.0 * (chain.relative_variance(&start, 400) / 320_000.0).sqrt();
                assert!((deviation - percent).abs() < 0.02, "d = {dim}, {diffusion:?}: {deviation} against {percent}");
            }
        }
    }
}
