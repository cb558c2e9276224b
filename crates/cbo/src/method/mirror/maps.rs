//! The mirror maps, and their inverses for the initial positions.

use super::Mirror;
use crate::bounds::Walls;
use crate::simd::{Kernel, Scalar, Vector};

/// Initial positions keep this distance from the boundary of the set, as a fraction of its size: on it dual points are infinite.
const MARGIN: f64 = 0.01;

impl Mirror {
    /// Makes a point the dual of the nearest one, more or less, that lies well inside the set.
    pub(super) fn to_dual(self, bounds: &[(f64, f64)], point: &mut [f64]) {
        match self {
            Self::Box => {
                for (x, (low, high)) in point.iter_mut().zip(bounds) {
                    let share = ((*x - low) / (high - low)).clamp(MARGIN, 1.0 - MARGIN);
                    *x = 0.25 * (high - low) * libm::log(share / (1.0 - share));
                }
            }
            Self::Simplex { temperature } => {
                let least = MARGIN / point.len() as f64;
                let most = point.iter().copied().fold(0.0, f64::max);
                // Proportions, as those of points of the simplex are; far outside of it only they count.
                let scale = if most > 1.0 { most } else { 1.0 };
                point.iter_mut().for_each(|x| *x = temperature * libm::log((*x / scale).max(least)));
            }
            // Of a point in the ball the dual is the point itself; one outside would hold its particle to the sphere for as long as it takes to
            // come back.
            Self::Ball { radius, centre } => into_ball_of(radius, centre, point),
            Self::Sparse { threshold } => {
                for x in point.iter_mut().filter(|x| **x != 0.0) {
                    *x += threshold.copysign(*x);
                }
            }
        }
    }
}

/// Brings a point into the ball, along the ray from its centre.
pub(super) fn into_ball_of(radius: f64, centre: f64, point: &mut [f64]) {
    let norm = point.iter().map(|x| (x - centre).powi(2)).sum::<f64>().sqrt();
    let most = radius * within::<f64>(point.len(), centre / radius);
    if norm > most {
        point.iter_mut().for_each(|x| *x = centre + (*x - centre) * (most / norm));
    }
}

/// By what a vector of length one must be shortened for its rounded coordinates, moved by `centre` each, to be no longer than one: its length
/// is the root of a sum of `dim` squares, which may be wrong by half a rounding for each of them in a lane, and that of who checks it, in
/// double precision, is another one.
pub(super) fn within<T: Scalar>(dim: usize, centre: f64) -> f64 {
    let rounding = if size_of::<T>() == 4 { f64::from(f32::EPSILON) } else { f64::EPSILON };
    let dim = dim as f64;
    // Sixteen lanes in single precision, eight in double.
    let lanes = if size_of::<T>() == 4 { 16.0 } else { 8.0 };
    1.0 - rounding * (8.0 + dim / lanes + 2.0 * centre.abs() * dim.sqrt()) - f64::EPSILON * (8.0 + dim)
}

/// Writes the image of a dual point to the row of a particle.
pub(super) struct Place<'a, T> {
    pub map: &'a Mirror,
    pub walls: Option<&'a Walls<T>>,
    pub dual: &'a [T],
    pub row: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Place<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self { map, walls, dual, row } = self;
        match (*map, walls) {
            (Mirror::Box, Some(walls)) => into_box::<V>(walls.sides(), dual, row),
            (Mirror::Box, None) => row.copy_from_slice(dual), // refused before the run
            (Mirror::Simplex { temperature }, _) => to_simplex::<V>(temperature, dual, row),
            (Mirror::Ball { radius, centre }, _) => into_ball::<V>(radius, centre, dual, row),
            (Mirror::Sparse { threshold }, _) => to_sparse::<V>(threshold, dual, row),
        }
    }
}

/// `low + (high - low) / (1 + exp(-4 y / (high - low)))`, from the nearer wall so that nothing cancels.
#[inline(always)]
fn into_box<V: Vector>((low, high): (&[V::Scalar], &[V::Scalar]), dual: &[V::Scalar], row: &mut [V::Scalar]) {
    let (zero, one) = (V::constant(0.0), V::constant(1.0));
    let sides = low.chunks(V::LANES).zip(high.chunks(V::LANES));
    for ((x, y), (low, high)) in row.chunks_mut(V::LANES).zip(dual.chunks(V::LANES)).zip(sides) {
        let (y, low, high) = (V::load_partial(y), V::load_partial(low), V::load_partial(high));
        let width = high - low;
        let power = (y.abs() * -4.0 / width).exp();
        let step = width * (power / (power + one));
        // The lanes beyond the end have no width, and are not stored.
        let placed = y.select_less(zero, low + step, high - step);
        placed.max(low).min(high).store_partial(x);
    }
}

/// `exp(y / temperature)`, divided by its sum; of the differences from the largest, so that nothing overflows.
#[inline(always)]
fn to_simplex<V: Vector>(temperature: f64, dual: &[V::Scalar], row: &mut [V::Scalar]) {
    let largest = dual.iter().copied().fold(dual[0], |a, b| if b > a { b } else { a });
    let (largest, scale) = (V::splat(largest), V::constant(1.0 / temperature));
    let mut sum = V::constant(0.0);
    for (x, y) in row.chunks_mut(V::LANES).zip(dual.chunks(V::LANES)) {
        ((V::load_partial(y) - largest) * scale).exp().store_partial(x);
        sum = sum + V::load_partial(x);
    }
    let sum = V::splat(sum.sum());
    for x in row.chunks_mut(V::LANES) {
        (V::load_partial(x) / sum).store_partial(x);
    }
}

/// y, or the point of the sphere towards it.
#[inline(always)]
fn into_ball<V: Vector>(radius: f64, centre: f64, dual: &[V::Scalar], row: &mut [V::Scalar]) {
    let mut square = V::constant(0.0);
    for (x, y) in row.chunks_mut(V::LANES).zip(dual.chunks(V::LANES)) {
        (V::load_partial(y) - centre).store_partial(x);
        let far = V::load_partial(x);
        square = far.mul_add(far, square);
    }
    let most = radius * within::<V::Scalar>(dual.len(), centre / radius);
    let norm = square.sum().to_f64().sqrt();
    let factor = V::constant(if norm > most { most / norm } else { 1.0 });
    for x in row.chunks_mut(V::LANES) {
        (V::load_partial(x) * factor + centre).store_partial(x);
    }
}

/// `sign(y) max(|y| - threshold, 0)`.
#[inline(always)]
fn to_sparse<V: Vector>(threshold: f64, dual: &[V::Scalar], row: &mut [V::Scalar]) {
    let (most, least) = (V::constant(threshold), V::constant(-threshold));
    for (x, y) in row.chunks_mut(V::LANES).zip(dual.chunks(V::LANES)) {
        let y = V::load_partial(y);
        (y - y.min(most).max(least)).store_partial(x);
    }
}
