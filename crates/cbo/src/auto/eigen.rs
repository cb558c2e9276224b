//! Eigenvalues and eigenvectors of small symmetric matrices: Householder's reflections make the matrix tridiagonal, then QL steps with
//! implicit shifts make it diagonal (Golub and Van Loan, Matrix Computations, 8.3).

use crate::matrix::linear::dot;

/// Steps for one eigenvalue; a few are enough.
const STEPS: usize = 50;

/// Eigenvalues, ascending, and their eigenvectors of length 1, one after the other, of the symmetric matrix whose lower half is given by
/// columns.
pub(super) fn eigen(n: usize, lower: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut matrix = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            matrix[j * n + i] = lower[j * n + i];
            matrix[i * n + j] = lower[j * n + i];
        }
    }
    let mut basis = vec![0.0; n * n];
    (0..n).for_each(|i| basis[i * n + i] = 1.0);
    make_tridiagonal(n, &mut matrix, &mut basis);
    let mut values: Vec<f64> = (0..n).map(|i| matrix[i * n + i]).collect();
    let beside = (0..n).map(|i| if i + 1 < n { matrix[i * n + i + 1] } else { 0.0 });
    make_diagonal(&mut values, beside.collect(), &mut basis);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let vectors = order.iter().flat_map(|&i| basis[i * n..(i + 1) * n].iter().copied()).collect();
    (order.iter().map(|&i| values[i]).collect(), vectors)
}

/// `A <- H A H` with reflections H, until only the diagonal and its neighbours are left; the rows of the basis are reflected, too.
fn make_tridiagonal(n: usize, matrix: &mut [f64], basis: &mut [f64]) {
    for k in 0..n.saturating_sub(2) {
        let first = k + 1;
        let mut v = matrix[k * n + first..(k + 1) * n].to_vec();
        if v[1..].iter().all(|x| *x == 0.0) {
            continue;
        }
        // H = 1 - 2 v v' / v'v maps the row to one with a single entry.
        let norm = dot(&v, &v).sqrt().copysign(v[0]);
        matrix[k * n + first] = -norm;
        v[0] += norm;
        let half = 0.5 * dot(&v, &v);
        let row = |i: usize| (first + i) * n + first..(first + i + 1) * n;
        let product: Vec<f64> = (0..v.len()).map(|i| dot(&matrix[row(i)], &v) / half).collect();
        let along = 0.5 * dot(&v, &product) / half;
        let w: Vec<f64> = product.iter().zip(&v).map(|(p, v)| p - along * v).collect();
        for i in 0..v.len() {
            let pairs = v.iter().zip(&w);
            matrix[row(i)].iter_mut().zip(pairs).for_each(|(a, (vj, wj))| *a -= v[i] * wj + w[i] * vj);
        }
        let mut sum = vec![0.0; n];
        for (b, v) in basis[first * n..].chunks_exact(n).zip(&v) {
            sum.iter_mut().zip(b).for_each(|(s, b)| *s += v * b);
        }
        for (b, v) in basis[first * n..].chunks_exact_mut(n).zip(&v) {
            b.iter_mut().zip(&sum).for_each(|(b, s)| *b -= v / half * s);
        }
    }
}

/// Rotates neighbours until nothing is left beside the diagonal.
fn make_diagonal(diagonal: &mut [f64], mut beside: Vec<f64>, basis: &mut [f64]) {
    let n = diagonal.len();
    for low in 0..n {
        for _ in 0..STEPS {
            let small = |&i: &usize| {
                i + 1 == n || beside[i].abs() <= f64::EPSILON * (diagonal[i].abs() + diagonal[i + 1].abs())
            };
            let high = (low..n).find(small).unwrap_or(n - 1);
            if high == low {
                break;
            }
            let shift = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low]);
            let root = (shift * shift + 1.0).sqrt().copysign(shift);
            let mut g = diagonal[high] - diagonal[low] + beside[low] / (shift + root);
            let (mut sine, mut cosine, mut moved) = (1.0, 1.0, 0.0);
            let mut split = false;
            for i in (low..high).rev() {
                let (f, b) = (sine * beside[i], cosine * beside[i]);
                let length = (f * f + g * g).sqrt();
                beside[i + 1] = length;
                if length == 0.0 {
                    diagonal[i + 1] -= moved;
                    beside[high] = 0.0;
                    split = true;
                    break;
                }
                (sine, cosine) = (f / length, g / length);
                g = diagonal[i + 1] - moved;
                let t = (diagonal[i] - g) * sine + 2.0 * cosine * b;
                moved = sine * t;
                diagonal[i + 1] = g + moved;
                g = cosine * t - b;
                let (lower, upper) = basis[i * n..(i + 2) * n].split_at_mut(n);
                for (x, y) in lower.iter_mut().zip(upper) {
                    (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                }
            }
            if !split {
                diagonal[low] -= moved;
                beside[low] = g;
                beside[high] = 0.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auto::random::Random;

    #[test]
    fn eigenvectors_are_orthonormal_and_reproduce_the_matrix() {
        for n in [1, 2, 3, 7, 20, 45] {
            let mut matrix = Vec::new();
            Random::new(3, 0).normals(n, n, &mut matrix);
            (0..n * n).for_each(|at| matrix[at] = matrix[at / n + at % n * n]);
            let (values, vectors) = eigen(n, &matrix);
            assert!(values.windows(2).all(|v| v[0] <= v[1]));
            for (a, (value, x)) in values.iter().zip(vectors.chunks_exact(n)).enumerate() {
                for (b, y) in vectors.chunks_exact(n).enumerate() {
                    assert!((dot(x, y) - f64::from(u8::from(a == b))).abs() < 1e-13 * n as f64);
                }
                for i in 0..n {
                    assert!((dot(&matrix[i * n..(i + 1) * n], x) - value * x[i]).abs() < 1e-13 * (n * n) as f64);
                }
            }
        }
    }

    #[test]
    fn a_diagonal_matrix_and_one_of_zeros_have_the_eigenvalues_one_sees() {
        assert_eq!(eigen(3, &[2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 3.0]).0, [1.0, 2.0, 3.0]);
        assert_eq!(eigen(3, &[0.0; 9]).0, [0.0; 3]);
    }
}
