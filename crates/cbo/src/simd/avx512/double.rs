//! Double precision: one register of eight numbers.

use super::{WordsRegister, avx512_vector};
use crate::simd::Vector;
use crate::simd::avx2::{self, MAGIC};
use crate::simd::operators::{arithmetic, lanes_as, registers, through_arrays};
use std::arch::x86_64::*;

avx512_vector!(
    VectorF64,
    __m512d,
    f64,
    8,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_div_pd,
    _mm512_min_pd,
    _mm512_max_pd,
    _mm512_fmadd_pd,
    _mm512_sqrt_pd,
    _mm512_abs_pd,
    _mm512_roundscale_pd,
    _mm512_cmp_pd_mask,
    _mm512_mask_blend_pd,
    _mm512_set1_pd,
    _mm512_xor_pd
);

impl Vector for VectorF64 {
    type Scalar = f64;
    type Bits = __m512i;
    type Words = WordsRegister;
    type Sets = [__m512i; 2];
    const LANES: usize = 8;
    const REGISTERS: usize = 32;

    through_arrays!(f64, 8);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self(registers!(_mm512_set1_pd(value)))
    }
    #[inline(always)]
    fn load_single(from: &[f32]) -> Self {
        let from: &[f32; 8] = from[..8].try_into().expect("a full vector");
        // SAFETY: the processor has AVX-512, as `registers!` says; eight numbers are there.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from.as_ptr())) })
    }
    #[inline(always)]
    fn load_partial(from: &[f64]) -> Self {
        let count = from.len().min(8) as u32;
        // SAFETY: the processor has AVX-512, as `registers!` says; lanes beyond the slice are masked and not read.
        Self(unsafe { _mm512_maskz_loadu_pd(((1u32 << count) - 1) as __mmask8, from.as_ptr()) })
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f64]) {
        let count = to.len().min(8) as u32;
        // SAFETY: as above; lanes beyond the slice are masked and not written.
        unsafe { _mm512_mask_storeu_pd(to.as_mut_ptr(), ((1u32 << count) - 1) as __mmask8, self.0) }
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(registers!(_mm512_scalef_pd(self.0, exponent.0)))
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        let halves = registers!((_mm512_castpd512_pd256(self.0), _mm512_extractf64x4_pd::<1>(self.0)));
        avx2::sum_f64(registers!(_mm256_add_pd(halves.0, halves.1)))
    }
    #[inline(always)]
    fn prefetch(at: &[f64]) {
        // SAFETY: a hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        registers!({
            let root = _mm256_sqrt_ps(_mm512_cvtpd_ps(self.0));
            let half_inverse = _mm512_cvtps_pd(_mm256_div_ps(_mm256_set1_ps(0.5), root));
            let root = _mm512_cvtps_pd(root);
            let error = _mm512_fnmadd_pd(root, root, self.0);
            Self(_mm512_fmadd_pd(error, half_inverse, root))
        })
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        registers!({
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
        })
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        registers!(_mm512_cmp_pd_mask::<_CMP_LT_OQ>(self.0, other.0) == 0xff)
    }
    #[inline(always)]
    fn sets(groups: [WordsRegister; 2]) -> Self::Sets {
        [groups[0].0, groups[1].0]
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(registers!(_mm512_castsi512_pd(bits)))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        registers!(_mm512_castpd_si512(self.0))
    }
    #[inline(always)]
    fn from_unsigned(bits: __m512i) -> Self {
        registers!({
            let low = _mm512_set1_epi64(0xffff_ffff);
            let magic = _mm512_set1_epi64(MAGIC.to_bits() as i64);
            // (bits & low) | magic
            let number = _mm512_ternarylogic_epi64::<0xf8>(magic, bits, low);
            Self(_mm512_sub_pd(_mm512_castsi512_pd(number), _mm512_set1_pd(MAGIC - 0.5)))
        })
    }
    #[inline(always)]
    fn from_signed30(bits: __m512i) -> Self {
        registers!({
            let low = _mm512_set1_epi64(0x3fff_ffff);
            let magic = _mm512_set1_epi64(MAGIC.to_bits() as i64);
            let number = _mm512_ternarylogic_epi64::<0xf8>(magic, bits, low);
            // In one subtraction: MAGIC + 2^29 - 1/2 is not a number of this size, so centre first; both are exact.
            let centred = _mm512_sub_pd(_mm512_castsi512_pd(number), _mm512_set1_pd(MAGIC + 536870912.0));
            Self(_mm512_add_pd(centred, _mm512_set1_pd(0.5)))
        })
    }
    #[inline(always)]
    fn flip_sign(self, bits: __m512i) -> Self {
        registers!({
            let sign = _mm512_and_si512(_mm512_slli_epi64::<32>(bits), _mm512_set1_epi64(i64::MIN));
            Self(_mm512_castsi512_pd(_mm512_xor_si512(_mm512_castpd_si512(self.0), sign)))
        })
    }
    #[inline(always)]
    fn exchange(bits: __m512i, a: Self, b: Self) -> (Self, Self) {
        registers!({
            let mask = _mm512_test_epi64_mask(bits, _mm512_set1_epi64(1 << 30));
            (Self(_mm512_mask_blend_pd(mask, a.0, b.0)), Self(_mm512_mask_blend_pd(mask, b.0, a.0)))
        })
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f64]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 32);
        registers!({
            let low = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let high = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
            let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
            for (half, pick) in [low, high].into_iter().enumerate() {
                let ab = _mm512_permutex2var_pd(a.0, pick, b.0);
                let cd = _mm512_permutex2var_pd(c.0, pick, d.0);
                let out = &mut to[16 * half..][..16];
                Self(_mm512_permutex2var_pd(ab, first, cd)).store(out);
                Self(_mm512_permutex2var_pd(ab, second, cd)).store(&mut out[8..]);
            }
        })
    }
    #[inline(always)]
    fn load_transposed(rows: &[f64], stride: usize, width: usize, to: &mut [Self]) {
        assert!(width <= 8 && rows.len() >= stride.saturating_mul(7).saturating_add(width) && to.len() >= 8);
        if width == 4 {
            let mut every_fourth = [Self::splat(0.0).0; 4];
            for (i, halves) in every_fourth.iter_mut().enumerate() {
                // SAFETY: the processor has AVX-512, as `registers!` says; within `rows`, by the assertion.
                let (low, high) = unsafe {
                    let row = rows.as_ptr().add(i * stride);
                    (_mm256_loadu_pd(row), _mm256_loadu_pd(row.add(4 * stride)))
                };
                *halves = registers!(_mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high));
            }
            to[..4].copy_from_slice(&squares_of_four(every_fourth));
            return;
        }
        let mask = ((1u32 << width) - 1) as __mmask8;
        for (lane, v) in to[..8].iter_mut().enumerate() {
            // SAFETY: within `rows`, by the assertion; masked lanes are not read.
            *v = Self(unsafe { _mm512_maskz_loadu_pd(mask, rows.as_ptr().add(lane * stride)) });
        }
        Self::transpose(to);
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 8] = (&mut square[..8]).try_into().expect("a square of 8");
        registers!({
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
        })
    }
}

/// In each half a square of four, transposed.
#[inline(always)]
fn squares_of_four([a, b, c, d]: [__m512d; 4]) -> [VectorF64; 4] {
    registers!({
        let (even, even_other) = (_mm512_unpacklo_pd(a, b), _mm512_unpacklo_pd(c, d));
        let (odd, odd_other) = (_mm512_unpackhi_pd(a, b), _mm512_unpackhi_pd(c, d));
        let first = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let second = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        [
            VectorF64(_mm512_permutex2var_pd(even, first, even_other)),
            VectorF64(_mm512_permutex2var_pd(odd, first, odd_other)),
            VectorF64(_mm512_permutex2var_pd(even, second, even_other)),
            VectorF64(_mm512_permutex2var_pd(odd, second, odd_other)),
        ]
    })
}
