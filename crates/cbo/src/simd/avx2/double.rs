//! Double precision: two registers of four numbers.

use super::{WordsPair, avx2_vector, both};
use crate::simd::Vector;
use crate::simd::operators::{arithmetic, lanes_as, registers, through_arrays};
use std::arch::x86_64::*;

avx2_vector!(
    VectorF64,
    __m256d,
    f64,
    8,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_div_pd,
    _mm256_min_pd,
    _mm256_max_pd,
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

/// Sum of four lanes, halves added first.
#[inline(always)]
pub(in crate::simd) fn sum_f64(v: __m256d) -> f64 {
    registers!({
        let two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)))
    })
}

/// A 32-bit word or-ed into the mantissa of 2^52 is that number plus 2^52.
pub(in crate::simd) const MAGIC: f64 = 4503599627370496.0;

impl Vector for VectorF64 {
    type Scalar = f64;
    type Bits = [__m256i; 2];
    type Words = WordsPair;
    type Sets = [[__m256i; 2]; 2];
    const LANES: usize = 8;
    const REGISTERS: usize = 8;

    through_arrays!(f64, 8);

    #[inline(always)]
    fn splat(value: f64) -> Self {
        Self([registers!(_mm256_set1_pd(value)); 2])
    }
    #[inline(always)]
    fn load_single(from: &[f32]) -> Self {
        let from: &[f32; 8] = from[..8].try_into().expect("a full vector");
        // SAFETY: the processor has AVX2, as `registers!` says; eight numbers are there.
        Self(doubles(unsafe { _mm256_loadu_ps(from.as_ptr()) }))
    }
    #[inline(always)]
    fn scale(self, exponent: Self) -> Self {
        Self(both!(i => {
            // The sum's lowest mantissa bits are exponent + bias; the shift drops the rest.
            let shifted = _mm256_add_pd(exponent.0[i], _mm256_set1_pd(MAGIC + 1023.0));
            let power = _mm256_slli_epi64::<52>(_mm256_castpd_si256(shifted));
            _mm256_mul_pd(self.0[i], _mm256_castsi256_pd(power))
        }))
    }
    #[inline(always)]
    fn sum(self) -> f64 {
        sum_f64(registers!(_mm256_add_pd(self.0[0], self.0[1])))
    }
    #[inline(always)]
    fn prefetch(at: &[f64]) {
        // SAFETY: a hint about an address; it reads nothing.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(at.as_ptr().cast()) }
    }
    #[inline(always)]
    fn quick_sqrt(self) -> Self {
        // Both registers in one of single precision: root and quotient are slow.
        let (root, half_inverse) = registers!({
            let single = _mm256_set_m128(_mm256_cvtpd_ps(self.0[1]), _mm256_cvtpd_ps(self.0[0]));
            let root = _mm256_sqrt_ps(single);
            (root, _mm256_div_ps(_mm256_set1_ps(0.5), root))
        });
        let (root, half_inverse) = (doubles(root), doubles(half_inverse));
        Self(both!(i => {
            let error = _mm256_fnmadd_pd(root[i], root[i], self.0[i]);
            _mm256_fmadd_pd(error, half_inverse[i], root[i])
        }))
    }
    #[inline(always)]
    fn split(self) -> (Self, Self) {
        let parts = both!(i => {
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
        Self(both!(i => _mm256_castsi256_pd(bits[i])))
    }
    #[inline(always)]
    fn to_bits(self) -> Self::Bits {
        both!(i => _mm256_castpd_si256(self.0[i]))
    }
    #[inline(always)]
    fn from_unsigned(bits: Self::Bits) -> Self {
        Self(both!(i => {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi64x(0xffff_ffff));
            let number = _mm256_or_si256(low, _mm256_set1_epi64x(MAGIC.to_bits() as i64));
            _mm256_sub_pd(_mm256_castsi256_pd(number), _mm256_set1_pd(MAGIC - 0.5))
        }))
    }
    #[inline(always)]
    fn from_signed30(bits: Self::Bits) -> Self {
        Self(both!(i => {
            let w = bits[i];
            let low = _mm256_and_si256(w, _mm256_set1_epi64x(0x3fff_ffff));
            let number = _mm256_or_si256(low, _mm256_set1_epi64x(MAGIC.to_bits() as i64));
            let centred = _mm256_sub_pd(_mm256_castsi256_pd(number), _mm256_set1_pd(MAGIC + 536870912.0));
            _mm256_add_pd(centred, _mm256_set1_pd(0.5))
        }))
    }
    #[inline(always)]
    fn flip_sign(self, bits: Self::Bits) -> Self {
        Self(both!(i => {
            let sign = _mm256_and_si256(_mm256_slli_epi64::<32>(bits[i]), _mm256_set1_epi64x(i64::MIN));
            _mm256_xor_pd(self.0[i], _mm256_castsi256_pd(sign))
        }))
    }
    #[inline(always)]
    fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self) {
        // Bit 30 moved to the sign place, which the blend looks at.
        let mask = both!(i => {
            let w = bits[i]; _mm256_castsi256_pd(_mm256_slli_epi64::<33>(w)) });
        (
            Self(both!(i => _mm256_blendv_pd(a.0[i], b.0[i], mask[i]))),
            Self(both!(i => _mm256_blendv_pd(b.0[i], a.0[i], mask[i]))),
        )
    }
    #[inline(always)]
    fn store_interleaved(parts: [Self; 4], to: &mut [f64]) {
        let [a, b, c, d] = parts;
        let (to, _) = to[..32].as_chunks_mut::<16>();
        for (i, to) in to.iter_mut().enumerate() {
            let rows = [a.0[i], b.0[i], c.0[i], d.0[i]];
            *to = lanes_as!([__m256d; 4] => [f64; 16], transpose4(rows));
        }
    }
    #[inline(always)]
    fn load_partial(from: &[f64]) -> Self {
        if from.len() >= 8 { Self::load(from) } else { Self([four(from), four(from.get(4..).unwrap_or(&[]))]) }
    }
    #[inline(always)]
    fn store_partial(self, to: &mut [f64]) {
        if to.len() >= 8 {
            return self.store(to);
        }
        // Ever smaller pieces: a masked store is slow on many processors.
        let (mut register, mut to) = (self.0[0], to);
        if to.len() >= 4 {
            let (whole, rest) = to.split_at_mut(4);
            whole.copy_from_slice(&lanes_as!(__m256d => [f64; 4], register));
            (register, to) = (self.0[1], rest);
        }
        let mut pair = registers!(_mm256_castpd256_pd128(register));
        if to.len() >= 2 {
            let (whole, rest) = to.split_at_mut(2);
            whole.copy_from_slice(&lanes_as!(__m128d => [f64; 2], pair));
            (pair, to) = (registers!(_mm256_extractf128_pd::<1>(register)), rest);
        }
        if let [last] = to {
            *last = registers!(_mm_cvtsd_f64(pair));
        }
    }
    #[inline(always)]
    fn load_transposed(rows: &[f64], stride: usize, width: usize, to: &mut [Self]) {
        let to: &mut [Self; 8] = (&mut to[..8]).try_into().expect("a square of 8");
        assert!(width <= 8 && rows.len() >= stride.saturating_mul(7).saturating_add(width));
        for (half, start) in [0, 4].into_iter().enumerate() {
            for column in [0, 4] {
                if column >= width {
                    continue;
                }
                let mut square = [registers!(_mm256_setzero_pd()); 4];
                for (row, v) in (start..).zip(&mut square) {
                    // What lies beyond the width does not matter, unless it lies beyond the rows.
                    *v = four(&rows[row * stride + column..]);
                }
                for (k, v) in transpose4(square).into_iter().enumerate() {
                    to[column + k].0[half] = v;
                }
            }
        }
    }
    #[inline(always)]
    fn transpose(square: &mut [Self]) {
        let s: &mut [Self; 8] = (&mut square[..8]).try_into().expect("a square of 8");
        let mut t = *s;
        for (half, start) in [0, 4].into_iter().enumerate() {
            for (other, column) in [0, 4].into_iter().enumerate() {
                let mut rows = [registers!(_mm256_setzero_pd()); 4];
                for (row, v) in s[start..].iter().zip(&mut rows) {
                    *v = row.0[other];
                }
                for (k, v) in transpose4(rows).into_iter().enumerate() {
                    t[column + k].0[half] = v;
                }
            }
        }
        *s = t;
    }
}

/// Eight numbers in double precision.
#[inline(always)]
fn doubles(singles: __m256) -> [__m256d; 2] {
    registers!([_mm256_cvtps_pd(_mm256_castps256_ps128(singles)), _mm256_cvtps_pd(_mm256_extractf128_ps::<1>(singles))])
}

/// The first four numbers of a slice, the rest zero.
#[inline(always)]
fn four(from: &[f64]) -> __m256d {
    if let Some(from) = from.first_chunk::<4>() {
        return lanes_as!([f64; 4] => __m256d, *from);
    }
    if from.is_empty() {
        return registers!(_mm256_setzero_pd());
    }
    let count = registers!(_mm256_set1_epi64x(from.len() as i64));
    let mask = registers!(_mm256_cmpgt_epi64(count, _mm256_setr_epi64x(0, 1, 2, 3)));
    // SAFETY: the processor has AVX2, as `registers!` says; lanes beyond the slice are masked and not read.
    unsafe { _mm256_maskload_pd(from.as_ptr(), mask) }
}

/// A square of four rows, transposed.
#[inline(always)]
fn transpose4(rows: [__m256d; 4]) -> [__m256d; 4] {
    let [a, b, c, d] = rows;
    registers!({
        let (ab, ab_odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (cd, cd_odd) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        [
            _mm256_permute2f128_pd::<0x20>(ab, cd),
            _mm256_permute2f128_pd::<0x20>(ab_odd, cd_odd),
            _mm256_permute2f128_pd::<0x31>(ab, cd),
            _mm256_permute2f128_pd::<0x31>(ab_odd, cd_odd),
        ]
    })
}
