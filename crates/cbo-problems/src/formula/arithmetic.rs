//! Functions of real numbers made of those that the engine has: for one number or for a vector of them.

use super::words::Function;
use cbo::simd::Real;
use std::f64::consts::{LN_2, LN_10};

/// Whole powers up to this one are products.
const LARGEST_WHOLE: f64 = 2_147_483_648.0;

/// `base^exponent`: whole powers by repeated squaring, half ones with a square root, others by logarithms, NaN for a negative base.
#[inline(always)]
pub(super) fn power<R: Real>(base: R, exponent: f64) -> R {
    let size = exponent.abs();
    let whole = size.floor();
    let half = size - whole;
    if !(size <= LARGEST_WHOLE && (half == 0.0 || half == 0.5)) {
        return base.powf(exponent);
    }
    let mut result = base.powi(whole as u32);
    if half == 0.5 {
        let root = base.sqrt();
        result = if whole == 0.0 { root } else { result * root };
    }
    if exponent < 0.0 { R::constant(1.0) / result } else { result }
}

/// `base^exponent` for numbers that are not known before.
#[inline(always)]
pub(super) fn general_power<R: Real>(base: R, exponent: R) -> R {
    (base.ln() * exponent).exp()
}

/// The smaller of two numbers, NaN if one of them is: `min` of a vector gives its second operand then, so it is asked both ways.
#[inline(always)]
pub(super) fn smaller<R: Real>(a: R, b: R) -> R {
    a.min(b) * 0.5 + b.min(a) * 0.5
}

/// The larger of two numbers, NaN if one of them is.
#[inline(always)]
pub(super) fn larger<R: Real>(a: R, b: R) -> R {
    a.max(b) * 0.5 + b.max(a) * 0.5
}

/// A function of one number.
#[inline(always)]
pub(super) fn call<R: Real>(function: Function, x: R) -> R {
    match function {
        Function::Sin => x.sin(),
        Function::Cos => x.cos(),
        Function::Tan => x.sin() / x.cos(),
        Function::Exp => x.exp(),
        Function::Ln => x.ln(),
        Function::Log2 => x.ln() / LN_2,
        Function::Log10 => x.ln() / LN_10,
        Function::Sqrt => x.sqrt(),
        Function::Abs => x.abs(),
        Function::Floor => x.floor(),
        Function::Round => x.round(),
        Function::Sign => sign(x),
        Function::Sinh => sinh(x),
        Function::Cosh => (x.exp() + (-x).exp()) * 0.5,
        Function::Tanh => tanh(x),
        // Of one number these are the number.
        Function::Min | Function::Max => x,
    }
}

/// -1, 0 or 1; NaN stays.
#[inline(always)]
fn sign<R: Real>(x: R) -> R {
    let zero = R::constant(0.0);
    let above = zero.select_less(x, R::constant(1.0), x);
    x.select_less(zero, R::constant(-1.0), above)
}

/// sinh(x) for |x| < 1, where the difference of exponentials would lose digits: the series, whose next term is below 1e-19.
#[inline(always)]
fn small_sinh<R: Real>(x: R) -> R {
    let square = x * x;
    let mut sum = R::constant(1.0);
    // x (1 + x^2/(2 3) (1 + x^2/(4 5) (1 + ...)))
    let mut k = 18.0;
    while k > 1.0 {
        sum = (square * sum) / (k * (k + 1.0)) + 1.0;
        k -= 2.0;
    }
    x * sum
}

#[inline(always)]
fn sinh<R: Real>(x: R) -> R {
    let far = (x.exp() - (-x).exp()) * 0.5;
    x.abs().select_less(R::constant(1.0), small_sinh(x), far)
}

#[inline(always)]
fn tanh<R: Real>(x: R) -> R {
    let size = x.abs();
    let doubled = (size * 2.0).exp();
    // (e^2s - 1) / (e^2s + 1), without the infinities of large s.
    let far = sign(x) * (R::constant(1.0) - R::constant(2.0) / (doubled + 1.0));
    let near = small_sinh(x) / ((x.exp() + (-x).exp()) * 0.5);
    size.select_less(R::constant(1.0), near, far)
}
