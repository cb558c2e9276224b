//! Isotropic noise: all coordinates of a particle by its distance from the consensus point.

use super::tiles::update;
use crate::method::Motion;
use crate::simd::Vector;

/// V+ = v_a + drift X + noise ||X|| xi.
#[inline(always)]
pub(crate) fn isotropic<V: Vector>(
    motion: &Motion<V::Scalar>,
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
    amplitudes: &mut [V::Scalar],
) {
    if is_wide::<V>(motion.dim) {
        wide::<V>(motion, rows, normals);
    } else {
        narrow::<V>(motion, rows, normals, amplitudes);
    }
}

/// Short rows that do not fill their vectors are better taken several at a time.
#[inline(always)]
fn is_wide<V: Vector>(dim: usize) -> bool {
    dim.is_multiple_of(V::LANES) || dim > NARROW * V::LANES
}

/// The same with a centre for each row: of the same centre it makes the same bits.
#[inline(always)]
pub(crate) fn isotropic_apart<V: Vector>(
    motion: &Motion<V::Scalar>,
    centres: &[V::Scalar],
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
) {
    let (dim, drift) = (motion.dim, V::splat(motion.keep));
    let others = centres.chunks_exact(dim).zip(normals.chunks_exact(dim));
    for (row, (centre, xi)) in rows.chunks_exact_mut(dim).zip(others) {
        let norm = if is_wide::<V>(dim) { wide_norm::<V>(row, centre) } else { norm_of::<V>(row, centre) };
        let noise = norm * V::splat(motion.noise);
        update!(V, row, xi, centre, |x, xi, centre| noise.mul_add(xi, (x - centre).mul_add(drift, centre)));
    }
}

/// The isotropic move, one row after another.
#[inline(always)]
fn wide<V: Vector>(motion: &Motion<V::Scalar>, rows: &mut [V::Scalar], normals: &[V::Scalar]) {
    let dim = motion.dim;
    let centre = &motion.centres[..dim];
    let drift = V::splat(motion.keep);
    for (row, xi) in rows.chunks_exact_mut(dim).zip(normals.chunks_exact(dim)) {
        let noise = wide_norm::<V>(row, centre) * V::splat(motion.noise);
        update!(V, row, xi, centre, |x, xi, centre| noise.mul_add(xi, (x - centre).mul_add(drift, centre)));
    }
}

/// The distance of a row from its centre, in all lanes.
#[inline(always)]
fn wide_norm<V: Vector>(row: &[V::Scalar], centre: &[V::Scalar]) -> V {
    let mut square = V::constant(0.0);
    let (full, full_centre) = (row.chunks_exact(V::LANES), centre.chunks_exact(V::LANES));
    let rest = V::load_partial(full.remainder()) - V::load_partial(full_centre.remainder());
    for (x, c) in full.zip(full_centre) {
        let x = V::load(x) - V::load(c);
        square = x.mul_add(x, square);
    }
    V::splat(rest.mul_add(rest, square).sum()).sqrt()
}

/// Lanes of the widest vector.
const MOST_LANES: usize = 16;

/// Rows of up to this many vectors are narrow.
const NARROW: usize = 3;

/// Room for the amplitudes of the rows of a pattern, the last of which may be written beyond its end by less than a vector.
pub(crate) const AMPLITUDES: usize = NARROW * MOST_LANES * 16 + MOST_LANES;

/// The isotropic move of narrow rows: `noise ||X||` for each coordinate first, then the move coordinate by coordinate, vectors
/// running across rows.
#[inline(always)]
fn narrow<V: Vector>(
    motion: &Motion<V::Scalar>,
    rows: &mut [V::Scalar],
    normals: &[V::Scalar],
    amplitudes: &mut [V::Scalar],
) {
    let (dim, drift) = (motion.dim, V::splat(motion.keep));
    let noise = V::splat(motion.noise);
    let (pattern, centre) = (motion.centres.len(), &motion.centres[..dim]);
    for (rows, normals) in rows.chunks_mut(pattern).zip(normals.chunks(pattern)) {
        let together = rows.chunks_exact(V::LANES * dim);
        let (alone, mut at) = (together.remainder(), 0);
        for rows in together {
            let mut each = [V::Scalar::default(); MOST_LANES];
            (norms_of::<V>(rows, centre) * noise).store(&mut each);
            for amplitude in &each[..V::LANES] {
                repeat::<V>(*amplitude, &mut amplitudes[at..], dim);
                at += dim;
            }
        }
        for row in alone.chunks_exact(dim) {
            let mut each = [V::Scalar::default(); MOST_LANES];
            (norm_of::<V>(row, centre) * noise).store(&mut each);
            repeat::<V>(each[0], &mut amplitudes[at..], dim);
            at += dim;
        }
        let amplitudes = amplitudes[..rows.len()].chunks_exact(V::LANES);
        let last = V::load_partial(amplitudes.remainder());
        let (normals, centres) = (normals[..rows.len()].chunks_exact(V::LANES), motion.centres.chunks_exact(V::LANES));
        let (last_xi, last_centre) =
            (V::load_partial(normals.remainder()), &motion.centres[rows.len() / V::LANES * V::LANES..]);
        let mut rows = rows.chunks_exact_mut(V::LANES);
        for (((x, xi), amplitude), c) in rows.by_ref().zip(normals).zip(amplitudes).zip(centres) {
            let c = V::load(c);
            let drifted = (V::load(x) - c).mul_add(drift, c);
            V::load(amplitude).mul_add(V::load(xi), drifted).store(x);
        }
        let x = rows.into_remainder();
        if !x.is_empty() {
            let c = V::load_partial(&last_centre[..x.len()]);
            let drifted = (V::load_partial(x) - c).mul_add(drift, c);
            last.mul_add(last_xi, drifted).store_partial(x);
        }
    }
}

/// Writes `value` to the first `count` places of `to`, and perhaps to some more, less than a vector.
#[inline(always)]
fn repeat<V: Vector>(value: V::Scalar, to: &mut [V::Scalar], count: usize) {
    if count <= 4 {
        // Whole vectors would often straddle two cache lines.
        to[..4].fill(value);
        return;
    }
    for at in (0..count).step_by(V::LANES) {
        V::splat(value).store(&mut to[at..]);
    }
}

/// The distances of `LANES` rows from `centre`.
#[inline(always)]
fn norms_of<V: Vector>(rows: &[V::Scalar], centre: &[V::Scalar]) -> V {
    let mut square = V::constant(0.0);
    let mut block = [V::constant(0.0); MOST_LANES];
    for (first, centre) in (0..).step_by(V::LANES).zip(centre.chunks(V::LANES)) {
        V::load_transposed(&rows[first..], rows.len() / V::LANES, centre.len(), &mut block);
        for (x, c) in block.iter().zip(centre) {
            let x = *x - V::splat(*c);
            square = x.mul_add(x, square);
        }
    }
    square.sqrt()
}

/// The distance of one row, in all lanes, by the same operations: a row's norm must not depend on the other rows.
#[inline(always)]
pub(crate) fn norm_of<V: Vector>(row: &[V::Scalar], centre: &[V::Scalar]) -> V {
    let mut square = V::constant(0.0);
    for (x, c) in row.iter().zip(centre) {
        let x = V::splat(*x) - V::splat(*c);
        square = x.mul_add(x, square);
    }
    square.sqrt()
}
