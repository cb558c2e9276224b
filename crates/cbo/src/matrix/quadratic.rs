//! Least squares for quadratic functions: the normal equations of their terms at some points.
//!
//! With `x_0 = 1` in front of the coordinates of a point its terms are the products `x_a x_b`, a <= b, by a, then b. An entry of the square of
//! such a row is the product of four numbers, in whatever order, so about a third of the entries are computed and the others are copies of
//! them.

use crate::buffer::Buffer;
use crate::simd::{Kernel, Vector, run};

/// Numbers in a vector.
const LANES: usize = 8;
/// Points that are taken in one pass over the matrix.
const POINTS: usize = 64;
/// From the factors of one column to those of the next: a little more, or they would get into each other's way in the nearest cache.
const STRIDE: usize = POINTS + LANES;
/// Vectors of each row that are needed at the same time, by one column after the other, so that they stay in the nearest cache.
const PANEL: usize = 4;

/// The terms at `point` should make `value`, and that counts `weight` times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Equation<'a> {
    pub point: &'a [f64],
    pub value: f64,
    pub weight: f64,
}

/// Writes the lower half of the sum of `weight row row'` over the equations (there must be one) to a matrix, and adds `weight value row` to the
/// right side. A row has the terms at a point of `dim` coordinates, and zeros up to `n`, the order of the matrix, a multiple of eight.
pub(crate) fn normal_equations<'a>(
    dim: usize,
    n: usize,
    equations: impl Iterator<Item = Equation<'a>>,
    matrix: &mut [f64],
    right: &mut [f64],
) {
    run(NormalEquations { dim, n, equations, matrix, right });
    copy_the_others(1 + dim, n, matrix);
}

/// Where the product of numbers a and b of `count`, a <= b, is in a row.
fn place(count: usize, a: usize, b: usize) -> usize {
    a * count - a * a.saturating_sub(1) / 2 + b - a
}

struct NormalEquations<'a, E> {
    dim: usize,
    n: usize,
    equations: E,
    matrix: &'a mut [f64],
    right: &'a mut [f64],
}

impl<'p, E: Iterator<Item = Equation<'p>>> Kernel<f64> for NormalEquations<'_, E> {
    type Output = ();
    /// The entries `(a, b), (c, d)` with c >= b, and some others, which do not matter.
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) {
        // As many sums as fit the registers, so that an entry is read and written once for many points.
        if V::REGISTERS >= 32 { self.in_tiles::<V, 4, PANEL>() } else { self.in_tiles::<V, 6, 1>() }
    }
}

impl<'p, E: Iterator<Item = Equation<'p>>> NormalEquations<'_, E> {
    /// In tiles of `W` columns and at most `B` vectors. Every entry is computed in the same order for every size of a tile.
    #[inline(always)]
    fn in_tiles<V: Vector<Scalar = f64>, const W: usize, const B: usize>(self) {
        let Self { dim, n, mut equations, matrix, right } = self;
        let groups = groups::<W>(1 + dim);
        matrix[(1 + dim) * (2 + dim) / 2 * n..].fill(0.0);
        let mut block = Block::new(dim, n);
        while block.take::<V>(&mut equations, right) {
            for panel in 0..block.panels.len() / (POINTS * PANEL * LANES) {
                block.add_panel::<V, W, B>(panel, &groups, matrix);
            }
            block.begun = true;
        }
    }
}

/// The columns `(a, b)` of `count` numbers in groups, by b, and the first vector of which a group needs entries. The last column may be
/// there more than once.
fn groups<const W: usize>(count: usize) -> Vec<(usize, [usize; W])> {
    let columns: Vec<(usize, usize)> = (0..count).flat_map(|b| (0..=b).map(move |a| (a, b))).collect();
    let group = |of: &[(usize, usize)]| {
        let column = |q: usize| of[q.min(of.len() - 1)];
        let first = place(count, of[0].1, of[0].1) / LANES;
        (first, std::array::from_fn(|q| place(count, column(q).0, column(q).1)))
    };
    columns.chunks(W).map(group).collect()
}

/// A few vectors of some columns of the matrix.
struct Tile<'a, const W: usize> {
    /// A panel of rows, and the vector in it with which the tile begins.
    rows: &'a [[f64; PANEL * LANES]],
    vector: usize,
    /// Of each column.
    factors: [&'a [f64; STRIDE]; W],
    places: [usize; W],
    /// Whether there are sums already.
    begun: bool,
}

impl<const W: usize> Tile<'_, W> {
    /// `B` vectors of each column.
    #[inline(always)]
    fn add<V: Vector<Scalar = f64>, const B: usize>(self, matrix: &mut [f64]) {
        let Self { rows, vector, factors, places, begun } = self;
        let mut sums = [[V::splat(0.0); B]; W];
        if begun {
            for q in 0..W {
                for b in 0..B {
                    sums[q][b] = V::load(&matrix[places[q] + b * LANES..]);
                }
            }
        }
        for r in 0..rows.len().min(POINTS) {
            let mut x = [V::splat(0.0); B];
            for b in 0..B {
                x[b] = V::load(&rows[r][(vector + b) * LANES..]);
            }
            for q in 0..W {
                let factor = V::splat(factors[q][r]);
                for b in 0..B {
                    sums[q][b] = factor.mul_add(x[b], sums[q][b]);
                }
            }
        }
        for q in 0..W {
            for b in 0..B {
                sums[q][b].store(&mut matrix[places[q] + b * LANES..]);
            }
        }
    }
}

/// Some of the equations, as tiles need them.
struct Block {
    n: usize,
    size: usize,
    /// Whether there were others before.
    begun: bool,
    /// Their rows, in panels. The first one has vectors in front that are not there.
    panels: Buffer<f64>,
    missing: usize,
    /// The rows times the weights, by columns.
    factors: Buffer<f64>,
    /// Of as many points as a vector has lanes: one and the coordinates,
    numbers: Buffer<f64>,
    /// and the terms.
    terms: Buffer<f64>,
}

impl Block {
    fn new(dim: usize, n: usize) -> Self {
        let vectors = n / LANES;
        let padded = vectors.next_multiple_of(PANEL);
        let mut numbers = Buffer::new((1 + dim) * LANES);
        numbers[..LANES].fill(1.0);
        Self {
            n,
            size: 0,
            begun: false,
            panels: Buffer::new(padded * LANES * POINTS),
            missing: padded - vectors,
            factors: Buffer::new(n * STRIDE),
            numbers,
            terms: Buffer::new(n * LANES),
        }
    }

    /// Takes the next equations, and adds to the right side. Tells whether there were any.
    #[inline(always)]
    fn take<'p, V: Vector<Scalar = f64>>(
        &mut self,
        equations: &mut impl Iterator<Item = Equation<'p>>,
        right: &mut [f64],
    ) -> bool {
        self.size = 0;
        while self.size < POINTS {
            let (mut weights, mut values, mut count) = ([0.0; LANES], [0.0; LANES], 0);
            for (lane, equation) in equations.by_ref().take(LANES).enumerate() {
                (weights[lane], values[lane]) = (equation.weight, equation.weight * equation.value);
                for (numbers, x) in self.numbers[LANES..].chunks_exact_mut(LANES).zip(equation.point) {
                    numbers[lane] = *x;
                }
                count += 1;
            }
            if count > 0 {
                self.multiply::<V>(V::load(&weights));
                self.turn::<V>(values, right);
                self.size += count;
            }
            if count < LANES {
                break;
            }
        }
        self.size > 0
    }

    /// Sets the terms of the next points, and the factors.
    #[inline(always)]
    fn multiply<V: Vector<Scalar = f64>>(&mut self, weights: V) {
        let numbers = self.numbers.as_chunks::<LANES>().0;
        let mut places = self.terms.as_chunks_mut::<LANES>().0.iter_mut().zip(self.factors.as_chunks_mut::<STRIDE>().0);
        for (a, x) in numbers.iter().enumerate() {
            let x = V::load(x);
            for (y, (term, factors)) in numbers[a..].iter().zip(&mut places) {
                let product = x * V::load(y);
                product.store(term);
                (weights * product).store(&mut factors[self.size..]);
            }
        }
    }

    /// Makes rows of the terms, and adds them, `values` times, to the right side.
    #[inline(always)]
    fn turn<V: Vector<Scalar = f64>>(&mut self, values: [f64; LANES], right: &mut [f64]) {
        let panels = self.panels.as_chunks_mut::<{ PANEL * LANES }>().0;
        for (vector, (terms, sum)) in
            self.terms.chunks_exact(LANES * LANES).zip(right.chunks_exact_mut(LANES)).enumerate()
        {
            let (panel, vector) = ((vector + self.missing) / PANEL, (vector + self.missing) % PANEL);
            let rows = &mut panels[panel * POINTS + self.size..][..LANES];
            let (mut square, mut total) = ([V::splat(0.0); LANES], V::load(sum));
            for k in 0..LANES {
                square[k] = V::load(&terms[k * LANES..]);
            }
            V::transpose(&mut square);
            for k in 0..LANES {
                square[k].store(&mut rows[k][vector * LANES..]);
                total = V::splat(values[k]).mul_add(square[k], total);
            }
            total.store(sum);
        }
    }

    /// Adds a panel of the rows to the matrix.
    #[inline(always)]
    fn add_panel<V: Vector<Scalar = f64>, const W: usize, const B: usize>(
        &self,
        panel: usize,
        groups: &[(usize, [usize; W])],
        matrix: &mut [f64],
    ) {
        let rows = &self.panels.as_chunks().0[panel * POINTS..][..self.size];
        let begin = panel * PANEL;
        for (first, columns) in groups {
            let first = first + self.missing;
            if first >= begin + PANEL {
                break;
            }
            let from = first.saturating_sub(begin);
            let factors = columns.map(|column| &self.factors.as_chunks().0[column]);
            let places = |vector| columns.map(|column| column * self.n + (begin + vector - self.missing) * LANES);
            let tile = |vector| Tile { rows, vector, factors, places: places(vector), begun: self.begun };
            match PANEL - from {
                4 if B == PANEL => tile(0).add::<V, 4>(matrix),
                3 if B == PANEL => tile(1).add::<V, 3>(matrix),
                2 if B == PANEL => tile(2).add::<V, 2>(matrix),
                1 if B == PANEL => tile(3).add::<V, 1>(matrix),
                _ => {
                    for vector in from..PANEL {
                        tile(vector).add::<V, 1>(matrix);
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
                    let mut at = place(count, c, b);
                    for (d, to) in (c..b).zip(&mut column[place(count, c, c)..]) {
                        *to = from[at];
                        at += count - d - 1;
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

    /// Points of so many coordinates, the order of the matrix, and the terms of all points.
    fn problem(dim: usize, count: usize) -> (Vec<f64>, usize, Vec<f64>) {
        let n = ((1 + dim) * (2 + dim) / 2).next_multiple_of(8);
        let points = random_rows(3, count, dim);
        let mut rows = vec![0.0; count * n];
        for (point, row) in points.chunks_exact(dim).zip(rows.chunks_exact_mut(n)) {
            let numbers = [&[1.0], point].concat();
            for a in 0..=dim {
                (a..=dim).for_each(|b| row[place(1 + dim, a, b)] = numbers[a] * numbers[b]);
            }
        }
        (points, n, rows)
    }

    fn equations(dim: usize, points: &[f64]) -> impl Iterator<Item = Equation<'_>> {
        let equation = |(i, point)| Equation { point, value: (i as f64).sin(), weight: 1.0 + i as f64 };
        points.chunks_exact(dim).enumerate().map(equation)
    }

    #[test]
    fn the_equations_are_those_of_the_plain_sums() {
        for (dim, count) in [(1, 70), (2, 8), (3, 1), (4, 64), (8, 70), (13, 130), (20, 7)] {
            let (points, n, rows) = problem(dim, count);
            // Whatever was there.
            let (mut matrix, mut right) = (vec![f64::NAN; n * n], vec![0.0; n]);
            normal_equations(dim, n, equations(dim, &points), &mut matrix, &mut right);
            let weights: Vec<f64> = equations(dim, &points).map(|equation| equation.weight).collect();
            let plain = lower(n, &squares(n, &rows, &weights));
            for (at, (a, b)) in lower(n, &matrix).iter().zip(&plain).enumerate() {
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} is not {b}, entry {at}, {dim} coordinates");
            }
            for (at, a) in right.iter().enumerate() {
                let terms =
                    equations(dim, &points).zip(rows.chunks_exact(n)).map(|(e, row)| e.weight * e.value * row[at]);
                let b: f64 = terms.sum();
                assert!((a - b).abs() < 1e-10 * (1.0 + b.abs()), "{a} is not {b}, number {at}, {dim} coordinates");
            }
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (dim, count) = (11, 90);
        let (points, n, _) = problem(dim, count);
        let results = available().into_iter().map(|set| {
            let (mut matrix, mut right) = (vec![0.0; n * n], vec![0.0; n]);
            let equations = equations(dim, &points);
            run_on(set, NormalEquations { dim, n, equations, matrix: &mut matrix, right: &mut right });
            copy_the_others(1 + dim, n, &mut matrix);
            (lower(n, &matrix), right)
        });
        let results: Vec<_> = results.collect();
        assert!(results.windows(2).all(|pair| pair[0] == pair[1]));
    }
}
