//! The operators and the constant-on-the-right forms that every vector type shares.

/// Implements the arithmetic of `Real` for a vector type out of its inherent lane operations
/// (`lanes_add`, `lanes_sub`, `lanes_mul`, `lanes_div`, ...) and the functions of `math`.
macro_rules! arithmetic {
    ($vector:ident, $scalar:ty) => {
        arithmetic!(@operator $vector, Add, add, lanes_add);
        arithmetic!(@operator $vector, Sub, sub, lanes_sub);
        arithmetic!(@operator $vector, Mul, mul, lanes_mul);
        arithmetic!(@operator $vector, Div, div, lanes_div);

        impl std::ops::Neg for $vector {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                self.lanes_neg()
            }
        }

        impl crate::simd::Real for $vector {
            #[inline(always)]
            fn constant(value: f64) -> Self {
                <Self as crate::simd::Vector>::splat(value as $scalar)
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, summand: Self) -> Self {
                self.lanes_mul_add(factor, summand)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                self.lanes_sqrt()
            }
            #[inline(always)]
            fn abs(self) -> Self {
                self.lanes_abs()
            }
            #[inline(always)]
            fn floor(self) -> Self {
                self.lanes_floor()
            }
            #[inline(always)]
            fn round(self) -> Self {
                self.lanes_round()
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                self.lanes_min(other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                self.lanes_max(other)
            }
            #[inline(always)]
            fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
                self.lanes_select_less(other, yes, no)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                crate::simd::math::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                crate::simd::math::ln(self)
            }
            #[inline(always)]
            fn sin(self) -> Self {
                crate::simd::math::sin(self)
            }
            #[inline(always)]
            fn cos(self) -> Self {
                crate::simd::math::cos(self)
            }
            #[inline(always)]
            fn sin_pi(self) -> Self {
                crate::simd::math::sin_pi(self)
            }
            #[inline(always)]
            fn sin_pi_up_to_sign(self) -> Self {
                crate::simd::math::sin_pi_up_to_sign(self)
            }
        }
    };
    (@operator $vector:ident, $trait:ident, $method:ident, $lanes:ident) => {
        impl std::ops::$trait for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.$lanes(other)
            }
        }
        impl std::ops::$trait<f64> for $vector {
            type Output = Self;
            #[inline(always)]
            fn $method(self, constant: f64) -> Self {
                self.$lanes(<Self as crate::simd::Real>::constant(constant))
            }
        }
    };
}

/// The parts of `Vector` that are the same for all types, given `LANES` numbers in `to_array` / `from_array`.
macro_rules! through_arrays {
    ($scalar:ty, $lanes:expr) => {
        #[inline(always)]
        fn load(from: &[$scalar]) -> Self {
            Self::from_array(from[..$lanes].try_into().expect("a full vector"))
        }
        #[inline(always)]
        fn store(self, to: &mut [$scalar]) {
            // Not `copy_from_slice`, which is not always inlined.
            let to: &mut [$scalar; $lanes] = (&mut to[..$lanes]).try_into().expect("room for a vector");
            *to = self.to_array();
        }
        #[inline(always)]
        fn map(self, f: impl Fn($scalar) -> $scalar) -> Self {
            Self::from_array(self.to_array().map(f))
        }
    };
}

/// Partial loads and stores and the transpose by way of memory, for the portable backend.
macro_rules! through_memory {
    ($scalar:ty, $lanes:expr) => {
        #[inline(always)]
        fn load_partial(from: &[$scalar]) -> Self {
            if from.len() >= $lanes {
                return Self::load(from);
            }
            let mut lanes = [0.0; $lanes];
            lanes[..from.len()].copy_from_slice(from);
            Self::from_array(lanes)
        }
        #[inline(always)]
        fn store_partial(self, to: &mut [$scalar]) {
            let count = to.len().min($lanes);
            to[..count].copy_from_slice(&self.to_array()[..count]);
        }
        #[inline(always)]
        fn transpose(square: &mut [Self]) {
            let mut rows = [[0.0; $lanes]; $lanes];
            for (row, v) in rows.iter_mut().zip(square.iter()) {
                *row = v.to_array();
            }
            for (k, v) in square[..$lanes].iter_mut().enumerate() {
                *v = Self::from_array(std::array::from_fn(|r| rows[r][k]));
            }
        }
    };
}

/// Evaluates intrinsics that work on registers alone, inside a backend's own module.
macro_rules! registers {
    ($value:expr) => {{
        // SAFETY: the types of a backend are reachable only inside a kernel that `Scalar::run_on` runs on its instruction set,
        // and the `InstructionSet` that it takes is the proof that the processor has it. Nothing here follows a pointer.
        unsafe { $value }
    }};
}

/// Reinterprets registers as an array of their lanes, or the other way round.
macro_rules! lanes_as {
    ($from:ty => $to:ty, $value:expr) => {{
        // SAFETY: both are plain numbers of the same total size, valid for all bits.
        unsafe { std::mem::transmute::<$from, $to>($value) }
    }};
}

pub(super) use {arithmetic, lanes_as, registers, through_arrays, through_memory};
