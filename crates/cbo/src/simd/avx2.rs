//! The AVX2 + FMA backend: a vector is a pair of 256-bit registers, so that it has as many lanes as AVX-512's.
//!
//! Safety of every `unsafe` block here: the types are reachable only through `Scalar::run_on`, which calls a kernel
//! generic over them after the processor reported AVX2 and FMA; loads and stores check their slices first.
#![allow(clippy::undocumented_unsafe_blocks)]

use super::operators::{arithmetic, through_arrays, through_memory};
use super::{Vector, Words};
use std::arch::x86_64::*;

/// The same expression for both registers of a pair. A macro, since a closure would not be compiled for AVX2.
macro_rules! both {
    ($i:ident => $value:expr) => {
        [
            {
                let $i = 0;
                $value
            },
            {
                let $i = 1;
                $value
            },
        ]
    };
}

macro_rules! avx2_vector {
    ($vector:ident, $register:ident, $scalar:ident, $lanes:literal,
     $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident, $sqrt:ident, $round:ident, $less:ident, $blend:ident,
     $set1:ident, $xor:ident, $andnot:ident, $movemask:ident) => {
        /// Two 256-bit registers.
        #[derive(Clone, Copy)]
        pub struct $vector([$register; 2]);

        impl $vector {
            const ALL: i32 = (1 << ($lanes / 2)) - 1;

            #[inline(always)]
            fn from_array(lanes: [$scalar; $lanes]) -> Self {
                // Two registers and an array of their lanes have the same size and layout.
                Self(unsafe { std::mem::transmute::<[$scalar; $lanes], [$register; 2]>(lanes) })
            }
            #[inline(always)]
            fn to_array(self) -> [$scalar; $lanes] {
                unsafe { std::mem::transmute::<[$register; 2], [$scalar; $lanes]>(self.0) }
            }
            #[inline(always)]
            fn lanes_add(self, other: Self) -> Self {
                Self(unsafe { [$add(self.0[0], other.0[0]), $add(self.0[1], other.0[1])] })
            }
            #[inline(always)]
            fn lanes_sub(self, other: Self) -> Self {
                Self(unsafe { [$sub(self.0[0], other.0[0]), $sub(self.0[1], other.0[1])] })
            }
            #[inline(always)]
            fn lanes_mul(self, other: Self) -> Self {
                Self(unsafe { [$mul(self.0[0], other.0[0]), $mul(self.0[1], other.0[1])] })
            }
            #[inline(always)]
            fn lanes_div(self, other: Self) -> Self {
                Self(unsafe { [$div(self.0[0], other.0[0]), $div(self.0[1], other.0[1])] })
            }
            #[inline(always)]
            fn lanes_neg(self) -> Self {
                Self(unsafe { [$xor(self.0[0], $set1(-0.0)), $xor(self.0[1], $set1(-0.0))] })
            }
            #[inline(always)]
            fn lanes_mul_add(self, factor: Self, summand: Self) -> Self {
                Self(unsafe {
                    [$fmadd(self.0[0], factor.0[0], summand.0[0]), $fmadd(self.0[1], factor.0[1], summand.0[1])]
                })
            }
            #[inline(always)]
            fn lanes_sqrt(self) -> Self {
                Self(unsafe { [$sqrt(self.0[0]), $sqrt(self.0[1])] })
            }
            #[inline(always)]
            fn lanes_abs(self) -> Self {
                Self(unsafe { [$andnot($set1(-0.0), self.0[0]), $andnot($set1(-0.0), self.0[1])] })
            }
            #[inline(always)]
            fn lanes_floor(self) -> Self {
                const DOWN: i32 = _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC;
                Self(unsafe { [$round::<DOWN>(self.0[0]), $round::<DOWN>(self.0[1])] })
            }
            #[inline(always)]
            fn lanes_round(self) -> Self {
                const NEAREST: i32 = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
                Self(unsafe { [$round::<NEAREST>(self.0[0]), $round::<NEAREST>(self.0[1])] })
            }
            #[inline(always)]
            fn lanes_select_less(self, other: Self, yes: Self, no: Self) -> Self {
                Self(unsafe {
                    [
                        $blend(no.0[0], yes.0[0], $less::<_CMP_LT_OQ>(self.0[0], other.0[0])),
                        $blend(no.0[1], yes.0[1], $less::<_CMP_LT_OQ>(self.0[1], other.0[1])),
                    ]
                })
            }
            #[inline(always)]
            fn lanes_all_less(self, other: Self) -> bool {
                unsafe {
                    $movemask($less::<_CMP_LT_OQ>(self.0[0], other.0[0])) == Self::ALL
                        && $movemask($less::<_CMP_LT_OQ>(self.0[1], other.0[1])) == Self::ALL
                }
            }
        }

        arithmetic!($vector, $scalar);
    };
}

avx2_vector!(
    VectorF64,
    __m256d,
    f64,
    8,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_fmadd_pd,
    _mm256_sqrt_pd,
    _mm256_round_pd,
    _mm256_cmp_pd,
    _mm256_blendv_pd,
    _mm256_set1_pd,
    _mm256_xor_pd,
    _mm256_andnot_pd,
    _mm256_movemask_pd
);
avx2_vector!(
    VectorF32,
    __m256,
    f32,
    16,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_fmadd_ps,
    _mm256_sqrt_ps,
    _mm256_round_ps,
    _mm256_cmp_ps,
    _mm256_blendv_ps,
    _mm256_set1_ps,
    _mm256_xor_ps,
    _mm256_andnot_ps,
    _mm256_movemask_ps
);

/// Sum of four lanes, halves added first.
#[inline(always)]
pub(super) fn sum_f64(v: __m256d) -> f64 {
    unsafe {
        let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    }
}

/// Sum of eight lanes, halves added first.
#[inline(always)]
pub(super) fn sum_f32(v: __m256) -> f32 {
    unsafe {
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    }
}

/// A 32-bit word or-ed into the mantissa of 2^52 is that number plus 2^52.
const MAGIC: f64 = 4503599627370496.0;

impl Vector for VectorF64 {
    type Scalar = f64;
    type Bits = [__m256i; 2];
    type Words = WordsPair;
    type Sets = [[__m256i; 2]; 2];
    const LANES: usize = 8;

    through_arrays!(f64, 8);
    through_memory!(f64, 8);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([unsafe { _mm256_set1_pd(value) }; 2])
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(both!(i => unsafe {
            // The sum's lowest mantissa bits are exponent + bias; the shift drops the rest.
            let shifted = _mm256_add_pd(exponent.0[i], _mm256_set1_pd(MAGIC + 1023.0));
            let power = _mm256_slli_epi64::<52>(_mm256_castpd_si256(shifted));
            _mm256_mul_pd(self.0[i], _mm256_castsi256_pd(power))
        }))
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        sum_f64(unsafe { _mm256_add_pd(self.0[0], self.0[1]) })
    }
    #[inline(always)]
    fn prefetch(at: &[f64]) {
        // A hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        Self(both!(i => unsafe {
            let root = _mm_sqrt_ps(_mm256_cvtpd_ps(self.0[i]));
            let half_inverse = _mm256_cvtps_pd(_mm_div_ps(_mm_set1_ps(0.5), root));
            let root = _mm256_cvtps_pd(root);
            let error = _mm256_fnmadd_pd(root, root, self.0[i]);
            _mm256_fmadd_pd(error, half_inverse, root)
        }))
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let parts = both!(i => unsafe {
            let bits = _mm256_castpd_si256(self.0[i]);
            let one = _mm256_set1_epi64x(1.0f64.to_bits() as i64);
            let offset = _mm256_set1_epi64x(1.0f64.to_bits() as i64 - std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64);
            let shifted = _mm256_add_epi64(bits, offset);
            let biased = _mm256_srli_epi64::<52>(shifted);
            let upper = _mm256_and_si256(shifted, _mm256_set1_epi64x(-1 << 52));
            let mantissa = _mm256_add_epi64(_mm256_sub_epi64(bits, upper), one);
            let exponent = _mm256_or_si256(biased, _mm256_set1_epi64x(MAGIC.to_bits() as i64));
            let exponent = _mm256_sub_pd(_mm256_castsi256_pd(exponent), _mm256_set1_pd(MAGIC + 1023.0));
            (_mm256_castsi256_pd(mantissa), exponent)
        });
        (Self([parts[0].0, parts[1].0]), Self([parts[0].1, parts[1].1]))
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        self.lanes_all_less(other)
    }
    #[inline(always)]
    fn sets(groups: [WordsPair; 2]) -> Self::Sets {
        [groups[0].0, groups[1].0]
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe { _mm256_castsi256_pd(bits[i]) }))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        both!(i => unsafe { _mm256_castpd_si256(self.0[i]) })
    }
    #[inline(always)]
    fn from_unsigned(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi64x(0xffff_ffff));
            let number = _mm256_or_si256(low, _mm256_set1_epi64x(MAGIC.to_bits() as i64));
            _mm256_sub_pd(_mm256_castsi256_pd(number), _mm256_set1_pd(MAGIC - 0.5))
        }))
    }
    #[inline(always)]
    fn from_signed30(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi64x(0x3fff_ffff));
            let number = _mm256_or_si256(low, _mm256_set1_epi64x(MAGIC.to_bits() as i64));
            let centred = _mm256_sub_pd(_mm256_castsi256_pd(number), _mm256_set1_pd(MAGIC + 536870912.0));
            _mm256_add_pd(centred, _mm256_set1_pd(0.5))
        }))
    }
    #[inline(always)]
    fn flip_sign(self, bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let sign = _mm256_and_si256(_mm256_slli_epi64::<32>(bits[i]), _mm256_set1_epi64x(i64::MIN));
            _mm256_xor_pd(self.0[i], _mm256_castsi256_pd(sign))
        }))
    }
    #[inline(always)]
    fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self) {
        // Bit 30 moved to the sign place, which the blend looks at.
        let mask = both!(i => unsafe {
            let w = bits[i]; _mm256_castsi256_pd(_mm256_slli_epi64::<33>(w)) });
        (
            Self(both!(i => unsafe { _mm256_blendv_pd(a.0[i], b.0[i], mask[i]) })),
            Self(both!(i => unsafe { _mm256_blendv_pd(b.0[i], a.0[i], mask[i]) })),
        )
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f64]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 32);
        for i in 0..2 {
            unsafe {
                let ab = [_mm256_unpacklo_pd(a.0[i], b.0[i]), _mm256_unpackhi_pd(a.0[i], b.0[i])];
                let cd = [_mm256_unpacklo_pd(c.0[i], d.0[i]), _mm256_unpackhi_pd(c.0[i], d.0[i])];
                let out = to.as_mut_ptr().add(16 * i);
                for odd in 0..2 {
                    _mm256_storeu_pd(out.add(4 * odd), _mm256_permute2f128_pd::<0x20>(ab[odd], cd[odd]));
                    _mm256_storeu_pd(out.add(8 + 4 * odd), _mm256_permute2f128_pd::<0x31>(ab[odd], cd[odd]));
                }
            }
        }
    }
}

impl Vector for VectorF32 {
    type Scalar = f32;
    type Bits = [__m256i; 2];
    type Words = WordsPair;
    type Sets = [[__m256i; 2]; 1];
    const LANES: usize = 16;

    through_arrays!(f32, 16);
    through_memory!(f32, 16);

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([unsafe { _mm256_set1_ps(value) }; 2])
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(both!(i => unsafe {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(exponent.0[i]), _mm256_set1_epi32(127));
            _mm256_mul_ps(self.0[i], _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
        }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        sum_f32(unsafe { _mm256_add_ps(self.0[0], self.0[1]) })
    }
    #[inline(always)]
    fn prefetch(at: &[f32]) {
        // A hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        self.lanes_sqrt()
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let parts = both!(i => unsafe {
            let bits = _mm256_castps_si256(self.0[i]);
            let one = _mm256_set1_epi32(1.0f32.to_bits() as i32);
            let offset = _mm256_set1_epi32(1.0f32.to_bits() as i32 - std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
            let shifted = _mm256_add_epi32(bits, offset);
            let biased = _mm256_srli_epi32::<23>(shifted);
            let upper = _mm256_and_si256(shifted, _mm256_set1_epi32(-1 << 23));
            let mantissa = _mm256_add_epi32(_mm256_sub_epi32(bits, upper), one);
            let exponent = _mm256_sub_ps(_mm256_cvtepi32_ps(biased), _mm256_set1_ps(127.0));
            (_mm256_castsi256_ps(mantissa), exponent)
        });
        (Self([parts[0].0, parts[1].0]), Self([parts[0].1, parts[1].1]))
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        self.lanes_all_less(other)
    }
    #[inline(always)]
    fn sets(groups: [WordsPair; 2]) -> Self::Sets {
        // The even 32-bit places of four 64-bit lanes into each half, then the halves together.
        [both!(g => unsafe {
            let evens = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            let low = _mm256_permutevar8x32_epi32(groups[g].0[0], evens);
            let high = _mm256_permutevar8x32_epi32(groups[g].0[1], evens);
            _mm256_blend_epi32::<0xf0>(low, high)
        })]
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe { _mm256_castsi256_ps(bits[i]) }))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        both!(i => unsafe { _mm256_castps_si256(self.0[i]) })
    }
    #[inline(always)]
    fn from_unsigned(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let w = bits[i];
            // Two exact halves, joined with one rounding: the same as a conversion of the whole.
            let high = _mm256_cvtepi32_ps(_mm256_srli_epi32::<16>(w));
            let low = _mm256_cvtepi32_ps(_mm256_and_si256(w, _mm256_set1_epi32(0xffff)));
            _mm256_add_ps(_mm256_fmadd_ps(high, _mm256_set1_ps(65536.0), low), _mm256_set1_ps(0.5))
        }))
    }
    #[inline(always)]
    fn from_signed30(bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi32(0x3fff_ffff));
            let centred = _mm256_sub_epi32(low, _mm256_set1_epi32(1 << 29));
            _mm256_add_ps(_mm256_cvtepi32_ps(centred), _mm256_set1_ps(0.5))
        }))
    }
    #[inline(always)]
    fn flip_sign(self, bits: Self::Bits) -> Self {
        Self(both!(i => unsafe {
            let sign = _mm256_and_si256(bits[i], _mm256_set1_epi32(i32::MIN));
            _mm256_xor_ps(self.0[i], _mm256_castsi256_ps(sign))
        }))
    }
    #[inline(always)]
    fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self) {
        let mask = both!(i => unsafe {
            let w = bits[i]; _mm256_castsi256_ps(_mm256_slli_epi32::<1>(w)) });
        (
            Self(both!(i => unsafe { _mm256_blendv_ps(a.0[i], b.0[i], mask[i]) })),
            Self(both!(i => unsafe { _mm256_blendv_ps(b.0[i], a.0[i], mask[i]) })),
        )
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 64);
        for i in 0..2 {
            unsafe {
                let ab = [_mm256_unpacklo_ps(a.0[i], b.0[i]), _mm256_unpackhi_ps(a.0[i], b.0[i])];
                let cd = [_mm256_unpacklo_ps(c.0[i], d.0[i]), _mm256_unpackhi_ps(c.0[i], d.0[i])];
                // fours[l]: the four words of lane l in the lower half and of lane l + 4 in the upper.
                let mut fours = [_mm256_setzero_pd(); 4];
                for half in 0..2 {
                    let (x, y) = (_mm256_castps_pd(ab[half]), _mm256_castps_pd(cd[half]));
                    fours[2 * half] = _mm256_unpacklo_pd(x, y);
                    fours[2 * half + 1] = _mm256_unpackhi_pd(x, y);
                }
                let out = to.as_mut_ptr().add(32 * i);
                for pair in 0..2 {
                    let (x, y) = (fours[2 * pair], fours[2 * pair + 1]);
                    let low = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x20>(x, y));
                    let high = _mm256_castpd_ps(_mm256_permute2f128_pd::<0x31>(x, y));
                    _mm256_storeu_ps(out.add(8 * pair), low);
                    _mm256_storeu_ps(out.add(16 + 8 * pair), high);
                }
            }
        }
    }
}

/// Eight 64-bit lanes in two registers.
#[derive(Clone, Copy)]
pub struct WordsPair([__m256i; 2]);

impl Words for WordsPair {
    #[inline(always)]
    fn new(lanes: [u64; 8]) -> Self {
        Self(unsafe { std::mem::transmute::<[u64; 8], [__m256i; 2]>(lanes) })
    }
    #[inline(always)]
    fn multiply_low(self, factor: u32) -> Self {
        Self(both!(i => unsafe { _mm256_mul_epu32(self.0[i], _mm256_set1_epi64x(factor as i64)) }))
    }
    #[inline(always)]
    fn high_xor(self, other: Self, key: u32) -> Self {
        Self(both!(i => unsafe {
            let high = _mm256_shuffle_epi32::<0xf5>(self.0[i]);
            _mm256_xor_si256(_mm256_xor_si256(high, other.0[i]), _mm256_set1_epi64x(key as i64))
        }))
    }
    #[inline(always)]
    fn next_calls(particle: Self, block: Self, (whole, rest): (u32, u32), blocks: u32) -> (Self, Self) {
        let pairs = both!(i => unsafe {
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
        unsafe { std::mem::transmute::<[__m256i; 2], [u64; 8]>(self.0) }.map(|w| w as u32)
    }
}
