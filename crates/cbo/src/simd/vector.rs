//! `Vector`, `Words` and `Scalar`: what a SIMD backend provides beyond the arithmetic of `Real`.

use super::set::{InstructionSet, Kind};
use super::{Kernel, Real, portable};
use std::fmt::{Debug, Display, LowerExp};

/// A vector of `LANES` numbers.
pub trait Vector: Real {
    /// The number type of a lane.
    type Scalar: Scalar;
    /// Lanes of 32-bit random words, one to a lane.
    type Bits: Copy;
    /// The integer lanes in which the generator works.
    type Words: Words;
    /// Random words for the 16 calls of a chunk: 2 x 8 lanes (`f64`) or 1 x 16 lanes (`f32`).
    type Sets: AsRef<[Self::Bits]> + Copy;
    /// Number of lanes: 8 for `f64`, 16 for `f32`, on every backend.
    const LANES: usize;
    /// How many vectors the registers hold.
    const REGISTERS: usize;

    /// The same number in every lane.
    fn splat(value: Self::Scalar) -> Self;
    /// Reads the first `LANES` numbers of `from`.
    fn load(from: &[Self::Scalar]) -> Self;
    /// Reads the first `LANES` numbers of `from`, which are in single precision.
    fn load_single(from: &[f32]) -> Self;
    /// Asks for the cache line at the beginning of `at`, which will be needed soon.
    fn prefetch(at: &[Self::Scalar]);
    /// Writes all lanes to the first `LANES` places of `to`.
    fn store(self, to: &mut [Self::Scalar]);
    /// Reads up to `LANES` numbers, the rest zero.
    fn load_partial(from: &[Self::Scalar]) -> Self;
    /// Writes the first `to.len()` lanes (at most `LANES`).
    fn store_partial(self, to: &mut [Self::Scalar]);
    /// The sum of all lanes, added pairwise: the same tree on every backend.
    fn sum(self) -> Self::Scalar;
    /// self * 2^exponent for a whole exponent within the normal range.
    fn scale(self, exponent: Self) -> Self;
    /// Square root of a number between 1e-30 and 1e30, or zero in `f32`, to 2^-46 relative in `f64`: a root in single
    /// precision and one Newton step, since the full root is the slowest instruction there is.
    fn quick_sqrt(self) -> Self;
    /// Mantissa in [sqrt(1/2), sqrt(2)) and exponent of a positive normal number.
    fn split(self) -> (Self, Self);
    /// Whether every lane is less than the other's.
    fn all_less(self, other: Self) -> bool;
    /// Applies a scalar function to each lane: slow, for rare cases.
    fn map(self, f: impl Fn(Self::Scalar) -> Self::Scalar) -> Self;

    /// Joins the words of two groups of 8 calls into lanes of this vector's width.
    fn sets(groups: [Self::Words; 2]) -> Self::Sets;
    /// The words of the lanes, held as if they were numbers, so that they can be stored and loaded.
    fn from_bits(bits: Self::Bits) -> Self;
    /// The inverse of [`from_bits`](Self::from_bits).
    fn to_bits(self) -> Self::Bits;
    /// The word of each lane as an unsigned number plus one half, in (0, 2^32).
    fn from_unsigned(bits: Self::Bits) -> Self;
    /// The lowest 30 bits of each word as a signed number in [-2^29, 2^29), plus one half.
    fn from_signed30(bits: Self::Bits) -> Self;
    /// Flips the sign of `self` in the lanes whose word has bit 31 set.
    fn flip_sign(self, bits: Self::Bits) -> Self;
    /// `(a, b)`, exchanged in the lanes whose word has bit 30 set.
    fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self);
    /// Writes lane l of `parts[j]` to place 4 l + j of `to` (4 `LANES` places).
    fn store_interleaved(parts: [Self; 4], to: &mut [Self::Scalar]);
    /// Reads the first `width` numbers (at most `LANES`) of each of `LANES` rows that lie `stride` apart, and transposes: lane
    /// r of `to[k]` is `rows[r * stride + k]`. `to` takes `LANES` vectors; those from `width` on may hold anything finite or not.
    #[inline(always)]
    fn load_transposed(rows: &[Self::Scalar], stride: usize, width: usize, to: &mut [Self]) {
        for (lane, v) in to[..Self::LANES].iter_mut().enumerate() {
            *v = Self::load_partial(&rows[lane * stride..][..width]);
        }
        Self::transpose(to);
    }
    /// Transposes a square: afterwards lane r of `square[k]` is what lane k of `square[r]` was (`LANES` vectors).
    fn transpose(square: &mut [Self]);
}

/// Eight 64-bit lanes of which the generator uses the lower halves.
pub trait Words: Copy {
    /// Lane i from element i.
    fn new(lanes: [u64; 8]) -> Self;
    /// The 64-bit products of the lower halves of the lanes with `factor`.
    fn multiply_low(self, factor: u32) -> Self;
    /// The upper halves in place of the lower ones.
    fn high(self) -> Self;
    /// `self` xor `other`.
    fn xor(self, other: Self) -> Self;
    /// Whether [`xor3`](Self::xor3) is one instruction.
    const THREE_AT_ONCE: bool = false;
    /// `self` xor `b` xor `c`.
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        self.xor(b).xor(c)
    }
    /// The calls a fixed distance further on, where a call is (particle, block) and a particle has `blocks` blocks; the
    /// distance is `whole` particles and `rest` (below `blocks`) blocks.
    fn next_calls(particle: Self, block: Self, distance: (u32, u32), blocks: u32) -> (Self, Self);
    /// The lower halves as numbers.
    fn lows(self) -> [u32; 8];
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// The precision of a run: `f32` or `f64`, nothing else.
pub trait Scalar:
    sealed::Sealed
    + crate::backend::Kernels
    + crate::run::Runs
    + Copy
    + Default
    + Debug
    + Display
    + LowerExp
    + PartialEq
    + PartialOrd
    + Send
    + Sync
    + 'static
{
    /// "f32" or "f64".
    const NAME: &'static str;
    /// Positions nearer to zero than this are zero where the consensus point is zero too: 1e-290 (`f64`) or 1e-30 (`f32`). Some processors
    /// are a hundred times slower with subnormal numbers, of which a swarm on a minimiser at zero would soon be full.
    const TINY: Self;
    /// The number nearest to `value`.
    fn from_f64(value: f64) -> Self;
    /// The same number in double precision.
    fn to_f64(self) -> f64;
    /// Reads as many numbers as the vector has lanes, in double precision.
    fn widened<V: Vector<Scalar = f64>>(from: &[Self]) -> V;
    /// Runs `kernel` on `set`.
    #[doc(hidden)]
    fn run_on<K: Kernel<Self>>(set: InstructionSet, kernel: K) -> K::Output;
    /// Polynomial coefficients for this precision.
    #[doc(hidden)]
    const COEFFICIENTS: &'static super::math::Coefficients;
}

macro_rules! scalar {
    ($t:ident, $coefficients:path, $vector:ident, $tiny:literal, $widened:path) => {
        impl Scalar for $t {
            const NAME: &'static str = stringify!($t);
            const TINY: Self = $tiny;
            const COEFFICIENTS: &'static super::math::Coefficients = &$coefficients;
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self as f64
            }
            #[inline(always)]
            fn widened<V: Vector<Scalar = f64>>(from: &[Self]) -> V {
                $widened(from)
            }
            #[inline]
            fn run_on<K: Kernel<Self>>(set: InstructionSet, kernel: K) -> K::Output {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx512f,avx512dq,avx2,fma")]
                    fn avx512<K: Kernel<$t>>(kernel: K) -> K::Output {
                        kernel.run::<super::avx512::$vector>()
                    }
                    #[target_feature(enable = "avx2,fma")]
                    fn avx2<K: Kernel<$t>>(kernel: K) -> K::Output {
                        kernel.run::<super::avx2::$vector>()
                    }
                    // Without it, every fused multiply-add would be the call of a function.
                    #[target_feature(enable = "fma")]
                    fn portable_with_fma<K: Kernel<$t>>(kernel: K) -> K::Output {
                        kernel.run::<portable::$vector>()
                    }
                    match set.0 {
                        // SAFETY: an `InstructionSet` of this kind exists only where the processor has these features.
                        Kind::Avx512 => return unsafe { avx512(kernel) },
                        // SAFETY: as above.
                        Kind::Avx2 => return unsafe { avx2(kernel) },
                        Kind::Portable if is_x86_feature_detected!("fma") => {
                            // SAFETY: the processor has just said that it has the feature.
                            return unsafe { portable_with_fma(kernel) };
                        }
                        Kind::Portable => {}
                    }
                }
                kernel.run::<portable::$vector>()
            }
        }
    };
}

scalar!(f64, super::math::F64, VectorF64, 1e-290, V::load);
scalar!(f32, super::math::F32, VectorF32, 1e-30, V::load_single);
