// The arithmetic of `cbo::simd`: the same operations in the same order, so the same bits. The polynomials (`..._polynomial`) and the
// `Limits` of both precisions are written by `source.rs` from the tables of the engine.

FN double infinity() { return __longlong_as_double(0x7ff0000000000000ll); }
FN double not_a_number() { return __longlong_as_double(0x7ff8000000000000ll); }

template <class R> FN R least_of(R a, R b) { return a < b ? a : b; }
template <class R> FN R greatest_of(R a, R b) { return a > b ? a : b; }
template <class R> FN R select_less(R a, R b, R yes, R no) { return a < b ? yes : no; }
FN double root(double x) { return sqrt(x); }
FN float root(float x) { return sqrtf(x); }
FN double absolute(double x) { return fabs(x); }
FN float absolute(float x) { return fabsf(x); }
FN double down(double x) { return floor(x); }
FN float down(float x) { return floorf(x); }
FN double nearest(double x) { return rint(x); }
FN float nearest(float x) { return rintf(x); }

// x 2^exponent.
FN double scale(double x, double e) { return x * __longlong_as_double((long long)((int)e + 1023) << 52); }
FN float scale(float x, float e) { return x * __int_as_float(((int)e + 127) << 23); }

// Mantissa in [sqrt(1/2), sqrt(2)) and exponent.
FN void split(double x, double& mantissa, double& exponent) {
    const u64 bits = __double_as_longlong(x), half_root = 0x3fe6a09e667f3bcdull, one = 0x3ff0000000000000ull;
    const u64 biased = (bits - half_root + one) >> 52;
    mantissa = __longlong_as_double((long long)(bits - (biased << 52) + one));
    exponent = (double)biased - 1023.0;
}
FN void split(float x, float& mantissa, float& exponent) {
    const u32 bits = __float_as_int(x), half_root = 0x3f3504f3u, one = 0x3f800000u;
    const u32 biased = (bits - half_root + one) >> 23;
    mantissa = __int_as_float((int)(bits - (biased << 23) + one));
    exponent = (float)biased - 127.0f;
}

template <class R> FN R alternating(R whole) {
    const R half = whole * (R)0.5;
    return mul_add(half - down(half), (R)-4.0, (R)1.0);
}
template <class R> FN R sin_pi_up_to_sign(R x) {
    const R r = x - nearest(x);
    return r * sin_pi_polynomial(r * r);
}
template <class R> FN R sin_pi(R x) { return sin_pi_up_to_sign(x) * alternating(nearest(x)); }

template <class R> FN R sin_shifted(R x, double shift) {
    const R multiple = nearest(mul_add(x, (R)0.31830988618379067154, (R)shift));
    const R centre = multiple - (R)shift;
    R r = x;
    r = mul_add(centre, (R)-Limits<R>::pi_0, r);
    r = mul_add(centre, (R)-Limits<R>::pi_1, r);
    r = mul_add(centre, (R)-Limits<R>::pi_2, r);
    const R result = r * sin_polynomial(r * r) * alternating(multiple);
    if (absolute(x) < (R)Limits<R>::largest_angle) return result;
    return (R)(shift == 0.0 ? sin((double)x) : cos((double)x));
}
template <class R> FN R sine(R x) { return sin_shifted(x, 0.0); }
template <class R> FN R cosine(R x) { return sin_shifted(x, 0.5); }

template <class R> FN R exponential(R x) {
    const R high = (R)Limits<R>::exp_high, low = (R)Limits<R>::exp_low;
    R clamped = select_less(high, x, high, x);
    clamped = select_less(clamped, low, low, clamped);
    const R n = nearest(clamped * (R)1.44269504088896340736);
    R r = mul_add(n, (R)-Limits<R>::ln2_0, clamped);
    r = mul_add(n, (R)-Limits<R>::ln2_1, r);
    const R half = down(n * (R)0.5);
    R result = scale(scale(exp_polynomial(r), half), n - half);
    result = select_less(high, x, (R)infinity(), result);
    return select_less(x, low, (R)0.0, result);
}

template <class R> FN R logarithm(R x) {
    const R tiny = (R)Limits<R>::least_normal, lift = (R)Limits<R>::lift, zero = (R)0.0;
    const R lifted = select_less(x, tiny, scale(x, lift), x);
    const R correction = select_less(x, tiny, lift, zero);
    R m, e;
    split(lifted, m, e);
    e = e - correction;
    const R s = (m - (R)1.0) / (m + (R)1.0);
    R result = mul_add(e, (R)Limits<R>::ln2_1, s * ln_polynomial(s * s));
    result = mul_add(e, (R)Limits<R>::ln2_0, result);
    const R inf = (R)infinity();
    result = select_less(x, inf, result, x);
    result = select_less(zero, x, result, x * zero - inf);
    return select_less(x, zero, (R)not_a_number(), result);
}

// The sum of all lanes, added pairwise.
template <class R, int LANES> FN R sum_of(R (&lanes)[LANES]) {
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int i = 0; i < half; ++i) lanes[i] = lanes[i] + lanes[i + half];
    return lanes[0];
}
