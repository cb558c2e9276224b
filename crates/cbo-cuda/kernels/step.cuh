// One step: the pending move, the energies, and the sums of all blocks, in one pass over the particles.
//
// Positions lie coordinate by coordinate (coordinate k of particle i at k n + i), a thread has a particle, and all that is done to a
// particle is done in the order of the engine. Blocks of ROWS particles are summed up as the engine sums them, and merged along its tree:
// the GROUP blocks of a thread block by `step` where that is quick, all others by `merge`, in as many launches as it takes.
//
// From `source.rs`: T, DIM, ROWS, GROUP, THREADS, the switches below, and the functions `energy`, `vanishes` and `energy_vanishing`; from
// `particle.cuh` the move and the sums.

#define TOGETHER (ROWS * GROUP)

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
    u32 merged, chunk;  // partial sums that are left for `merge`, and how many a thread block takes
    u32 padding;
    double* merged_to;  // where it puts them, and room to do it
    double* spare;
    T keep, noise, kick, longest;
    T centre[CENTRE];
};

// Moves and evaluates particle i, and returns its energy; says at `sign`, if that is given, whether it vanishes.
FN T visit(const Args& a, u64 i, u32* sign) {
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
    if (!a.evaluates) return a.energies[i];
#if VANISHING && HELD
    if (sign) *sign = vanishes(p) > (T)0.0;
#endif
    return energy(p);
}

KERNEL(STEP_BOUNDS) step(const GRID_CONSTANT Args a) {
    SHARED double energies[TOGETHER], weights[TOGETHER];
    SHARED double best[GROUP][8];
    SHARED u32 place[GROUP][8], failed[GROUP][8], infeasible[GROUP][8];
    SHARED double least[GROUP], lanes[GROUP][8], squares[GROUP][8];
    SHARED u32 weighed[GROUP][WORDS];
#if SUMS_SHARED
    SHARED double sums_of_group[GROUP * STRIDE], merged_sums[(GROUP + 1) / 2 * STRIDE];
#define SUMS(b) (sums_of_group + (b) * STRIDE)
#else
#define SUMS(b) (a.partials + ((u64)BLOCK * GROUP + (b)) * STRIDE)
#endif
    const u64 first = (u64)BLOCK * TOGETHER, blocks = (a.particles + ROWS - 1) / ROWS;

    // Positions and energies.
#if VANISHING
    SHARED u32 vanished[GROUP][(ROWS + VANISHING - 1) / VANISHING];
#endif
    PHASE(t) for (u32 r = t; r < TOGETHER; r += TEAM) {
#if VANISHING
        u32* const sign = r % ROWS % VANISHING == 0 ? &vanished[r / ROWS][r % ROWS / VANISHING] : 0;
        if (sign) *sign = 0;
#else
        u32* const sign = 0;
#endif
        if (first + r < a.particles) {
            const T e = visit(a, first + r, sign);
            if (a.evaluates) a.energies[first + r] = e;
            energies[r] = (double)e;
        }
        if (r % ROWS % 32 == 0) weighed[r / ROWS][r % ROWS / 32] = 0;
    }
#if VANISHING && !HELD
    if (a.evaluates) {
        PHASE(t) for (u32 r = t; r < TOGETHER; r += TEAM) if (r % ROWS % VANISHING == 0 && first + r < a.particles) {
            const Lying p = {a.positions + first + r, a.particles};
            vanished[r / ROWS][r % ROWS / VANISHING] = vanishes(p) > (T)0.0;
        }
    }
#endif
#if VANISHING
    u32 any = 0;
    for (u32 g = 0; g < sizeof vanished / sizeof(u32); ++g) any |= vanished[0][g];
    if (any) {
        PHASE(t) for (u32 r = t; r < TOGETHER; r += TEAM) if (first + r < a.particles && vanished[r / ROWS][r % ROWS / VANISHING]) {
            const Lying p = {a.positions + first + r, a.particles};
            const T e = energy_vanishing(p);
            a.energies[first + r] = e;
            energies[r] = (double)e;
        }
    }
#endif
    if (!a.weighs) return;

    // The least energy of each block, and the failures in it: by eight threads for a block, and then by one.
    PHASE(t) for (u32 at = t; at < GROUP * 8; at += TEAM) {
        const u32 b = at / 8, lane = at % 8;
        double low = infinity();
        u32 where = 0, fails = 0, infinite = 0;
        EACH_EIGHTH for (u32 r = lane; r < ROWS; r += 8) if (first + b * ROWS + r < a.particles) {
            const double e = energies[b * ROWS + r];
            const bool finite = fabs(e) < infinity();
            if (!finite) { if (e == infinity()) ++infinite; else ++fails; }
            if (finite && e < low) { low = e; where = r; }
        }
        best[b][lane] = low; place[b][lane] = where; failed[b][lane] = fails; infeasible[b][lane] = infinite;
    }
    PHASE(t) for (u32 b = t; b < GROUP; b += TEAM) if (first + b * ROWS < a.particles) {
        double low = best[b][0];
        u32 where = place[b][0], fails = failed[b][0], infinite = infeasible[b][0];
        EACH for (u32 lane = 1; lane < 8; ++lane) {
            const double e = best[b][lane];
            if (e < low || (e == low && place[b][lane] < where)) { low = e; where = place[b][lane]; }
            fails += failed[b][lane]; infinite += infeasible[b][lane];
        }
        double* sums = SUMS(b);
        sums[LEAST] = low; sums[PARTICLE] = (double)(first + b * ROWS + (low == infinity() ? 0 : where));
        sums[FAILED] = fails; sums[INFEASIBLE] = infinite; sums[SHIFT] = low; sums[SQUARES + 1] = 0.0;
        least[b] = low;
    }

    // Weights relative to it.
    PHASE(t) for (u32 r = t; r < TOGETHER; r += TEAM) if (first + r < a.particles && least[r / ROWS] != infinity()) {
        const double e = energies[r], gap = e - least[r / ROWS];
        double w = 0.0 < gap ? (gap * -a.alpha < -709.0 ? 0.0 : exponential(gap * -a.alpha)) : 1.0;
        if (!(fabs(e) < infinity())) w = 0.0;
        weights[r] = w;
        if (w != 0.0) SET_BIT(weighed[r / ROWS][r % ROWS / 32], r % ROWS % 32);
    }

    // Their sums, lane by lane, and the weighted sums of the positions, coordinate by coordinate. Weights of zero add nothing.
    PHASE(t) for (u32 at = t; at < GROUP * (8 + DIM); at += TEAM) if (first + at / (8 + DIM) * ROWS < a.particles) {
        const u32 b = at / (8 + DIM), what = at % (8 + DIM);
        const T* column = a.positions + (what - 8) * a.particles + first + b * ROWS;
        const u32 mine = what < 8 ? 0x01010101u << what : 0xffffffffu;
        double sum = 0.0, square = 0.0;
        for (u32 word = 0; word < WORDS; ++word)
            for (u32 bits = weighed[b][word] & mine; bits; bits &= bits - 1) {
                const u32 r = 32 * word + FIRST_BIT(bits);
                const double w = weights[b * ROWS + r];
                sum = what < 8 ? sum + w : mul_add((double)column[r], w, sum);
                square = mul_add(w, w, square);
            }
        if (what < 8) { lanes[b][what] = sum; squares[b][what] = square; }
        else SUMS(b)[FIELDS + what - 8] = sum;
    }
    PHASE(t) for (u32 at = t; at < 2 * GROUP; at += TEAM) if (first + at / 2 * ROWS < a.particles)
        SUMS(at / 2)[at % 2 ? SQUARES : MASS] = sum_of<double, 8>(at % 2 ? squares[at / 2] : lanes[at / 2]);

    // The part of the tree that is here.
#if SUMS_SHARED
    const u64 own = blocks - first / ROWS;
    double *from = sums_of_group, *other = merged_sums;
    MERGE_TREE(a.alpha, from, other, (u32)(own < GROUP ? own : GROUP))
    PHASE(t) for (u32 k = t; k < STRIDE; k += TEAM) a.partials[(u64)BLOCK * STRIDE + k] = from[k];
#endif
}

// Merges partial sums, `chunk` of them by each thread block, and writes those of chunk c to place c of `merged`. A single thread block
// publishes the result.
KERNEL(MERGE_THREADS) merge(const GRID_CONSTANT Args a) {
    const u32 before = BLOCK * a.chunk, count = a.merged - before < a.chunk ? a.merged - before : a.chunk;
    double* from = a.partials + (u64)before * STRIDE;
#if CHUNK_SHARED
    DYNAMIC_SHARED(pool)
    double *in = pool, *other = pool + count * STRIDE;
    PHASE(t) for (u32 at = t; at < count * STRIDE; at += TEAM) in[at] = from[at];
    MERGE_TREE(a.alpha, in, other, count)
    from = in;
#else
    double* other = a.spare + (u64)before * STRIDE;
    MERGE_TREE(a.alpha, from, other, count)
#endif
    if (a.merged > a.chunk) {
        PHASE(t) for (u32 k = t; k < STRIDE; k += TEAM) a.merged_to[(u64)BLOCK * STRIDE + k] = from[k];
        return;
    }
    const u64 particle = (u64)from[PARTICLE];
    PHASE(t) {
        for (u32 k = t; k < STRIDE; k += TEAM) a.result[k] = from[k];
        for (u32 k = t; k < DIM; k += TEAM) ((T*)(a.result + STRIDE))[k] = a.positions[k * a.particles + particle];
        PUBLISH();
    }
    PHASE(t) if (t == 0) ((volatile u64*)a.result)[STRIDE + DIM] = a.launch;
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
    for (u32 half = THREADS / 2; half > 0; half /= 2)
        PHASE(t) if (t < half) {
            if (low[t + half] < low[t]) low[t] = low[t + half];
            if (high[t + half] > high[t]) high[t] = high[t + half];
        }
    PHASE(t) if (t == 0) a.result[BLOCK] = high[0] - low[0];
}

// The floors of a step, for `cbo bench`: reading and writing all positions, and drawing all normals.
KERNEL(THREADS) memory_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * TOGETHER;
    PHASE(t) for (u64 i = first + t; i < first + TOGETHER && i < a.particles; i += TEAM)
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) a.positions[k * a.particles + i] *= a.keep;
}
KERNEL(THREADS) normals_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * TOGETHER;
    const Noise noise = {{a.key[0], a.key[1]}, {a.diffusion[0], a.diffusion[1]}};
    PHASE(t) for (u64 i = first + t; i < first + TOGETHER && i < a.particles; i += TEAM) {
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
RUN(merge, Args)
RUN(widths, Args)
RUN(memory_floor, Args)
RUN(normals_floor, Args)
