//! Single precision: one register of sixteen numbers.

use super::{WordsRegister, avx512_vector};
use crate::simd::operators::{arithmetic, lanes_as, registers, through_arrays};
use crate::simd::{Vector, avx2};
use std::arch::x86_64::*;

avx512_vector!(
    VectorF32,
    __m512,
    f32,
    16,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_div_ps,
    _mm512_min_ps,
    _mm512_max_ps,
    _mm512_fmadd_ps,
    _mm512_sqrt_ps,
    _mm512_abs_ps,
    _mm512_roundscale_ps,
    _mm512_cmp_ps_mask,
    _mm512_mask_blend_ps,
    _mm512_set1_ps,
    _mm512_xor_ps
);

impl Vector for VectorF32 {
    type Scalar = f32;
    type Bits = __m512i;
    type Words = WordsRegister;
    type Sets = [__m512i; 1];
    const LANES: usize = 16;
    const REGISTERS: usize = 32;

    through_arrays!(f32, 16);

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self(registers!(_mm512_set1_ps(value)))
    }
    #[inline(always)]
    fn load_partial(from: &[f32]) -> Self {
        let count = from.len().min(16) as u32;
        // SAFETY: the processor has AVX-512, as `registers!` says; lanes beyond the slice are masked and not read.
        Self(unsafe { _mm512_maskz_loadu_ps(((1u32 << count) - 1) as __mmask16, from.as_ptr()) })
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f32]) {
        let count = to.len().min(16) as u32;
        // SAFETY: as above; lanes beyond the slice are masked and not written.
        unsafe { _mm512_mask_storeu_ps(to.as_mut_ptr(), ((1u32 << count) - 1) as __mmask16, self.0) }
    }
    #[inline(always)]
    fn load_single(from: &[f32]) -> Self {
        Self::load(from)
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(registers!(_mm512_scalef_ps(self.0, exponent.0)))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        let halves = registers!((_mm512_castps512_ps256(self.0), _mm512_extractf32x8_ps::<1>(self.0)));
        avx2::sum_f32(registers!(_mm256_add_ps(halves.0, halves.1)))
    }
    #[inline(always)]
    fn prefetch(at: &[f32]) {
        // SAFETY: a hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        self.lanes_sqrt()
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        registers!({
            let bits = _mm512_castps_si512(self.0);
            let one = _mm512_set1_epi32(1.0f32.to_bits() as i32);
            let offset = _mm512_set1_epi32(1.0f32.to_bits() as i32 - std::f32::consts::FRAC_1_SQRT_2.to_bits() as i32);
            let shifted = _mm512_add_epi32(bits, offset);
            let biased = _mm512_srli_epi32::<23>(shifted);
            let upper = _mm512_and_si512(shifted, _mm512_set1_epi32(-1 << 23));
            let mantissa = _mm512_add_epi32(_mm512_sub_epi32(bits, upper), one);
            let exponent = _mm512_sub_ps(_mm512_cvtepi32_ps(biased), _mm512_set1_ps(127.0));
            (Self(_mm512_castsi512_ps(mantissa)), Self(exponent))
        })
    }
    #[inline(always)]
    fn all_less(self, other: Self) -> bool {
        registers!(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(self.0, other.0) == 0xffff)
    }
    #[inline(always)]
    fn sets(groups: [WordsRegister; 2]) -> Self::Sets {
        registers!({
            let evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
            [_mm512_permutex2var_epi32(groups[0].0, evens, groups[1].0)]
        })
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(registers!(_mm512_castsi512_ps(bits)))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        registers!(_mm512_castps_si512(self.0))
    }
    #[inline(always)]
    fn from_unsigned(bits: __m512i) -> Self {
        Self(registers!(_mm512_add_ps(_mm512_cvtepu32_ps(bits), _mm512_set1_ps(0.5))))
    }
    #[inline(always)]
    fn from_signed30(bits: __m512i) -> Self {
        registers!({
            let low = _mm512_and_si512(bits, _mm512_set1_epi32(0x3fff_ffff));
            let centred = _mm512_sub_epi32(low, _mm512_set1_epi32(1 << 29));
            Self(_mm512_add_ps(_mm512_cvtepi32_ps(centred), _mm512_set1_ps(0.5)))
        })
    }
    #[inline(always)]
    fn flip_sign(self, bits: __m512i) -> Self {
        registers!({
            let sign = _mm512_and_si512(bits, _mm512_set1_epi32(i32::MIN));
            Self(_mm512_castsi512_ps(_mm512_xor_si512(_mm512_castps_si512(self.0), sign)))
        })
    }
    #[inline(always)]
    fn exchange(bits: __m512i, a: Self, b: Self) -> (Self, Self) {
        registers!({
            let mask = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(1 << 30));
            (Self(_mm512_mask_blend_ps(mask, a.0, b.0)), Self(_mm512_mask_blend_ps(mask, b.0, a.0)))
        })
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = parts;
        assert!(to.len() >= 64);
        registers!({
            let low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
            let high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
            let first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
            let second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
            for (half, pick) in [low, high].into_iter().enumerate() {
                let ab = _mm512_castps_pd(_mm512_permutex2var_ps(a.0, pick, b.0));
                let cd = _mm512_castps_pd(_mm512_permutex2var_ps(c.0, pick, d.0));
                let out = &mut to[32 * half..][..32];
                Self(_mm512_castpd_ps(_mm512_permutex2var_pd(ab, first, cd))).store(out);
                Self(_mm512_castpd_ps(_mm512_permutex2var_pd(ab, second, cd))).store(&mut out[16..]);
            }
        })
    }
    #[inline(always)]
    fn load_transposed(rows: &[f32], stride: usize, width: usize, to: &mut [Self]) {
        assert!(width <= 16 && rows.len() >= stride.saturating_mul(15).saturating_add(width) && to.len() >= 16);
        if width == 4 {
            let mut every_fourth = [Self::splat(0.0).0; 4];
            for (i, quarters) in every_fourth.iter_mut().enumerate() {
                // SAFETY: the processor has AVX-512, as `registers!` says; within `rows`, by the assertion.
                let [a, b, c, d] = unsafe {
                    let row = rows.as_ptr().add(i * stride);
                    [
                        _mm_loadu_ps(row),
                        _mm_loadu_ps(row.add(4 * stride)),
                        _mm_loadu_ps(row.add(8 * stride)),
                        _mm_loadu_ps(row.add(12 * stride)),
                    ]
                };
                *quarters = registers!({
                    let two = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(a), b);
                    _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(two, c), d)
                });
            }
            to[..4].copy_from_slice(&squares_of_four(every_fourth));
            return;
        }
        let mask = ((1u32 << width) - 1) as __mmask16;
        for (lane, v) in to[..16].iter_mut().enumerate() {
            // SAFETY: within `rows`, by the assertion; masked lanes are not read.
            *v = Self(unsafe { _mm512_maskz_loadu_ps(mask, rows.as_ptr().add(lane * stride)) });
        }
        Self::transpose(to);
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 16] = (&mut square[..16]).try_into().expect("a square of 16");
        registers!({
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
        })
    }
}

/// In each quarter a square of four, transposed.
#[inline(always)]
fn squares_of_four([a, b, c, d]: [__m512; 4]) -> [VectorF32; 4] {
    registers!({
        let (low, low_other) = (_mm512_unpacklo_ps(a, b), _mm512_unpacklo_ps(c, d));
        let (high, high_other) = (_mm512_unpackhi_ps(a, b), _mm512_unpackhi_ps(c, d));
        [
            VectorF32(_mm512_shuffle_ps::<0x44>(low, low_other)),
            VectorF32(_mm512_shuffle_ps::<0xee>(low, low_other)),
            VectorF32(_mm512_shuffle_ps::<0x44>(high, high_other)),
            VectorF32(_mm512_shuffle_ps::<0xee>(high, high_other)),
        ]
    })
}
