//! The normals of several runs at once, which are at steps of their own: those of one run in each lane.

use super::{Noise, Rounds, on_circle, radius, words};
use crate::simd::{Vector, Words};

/// Calls of the generator whose words, radii and normals take turns in the first-level cache.
const CALLS: usize = 16;

/// What is done with the normals of four neighbouring coordinates. (A closure would not be compiled for the instruction set.)
pub(crate) trait TakesNormals<V> {
    /// Takes those of a particle and a block of its coordinates.
    fn take(&mut self, place: (usize, usize), normals: [V; 4]);
}

/// The generators of the runs in the lanes of `V`.
pub(crate) struct NormalsAbreast<V: Vector> {
    /// Of sixteen runs, or twice of the same eight, which then serve two calls at once.
    rounds: [Rounds<V::Words>; 2],
}

impl<V: Vector> NormalsAbreast<V> {
    /// Generators that draw the noise of each lane.
    #[inline(always)]
    pub fn new(noises: &[Noise]) -> Self {
        let mut groups = [[noises[0]; 8]; 2];
        for (i, noise) in groups.as_flattened_mut().iter_mut().enumerate() {
            *noise = noises[i % V::LANES];
        }
        Self { rounds: [Rounds::of_lanes(&groups[0]), Rounds::of_lanes(&groups[1])] }
    }

    /// Hands over the normals of coordinates 4 `block` to 4 `block` + 3 of each particle, for all `blocks` of them and all `particles`, in
    /// this order.
    #[inline(always)]
    pub fn each(&self, particles: usize, blocks: usize, to: &mut impl TakesNormals<V>) {
        let calls = particles * blocks;
        let together = 16 / V::LANES;
        let mut room = [V::constant(0.0); 4 * CALLS];
        let (mut drawn, mut used) = ((0, 0), (0, 0));
        for first in (0..calls).step_by(CALLS) {
            for call in (0..CALLS.min(calls - first)).step_by(together) {
                let one = drawn;
                drawn = after(drawn, blocks);
                let other = if together > 1 { drawn } else { one };
                if together > 1 {
                    drawn = after(drawn, blocks);
                }
                let (particle, block) = ([same(one.0), same(other.0)], [same(one.1), same(other.1)]);
                let groups = words([&self.rounds[0], &self.rounds[1]], particle, block);
                for j in 0..4 {
                    let sets = V::sets([groups[0][j], groups[1][j]]);
                    for set in 0..together {
                        room[4 * (call + set) + j] = V::from_bits(sets.as_ref()[set]);
                    }
                }
            }
            let room = &mut room[..4 * CALLS.min(calls - first)];
            for four in room.chunks_exact_mut(4) {
                (four[0], four[2]) = (radius(four[0]), radius(four[2]));
            }
            for four in room.chunks_exact(4) {
                let (z0, z1) = on_circle(four[0], four[1].to_bits());
                let (z2, z3) = on_circle(four[2], four[3].to_bits());
                to.take(used, [z0, z1, z2, z3]);
                used = after(used, blocks);
            }
        }
    }
}

/// The same word in every lane.
#[inline(always)]
fn same<W: Words>(word: usize) -> W {
    W::new([word as u64; 8])
}

/// The call after this one: its particle and its block.
#[inline(always)]
fn after((particle, block): (usize, usize), blocks: usize) -> (usize, usize) {
    if block + 1 == blocks { (particle + 1, 0) } else { (particle, block + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{Stream, padded, scratch_len};
    use crate::simd::{Kernel, Scalar, available, run_on};

    struct Drawn<'a>(&'a [Noise], usize, usize);

    impl<V: Vector> TakesNormals<V> for Vec<Vec<V::Scalar>> {
        fn take(&mut self, _place: (usize, usize), normals: [V; 4]) {
            for z in normals {
                let mut lanes = [V::Scalar::default(); 16];
                z.store(&mut lanes);
                self.iter_mut().zip(lanes).for_each(|(drawn, z)| drawn.push(z));
            }
        }
    }

    /// The normals of each lane, particle by particle.
    impl<T: Scalar> Kernel<T> for Drawn<'_> {
        type Output = Vec<Vec<T>>;
        #[inline(always)]
        fn run<V: Vector<Scalar = T>>(self) -> Vec<Vec<T>> {
            let Self(noises, particles, blocks) = self;
            let mut drawn = vec![Vec::new(); V::LANES];
            NormalsAbreast::<V>::new(noises).each(particles, blocks, &mut drawn);
            drawn
        }
    }

    #[test]
    fn each_lane_has_the_normals_of_its_run() {
        fn check<T: Scalar>(lanes: usize) {
            let noises: Vec<Noise> =
                (0..lanes as u64).map(|l| Noise::new((7 * l) << 30 | l, Stream::Diffusion, (3 * l) << 20)).collect();
            for set in available() {
                for (particles, dim) in [(1, 1usize), (7, 4), (40, 4), (5, 9), (33, 12)] {
                    let drawn: Vec<Vec<T>> = run_on(set, Drawn(&noises, particles, dim.div_ceil(4)));
                    for (noise, drawn) in noises.iter().zip(&drawn) {
                        let mut alone = vec![T::default(); scratch_len(particles, dim)];
                        run_on(set, noise.normals(0, particles, dim, &mut alone));
                        assert_eq!(drawn[..], alone[..particles * padded(dim)], "{set}, {particles} of {dim}");
                    }
                }
            }
        }
        check::<f32>(16);
        check::<f64>(8);
    }
}
