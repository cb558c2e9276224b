// What is done to one particle, and to the sums of blocks of them: the pieces of which `step.cuh` and `swarms.cuh` are made.
//
// From `source.rs`: T, DIM, ROWS and the switches below.

#define FIELDS 8
#define STRIDE (FIELDS + DIM)
#define WORDS ((ROWS + 31) / 32)
#define LANES (sizeof(T) == 8 ? 8 : 16)
enum Field { LEAST, PARTICLE, FAILED, INFEASIBLE, SHIFT, MASS, SQUARES };

#if CENTRE >= DIM
#define CENTRE_OF(a, k) (a).centre[k]
#else
#define CENTRE_OF(a, k) (a).far_centre[k]
#endif

// The coordinates of one particle: in registers, or where they are.
struct Held {
    T x[DIM];
    FN_MEMBER T at(u32 k) const { return x[k]; }
    FN_MEMBER void set(u32 k, T v) { x[k] = v; }
};
struct Lying {
    T* x;
    u64 n;
    FN_MEMBER T at(u32 k) const { return x[k * n]; }
    FN_MEMBER void set(u32 k, T v) { x[k * n] = v; }
};

#if ISOTROPIC
// The distance from the centre; what is far from it, the scheme says.
template <class P, class A> FN T norm_of(const P& p, const A& a) {
#if WIDE || TRUNCATED
    // Lane by lane, as vectors do.
    T lanes[LANES] = {};
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
#if TRUNCATED && DRIFT_FIRST
        const T x = (p.at(k) - CENTRE_OF(a, k)) * a.keep;
#else
        const T x = p.at(k) - CENTRE_OF(a, k);
#endif
        lanes[k % LANES] = mul_add(x, x, lanes[k % LANES]);
    }
    return root(sum_of<T, LANES>(lanes));
#else
    T square = (T)0.0;
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
        const T x = p.at(k) - CENTRE_OF(a, k);
        square = mul_add(x, x, square);
    }
    return root(square);
#endif
}
#endif

#if BOUNDED
// `cbo::reflect`.
FN double reflected(double x, double low, double high) {
    if (low <= x && x <= high) return x;
    if (fabs(low) == infinity() || fabs(high) == infinity()) {
        const double wall = x < low ? low : high;
        return fmin(fmax(2.0 * wall - x, low), high);
    }
    const double width = high - low;
    double offset = fmod(x - low, 2.0 * width);
    if (offset < 0.0) offset = offset + fabs(2.0 * width);
    const double inside = offset > width ? high - (offset - width) : low + offset;
    return fmin(fmax(inside, low), high);
}
#endif

// What ends a move: near zero is zero, and walls are walls.
template <class A> FN T settled(T x, u32 k, const A& a) {
    if (a.vanishes && absolute(x) < (T)TINY) x = (T)0.0;
#if BOUNDED == 1
    x = (T)reflected((double)x, (double)a.low[k], (double)a.high[k]);
#elif BOUNDED == 2
    if (!(x >= a.low[k] && x <= a.high[k])) x = least_of(greatest_of(x, a.low[k]), a.high[k]);
#endif
    return x;
}

// The move of one particle. `a` has the fields of `Args` in `step.cuh` that are named here.
template <class P, class A> FN void advance(P& p, const A& a, u32 particle) {
    const Noise diffusion = {{a.key[0], a.key[1]}, {a.diffusion[0], a.diffusion[1]}};
    const Noise kicks = {{a.key[0], a.key[1]}, {a.kick_noise[0], a.kick_noise[1]}};
#if ISOTROPIC && TRUNCATED
    const T amplitude = least_of(norm_of(p, a), a.longest) * a.noise;
#elif ISOTROPIC
    const T amplitude = norm_of(p, a) * a.noise;
#endif
    EACH_COORDINATE for (u32 quad = 0; quad < (DIM + 3) / 4; ++quad) {
        T xi[4], kick[4];
        normals(diffusion, particle, quad, xi);
        if (a.kicks) normals(kicks, particle, quad, kick);
        EACH for (u32 j = 0; j < 4; ++j) {
            const u32 k = 4 * quad + j;
            if (k < DIM) {
                const T centre = CENTRE_OF(a, k), distance = p.at(k) - centre;
#if ISOTROPIC
                T x = mul_add(amplitude, xi[j], mul_add(distance, a.keep, centre));
#elif TRUNCATED
                const T far = DRIFT_FIRST ? distance * a.keep : distance;
                const T cut = greatest_of(least_of(far, a.longest), (T)0.0 - a.longest);
                T x = mul_add(a.noise * cut, xi[j], mul_add(distance, a.keep, centre));
#else
                T x = mul_add(distance, mul_add(a.noise, xi[j], a.keep), centre);
#endif
                if (a.kicks) x = mul_add(a.kick, kick[j], x);
                p.set(k, settled(x, k, a));
            }
        }
    }
}

// exp(-alpha gap), with 1 at gap 0 also for infinite alpha.
FN double weight_of_gap(double alpha, double gap) {
    if (gap == 0.0) return 1.0;
    // Most gaps are so large that no exponential is needed to know.
    return -alpha * gap < -709.0 ? 0.0 : exponential(-alpha * gap);
}

// `Partial::merge`: one number of the sums of two neighbours. Each is computed alone, so that a level of the tree is one phase.
FN double merged(double alpha, const double* left, const double* right, u32 what) {
    if (what == LEAST || what == PARTICLE) return right[LEAST] < left[LEAST] ? right[what] : left[what];
    if (what == FAILED || what == INFEASIBLE) return left[what] + right[what];
    if (right[SHIFT] == infinity()) return left[what];
    const double shift = fmin(left[SHIFT], right[SHIFT]);
    if (what == SHIFT) return shift;
    const double mine = left[SHIFT] == infinity() ? 0.0 : weight_of_gap(alpha, left[SHIFT] - shift);
    const double theirs = weight_of_gap(alpha, right[SHIFT] - shift);
    if (what == SQUARES) return mine * mine * left[what] + theirs * theirs * right[what];
    if (what >= FIELDS && !(theirs > 0.0) && mine == 1.0) return left[what];
    return mine * left[what] + theirs * right[what];
}

// Merges `count` partial sums at `from`, neighbours, then neighbours of those, and so on, by all threads of a block. `other` has room for
// half of them. Leaves at `from` where all of it is.
#define MERGE_TREE(alpha, from, other, count)                                                                  \
    for (u32 count_ = (count); count_ > 1; count_ = (count_ + 1) / 2) {                                        \
        PHASE(t) for (u32 at = t; at < (count_ + 1) / 2 * STRIDE; at += TEAM) {                                \
            const u32 node = at / STRIDE, what = at % STRIDE;                                                  \
            const double* left_ = (from) + 2 * node * STRIDE;                                                  \
            (other)[at] = 2 * node + 1 < count_ ? merged(alpha, left_, left_ + STRIDE, what) : left_[what];    \
        }                                                                                                      \
        double* swap_ = (from);                                                                                \
        (from) = (other);                                                                                      \
        (other) = swap_;                                                                                       \
    }
