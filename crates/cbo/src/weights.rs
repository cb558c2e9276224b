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
                // Of two zeros of different signs the first one.
                return chunk.iter().position(|&e| e == least).map(|i| (chunk[i], c * V::LANES + i));
            }
        }
        rest.iter().position(|&e| e == least).map(|i| (rest[i], self.0.len() - rest.len() + i))
    }
}

/// The numbers in double precision, and what [`Least`] says of them.
pub(crate) struct Doubled<'a, T> {
    pub numbers: &'a [T],
    pub doubles: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Doubled<'_, T> {
    type Output = Option<(f64, usize)>;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Option<(f64, usize)> {
        // Plain Rust: the compiler vectorises it for the instruction set of this kernel.
        for (double, number) in self.doubles.iter_mut().zip(self.numbers) {
            *double = number.to_f64();
        }
        Least(self.doubles).run::<V>()
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
pub(crate) const ZERO_BELOW: f64 = -709.0;

#[inline(always)]
pub(crate) fn weights<V: Vector<Scalar = f64>>(minus_alpha: V, least: V, energies: V) -> V {
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
        let mut masses = Masses::<V>::new(self.alpha, self.least);
        let (mut energies, mut out) = (self.energies.chunks_exact(V::LANES), self.weights.chunks_exact_mut(V::LANES));
        for (energies, out) in energies.by_ref().zip(out.by_ref()) {
            masses.weigh(energies, out);
        }
        masses.weigh_rest(energies.remainder(), out.into_remainder());
        masses.sums()
    }
}

/// Sums of weights and of their squares, in lanes.
struct Masses<V> {
    minus_alpha: V,
    least: V,
    mass: V,
    squares: V,
}

impl<V: Vector<Scalar = f64>> Masses<V> {
    #[inline(always)]
    fn new(alpha: f64, least: f64) -> Self {
        let zero = V::splat(0.0);
        Self { minus_alpha: V::splat(-alpha), least: V::splat(least), mass: zero, squares: zero }
    }

    /// Writes the weights of a vector of energies, and adds them up. Nothing in it calls a function, before which all registers would have
    /// to be saved.
    #[inline(always)]
    fn weigh(&mut self, energies: &[f64], out: &mut [f64]) -> V {
        let energies = V::load(energies);
        let mut w = V::splat(0.0);
        // With a large alpha nearly all weights are zero: no exponential is needed to know it.
        if !((energies - self.least) * self.minus_alpha).all_less(V::splat(ZERO_BELOW)) {
            w = weights(self.minus_alpha, self.least, energies);
            self.mass = self.mass + w;
            self.squares = w.mul_add(w, self.squares);
        }
        w.store(out);
        w
    }

    /// The same of fewer.
    #[inline(always)]
    fn weigh_rest(&mut self, energies: &[f64], out: &mut [f64]) {
        if !energies.is_empty() {
            let (mut padded, mut weights) = ([f64::INFINITY; 8], [0.0; 8]); // padding of weight zero
            padded[..energies.len()].copy_from_slice(energies);
            self.weigh(&padded, &mut weights);
            out.copy_from_slice(&weights[..energies.len()]);
        }
    }

    #[inline(always)]
    fn sums(self) -> (f64, f64) {
        (self.mass.sum(), self.squares.sum())
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

/// The [`Weights`] of some rows, and their [`Moment`] where it was zero. Returns what the former return.
pub(crate) struct Weighed<'a, T> {
    pub weights: Weights<'a>,
    pub rows: &'a [T],
    pub moment: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Weighed<'_, T> {
    type Output = (f64, f64);
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> (f64, f64) {
        match self.moment.len() {
            1 => self.at_once::<V, 1>(),
            2 => self.at_once::<V, 2>(),
            4 => self.at_once::<V, 4>(),
            8 => self.at_once::<V, 8>(),
            16 => self.at_once::<V, 16>(),
            _ => {
                let Weights { alpha, least, energies, weights } = self.weights;
                let masses = Weights { alpha, least, energies, weights: &mut *weights }.run::<V>();
                Moment { rows: self.rows, weights, moment: self.moment }.run::<V>();
                masses
            }
        }
    }
}

impl<T: Scalar> Weighed<'_, T> {
    /// Of short rows, while their weights are at hand: each waits for the sum of those before it, and exponentials fill the time.
    #[inline(always)]
    fn at_once<V: Vector<Scalar = f64>, const DIM: usize>(self) -> (f64, f64) {
        let Weights { alpha, least, energies, weights } = self.weights;
        let (mut masses, mut sums) = (Masses::<V>::new(alpha, least), [0.0; DIM]);
        let (mut energies, mut out) = (energies.chunks_exact(V::LANES), weights.chunks_exact_mut(V::LANES));
        let mut rows = self.rows.as_chunks::<DIM>().0.chunks_exact(V::LANES);
        for ((energies, out), rows) in energies.by_ref().zip(out.by_ref()).zip(rows.by_ref()) {
            let w = masses.weigh(energies, out);
            if V::splat(0.0).all_less(w) {
                sums = rows.iter().zip(&*out).fold(sums, add);
            } else {
                sums = rows.iter().zip(&*out).filter(|(_, w)| **w != 0.0).fold(sums, add);
            }
        }
        let out = out.into_remainder();
        masses.weigh_rest(energies.remainder(), out);
        sums = rows.remainder().iter().zip(&*out).filter(|(_, w)| **w != 0.0).fold(sums, add);
        self.moment.copy_from_slice(&sums);
        masses.sums()
    }
}

/// sums + w row. Plain Rust: the compiler vectorises it for the instruction set of a kernel.
#[inline(always)]
fn add<T: Scalar, const DIM: usize>(sums: [f64; DIM], (row, w): (&[T; DIM], &f64)) -> [f64; DIM] {
    std::array::from_fn(|k| row[k].to_f64().mul_add(*w, sums[k]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Noise, Stream};
    use crate::simd::{available, run_on};

    /// Energies with failures, ties, and gaps of all sizes; and rows of f32 or f64.
    fn swarm<T: Scalar>(count: usize, dim: usize) -> (Vec<f64>, Vec<T>) {
        let noise = Noise::new(count as u64, Stream::Problem, dim as u64);
        let uniform = |i: usize| noise.uniforms(i as u32, 0);
        let energy = |i: usize| match uniform(i) {
            [kind, ..] if kind < 0.1 => f64::NAN,
            [kind, ..] if kind < 0.2 => f64::INFINITY,
            [kind, ..] if kind < 0.3 => 1.0,
            [kind, gap, ..] if kind < 0.6 => 1.0 + 50.0 * gap,
            [_, gap, ..] => 1.0 + gap,
        };
        let coordinate = |k: usize| T::from_f64(10.0 * uniform(k)[3] - 5.0);
        ((0..count).map(energy).collect(), (0..count * dim).map(coordinate).collect())
    }

    #[test]
    fn what_is_weighed_at_once_has_the_bits_of_weights_and_then_their_moment() {
        fn check<T: Scalar>(count: usize, dim: usize) {
            let (energies, rows) = swarm::<T>(count, dim);
            for (set, alpha) in available().into_iter().flat_map(|set| [0.5, 100.0, f64::INFINITY].map(|a| (set, a))) {
                let (least, energies) = (1.0, &energies[..]);
                let (mut apart, mut at_once) = (vec![0.5; count], vec![0.25; count]);
                let (mut moment, mut sum) = (vec![0.0; dim], vec![0.0; dim]);
                let masses = run_on(set, Weights { alpha, least, energies, weights: &mut apart });
                for ((row, w), k) in rows.chunks(dim).zip(&apart).flat_map(|pair| (0..dim).map(move |k| (pair, k))) {
                    moment[k] = if *w == 0.0 { moment[k] } else { row[k].to_f64().mul_add(*w, moment[k]) };
                }
                let weights = Weights { alpha, least, energies, weights: &mut at_once };
                assert_eq!(run_on(set, Weighed { weights, rows: &rows, moment: &mut sum }), masses, "{set} {count}");
                assert_eq!((at_once, sum), (apart, moment), "{set}, {count} rows of {dim}, alpha {alpha}");
            }
        }
        for dim in [1, 2, 3, 4, 5, 8, 16, 17, 20] {
            for count in [1, 7, 8, 9, 40, 41] {
                check::<f32>(count, dim);
                check::<f64>(count, dim);
            }
        }
    }

    #[test]
    fn energies_in_double_precision_and_their_least() {
        for set in available() {
            for count in [1, 7, 8, 9, 40, 41] {
                let numbers: Vec<f32> = (0..count).map(|i| ((i * 7) as f32).sin()).collect();
                let mut doubles = vec![0.0; count];
                let least = run_on(set, Doubled { numbers: &numbers, doubles: &mut doubles });
                assert!(doubles.iter().zip(&numbers).all(|(d, n)| *d == f64::from(*n)));
                let want = (0..count).min_by(|i, j| doubles[*i].total_cmp(&doubles[*j])).map(|i| (doubles[i], i));
                assert_eq!(least, want, "{set}");
                assert_eq!(run_on(set, Doubled { numbers: &[1.0, f32::NAN], doubles: &mut [0.0; 2] }), None);
            }
        }
    }
}
