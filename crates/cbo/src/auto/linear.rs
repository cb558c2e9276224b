//! Small dense linear algebra: lower triangular matrices by columns, in the order of operations of [`simd`](crate::simd), so that
//! every machine gets the same bits.
//!
//! Column j of a matrix of order n begins at `j n`; of a lower triangular one the entries above the diagonal are not looked at.

use crate::simd::{Kernel, Vector, run};

/// `y += a x`.
#[inline(always)]
fn axpy<V: Vector<Scalar = f64>>(a: f64, x: &[f64], y: &mut [f64]) {
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
fn axpy4<V: Vector<Scalar = f64>>(a: [f64; 4], x: [&[f64]; 4], y: &mut [f64]) {
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

#[inline(always)]
fn inner<V: Vector<Scalar = f64>>(x: &[f64], y: &[f64]) -> f64 {
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

/// `L z` for each row z of `zs`, into the rows of `to`.
pub(super) fn multiply_lower(n: usize, lower: &[f64], zs: &[f64], to: &mut [f64]) {
    struct Body<'a>(usize, &'a [f64], &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, zs, to) = self;
            for (z, y) in zs.chunks_exact(n).zip(to.chunks_exact_mut(n)) {
                y.fill(0.0);
                for j in 0..n {
                    axpy::<V>(z[j], &lower[j * n + j..(j + 1) * n], &mut y[j..]);
                }
            }
        }
    }
    run(Body(n, lower, zs, to));
}

/// Replaces each row y of `rows` by the solution z of `L z = y`.
pub(super) fn solve_lower(n: usize, lower: &[f64], rows: &mut [f64]) {
    struct Body<'a>(usize, &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, rows) = self;
            for y in rows.chunks_exact_mut(n) {
                for j in 0..n {
                    let (done, rest) = y.split_at_mut(j + 1);
                    done[j] /= lower[j * n + j];
                    axpy::<V>(-done[j], &lower[j * n + j + 1..(j + 1) * n], rest);
                }
            }
        }
    }
    run(Body(n, lower, rows));
}

/// Replaces `y` by the solution z of `L' z = y`.
pub(super) fn solve_lower_transposed(n: usize, lower: &[f64], y: &mut [f64]) {
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

/// Replaces the lower half of a symmetric matrix by its Cholesky factor. Tells whether it is positive definite; if it is not, the matrix
/// is spoilt.
pub(super) fn cholesky(n: usize, matrix: &mut [f64]) -> bool {
    struct Body<'a>(usize, &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = bool;
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) -> bool {
            let Body(n, matrix) = self;
            for j in 0..n {
                let (before, rest) = matrix.split_at_mut(j * n);
                let column = &mut rest[j..n];
                let earlier = |k: usize| &before[k * n + j..(k + 1) * n];
                let mut k = 0;
                while k + 3 < j {
                    let four = [earlier(k), earlier(k + 1), earlier(k + 2), earlier(k + 3)];
                    axpy4::<V>(four.map(|x| -x[0]), four, column);
                    k += 4;
                }
                for k in k..j {
                    axpy::<V>(-earlier(k)[0], earlier(k), column);
                }
                let pivot = column[0];
                if !(pivot > 0.0 && pivot.is_finite()) {
                    return false;
                }
                let root = 1.0 / pivot.sqrt();
                column[0] = pivot.sqrt();
                for v in &mut column[1..] {
                    *v *= root;
                }
            }
            true
        }
    }
    run(Body(n, matrix))
}

/// `L <- L M` for lower triangular L and M.
pub(super) fn multiply_triangular(n: usize, lower: &mut [f64], other: &[f64]) {
    struct Body<'a>(usize, &'a mut [f64], &'a [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, other) = self;
            // Column j needs the columns from j on, so it may be replaced before those after it.
            for j in 0..n {
                let (before, after) = lower.split_at_mut((j + 1) * n);
                let column = &mut before[j * n..];
                let factor = other[j * n + j];
                column[j..].iter_mut().for_each(|v| *v *= factor);
                for k in j + 1..n {
                    axpy::<V>(other[j * n + k], &after[(k - j - 1) * n + k..(k - j) * n], &mut column[k..]);
                }
            }
        }
    }
    run(Body(n, lower, other));
}

/// Adds `weight row row'` to the lower half of a symmetric matrix, for each row of `rows` with its weight.
pub(super) fn add_squares(n: usize, matrix: &mut [f64], rows: &[f64], weights: &[f64]) {
    struct Body<'a>(usize, &'a mut [f64], &'a [f64], &'a [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, matrix, rows, weights) = self;
            let mut fours = rows.chunks_exact(4 * n);
            for (four, w) in (&mut fours).zip(weights.chunks_exact(4)) {
                let row = |i: usize| &four[i * n..(i + 1) * n];
                for j in 0..n {
                    let rows: [&[f64]; 4] = std::array::from_fn(|i| &row(i)[j..]);
                    let factors = std::array::from_fn(|i| w[i] * rows[i][0]);
                    axpy4::<V>(factors, rows, &mut matrix[j * n + j..(j + 1) * n]);
                }
            }
            let rest = fours.remainder();
            for (row, w) in rest.chunks_exact(n).zip(&weights[weights.len() - rest.len() / n..]) {
                for j in 0..n {
                    axpy::<V>(w * row[j], &row[j..], &mut matrix[j * n + j..(j + 1) * n]);
                }
            }
        }
    }
    run(Body(n, matrix, rows, weights));
}

/// The inner product of two vectors of the same length.
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
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

/// The squared Euclidean norm.
pub(super) fn square(x: &[f64]) -> f64 {
    dot(x, x)
}

/// Eigenvalues, ascending, and eigenvectors as columns, of the symmetric matrix whose lower half is given: Jacobi's rotations, for small
/// matrices and rare use.
pub(super) fn eigen(n: usize, lower: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut a = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            a[j * n + i] = lower[j * n + i];
            a[i * n + j] = lower[j * n + i];
        }
    }
    let mut vectors = vec![0.0; n * n];
    (0..n).for_each(|i| vectors[i * n + i] = 1.0);
    for _sweep in 0..30 {
        let (mut off, mut diagonal) = (0.0, 0.0);
        for j in 0..n {
            diagonal += a[j * n + j].powi(2);
            off += (j + 1..n).map(|i| a[j * n + i].powi(2)).sum::<f64>();
        }
        if off <= 1e-30 * diagonal {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                rotate(n, &mut a, &mut vectors, p, q);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let values = order.iter().map(|&i| a[i * n + i]).collect();
    (values, order.iter().flat_map(|&i| vectors[i * n..(i + 1) * n].to_vec()).collect())
}

fn rotate(n: usize, a: &mut [f64], vectors: &mut [f64], p: usize, q: usize) {
    let apq = a[p * n + q];
    if apq == 0.0 {
        return;
    }
    let theta = (a[q * n + q] - a[p * n + p]) / (2.0 * apq);
    let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
    let c = 1.0 / (t * t + 1.0).sqrt();
    let s = t * c;
    for k in 0..n {
        let (x, y) = (a[k * n + p], a[k * n + q]);
        (a[k * n + p], a[k * n + q]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (a[p * n + k], a[q * n + k]);
        (a[p * n + k], a[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
    for k in 0..n {
        let (x, y) = (vectors[p * n + k], vectors[q * n + k]);
        (vectors[p * n + k], vectors[q * n + k]) = (c * x - s * y, s * x + c * y);
    }
}
