//! The AVX-512 backend (F and DQ).
//!
//! Safety of every `unsafe` block here: the types are reachable only through `Scalar::run_on`, which calls a kernel
//! generic over them after the processor reported AVX-512 F and DQ; loads and stores check their slices first.
#![allow(clippy::undocumented_unsafe_blocks)]

use super::operators::{arithmetic, through_arrays};
use super::{Vector, Words, avx2};
use std::arch::x86_64::*;

macro_rules! avx512_vector {
    ($vector:ident, $register:ident, $scalar:ident, $lanes:literal,
     $add:ident, $sub:ident, $mul:ident, $div:ident, $fmadd:ident, $sqrt:ident, $abs:ident, $roundscale:ident, $less:ident, $blend:ident,
     $set1:ident, $xor:ident) => {
        /// One 512-bit register.
        #[derive(Clone, Copy)]
        pub struct $vector($register);

        impl $vector {
            #[inline(always)]
            fn from_array(lanes: [$scalar; $lanes]) -> Self {
                // A register and an array of its lanes have the same size and layout.
                Self(unsafe { std::mem::transmute::<[$scalar; $lanes], $register>(lanes) })
            }
            #[inline(always)]
            fn to_array(self) -> [$scalar; $lanes] {
                unsafe { std::mem::transmute::<$register, [$scalar; $lanes]>(self.0) }
            }
            #[inline(always)]
            fn lanes_add(self, other: Self) -> Self {
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn lanes_sub(self, other: Self) -> Self {
                Self(unsafe { $sub(self.0, other.0) })
            }
            #[inline(always)]
            fn lanes_mul(self, other: Self) -> Self {
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn lanes_div(self, other: Self) -> Self {
                Self(unsafe { $div(self.0, other.0) })
            }
            #[inline(always)]
            fn lanes_neg(self) -> Self {
                Self(unsafe { $xor(self.0, $set1(-0.0)) })
            }
            #[inline(always)]
            fn lanes_mul_add(self, factor: Self, summand: Self) -> Self {
                Self(unsafe { $fmadd(self.0, factor.0, summand.0) })
            }
            #[inline(always)]
            fn lanes_sqrt(self) -> Self {
                Self(unsafe { $sqrt(self.0) })
            }
            #[inline(always)]
            fn lanes_abs(self) -> Self {
                Self(unsafe { $abs(self.0) })
            }
            #[inline(always)]
            fn lanes_floor(self) -> Self {
                Self(unsafe { $roundscale::<{ _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC }>(self.0) })
            }
            #[inline(always)]
            fn lanes_round(self) -> Self {
                Self(unsafe { $roundscale::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(self.0) })
            }
            #[inline(always)]
            fn lanes_select_less(self, other: Self, yes: Self, no: Self) -> Self {
                Self(unsafe { $blend($less::<_CMP_LT_OQ>(self.0, other.0), no.0, yes.0) })
            }
        }

        arithmetic!($vector, $scalar);
    };
}

avx512_vector!(
    VectorF64,
    __m512d,
    f64,
    8,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_fmadd_pd,
    _mm512_sqrt_pd,
    _mm512_abs_pd,
    _mm512_roundscale_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_blend_pd,
    _mm512_set1_pd,
    _mm512_xor_pd
);
avx512_vector!(
    VectorF32,
    __m512,
    f32,
    16,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_div_ps,
    _mm512_fmadd_ps,
    _mm512_sqrt_ps,
    _mm512_abs_ps,
    _mm512_roundscale_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_blend_ps,
    _mm512_set1_ps,
    _mm512_xor_ps
);

/// A 32-bit word or-ed into the mantissa of 2^52 is that number plus 2^52.
const MAGIC: f64 = 4503599627370496.0;

impl Vector for VectorF64 {
    type Scalar = f64;
    type Bits = __m512i;
    type Words = WordsRegister;
    type Sets = [__m512i; 2];
    const LANES: usize = 8;

    through_arrays!(f64, 8);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    fn load_partial(from: &[f64]) -> Self {
        let count = from.len().min(8) as u32;
        // Masked lanes are not read.
        Self(unsafe { _mm512_maskz_loadu_pd(((1u32 << count) - 1) as __mmask8, from.as_ptr()) })
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f64]) {
        let count = to.len().min(8) as u32;
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), ((1u32 << count) - 1) as __mmask8, self.0) }
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(unsafe { _mm512_scalef_pd(self.0, exponent.0) })
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        let halves = unsafe { (_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)) };
        avx2::sum_f64(unsafe { _mm256_add_pd(halves.0, halves.1) })
    }
    #[inline(always)]
    fn prefetch(at: &[f64]) {
        // A hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        unsafe {
            let root = _mm256_sqrt_ps(_mm512_cvtpd_ps(self.0));
            let half_inverse = _mm512_cvtps_pd(_mm256_div_ps(_mm256_set1_ps(0.5), root));
            let root = _mm512_cvtps_pd(root);
            let error = _mm512_fnmadd_pd(root, root, self.0);
            Self(_mm512_fmadd_pd(error, half_inverse, root))
        }
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        unsafe {
            let bits = _mm512_castpd_si512(self.0);
            let one = _mm512_set1_epi64(1.0f64.to_bits() as i64);
            let offset = _mm512_set1_epi64(1.0f64.to_bits() as i64 - std::f64::consts::FRAC_1_SQRT_2.to_bits() as i64);
            let shifted = _mm512_add_epi64(bits, offset);
            let biased = _mm512_srli_epi64::<52>(shifted);
            let upper = _mm512_and_si512(shifted, _mm512_set1_epi64(-1 << 52));
            let mantissa = _mm512_add_epi64(_mm512_sub_epi64(bits, upper), one);
            let exponent = _mm512_or_si512(biased, _mm512_set1_epi64(MAGIC.to_bits() as i64));
            let exponent = _mm512_sub_pd(_mm512_castsi512_pd(exponent), _mm512_set1_pd(MAGIC + 1023.0));
            (Self(_mm512_castsi512_pd(mantissa)), Self(exponent))
        }
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        unsafe { _mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) == 0xff }
    }
    #[inline(always)]
    fn sets(groups: [WordsRegister; 2]) -> Self::Sets {
        [groups[0].0, groups[1].0]
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(unsafe { _mm512_castsi512_pd(bits) })
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        unsafe { _mm512_castpd_si512(self.0) }
    }
    #[inline(always)]
    fn from_unsigned(bits: __m512i) -> Self {
        unsafe {
            let low = _mm512_set1_epi64(0xffff_ffff);
            let magic = _mm512_set1_epi64(MAGIC.to_bits() as i64);
            // (bits & low) | magic
            let number = _mm512_ternarylogic_epi64::<0xf8>(magic, bits, low);
            Self(_mm512_sub_pd(_mm512_castsi512_pd(number), _mm512_set1_pd(MAGIC - 0.5)))
        }
    }
    #[inline(always)]
    fn from_signed30(bits: __m512i) -> Self {
        unsafe {
            let low = _mm512_set1_epi64(0x3fff_ffff);
            let magic = _mm512_set1_epi64(MAGIC.to_bits() as i64);
            let number = _mm512_ternarylogic_epi64::<0xf8>(magic, bits, low);
            // In one subtraction: MAGIC + 2^29 - 1/2 is not a number of this size, so centre first; both are exact.
            let centred = _mm512_sub_pd(_mm512_castsi512_pd(number), _mm512_set1_pd(MAGIC + 536870912.0));
            Self(_mm512_add_pd(centred, _mm512_set1_pd(0.5)))
        }
    }
    #[inline(always)]
    fn flip_sign(self, bits: __m512i) -> Self {
        unsafe {
            let sign = _mm512_and_si512(_mm512_slli_epi64::<32>(bits), _mm512_set1_epi64(i64::MIN));
            Self(_mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(self.0), sign)))
        }
    }
    #[inline(always)]
    fn exchange(bits: __m512i, a: Self, b: Self) -> (Self, Self) {
        unsafe {
            let mask = _mm512_test_epi64_mask(bits, _mm512_set1_epi64(1 << 30));
            (Self(_mm512_mask_blend_pd(mask, a.0, b.0)), Self(_mm512_mask_blend_pd(mask, b.0, a.0)))
        }
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f64]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 32);
        unsafe {
            let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            for (half, pick) in [low, high].into_iter().enumerate() {
                let ab = _mm512_permutex2var_pd(a.0, pick, b.0);
                let cd = _mm512_permutex2var_pd(c.0, pick, d.0);
                let out = to.as_mut_ptr().add(16 * half);
                _mm512_storeu_pd(out, _mm512_permutex2var_pd(ab, first, cd));
                _mm512_storeu_pd(out.add(8), _mm512_permutex2var_pd(ab, second, cd));
            }
        }
    }
    #[inline(always)]
    fn load_transposed(rows: &[f64], stride: usize, width: usize, to: &mut [Self]) {
        assert!(width <= 8 && rows.len() >= 7 * stride + width && to.len() >= 8);
        let mask = ((1u32 << width) - 1) as __mmask8;
        for (lane, v) in to[..8].iter_mut().enumerate() {
            // Within `rows`, by the assertion; masked lanes are not read.
            *v = Self(unsafe { _mm512_maskz_loadu_pd(mask, rows.as_ptr().add(lane * stride)) });
        }
        Self::transpose(to);
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 8] = (&mut square[..8]).try_into().expect("a square of 8");
        unsafe {
            // 2 x 2 blocks, then 4 x 4, then 8 x 8.
            let mut t = [_mm512_setzero_pd(); 8];
            for i in 0..4 {
                t[2 * i] = _mm512_unpacklo_pd(s[2 * i].0, s[2 * i + 1].0);
                t[2 * i + 1] = _mm512_unpackhi_pd(s[2 * i].0, s[2 * i + 1].0);
            }
            let mut u = [_mm512_setzero_pd(); 8];
            for (i, base) in [(0, 0), (1, 1), (4, 4), (5, 5)] {
                u[i] = _mm512_shuffle_f64x2::<0x88>(t[base], t[base + 2]);
                u[i + 2] = _mm512_shuffle_f64x2::<0xdd>(t[base], t[base + 2]);
            }
            for i in 0..4 {
                s[i] = Self(_mm512_shuffle_f64x2::<0x88>(u[i], u[i + 4]));
                s[i + 4] = Self(_mm512_shuffle_f64x2::<0xdd>(u[i], u[i + 4]));
            }
        }
    }
}

impl Vector for VectorF32 {
    type Scalar = f32;
    type Bits = __m512i;
    type Words = WordsRegister;
    type Sets = [__m512i; 1];
    const LANES: usize = 16;

    through_arrays!(f32, 16);

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(unsafe { _mm512_set1_ps(value) })
    }
    #[inline(always)]
    fn load_partial(from: &[f32]) -> Self {
        let count = from.len().min(16) as u32;
        // Masked lanes are not read.
        Self(unsafe { _mm512_maskz_loadu_ps(((1u32 << count) - 1) as __mmask16, from.as_ptr()) })
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f32]) {
        let count = to.len().min(16) as u32;
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), ((1u32 << count) - 1) as __mmask16, self.0) }
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(unsafe { _mm512_scalef_ps(self.0, exponent.0) })
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let halves = unsafe { (_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)) };
        avx2::sum_f32(unsafe { _mm256_add_ps(halves.0, halves.1) })
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
        unsafe {
            let bits = _mm512_castps_si512(self.0);
            let one = _mm512_set1_epi32(1.0f32.to_bits() as i32);
            let offset = _mm512_set1_epi32(1.0f32.to_bits() as i32 - std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
            let shifted = _mm512_add_epi32(bits, offset);
            let biased = _mm512_srli_epi32::<23>(shifted);
            let upper = _mm512_and_si512(shifted, _mm512_set1_epi32(-1 << 23));
            let mantissa = _mm512_add_epi32(_mm512_sub_epi32(bits, upper), one);
            let exponent = _mm512_sub_ps(_mm512_cvtepi32_ps(biased), _mm512_set1_ps(127.0));
            (Self(_mm512_castsi512_ps(mantissa)), Self(exponent))
        }
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        unsafe { _mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) == 0xffff }
    }
    #[inline(always)]
    fn sets(groups: [WordsRegister; 2]) -> Self::Sets {
        unsafe {
            let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            [_mm512_permutex2var_epi32(groups[0].0, evens, groups[1].0)]
        }
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(unsafe { _mm512_castsi512_ps(bits) })
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        unsafe { _mm512_castps_si512(self.0) }
    }
    #[inline(always)]
    fn from_unsigned(bits: __m512i) -> Self {
        Self(unsafe { _mm512_add_ps(_mm512_cvtepu32_ps(bits), _mm512_set1_ps(0.5)) })
    }
    #[inline(always)]
    fn from_signed30(bits: __m512i) -> Self {
        unsafe {
            let low = _mm512_and_si512(bits, _mm512_set1_epi32(0x3fff_ffff));
            let centred = _mm512_sub_epi32(low, _mm512_set1_epi32(1 << 29));
            Self(_mm512_add_ps(_mm512_cvtepi32_ps(centred), _mm512_set1_ps(0.5)))
        }
    }
    #[inline(always)]
    fn flip_sign(self, bits: __m512i) -> Self {
        unsafe {
            let sign = _mm512_and_si512(bits, _mm512_set1_epi32(i32::MIN));
            Self(_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(self.0), sign)))
        }
    }
    #[inline(always)]
    fn exchange(bits: __m512i, a: Self, b: Self) -> (Self, Self) {
        unsafe {
            let mask = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(1 << 30));
            (Self(_mm512_mask_blend_ps(mask, a.0, b.0)), Self(_mm512_mask_blend_ps(mask, b.0, a.0)))
        }
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 64);
        unsafe {
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            for (half, pick) in [low, high].into_iter().enumerate() {
                let ab = _mm512_castps_pd(_mm512_permutex2var_ps(a.0, pick, b.0));
                let cd = _mm512_castps_pd(_mm512_permutex2var_ps(c.0, pick, d.0));
                let out = to.as_mut_ptr().add(32 * half);
                _mm512_storeu_ps(out, _mm512_castpd_ps(_mm512_permutex2var_pd(ab, first, cd)));
                _mm512_storeu_ps(out.add(16), _mm512_castpd_ps(_mm512_permutex2var_pd(ab, second, cd)));
            }
        }
    }
    #[inline(always)]
    fn load_transposed(rows: &[f32], stride: usize, width: usize, to: &mut [Self]) {
        assert!(width <= 16 && rows.len() >= 15 * stride + width && to.len() >= 16);
        let mask = ((1u32 << width) - 1) as __mmask16;
        for (lane, v) in to[..16].iter_mut().enumerate() {
            // Within `rows`, by the assertion; masked lanes are not read.
            *v = Self(unsafe { _mm512_maskz_loadu_ps(mask, rows.as_ptr().add(lane * stride)) });
        }
        Self::transpose(to);
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 16] = (&mut square[..16]).try_into().expect("a square of 16");
        unsafe {
            // Within the 128-bit quarters first (pairs, then fours), then the quarters themselves.
            let mut t = [_mm512_setzero_ps(); 16];
            for i in 0..8 {
                t[2 * i] = _mm512_unpacklo_ps(s[2 * i].0, s[2 * i + 1].0);
                t[2 * i + 1] = _mm512_unpackhi_ps(s[2 * i].0, s[2 * i + 1].0);
            }
            let mut u = [_mm512_setzero_ps(); 16];
            for i in 0..4 {
                for j in 0..2 {
                    let (x, y) = (_mm512_castps_pd(t[4 * i + j]), _mm512_castps_pd(t[4 * i + 2 + j]));
                    u[4 * i + 2 * j] = _mm512_castpd_ps(_mm512_unpacklo_pd(x, y));
                    u[4 * i + 2 * j + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(x, y));
                }
            }
            // u[4 i + c], quarter q: rows 4 i .. 4 i + 3 of column 4 q + c.
            for c in 0..4 {
                let x0 = _mm512_shuffle_f32x4::<0x88>(u[c], u[4 + c]);
                let x1 = _mm512_shuffle_f32x4::<0xdd>(u[c], u[4 + c]);
                let y0 = _mm512_shuffle_f32x4::<0x88>(u[8 + c], u[12 + c]);
                let y1 = _mm512_shuffle_f32x4::<0xdd>(u[8 + c], u[12 + c]);
                s[c] = Self(_mm512_shuffle_f32x4::<0x88>(x0, y0));
                s[8 + c] = Self(_mm512_shuffle_f32x4::<0xdd>(x0, y0));
                s[4 + c] = Self(_mm512_shuffle_f32x4::<0x88>(x1, y1));
                s[12 + c] = Self(_mm512_shuffle_f32x4::<0xdd>(x1, y1));
            }
        }
    }
}

/// Eight 64-bit lanes in one register.
#[derive(Clone, Copy)]
pub struct WordsRegister(__m512i);

impl Words for WordsRegister {
    #[inline(always)]
    fn new(lanes: [u64; 8]) -> Self {
        Self(unsafe { std::mem::transmute::<[u64; 8], __m512i>(lanes) })
    }
    #[inline(always)]
    fn multiply_low(self, factor: u32) -> Self {
        Self(unsafe { _mm512_mul_epu32(self.0, _mm512_set1_epi64(factor as i64)) })
    }
    #[inline(always)]
    fn high_xor(self, other: Self, key: u32) -> Self {
        unsafe {
            // A shuffle rather than a shift: it runs beside the multiplications, on another port.
            let high = _mm512_shuffle_epi32::<0xf5>(self.0);
            Self(_mm512_ternarylogic_epi64::<0x96>(high, other.0, _mm512_set1_epi64(key as i64)))
        }
    }
    #[inline(always)]
    fn next_calls(particle: Self, block: Self, (whole, rest): (u32, u32), blocks: u32) -> (Self, Self) {
        unsafe {
            let block = _mm512_add_epi64(block.0, _mm512_set1_epi64(i64::from(rest)));
            let particle = _mm512_add_epi64(particle.0, _mm512_set1_epi64(i64::from(whole)));
            let blocks = _mm512_set1_epi64(i64::from(blocks));
            let over = _mm512_cmpge_epi64_mask(block, blocks);
            let particle = _mm512_mask_add_epi64(particle, over, particle, _mm512_set1_epi64(1));
            (Self(particle), Self(_mm512_mask_sub_epi64(block, over, block, blocks)))
        }
    }
    #[inline(always)]
    fn lows(self) -> [u32; 8] {
        unsafe { std::mem::transmute::<__m512i, [u64; 8]>(self.0) }.map(|w| w as u32)
    }
}
