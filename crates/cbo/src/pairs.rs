//! Means over a crowd of points as one point sees it: the nearer and the higher count more.
//!
//! Point j counts by `exp(height_j) k(q_j)`, where `q_j = sum_k factor_k (y_k - x_jk)^2` is its squared distance from the point y that
//! looks, and k one of a few kernels. Sums are relative to the largest of these numbers, so that none is too small or too large.

use crate::simd::{Kernel, Vector, run};

/// How much points count by their distance r, in units of the kernel's width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Similarity {
    /// `exp(-r^2 / 2)`.
    #[default]
    Gaussian,
    /// `exp(-r)`.
    Laplace,
    /// `1 / (1 + r^2)`.
    InverseQuadratic,
}

/// Points to look at, coordinate by coordinate.
#[derive(Clone, Copy)]
pub(crate) struct Crowd<'a> {
    /// Coordinate k of point j is number `k size + j`, where `size` is the number of heights. What counts nothing must be finite too.
    pub columns: &'a [f64],
    /// Logarithms of what the points count by themselves, minus infinity for nothing. Whole vectors of them: see [`whole`].
    pub heights: &'a [f64],
    /// What a coordinate counts in the squared distance.
    pub factors: &'a [f64],
    /// How the distance counts.
    pub similarity: Similarity,
}

/// What one point sees: the sum of what all count, relative to `exp(shift)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seen {
    pub shift: f64,
    pub mass: f64,
}

/// Places for this many heights.
pub(crate) fn whole(count: usize) -> usize {
    count.next_multiple_of(LANES)
}

impl Crowd<'_> {
    /// What `point` sees. Writes the sums of the points, each times what it counts, coordinate by coordinate, if there is room for them.
    #[inline(never)]
    pub fn seen_from(self, point: &[f64], sums: &mut [f64]) -> Seen {
        run(Look { crowd: self, point, sums })
    }
}

/// Lanes of a vector of doubles, on every instruction set.
const LANES: usize = 8;

/// Points that are looked at together.
const TILE: usize = 256;

/// The exponential of a number below this is zero (see `simd::Real::exp`).
const ZERO_BELOW: f64 = -709.0;

struct Look<'a> {
    crowd: Crowd<'a>,
    point: &'a [f64],
    sums: &'a mut [f64],
}

impl Kernel<f64> for Look<'_> {
    type Output = Seen;

    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> Seen {
        let Self { crowd: Crowd { columns, heights, factors, similarity }, point, sums } = self;
        let size = heights.len();
        let mut logs = [0.0; TILE];
        let mut seen = Seen { shift: f64::NEG_INFINITY, mass: 0.0 };
        sums.fill(0.0);
        for first in (0..size).step_by(TILE) {
            let logs = &mut logs[..TILE.min(size - first)];
            let mut tops = V::splat(f64::NEG_INFINITY);
            for (at, log) in (first..).step_by(V::LANES).zip(logs.chunks_exact_mut(V::LANES)) {
                let mut square = V::splat(0.0);
                for (k, (y, factor)) in point.iter().zip(factors).enumerate() {
                    let away = V::splat(*y) - V::load(&columns[k * size + at..]);
                    square = (away * away).mul_add(V::splat(*factor), square);
                }
                let height = V::load(&heights[at..]) - loss(similarity, square);
                tops = height.max(tops);
                height.store(log);
            }
            let mut lanes = [f64::NEG_INFINITY; LANES];
            tops.store(&mut lanes);
            let top = lanes.into_iter().fold(f64::NEG_INFINITY, f64::max);
            // With kernels much narrower than the crowd, most of it is out of sight.
            if top == f64::NEG_INFINITY || top - seen.shift < ZERO_BELOW {
                continue;
            }
            if top > seen.shift {
                V::splat(seen.shift - top).exp().store(&mut lanes);
                sums.iter_mut().for_each(|sum| *sum *= lanes[0]);
                seen = Seen { shift: top, mass: seen.mass * lanes[0] };
            }
            let mut mass = V::splat(0.0);
            for log in logs.chunks_exact_mut(V::LANES) {
                let weight = (V::load(log) - V::splat(seen.shift)).exp();
                mass = mass + weight;
                weight.store(log);
            }
            seen.mass += mass.sum();
            for (k, sum) in sums.iter_mut().enumerate() {
                let column = &columns[k * size + first..][..logs.len()];
                let mut moment = V::splat(0.0);
                for (weight, x) in logs.chunks_exact(V::LANES).zip(column.chunks_exact(V::LANES)) {
                    moment = V::load(weight).mul_add(V::load(x), moment);
                }
                *sum += moment.sum();
            }
        }
        seen
    }
}

/// Minus the logarithm of the kernel at a squared distance.
#[inline(always)]
fn loss<V: Vector<Scalar = f64>>(similarity: Similarity, square: V) -> V {
    match similarity {
        Similarity::Gaussian => square * 0.5,
        Similarity::Laplace => square.sqrt(),
        Similarity::InverseQuadratic => (square + 1.0).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::linear::plain::random_rows;
    use crate::simd::{available, run_on};

    const KINDS: [Similarity; 3] = [Similarity::Gaussian, Similarity::Laplace, Similarity::InverseQuadratic];

    /// A crowd of `count` points in `dim` dimensions, one in seven of which counts nothing.
    fn crowd(count: usize, dim: usize) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
        let columns = random_rows(1, dim, whole(count));
        let mut heights = random_rows(2, 1, whole(count));
        heights.iter_mut().for_each(|height| *height *= 30.0);
        let counts_nothing = (0..whole(count)).filter(|j| *j >= count || j % 7 == 3);
        counts_nothing.for_each(|j| heights[j] = f64::NEG_INFINITY);
        (columns, heights, (1..=dim).map(|k| k as f64 / 3.0).collect())
    }

    fn plain(similarity: Similarity, square: f64) -> f64 {
        match similarity {
            Similarity::Gaussian => (-square / 2.0).exp(),
            Similarity::Laplace => (-square.sqrt()).exp(),
            Similarity::InverseQuadratic => 1.0 / (1.0 + square),
        }
    }

    #[test]
    fn sums_are_those_of_the_formula() {
        for (count, dim) in [(1, 1), (9, 2), (255, 3), (700, 5)] {
            let (columns, heights, factors) = crowd(count, dim);
            let size = heights.len();
            for similarity in KINDS {
                let crowd = Crowd { columns: &columns, heights: &heights, factors: &factors, similarity };
                for point in random_rows(5, 4, dim).chunks_exact(dim) {
                    let mut sums = vec![f64::NAN; dim];
                    let seen = crowd.seen_from(point, &mut sums);
                    let counts = |j: usize| {
                        let square =
                            (0..dim).map(|k| factors[k] * (point[k] - columns[k * size + j]).powi(2)).sum::<f64>();
                        heights[j].exp() * plain(similarity, square)
                    };
                    let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * (a.abs() + b.abs());
                    let mass: f64 = (0..size).map(counts).sum();
                    assert!(close(seen.shift.exp() * seen.mass, mass), "{count} points, {dim}-D, {similarity:?}");
                    for (k, sum) in sums.iter().enumerate() {
                        let expected: f64 = (0..size).map(|j| counts(j) * columns[k * size + j]).sum();
                        let size: f64 = (0..size).map(|j| (counts(j) * columns[k * size + j]).abs()).sum();
                        assert!((seen.shift.exp() * sum - expected).abs() <= 1e-12 * size, "coordinate {k}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_too_far_to_be_seen_and_nothing_that_counts_nothing_is() {
        let far = |heights: &[f64]| {
            let columns = [vec![1e4; 4], vec![3e4; 4]].concat();
            let crowd = Crowd { columns: &columns, heights, factors: &[1.0], similarity: Similarity::Gaussian };
            let mut sum = [0.0];
            (crowd.seen_from(&[0.0], &mut sum), sum[0])
        };
        let (seen, sum) = far(&[0.0; 8]);
        assert_eq!((seen.shift, seen.mass, sum), (-0.5e8, 4.0, 4e4));
        let (seen, sum) = far(&[f64::NEG_INFINITY; 8]);
        assert_eq!((seen.mass, sum), (0.0, 0.0));
    }

    #[test]
    fn every_instruction_set_gives_the_same_bits() {
        let (columns, heights, factors) = crowd(701, 11);
        for similarity in KINDS {
            let results = available().into_iter().map(|set| {
                let crowd = Crowd { columns: &columns, heights: &heights, factors: &factors, similarity };
                let mut sums = vec![0.0; 11];
                let seen = run_on(set, Look { crowd, point: &[0.1; 11], sums: &mut sums });
                (seen, sums)
            });
            let results: Vec<_> = results.collect();
            assert!(results.windows(2).all(|pair| pair[0] == pair[1]), "{similarity:?}");
        }
    }
}
