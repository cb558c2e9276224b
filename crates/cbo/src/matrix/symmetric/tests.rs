//! What is asked of symmetric matrices.

use super::*;
use crate::matrix::linear::plain::{lower, random_rows, triangular};
use crate::simd::{available, run_on};

const SIZES: [usize; 11] = [1, 2, 5, 7, 8, 9, 16, 21, 37, 66, 231];

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
        let inverse = run_on(set, Inverse { n, factor: &triangular(5, n) });
        (lower(n, &matrix), product, lower(n, &inverse))
    });
    let results: Vec<_> = results.collect();
    assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
}
