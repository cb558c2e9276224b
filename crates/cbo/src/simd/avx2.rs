//! The AVX2 + FMA backend: a vector is a pair of 256-bit registers, so that it has as many lanes as AVX-512's.

mod double;
mod single;

pub use double::VectorF64;
pub(super) use double::{MAGIC, sum_f64};
pub use single::VectorF32;
pub(super) use single::sum_f32;

use super::Words;
use super::operators::{lanes_as, registers};
use std::arch::x86_64::*;

/// The same intrinsics for both registers of a pair. A macro, since a closure would not be compiled for AVX2.
macro_rules! both {
    ($i:ident => $value:expr) => {
        [
            {
                let $i = 0;
                registers!($value)
            },
            {
                let $i = 1;
                registers!($value)
            },
        ]
    };
}

macro_rules! avx2_vector {
    ($vector:ident, $register:ident, $scalar:ident, $lanes:literal,
     $add:ident, $sub:ident, $mul:ident, $div:ident, $min:ident, $max:ident, $fmadd:ident, $sqrt:ident, $round:ident, $less:ident, $blend:ident,
     $set1:ident, $xor:ident, $andnot:ident, $movemask:ident) => {
        /// Two 256-bit registers.
        #[derive(Clone, Copy)]
        pub struct $vector([$register; 2]);

        impl $vector {
            const ALL: i32 = (1 << ($lanes / 2)) - 1;

            #[inline(always)]
            fn from_array(lanes: [$scalar; $lanes]) -> Self {
                Self(lanes_as!([$scalar; $lanes] => [$register; 2], lanes))
            }
            #[inline(always)]
            fn to_array(self) -> [$scalar; $lanes] {
                lanes_as!([$register; 2] => [$scalar; $lanes], self.0)
            }
            #[inline(always)]
            fn lanes_add(self, other: Self) -> Self {
                Self(both!(i => $add(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn lanes_sub(self, other: Self) -> Self {
                Self(both!(i => $sub(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn lanes_mul(self, other: Self) -> Self {
                Self(both!(i => $mul(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn lanes_div(self, other: Self) -> Self {
                Self(both!(i => $div(self.0[i], other.0[i])))
            }
            // As the instructions define them: the second number if one of them is NaN.
            #[inline(always)]
            fn lanes_min(self, other: Self) -> Self {
                Self(both!(i => $min(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn lanes_max(self, other: Self) -> Self {
                Self(both!(i => $max(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn lanes_neg(self) -> Self {
                Self(both!(i => $xor(self.0[i], $set1(-0.0))))
            }
            #[inline(always)]
            fn lanes_mul_add(self, factor: Self, summand: Self) -> Self {
                Self(both!(i => $fmadd(self.0[i], factor.0[i], summand.0[i])))
            }
            #[inline(always)]
            fn lanes_sqrt(self) -> Self {
                Self(both!(i => $sqrt(self.0[i])))
            }
            #[inline(always)]
            fn lanes_abs(self) -> Self {
                Self(both!(i => $andnot($set1(-0.0), self.0[i])))
            }
            #[inline(always)]
            fn lanes_floor(self) -> Self {
                const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
                Self(both!(i => $round::<DOWN>(self.0[i])))
            }
            #[inline(always)]
            fn lanes_round(self) -> Self {
                const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
                Self(both!(i => $round::<NEAREST>(self.0[i])))
            }
            #[inline(always)]
            fn lanes_select_less(self, other: Self, yes: Self, no: Self) -> Self {
                Self(both!(i => $blend(no.0[i], yes.0[i], $less::<_CMP_LT_OQ>(self.0[i], other.0[i]))))
            }
            #[inline(always)]
            fn lanes_all_less(self, other: Self) -> bool {
                both!(i => $movemask($less::<_CMP_LT_OQ>(self.0[i], other.0[i]))) == [Self::ALL; 2]
            }
        }

        arithmetic!($vector, $scalar);
    };
}

use {avx2_vector, both};

/// Eight 64-bit lanes in two registers.
#[derive(Clone, Copy)]
pub struct WordsPair([__m256i; 2]);

impl Words for WordsPair {
    #[inline(always)]
    fn new(lanes: [u64; 8]) -> Self {
        Self(lanes_as!([u64; 8] => [__m256i; 2], lanes))
    }
    #[inline(always)]
    fn multiply_low(self, factor: u32) -> Self {
        Self(both!(i => _mm256_mul_epu32(self.0[i], _mm256_set1_epi64x(factor as i64))))
    }
    #[inline(always)]
    fn high(self) -> Self {
        // A shuffle rather than a shift: it runs beside the multiplications, on another port.
        Self(both!(i => _mm256_shuffle_epi32::<0xf5>(self.0[i])))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(both!(i => _mm256_xor_si256(self.0[i], other.0[i])))
    }
    #[inline(always)]
    fn next_calls(particle: Self, block: Self, (whole, rest): (u32, u32), blocks: u32) -> (Self, Self) {
        let pairs = both!(i => {
            let set = |value: u32| _mm256_set1_epi64x(i64::from(value));
            let block = _mm256_add_epi64(block.0[i], set(rest));
            let over = _mm256_cmpgt_epi64(block, set(blocks - 1)); // minus one where true
            let particle = _mm256_sub_epi64(_mm256_add_epi64(particle.0[i], set(whole)), over);
            (particle, _mm256_sub_epi64(block, _mm256_and_si256(over, set(blocks))))
        });
        (Self([pairs[0].0, pairs[1].0]), Self([pairs[0].1, pairs[1].1]))
    }
    #[inline(always)]
    fn lows(self) -> [u32; 8] {
        lanes_as!([__m256i; 2] => [u64; 8], self.0).map(|w| w as u32)
    }
}
