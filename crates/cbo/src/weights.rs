//! The kernels behind the consensus point: least energy, weights, effective sample size, weighted sum.

use crate::simd::{Kernel, Scalar, Vector};

/// The least number and its first place; `None` if there are none or one of them is not finite.
pub(crate) struct Least<'a>(pub &'a [f64]);

impl Kernel<f64> for Least<'_> {
    type Output = Option<(f64, usize)>;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Option<(f64, usize)> {
        let (zero, mut check) = (V::splat(0.0), V::splat(0.0));
        let mut lowest = V::splat(f64::INFINITY);
        let chunks = self.0.chunks_exact(V::LANES);
        let rest = chunks.remainder();
        for chunk in chunks {
            let e = V::load(chunk);
            // 0 times a number is 0 exactly if the number is finite, else NaN; and NaN stays.
            check = e.mul_add(zero, check);
            lowest = e.min(lowest);
        }
        if !check.abs().all_less(V::splat(1.0)) || rest.iter().any(|e| !e.is_finite()) {
            return None;
        }
        let mut lanes = [f64::INFINITY; 8];
        lowest.store(&mut lanes);
        let least = lanes.iter().chain(rest).copied().fold(f64::INFINITY, f64::min);
        let all = V::splat(least);
        for (c, chunk) in self.0.chunks_exact(V::LANES).enumerate() {
            if !all.all_less(V::load(chunk)) {
                return chunk.iter().position(|&e| e == least).map(|i| (least, c * V::LANES + i));
            }
        }
        rest.iter().position(|&e| e == least).map(|i| (least, self.0.len() - rest.len() + i))
    }
}

/// w_i = exp(-alpha (E_i - least)), zero where E_i is not finite; returns their sum and that of their squares.
pub(crate) struct Weights<'a> {
    pub alpha: f64,
    pub least: f64,
    pub energies: &'a [f64],
    pub weights: &'a mut [f64],
}

/// The exponential of a number below this is zero (see `simd::Real::exp`).
const ZERO_BELOW: f64 = -709.0;

#[inline(always)]
fn weights<V: Vector<Scalar = f64>>(minus_alpha: V, least: V, energies: V) -> V {
    let (zero, one) = (V::splat(0.0), V::splat(1.0));
    let gap = energies - least;
    let below = zero.select_less(gap, (gap * minus_alpha).exp(), one);
    // False for NaN and both infinities.
    energies.abs().select_less(V::splat(f64::INFINITY), below, zero)
}

impl Kernel<f64> for Weights<'_> {
    type Output = (f64, f64);
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> (f64, f64) {
        let (minus_alpha, least) = (V::splat(-self.alpha), V::splat(self.least));
        let (mut mass, mut squares) = (V::splat(0.0), V::splat(0.0));
        let full = self.energies.len() - self.energies.len() % V::LANES;
        let mut rest = [f64::INFINITY; 8]; // padding of weight zero
        rest[..self.energies.len() - full].copy_from_slice(&self.energies[full..]);
        for (energies, out) in self.energies.chunks(V::LANES).zip(self.weights.chunks_mut(V::LANES)) {
            let energies = V::load(if energies.len() == V::LANES { energies } else { &rest });
            // With a large alpha nearly all weights are zero: no exponential is needed to know it.
            if ((energies - least) * minus_alpha).all_less(V::splat(ZERO_BELOW)) {
                out.fill(0.0);
                continue;
            }
            let w = weights(minus_alpha, least, energies);
            mass = mass + w;
            squares = w.mul_add(w, squares);
            w.store_partial(out);
        }
        (mass.sum(), squares.sum())
    }
}

/// Effective sample size of finite energies at `alpha`.
pub(crate) struct SampleSize<'a> {
    pub alpha: f64,
    pub least: f64,
    pub energies: &'a [f64],
}

impl Kernel<f64> for SampleSize<'_> {
    type Output = f64;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> f64 {
        let (minus_alpha, least) = (V::splat(-self.alpha), V::splat(self.least));
        let (mut mass, mut squares) = (V::splat(0.0), V::splat(0.0));
        let chunks = self.energies.chunks_exact(V::LANES);
        let mut rest = [f64::INFINITY; 8];
        rest[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        for energies in chunks.chain(std::iter::once(&rest[..])) {
            let w = weights(minus_alpha, least, V::load(energies));
            mass = mass + w;
            squares = w.mul_add(w, squares);
        }
        let mass = mass.sum();
        mass * mass / squares.sum()
    }
}

/// moment += sum_i w_i rows_i, in double precision.
pub(crate) struct Moment<'a, T> {
    pub rows: &'a [T],
    pub weights: &'a [f64],
    pub moment: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Moment<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(mut self) {
        let (mut from, dim) = (0, self.moment.len());
        while from < dim {
            from += match dim - from {
                16.. => self.columns::<V, 16>(from),
                8.. => self.columns::<V, 8>(from),
                4.. => self.columns::<V, 4>(from),
                2.. => self.columns::<V, 2>(from),
                _ => self.columns::<V, 1>(from),
            };
        }
    }
}

impl<T: Scalar> Moment<'_, T> {
    /// Some neighbouring columns, whose sums stay in registers: added up in memory, each row would wait for the one before. Their number.
    #[inline(always)]
    fn columns<V: Vector<Scalar = f64>, const COLUMNS: usize>(&mut self, from: usize) -> usize {
        let dim = self.moment.len();
        let moment = &mut self.moment[from..from + COLUMNS];
        let mut sums = [0.0; COLUMNS];
        sums.copy_from_slice(moment);
        for (rows, weights) in self.rows.chunks(V::LANES * dim).zip(self.weights.chunks(V::LANES)) {
            if V::load_partial(weights).abs().all_less(V::splat(f64::MIN_POSITIVE)) {
                continue;
            }
            for (row, &w) in rows.chunks_exact(dim).zip(weights) {
                if w != 0.0 {
                    // Plain Rust: the compiler vectorises it for the instruction set of this kernel.
                    for (sum, x) in sums.iter_mut().zip(&row[from..from + COLUMNS]) {
                        *sum = x.to_f64().mul_add(w, *sum);
                    }
                }
            }
        }
        moment.copy_from_slice(&sums);
        COLUMNS
    }
}
