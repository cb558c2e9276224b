//! Small dense linear algebra: lower triangular matrices by columns, in the order of operations of [`simd`](crate::simd), so that
//! every machine gets the same bits.
//!
//! Column j of a matrix of order n begins at `j n`; of a lower triangular one the entries above the diagonal are not looked at.

use crate::simd::{Kernel, Vector, run};

/// `y += a x`.
#[inline(always)]
pub(super) fn axpy<V: Vector<Scalar = f64>>(a: f64, x: &[f64], y: &mut [f64]) {
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
pub(super) fn axpy4<V: Vector<Scalar = f64>>(a: [f64; 4], x: [&[f64]; 4], y: &mut [f64]) {
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
pub(super) fn inner<V: Vector<Scalar = f64>>(x: &[f64], y: &[f64]) -> f64 {
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

/// `y += a c`, and the inner product of c and x.
#[inline(always)]
fn axpy_inner<V: Vector<Scalar = f64>>(a: f64, c: &[f64], x: &[f64], y: &mut [f64]) -> f64 {
    let (a, mut sum) = (V::splat(a), V::splat(0.0));
    let whole = c.len() / V::LANES * V::LANES;
    let (x, y) = (&x[..c.len()], &mut y[..c.len()]);
    let mut from = 0;
    while from < whole {
        let v = V::load(&c[from..]);
        sum = v.mul_add(V::load(&x[from..]), sum);
        a.mul_add(v, V::load(&y[from..])).store(&mut y[from..]);
        from += V::LANES;
    }
    if whole < c.len() {
        let v = V::load_partial(&c[whole..]);
        sum = v.mul_add(V::load_partial(&x[whole..]), sum);
        let rest = &mut y[whole..];
        a.mul_add(v, V::load_partial(rest)).store_partial(rest);
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
            if V::REGISTERS >= 32 { factorise::<V, 8>(self.0, self.1) } else { factorise::<V, 4>(self.0, self.1) }
        }
    }
    run(Body(n, matrix))
}

/// Cholesky's factorisation, `W` columns at a time. Every entry is computed in the same order for every `W`.
#[inline(always)]
fn factorise<V: Vector<Scalar = f64>, const W: usize>(n: usize, matrix: &mut [f64]) -> bool {
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
            if !(pivot > 0.0 && pivot.is_finite()) {
                return false;
            }
            let root = pivot.sqrt();
            column[0] = root;
            column[1..].iter_mut().for_each(|v| *v /= root);
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
    while row < n {
        let size = V::LANES.min(n - row);
        let load = |from: &[f64]| if size == V::LANES { V::load(from) } else { V::load_partial(&from[..size]) };
        let mut sums: [V; W] = std::array::from_fn(|q| load(&panel[q * n + row..]));
        for column in before.chunks_exact(n) {
            let factors = &column[first..first + W];
            let v = load(&column[row..]);
            for q in 0..W {
                sums[q] = V::splat(-factors[q]).mul_add(v, sums[q]);
            }
        }
        for (q, sum) in sums.into_iter().enumerate() {
            let to = &mut panel[q * n + row..q * n + row + size];
            if size == V::LANES { sum.store(to) } else { sum.store_partial(to) }
        }
        row += V::LANES;
    }
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

/// Replaces a lower triangular matrix, given by columns, by its inverse, **by rows**, with zeros above the diagonal.
pub(super) fn invert_lower(n: usize, lower: &mut Vec<f64>) {
    struct Body<'a>(usize, &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, to) = self;
            for k in 0..n {
                let (done, rest) = to.split_at_mut(k * n);
                let row = &mut rest[..k];
                for (j, earlier) in done.chunks_exact(n).enumerate() {
                    axpy::<V>(-lower[j * n + k], &earlier[..=j], row);
                }
                let pivot = lower[k * n + k];
                row.iter_mut().for_each(|v| *v /= pivot);
                rest[k] = 1.0 / pivot;
            }
        }
    }
    let mut to = vec![0.0; n * n];
    run(Body(n, lower, &mut to));
    *lower = to;
}

/// Multiplies a symmetric matrix, of which the lower half is given by columns, by a vector.
pub(super) fn symmetric_times(n: usize, lower: &[f64], x: &[f64], to: &mut [f64]) {
    struct Body<'a>(usize, &'a [f64], &'a [f64], &'a mut [f64]);
    impl Kernel<f64> for Body<'_> {
        type Output = ();
        #[inline(always)]
        fn run<V: Vector<Scalar = f64>>(self) {
            let Body(n, lower, x, to) = self;
            to.fill(0.0);
            for j in 0..n {
                let column = &lower[j * n + j..(j + 1) * n];
                let (head, below) = to[j..].split_at_mut(1);
                head[0] += column[0] * x[j] + axpy_inner::<V>(x[j], &column[1..], &x[j + 1..], below);
            }
        }
    }
    run(Body(n, lower, x, to));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::random::Random;
    use crate::simd::{available, run_on};

    fn random_rows(seed: u64, rows: usize, n: usize) -> Vec<f64> {
        let mut to = Vec::new();
        Random::new(seed, 0).normals(rows, n, &mut to);
        to
    }

    /// `sum w row row'`, plainly.
    fn squares(n: usize, rows: &[f64], weights: &[f64]) -> Vec<f64> {
        let mut matrix = vec![0.0; n * n];
        for (row, w) in rows.chunks_exact(n).zip(weights) {
            for j in 0..n {
                (0..n).for_each(|i| matrix[j * n + i] += w * row[i] * row[j]);
            }
        }
        matrix
    }

    #[test]
    fn the_cholesky_factor_multiplied_by_its_transpose_is_the_matrix() {
        for n in [1, 2, 5, 7, 8, 9, 16, 21, 37, 66, 231] {
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
    fn triangular_systems_are_solved() {
        let n = 19;
        let mut lower = squares(n, &random_rows(1, 40, n), &[0.1; 40]);
        assert!(cholesky(n, &mut lower));
        let z = random_rows(2, 3, n);
        let mut y = vec![0.0; 3 * n];
        multiply_lower(n, &lower, &z, &mut y);
        solve_lower(n, &lower, &mut y);
        assert!(y.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-11));
        let mut t: Vec<f64> = (0..n).map(|j| (j..n).map(|i| lower[j * n + i] * z[i]).sum()).collect();
        solve_lower_transposed(n, &lower, &mut t);
        assert!(t.iter().zip(&z).all(|(a, b)| (a - b).abs() < 1e-11));
        let x = &z[..n];
        let mut product = vec![0.0; n];
        symmetric_times(n, &lower, x, &mut product);
        for (i, product) in product.iter().enumerate() {
            let plain: f64 = (0..n).map(|k| lower[k.min(i) * n + k.max(i)] * x[k]).sum();
            assert!((product - plain).abs() < 1e-12);
        }
        let mut inverse = lower.clone();
        invert_lower(n, &mut inverse);
        for (row, i) in inverse.chunks_exact(n).zip(0..) {
            for j in 0..n {
                let product: f64 = (j..n).map(|k| row[k] * lower[j * n + k]).sum();
                assert!((product - f64::from(i == j)).abs() < 1e-11, "entry ({i}, {j})");
            }
        }
        let (mut product, other) = (lower.clone(), lower.clone());
        multiply_triangular(n, &mut product, &other);
        for j in 0..n {
            for i in j..n {
                let plain: f64 = (j..=i).map(|k| lower[k * n + i] * other[j * n + k]).sum();
                assert!((product[j * n + i] - plain).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        struct Factor<'a>(usize, &'a mut [f64]);
        impl Kernel<f64> for Factor<'_> {
            type Output = bool;
            #[inline(always)]
            fn run<V: Vector<Scalar = f64>>(self) -> bool {
                if V::REGISTERS >= 32 { factorise::<V, 8>(self.0, self.1) } else { factorise::<V, 4>(self.0, self.1) }
            }
        }
        let n = 45;
        let matrix = squares(n, &random_rows(4, 90, n), &[1.0; 90]);
        let factor = |set| {
            let mut matrix = matrix.clone();
            assert!(run_on(set, Factor(n, &mut matrix)));
            matrix
        };
        let lower = |m: Vec<f64>| -> Vec<f64> { (0..n).flat_map(|j| m[j * n + j..(j + 1) * n].to_vec()).collect() };
        let factors: Vec<Vec<f64>> = available().into_iter().map(factor).map(lower).collect();
        assert!(factors.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
