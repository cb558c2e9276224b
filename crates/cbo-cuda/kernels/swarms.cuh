// Many runs at once: a block of threads makes one run, step by step, and does what the engine's loop does between two steps too.
//
// A run has its own number of particles, its own settings and its own constants in the formula. What it computes with is its room: in shared
// memory (NEAR) or, for larger swarms, in the device's. A launch takes some steps; what is left of a run in between is its state.
//
// From `source.rs`: T, DIM, ROWS, NEAR, the switches of `particle.cuh`, and the functions `energy`, `vanishes` and `energy_vanishing`, which
// are told the constants of the run.

#ifdef __CUDACC__
#define ROOM_OF_BLOCK(room) extern __shared__ double room[];
#define SET_IN(word, bit) atomicOr(&(word), 1u << (bit))
#else
#define ROOM_OF_BLOCK(room) static double room[NEAR_BYTES / 8];
#define SET_IN(word, bit) ((word) |= 1u << (bit))
#endif

enum End { GOING, TARGET, LIMIT, STAGNATION, DIAMETER, STRICT, NOTHING };
enum Switch { IS_STRICT = 1, IS_FROZEN = 2, SHRINKS = 4 };

// One run, as `swarms.rs` writes it. Places are counted in the numbers of their table.
struct Swarm {
    u64 particles;
    u64 beats, last_beat;  // the settings of its steps: the first of them, and how many follow before they stay the same
    u64 law, walls, freeze, constants, room;
    u64 last, stagnation;
    double target, kick_below, longest;
    u32 key[2];
    u32 law_kind, switches;
};

// What is left of it between two launches.
struct State {
    u64 step, improved, failed, infeasible, logged, kicked;
    double least, done_below;
    // How it ended; and of the step that could not be taken its failures, and one of them.
    u64 end, step_failed, step_infeasible, particle;
    double energy;
};

// What is known of a step before it is taken; instead of alpha the fraction that the sample size is to be, where weights are SAMPLED.
struct Beat { double alpha, keep, noise, kick; };

struct Fleet {
    const Swarm* swarms;
    State* states;
    T* best;
    double* consensus;
    const Beat* beats;
    const double* numbers;
    const T* walls;
    const T* constants;
    double* rooms;
    double* log;
    const u64* order;
    u64 steps;
    u64 capacity;  // improvements that a run can log until they are taken; none are if 0
    double shrinkage;
    u32 initial, diffusion, kick_noise;  // the upper words of the counters
    u32 padding;
};

// What `advance` reads.
struct Moving {
    u32 key[2], diffusion[2], kick_noise[2];
    u32 kicks, vanishes;
    const T *low, *high;
    T keep, noise, kick, longest;
    const T* centre;
};

// Parts of a room, in doubles.
#define COLUMN(n) ((n) | 1)
#define POSITIONS(n) (((u64)DIM * COLUMN(n) * sizeof(T) + 7) / 8)
#define DESK 32
#define GROUPS (VANISHING ? (ROWS + VANISHING - 1) / (VANISHING ? VANISHING : 1) : 0)
#define LOGGED (2 + DIM)

// The extent of coordinate k.
FN double width_of(const T* x, u32 n) {
    T low = x[0], high = x[0];
    for (u32 r = 1; r < n; ++r) {
        if (x[r] < low) low = x[r];
        if (x[r] > high) high = x[r];
    }
    return (double)high - (double)low;
}

// One number of the sums of two neighbours. Each is computed alone, so that a level of the tree is one phase.
FN double merged(double alpha, const double* left, const double* right, u32 what) {
    double mine, theirs;
    weights_of(alpha, left, right, mine, theirs);
    return merged_field(mine, theirs, left, right, what);
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

#if SAMPLED
// The effective sample size at some alpha, by all threads of a block, which all know it then. `weights` has room for all, `desk` for 16.
FN double sample_size(double alpha, double least, const double* energies, u32 count, double* weights, double* desk) {
    PHASE(t) for (u32 i = t; i < count; i += TEAM) {
        const double gap = energies[i] - least;
        weights[i] = 0.0 < gap ? exponential(gap * -alpha) : 1.0;
    }
    // Lane by lane, as vectors do.
    PHASE(t) if (t < 8) {
        double mass = 0.0, squares = 0.0;
        for (u32 i = t; i < count; i += 8) {
            mass = mass + weights[i];
            squares = mul_add(weights[i], weights[i], squares);
        }
        desk[t] = mass; desk[8 + t] = squares;
    }
    double mass[8], squares[8];
    EACH for (u32 lane = 0; lane < 8; ++lane) { mass[lane] = desk[lane]; squares[lane] = desk[8 + lane]; }
    const double sum = sum_of<double, 8>(mass);
    return sum * sum / sum_of<double, 8>(squares);
}

// `alpha_for_sample_size`, by all threads. `spare` has room for all energies, in the place of which it may take those that are finite.
FN double alpha_for(double fraction, const double* energies, u32 n, bool all_finite, double* spare, double* weights, double* desk) {
    const double* const kept = all_finite ? energies : spare;
    PHASE(t) if (t == 0) {
        u32 count = n;
        if (!all_finite) {
            count = 0;
            for (u32 r = 0; r < n; ++r) if (fabs(energies[r]) < infinity()) spare[count++] = energies[r];
        }
        double low = infinity(), ties = 0.0, gaps = 0.0;
        EACH_EIGHTH for (u32 i = 0; i < count; ++i) if (kept[i] < low) low = kept[i];
        EACH_EIGHTH for (u32 i = 0; i < count; ++i) {
            ties = ties + (kept[i] == low ? 1.0 : 0.0);
            gaps = gaps + (kept[i] - low);
        }
        desk[0] = low; desk[1] = (double)count; desk[2] = ties; desk[3] = gaps;
    }
    const double least = desk[0], count = desk[1], ties = desk[2], gaps = desk[3], wanted = fmax(fraction * count, 1.0);
    if (ties >= wanted || count == 0.0) return infinity();
    const auto size = [&](double log_alpha) { return sample_size(exponential(log_alpha), least, kept, (u32)count, weights, desk); };
    const double start = logarithm(count / gaps);
    double low = start, high = start;
    if (size(start) > wanted)
        while (size(high) > wanted && high - start < 1000.0) { low = high; high = high + 4.0; }
    else
        while (size(low) < wanted && start - low < 1000.0) { high = low; low = low - 4.0; }
    while (high - low > 2e-4) {
        const double middle = 0.5 * (low + high);
        if (size(middle) > wanted) low = middle; else high = middle;
    }
    return exponential(0.5 * (low + high));
}
#endif

KERNEL(SWARM_BOUNDS) swarms(const GRID_CONSTANT Fleet f) {
    SHARED u32 vanishing, moved, wide, wider, any;
    SHARED u64 logged_now;
    const u64 run = f.order[BLOCK];
    const Swarm& s = f.swarms[run];
    State& kept = f.states[run];
    const u32 n = (u32)s.particles, blocks = (n + ROWS - 1) / ROWS;
    const u64 column = COLUMN(n);
#if NEAR
    ROOM_OF_BLOCK(room)
#else
    double* const room = f.rooms + s.room;
#endif
    T* const x = (T*)room;
    double* const energies = room + POSITIONS(n);
    double* const consensus = energies + n;
    T* const centre = (T*)(consensus + DIM);
    double* const sums = consensus + 2 * DIM;
    double* const spare = sums + blocks * STRIDE;
    double* const desk = spare + (blocks + 1) / 2 * STRIDE;
    u32* const weighed = (u32*)(desk + blocks * DESK);
    u32* const vanished = weighed + blocks * WORDS;
#if SAMPLED
    double* const finite_ones = desk + blocks * DESK + (blocks * (WORDS + GROUPS) + 1) / 2;
    double* const sampled = finite_ones + n;
#endif
    const T* const own = f.constants + s.constants;
    const T *const low = f.walls + s.walls, *const high = low + DIM;
    Moving a = {{s.key[0], s.key[1]}, {0, 0}, {0, 0}, 0, 0, low, high, (T)0.0, (T)0.0, (T)0.0, (T)s.longest, centre};

    // What was left, or the beginning.
    u64 step = kept.step, improved = kept.improved, failed = kept.failed, infeasible = kept.infeasible, logged = kept.logged;
    u64 end = GOING, step_failed = 0, step_infeasible = 0;
    double best = kept.least, done_below = kept.done_below;
    bool kicked = kept.kicked != 0;
    PHASE(t) {
        if (step == 0) for (u32 r = t; r < n; r += TEAM) {
            Lying p = {x + r, column};
            draw(s.law_kind, f.numbers + s.law, {{s.key[0], s.key[1]}, {0, f.initial}}, r, r, a, p);
        }
#if NEAR
        else for (u64 k = t; k < POSITIONS(n); k += TEAM) room[k] = f.rooms[s.room + k];
#endif
        if (t == 0) vanishing = moved = wide = wider = any = 0;
    }
    PHASE(t) for (u32 k = t; k < DIM; k += TEAM) {
        if (step == 0 && (s.switches & SHRINKS)) consensus[k] = width_of(x + k * column, n);
        if (step > 0) {
            consensus[k] = f.consensus[run * DIM + k];
            centre[k] = fabs(consensus[k]) < TINY ? (T)0.0 : (T)consensus[k];
            if (centre[k] == (T)0.0) vanishing = 1;
        }
    }
    if (step == 0 && (s.switches & SHRINKS)) {
        double diameter = 0.0;
        for (u32 k = 0; k < DIM; ++k) if (consensus[k] > diameter) diameter = consensus[k];
        done_below = diameter * f.shrinkage;
    }

    for (u64 left = f.steps; left > 0; --left) {
        // Who logs must have room for all particles.
        if (f.capacity > 0 && logged + n > f.capacity) break;

        // The move that the step before decided.
        const u64 before = step - 1;
        if (step > 0) {
            const Beat& beat = f.beats[s.beats + (before < s.last_beat ? before : s.last_beat)];
            a.keep = (T)beat.keep; a.noise = (T)beat.noise; a.kick = (T)beat.kick;
            a.kicks = kicked; a.vanishes = vanishing;
            const u32 upper = (u32)(before >> 32) & 0x00ffffffu;
            a.diffusion[0] = (u32)before; a.diffusion[1] = f.diffusion | upper;
            a.kick_noise[0] = (u32)before; a.kick_noise[1] = f.kick_noise | upper;
        }
        double alpha = f.beats[s.beats + (step < s.last_beat ? step : s.last_beat)].alpha;

        // Positions and energies.
        PHASE(t) {
            for (u32 r = t; r < n; r += TEAM) {
#if HELD
                Held p;
                EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) p.x[k] = x[k * column + r];
                if (step > 0) {
                    advance(p, a, r);
                    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) x[k * column + r] = p.x[k];
                }
#else
                Lying p = {x + r, column};
                if (step > 0) advance(p, a, r);
#endif
                energies[r] = (double)energy(p, own);
#if VANISHING
                if (r % ROWS % VANISHING == 0) {
                    const bool is = vanishes(p, own) > (T)0.0;
                    vanished[r / ROWS * GROUPS + r % ROWS / VANISHING] = is;
                    if (is) any = 1;
                }
#endif
            }
            for (u32 word = t; word < blocks * WORDS; word += TEAM) weighed[word] = 0;
        }
#if VANISHING
        if (any) {
            PHASE(t) for (u32 r = t; r < n; r += TEAM) if (vanished[r / ROWS * GROUPS + r % ROWS / VANISHING]) {
                const Lying p = {x + r, column};
                energies[r] = (double)energy_vanishing(p, own);
            }
        }
#endif

        // The least energy of each block, and the failures in it: by eight threads for a block, and then by one.
        PHASE(t) {
            for (u32 at = t; at < blocks * 8; at += TEAM) {
                const u32 b = at / 8, lane = at % 8, rows = n - b * ROWS < ROWS ? n - b * ROWS : ROWS;
                const double* const mine = energies + b * ROWS;
                double low = infinity();
                u32 where = 0, fails = 0, infinite = 0;
                for (u32 r = lane; r < rows; r += 8) {
                    const double e = mine[r];
                    const bool finite = fabs(e) < infinity();
                    if (!finite) { if (e == infinity()) ++infinite; else ++fails; }
                    if (finite && e < low) { low = e; where = r; }
                }
                double* const seen = desk + b * DESK + lane;
                seen[0] = low; seen[8] = where; seen[16] = fails; seen[24] = infinite;
            }
        }
        PHASE(t) for (u32 b = t; b < blocks; b += TEAM) {
            // One phase after the last look at them.
            if (t == 0 && b == 0) vanishing = moved = wide = wider = any = 0;
            const double* const seen = desk + b * DESK;
            double low = seen[0], where = seen[8], fails = seen[16], infinite = seen[24];
            EACH for (u32 lane = 1; lane < 8; ++lane) {
                const double e = seen[lane];
                if (e < low || (e == low && seen[8 + lane] < where)) { low = e; where = seen[8 + lane]; }
                fails += seen[16 + lane]; infinite += seen[24 + lane];
            }
            double* const sum = sums + b * STRIDE;
            sum[LEAST] = low; sum[PARTICLE] = (double)(b * ROWS) + (low == infinity() ? 0.0 : where);
            sum[FAILED] = fails; sum[INFEASIBLE] = infinite; sum[SHIFT] = low; sum[EXTENT] = 0.0;
        }

        // Values better than all before, in the order of their evaluation.
        if (f.capacity > 0) {
            PHASE(t) if (t == 0) {
                double reached = best;
                u64 count = logged;
                for (u32 r = 0; r < n; ++r) {
                    if (r % ROWS == 0 && !(sums[r / ROWS * STRIDE + LEAST] < reached)) { r += ROWS - 1; continue; }
                    const double e = energies[r];
                    if (!(e < reached && fabs(e) < infinity())) continue;
                    reached = e;
                    double* const entry = f.log + (run * f.capacity + count++) * LOGGED;
                    entry[0] = (double)(step * n + r + 1); entry[1] = e;
                    for (u32 k = 0; k < DIM; ++k) entry[2 + k] = (double)x[k * column + r];
                }
                logged_now = count;
            }
            logged = logged_now;
        }

#if SAMPLED
        bool all_finite = true;
        for (u32 b = 0; b < blocks; ++b) all_finite = all_finite && sums[b * STRIDE + FAILED] + sums[b * STRIDE + INFEASIBLE] == 0.0;
        alpha = alpha_for(alpha, energies, n, all_finite, finite_ones, sampled, desk);
#endif

        // Weights relative to the least of the block, in the place of the energies.
        PHASE(t) for (u32 r = t; r < n; r += TEAM) {
            const double e = energies[r], gap = e - sums[r / ROWS * STRIDE + LEAST];
            if (!(fabs(e) < infinity())) continue;
            const double w = 0.0 < gap ? (gap * -alpha < -709.0 ? 0.0 : exponential(gap * -alpha)) : 1.0;
            if (w == 0.0) continue;
            energies[r] = w;
            SET_IN(weighed[r / ROWS * WORDS + r % ROWS / 32], r % ROWS % 32);
        }

        // Their sums, lane by lane, and the weighted sums of the positions, coordinate by coordinate. Weights of zero add nothing.
        PHASE(t) for (u32 at = t; at < blocks * (8 + DIM); at += TEAM) {
            const u32 b = at / (8 + DIM), what = at % (8 + DIM);
            const u32 mine = what < 8 ? 0x01010101u << what : 0xffffffffu;
            const T* const coordinate = x + (what - 8) * column + b * ROWS;
            const double* const weights = energies + b * ROWS;
            double sum = 0.0, square = 0.0;
            for (u32 word = 0; word < WORDS; ++word)
                for (u32 bits = weighed[b * WORDS + word] & mine; bits; bits &= bits - 1) {
                    const u32 r = 32 * word + FIRST_BIT(bits);
                    const double w = weights[r];
                    sum = what < 8 ? sum + w : mul_add((double)coordinate[r], w, sum);
                    square = mul_add(w, w, square);
                }
            if (what < 8) { desk[b * DESK + what] = sum; desk[b * DESK + 8 + what] = square; }
            else sums[b * STRIDE + FIELDS + what - 8] = sum;
        }
        PHASE(t) for (u32 at = t; at < 2 * blocks; at += TEAM) {
            double lanes[8];
            EACH for (u32 lane = 0; lane < 8; ++lane) lanes[lane] = desk[at / 2 * DESK + at % 2 * 8 + lane];
            sums[at / 2 * STRIDE + (at % 2 ? SQUARES : MASS)] = sum_of<double, 8>(lanes);
        }
        double *from = sums, *other = spare;
        MERGE_TREE(alpha, from, other, blocks)

        // The consensus point, and what the step spent and found.
        const double least = from[LEAST], mass = from[MASS];
        const bool nothing = from[SHIFT] == infinity(), better = least < best;
        const u64 place = (u64)from[PARTICLE];
        step_failed = (u64)from[FAILED]; step_infeasible = (u64)from[INFEASIBLE];
        failed += step_failed; infeasible += step_infeasible;
        if (better) { best = least; improved = step; }
        PHASE(t) for (u32 k = t; k < DIM; k += TEAM) {
            if (better) f.best[run * DIM + k] = x[k * column + place];
            if (nothing) continue;
            const double agreed = s.switches & IS_FROZEN ? f.numbers[s.freeze + k] : mass == 0.0 ? 0.0 : from[FIELDS + k] / mass;
            if (step == 0 || fabs(agreed - consensus[k]) >= s.kick_below) moved = 1;
            consensus[k] = agreed;
            centre[k] = fabs(agreed) < TINY ? (T)0.0 : (T)agreed;
            if (centre[k] == (T)0.0) vanishing = 1;
        }
        kicked = s.kick_below > 0.0 && !moved;

        // Whether that was the last step.
        if ((s.switches & IS_STRICT) && step_failed > 0) end = STRICT;
        else if (nothing) end = NOTHING;
        else if (best <= s.target) end = TARGET;
        else if (step >= s.last) end = LIMIT;
        else if (step - improved >= s.stagnation) end = STAGNATION;
        else if (done_below > 0.0) {
            PHASE(t) for (u32 r = t; r < n; r += TEAM) if (fabs((double)x[r] - (double)x[0]) >= done_below) wide = 1;
            if (!wide) {
                PHASE(t) for (u32 k = t; k < DIM; k += TEAM) if (width_of(x + k * column, n) >= done_below) wider = 1;
                if (!wider) end = DIAMETER;
            }
        }
        if (end != GOING) break;
        ++step;
    }

    // What is left.
    PHASE(t) {
#if NEAR
        if (end == GOING) for (u64 k = t; k < POSITIONS(n); k += TEAM) f.rooms[s.room + k] = room[k];
#endif
        for (u32 k = t; k < DIM; k += TEAM) f.consensus[run * DIM + k] = consensus[k];
        if (t == 0) {
            kept.step = step; kept.improved = improved; kept.failed = failed; kept.infeasible = infeasible; kept.logged = logged;
            kept.kicked = kicked; kept.least = best; kept.done_below = done_below;
            kept.end = end; kept.step_failed = step_failed; kept.step_infeasible = step_infeasible;
            for (u32 r = 0; end == STRICT && r < n; ++r) {
                const double e = energies[r];
                if (fabs(e) < infinity() || e == infinity()) continue;
                kept.particle = r; kept.energy = e;
                break;
            }
        }
    }
}

RUN(swarms, Fleet)
