//! Symmetric matrices, of which the lower half is given by columns, in the order of operations of [`simd`](crate::simd), so that every
//! machine gets the same bits. What is above the diagonal may hold anything.

use super::linear::{axpy, load, store};
use crate::buffer::Buffer;
use crate::simd::{Kernel, Vector, run};
use std::ops::Range;

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
        if V::REGISTERS >= 32 { factorise::<V, 8>(n, matrix, least) } else { factorise::<V, 4>(n, matrix, least) }
    }
}

/// Cholesky's factorisation, `W` columns at a time. Every entry is computed in the same order for every `W`.
#[inline(always)]
fn factorise<V: Vector<Scalar = f64>, const W: usize>(n: usize, matrix: &mut [f64], least: Option<&[f64]>) -> bool {
    let mut first = 0;
    while first < n {
        let width = W.min(n - first);
        let (before, panel) = matrix.split_at_mut(first * n);
        if width == W {
            subtract_products::<V, W>(n, first, before, panel);
        } else {
            for q in 0..width {
                subtract_products::<V, 1>(n, first + q, before, &mut panel[q * n..]);
            }
        }
        for q in 0..width {
            let (done, rest) = panel.split_at_mut(q * n);
            let at = first + q;
            let column = &mut rest[at..n];
            for earlier in done.chunks_exact(n) {
                axpy::<V>(-earlier[at], &earlier[at..], column);
            }
            let pivot = column[0];
            if !(pivot > least.map_or(0.0, |least| least[at]) && pivot.is_finite()) {
                if least.is_none() {
                    return false;
                }
                column.fill(0.0);
                continue;
            }
            let root = pivot.sqrt();
            column[0] = root;
            let factor = 1.0 / root;
            column[1..].iter_mut().for_each(|v| *v *= factor);
        }
        first += width;
    }
    true
}

/// Subtracts from the `W` columns of `panel`, which begin with column `first`, what the columns `before` (those of them that precede the
/// whole panel) contribute to them.
#[inline(always)]
fn subtract_products<V: Vector<Scalar = f64>, const W: usize>(
    n: usize,
    first: usize,
    before: &[f64],
    panel: &mut [f64],
) {
    let mut row = first;
    // Two vectors at once have more to do for each factor that is loaded.
    while row + 2 * V::LANES <= n {
        subtract_tile::<V, W, 2>(n, first, row, V::LANES, before, panel);
        row += 2 * V::LANES;
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

/// Rows of which the squares are added in one pass over a matrix.
pub(super) const ROWS: usize = 32;

/// Adds `weight row row'` to a symmetric matrix, for each of the rows, which follow each other, with its weight.
pub(crate) fn add_squares(n: usize, matrix: &mut [f64], rows: &[f64], weights: &[f64]) {
    run(AddSquares { n, matrix, rows: rows.chunks_exact(n), weights });
}

/// The same for rows that lie anywhere.
pub(crate) fn add_squares_of<'a>(n: usize, matrix: &mut [f64], rows: impl Iterator<Item = &'a [f64]>, weights: &[f64]) {
    run(AddSquares { n, matrix, rows, weights });
}

struct AddSquares<'a, R> {
    n: usize,
    matrix: &'a mut [f64],
    rows: R,
    weights: &'a [f64],
}

impl<'r, R: Iterator<Item = &'r [f64]>> Kernel<f64> for AddSquares<'_, R> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, matrix, rows, weights } = self;
        let mut blocks = Blocks::new(rows);
        for weights in weights.chunks(ROWS) {
            add_block::<V>(n, n, matrix, blocks.next(weights.len()), weights);
        }
    }
}

/// Hands over rows, a few at once. It is no function that takes a closure: the compiler may leave a closure outside its kernel, where a
/// vector operation is a call.
pub(super) struct Blocks<'r, R> {
    rows: R,
    block: [&'r [f64]; ROWS],
}

impl<'r, R: Iterator<Item = &'r [f64]>> Blocks<'r, R> {
    pub fn new(rows: R) -> Self {
        Self { rows, block: [&[]; ROWS] }
    }

    /// The next `count` rows, at most [`ROWS`].
    pub fn next(&mut self, count: usize) -> &[&'r [f64]] {
        self.block.iter_mut().zip(self.rows.by_ref().take(count)).for_each(|(to, row)| *to = row);
        &self.block[..count]
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
        let mut blocks = Blocks::new(rows.chunks_exact(n));
        for weights in weights.chunks(ROWS) {
            let rows = blocks.next(weights.len());
            let mut at = first;
            while at < end {
                let four = V::REGISTERS >= 32 && at + 4 <= end;
                let columns = &mut columns[(at - first) * n..];
                if four {
                    add_to_columns::<V, 4, 4>(n, at, at..n, columns, rows, weights);
                } else {
                    add_to_columns::<V, 1, 4>(n, at, at..n, columns, rows, weights);
                }
                at += if four { 4 } else { 1 };
            }
        }
    }
}

/// Adds the squares of a few rows, of which only the first `size` entries are not zero.
#[inline(always)]
fn add_block<V: Vector<Scalar = f64>>(n: usize, size: usize, matrix: &mut [f64], rows: &[&[f64]], weights: &[f64]) {
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
    rows: &[&[f64]],
    weights: &[f64],
) {
    let mut first = 0;
    while first < size {
        let columns = &mut matrix[first * n..];
        if first + W <= size {
            add_to_columns::<V, W, B>(n, first, first..size, columns, rows, weights);
            first += W;
        } else {
            add_to_columns::<V, 1, B>(n, first, first..size, columns, rows, weights);
            first += 1;
        }
    }
}

/// What [`add_block`] does to the entries `part` of `W` columns, which begin with column `first`, for at most [`ROWS`] rows.
#[inline(always)]
pub(super) fn add_to_columns<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
    n: usize,
    first: usize,
    part: Range<usize>,
    columns: &mut [f64],
    rows: &[&[f64]],
    weights: &[f64],
) {
    let mut factors = [[0.0; W]; ROWS];
    for ((factors, row), weight) in factors.iter_mut().zip(rows).zip(weights) {
        factors.copy_from_slice(&row[first..first + W]);
        factors.iter_mut().for_each(|factor| *factor *= weight);
    }
    let factors = &factors[..weights.len()];
    // From the beginning of a vector on: what is above the diagonal does not matter.
    let mut from = part.start / V::LANES * V::LANES;
    while from + B * V::LANES <= part.end {
        add_tile::<V, W, B>(n, from, V::LANES, columns, rows, factors);
        from += B * V::LANES;
    }
    // Wide tiles have more to do for each factor that is loaded.
    if B > 3 && from + 3 * V::LANES <= part.end {
        add_tile::<V, W, 3>(n, from, V::LANES, columns, rows, factors);
        from += 3 * V::LANES;
    }
    if from + 2 * V::LANES <= part.end {
        add_tile::<V, W, 2>(n, from, V::LANES, columns, rows, factors);
        from += 2 * V::LANES;
    }
    while from < part.end {
        add_tile::<V, W, 1>(n, from, V::LANES.min(part.end - from), columns, rows, factors);
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
    rows: &[&[f64]],
    factors: &[[f64; W]],
) {
    let mut sums = [[V::splat(0.0); B]; W];
    for q in 0..W {
        for b in 0..B {
            sums[q][b] = load(width, &columns[q * n + from + b * V::LANES..]);
        }
    }
    for (row, factors) in rows.iter().zip(factors) {
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
        let mut size = 0;
        let mut blocks = Blocks::new(rows.chunks_exact(n));
        for weights in vec![1.0; n].chunks(ROWS) {
            size += weights.len();
            add_block::<V>(n, size, &mut matrix, blocks.next(weights.len()), weights);
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
