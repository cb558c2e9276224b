//! Counter-based noise: Philox4x32-10 words and standard normals, pure functions of where they are used.
//!
//! A normal is determined by (seed, stream, step, particle, coordinate) and by nothing else: not by the number of
//! particles, the thread, the block, the instruction set or the order of evaluation. One call of the generator serves
//! four neighbouring coordinates of one particle:
//!
//! | counter word | holds |
//! |---|---|
//! | 0 | particle |
//! | 1 | coordinate / 4 |
//! | 2 | step, lower 32 bits |
//! | 3 | stream (upper 8 bits), step, bits 32 to 55 |
//!
//! The key is the seed. Words 0, 1 of a call give the normals of its first two coordinates by the Box-Muller transform,
//! words 2, 3 the other two: the first word of a pair is the radius, `r = sqrt(-2 ln((w + 1/2) / 2^32))`; of the second,
//! bits 0 to 29 are an angle in [-pi/4, pi/4), bit 30 exchanges sine and cosine, bit 31 flips the sign of the larger.
//!
//! The largest absolute value is `sqrt(66 ln 2) = 6.7637`: a normal beyond it has probability 1.3e-11. Single and double
//! precision use the same words, so their normals differ only by rounding.

mod abreast;

pub(crate) use abreast::{NormalsAbreast, TakesNormals};

use crate::simd::{Kernel, Scalar, Vector, Words, polynomial};

/// Multipliers and key increments of Philox4x32 (Salmon, Moraes, Dror and Shaw 2011, doi:10.1145/2063384.2063405).
const MULTIPLIERS: [u32; 2] = [0xD251_1F53, 0xCD9E_8D57];
const KEY_STEPS: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];

/// What random numbers are used for; each purpose has numbers of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[non_exhaustive]
pub enum Stream {
    /// Initial positions.
    Initial = 0,
    /// The diffusion term of the dynamics.
    Diffusion = 1,
    /// The stall kick.
    Kick = 2,
    /// Permutations that cut the swarm into particle batches.
    Permutation = 3,
    /// The choice of survivors when the swarm shrinks.
    Resampling = 4,
    /// For problems: shifts, rotations, samples.
    Problem = 5,
    /// The diffusion around what a particle remembers.
    Memory = 6,
    /// Everything random in the tuning-free solver.
    Auto = 7,
    /// The diffusion along the gradient.
    Gradient = 8,
    /// How many jumps a particle makes.
    JumpCount = 20,
    /// Where they take it.
    Jump = 21,
}

/// One call of Philox4x32-10: four random words from a counter and a key.
///
/// ```
/// // A known-answer vector of the Random123 library.
/// let words = cbo::noise::philox([0; 4], [0; 2]);
/// assert_eq!(words, [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
/// ```
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..10 {
        let p0 = u64::from(c0) * u64::from(MULTIPLIERS[0]);
        let p1 = u64::from(c2) * u64::from(MULTIPLIERS[1]);
        (c0, c1, c2, c3) = ((p1 >> 32) as u32 ^ c1 ^ k0, p1 as u32, (p0 >> 32) as u32 ^ c3 ^ k1, p0 as u32);
        (k0, k1) = (k0.wrapping_add(KEY_STEPS[0]), k1.wrapping_add(KEY_STEPS[1]));
    }
    [c0, c1, c2, c3]
}

/// The generator at one place in time: seed, stream and step fixed, particle and coordinate free.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    key: [u32; 2],
    high: [u32; 2],
}

impl Noise {
    /// The noise of `stream` at `step` (below 2^56).
    pub fn new(seed: u64, stream: Stream, step: u64) -> Self {
        let upper = ((step >> 32) as u32 & 0x00ff_ffff) | (stream as u32) << 24;
        Self { key: [seed as u32, (seed >> 32) as u32], high: [step as u32, upper] }
    }

    /// The key, and the words of the counter that say the step: for devices that compute the same normals.
    #[doc(hidden)]
    pub fn parts(&self) -> [[u32; 2]; 2] {
        [self.key, self.high]
    }

    /// The four random words of call `block` (coordinate / 4) of `particle`.
    pub fn words(&self, particle: u32, block: u32) -> [u32; 4] {
        philox([particle, block, self.high[0], self.high[1]], self.key)
    }

    /// Uniform numbers in (0, 1), of 32 random bits each, for coordinates 4 `block` to 4 `block` + 3 of a particle.
    pub fn uniforms(&self, particle: u32, block: u32) -> [f64; 4] {
        self.words(particle, block).map(|word| (f64::from(word) + 0.5) / 4294967296.0)
    }

    /// A whole number in 0 .. `bound`, its bias below bound / 2^64.
    pub fn below(&self, index: u32, bound: u64) -> u64 {
        let [a, b, ..] = self.words(index, 0);
        let word = u64::from(a) << 32 | u64::from(b);
        ((u128::from(word) * u128::from(bound)) >> 64) as u64
    }

    /// A uniformly random order of the numbers below `order.len()` (at most 2^32): Fisher and Yates, from the identity.
    pub fn permute(&self, order: &mut [u32]) {
        for (i, place) in order.iter_mut().enumerate() {
            *place = i as u32;
        }
        for i in (1..order.len()).rev() {
            order.swap(i, self.below(i as u32, i as u64 + 1) as usize);
        }
    }

    /// The normals of `rows` particles beginning with `first`, `dim` coordinates each, as rows of length
    /// [`padded`]`(dim)` in `out`, whose length must be at least [`scratch_len`]`(rows, dim)`.
    pub fn fill_normals<T: Scalar>(&self, first: u32, rows: usize, dim: usize, out: &mut [T]) {
        T::normals(*self, first, rows, dim, out);
    }

    /// [`fill_normals`](Self::fill_normals) as a kernel, to be run on a chosen instruction set or inside another kernel.
    pub fn normals<T: Scalar>(self, first: u32, rows: usize, dim: usize, out: &mut [T]) -> impl Kernel<T, Output = ()> {
        self.normals_meanwhile(first, rows, dim, out, &[])
    }

    /// [`normals`](Self::normals), with `meanwhile` brought into the cache piece by piece.
    pub(crate) fn normals_meanwhile<'a, T: Scalar>(
        self,
        first: u32,
        rows: usize,
        dim: usize,
        out: &'a mut [T],
        meanwhile: &'a [T],
    ) -> impl Kernel<T, Output = ()> {
        Normals { noise: self, first, block: 0, calls: rows * dim.div_ceil(4), dim, out, meanwhile }
    }

    /// The normals of some coordinates of one particle, those beside `meanwhile` from `from` on (a multiple of 4): a piece of a
    /// long row.
    pub(crate) fn piece_meanwhile<'a, T: Scalar>(
        self,
        particle: u32,
        from: usize,
        dim: usize,
        out: &'a mut [T],
        meanwhile: &'a [T],
    ) -> impl Kernel<T, Output = ()> {
        let calls = meanwhile.len().div_ceil(4);
        Normals { noise: self, first: particle, block: from as u64 / 4, calls, dim, out, meanwhile }
    }
}

/// The row length of a block of normals: `dim` rounded up to whole calls of the generator.
pub fn padded(dim: usize) -> usize {
    dim.div_ceil(4) * 4
}

/// The buffer length that `rows` rows of normals need: whole chunks of 64.
pub fn scratch_len(rows: usize, dim: usize) -> usize {
    (rows * padded(dim)).div_ceil(64) * 64
}

struct Normals<'a, T> {
    noise: Noise,
    first: u32,
    /// The first call of that particle.
    block: u64,
    calls: usize,
    dim: usize,
    out: &'a mut [T],
    meanwhile: &'a [T],
}

impl<T: Scalar> Kernel<T> for Normals<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let blocks = self.dim.div_ceil(4) as u32;
        let chunks = self.calls.div_ceil(16);
        // Lane i of group g serves call 8 g + i of a chunk; the next chunk's calls lie 16 further on.
        let (mut particles, mut blocks_of) = ([0u64; 16], [0u64; 16]);
        let (mut at, mut block) = (u64::from(self.first), self.block);
        for (p, b) in particles.iter_mut().zip(&mut blocks_of) {
            (*p, *b) = (at, block);
            block += 1;
            if block == u64::from(blocks) {
                (at, block) = (at + 1, 0);
            }
        }
        let group = |lanes: &[u64; 16], start: usize| V::Words::new(std::array::from_fn(|i| lanes[start + i]));
        let mut particle = [group(&particles, 0), group(&particles, 8)];
        let mut block = [group(&blocks_of, 0), group(&blocks_of, 8)];
        let mut upcoming = self.meanwhile.chunks_exact(2 * V::LANES);
        let rounds = Rounds::<V::Words>::new(self.noise);
        let distance = (16 / blocks, 16 % blocks);
        // Words, then radii, then normals, each in place of what came before: three tight loops whose constants fit
        // the registers and whose iterations overlap run faster than one long loop.
        for part in self.out[..chunks * 64].chunks_mut(512) {
            for chunk in part.chunks_exact_mut(64) {
                let words = words([&rounds; 2], particle, block);
                for g in 0..2 {
                    (particle[g], block[g]) = V::Words::next_calls(particle[g], block[g], distance, blocks);
                }
                for j in 0..4 {
                    for (set, bits) in V::sets([words[0][j], words[1][j]]).as_ref().iter().enumerate() {
                        V::from_bits(*bits).store(&mut chunk[(4 * set + j) * V::LANES..]);
                    }
                }
            }
            for pair in part.chunks_exact_mut(2 * V::LANES) {
                radius(V::load(pair)).store(pair);
                if let Some(lines) = upcoming.next() {
                    V::prefetch(lines);
                    V::prefetch(&lines[V::LANES..]);
                }
            }
            for four in part.chunks_exact_mut(4 * V::LANES) {
                let at = |j: usize| V::load(&four[j * V::LANES..]);
                let (z0, z1) = on_circle(at(0), at(1).to_bits());
                let (z2, z3) = on_circle(at(2), at(3).to_bits());
                V::store_interleaved([z0, z1, z2, z3], four);
            }
        }
    }
}

/// The ten rounds for eight calls at once, with everything in them that is the same for all calls of a step.
#[derive(Clone, Copy)]
struct Rounds<W> {
    /// The keys of the first round, with the words in them that do not depend on the call.
    first: [W; 2],
    /// The word of the first round that does not depend on the call.
    constant: W,
    /// The keys of the other rounds, and zeros.
    keys: [[W; 2]; 10],
}

impl<W: Words> Rounds<W> {
    #[inline(always)]
    fn new(noise: Noise) -> Self {
        Self::of_lanes(&[noise; 8])
    }

    /// Calls of different noises, one in each lane.
    #[inline(always)]
    fn of_lanes(noises: &[Noise; 8]) -> Self {
        let word = |of: fn(&Noise) -> u32| W::new(noises.each_ref().map(|noise| u64::from(of(noise))));
        let key = |index: usize, round: u32| {
            let steps = KEY_STEPS[index].wrapping_mul(round);
            W::new(noises.each_ref().map(|noise| u64::from(noise.key[index].wrapping_add(steps))))
        };
        let product = word(|noise| noise.high[0]).multiply_low(MULTIPLIERS[1]);
        let mut keys = [[W::new([0; 8]); 2]; 10];
        for (round, pair) in (1..10).zip(&mut keys) {
            *pair = [key(0, round), key(1, round)];
        }
        let high = word(|noise| noise.high[1]);
        Self { first: [product.high().xor(key(0, 0)), high.xor(key(1, 0))], constant: product, keys }
    }
}

/// The four words of each call, for two groups of eight. Upper halves of lanes hold leftovers, which no operation looks at.
#[inline(always)]
fn words<W: Words>(rounds: [&Rounds<W>; 2], particle: [W; 2], block: [W; 2]) -> [[W; 4]; 2] {
    let mut groups = [[particle[0]; 4]; 2];
    for g in 0..2 {
        let p0 = particle[g].multiply_low(MULTIPLIERS[0]);
        let Rounds { first, constant, .. } = rounds[g];
        groups[g] = [block[g].xor(first[0]), *constant, p0.high().xor(first[1]), p0];
    }
    if W::THREE_AT_ONCE {
        // The groups in turns: each waits for its multiplications.
        for round in 0..9 {
            for g in 0..2 {
                let ([k0, k1], c) = (rounds[g].keys[round], &mut groups[g]);
                let (p0, p1) = (c[0].multiply_low(MULTIPLIERS[0]), c[2].multiply_low(MULTIPLIERS[1]));
                *c = [p1.high().xor3(c[1], k0), p1, p0.high().xor3(c[3], k1), p0];
            }
        }
    } else {
        // One group after another, because there are few registers, with a round's keys added a round earlier, which shortens the
        // path from one multiplication to the next.
        for g in 0..2 {
            let (keys, c) = (&rounds[g].keys, &mut groups[g]);
            (c[1], c[3]) = (c[1].xor(keys[0][0]), c[3].xor(keys[0][1]));
            for [k0, k1] in &keys[1..] {
                let (p0, p1) = (c[0].multiply_low(MULTIPLIERS[0]), c[2].multiply_low(MULTIPLIERS[1]));
                *c = [p1.high().xor(c[1]), p1.xor(*k0), p0.high().xor(c[3]), p0.xor(*k1)];
            }
        }
    }
    groups
}

// The polynomials need not be finer than the words that they transform, which are multiples of 2^-32 = 2.3e-10.

/// -2 ln(1 + x)/x on [sqrt(1/2) - 1, sqrt(2) - 1]; error 2.7e-10 (f64) and 6.9e-8 (f32).
const RADIUS_F64: [f64; 12] = [
    -2.000000000096024,
    1.0000000061691077,
    -0.6666666169256104,
    0.49999873171629633,
    -0.4000033927588508,
    0.3334076730475459,
    -0.28567596790540506,
    0.24821771331922843,
    -0.22085472079438018,
    0.21796225155754365,
    -0.21273084751159907,
    0.11691342670179275,
];
const RADIUS_F32: [f64; 9] = [
    -1.9999999482621342,
    0.9999999276424778,
    -0.6666838657227016,
    0.5000270437099212,
    -0.399118667167665,
    0.33155985793597725,
    -0.2995480256025475,
    0.28538516412437664,
    -0.17066626165992305,
];
/// sin(pi t/4)/t and cos(pi t/4) in t^2, |t| <= 1; errors 3.4e-12 and 4.8e-11 (f64), 2.4e-9 and 2.8e-8 (f32).
const SINE_F64: [f64; 5] =
    [0.78539816339405, -0.08074551201834942, 0.002490393210175957, -3.657239263067379e-05, 3.089966866337448e-07];
const COSINE_F64: [f64; 5] =
    [0.9999999999524894, -0.30842513515829056, 0.015854325228444592, -0.00032593858594162623, 3.5297971342978537e-06];
const SINE_F32: [f64; 4] = [0.7853981609766183, -0.08074543470810147, 0.0024900068014923568, -3.595429072511075e-05];
const COSINE_F32: [f64; 4] = [0.9999999723284944, -0.3084242518553728, 0.01584991070640911, -0.000318877474890599];

/// The polynomials of the radius, the sine and the cosine, for devices that compute the same normals.
#[doc(hidden)]
pub fn polynomials<T: Scalar>() -> [&'static [f64]; 3] {
    if T::NAME == "f64" { [&RADIUS_F64, &SINE_F64, &COSINE_F64] } else { [&RADIUS_F32, &SINE_F32, &COSINE_F32] }
}

/// sqrt(-2 ln u) with u = (word + 1/2) / 2^32, for the word in each lane.
#[inline(always)]
fn radius<V: Vector>(word: V) -> V {
    let (mantissa, exponent) = V::from_unsigned(word.to_bits()).split();
    let x = mantissa - 1.0;
    let two_ln2 = 2.0 * std::f64::consts::LN_2;
    let whole = exponent.mul_add(V::constant(-two_ln2), V::constant(32.0 * two_ln2));
    let part = if V::LANES == 8 { polynomial(&RADIUS_F64, x) } else { polynomial(&RADIUS_F32, x) };
    part.mul_add(x, whole).quick_sqrt()
}

/// The two coordinates of the point on the circle of radius `r` at the angle that `word` says: independent standard
/// normals if `r` is a [`radius`].
#[inline(always)]
fn on_circle<V: Vector>(r: V, word: V::Bits) -> (V, V) {
    let t = V::from_signed30(word) * (1.0 / 536870912.0);
    let t2 = t * t;
    let (sine, cosine) = if V::LANES == 8 {
        (polynomial(&SINE_F64, t2) * t, polynomial(&COSINE_F64, t2))
    } else {
        (polynomial(&SINE_F32, t2) * t, polynomial(&COSINE_F32, t2))
    };
    let (a, b) = V::exchange(word, cosine.flip_sign(word), sine);
    (r * a, r * b)
}
