//! Small dense linear algebra: lower triangular matrices by columns, in the order of operations of [`simd`](crate::simd), so that
//! every machine gets the same bits.
//!
//! Column j of a matrix of order n begins at `j n`; of a lower triangular one the entries above the diagonal are not looked at.

use crate::simd::{Kernel, Vector, run};

/// `y += a x`.
#[inline(always)]
pub(crate) fn axpy<V: Vector<Scalar = f64>>(a: f64, x: &[f64], y: &mut [f64]) {
    let a = V::splat(a);
    let (whole, rest) = y.split_at_mut(x.len() / V::LANES * V::LANES);
    let (x_whole, x_rest) = x.split_at(whole.len());
    for (y, x) in whole.chunks_exact_mut(V::LANES).zip(x_whole.chunks_exact(V::LANES)) {
        a.mul_add(V::load(x), V::load(y)).store(y);
    }
    if !x_rest.is_empty() {
        let rest = &mut rest[..x_rest.len()];
        a.mul_add(V::load_partial(x_rest), V::load_partial(rest)).store_partial(rest);
    }
}

/// `y += sum a[i] x[i]`, as four [`axpy`] one after the other.
#[inline(always)]
pub(crate) fn axpy4<V: Vector<Scalar = f64>>(a: [f64; 4], x: [&[f64]; 4], y: &mut [f64]) {
    let a = a.map(V::splat);
    let whole = y.len() / V::LANES * V::LANES;
    let x = x.map(|x| &x[..y.len()]);
    let mut from = 0;
    while from < whole {
        let mut sum = V::load(&y[from..]);
        for i in 0..4 {
            sum = a[i].mul_add(V::load(&x[i][from..]), sum);
        }
        sum.store(&mut y[from..]);
        from += V::LANES;
    }
    if whole < y.len() {
        let rest = &mut y[whole..];
        let mut sum = V::load_partial(rest);
        for i in 0..4 {
            sum = a[i].mul_add(V::load_partial(&x[i][whole..]), sum);
        }
        sum.store_partial(rest);
    }
}

/// `size` numbers, the rest zero.
#[inline(always)]
pub(crate) fn load<V: Vector>(size: usize, from: &[V::Scalar]) -> V {
    if size == V::LANES { V::load(from) } else { V::load_partial(&from[..size]) }
}

/// As many numbers as there is room for.
#[inline(always)]
pub(crate) fn store<V: Vector>(v: V, to: &mut [V::Scalar]) {
    if to.len() == V::LANES { v.store(to) } else { v.store_partial(to) }
}

#[inline(always)]
pub(crate) fn inner<V: Vector<Scalar = f64>>(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = V::splat(0.0);
    let whole = x.len() / V::LANES * V::LANES;
    for (x, y) in x[..whole].chunks_exact(V::LANES).zip(y.chunks_exact(V::LANES)) {
        sum = V::load(x).mul_add(V::load(y), sum);
    }
    if whole < x.len() {
        sum = V::load_partial(&x[whole..]).mul_add(V::load_partial(&y[whole..x.len()]), sum);
    }
    sum.sum()
}

/// `L z` for each row z of `zs`, into the rows of `to`. Above the diagonal L has zeros.
pub(crate) fn multiply_lower(n: usize, lower: &[f64], zs: &[f64], to: &mut [f64]) {
    run(MultiplyLower { n, lower, zs, to });
}

struct MultiplyLower<'a> {
    n: usize,
    lower: &'a [f64],
    zs: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel<f64> for MultiplyLower<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, lower, zs, to } = self;
        let eights = if V::REGISTERS >= 32 { zs.len() / (8 * n) * 8 * n } else { 0 };
        let fours = zs.len() / (4 * n) * 4 * n;
        for (zs, to) in zs[..eights].chunks_exact(8 * n).zip(to.chunks_exact_mut(8 * n)) {
            multiply_rows::<V, 8>(n, lower, zs, to);
        }
        for (zs, to) in zs[eights..fours].chunks_exact(4 * n).zip(to[eights..].chunks_exact_mut(4 * n)) {
            multiply_rows::<V, 4>(n, lower, zs, to);
        }
        for (z, to) in zs[fours..].chunks_exact(n).zip(to[fours..].chunks_exact_mut(n)) {
            multiply_rows::<V, 1>(n, lower, z, to);
        }
    }
}

#[inline(always)]
fn multiply_rows<V: Vector<Scalar = f64>, const R: usize>(n: usize, lower: &[f64], zs: &[f64], to: &mut [f64]) {
    let mut at = 0;
    while at < n {
        let size = V::LANES.min(n - at);
        let mut sums = [V::splat(0.0); R];
        for j in 0..at + size {
            let from = &lower[j * n + at..j * n + at + size];
            let c = load::<V>(size, from);
            for r in 0..R {
                sums[r] = V::splat(zs[r * n + j]).mul_add(c, sums[r]);
            }
        }
        for r in 0..R {
            store(sums[r], &mut to[r * n + at..r * n + at + size]);
        }
        at += V::LANES;
    }
}

/// `z M` for each row z of `zs` and a square matrix M given by rows, into the rows of `to`.
pub(crate) fn multiply_rows_by(n: usize, matrix: &[f64], zs: &[f64], to: &mut [f64]) {
    run(MultiplyRowsBy { n, matrix, zs, to });
}

struct MultiplyRowsBy<'a> {
    n: usize,
    matrix: &'a [f64],
    zs: &'a [f64],
    to: &'a mut [f64],
}

impl Kernel<f64> for MultiplyRowsBy<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, matrix, zs, to } = self;
        let eights = if V::REGISTERS >= 32 { zs.len() / (8 * n) * 8 * n } else { 0 };
        let fours = zs.len() / (4 * n) * 4 * n;
        for (zs, to) in zs[..eights].chunks_exact(8 * n).zip(to.chunks_exact_mut(8 * n)) {
            multiply_by::<V, 8>(n, matrix, zs, to);
        }
        for (zs, to) in zs[eights..fours].chunks_exact(4 * n).zip(to[eights..].chunks_exact_mut(4 * n)) {
            multiply_by::<V, 4>(n, matrix, zs, to);
        }
        for (z, to) in zs[fours..].chunks_exact(n).zip(to[fours..].chunks_exact_mut(n)) {
            multiply_by::<V, 1>(n, matrix, z, to);
        }
    }
}

#[inline(always)]
fn multiply_by<V: Vector<Scalar = f64>, const R: usize>(n: usize, matrix: &[f64], zs: &[f64], to: &mut [f64]) {
    let mut at = 0;
    while at < n {
        let size = V::LANES.min(n - at);
        let mut sums = [V::splat(0.0); R];
        for j in 0..n {
            let c = load::<V>(size, &matrix[j * n + at..]);
            for r in 0..R {
                sums[r] = V::splat(zs[r * n + j]).mul_add(c, sums[r]);
            }
        }
        for r in 0..R {
            store(sums[r], &mut to[r * n + at..r * n + at + size]);
        }
        at += V::LANES;
    }
}

/// Replaces each row y of `rows` by the solution z of `L z = y`.
pub(crate) fn solve_lower(n: usize, lower: &[f64], rows: &mut [f64]) {
    run(SolveLower { n, lower, rows });
}

struct SolveLower<'a> {
    n: usize,
    lower: &'a [f64],
    rows: &'a mut [f64],
}

impl Kernel<f64> for SolveLower<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, lower, rows } = self;
        let mut fours = rows.chunks_exact_mut(4 * n);
        for four in &mut fours {
            solve_rows::<V, 4>(n, lower, four);
        }
        for row in fours.into_remainder().chunks_exact_mut(n) {
            solve_rows::<V, 1>(n, lower, row);
        }
    }
}

#[inline(always)]
fn solve_rows<V: Vector<Scalar = f64>, const R: usize>(n: usize, lower: &[f64], rows: &mut [f64]) {
    let mut at = 0;
    while at < n {
        let size = V::LANES.min(n - at);
        let mut sums = [V::splat(0.0); R];
        for r in 0..R {
            sums[r] = load(size, &rows[r * n + at..]);
        }
        for j in 0..at {
            let c = load::<V>(size, &lower[j * n + at..]);
            for r in 0..R {
                sums[r] = V::splat(-rows[r * n + j]).mul_add(c, sums[r]);
            }
        }
        for r in 0..R {
            store(sums[r], &mut rows[r * n + at..r * n + at + size]);
        }
        // The corner on the diagonal.
        for j in at..at + size {
            let column = &lower[j * n + at..j * n + at + size];
            let (first, below) = (1.0 / column[j - at], &column[j - at + 1..]);
            for r in 0..R {
                let row = &mut rows[r * n + j..r * n + at + size];
                row[0] *= first;
                for i in 0..below.len() {
                    row[i + 1] = (-row[0]).mul_add(below[i], row[i + 1]);
                }
            }
        }
        at += V::LANES;
    }
}

/// Replaces `y` by the solution z of `L' z = y`.
pub(crate) fn solve_lower_transposed(n: usize, lower: &[f64], y: &mut [f64]) {
    struct Body<'a>(usize, &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, y) = self;
            for j in (0..n).rev() {
                let known = inner::<V>(&lower[j * n + j + 1..(j + 1) * n], &y[j + 1..]);
                y[j] = (y[j] - known) / lower[j * n + j];
            }
        }
    }
    run(Body(n, lower, y));
}

/// `L <- L M` for lower triangular L and M. Above the diagonal L has zeros.
pub(crate) fn multiply_triangular(n: usize, lower: &mut [f64], other: &[f64]) {
    run(MultiplyTriangular { n, lower, other });
}

struct MultiplyTriangular<'a> {
    n: usize,
    lower: &'a mut [f64],
    other: &'a [f64],
}

impl Kernel<f64> for MultiplyTriangular<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { n, lower, other } = self;
        let wide = if V::REGISTERS >= 32 { 8 } else { 4 };
        // A column needs those from itself on, so it may be replaced before those after it.
        let mut first = 0;
        while first < n {
            if first + wide > n {
                multiply_columns::<V, 1>(n, first, lower, other);
                first += 1;
            } else if wide == 8 {
                multiply_columns::<V, 8>(n, first, lower, other);
                first += 8;
            } else {
                multiply_columns::<V, 4>(n, first, lower, other);
                first += 4;
            }
        }
    }
}

/// What [`multiply_triangular`] does to `W` columns, which begin with column `first`. Every entry is computed in the same order for
/// every `W`.
#[inline(always)]
fn multiply_columns<V: Vector<Scalar = f64>, const W: usize>(n: usize, first: usize, lower: &mut [f64], other: &[f64]) {
    let other: [&[f64]; W] = std::array::from_fn(|q| &other[(first + q) * n..(first + q + 1) * n]);
    let mut at = first;
    while at < n {
        let size = V::LANES.min(n - at);
        let mut sums = [V::splat(0.0); W];
        for p in 0..W {
            let c = load::<V>(size, &lower[(first + p) * n + at..]);
            for q in 0..=p {
                sums[q] = V::splat(other[q][first + p]).mul_add(c, sums[q]);
            }
        }
        for k in first + W..at + size {
            let c = load::<V>(size, &lower[k * n + at..]);
            for q in 0..W {
                sums[q] = V::splat(other[q][k]).mul_add(c, sums[q]);
            }
        }
        for q in 0..W {
            store(sums[q], &mut lower[(first + q) * n + at..(first + q) * n + at + size]);
        }
        at += V::LANES;
    }
}

/// The inner product of two vectors of the same length.
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    struct Body<'a>(&'a [f64], &'a [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = f64;
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) -> f64 {
            inner::<V>(self.0, self.1)
        }
    }
    run(Body(x, y))
}

/// `y += a x`.
pub(crate) fn axpy_to(a: f64, x: &[f64], y: &mut [f64]) {
    struct Body<'a>(f64, &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            axpy::<V>(self.0, self.1, self.2);
        }
    }
    run(Body(a, x, y));
}

/// The squared Euclidean norm.
pub(crate) fn square(x: &[f64]) -> f64 {
    dot(x, x)
}

/// Plain versions for tests.
#[cfg(test)]
pub(crate) mod plain {
    use crate::noise::{Noise, Stream, padded, scratch_len};

    pub fn random_rows(seed: u64, rows: usize, n: usize) -> Vec<f64> {
        let mut normals = vec![0.0; scratch_len(rows, n)];
        Noise::new(seed, Stream::Problem, 0).fill_normals(0, rows, n, &mut normals);
        normals.chunks_exact(padded(n)).take(rows).flat_map(|row| row[..n].to_vec()).collect()
    }

    /// `sum w row row'`.
    pub fn squares(n: usize, rows: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        for (row, w) in rows.chunks_exact(n).zip(weights) {
            for j in 0..n {
                (0..n).for_each(|i| matrix[j * n + i] += w * row[i] * row[j]);
            }
        }
        matrix
    }

    /// The lower half, with zeros above the diagonal.
    pub fn lower(n: usize, matrix: &[f64]) -> Vec<f64> {
        (0..n * n).map(|at| if at % n < at / n { 0.0 } else { matrix[at] }).collect()
    }

    /// A triangular matrix whose inverse is not large.
    pub fn triangular(seed: u64, n: usize) -> Vec<f64> {
        let mut matrix = lower(n, &random_rows(seed, n, n));
        matrix.iter_mut().for_each(|v| *v /= n as f64);
        (0..n).for_each(|k| matrix[k * n + k] = 1.0 + matrix[k * n + k].abs());
        matrix
    }
}

#[cfg(test)]
mod tests {
    use super::plain::{lower, random_rows, triangular};
    use super::*;
    use crate::simd::{available, run_on};

    const SIZES: [usize; 8] = [1, 2, 7, 8, 9, 19, 33, 70];

    #[test]
    fn triangular_systems_are_solved() {
        for n in SIZES {
            let matrix = triangular(1, n);
            let z = random_rows(2, 7, n);
            let mut y = vec![0.0; 7 * n];
            multiply_lower(n, &matrix, &z, &mut y);
            for (z, y) in z.chunks_exact(n).zip(y.chunks_exact(n)) {
                for i in 0..n {
                    let plain: f64 = (0..=i).map(|j| matrix[j * n + i] * z[j]).sum();
                    assert!((y[i] - plain).abs() < 1e-13 * n as f64, "entry {i} of {n}");
                }
            }
            // What is above the diagonal is not looked at.
            let spoilt: Vec<f64> = (0..n * n).map(|at| if at % n < at / n { f64::NAN } else { matrix[at] }).collect();
            solve_lower(n, &spoilt, &mut y);
            assert!(y.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12));
            let mut t: Vec<f64> = (0..n).map(|j| (j..n).map(|i| matrix[j * n + i] * z[i]).sum()).collect();
            solve_lower_transposed(n, &spoilt, &mut t);
            assert!(t.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-12));
        }
    }

    #[test]
    fn rows_are_multiplied_by_a_square_matrix() {
        for n in SIZES {
            let (matrix, zs) = (random_rows(6, n, n), random_rows(7, 6, n));
            let mut product = vec![0.0; 6 * n];
            multiply_rows_by(n, &matrix, &zs, &mut product);
            for (at, value) in product.iter().enumerate() {
                let plain: f64 = (0..n).map(|j| zs[at / n * n + j] * matrix[j * n + at % n]).sum();
                assert!((value - plain).abs() < 1e-13 * n as f64, "entry {at}, n = {n}");
            }
        }
    }

    #[test]
    fn triangular_matrices_are_multiplied() {
        for n in SIZES {
            let (matrix, other) = (triangular(3, n), triangular(4, n));
            let spoilt: Vec<f64> = (0..n * n).map(|at| if at % n < at / n { f64::NAN } else { other[at] }).collect();
            let mut product = matrix.clone();
            multiply_triangular(n, &mut product, &spoilt);
            for j in 0..n {
                for i in 0..n {
                    let plain: f64 = (j..=i).map(|k| matrix[k * n + i] * other[j * n + k]).sum();
                    assert!((product[j * n + i] - plain).abs() < 1e-13, "entry ({i}, {j}) of {n}");
                }
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let n = 45;
        let (matrix, other, zs) = (triangular(3, n), triangular(4, n), random_rows(2, 7, n));
        let results = available().into_iter().map(|set| {
            let (mut y, mut product) = (vec![0.0; 7 * n], matrix.clone());
            run_on(set, MultiplyLower { n, lower: &matrix, zs: &zs, to: &mut y });
            let mut solved = y.clone();
            run_on(set, SolveLower { n, lower: &other, rows: &mut solved });
            run_on(set, MultiplyTriangular { n, lower: &mut product, other: &other });
            let mut squared = vec![0.0; 7 * n];
            run_on(set, MultiplyRowsBy { n, matrix: &product, zs: &zs, to: &mut squared });
            (y, solved, lower(n, &product), squared)
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
