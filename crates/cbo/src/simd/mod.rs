//! Portable SIMD: one formula, compiled for AVX-512, AVX2 + FMA and plain Rust, chosen at run time.
//!
//! Every backend has the same number of lanes (8 for `f64`, 16 for `f32`) and performs the same IEEE
//! operations in the same order (fused multiply-add, correctly rounded square root and division), so **all
//! backends return the same bits**. The tests hold them to that.
//!
//! A computation is a [`Kernel`]: a struct with its arguments and one generic method. [`run`] picks the best
//! backend that the machine has, or the one that the environment variable `CBO_SIMD` names:
//!
//! ```
//! use cbo::simd::{self, Kernel, Vector};
//!
//! struct SumOfSquares<'a>(&'a [f64]);
//!
//! impl Kernel<f64> for SumOfSquares<'_> {
//!     type Output = f64;
//!     #[inline(always)]
//!     fn run<V: Vector<Scalar = f64>>(self) -> f64 {
//!         let mut sum = V::splat(0.0);
//!         for chunk in self.0.chunks(V::LANES) {
//!             let x = V::load_partial(chunk);
//!             sum = x.mul_add(x, sum);
//!         }
//!         sum.sum()
//!     }
//! }
//!
//! assert_eq!(simd::run(SumOfSquares(&[3.0, 4.0])), 25.0);
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod math;
mod operators;
mod portable;
mod real;
mod set;
mod trace;
mod vector;

#[doc(hidden)]
pub use math::Coefficients;
pub use math::{exp_of, ln_of, polynomial};
pub use real::Real;
pub use set::{InstructionSet, UnavailableSet, VARIABLE, available, chosen, current};
pub use trace::{Line, Operand, Operation, Trace, Traced};
pub use vector::{Scalar, Vector, Words};

/// A computation written once over any [`Vector`].
///
/// Mark `run`, and what it calls, `#[inline(always)]`: only then is the body compiled for each instruction set.
pub trait Kernel<T: Scalar> {
    /// What the computation returns.
    type Output;
    /// The computation.
    fn run<V: Vector<Scalar = T>>(self) -> Self::Output;
}

/// Runs `kernel` on the [`current`] instruction set.
#[inline]
pub fn run<T: Scalar, K: Kernel<T>>(kernel: K) -> K::Output {
    T::run_on(current(), kernel)
}

/// Runs `kernel` on the instruction set `set`.
#[inline]
pub fn run_on<T: Scalar, K: Kernel<T>>(set: InstructionSet, kernel: K) -> K::Output {
    T::run_on(set, kernel)
}
