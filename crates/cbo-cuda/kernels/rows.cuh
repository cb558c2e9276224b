// Particles of many coordinates, row by row: moves that threads share coordinate by coordinate, and the moments of weighed particles.
//
// From `network.rs`: PARAMETERS, ROWS, and the switches of the dynamics.

// What the kernels are told. `network.rs` writes the same.
struct RowsArgs {
    float* positions;
    const float* centre;
    const float* widths;    // of hopping: the deviations of the initial law
    float* norms;           // of isotropic noise: the distance of each particle from the centre
    const u32* chosen;      // which particles are weighed; all, if null
    const double* weights;  // of these
    double* moments;        // by block and coordinate; then the best of them as it is
    u64 particles;
    u64 weighed;
    u64 best;               // its place among those weighed
    const double* losses;   // from which `moments` finds weights and the best itself, if given, and
    double* told;           // which it copies to this machine's memory; then it says
    u64* done;              // which launch this was, there
    u64 launch;
    double alpha;
    u32* arrived;           // thread blocks that are done
    u32 key[2], diffusion[2], kick_noise[2];
    u32 kicks, vanishes;
    float keep, noise, kick;
    u32 padding;
};

#if ISOTROPIC
// The distances from the centre: lane by lane, as vectors do.
KERNEL(THREADS) norms(const GRID_CONSTANT RowsArgs a) {
    SHARED float part[THREADS];
    LET_NEXT_BEGIN();
    AWAIT_BEFORE();
    const u64 first = (u64)BLOCK * (THREADS / 16);
    PHASE(t) {
        const u64 particle = first + t / 16;
        float square = 0.0f;
        if (particle < a.particles)
            for (u32 k = t % 16; k < PARAMETERS; k += 16) {
                const float x = a.positions[particle * PARAMETERS + k] - a.centre[k];
                square = mul_add(x, x, square);
            }
        part[t] = square;
    }
    PHASE(t) if (t % 16 == 0 && first + t / 16 < a.particles) {
        float lanes[16];
        EACH for (u32 l = 0; l < 16; ++l) lanes[l] = part[t + l];
        a.norms[first + t / 16] = root(sum_of<float, 16>(lanes));
    }
}
RUN(norms, RowsArgs)
#endif

// What ends a move of one coordinate.
FN float ended(float x, u32 particle, u32 quad, u32 j, const RowsArgs& a, const float (&kick)[4]) {
    if (a.kicks) x = mul_add(a.kick, kick[j], x);
    return a.vanishes && absolute(x) < (float)TINY ? 0.0f : x;
}

KERNEL(THREADS) move_rows(const GRID_CONSTANT RowsArgs a) {
    constexpr u32 quads = (PARAMETERS + 3) / 4, pair = HOPPING == 2 ? 2 : 1;
    const Noise diffusion = {{a.key[0], a.key[1]}, {a.diffusion[0], a.diffusion[1]}};
    const Noise kicks = {{a.key[0], a.key[1]}, {a.kick_noise[0], a.kick_noise[1]}};
    LET_NEXT_BEGIN();
    AWAIT_BEFORE();
    PHASE(t) for (u64 at = (u64)BLOCK * TEAM + t; at < (a.particles + pair - 1) / pair * quads; at += (u64)BLOCKS * TEAM) {
        const u32 drawn = (u32)(at / quads), quad = (u32)(at % quads);
        float xi[4], kick[4];
        normals(diffusion, drawn, quad, xi);
        // Antithetic particles share their normals.
        EACH for (u32 side = 0; side < pair; ++side) {
            const u32 particle = drawn * pair + side;
            if (particle >= a.particles) continue;
            if (a.kicks) normals(kicks, particle, quad, kick);
            EACH for (u32 j = 0; j < 4; ++j) {
                const u32 k = 4 * quad + j;
                if (k < PARAMETERS) {
                    float* const x = a.positions + (u64)particle * PARAMETERS + k;
                    const float centre = a.centre[k];
#if HOPPING
                    const float moved = mul_add(a.noise * (side ? -1.0f : 1.0f) * a.widths[k], xi[j], centre);
#elif ISOTROPIC
                    const float moved = mul_add(a.norms[particle] * a.noise, xi[j], mul_add(*x - centre, a.keep, centre));
#else
                    const float moved = mul_add(*x - centre, mul_add(a.noise, xi[j], a.keep), centre);
#endif
                    *x = ended(moved, particle, quad, j, a, kick);
                }
            }
        }
    }
}
RUN(move_rows, RowsArgs)

// The weighted sums of the positions, block by block and coordinate by coordinate, and the best position. Weights of zero add nothing.
KERNEL(THREADS) moments(const GRID_CONSTANT RowsArgs a) {
    SHARED double energies[THREADS], found[THREADS];
    SHARED u64 best;
    SHARED u32 last;
    LET_NEXT_BEGIN();
    AWAIT_BEFORE();
    const u64 blocks = (a.weighed + ROWS - 1) / ROWS;
    const double* weights = a.weights;
    u64 best_place = a.best;
    if (a.losses) {
        PHASE(t) if (t < a.weighed) {
            energies[t] = (double)(float)a.losses[t];
            if (BLOCK == 0) a.told[t] = a.losses[t];
        }
        PHASE(t) if (t < a.weighed) {
            // Relative to the least of the block.
            double low = infinity();
            for (u64 row = t / ROWS * ROWS; row < t / ROWS * ROWS + ROWS && row < a.weighed; ++row)
                if (fabs(energies[row]) < infinity() && energies[row] < low) low = energies[row];
            const double gap = energies[t] - low;
            const double w = 0.0 < gap ? (gap * -a.alpha < -709.0 ? 0.0 : exponential(gap * -a.alpha)) : 1.0;
            found[t] = fabs(energies[t]) < infinity() ? w : 0.0;
            if (t == 0) {
                best = 0;
                for (u64 row = 1; row < a.weighed; ++row) {
                    const bool is_first = !(fabs(energies[best]) < infinity());
                    if (fabs(energies[row]) < infinity() && (is_first || energies[row] < energies[best])) best = row;
                }
            }
        }
        weights = found;
        best_place = best;
    }
    PHASE(t) for (u64 at = (u64)BLOCK * TEAM + t; at < (blocks + 1) * PARAMETERS; at += (u64)BLOCKS * TEAM) {
        const u64 block = at / PARAMETERS, k = at % PARAMETERS, first = block * ROWS;
        if (block == blocks) {
            ((float*)(a.moments + blocks * PARAMETERS))[k] =
                a.positions[(a.chosen ? a.chosen[best_place] : best_place) * PARAMETERS + k];
            continue;
        }
        double sum = 0.0;
        EACH_EIGHTH for (u64 row = first; row < first + ROWS && row < a.weighed; ++row) {
            const double w = weights[row];
            if (w != 0.0) sum = mul_add((double)a.positions[(a.chosen ? a.chosen[row] : row) * PARAMETERS + k], w, sum);
        }
        a.moments[at] = sum;
    }
    if (a.losses) {
        PHASE(t) SEE_FAR();
        PHASE(t) if (t == 0) {
            last = LAST_OF(*a.arrived, BLOCKS);
            SEE_FAR();
            if (last) *(volatile u64*)a.done = a.launch << 32;
        }
    }
}
RUN(moments, RowsArgs)
