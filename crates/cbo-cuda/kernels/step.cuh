// One step: the pending move, the energies, and the sums of all blocks, in one pass over the particles.
//
// Positions lie coordinate by coordinate (coordinate k of particle i at k n + i), and all that is done to a particle is done in the order
// of the engine. A thread block has the ROWS particles of a block of the engine, and sums them up as the engine does. Sums are merged along
// the engine's tree, CHUNK of them by the thread block that comes last among those that have them, and so on until all are one.
//
// From `source.rs`: T, DIM, ROWS, THREADS, CHUNK, the switches below, and the functions `energy`, `vanishes` and `energy_vanishing`.

#define FIELDS 8
#define STRIDE (FIELDS + DIM)
#define WORDS ((ROWS + 31) / 32)
#define WARPS (THREADS / WARP)
#define LANES (sizeof(T) == 8 ? 8 : 16)
enum Field { LEAST, PARTICLE, FAILED, INFEASIBLE, SHIFT, MASS, SQUARES };

// What a step is told. `backend.rs` writes the same.
struct Args {
    T* positions;
    T* energies;
    double* partials;
    double* result;  // of `widths`; `step` puts the merged sums and the best particle's position there, as `publish` does
    const T* low;
    const T* high;
    const T* far_centre;  // the centre where it does not fit below
    u64 particles;
    u64 launch;
    double alpha;
    u32 key[2], diffusion[2], kick_noise[2];
    u32 moves, kicks, vanishes, evaluates, weighs, padding;
    u32* arrived;  // thread blocks that have come to a place of the tree
    double* spare;  // room to merge, where it is not shared memory
    T keep, noise, kick, longest;
    T centre[CENTRE];
};

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
    FN_MEMBER void need(u32) {}
};
struct Lying {
    T* all;
    u64 n;
    u32 i;
    FN_MEMBER T at(u32 k) const { return (all + k * n)[i]; }
    FN_MEMBER void set(u32 k, T v) { (all + k * n)[i] = v; }
    FN_MEMBER void need(u32) {}
};

#if ISOTROPIC
// The distance from the centre; what is far from it, the scheme says.
template <class P> FN T norm_of(const P& p, const Args& a) {
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
FN T settled(T x, u32 k, const Args& a) {
    if (a.vanishes && absolute(x) < (T)TINY) x = (T)0.0;
#if BOUNDED == 1
    x = (T)reflected((double)x, (double)a.low[k], (double)a.high[k]);
#elif BOUNDED == 2
    if (!(x >= a.low[k] && x <= a.high[k])) x = least_of(greatest_of(x, a.low[k]), a.high[k]);
#endif
    return x;
}

// How a particle moves.
struct Mover {
    const Args& a;
    u32 particle;
#if ISOTROPIC
    T amplitude;
#endif
    template <class P> FN_MEMBER Mover(const Args& args, u32 i, const P& p) : a(args), particle(i) {
#if ISOTROPIC && TRUNCATED
        amplitude = least_of(norm_of(p, a), a.longest) * a.noise;
#elif ISOTROPIC
        amplitude = norm_of(p, a) * a.noise;
#endif
    }
    // Coordinates 4 quad to 4 quad + 3.
    FN_MEMBER void move(u32 quad, T (&x)[4]) const {
        const Normals xi = four_normals(particle, quad, a.diffusion[0], a.diffusion[1], a.key[0], a.key[1]);
#if KICKED
        Normals kick = {};
        if (a.kicks) kick = four_normals(particle, quad, a.kick_noise[0], a.kick_noise[1], a.key[0], a.key[1]);
#endif
        EACH for (u32 j = 0; j < 4; ++j) {
            const u32 k = 4 * quad + j;
            if (k < DIM) {
                const T centre = CENTRE_OF(a, k), distance = x[j] - centre;
#if ISOTROPIC
                T moved = mul_add(amplitude, xi.z[j], mul_add(distance, a.keep, centre));
#elif TRUNCATED
                const T far = DRIFT_FIRST ? distance * a.keep : distance;
                const T cut = greatest_of(least_of(far, a.longest), (T)0.0 - a.longest);
                T moved = mul_add(a.noise * cut, xi.z[j], mul_add(distance, a.keep, centre));
#else
                T moved = mul_add(distance, mul_add(a.noise, xi.z[j], a.keep), centre);
#endif
#if KICKED
                if (a.kicks) moved = mul_add(a.kick, kick.z[j], moved);
#endif
                x[j] = settled(moved, k, a);
            }
        }
    }
};

// The coordinates of one particle that moves while its energy is computed: four of them are moved and written when they are first needed,
// and the next ones are on their way.
struct Moving {
    Mover mover;
    Lying lying;
    T x[(DIM + 3) / 4 * 4], next[AHEAD][4];
    FN_MEMBER Moving(const Args& a, u64 i, const Lying& p) : mover(a, (u32)i, p), lying(p) {
        EACH for (u32 quad = 0; quad < AHEAD; ++quad) fetch(quad);
    }
    FN_MEMBER void fetch(u32 quad) {
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) next[quad % AHEAD][j] = lying.at(4 * quad + j);
    }
    FN_MEMBER T at(u32 k) const { return x[k]; }
    FN_MEMBER void need(u32 quad) {
        T four[4];
        EACH for (u32 j = 0; j < 4; ++j) four[j] = next[quad % AHEAD][j];
        fetch(quad + AHEAD);
        mover.move(quad, four);
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) lying.set(4 * quad + j, x[4 * quad + j] = four[j]);
    }
};

template <class P> FN void advance(P& p, const Args& a, u32 particle) {
    const Mover mover(a, particle, p);
    EACH_COORDINATE for (u32 quad = 0; quad < (DIM + 3) / 4; ++quad) {
        T four[4];
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) four[j] = p.at(4 * quad + j);
        mover.move(quad, four);
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) p.set(4 * quad + j, four[j]);
    }
}

// Moves and evaluates particle i, and returns its energy; says at `sign`, if that is given, whether it vanishes.
FN T visit(const Args& a, u64 i, u32* sign) {
    Lying lying = {a.positions, a.particles, (u32)i};
#if LAZY
    if (a.moves) {
        Moving p(a, i, lying);
        const T e = energy(p);
#if VANISHING
#if HELD
        Held moved;
        EACH for (u32 k = 0; k < DIM; ++k) moved.x[k] = p.x[k];
#else
        Lying& moved = lying;
#endif
        if (sign && a.evaluates) *sign = vanishes(moved) > (T)0.0;
#endif
        return a.evaluates ? e : a.energies[i];
    }
    Lying& p = lying;
#elif HELD
    Held p;
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) p.x[k] = a.positions[k * a.particles + i];
    if (a.moves) {
        advance(p, a, (u32)i);
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) a.positions[k * a.particles + i] = p.x[k];
    }
#else
    Lying& p = lying;
    if (a.moves) advance(p, a, (u32)i);
#endif
    if (!a.evaluates) return a.energies[i];
#if VANISHING
    if (sign) *sign = vanishes(p) > (T)0.0;
#endif
    return energy(p);
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

// Half a number for whoever waits for it in this machine's memory, each with the number of the launch: so nobody need say when all are there.
FN void publish_word(const Args& a, u32 place, u32 word) { ((volatile u64*)a.result)[place] = a.launch << 32 | word; }
FN void publish(const Args& a, u32 place, float x) { publish_word(a, place, (u32)__float_as_int(x)); }
FN void publish(const Args& a, u32 place, double x) {
    publish_word(a, place, (u32)__double_as_longlong(x));
    publish_word(a, place + 1, (u32)((u64)__double_as_longlong(x) >> 32));
}

KERNEL(STEP_BOUNDS) step(const GRID_CONSTANT Args a) {
    SHARED T energies[ROWS], best[WARPS];
    SHARED double weights[ROWS], lanes[8], squares[8];
    SHARED u32 place[WARPS], failed[WARPS], weighed[WORDS];
    SHARED u32 last;
    const u64 first = (u64)BLOCK * ROWS;
    const u32 rows = a.particles - first < ROWS ? (u32)(a.particles - first) : ROWS;

    // Positions and energies, and the least of those, the place of that, and the failures in each warp. If energies vanish, all again.
#if VANISHING
    SHARED u32 vanished[(ROWS + VANISHING - 1) / VANISHING];
    for (u32 again = 0; again < 2; ++again)
#endif
    {
        PHASE(t) {
            T low = (T)infinity();
            u32 where = 0, fails = 0;
            for (u32 r = t; r < rows; r += TEAM) {
#if VANISHING
                T e;
                if (again) {
                    e = energies[r];
                    if (vanished[r / VANISHING]) {
                        Lying p = {a.positions, a.particles, (u32)first + r};
                        e = energy_vanishing(p);
                    }
                } else {
                    u32* const sign = r % VANISHING == 0 ? &vanished[r / VANISHING] : 0;
                    if (sign) *sign = 0;
                    e = visit(a, first + r, sign);
                }
#else
                const T e = visit(a, first + r, 0);
#endif
                if (a.evaluates) a.energies[first + r] = e;
                energies[r] = e;
                const bool finite = absolute(e) < (T)infinity();
                // Infinite ones in the upper half.
                if (!finite) fails += e == (T)infinity() ? 0x10000 : 1;
                if (finite && e < low) { low = e; where = r; }
            }
            least_of_warp(low, where, fails);
            if (t % WARP == 0) { best[t / WARP] = low; place[t / WARP] = where; failed[t / WARP] = fails; }
        }
#if VANISHING
        u32 any = 0;
        for (u32 g = 0; g < (rows + VANISHING - 1) / VANISHING; ++g) any |= vanished[g];
        if (!any) break;
#endif
    }
    if (!a.weighs) return;

    // Weights relative to the least energy.
    PHASE(t) {
        T low = best[0];
        EACH for (u32 w = 1; w < WARPS; ++w) low = least_of(best[w], low);
        for (u32 r = t; r < 32 * WORDS; r += TEAM) {
            double w = 0.0;
            if (r < rows && low != (T)infinity()) {
                const double e = energies[r], gap = e - (double)low;
                w = 0.0 < gap ? (gap * -a.alpha < -709.0 ? 0.0 : exponential(gap * -a.alpha)) : 1.0;
                if (!(fabs(e) < infinity())) w = 0.0;
                if (w != 0.0) weights[r] = w;
            }
            MARK(weighed[r / 32], r % 32, w != 0.0)
        }
    }

    // Their sums, lane by lane, and the weighted sums of the positions, coordinate by coordinate. Weights of zero add nothing.
    double* sums = a.partials + (u64)BLOCK * STRIDE;
    PHASE(t) for (u32 what = t; what < 8 + DIM; what += TEAM) {
        const T* column = a.positions + (what - 8) * a.particles + first;
        const u32 mine = what < 8 ? 0x01010101u << what : 0xffffffffu;
        double sum = 0.0, square = 0.0;
        for (u32 word = 0; word < WORDS; ++word)
            for (u32 bits = weighed[word] & mine; bits; bits &= bits - 1) {
                const u32 r = 32 * word + FIRST_BIT(bits);
                const double w = weights[r];
                sum = what < 8 ? sum + w : mul_add((double)column[r], w, sum);
                square = mul_add(w, w, square);
            }
        if (what < 8) { lanes[what] = sum; squares[what] = square; }
        else sums[FIELDS + what - 8] = sum;
    }

    // The tree: whoever comes last merges what is there, and goes on with that.
    u32 node = BLOCK, count = BLOCKS, counters = 0;
    double* level = a.partials;
    PHASE(t) if (t == 0) {
        T low = best[0];
        u32 where = place[0], fails = failed[0];
        EACH for (u32 w = 1; w < WARPS; ++w) {
            if (best[w] < low || (best[w] == low && place[w] < where)) { low = best[w]; where = place[w]; }
            fails += failed[w];
        }
        sums[LEAST] = low; sums[PARTICLE] = (double)(first + (low == (T)infinity() ? 0 : where));
        sums[FAILED] = fails & 0xffff; sums[INFEASIBLE] = fails >> 16; sums[SHIFT] = low; sums[SQUARES + 1] = 0.0;
        sums[MASS] = sum_of<double, 8>(lanes); sums[SQUARES] = sum_of<double, 8>(squares);
        const u32 left = count - node / CHUNK * CHUNK;
        last = LAST_OF(a.arrived[node / CHUNK], left < CHUNK ? left : CHUNK);
        SEE_OTHERS();
    }
#if CHUNK_SHARED
    SHARED double pool[CHUNK * STRIDE], half[(CHUNK + 1) / 2 * STRIDE];
#endif
    while (last) {
        const u32 chunk = node / CHUNK, left = count - chunk * CHUNK, members = left < CHUNK ? left : CHUNK;
        double* from = level + (u64)chunk * CHUNK * STRIDE;
#if CHUNK_SHARED
        double *in = pool, *other = half;
        PHASE(t) for (u32 at = t; at < members * STRIDE; at += TEAM) in[at] = LOAD_FAR(from[at]);
        MERGE_TREE(a.alpha, in, other, members)
        from = in;
#else
        double* other = a.spare + (from - a.partials);
        MERGE_TREE(a.alpha, from, other, members)
#endif
        if (count <= CHUNK) {
            const u64 particle = (u64)from[PARTICLE];
            PHASE(t) {
                for (u32 k = t; k < STRIDE; k += TEAM) publish(a, 2 * k, from[k]);
                for (u32 k = t; k < DIM; k += TEAM)
                    publish(a, 2 * STRIDE + k * (sizeof(T) / 4), LOAD_FAR(a.positions[k * a.particles + particle]));
            }
            return;
        }
        level += (u64)count * STRIDE;
        counters += (count + CHUNK - 1) / CHUNK;
        count = (count + CHUNK - 1) / CHUNK;
        node = chunk;
        PHASE(t) for (u32 k = t; k < STRIDE; k += TEAM) level[(u64)node * STRIDE + k] = from[k];
        PHASE(t) if (t == 0) {
            const u32 left = count - node / CHUNK * CHUNK;
            last = LAST_OF(a.arrived[counters + node / CHUNK], left < CHUNK ? left : CHUNK);
            SEE_OTHERS();
        }
    }
}

// The extent of the swarm in each coordinate, one block each.
KERNEL(THREADS) widths(const GRID_CONSTANT Args a) {
    SHARED double low[THREADS], high[THREADS];
    const T* column = a.positions + (u64)BLOCK * a.particles;
    PHASE(t) {
        double l = (double)column[0], h = l;
        for (u64 i = t; i < a.particles; i += TEAM) {
            const double x = (double)column[i];
            if (x < l) l = x;
            if (x > h) h = x;
        }
        low[t] = l; high[t] = h;
    }
    for (u32 left = THREADS, half = (left + 1) / 2; left > 1; left = half, half = (left + 1) / 2)
        PHASE(t) if (t + half < left) {
            if (low[t + half] < low[t]) low[t] = low[t + half];
            if (high[t + half] > high[t]) high[t] = high[t + half];
        }
    PHASE(t) if (t == 0) a.result[BLOCK] = high[0] - low[0];
}

// The floors of a step, for `cbo bench`: reading and writing all positions, and drawing all normals.
KERNEL(THREADS) memory_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * ROWS;
    PHASE(t) for (u64 i = first + t; i < first + ROWS && i < a.particles; i += TEAM)
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) a.positions[k * a.particles + i] *= a.keep;
}
KERNEL(THREADS) normals_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * ROWS;
    const Noise noise = {{a.key[0], a.key[1]}, {a.diffusion[0], a.diffusion[1]}};
    PHASE(t) for (u64 i = first + t; i < first + ROWS && i < a.particles; i += TEAM) {
        T sum = (T)0.0;
        EACH_COORDINATE for (u32 quad = 0; quad < (DIM + 3) / 4; ++quad) {
            T z[4];
            normals(noise, (u32)i, quad, z);
            sum = sum + ((z[0] + z[1]) + (z[2] + z[3]));
        }
        // Never so large, but the compiler does not know.
        if (sum > (T)1e30) a.energies[i] = sum;
    }
}

RUN(step, Args)
RUN(widths, Args)
RUN(memory_floor, Args)
RUN(normals_floor, Args)
