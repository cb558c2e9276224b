//! What is asked of symmetric matrices.

use super::*;
use crate::matrix::linear::plain::{lower, random_rows, squares, triangular};
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
fn squares_may_be_added_to_some_columns_at_a_time() {
    for n in SIZES {
        let (rows, weights) = (random_rows(3, 37, n), random_rows(4, 1, 37));
        let mut whole = vec![0.0; n * n];
        add_squares(n, &mut whole, &rows, &weights);
        for panel in [1, 3, 16] {
            let mut parts = vec![0.0; n * n];
            for (index, columns) in parts.chunks_mut(panel * n).enumerate() {
                add_squares_to(n, index * panel, columns, &rows, &weights);
            }
            assert_eq!(lower(n, &parts), lower(n, &whole), "n = {n}, {panel} columns");
        }
    }
}

#[test]
fn a_matrix_times_its_inverse_is_the_identity() {
    for n in SIZES {
        let factor = triangular(5, n);
        let matrix: Vec<f64> =
            (0..n * n).map(|at| (0..n).map(|k| factor[k * n + at / n] * factor[k * n + at % n]).sum()).collect();
        let found = inverse(n, &factor);
        let mut product = vec![0.0; n * n];
        symmetric_times(n, &found, &matrix, &mut product);
        for (at, value) in product.iter().enumerate() {
            assert!((value - f64::from(at / n == at % n)).abs() < 1e-11 * n as f64, "n = {n}, entry {at}");
        }
    }
}

#[test]
fn every_instruction_set_gives_the_same_bits() {
    let n = 45;
    let rows = random_rows(4, 91, n);
    let results = available().into_iter().map(|set| {
        let (mut matrix, mut product) = (vec![0.0; n * n], vec![0.0; 3 * n]);
        run_on(set, AddSquares { n, matrix: &mut matrix, rows: &rows, weights: &[0.7; 91] });
        run_on(set, SymmetricTimes { n, matrix: &matrix, rows: &rows[..3 * n], to: &mut product });
        assert!(run_on(set, Cholesky { n, matrix: &mut matrix, least: None }));
        let inverse = run_on(set, Inverse { n, factor: &matrix });
        (lower(n, &matrix), product, lower(n, &inverse))
    });
    let results: Vec<_> = results.collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
