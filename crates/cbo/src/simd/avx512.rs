//! The AVX-512 backend (F and DQ): a vector is one register.

mod double;
mod single;

pub use double::VectorF64;
pub use single::VectorF32;

use super::Words;
use super::operators::{lanes_as, registers};
use std::arch::x86_64::*;

macro_rules! avx512_vector {
    ($vector:ident, $register:ident, $scalar:ident, $lanes:literal,
     $add:ident, $sub:ident, $mul:ident, $div:ident, $min:ident, $max:ident, $fmadd:ident, $sqrt:ident, $abs:ident, $roundscale:ident, $less:ident, $blend:ident,
     $set1:ident, $xor:ident) => {
        /// One 512-bit register.
        #[derive(Clone, Copy)]
        pub struct $vector($register);

        impl $vector {
            #[inline(always)]
            fn from_array(lanes: [$scalar; $lanes]) -> Self {
                Self(lanes_as!([$scalar; $lanes] => $register, lanes))
            }
            #[inline(always)]
            fn to_array(self) -> [$scalar; $lanes] {
                lanes_as!($register => [$scalar; $lanes], self.0)
            }
            #[inline(always)]
            fn lanes_add(self, other: Self) -> Self {
                Self(registers!($add(self.0, other.0)))
            }
            #[inline(always)]
            fn lanes_sub(self, other: Self) -> Self {
                Self(registers!($sub(self.0, other.0)))
            }
            #[inline(always)]
            fn lanes_mul(self, other: Self) -> Self {
                Self(registers!($mul(self.0, other.0)))
            }
            #[inline(always)]
            fn lanes_div(self, other: Self) -> Self {
                Self(registers!($div(self.0, other.0)))
            }
            // As the instructions define them: the second number if one of them is NaN.
            #[inline(always)]
            fn lanes_min(self, other: Self) -> Self {
                Self(registers!($min(self.0, other.0)))
            }
            #[inline(always)]
            fn lanes_max(self, other: Self) -> Self {
                Self(registers!($max(self.0, other.0)))
            }
            #[inline(always)]
            fn lanes_neg(self) -> Self {
                Self(registers!($xor(self.0, $set1(-0.0))))
            }
            #[inline(always)]
            fn lanes_mul_add(self, factor: Self, summand: Self) -> Self {
                Self(registers!($fmadd(self.0, factor.0, summand.0)))
            }
            #[inline(always)]
            fn lanes_sqrt(self) -> Self {
                Self(registers!($sqrt(self.0)))
            }
            #[inline(always)]
            fn lanes_abs(self) -> Self {
                Self(registers!($abs(self.0)))
            }
            #[inline(always)]
            fn lanes_floor(self) -> Self {
                Self(registers!($roundscale::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0)))
            }
            #[inline(always)]
            fn lanes_round(self) -> Self {
                Self(registers!($roundscale::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0)))
            }
            #[inline(always)]
            fn lanes_select_less(self, other: Self, yes: Self, no: Self) -> Self {
                Self(registers!($blend($less::<_CMP_LT_OQ>(self.0, other.0), no.0, yes.0)))
            }
        }

        arithmetic!($vector, $scalar);
    };
}

use avx512_vector;

/// Eight 64-bit lanes in one register.
#[derive(Clone, Copy)]
pub struct WordsRegister(__m512i);

impl Words for WordsRegister {
    const THREE_AT_ONCE: bool = true;

    #[inline(always)]
    fn new(lanes: [u64; 8]) -> Self {
        Self(lanes_as!([u64; 8] => __m512i, lanes))
    }
    #[inline(always)]
    fn multiply_low(self, factor: u32) -> Self {
        Self(registers!(_mm512_mul_epu32(self.0, _mm512_set1_epi64(factor as i64))))
    }
    #[inline(always)]
    fn high(self) -> Self {
        // A shuffle rather than a shift: it runs beside the multiplications, on another port.
        Self(registers!(_mm512_shuffle_epi32::<0xf5>(self.0)))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(registers!(_mm512_xor_si512(self.0, other.0)))
    }
    #[inline(always)]
    fn xor3(self, b: Self, c: Self) -> Self {
        Self(registers!(_mm512_ternarylogic_epi64::<0x96>(self.0, b.0, c.0)))
    }
    #[inline(always)]
    fn next_calls(particle: Self, block: Self, (whole, rest): (u32, u32), blocks: u32) -> (Self, Self) {
        registers!({
            let block = _mm512_add_epi64(block.0, _mm512_set1_epi64(i64::from(rest)));
            let particle = _mm512_add_epi64(particle.0, _mm512_set1_epi64(i64::from(whole)));
            let blocks = _mm512_set1_epi64(i64::from(blocks));
            let over = _mm512_cmpge_epi64_mask(block, blocks);
            let particle = _mm512_mask_add_epi64(particle, over, particle, _mm512_set1_epi64(1));
            (Self(particle), Self(_mm512_mask_sub_epi64(block, over, block, blocks)))
        })
    }
    #[inline(always)]
    fn lows(self) -> [u32; 8] {
        lanes_as!(__m512i => [u64; 8], self.0).map(|w| w as u32)
    }
}
