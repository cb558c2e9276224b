//! Single precision: two registers of eight numbers.

use super::{WordsPair, avx2_vector, both};
use crate::simd::Vector;
use crate::simd::operators::{arithmetic, lanes_as, registers, through_arrays};
use std::arch::x86_64::*;

avx2_vector!(
    VectorF32,
    __m256,
    f32,
    16,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_div_ps,
    _mm256_min_ps,
    _mm256_max_ps,
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

/// Sum of eight lanes, halves added first.
#[inline(always)]
pub(in crate::simd) fn sum_f32(v: __m256) -> f32 {
    registers!({
        let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
        let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
        _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
    })
}

impl Vector for VectorF32 {
    type Scalar = f32;
    type Bits = [__m256i; 2];
    type Words = WordsPair;
    type Sets = [[__m256i; 2]; 1];
    const LANES: usize = 16;
    const REGISTERS: usize = 8;

    through_arrays!(f32, 16);

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([registers!(_mm256_set1_ps(value)); 2])
    }
    #[inline(always)]
    fn load_single(from: &[f32]) -> Self {
        Self::load(from)
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(both!(i => {
            let biased = _mm256_add_epi32(_mm256_cvtps_epi32(exponent.0[i]), _mm256_set1_epi32(127));
            _mm256_mul_ps(self.0[i], _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)))
        }))
    }
    #[inline(always)]
    fn sum(self) -> f32 {
        sum_f32(registers!(_mm256_add_ps(self.0[0], self.0[1])))
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
        let parts = both!(i => {
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
        [both!(g => {
            let evens = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
            let low = _mm256_permutevar8x32_epi32(groups[g].0[0], evens);
            let high = _mm256_permutevar8x32_epi32(groups[g].0[1], evens);
            _mm256_blend_epi32::<0xf0>(low, high)
        })]
    }
    #[inline(always)]
    fn from_bits(bits: Self::Bits) -> Self {
        Self(both!(i => _mm256_castsi256_ps(bits[i])))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        both!(i => _mm256_castps_si256(self.0[i]))
    }
    #[inline(always)]
    fn from_unsigned(bits: Self::Bits) -> Self {
        Self(both!(i => {
            let w = bits[i];
            // Two exact halves, joined with one rounding: the same as a conversion of the whole.
            let high = _mm256_cvtepi32_ps(_mm256_srli_epi32::<16>(w));
            let low = _mm256_cvtepi32_ps(_mm256_and_si256(w, _mm256_set1_epi32(0xffff)));
            _mm256_add_ps(_mm256_fmadd_ps(high, _mm256_set1_ps(65536.0), low), _mm256_set1_ps(0.5))
        }))
    }
    #[inline(always)]
    fn from_signed30(bits: Self::Bits) -> Self {
        Self(both!(i => {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi32(0x3fff_ffff));
            let centred = _mm256_sub_epi32(low, _mm256_set1_epi32(1 << 29));
            _mm256_add_ps(_mm256_cvtepi32_ps(centred), _mm256_set1_ps(0.5))
        }))
    }
    #[inline(always)]
    fn flip_sign(self, bits: Self::Bits) -> Self {
        Self(both!(i => {
            let sign = _mm256_and_si256(bits[i], _mm256_set1_epi32(i32::MIN));
            _mm256_xor_ps(self.0[i], _mm256_castsi256_ps(sign))
        }))
    }
    #[inline(always)]
    fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self) {
        let mask = both!(i => {
            let w = bits[i]; _mm256_castsi256_ps(_mm256_slli_epi32::<1>(w)) });
        (
            Self(both!(i => _mm256_blendv_ps(a.0[i], b.0[i], mask[i]))),
            Self(both!(i => _mm256_blendv_ps(b.0[i], a.0[i], mask[i]))),
        )
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f32]) {
        let [a, b, c, d] = parts;
        let (to, _) = to[..64].as_chunks_mut::<32>();
        for (i, to) in to.iter_mut().enumerate() {
            *to = lanes_as!([__m256; 4] => [f32; 32], interleave([a.0[i], b.0[i], c.0[i], d.0[i]]));
        }
    }
    #[inline(always)]
    fn load_partial(from: &[f32]) -> Self {
        if from.len() >= 16 { Self::load(from) } else { Self([eight(from), eight(from.get(8..).unwrap_or(&[]))]) }
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f32]) {
        if to.len() >= 16 {
            return self.store(to);
        }
        // Ever smaller pieces: a masked store is slow on many processors.
        let (mut register, mut to) = (self.0[0], to);
        if to.len() >= 8 {
            let (whole, rest) = to.split_at_mut(8);
            whole.copy_from_slice(&lanes_as!(__m256 => [f32; 8], register));
            (register, to) = (self.0[1], rest);
        }
        let mut four = registers!(_mm256_castps256_ps128(register));
        if to.len() >= 4 {
            let (whole, rest) = to.split_at_mut(4);
            whole.copy_from_slice(&lanes_as!(__m128 => [f32; 4], four));
            (four, to) = (registers!(_mm256_extractf128_ps::<1>(register)), rest);
        }
        let lanes = lanes_as!(__m128 => [f32; 4], four);
        to.copy_from_slice(&lanes[..to.len()]);
    }
    #[inline(always)]
    fn load_transposed(rows: &[f32], stride: usize, width: usize, to: &mut [Self]) {
        let to: &mut [Self; 16] = (&mut to[..16]).try_into().expect("a square of 16");
        assert!(width <= 16 && rows.len() >= stride.saturating_mul(15).saturating_add(width));
        for (half, start) in [0, 8].into_iter().enumerate() {
            for column in [0, 8] {
                if column >= width {
                    continue;
                }
                let mut square = [registers!(_mm256_setzero_ps()); 8];
                for (row, v) in (start..).zip(&mut square) {
                    // What lies beyond the width does not matter, unless it lies beyond the rows.
                    *v = eight(&rows[row * stride + column..]);
                }
                for (k, v) in transpose8(square).into_iter().enumerate() {
                    to[column + k].0[half] = v;
                }
            }
        }
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 16] = (&mut square[..16]).try_into().expect("a square of 16");
        let mut t = *s;
        for (half, start) in [0, 8].into_iter().enumerate() {
            for (other, column) in [0, 8].into_iter().enumerate() {
                let mut rows = [registers!(_mm256_setzero_ps()); 8];
                for (row, v) in s[start..].iter().zip(&mut rows) {
                    *v = row.0[other];
                }
                for (k, v) in transpose8(rows).into_iter().enumerate() {
                    t[column + k].0[half] = v;
                }
            }
        }
        *s = t;
    }
}

/// The first eight numbers of a slice, the rest zero.
#[inline(always)]
fn eight(from: &[f32]) -> __m256 {
    if let Some(from) = from.first_chunk::<8>() {
        return lanes_as!([f32; 8] => __m256, *from);
    }
    if from.is_empty() {
        return registers!(_mm256_setzero_ps());
    }
    let count = registers!(_mm256_set1_epi32(from.len() as i32));
    let mask = registers!(_mm256_cmpgt_epi32(count, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
    // SAFETY: the processor has AVX2, as `registers!` says; lanes beyond the slice are masked and not read.
    unsafe { _mm256_maskload_ps(from.as_ptr(), mask) }
}

/// `fours[l]`: lane l of the four registers in the lower half, lane l + 4 in the upper.
#[inline(always)]
fn fours([a, b, c, d]: [__m256; 4]) -> [__m256; 4] {
    registers!({
        let (ab, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
        let (cd, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
        [
            _mm256_shuffle_ps::<0x44>(ab, cd),
            _mm256_shuffle_ps::<0xee>(ab, cd),
            _mm256_shuffle_ps::<0x44>(ab_high, cd_high),
            _mm256_shuffle_ps::<0xee>(ab_high, cd_high),
        ]
    })
}

/// The lanes of four registers in turns: all first lanes, then all second ones.
#[inline(always)]
fn interleave(parts: [__m256; 4]) -> [__m256; 4] {
    let [a, b, c, d] = fours(parts);
    registers!([
        _mm256_permute2f128_ps::<0x20>(a, b),
        _mm256_permute2f128_ps::<0x20>(c, d),
        _mm256_permute2f128_ps::<0x31>(a, b),
        _mm256_permute2f128_ps::<0x31>(c, d),
    ])
}

/// A square of eight rows, transposed.
#[inline(always)]
fn transpose8(rows: [__m256; 8]) -> [__m256; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    let (upper, lower) = (fours([a, b, c, d]), fours([e, f, g, h]));
    let mut columns = rows;
    for k in 0..4 {
        columns[k] = registers!(_mm256_permute2f128_ps::<0x20>(upper[k], lower[k]));
        columns[4 + k] = registers!(_mm256_permute2f128_ps::<0x31>(upper[k], lower[k]));
    }
    columns
}
