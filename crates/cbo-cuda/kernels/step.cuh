// One step: the pending move, the energies, and the sums of all blocks, in one pass over the particles.
//
// Positions lie coordinate by coordinate (coordinate k of particle i at k n + i), a thread has a particle, and all that is done to a
// particle is done in the order of the engine. Blocks of ROWS particles are summed up as the engine sums them, and merged along its tree:
// the GROUP blocks of a thread block by `step`, what that leaves by `merge`, in as many launches as it takes.
//
// From `source.rs`: T, DIM, ROWS, GROUP, THREADS, the switches below, and the functions `energy`, `vanishes` and `energy_vanishing`.

#define TOGETHER (ROWS * GROUP)
#define FIELDS 8
#define STRIDE (FIELDS + DIM)
#define LANES (sizeof(T) == 8 ? 8 : 16)
enum Field { LEAST, PARTICLE, FAILED, INFEASIBLE, SHIFT, MASS, SQUARES };

// What a step is told. `backend.rs` writes the same.
struct Args {
    T* positions;
    T* energies;
    double* partials;
    double* result;  // the merged sums, the best particle's position, and the number of the launch
    const T* low;
    const T* high;
    const T* far_centre;  // the centre where it does not fit below
    u64 particles;
    u64 launch;
    double alpha;
    u32 key[2], diffusion[2], kick_noise[2];
    u32 moves, kicks, vanishes, evaluates, weighs;
    u32 merged;  // partial sums that are left for `merge`, and how many numbers lie from one to the next
    u64 spacing;
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
};
struct Lying {
    T* x;
    u64 n;
    FN_MEMBER T at(u32 k) const { return x[k * n]; }
    FN_MEMBER void set(u32 k, T v) { x[k * n] = v; }
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

// The move of one particle.
template <class P> FN void advance(P& p, const Args& a, u32 particle) {
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

// Moves and evaluates particle i, and returns its energy.
FN T visit(const Args& a, u64 i) {
#if HELD
    Held p;
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) p.x[k] = a.positions[k * a.particles + i];
    if (a.moves) {
        advance(p, a, (u32)i);
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) a.positions[k * a.particles + i] = p.x[k];
    }
#else
    Lying p = {a.positions + i, a.particles};
    if (a.moves) advance(p, a, (u32)i);
#endif
    return a.evaluates ? energy(p) : a.energies[i];
}

// exp(-alpha gap), with 1 at gap 0 also for infinite alpha.
FN double weight_of_gap(double alpha, double gap) {
    if (gap == 0.0) return 1.0;
    // Most gaps are so large that no exponential is needed to know.
    return -alpha * gap < -709.0 ? 0.0 : exponential(-alpha * gap);
}

// `Partial::merge` without the moments: what they are to be multiplied by is left in the first fields of the right one.
FN void merge_fields(double alpha, double* left, double* right) {
    left[FAILED] = left[FAILED] + right[FAILED];
    left[INFEASIBLE] = left[INFEASIBLE] + right[INFEASIBLE];
    if (right[LEAST] < left[LEAST]) {
        left[LEAST] = right[LEAST];
        left[PARTICLE] = right[PARTICLE];
    }
    double mine = 1.0, theirs = 0.0;
    if (right[SHIFT] != infinity()) {
        const double shift = fmin(left[SHIFT], right[SHIFT]);
        mine = left[SHIFT] == infinity() ? 0.0 : weight_of_gap(alpha, left[SHIFT] - shift);
        theirs = weight_of_gap(alpha, right[SHIFT] - shift);
        left[SHIFT] = shift;
        left[MASS] = mine * left[MASS] + theirs * right[MASS];
        left[SQUARES] = mine * mine * left[SQUARES] + theirs * theirs * right[SQUARES];
    }
    right[LEAST] = mine;
    right[PARTICLE] = theirs;
}

// Merges `count` partial sums, the first of which end up with all: neighbours, then neighbours of those, and so on. By a whole block.
#define MERGE_TREE(alpha, sums, spacing, count)                                                          \
    for (u32 half_ = 1; half_ < (count); half_ *= 2) {                                                    \
        const u32 nodes_ = ((count) - half_ + 2 * half_ - 1) / (2 * half_);                               \
        PHASE(t) for (u32 node = t; node < nodes_; node += THREADS) {                                     \
            double* left_ = (sums) + (u64)(spacing) * (2 * half_ * node);                                 \
            merge_fields(alpha, left_, left_ + (u64)(spacing) * half_);                                   \
        }                                                                                                 \
        PHASE(t) for (u64 at = t; at < (u64)nodes_ * DIM; at += THREADS) {                                \
            double* left_ = (sums) + (u64)(spacing) * (2 * half_ * (at / DIM));                           \
            const double* right_ = left_ + (u64)(spacing) * half_;                                        \
            const double mine = right_[LEAST], theirs = right_[PARTICLE];                                 \
            double& moment = left_[FIELDS + at % DIM];                                                    \
            if (theirs > 0.0 || mine != 1.0) moment = mine * moment + theirs * right_[FIELDS + at % DIM]; \
        }                                                                                                 \
    }

KERNEL step(const GRID_CONSTANT Args a) {
    SHARED double energies[TOGETHER], weights[TOGETHER];
    SHARED double best[GROUP][8];
    SHARED u32 place[GROUP][8], failed[GROUP][8], infeasible[GROUP][8];
    SHARED double least[GROUP], lanes[GROUP][8], squares[GROUP][8];
    SHARED u32 weighed[GROUP][(ROWS + 31) / 32];
#if SUMS_SHARED
    SHARED double sums_of_group[GROUP * STRIDE];
#define SUMS(b) (sums_of_group + (b) * STRIDE)
#else
#define SUMS(b) (a.partials + ((u64)BLOCK * GROUP + (b)) * STRIDE)
#endif
    const u64 first = (u64)BLOCK * TOGETHER, blocks = (a.particles + ROWS - 1) / ROWS;

    // Positions and energies.
    PHASE(t) for (u32 r = t; r < TOGETHER; r += THREADS) if (first + r < a.particles) {
        const T e = visit(a, first + r);
        if (a.evaluates) a.energies[first + r] = e;
        energies[r] = (double)e;
    }
#if VANISHING
    if (a.evaluates) {
        SHARED u32 vanished[GROUP][(ROWS + VANISHING - 1) / VANISHING];
        PHASE(t) for (u32 r = t; r < TOGETHER; r += THREADS) if (r % ROWS % VANISHING == 0 && first + r < a.particles) {
            const Lying p = {a.positions + first + r, a.particles};
            vanished[r / ROWS][r % ROWS / VANISHING] = vanishes(p) > (T)0.0;
        }
        PHASE(t) for (u32 r = t; r < TOGETHER; r += THREADS) if (first + r < a.particles && vanished[r / ROWS][r % ROWS / VANISHING]) {
            const Lying p = {a.positions + first + r, a.particles};
            const T e = energy_vanishing(p);
            a.energies[first + r] = e;
            energies[r] = (double)e;
        }
    }
#endif
    if (!a.weighs) return;

    // The least energy of each block, and the failures in it.
    PHASE(t) for (u32 at = t; at < GROUP * 8; at += THREADS) {
        const u32 b = at / 8, lane = at % 8;
        double low = infinity();
        u32 where = 0, fails = 0, infinite = 0;
        for (u32 r = lane; r < ROWS && first + b * ROWS + r < a.particles; r += 8) {
            const double e = energies[b * ROWS + r];
            if (e == infinity()) ++infinite;
            else if (!(fabs(e) < infinity())) ++fails;
            else if (e < low) { low = e; where = r; }
        }
        best[b][lane] = low; place[b][lane] = where; failed[b][lane] = fails; infeasible[b][lane] = infinite;
        for (u32 word = lane; word < (ROWS + 31) / 32; word += 8) weighed[b][word] = 0;
    }
    PHASE(t) for (u32 b = t; b < GROUP; b += THREADS) if (first + b * ROWS < a.particles) {
        double low = best[b][0];
        u32 where = place[b][0], fails = failed[b][0], infinite = infeasible[b][0];
        for (u32 lane = 1; lane < 8; ++lane) {
            const double e = best[b][lane];
            if (e < low || (e == low && place[b][lane] < where)) { low = e; where = place[b][lane]; }
            fails += failed[b][lane]; infinite += infeasible[b][lane];
        }
        double* sums = SUMS(b);
        sums[LEAST] = low; sums[PARTICLE] = (double)(first + b * ROWS + (low == infinity() ? 0 : where));
        sums[FAILED] = fails; sums[INFEASIBLE] = infinite; sums[SHIFT] = low;
        least[b] = low;
    }

    // Weights relative to it.
    PHASE(t) for (u32 r = t; r < TOGETHER; r += THREADS) {
        double w = 0.0;
        if (first + r < a.particles && least[r / ROWS] != infinity()) {
            const double e = energies[r], gap = e - least[r / ROWS];
            w = 0.0 < gap ? (gap * -a.alpha < -709.0 ? 0.0 : exponential(gap * -a.alpha)) : 1.0;
            if (!(fabs(e) < infinity())) w = 0.0;
            if (w != 0.0) SET_BIT(weighed[r / ROWS][r % ROWS / 32], r % ROWS % 32);
        }
        weights[r] = w;
    }

    // Their sums, lane by lane, and the weighted sums of the positions, coordinate by coordinate.
    PHASE(t) for (u32 at = t; at < GROUP * (8 + DIM); at += THREADS) if (first + at / (8 + DIM) * ROWS < a.particles) {
        const u32 b = at / (8 + DIM), what = at % (8 + DIM);
        if (what < 8) {
            double mass = 0.0, square = 0.0;
            for (u32 r = what; r < ROWS; r += 8) {
                const double w = weights[b * ROWS + r];
                mass = mass + w;
                square = mul_add(w, w, square);
            }
            lanes[b][what] = mass; squares[b][what] = square;
        } else {
            const T* column = a.positions + (what - 8) * a.particles + first + b * ROWS;
            double sum = 0.0;
            for (u32 word = 0; word < (ROWS + 31) / 32; ++word)
                for (u32 bits = weighed[b][word]; bits; bits &= bits - 1) {
                    const u32 r = 32 * word + FIRST_BIT(bits);
                    sum = mul_add((double)column[r], weights[b * ROWS + r], sum);
                }
            SUMS(b)[FIELDS + what - 8] = sum;
        }
    }
    PHASE(t) for (u32 b = t; b < GROUP; b += THREADS) if (first + b * ROWS < a.particles) {
        double* sums = SUMS(b);
        sums[MASS] = sum_of<double, 8>(lanes[b]);
        sums[SQUARES] = sum_of<double, 8>(squares[b]);
    }

    // The part of the tree that is here.
    const u64 own = blocks - first / ROWS;
    MERGE_TREE(a.alpha, SUMS(0), STRIDE, (u32)(own < GROUP ? own : GROUP))
#if SUMS_SHARED
    PHASE(t) for (u32 k = t; k < STRIDE; k += THREADS) a.partials[(u64)BLOCK * STRIDE + k] = sums_of_group[k];
#endif
}

// Merges partial sums, CHUNK of them by each thread block, into the first of each chunk. A single thread block publishes the result.
KERNEL merge(const GRID_CONSTANT Args a) {
    const u32 before = BLOCK * CHUNK, count = a.merged - before < CHUNK ? a.merged - before : CHUNK;
    double* sums = a.partials + before * a.spacing;
#if CHUNK_SHARED
    DYNAMIC_SHARED(pool)
    PHASE(t) for (u32 at = t; at < count * STRIDE; at += THREADS) pool[at] = sums[at / STRIDE * a.spacing + at % STRIDE];
    MERGE_TREE(a.alpha, pool, STRIDE, count)
    PHASE(t) for (u32 k = t; k < STRIDE; k += THREADS) sums[k] = pool[k];
#else
    MERGE_TREE(a.alpha, sums, a.spacing, count)
#endif
    if (a.merged > CHUNK) return;
    PHASE(t) for (u32 k = t; k < STRIDE; k += THREADS) a.result[k] = sums[k];
    PHASE(t) for (u32 k = t; k < DIM; k += THREADS) ((T*)(a.result + STRIDE))[k] = a.positions[k * a.particles + (u64)sums[PARTICLE]];
    PHASE(t) PUBLISH();
    PHASE(t) if (t == 0) ((volatile u64*)a.result)[STRIDE + DIM] = a.launch;
}

// The extent of the swarm in each coordinate, one block each.
KERNEL widths(const GRID_CONSTANT Args a) {
    SHARED double low[THREADS], high[THREADS];
    const T* column = a.positions + (u64)BLOCK * a.particles;
    PHASE(t) {
        double l = (double)column[0], h = l;
        for (u64 i = t; i < a.particles; i += THREADS) {
            const double x = (double)column[i];
            if (x < l) l = x;
            if (x > h) h = x;
        }
        low[t] = l; high[t] = h;
    }
    for (u32 half = THREADS / 2; half > 0; half /= 2)
        PHASE(t) if (t < half) {
            if (low[t + half] < low[t]) low[t] = low[t + half];
            if (high[t + half] > high[t]) high[t] = high[t + half];
        }
    PHASE(t) if (t == 0) a.result[BLOCK] = high[0] - low[0];
}

// The floors of a step, for `cbo bench`: reading and writing all positions, and drawing all normals.
KERNEL memory_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * TOGETHER;
    PHASE(t) for (u64 i = first + t; i < first + TOGETHER && i < a.particles; i += THREADS)
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) a.positions[k * a.particles + i] *= a.keep;
}
KERNEL normals_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * TOGETHER;
    const Noise noise = {{a.key[0], a.key[1]}, {a.diffusion[0], a.diffusion[1]}};
    PHASE(t) for (u64 i = first + t; i < first + TOGETHER && i < a.particles; i += THREADS) {
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

#ifndef __CUDACC__
#define RUN(kernel) extern "C" void run_##kernel(const Args* a, u32 blocks) { for (block_ = 0; block_ < blocks; ++block_) kernel(*a); }
RUN(step)
RUN(merge)
RUN(widths)
RUN(memory_floor)
RUN(normals_floor)
#endif
