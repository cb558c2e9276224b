//! The portable backend: plain arrays. It defines the bits that the others must return.

use super::operators::{arithmetic, through_arrays, through_memory};
use super::{Vector, Words};

macro_rules! portable_vector {
    ($vector:ident, $scalar:ident, $bits:ident, $lanes:literal, $sets:literal, $mantissa:literal, $bias:literal,
     $quick_sqrt:path) => {
        /// Lanes in a plain array.
        #[derive(Clone, Copy)]
        pub struct $vector([$scalar; $lanes]);

        impl $vector {
            #[inline(always)]
            fn from_array(lanes: [$scalar; $lanes]) -> Self {
                Self(lanes)
            }
            #[inline(always)]
            fn to_array(self) -> [$scalar; $lanes] {
                self.0
            }
            #[inline(always)]
            fn zip(self, other: Self, f: impl Fn($scalar, $scalar) -> $scalar) -> Self {
                Self(std::array::from_fn(|i| f(self.0[i], other.0[i])))
            }
            #[inline(always)]
            fn each(self, f: impl Fn($scalar) -> $scalar) -> Self {
                Self(self.0.map(f))
            }
            #[inline(always)]
            fn lanes_add(self, other: Self) -> Self {
                self.zip(other, |a, b| a + b)
            }
            #[inline(always)]
            fn lanes_sub(self, other: Self) -> Self {
                self.zip(other, |a, b| a - b)
            }
            #[inline(always)]
            fn lanes_mul(self, other: Self) -> Self {
                self.zip(other, |a, b| a * b)
            }
            #[inline(always)]
            fn lanes_div(self, other: Self) -> Self {
                self.zip(other, |a, b| a / b)
            }
            // Not the standard library's, which ignore NaN.
            #[inline(always)]
            fn lanes_min(self, other: Self) -> Self {
                self.zip(other, |a, b| if a < b { a } else { b })
            }
            #[inline(always)]
            fn lanes_max(self, other: Self) -> Self {
                self.zip(other, |a, b| if a > b { a } else { b })
            }
            #[inline(always)]
            fn lanes_neg(self) -> Self {
                self.each(|a| -a)
            }
            #[inline(always)]
            fn lanes_mul_add(self, factor: Self, summand: Self) -> Self {
                Self(std::array::from_fn(|i| self.0[i].mul_add(factor.0[i], summand.0[i])))
            }
            #[inline(always)]
            fn lanes_sqrt(self) -> Self {
                self.each($scalar::sqrt)
            }
            #[inline(always)]
            fn lanes_abs(self) -> Self {
                self.each($scalar::abs)
            }
            #[inline(always)]
            fn lanes_floor(self) -> Self {
                self.each($scalar::floor)
            }
            #[inline(always)]
            fn lanes_round(self) -> Self {
                self.each($scalar::round_ties_even)
            }
            #[inline(always)]
            fn lanes_select_less(self, other: Self, yes: Self, no: Self) -> Self {
                Self(std::array::from_fn(|i| if self.0[i] < other.0[i] { yes.0[i] } else { no.0[i] }))
            }
        }

        arithmetic!($vector, $scalar);

        impl Vector for $vector {
            type Scalar = $scalar;
            type Bits = [u32; $lanes];
            type Words = WordsArray;
            type Sets = [[u32; $lanes]; $sets];
            const LANES: usize = $lanes;
            const REGISTERS: usize = 8;

            through_arrays!($scalar, $lanes);
            through_memory!($scalar, $lanes);

            #[inline(always)]
            fn splat(value: $scalar) -> Self {
                Self([value; $lanes])
            }
            #[inline(always)]
            fn load_single(from: &[f32]) -> Self {
                let from: &[f32; $lanes] = from[..$lanes].try_into().expect("a full vector");
                Self(from.map(|x| x as $scalar))
            }
            #[inline(always)]
            fn sum(self) -> $scalar {
                let mut lanes = self.0;
                let mut half = $lanes / 2;
                while half > 0 {
                    for i in 0..half {
                        lanes[i] += lanes[i + half];
                    }
                    half /= 2;
                }
                lanes[0]
            }
            #[inline(always)]
            fn scale(self, exponent: Self) -> Self {
                let power = |e: $scalar| $scalar::from_bits(((e as i32 + $bias) as $bits) << $mantissa);
                self.zip(exponent, |a, e| a * power(e))
            }
            #[inline(always)]
            fn prefetch(_at: &[$scalar]) {}
            #[inline(always)]
            fn quick_sqrt(self) -> Self {
                self.each($quick_sqrt)
            }
            #[inline(always)]
            fn split(self) -> (Self, Self) {
                let root = (std::$scalar::consts::FRAC_1_SQRT_2).to_bits();
                let one = (1.0 as $scalar).to_bits();
                let biased = self.0.map(|x| x.to_bits().wrapping_sub(root).wrapping_add(one) >> $mantissa);
                let mantissa = std::array::from_fn(|i| {
                    $scalar::from_bits(self.0[i].to_bits().wrapping_sub(biased[i] << $mantissa).wrapping_add(one))
                });
                (Self(mantissa), Self(biased.map(|b| b as $scalar - $bias as $scalar)))
            }
            #[inline(always)]
            fn all_less(self, other: Self) -> bool {
                (0..$lanes).all(|i| self.0[i] < other.0[i])
            }
            #[inline(always)]
            fn sets(groups: [WordsArray; 2]) -> Self::Sets {
                let words: [u32; 16] = std::array::from_fn(|i| groups[i / 8].0[i % 8] as u32);
                std::array::from_fn(|s| std::array::from_fn(|i| words[s * $lanes + i]))
            }
            #[inline(always)]
            fn from_bits(bits: Self::Bits) -> Self {
                Self(bits.map(|w| $scalar::from_bits(w.into())))
            }
            #[inline(always)]
            fn to_bits(self) -> Self::Bits {
                self.0.map(|x| x.to_bits() as u32)
            }
            #[inline(always)]
            fn from_unsigned(bits: Self::Bits) -> Self {
                Self(bits.map(|w| w as $scalar + 0.5))
            }
            #[inline(always)]
            fn from_signed30(bits: Self::Bits) -> Self {
                Self(bits.map(|w| ((w & 0x3fff_ffff) as i32 - (1 << 29)) as $scalar + 0.5))
            }
            #[inline(always)]
            fn flip_sign(self, bits: Self::Bits) -> Self {
                Self(std::array::from_fn(|i| if bits[i] >> 31 == 1 { -self.0[i] } else { self.0[i] }))
            }
            #[inline(always)]
            fn exchange(bits: Self::Bits, a: Self, b: Self) -> (Self, Self) {
                let pick = |a: Self, b: Self| {
                    Self(std::array::from_fn(|i| if bits[i] & (1 << 30) != 0 { b.0[i] } else { a.0[i] }))
                };
                (pick(a, b), pick(b, a))
            }
            #[inline(always)]
            fn store_interleaved(parts: [Self; 4], to: &mut [$scalar]) {
                for lane in 0..$lanes {
                    for (j, part) in parts.iter().enumerate() {
                        to[4 * lane + j] = part.0[lane];
                    }
                }
            }
        }
    };
}

portable_vector!(VectorF64, f64, u64, 8, 2, 52, 1023, quick_sqrt);
portable_vector!(VectorF32, f32, u32, 16, 1, 23, 127, f32::sqrt);

/// A root in single precision and one Newton step.
#[inline(always)]
fn quick_sqrt(x: f64) -> f64 {
    let root = (x as f32).sqrt();
    let (half_inverse, root) = (f64::from(0.5 / root), f64::from(root));
    (-root).mul_add(root, x).mul_add(half_inverse, root)
}

/// Words in a plain array.
#[derive(Clone, Copy)]
pub struct WordsArray([u64; 8]);

impl Words for WordsArray {
    #[inline(always)]
    fn new(lanes: [u64; 8]) -> Self {
        Self(lanes)
    }
    #[inline(always)]
    fn multiply_low(self, factor: u32) -> Self {
        Self(self.0.map(|w| (w & 0xffff_ffff) * factor as u64))
    }
    #[inline(always)]
    fn high(self) -> Self {
        Self(self.0.map(|w| w >> 32))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] ^ other.0[i]))
    }
    #[inline(always)]
    fn next_calls(particle: Self, block: Self, (whole, rest): (u32, u32), blocks: u32) -> (Self, Self) {
        let (mut particle, mut block) = (particle, block);
        for i in 0..8 {
            block.0[i] += u64::from(rest);
            particle.0[i] += u64::from(whole);
            if block.0[i] >= u64::from(blocks) {
                block.0[i] -= u64::from(blocks);
                particle.0[i] += 1;
            }
        }
        (particle, block)
    }
    #[inline(always)]
    fn lows(self) -> [u32; 8] {
        self.0.map(|w| w as u32)
    }
}
