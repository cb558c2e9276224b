//! Portable SIMD: one formula, compiled for AVX-512, AVX2 + FMA and plain Rust, chosen at run time.
//!
//! Every backend has the same number of lanes (8 for `f64`, 16 for `f32`) and performs the same IEEE
//! operations in the same order (fused multiply-add, correctly rounded square root and division), so **all
//! backends return the same bits**. The tests hold them to that.
//!
//! A computation is a [`Kernel`]: a struct with its arguments and one generic method. [`run`] picks the best
//! backend that the machine has:
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
mod vector;

pub use math::polynomial;
pub use real::Real;
pub use vector::{Scalar, Vector, Words};

use std::sync::OnceLock;

/// An instruction set that this build has kernels for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstructionSet {
    /// AVX-512 F and DQ: 512-bit registers.
    Avx512,
    /// AVX2 with FMA: pairs of 256-bit registers.
    Avx2,
    /// Plain Rust arrays, left to the compiler.
    Portable,
}

impl InstructionSet {
    /// Its name, for reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "avx512",
            Self::Avx2 => "avx2",
            Self::Portable => "portable",
        }
    }
}

/// The instruction sets that this machine can run, best first; the portable one is always last.
pub fn available() -> Vec<InstructionSet> {
    let mut sets = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") {
            sets.push(InstructionSet::Avx512);
        }
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            sets.push(InstructionSet::Avx2);
        }
    }
    sets.push(InstructionSet::Portable);
    sets
}

/// The instruction set that [`run`] uses on this machine.
pub fn best() -> InstructionSet {
    static BEST: OnceLock<InstructionSet> = OnceLock::new();
    *BEST.get_or_init(|| available()[0])
}

/// A computation written once over any [`Vector`].
///
/// Mark `run`, and what it calls, `#[inline(always)]`: only then is the body compiled for each instruction set.
pub trait Kernel<T: Scalar> {
    /// What the computation returns.
    type Output;
    /// The computation.
    fn run<V: Vector<Scalar = T>>(self) -> Self::Output;
}

/// Runs `kernel` on the best instruction set of this machine.
#[inline]
pub fn run<T: Scalar, K: Kernel<T>>(kernel: K) -> K::Output {
    T::run_on(best(), kernel)
}

/// Runs `kernel` on the instruction set `set`, or on the portable one if the machine lacks it (for tests and benchmarks).
pub fn run_on<T: Scalar, K: Kernel<T>>(set: InstructionSet, kernel: K) -> K::Output {
    if available().contains(&set) { T::run_on(set, kernel) } else { T::run_on(InstructionSet::Portable, kernel) }
}
