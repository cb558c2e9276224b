//! The normal equations of quadratic functions: sums of squares of rows that hold the products of pairs of numbers.
//!
//! Of numbers `x_0 .. x_(d-1)` such a row has `x_a x_b` for a <= b, by a, then b. An entry of its square is the product of four numbers, in
//! whatever order, so about a third of the entries are computed and the others are copies of them.

use super::symmetric::{Blocks, ROWS, add_to_columns};
use crate::simd::{Kernel, Vector, run};

/// Adds `weight row row'` to a symmetric matrix, which was zero before, for each row of `rows` with its weight. Rows have the products of
/// `count` numbers and zeros up to `n`, the order of the matrix.
pub(crate) fn add_squares_of_pairs<'a>(
    count: usize,
    n: usize,
    matrix: &mut [f64],
    rows: impl Iterator<Item = &'a [f64]>,
    weights: &[f64],
) {
    run(AddSquaresOfPairs { count, n, matrix, rows, weights });
    copy_the_others(count, n, matrix);
}

/// Where the product of numbers a and b, a <= b, is in a row.
fn place(count: usize, a: usize, b: usize) -> usize {
    a * count - a * a.saturating_sub(1) / 2 + b - a
}

struct AddSquaresOfPairs<'a, R> {
    count: usize,
    n: usize,
    matrix: &'a mut [f64],
    rows: R,
    weights: &'a [f64],
}

impl<'r, R: Iterator<Item = &'r [f64]>> Kernel<f64> for AddSquaresOfPairs<'_, R> {
    type Output = ();
    /// Adds to the entries `(a, b), (c, d)` with c >= b, and to some others, which do not matter.
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        let Self { count, n, matrix, rows, weights } = self;
        let wide = V::REGISTERS >= 32;
        let mut blocks = Blocks::new(rows);
        for weights in weights.chunks(ROWS) {
            let rows = blocks.next(weights.len());
            for a in 0..count {
                let mut b = a;
                while b < count {
                    let (first, part) = (place(count, a, b), place(count, b, b)..n);
                    let columns = &mut matrix[first * n..];
                    if wide && b + 4 <= count {
                        add_to_columns::<V, 4, 4>(n, first, part, columns, rows, weights);
                        b += 4;
                    } else if b + 2 <= count {
                        add_to_columns::<V, 2, 2>(n, first, part, columns, rows, weights);
                        b += 2;
                    } else {
                        add_to_columns::<V, 1, 4>(n, first, part, columns, rows, weights);
                        b += 1;
                    }
                }
            }
        }
    }
}

/// Copies the entries below the diagonal with c < b from where the same four numbers are in order.
fn copy_the_others(count: usize, n: usize, matrix: &mut [f64]) {
    for a in 0..count {
        for b in a + 1..count {
            let (before, column) = matrix.split_at_mut(place(count, a, b) * n);
            for c in a..b {
                let from = &before[place(count, a, c) * n..][..n];
                if c > a {
                    for d in c..b {
                        column[place(count, c, d)] = from[place(count, d, b)];
                    }
                }
                let (to, from) = (&mut column[place(count, c, b)..], &from[place(count, b, b)..]);
                to[..count - b].copy_from_slice(&from[..count - b]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::linear::plain::{lower, random_rows, squares};
    use crate::simd::{available, run_on};

    /// The products of all pairs of numbers in each row, and the order of the matrix.
    fn products(count: usize, rows: usize) -> (usize, Vec<f64>) {
        let pairs = place(count, count - 1, count - 1) + 1;
        let n = pairs.next_multiple_of(8);
        let mut products = vec![0.0; rows * n];
        let numbers = random_rows(3, rows, count);
        for (x, row) in numbers.chunks_exact(count).zip(products.chunks_exact_mut(n)) {
            for a in 0..count {
                (a..count).for_each(|b| row[place(count, a, b)] = x[a] * x[b]);
            }
        }
        (n, products)
    }

    #[test]
    fn the_squares_are_those_of_the_plain_sum() {
        for count in [1, 2, 3, 5, 9, 14] {
            let (n, rows) = products(count, 70);
            let weights: Vec<f64> = (0..70).map(|i| 1.0 + i as f64).collect();
            let mut matrix = vec![0.0; n * n];
            add_squares_of_pairs(count, n, &mut matrix, rows.chunks_exact(n), &weights);
            let plain = lower(n, &squares(n, &rows, &weights));
            for (at, (a, b)) in lower(n, &matrix).iter().zip(&plain).enumerate() {
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} is not {b}, entry {at} of {count} numbers");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (n, rows) = products(11, 50);
        let weights = vec![0.7; 50];
        let results = available().into_iter().map(|set| {
            let mut matrix = vec![0.0; n * n];
            let rows = rows.chunks_exact(n);
            run_on(set, AddSquaresOfPairs { count: 11, n, matrix: &mut matrix, rows, weights: &weights });
            copy_the_others(11, n, &mut matrix);
            lower(n, &matrix)
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
