//! exp, ln, sin and cos for vectors: argument reduction and polynomials, within a few units in the last place.
//!
//! The polynomials are Chebyshev fits; each comment names the function, the interval and the error of the fit.

use super::{Kernel, Scalar, Vector};

/// The coefficients for one precision, lowest power first.
pub struct Coefficients {
    /// sin(pi r)/r in r^2, |r| <= 1/2.
    pub sin_pi: &'static [f64],
    /// sin(r)/r in r^2, |r| <= pi/2.
    pub sin: &'static [f64],
    /// e^r, |r| <= ln(2)/2.
    pub exp: &'static [f64],
    /// 2 atanh(s)/s in s^2, |s| <= (sqrt 2 - 1)/(sqrt 2 + 1).
    pub ln: &'static [f64],
    /// pi as the nearest number of this precision, the nearest to the remainder, and so on; the fused reduction by the
    /// first is exact.
    pub pi_parts: [f64; 3],
    /// ln 2, likewise.
    pub ln2_parts: [f64; 2],
    /// Beyond this absolute value radians go to the standard library.
    pub largest_angle: f64,
    /// e^x overflows above and is zero below these.
    pub exp_range: (f64, f64),
    /// The least normal number; subnormal ones are lifted by a power of two.
    pub least_normal: f64,
    /// That power.
    pub lift: f64,
}

#[allow(clippy::excessive_precision)]
pub const F64: Coefficients = Coefficients {
    // error 3.6e-16
    sin_pi: &[
        3.1415926535897927,
        -5.1677127800497855,
        2.5501640398618677,
        -0.599264528825224,
        0.08214587881631043,
        -0.0073703643265304155,
        0.0004659870158043378,
        -2.113362735205297e-05,
    ],
    // error 2.1e-19
    sin: &[
        1.0,
        -0.16666666666666666,
        0.008333333333333186,
        -0.00019841269841208638,
        2.7557319211223257e-06,
        -2.505210688997513e-08,
        1.6058940847832492e-10,
        -7.643025738964345e-13,
        2.7215660921125597e-15,
    ],
    // error 4.3e-20
    exp: &[
        1.0,
        1.0,
        0.5,
        0.16666666666666702,
        0.04166666666666669,
        0.008333333333309335,
        0.0013888888888871753,
        0.00019841269909626037,
        2.480158735040281e-05,
        2.7557224580477215e-06,
        2.7557251634312097e-07,
        2.5114995257692174e-08,
        2.0921669745705126e-09,
    ],
    // error 2.3e-18
    ln: &[
        2.0,
        0.6666666666666765,
        0.3999999999929807,
        0.2857142876160948,
        0.22222196953363016,
        0.181836372994809,
        0.1531237773583146,
        0.1481128256774903,
    ],
    pi_parts: [std::f64::consts::PI, 1.2246467991473532e-16, -2.9947698097183397e-33],
    ln2_parts: [std::f64::consts::LN_2, 2.3190468138462996e-17],
    largest_angle: 1e6,
    exp_range: (709.782712893384, -708.3964185322641),
    least_normal: f64::MIN_POSITIVE,
    lift: 54.0,
};

#[allow(clippy::excessive_precision)]
pub const F32: Coefficients = Coefficients {
    // error 1.4e-8
    sin_pi: &[3.1415926400772034, -5.167710076668315, 2.550077386528912, -0.5982904112834275, 0.07765591227601387],
    // error 4.3e-9
    sin: &[
        0.999999995698809,
        -0.16666657947846011,
        0.008333050170671773,
        -0.00019809017408678003,
        2.605107635334788e-06,
    ],
    // error 2.0e-9
    exp: &[
        1.0,
        1.0000000379432992,
        0.5000000047401394,
        0.1666641450716956,
        0.04166635163844457,
        0.008375210200870016,
        0.0013941213100006334,
    ],
    // error 8.6e-12
    ln: &[2.0000000000084017, 0.6666666524171239, 0.4000038585087392, 0.2853497625458691, 0.23617811358975918],
    pi_parts: [std::f32::consts::PI as f64, -8.742277657347586e-8, -3.4302489988857658e-15],
    ln2_parts: [std::f32::consts::LN_2 as f64, -1.904654299957768e-9],
    largest_angle: 8e3,
    exp_range: (88.72283, -87.33654),
    least_normal: f32::MIN_POSITIVE as f64,
    lift: 25.0,
};

/// Evaluates a polynomial, lowest coefficient first, by Horner's rule.
#[inline(always)]
pub fn polynomial<V: Vector>(coefficients: &[f64], x: V) -> V {
    let (last, rest) = coefficients.split_last().expect("a polynomial has coefficients");
    let mut sum = V::constant(*last);
    for c in rest.iter().rev() {
        sum = sum.mul_add(x, V::constant(*c));
    }
    sum
}

/// 1 for even, -1 for odd whole numbers.
#[inline(always)]
fn alternating<V: Vector>(whole: V) -> V {
    let half = whole * 0.5;
    (half - half.floor()).mul_add(V::constant(-4.0), V::constant(1.0))
}

/// r times an even polynomial in r.
#[inline(always)]
fn odd<V: Vector>(coefficients: &[f64], r: V) -> V {
    r * polynomial(coefficients, r * r)
}

/// sin(pi x).
#[inline(always)]
pub fn sin_pi<V: Vector>(x: V) -> V {
    let nearest = x.round();
    odd(V::Scalar::COEFFICIENTS.sin_pi, x - nearest) * alternating(nearest)
}

/// sin(pi x) up to its sign.
#[inline(always)]
pub fn sin_pi_up_to_sign<V: Vector>(x: V) -> V {
    odd(V::Scalar::COEFFICIENTS.sin_pi, x - x.round())
}

/// sin(x + shift pi) for shift 0 or 1/2; `exact` serves arguments too large for the reduction.
#[inline(always)]
fn sin_shifted<V: Vector>(x: V, shift: f64, exact: impl Fn(f64) -> f64) -> V {
    let c = V::Scalar::COEFFICIENTS;
    let multiple = x.mul_add(V::constant(std::f64::consts::FRAC_1_PI), V::constant(shift)).round();
    let centre = multiple - shift;
    let mut r = x;
    for part in c.pi_parts {
        r = centre.mul_add(V::constant(-part), r);
    }
    let result = odd(c.sin, r) * alternating(multiple);
    // False for NaN and infinity too, which the reduction cannot serve.
    if x.abs().all_less(V::constant(c.largest_angle)) {
        return result;
    }
    let exact = x.map(|lane| V::Scalar::from_f64(exact(lane.to_f64())));
    x.abs().select_less(V::constant(c.largest_angle), result, exact)
}

/// sin(x).
#[inline(always)]
pub fn sin<V: Vector>(x: V) -> V {
    sin_shifted(x, 0.0, f64::sin)
}

/// cos(x).
#[inline(always)]
pub fn cos<V: Vector>(x: V) -> V {
    sin_shifted(x, 0.5, f64::cos)
}

/// e^x; results below the least normal number are zero.
#[inline(always)]
pub fn exp<V: Vector>(x: V) -> V {
    let c = V::Scalar::COEFFICIENTS;
    let (high, low) = c.exp_range;
    // Comparisons that are false for NaN leave the NaN in place.
    let clamped = V::constant(high).select_less(x, V::constant(high), x);
    let clamped = clamped.select_less(V::constant(low), V::constant(low), clamped);
    let n = (clamped * std::f64::consts::LOG2_E).round();
    let r = n.mul_add(V::constant(-c.ln2_parts[0]), clamped);
    let r = n.mul_add(V::constant(-c.ln2_parts[1]), r);
    // In two factors, since 2^n itself may lie just outside the normal range.
    let half = (n * 0.5).floor();
    let result = polynomial(c.exp, r).scale(half).scale(n - half);
    let result = V::constant(high).select_less(x, V::constant(f64::INFINITY), result);
    x.select_less(V::constant(low), V::constant(0.0), result)
}

/// e^x of one number, by the operations of the vectors: unlike the standard library's, its bits depend on no system.
pub fn exp_of(x: f64) -> f64 {
    super::run(ExpOf(x))
}

struct ExpOf(f64);

impl Kernel<f64> for ExpOf {
    type Output = f64;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> f64 {
        let mut first = [0.0];
        exp(V::splat(self.0)).store_partial(&mut first);
        first[0]
    }
}

/// ln(x) of one number, likewise.
pub fn ln_of(x: f64) -> f64 {
    super::run(LnOf(x))
}

struct LnOf(f64);

impl Kernel<f64> for LnOf {
    type Output = f64;
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> f64 {
        let mut first = [0.0];
        ln(V::splat(self.0)).store_partial(&mut first);
        first[0]
    }
}

/// ln(x): minus infinity at zero, NaN below.
#[inline(always)]
pub fn ln<V: Vector>(x: V) -> V {
    let c = V::Scalar::COEFFICIENTS;
    let tiny = V::constant(c.least_normal);
    let zero = V::constant(0.0);
    let lifted = x.select_less(tiny, x.scale(V::constant(c.lift)), x);
    let correction = x.select_less(tiny, V::constant(c.lift), zero);
    let (m, e) = lifted.split();
    let e = e - correction;
    let s = (m - 1.0) / (m + 1.0);
    let result = e.mul_add(V::constant(c.ln2_parts[1]), odd(c.ln, s));
    let result = e.mul_add(V::constant(c.ln2_parts[0]), result);
    let infinity = V::constant(f64::INFINITY);
    let result = x.select_less(infinity, result, x); // infinity and NaN pass through
    let result = zero.select_less(x, result, x * 0.0 - infinity); // zero and below, and NaN
    x.select_less(zero, V::constant(f64::NAN), result)
}
