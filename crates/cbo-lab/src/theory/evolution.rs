//! How V moves (Lemma 1 of the paper): the derivative of `V = 1/2 int |v - v*|^2 drho` along the mean-field flow, and
//! the bound of the lemma for it.
//!
//! With e = v_a - v*, m = int (v - v*) drho and k = 1 (anisotropic noise) or d (isotropic) the flow gives
//!
//! `dV/dt = -lambda int <v - v*, v - v_a> drho + k sigma^2/2 int |v - v_a|^2 drho`.
//!
//! Put `v - v_a = (v - v*) - e`: then `int <v - v*, v - v_a> = 2V - <m, e>` and `int |v - v_a|^2 = 2V - 2<m, e> +
//! |e|^2`, and so, for any cloud whatsoever,
//!
//! `dV/dt = -(2 lambda - k sigma^2) V + (lambda - k sigma^2) <m, e> + k sigma^2/2 |e|^2`.
//!
//! Since `|m| <= sqrt(2V)`, the middle term is at most `sqrt 2 |lambda - k sigma^2| sqrt V |e|`. The lemma writes
//! lambda + sigma^2 where |lambda - sigma^2| would do.

use cbo::simd::{self, Kernel, Vector};
use cbo::{Diffusion, Rows, Scalar};

/// Rows that are summed before their sum joins the others': long sums of short sums round less than one long sum.
const BLOCK: usize = 1024;

/// The numbers of the dynamics that the lemma needs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dynamics {
    /// lambda.
    pub lambda: f64,
    /// `k sigma^2`, with k = 1 (anisotropic noise) or d (isotropic).
    pub noise: f64,
}

impl Dynamics {
    /// The dynamics in `dim` dimensions.
    pub fn new(lambda: f64, sigma: f64, diffusion: Diffusion, dim: usize) -> Self {
        Self { lambda, noise: diffusion.moment_factor(dim) * sigma * sigma }
    }

    /// `2 lambda - k sigma^2`, the rate at which V decays when the consensus point is v*.
    pub fn rate(&self) -> f64 {
        2.0 * self.lambda - self.noise
    }
}

/// What Lemma 1 needs to know about a cloud of particles.
#[derive(Clone, Debug, PartialEq)]
pub struct Evolution {
    /// V, half the mean squared distance to v*.
    pub v: f64,
    /// m, the mean of v - v*.
    pub m: Vec<f64>,
    /// e = v_a - v*.
    pub e: Vec<f64>,
    /// The mean of `<v - v*, v - v_a>`.
    pub product: f64,
    /// The mean of `|v - v_a|^2`.
    pub square: f64,
}

impl Evolution {
    /// Measures the particles `rows` against the minimiser v* and the consensus point v_a, in one pass. Differences are
    /// taken coordinate by coordinate, so that a swarm far from the origin loses nothing.
    ///
    /// The three points must have the same number of coordinates; without particles all is NaN.
    pub fn new<T: Scalar>(rows: Rows<'_, T>, minimiser: &[f64], consensus: &[f64]) -> Self {
        let dim = rows.dim();
        let mut total = Sums::zero(dim);
        let mut part = Sums::zero(dim);
        for block in rows.as_slice().chunks(BLOCK * dim) {
            simd::run(Add { rows: block, minimiser, consensus, sums: &mut part });
            total.take(&mut part);
        }
        let count = rows.len() as f64;
        let mean = |sums: &[f64]| sums.iter().sum::<f64>() / count;
        Self {
            v: 0.5 * mean(&total.squares_from_minimiser),
            m: total.offsets.iter().map(|sum| sum / count).collect(),
            e: consensus.iter().zip(minimiser).map(|(a, b)| a - b).collect(),
            product: mean(&total.products),
            square: mean(&total.squares_from_consensus),
        }
    }

    /// `|v_a - v*|`.
    pub fn distance(&self) -> f64 {
        norm(&self.e)
    }

    /// `|v_a - v*|` in the maximum norm.
    pub fn distance_max(&self) -> f64 {
        self.e.iter().fold(0.0, |most, x| if x.abs() > most || x.is_nan() { x.abs() } else { most })
    }

    /// dV/dt straight from the particles.
    pub fn derivative(&self, dynamics: &Dynamics) -> f64 {
        -dynamics.lambda * self.product + 0.5 * dynamics.noise * self.square
    }

    /// dV/dt by the identity, from V, m and e alone.
    pub fn identity(&self, dynamics: &Dynamics) -> f64 {
        let Dynamics { lambda, noise } = *dynamics;
        let e2 = self.distance().powi(2);
        -dynamics.rate() * self.v + (lambda - noise) * self.along() + 0.5 * noise * e2
    }

    /// Lemma 1's right side, `-(2 lambda - sigma^2) V + sqrt 2 (lambda + sigma^2) sqrt V |e| + sigma^2/2 |e|^2`; for
    /// isotropic noise with d sigma^2 in place of sigma^2.
    pub fn bound(&self, dynamics: &Dynamics) -> f64 {
        self.bound_with(dynamics, dynamics.lambda + dynamics.noise)
    }

    /// The same with `|lambda - sigma^2|` in place of `lambda + sigma^2`: still a bound, and a better one.
    pub fn sharp_bound(&self, dynamics: &Dynamics) -> f64 {
        self.bound_with(dynamics, (dynamics.lambda - dynamics.noise).abs())
    }

    /// Bound minus derivative: never negative except for rounding, which is a few 1e-16 of [`size`](Self::size).
    pub fn slack(&self, dynamics: &Dynamics) -> f64 {
        self.bound(dynamics) - self.derivative(dynamics)
    }

    /// The size of the terms of bound and derivative: what their rounding errors are relative to.
    pub fn size(&self, dynamics: &Dynamics) -> f64 {
        let Dynamics { lambda, noise } = *dynamics;
        let e = self.distance();
        (2.0 * lambda + noise) * self.v
            + std::f64::consts::SQRT_2 * (lambda + noise) * self.v.sqrt() * e
            + 0.5 * noise * e * e
    }

    fn bound_with(&self, dynamics: &Dynamics, factor: f64) -> f64 {
        let e = self.distance();
        let mixed = std::f64::consts::SQRT_2 * factor * self.v.sqrt() * e;
        -dynamics.rate() * self.v + mixed + 0.5 * dynamics.noise * e * e
    }

    /// `<m, e>`.
    fn along(&self) -> f64 {
        self.m.iter().zip(&self.e).map(|(m, e)| m * e).sum()
    }
}

/// The Euclidean norm.
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Sums over particles, one for each coordinate.
struct Sums {
    offsets: Vec<f64>,
    squares_from_minimiser: Vec<f64>,
    products: Vec<f64>,
    squares_from_consensus: Vec<f64>,
}

impl Sums {
    fn zero(dim: usize) -> Self {
        let zero = || vec![0.0; dim];
        Self { offsets: zero(), squares_from_minimiser: zero(), products: zero(), squares_from_consensus: zero() }
    }

    fn parts(&mut self) -> [&mut Vec<f64>; 4] {
        [&mut self.offsets, &mut self.squares_from_minimiser, &mut self.products, &mut self.squares_from_consensus]
    }

    /// Adds `other` and leaves it zero.
    fn take(&mut self, other: &mut Self) {
        for (mine, theirs) in self.parts().into_iter().zip(other.parts()) {
            for (sum, part) in mine.iter_mut().zip(theirs) {
                *sum += std::mem::take(part);
            }
        }
    }
}

/// Adds a block of particles to the sums.
struct Add<'a, T> {
    rows: &'a [T],
    minimiser: &'a [f64],
    consensus: &'a [f64],
    sums: &'a mut Sums,
}

impl<T: Scalar> Kernel<f64> for Add<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let dim = self.minimiser.len();
        let (offsets, xx) = (&mut self.sums.offsets[..dim], &mut self.sums.squares_from_minimiser[..dim]);
        let (xy, yy) = (&mut self.sums.products[..dim], &mut self.sums.squares_from_consensus[..dim]);
        let consensus = &self.consensus[..dim];
        for row in self.rows.chunks_exact(dim) {
            // Plain Rust: the compiler vectorises it for the instruction set of this kernel.
            for k in 0..dim {
                let position = row[k].to_f64();
                let (x, y) = (position - self.minimiser[k], position - consensus[k]);
                offsets[k] += x;
                xx[k] += x * x;
                xy[k] += x * y;
                yy[k] += y * y;
            }
        }
    }
}
