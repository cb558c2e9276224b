//! Sums and inner products of a few long rows, in an order that every instruction set keeps.

use crate::matrix::linear::{axpy, axpy4, inner};
use crate::simd::{Kernel, Vector, run};

/// Columns of which inner products are summed at once.
const PIECE: usize = 512;

/// `z + sum factor (axis z) axis` for each row z of `rows`, into the rows of `to`.
pub(super) fn stretch(n: usize, axes: &[f64], factors: &[f64], rows: &[f64], to: &mut [f64]) {
    run(Stretch { n, axes, factors, rows, to });
}

/// Sums of the rows, one for each row of coefficients.
pub(super) fn combine(n: usize, coefficients: &[f64], rows: &[f64], to: &mut [f64]) {
    run(Combine { n, coefficients, rows, to });
}

/// The lower half of the matrix of inner products of the rows, by columns.
pub(super) fn products(n: usize, rows: &[f64]) -> Vec<f64> {
    run(Products { n, rows })
}

struct Stretch<'a> {
    n: usize,
    axes: &'a [f64],
    factors: &'a [f64],
    rows: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel<f64> for Stretch<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, axes, factors, rows, to } = self;
        let mut along = vec![0.0; factors.len()];
        for (z, y) in rows.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
            for ((a, axis), factor) in along.iter_mut().zip(axes.chunks_exact(n)).zip(factors) {
                *a = factor * inner::<V>(axis, z);
            }
            y.copy_from_slice(z);
            add_rows::<V>(&along, axes, y);
        }
    }
}

struct Combine<'a> {
    n: usize,
    coefficients: &'a [f64],
    rows: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel<f64> for Combine<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, coefficients, rows, to } = self;
        for (c, y) in coefficients.chunks_exact(rows.len() / n).zip(to.chunks_exact_mut(n)) {
            y.fill(0.0);
            add_rows::<V>(c, rows, y);
        }
    }
}

struct Products<'a> {
    n: usize,
    rows: &'a [f64],
}

impl Kernel<f64> for Products<'_> {
    type Output = Vec<f64>;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Vec<f64> {
        let Self { n, rows } = self;
        let count = rows.len() / n;
        let mut matrix = vec![0.0; count * count];
        // Piece by piece, so that all rows of a piece stay in the cache.
        for from in (0..n).step_by(PIECE) {
            let row = |i: usize| &rows[i * n + from..i * n + n.min(from + PIECE)];
            for j in 0..count {
                for i in j..count {
                    matrix[j * count + i] += inner::<V>(row(j), row(i));
                }
            }
        }
        matrix
    }
}

/// `y += sum a row` over rows as long as y.
#[inline(always)]
fn add_rows<V: Vector<Scalar = f64>>(a: &[f64], rows: &[f64], y: &mut [f64]) {
    let n = y.len();
    let mut fours = rows.chunks_exact(4 * n);
    for (four, a) in (&mut fours).zip(a.chunks_exact(4)) {
        axpy4::<V>([a[0], a[1], a[2], a[3]], std::array::from_fn(|i| &four[i * n..(i + 1) * n]), y);
    }
    let rest = fours.remainder();
    for (row, a) in rest.chunks_exact(n).zip(&a[a.len() - rest.len() / n..]) {
        axpy::<V>(*a, row, y);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::random::Random;
    use crate::simd::{available, run_on};

    /// More columns than a piece has, and no multiple of anything.
    const N: usize = PIECE + 45;
    const FACTORS: [f64; 6] = [0.5, -0.25, 1.0, 2.0, -1.0, 0.125];

    fn random_rows(seed: u64, rows: usize) -> Vec<f64> {
        let mut to = Vec::new();
        Random::new(seed, 0).normals(rows, N, &mut to);
        to
    }

    fn plain(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).map(|(x, y)| x * y).sum()
    }

    #[test]
    fn rows_are_stretched_combined_and_multiplied() {
        let (axes, rows) = (random_rows(5, 6), random_rows(6, 7));
        let mut stretched = vec![0.0; rows.len()];
        stretch(N, &axes, &FACTORS, &rows, &mut stretched);
        for (z, y) in rows.chunks_exact(N).zip(stretched.chunks_exact(N)) {
            let along: Vec<f64> = axes.chunks_exact(N).zip(FACTORS).map(|(axis, f)| f * plain(axis, z)).collect();
            for k in 0..N {
                let wanted = z[k] + along.iter().enumerate().map(|(i, a)| a * axes[i * N + k]).sum::<f64>();
                assert!((y[k] - wanted).abs() < 1e-10);
            }
        }
        let mut sum = vec![0.0; N];
        combine(N, &FACTORS, &axes, &mut sum);
        for k in 0..N {
            let wanted: f64 = FACTORS.iter().enumerate().map(|(i, f)| f * axes[i * N + k]).sum();
            assert!((sum[k] - wanted).abs() < 1e-12);
        }
        let matrix = products(N, &rows);
        for j in 0..7 {
            for i in j..7 {
                let wanted = plain(&rows[i * N..(i + 1) * N], &rows[j * N..(j + 1) * N]);
                assert!((matrix[j * 7 + i] - wanted).abs() < 1e-10);
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (axes, rows) = (random_rows(5, 6), random_rows(6, 7));
        let results = available().into_iter().map(|set| {
            let (mut stretched, mut sum) = (vec![0.0; rows.len()], vec![0.0; N]);
            run_on(set, Stretch { n: N, axes: &axes, factors: &FACTORS, rows: &rows, to: &mut stretched });
            run_on(set, Combine { n: N, coefficients: &FACTORS, rows: &axes, to: &mut sum });
            (stretched, sum, run_on(set, Products { n: N, rows: &rows }))
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
