// What is done to one particle, and to the sums of blocks of them: the pieces of which `step.cuh` and `swarms.cuh` are made.
//
// From `source.rs`: T, DIM, ROWS and the switches below.

#define FIELDS 8
#define STRIDE (FIELDS + DIM)
#define WORDS ((ROWS + 31) / 32)
#define LANES (sizeof(T) == 8 ? 8 : 16)
enum Field { LEAST, PARTICLE, FAILED, INFEASIBLE, SHIFT, MASS, SQUARES, EXTENT };

// Where positions lie. In groups of 32 particles, coordinate by coordinate in each, so that those of a warp are one piece of memory and
// distances are known to the compiler; or, where others look at them and for
// many runs at once, coordinate by coordinate, n numbers from one to the next.
#if GROUPED
#define BETWEEN(n) 32
FN T* first_coordinate(T* positions, u64 i) { return positions + (i / 32 * (32 * DIM) + i % 32); }
#else
#define BETWEEN(n) (n)
FN T* first_coordinate(T* positions, u64 i) { return positions + i; }
#endif

// Whether coordinate k of four is there.
#define INSIDE(k) (DIM % 4 == 0 || (k) < DIM)

// The coordinates of one particle: in registers, or where they are.
struct Held {
    T x[DIM];
    FN_MEMBER T at(u32 k) const { return x[k]; }
    FN_MEMBER void set(u32 k, T v) { x[k] = v; }
    FN_MEMBER void need(u32) {}
    FN_MEMBER void four(u32 quad, T (&y)[4]) const { EACH for (u32 j = 0; j < 4; ++j) y[j] = at(4 * quad + j); }
};
struct Lying {
    T* first;
    u64 n;
    FN_MEMBER T& of(u32 k) const { return first[k * BETWEEN(n)]; }
    FN_MEMBER T at(u32 k) const { return of(k); }
    FN_MEMBER void set(u32 k, T v) { of(k) = v; }
    FN_MEMBER void need(u32) {}
    FN_MEMBER void four(u32 quad, T (&y)[4]) const { EACH for (u32 j = 0; j < 4; ++j) y[j] = at(4 * quad + j); }
};
// Those of one that moves from one place to another.
struct Passing {
    Lying from, to;
    FN_MEMBER T at(u32 k) const { return from.at(k); }
    FN_MEMBER void set(u32 k, T v) { to.set(k, v); }
};

#if ISOTROPIC
// The distance from the centre; what is far from it, the scheme says.
template <class P, class A> FN T norm_of(const P& p, const A& a) {
#if WIDE || TRUNCATED
    // Lane by lane, as vectors do.
    T lanes[LANES] = {};
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
#if TRUNCATED && DRIFT_FIRST
        const T x = (p.at(k) - a.centre[k]) * a.keep;
#else
        const T x = p.at(k) - a.centre[k];
#endif
        lanes[k % LANES] = mul_add(x, x, lanes[k % LANES]);
    }
    return root(sum_of<T, LANES>(lanes));
#else
    T square = (T)0.0;
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
        const T x = p.at(k) - a.centre[k];
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

// Where a particle begins: in this row of POINTS, or drawn as the particle with this number.
enum Law { NORMAL, UNIFORM, POINTS };
template <class A, class P> FN void draw(u32 kind, const double* law, const Noise& noise, u32 particle, u64 row, const A& a, P& p) {
    for (u32 quad = 0; quad < (DIM + 3) / 4; ++quad) {
        T z[4];
        normals(noise, particle, quad, z);
        u32 words[4] = {particle, quad, noise.high[0], noise.high[1]};
        philox(words, noise.key[0], noise.key[1]);
        for (u32 j = 0; j < 4; ++j) {
            const u32 k = 4 * quad + j;
            if (k >= DIM) continue;
            const double uniform = ((double)words[j] + 0.5) / 4294967296.0;
            const double first = kind == POINTS ? law[row * DIM + k] : law[k];
            p.set(k, settled((T)(kind == POINTS ? first : first + law[DIM + k] * (kind == NORMAL ? (double)z[j] : uniform)), k, a));
        }
    }
}

// Whose normals a particle has: antithetic ones share them.
#if HOPPING == 2
#define DRAWN_AS(particle) ((particle) / 2)
#else
#define DRAWN_AS(particle) (particle)
#endif

// The number of a particle in the run, whose noise it has: of several ranks, each has the particles from `first` on.
#if SPREAD
#define NUMBER(a, i) ((u32)(i) + (a).first)
#else
#define NUMBER(a, i) ((u32)(i))
#endif

#if PULLED
// One coordinate that drifts towards the centre and what the particle remembers, and the distances from both that noise grows with.
template <class A> FN T drifted(T x, T centre, T remembered, const A& a, T& far, T& away) {
    far = x - centre;
    away = x - remembered;
    const T after = mul_add(far, a.keep, centre) - a.pull * away;
#if DRIFT_FIRST
    far = after - centre;
    away = after - remembered;
#endif
    return after;
}
#endif

// How a particle moves. `a` has the fields of `Now` in `step.cuh` that are named here.
template <class A> struct Mover {
    const A& a;
    u32 particle;
#if ISOTROPIC
    T amplitude;
#endif
#if HOPPING
    T reach;
#endif
#if PULLED
    Lying remembered;
#if ISOTROPIC
    T pull_amplitude;
#endif
#endif
    template <class P> FN_MEMBER Mover(const A& args, u32 i, const P& p) : a(args), particle(NUMBER(args, i)) {
#if HOPPING == 2
        reach = a.noise * (particle % 2 ? (T)-1.0 : (T)1.0);
#elif HOPPING
        reach = a.noise;
#endif
#if PULLED
        remembered = {first_coordinate(a.points, i), a.particles};
#endif
#if ISOTROPIC && PULLED
        // Lane by lane, as vectors do.
        T far_lanes[LANES] = {}, away_lanes[LANES] = {};
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
            T far, away;
            drifted(p.at(k), a.centre[k], remembered.at(k), a, far, away);
            far_lanes[k % LANES] = mul_add(far, far, far_lanes[k % LANES]);
            away_lanes[k % LANES] = mul_add(away, away, away_lanes[k % LANES]);
        }
        amplitude = root(sum_of<T, LANES>(far_lanes)) * a.noise;
        pull_amplitude = root(sum_of<T, LANES>(away_lanes)) * a.pull_noise;
#elif ISOTROPIC && TRUNCATED
        amplitude = least_of(norm_of(p, a), a.longest) * a.noise;
#elif ISOTROPIC
        amplitude = norm_of(p, a) * a.noise;
#endif
    }
    // Coordinates 4 quad to 4 quad + 3.
    FN_MEMBER void move(u32 quad, T (&x)[4]) const {
        move(quad, x, four_normals(DRAWN_AS(particle), quad, a.diffusion[0], a.diffusion[1], a.key[0], a.key[1]));
    }
    FN_MEMBER void move(u32 quad, T (&x)[4], const Normals& xi) const {
#if KICKED
        Normals kick = {};
        if (a.kicks) kick = four_normals(particle, quad, a.kick_noise[0], a.kick_noise[1], a.key[0], a.key[1]);
#endif
#if PULLED
        const Normals zeta = four_normals(particle, quad, a.memory_noise[0], a.memory_noise[1], a.key[0], a.key[1]);
#endif
        EACH for (u32 j = 0; j < 4; ++j) {
            const u32 k = 4 * quad + j;
            if (INSIDE(k)) {
#if HOPPING
                T moved = mul_add(reach * a.widths[k], xi.z[j], a.centre[k]);
#else
                const T centre = a.centre[k], distance = x[j] - centre;
#if PULLED
                T far, away;
                const T after = drifted(x[j], centre, remembered.at(k), a, far, away);
#if ISOTROPIC
                T moved = after + amplitude * xi.z[j] + pull_amplitude * zeta.z[j];
#else
                T moved = mul_add(a.pull_noise * zeta.z[j], away, mul_add(a.noise * xi.z[j], far, after));
#endif
#elif ISOTROPIC
                T moved = mul_add(amplitude, xi.z[j], mul_add(distance, a.keep, centre));
#elif TRUNCATED
                const T far = DRIFT_FIRST ? distance * a.keep : distance;
                const T cut = greatest_of(least_of(far, a.longest), (T)0.0 - a.longest);
                T moved = mul_add(a.noise * cut, xi.z[j], mul_add(distance, a.keep, centre));
#else
                T moved = mul_add(distance, mul_add(a.noise, xi.z[j], a.keep), centre);
#endif
#endif
#if KICKED
                if (a.kicks) moved = mul_add(a.kick, kick.z[j], moved);
#endif
                x[j] = settled(moved, k, a);
            }
        }
    }
};

// The whole move of one particle.
template <class P, class A> FN void advance(P& p, const A& a, u32 particle) {
    const Mover<A> mover(a, particle, p);
    EACH_COORDINATE for (u32 quad = 0; quad < (DIM + 3) / 4; ++quad) {
        T four[4];
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) four[j] = p.at(4 * quad + j);
        mover.move(quad, four);
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) p.set(4 * quad + j, four[j]);
    }
}

// exp(-alpha gap), with 1 at gap 0 also for infinite alpha.
FN double weight_of_gap(double alpha, double gap) {
    if (gap == 0.0) return 1.0;
    // Most gaps are so large that no exponential is needed to know.
    return -alpha * gap < -709.0 ? 0.0 : exponential(-alpha * gap);
}

// `Partial::merge`. First the weights of two neighbours: 1 and 0 leave the left one as it is.
FN void weights_of(double alpha, const double* left, const double* right, double& mine, double& theirs) {
    mine = 1.0; theirs = 0.0;
    if (right[SHIFT] == infinity()) return;
    const double shift = fmin(left[SHIFT], right[SHIFT]);
    mine = left[SHIFT] == infinity() ? 0.0 : weight_of_gap(alpha, left[SHIFT] - shift);
    theirs = weight_of_gap(alpha, right[SHIFT] - shift);
}
FN double merged(double mine, double theirs, double left, double right) {
    return theirs > 0.0 || mine != 1.0 ? mine * left + theirs * right : left;
}
FN double merged_field(double mine, double theirs, const double* left, const double* right, u32 what) {
    if (what == LEAST || what == PARTICLE) return right[LEAST] < left[LEAST] ? right[what] : left[what];
    if (what == FAILED || what == INFEASIBLE) return left[what] + right[what];
    if (what == SHIFT) return fmin(left[SHIFT], right[SHIFT]);
    if (what == EXTENT) return greatest_of(left[EXTENT], right[EXTENT]);
    if (what == SQUARES) { mine = mine * mine; theirs = theirs * theirs; }
    return merged(mine, theirs, left[what], right[what]);
}
