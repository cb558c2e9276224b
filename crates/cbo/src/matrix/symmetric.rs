//! Symmetric matrices, of which the lower half is given by columns, in the order of operations of [`simd`](crate::simd), so that every
//! machine gets the same bits. What is above the diagonal may hold anything.

use super::linear::{axpy, load, store};
use crate::buffer::Buffer;
use crate::simd::{Kernel, Vector, run};

/// Rows of which the squares are added in one pass over a matrix.
const ROWS: usize = 32;

/// Adds `weight row row'` to a symmetric matrix, for each row of `rows` with its weight.
pub(crate) fn add_squares(n: usize, matrix: &mut [f64], rows: &[f64], weights: &[f64]) {
    run(AddSquares { n, matrix, rows, weights });
}

struct AddSquares<'a> {
    n: usize,
    matrix: &'a mut [f64],
    rows: &'a [f64],
    weights: &'a [f64],
}

impl Kernel<f64> for AddSquares<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, matrix, rows, weights } = self;
        for (rows, weights) in rows.chunks(ROWS * n).zip(weights.chunks(ROWS)) {
            add_block::<V>(n, n, matrix, rows, weights);
        }
    }
}

/// The same for some columns of the matrix, which begin with column `first`: every entry gets the same bits.
pub(crate) fn add_squares_to(n: usize, first: usize, columns: &mut [f64], rows: &[f64], weights: &[f64]) {
    run(AddSquaresTo { n, first, columns, rows, weights });
}

struct AddSquaresTo<'a> {
    n: usize,
    first: usize,
    columns: &'a mut [f64],
    rows: &'a [f64],
    weights: &'a [f64],
}

impl Kernel<f64> for AddSquaresTo<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, first, columns, rows, weights } = self;
        let end = first + columns.len() / n;
        for (rows, weights) in rows.chunks(ROWS * n).zip(weights.chunks(ROWS)) {
            let mut at = first;
            while at < end {
                let four = V::REGISTERS >= 32 && at + 4 <= end;
                let columns = &mut columns[(at - first) * n..];
                if four {
                    add_to_columns::<V, 4, 4>(n, at, n, columns, rows, weights);
                } else {
                    add_to_columns::<V, 1, 4>(n, at, n, columns, rows, weights);
                }
                at += if four { 4 } else { 1 };
            }
        }
    }
}

/// Adds the squares of a few rows, of which only the first `size` entries are not zero.
#[inline(always)]
fn add_block<V: Vector<Scalar = f64>>(n: usize, size: usize, matrix: &mut [f64], rows: &[f64], weights: &[f64]) {
    // As many sums as fit the registers, so that an entry is read and written once for all rows.
    if V::REGISTERS >= 32 {
        add_tiles::<V, 4, 4>(n, size, matrix, rows, weights)
    } else {
        add_tiles::<V, 2, 2>(n, size, matrix, rows, weights)
    }
}

/// [`add_block`] in tiles of `W` columns and `B` vectors. Every entry is computed in the same order for every size of a tile.
#[inline(always)]
fn add_tiles<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    size: usize,
    matrix: &mut [f64],
    rows: &[f64],
    weights: &[f64],
) {
    let mut first = 0;
    while first < size {
        let columns = &mut matrix[first * n..];
        if first + W <= size {
            add_to_columns::<V, W, B>(n, first, size, columns, rows, weights);
            first += W;
        } else {
            add_to_columns::<V, 1, B>(n, first, size, columns, rows, weights);
            first += 1;
        }
    }
}

/// What [`add_block`] does to `W` columns, which begin with column `first`, for at most [`ROWS`] rows.
#[inline(always)]
fn add_to_columns<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    first: usize,
    size: usize,
    columns: &mut [f64],
    rows: &[f64],
    weights: &[f64],
) {
    let mut factors = [[0.0; W]; ROWS];
    for ((factors, row), weight) in factors.iter_mut().zip(rows.chunks_exact(n)).zip(weights) {
        factors.copy_from_slice(&row[first..first + W]);
        factors.iter_mut().for_each(|factor| *factor *= weight);
    }
    let factors = &factors[..weights.len()];
    // From the beginning of a vector on: what is above the diagonal does not matter.
    let mut from = first / V::LANES * V::LANES;
    while from + B * V::LANES <= size {
        add_tile::<V, W, B>(n, from, V::LANES, columns, rows, factors);
        from += B * V::LANES;
    }
    // Wide tiles have more to do for each factor that is loaded.
    if B > 3 && from + 3 * V::LANES <= size {
        add_tile::<V, W, 3>(n, from, V::LANES, columns, rows, factors);
        from += 3 * V::LANES;
    }
    if from + 2 * V::LANES <= size {
        add_tile::<V, W, 2>(n, from, V::LANES, columns, rows, factors);
        from += 2 * V::LANES;
    }
    while from < size {
        add_tile::<V, W, 1>(n, from, V::LANES.min(size - from), columns, rows, factors);
        from += V::LANES;
    }
}

/// One tile: `W` columns from row `from` on, to which each of `rows` is added with a factor for each column. `width` is the length of its last
/// vector.
#[inline(always)]
fn add_tile<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    from: usize,
    width: usize,
    columns: &mut [f64],
    rows: &[f64],
    factors: &[[f64; W]],
) {
    let mut sums = [[V::splat(0.0); B]; W];
    for q in 0..W {
        for b in 0..B {
            sums[q][b] = load(width, &columns[q * n + from + b * V::LANES..]);
        }
    }
    for (row, factors) in rows.chunks_exact(n).zip(factors) {
        let row = &row[from..];
        let mut x = [V::splat(0.0); B];
        for b in 0..B {
            x[b] = load(width, &row[b * V::LANES..]);
        }
        for q in 0..W {
            let factor = V::splat(factors[q]);
            for b in 0..B {
                sums[q][b] = factor.mul_add(x[b], sums[q][b]);
            }
        }
    }
    for (q, sums) in sums.iter().enumerate() {
        for (b, sum) in sums.iter().enumerate() {
            let at = q * n + from + b * V::LANES;
            store(*sum, &mut columns[at..at + width]);
        }
    }
}

/// The inverse of the symmetric matrix that has this Cholesky factor.
pub(crate) fn inverse(n: usize, factor: &[f64]) -> Buffer<f64> {
    run(Inverse { n, factor })
}

struct Inverse<'a> {
    n: usize,
    factor: &'a [f64],
}

impl Kernel<f64> for Inverse<'_> {
    type Output = Buffer<f64>;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Buffer<f64> {
        let Self { n, factor } = self;
        let rows = if V::REGISTERS >= 32 { invert::<V, 8>(n, factor) } else { invert::<V, 4>(n, factor) };
        let mut matrix = Buffer::new(n * n);
        for (at, rows) in rows.chunks(ROWS * n).enumerate() {
            add_block::<V>(n, n.min((at + 1) * ROWS), &mut matrix, rows, &[1.0; ROWS][..rows.len() / n]);
        }
        matrix
    }
}

/// The inverse of a lower triangular matrix given by columns, **by rows**, with zeros above the diagonal; `W` rows at a time. Every
/// entry is computed in the same order for every `W`.
#[inline(always)]
fn invert<V: Vector<Scalar = f64>, const W: usize>(n: usize, lower: &[f64]) -> Buffer<f64> {
    let mut to = Buffer::new(n * n);
    let mut first = 0;
    while first < n {
        let width = W.min(n - first);
        let (done, panel) = to.split_at_mut(first * n);
        if width == W {
            subtract_rows::<V, W>(n, first, lower, done, panel);
        } else {
            for q in 0..width {
                subtract_rows::<V, 1>(n, first + q, lower, done, &mut panel[q * n..]);
            }
        }
        for q in 0..width {
            let at = first + q;
            let (earlier, rest) = panel.split_at_mut(q * n);
            let row = &mut rest[..at + 1];
            for (p, earlier) in earlier.chunks_exact(n).enumerate() {
                let j = first + p;
                axpy::<V>(-lower[j * n + at], &earlier[..=j], &mut row[..=j]);
            }
            row[at] = 1.0 / lower[at * n + at];
            let factor = row[at];
            row[..at].iter_mut().for_each(|v| *v *= factor);
        }
        first += width;
    }
    to
}

/// Subtracts from the `W` rows of `panel`, which begin with row `at`, what the rows `done` contribute to them.
#[inline(always)]
fn subtract_rows<V: Vector<Scalar = f64>, const W: usize>(
    n: usize,
    at: usize,
    lower: &[f64],
    done: &[f64],
    panel: &mut [f64],
) {
    let known = done.len() / n;
    let mut column = 0;
    while column < known {
        let size = V::LANES.min(known - column);
        let mut sums = [V::splat(0.0); W];
        // Rows before this have zeros here.
        for j in column..known {
            let factors = &lower[j * n + at..j * n + at + W];
            let v = load::<V>(size, &done[j * n + column..]);
            for q in 0..W {
                sums[q] = V::splat(-factors[q]).mul_add(v, sums[q]);
            }
        }
        for q in 0..W {
            store(sums[q], &mut panel[q * n + column..q * n + column + size]);
        }
        column += V::LANES;
    }
}

/// Multiplies a symmetric matrix by each row of `rows`, into the rows of `to`, in one pass over the matrix.
pub(crate) fn symmetric_times(n: usize, matrix: &[f64], rows: &[f64], to: &mut [f64]) {
    run(SymmetricTimes { n, matrix, rows, to });
}

struct SymmetricTimes<'a> {
    n: usize,
    matrix: &'a [f64],
    rows: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel<f64> for SymmetricTimes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, matrix, rows, to } = self;
        to.fill(0.0);
        let mut first = 0;
        while first < n {
            let four = first + 4 <= n;
            let columns = &matrix[first * n..];
            // Two rows at once read each entry once, if there are registers for both.
            let pairs = if four && V::REGISTERS >= 32 { rows.len() / (2 * n) * 2 * n } else { 0 };
            for (x, y) in rows[..pairs].chunks_exact(2 * n).zip(to.chunks_exact_mut(2 * n)) {
                times_columns::<V, 4, 2>(n, first, columns, x, y);
            }
            for (x, y) in rows[pairs..].chunks_exact(n).zip(to[pairs..].chunks_exact_mut(n)) {
                if four {
                    times_columns::<V, 4, 1>(n, first, columns, x, y);
                } else {
                    times_columns::<V, 1, 1>(n, first, columns, x, y);
                }
            }
            first += if four { 4 } else { 1 };
        }
    }
}

/// What `W` columns, which begin with column `first`, contribute to the products with `R` rows x.
#[inline(always)]
fn times_columns<V: Vector<Scalar = f64>, const W: usize, const R: usize>(
    n: usize,
    first: usize,
    columns: &[f64],
    x: &[f64],
    y: &mut [f64],
) {
    // The corner on the diagonal.
    for (x, y) in x.chunks_exact(n).zip(y.chunks_exact_mut(n)) {
        for q in 0..W {
            let at = first + q;
            y[at] += columns[q * n + at] * x[at];
            for below in at + 1..first + W {
                y[below] += columns[q * n + below] * x[at];
                y[at] += columns[q * n + below] * x[below];
            }
        }
    }
    let (mut factors, mut sums) = ([[V::splat(0.0); W]; R], [[V::splat(0.0); W]; R]);
    for r in 0..R {
        for q in 0..W {
            factors[r][q] = V::splat(x[r * n + first + q]);
        }
    }
    let mut from = first + W;
    while from < n {
        // Up to the beginning of a vector first: where columns begin on a cache line, so do all other vectors.
        let size = (V::LANES - from % V::LANES).min(n - from);
        let (mut v, mut sum) = ([V::splat(0.0); R], [V::splat(0.0); R]);
        for r in 0..R {
            (v[r], sum[r]) = (load(size, &x[r * n + from..]), load(size, &y[r * n + from..]));
        }
        for q in 0..W {
            let c = load::<V>(size, &columns[q * n + from..]);
            for r in 0..R {
                sum[r] = factors[r][q].mul_add(c, sum[r]);
                sums[r][q] = c.mul_add(v[r], sums[r][q]);
            }
        }
        for r in 0..R {
            store(sum[r], &mut y[r * n + from..r * n + from + size]);
        }
        from += size;
    }
    for r in 0..R {
        for q in 0..W {
            y[r * n + first + q] += sums[r][q].sum();
        }
    }
}

#[cfg(test)]
mod tests;
