// The normals of `cbo::noise`: Philox4x32-10 and Box-Muller, four neighbouring coordinates of a particle at a time.

struct Noise { u32 key[2], high[2]; };

FN void philox(u32 (&c)[4], u32 k0, u32 k1) {
    EACH for (int round = 0; round < 10; ++round) {
        const u64 p0 = (u64)c[0] * 0xD2511F53u, p1 = (u64)c[2] * 0xCD9E8D57u;
        const u32 n0 = (u32)(p1 >> 32) ^ c[1] ^ k0, n2 = (u32)(p0 >> 32) ^ c[3] ^ k1;
        c[0] = n0; c[1] = (u32)p1; c[2] = n2; c[3] = (u32)p0;
        k0 += 0x9E3779B9u; k1 += 0xBB67AE85u;
    }
}

// A root that is quick in double precision: see `Vector::quick_sqrt`.
#ifdef __CUDACC__
// The root as the compiler has it for normal numbers, rounded correctly, without looking whether x is one: it is, or 0.
FN float quick_sqrt(float x) {
    float inverse;
    asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(inverse) : "f"(fmaxf(x, 1e-30f)));
    const float root = x * inverse;
    return mul_add(mul_add(-root, root, x), 0.5f * inverse, root);
}
#else
FN float quick_sqrt(float x) { return sqrtf(x); }
#endif
FN double quick_sqrt(double x) {
    const float single = sqrtf((float)x);
    const double half_inverse = (double)(0.5f / single), r = (double)single;
    return mul_add(mul_add(-r, r, x), half_inverse, r);
}

template <class R> FN R radius(u32 word) {
    R mantissa, exponent;
    split((R)word + (R)0.5, mantissa, exponent);
    const R x = mantissa - (R)1.0;
    constexpr double two_ln2 = 2.0 * 0.693147180559945309417;
    const R whole = mul_add(exponent, (R)-two_ln2, (R)(32.0 * two_ln2));
    return quick_sqrt(mul_add(radius_polynomial(x), x, whole));
}

// x, or -x if the highest bit of the word is set.
FN float with_sign(float x, u32 word) { return __int_as_float(__float_as_int(x) ^ (int)(word & 0x80000000u)); }
FN double with_sign(double x, u32 word) { return word >> 31 ? -x : x; }

template <class R> FN void on_circle(R r, u32 word, R& first, R& second) {
    // (n + 0.5) 2^-29: a power of two only scales, so one rounding does.
    const R t = mul_add((R)((int)(word & 0x3fffffffu) - (1 << 29)), (R)(1.0 / 536870912.0), (R)(0.5 / 536870912.0));
    const R t2 = t * t;
    const R s = sine_polynomial(t2) * t, larger = with_sign(cosine_polynomial(t2), word);
    const bool exchanged = (word & 0x40000000u) != 0;
    first = r * (exchanged ? s : larger);
    second = r * (exchanged ? larger : s);
}

// The normals of coordinates 4 quad to 4 quad + 3.
FN void normals(const Noise& noise, u32 particle, u32 quad, T (&z)[4]) {
    u32 c[4] = {particle, quad, noise.high[0], noise.high[1]};
    philox(c, noise.key[0], noise.key[1]);
    on_circle(radius<T>(c[0]), c[1], z[0], z[1]);
    on_circle(radius<T>(c[2]), c[3], z[2], z[3]);
}

struct Normals { T z[4]; };
#if CALLED
APART
#else
FN
#endif
Normals four_normals(u32 particle, u32 quad, u32 high0, u32 high1, u32 key0, u32 key1) {
    const Noise noise = {{key0, key1}, {high0, high1}};
    Normals four;
    normals(noise, particle, quad, four.z);
    return four;
}
