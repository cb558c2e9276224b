// What is done besides steps: the particles at time 0, what somebody asks of them, and the floors of a step.
//
// From `step.cuh`: its arguments, and where particles lie.

// The least and the greatest number in each coordinate, one block each.
KERNEL(THREADS) widths(const GRID_CONSTANT Args a) {
    SHARED double low[THREADS], high[THREADS];
    PHASE(t) {
        double l = (double)particle(a, 0).at(BLOCK), h = l;
        for (u64 i = t; i < a.particles; i += TEAM) {
            const double x = (double)particle(a, i).at(BLOCK);
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
    PHASE(t) if (t == 0) { a.result[2 * BLOCK] = low[0]; a.result[2 * BLOCK + 1] = high[0]; }
}

// The squares of SQUARED neighbouring coordinates, of row after row, summed in eight lanes: `Ensemble::mean_of_squares`.
KERNEL(THREADS) squares(const GRID_CONSTANT Args a) {
    SHARED double square[SQUARED], lanes[8];
    const u64 first = (u64)BLOCK * SQUARED, left = a.particles * DIM - first;
    const u32 count = left < SQUARED ? (u32)left : SQUARED;
    // As they lie in memory: groups of 32 particles, of which not all belong here.
    const u64 groups = first / DIM / 32, end = ((first + count - 1) / DIM / 32 + 1 - groups) * 32 * DIM;
    PHASE(t) for (u64 at = t; at < end; at += TEAM) {
        const u64 i = (groups + at / (32 * DIM)) * 32 + at % 32, k = at / 32 % DIM, place = i * DIM + k;
        if (place < first || place >= first + count) continue;
        const double x = (double)particle(a, i).at((u32)k);
        square[place - first] = x * x;
    }
    PHASE(t) if (t < 8) {
        double sum = 0.0;
        EACH_EIGHTH for (u32 at = t; at < count; at += 8) sum = sum + square[at];
        lanes[t] = sum;
    }
    PHASE(t) if (t == 0) {
        double sum = 0.0;
        EACH for (u32 lane = 0; lane < 8; ++lane) sum = sum + lanes[lane];
        a.result[BLOCK] = sum;
    }
}

// The particles at time 0.
struct BeginArgs {
    T* positions;
    const double* law;
    const T* low;
    const T* high;
    u64 particles;
    u32 key[2], initial[2];
    u32 law_kind, vanishes;
    u32 first, padding;  // the number of the first one in the run
};
KERNEL(THREADS) begin(const GRID_CONSTANT BeginArgs a) {
    const Noise noise = {{a.key[0], a.key[1]}, {a.initial[0], a.initial[1]}};
    PHASE(t) for (u64 i = (u64)BLOCK * ROWS + t; i < (u64)BLOCK * ROWS + ROWS && i < a.particles; i += TEAM) {
        Lying p = {first_coordinate(a.positions, i), a.particles};
        draw(a.law_kind, a.law, noise, (u32)i + a.first, i, a, p);
    }
}

// The floors of a step, for `cbo bench`: reading and writing all positions, and drawing all normals.
KERNEL(THREADS) memory_floor(const GRID_CONSTANT Args a) {
    const u64 first = (u64)BLOCK * ROWS;
    PHASE(t) for (u64 i = first + t; i < first + ROWS && i < a.particles; i += TEAM)
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) particle(a, i).of(k) *= a.keep;
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

RUN(widths, Args)
RUN(squares, Args)
RUN(begin, BeginArgs)
RUN(memory_floor, Args)
RUN(normals_floor, Args)
