//! What is computed for all lanes at once. A number is a row of lanes: number k of particle p is at `(p * dim + k) * LANES`.

use crate::bounds::{BoundHandling, Walls, reflect};
use crate::noise::{Noise, NormalsAbreast, TakesNormals};
use crate::simd::{Kernel, Scalar, Vector};
use crate::weights::{ZERO_BELOW, weights};

/// Lanes of vectors of double precision, on every instruction set.
pub(super) const DOUBLES: usize = 8;

/// The anisotropic move: V+ = v_a + X (keep + noise xi), of all particles, each lane with a centre, an amplitude and normals of its own.
pub(super) struct Step<'a, T> {
    /// Of each lane.
    pub noises: &'a [Noise],
    pub keep: &'a [T],
    pub noise: &'a [T],
    /// Below this, coordinates become zero.
    pub tiny: &'a [T],
    /// A row for each coordinate.
    pub centres: &'a [T],
    pub walls: Option<&'a Walls<T>>,
    pub positions: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Step<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Self { noises, keep, noise, tiny, centres, walls, positions } = self;
        let dim = centres.len() / V::LANES;
        let particles = positions.len() / centres.len();
        let (keep, noise) = (V::load(keep), V::load(noise));
        let mut mover = Mover { keep, noise, centres, positions };
        NormalsAbreast::<V>::new(noises).each(particles, dim.div_ceil(4), &mut mover);
        let positions = mover.positions;
        if tiny.iter().any(|tiny| *tiny > T::default()) {
            let (tiny, zero) = (V::load(tiny), V::constant(0.0));
            for x in positions.chunks_exact_mut(V::LANES) {
                let here = V::load(x);
                here.abs().select_less(tiny, zero, here).store(x);
            }
        }
        if let Some(walls) = walls {
            for particle in positions.chunks_exact_mut(dim * V::LANES) {
                confine::<V>(walls, particle);
            }
        }
    }
}

struct Mover<'a, V: Vector> {
    keep: V,
    noise: V,
    centres: &'a [V::Scalar],
    positions: &'a mut [V::Scalar],
}

impl<V: Vector> TakesNormals<V> for Mover<'_, V> {
    #[inline(always)]
    fn take(&mut self, (particle, block): (usize, usize), normals: [V; 4]) {
        let (size, first) = (self.centres.len(), 4 * block * V::LANES);
        let rows = self.positions[particle * size..][first..size].chunks_exact_mut(V::LANES);
        for ((x, centre), xi) in rows.zip(self.centres[first..].chunks_exact(V::LANES)).zip(normals) {
            let centre = V::load(centre);
            (V::load(x) - centre).mul_add(self.noise.mul_add(xi, self.keep), centre).store(x);
        }
    }
}

/// Brings one particle of each lane inside.
#[inline(always)]
fn confine<V: Vector>(walls: &Walls<V::Scalar>, particle: &mut [V::Scalar]) {
    let (zero, one) = (V::constant(0.0), V::constant(1.0));
    let (low, high) = walls.sides();
    for ((row, low), high) in particle.chunks_exact_mut(V::LANES).zip(low).zip(high) {
        let (x, l, h) = (V::load(row), V::splat(*low), V::splat(*high));
        // As a row of coordinates is brought inside: not a number for lanes that are none.
        let outside = x.select_less(l, one, h.select_less(x, one, zero)) + x * 0.0;
        if outside.all_less(one) {
            continue;
        }
        if walls.handling() == BoundHandling::Clip {
            x.max(l).min(h).store(row);
        } else {
            row.iter_mut().for_each(|x| *x = V::Scalar::from_f64(reflect(x.to_f64(), low.to_f64(), high.to_f64())));
        }
    }
}

/// The least energy of eight lanes, and all their energies in double precision. Says whether these are finite; if they are not, the least
/// one may be wrong.
pub(super) struct Least<'a, T> {
    /// A row for each particle, with so many numbers, of which eight are meant.
    pub energies: &'a [T],
    pub lanes: usize,
    pub first: usize,
    /// A row for each particle, of the eight.
    pub doubles: &'a mut [f64],
    pub least: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Least<'_, T> {
    type Output = bool;

    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> bool {
        let zero = V::splat(0.0);
        let (mut least, mut check) = (V::splat(f64::INFINITY), zero);
        for (row, out) in self.energies.chunks_exact(self.lanes).zip(self.doubles.chunks_exact_mut(DOUBLES)) {
            let e: V = T::widened(&row[self.first..]);
            e.store(out);
            // 0 times a number is 0 exactly if the number is finite, else NaN; and NaN stays.
            check = e.mul_add(zero, check);
            least = e.min(least);
        }
        least.store(self.least);
        check.abs().all_less(V::splat(1.0))
    }
}

/// Points as their function wants them: less one row for each coordinate, and another one added.
pub(super) struct Shift<'a, T> {
    pub from: &'a [T],
    pub less: &'a [T],
    pub plus: &'a [T],
    pub to: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Shift<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let size = self.less.len();
        for (from, to) in self.from.chunks_exact(size).zip(self.to.chunks_exact_mut(size)) {
            for at in (0..size).step_by(V::LANES) {
                ((V::load(&from[at..]) - V::load(&self.less[at..])) + V::load(&self.plus[at..])).store(&mut to[at..]);
            }
        }
    }
}

/// The sums of a block of particles in eight lanes, from energies and their least ones: the mass, and the moment or, of an `only` block, the
/// consensus point.
pub(super) struct Sums<'a, T> {
    pub only: bool,
    /// A row for each particle, of the eight.
    pub energies: &'a [f64],
    pub least: &'a [f64],
    pub minus_alpha: &'a [f64],
    /// A row for each number, of all lanes.
    pub positions: &'a [T],
    pub lanes: usize,
    pub first: usize,
    /// Room for the weights: a row for each particle.
    pub weights: &'a mut [f64],
    pub mass: &'a mut [f64],
    /// A row for each coordinate.
    pub moment: &'a mut [f64],
}

impl<T: Scalar> Kernel<f64> for Sums<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(mut self) {
        let (least, minus_alpha) = (V::load(self.least), V::load(self.minus_alpha));
        // Particle i adds to sum i modulo 8, as it does in lane i of a vector.
        let mut masses = [V::splat(0.0); DOUBLES];
        let rows = self.energies.chunks_exact(DOUBLES).zip(self.weights.chunks_exact_mut(DOUBLES));
        for (i, (energies, out)) in rows.enumerate() {
            let energies = V::load(energies);
            let mut w = V::splat(0.0);
            if !((energies - least) * minus_alpha).all_less(V::splat(ZERO_BELOW)) {
                w = weights(minus_alpha, least, energies);
                masses[i % DOUBLES] = masses[i % DOUBLES] + w;
            }
            w.store(out);
        }
        // The tree of `Vector::sum`.
        for half in [4, 2, 1] {
            for i in 0..half {
                masses[i] = masses[i] + masses[i + half];
            }
        }
        masses[0].store(self.mass);
        let divisor = if self.only { masses[0] } else { V::splat(1.0) };
        let (mut from, dim) = (0, self.moment.len() / DOUBLES);
        while from < dim {
            from += match dim - from {
                4.. => self.columns::<V, 4>(from, divisor),
                2.. => self.columns::<V, 2>(from, divisor),
                _ => self.columns::<V, 1>(from, divisor),
            };
        }
    }
}

impl<T: Scalar> Sums<'_, T> {
    /// Some neighbouring coordinates, whose sums stay in registers. Their number.
    #[inline(always)]
    fn columns<V: Vector<Scalar = f64>, const COLUMNS: usize>(&mut self, from: usize, divisor: V) -> usize {
        let (lanes, zero) = (self.lanes, V::splat(0.0));
        let mut sums = [zero; COLUMNS];
        let particles = self.positions.chunks_exact(self.moment.len() / DOUBLES * lanes);
        for (particle, w) in particles.zip(self.weights.chunks_exact(DOUBLES)) {
            let (rows, w) = (&particle[from * lanes..], V::load(w));
            for k in 0..COLUMNS {
                let x: V = T::widened(&rows[k * lanes + self.first..]);
                // Weights of zero add nothing, not even the sign of a zero.
                sums[k] = zero.select_less(w, x.mul_add(w, sums[k]), sums[k]);
            }
        }
        for (k, moment) in self.moment[from * DOUBLES..].chunks_exact_mut(DOUBLES).enumerate().take(COLUMNS) {
            (sums[k] / divisor).store(moment);
        }
        COLUMNS
    }
}
