//! Cholesky factors of symmetric matrices, of which the lower half is given by columns, with the same bits on every machine. What is above the
//! diagonal may hold anything.

use super::linear::{load, store};
use crate::simd::{Kernel, Vector, run};

/// Replaces the lower half of a symmetric matrix by its Cholesky factor. Tells whether it is positive definite; if it is not, the matrix
/// is spoilt.
pub(crate) fn cholesky(n: usize, matrix: &mut [f64]) -> bool {
    run(Cholesky { n, matrix, least: None })
}

/// The same for a matrix that may be singular: where a pivot is not above its number in `least`, the column is zero. What is above the
/// diagonal becomes zero too.
pub(crate) fn semidefinite_cholesky(n: usize, matrix: &mut [f64], least: &[f64]) {
    run(Cholesky { n, matrix, least: Some(least) });
    for j in 1..n {
        matrix[j * n..j * n + j].fill(0.0);
    }
}

struct Cholesky<'a> {
    n: usize,
    matrix: &'a mut [f64],
    /// The least pivots of a matrix that may be singular.
    least: Option<&'a [f64]>,
}

impl Kernel<f64> for Cholesky<'_> {
    type Output = bool;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> bool {
        let Self { n, matrix, least } = self;
        if V::REGISTERS >= 32 { factorise::<V, 8, 2>(n, matrix, least) } else { factorise::<V, 6, 1>(n, matrix, least) }
    }
}

/// Cholesky's factorisation, `W` columns and at most `B` vectors at a time. Every entry is computed in the same order for all of them.
#[inline(always)]
fn factorise<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    matrix: &mut [f64],
    least: Option<&[f64]>,
) -> bool {
    let mut first = 0;
    while first < n {
        let width = W.min(n - first);
        let (before, panel) = matrix.split_at_mut(first * n);
        if width == W {
            subtract_products::<V, W, B>(n, first, before, panel);
        } else {
            for q in 0..width {
                subtract_products::<V, 1, B>(n, first + q, before, &mut panel[q * n..]);
            }
        }
        for q in 0..width {
            let at = first + q;
            let factors: [f64; W] = std::array::from_fn(|p| if p < q { -panel[p * n + at] } else { 0.0 });
            let mut pivot = panel[q * n + at];
            for factor in &factors[..q] {
                pivot = factor.mul_add(-factor, pivot);
            }
            if !(pivot > least.map_or(0.0, |least| least[at]) && pivot.is_finite()) {
                if least.is_none() {
                    return false;
                }
                panel[q * n + at..(q + 1) * n].fill(0.0);
                continue;
            }
            let root = pivot.sqrt();
            finish_column::<V>(n, at / V::LANES * V::LANES, panel, &factors[..q], 1.0 / root);
            panel[q * n + at] = root;
        }
        first += width;
    }
    true
}

/// Adds the columns of a panel, with a factor for each, to the column after them, from row `row` on, and multiplies it by `last`.
#[inline(always)]
fn finish_column<V: Vector<Scalar = f64>>(n: usize, mut row: usize, panel: &mut [f64], factors: &[f64], last: f64) {
    let (done, column) = panel.split_at_mut(factors.len() * n);
    while row < n {
        let size = V::LANES.min(n - row);
        let mut sum: V = load(size, &column[row..n]);
        for (factor, earlier) in factors.iter().zip(done.chunks_exact(n)) {
            sum = V::splat(*factor).mul_add(load(size, &earlier[row..]), sum);
        }
        store(sum * V::splat(last), &mut column[row..row + size]);
        row += V::LANES;
    }
}

/// Subtracts from the `W` columns of `panel`, which begin with column `first`, what the columns `before` (those of them that precede the
/// whole panel) contribute to them.
#[inline(always)]
fn subtract_products<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    first: usize,
    before: &[f64],
    panel: &mut [f64],
) {
    let mut row = first;
    // Two vectors at once have more to do for each factor that is loaded.
    while row + B * V::LANES <= n {
        subtract_tile::<V, W, B>(n, first, row, V::LANES, before, panel);
        row += B * V::LANES;
    }
    while row < n {
        subtract_tile::<V, W, 1>(n, first, row, V::LANES.min(n - row), before, panel);
        row += V::LANES;
    }
}

/// One tile of it: `B` vectors from row `row` on. `width` is the length of the last one.
#[inline(always)]
fn subtract_tile<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    first: usize,
    row: usize,
    width: usize,
    before: &[f64],
    panel: &mut [f64],
) {
    let mut sums = [[V::splat(0.0); B]; W];
    for q in 0..W {
        for b in 0..B {
            sums[q][b] = load(width, &panel[q * n + row + b * V::LANES..]);
        }
    }
    for column in before.chunks_exact(n) {
        let factors = &column[first..first + W];
        let mut v = [V::splat(0.0); B];
        for b in 0..B {
            v[b] = load(width, &column[row + b * V::LANES..]);
        }
        for q in 0..W {
            let factor = V::splat(-factors[q]);
            for b in 0..B {
                sums[q][b] = factor.mul_add(v[b], sums[q][b]);
            }
        }
    }
    for (q, sums) in sums.iter().enumerate() {
        for (b, sum) in sums.iter().enumerate() {
            let at = q * n + row + b * V::LANES;
            store(*sum, &mut panel[at..at + width]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::linear::plain::{lower, random_rows, squares};
    use crate::matrix::symmetric::add_squares;
    use crate::simd::{available, run_on};

    const SIZES: [usize; 11] = [1, 2, 5, 7, 8, 9, 16, 21, 37, 66, 231];

    #[test]
    fn the_cholesky_factor_multiplied_by_its_transpose_is_the_matrix() {
        for n in SIZES {
            let rows = random_rows(n as u64, 2 * n, n);
            let weights = vec![0.5; 2 * n];
            let (mut fast, plain) = (vec![0.0; n * n], squares(n, &rows, &weights));
            add_squares(n, &mut fast, &rows, &weights);
            assert!(cholesky(n, &mut fast));
            for j in 0..n {
                for i in j..n {
                    let product: f64 = (0..=j).map(|k| fast[k * n + i] * fast[k * n + j]).sum();
                    assert!((product - plain[j * n + i]).abs() < 1e-11 * n as f64, "n = {n}, entry ({i}, {j})");
                }
            }
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        assert!(!cholesky(2, &mut [1.0, 2.0, 0.0, 1.0]));
        assert!(!cholesky(1, &mut [f64::NAN]));
    }

    #[test]
    fn a_singular_matrix_has_a_factor_with_zero_columns() {
        for n in SIZES {
            // Of rank two, and with a coordinate that does not vary.
            let mut rows = random_rows(n as u64, 2, n);
            rows.chunks_exact_mut(n).for_each(|row| row[n / 2] = 0.0);
            let (mut fast, plain) = (vec![0.0; n * n], squares(n, &rows, &[0.3, 0.7]));
            add_squares(n, &mut fast, &rows, &[0.3, 0.7]);
            let least: Vec<f64> = (0..n).map(|k| 1e-12 * plain[k * n + k]).collect();
            semidefinite_cholesky(n, &mut fast, &least);
            for j in 0..n {
                assert!(fast[j * n..j * n + j].iter().all(|v| *v == 0.0));
                for i in j..n {
                    let product: f64 = (0..=j).map(|k| fast[k * n + i] * fast[k * n + j]).sum();
                    assert!((product - plain[j * n + i]).abs() < 1e-9, "n = {n}, entry ({i}, {j})");
                }
            }
            let columns = fast.chunks_exact(n).filter(|column| column.iter().any(|v| *v != 0.0)).count();
            assert_eq!(columns, 2.min(n - 1), "n = {n}");
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        for n in SIZES {
            let definite = squares(n, &random_rows(4, 2 * n, n), &vec![0.7; 2 * n]);
            let singular = squares(n, &random_rows(4, 2, n), &[0.7; 2]);
            let least: Vec<f64> = (0..n).map(|k| 1e-12 * singular[k * n + k]).collect();
            let results = available().into_iter().map(|set| {
                let (mut one, mut other) = (definite.clone(), singular.clone());
                assert!(run_on(set, Cholesky { n, matrix: &mut one, least: None }));
                run_on(set, Cholesky { n, matrix: &mut other, least: Some(&least) });
                (lower(n, &one), lower(n, &other))
            });
            let results: Vec<_> = results.collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "n = {n}");
        }
    }
}
